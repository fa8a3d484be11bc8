//! The committed header for C is the one that `src/abi.rs` gives. `DUMBBELL_BLESS=1` writes it.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("a configuration");
    let made = cbindgen::Builder::new().with_config(config).with_src(here.join("src/abi.rs")).generate();
    let mut text = Vec::new();
    made.expect("an interface of C").write(&mut text);
    let text = String::from_utf8(text).expect("UTF-8");
    let file = here.join("../../python/dumbbell/include/dumbbell.h");
    if std::env::var_os("DUMBBELL_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, &text).expect("a header");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(committed, text, "the header is not current: write it with DUMBBELL_BLESS=1");
}
