//! Writes the C header of compiled congestion controls from the sources of its interface.

use sha2::{Digest, Sha256};
use std::path::Path;

/// Writes `python/dumbbell/include/dumbbell.h`, with the checksum by which the tests of `dumbbell-library` know its source.
pub fn write(checkout: &Path) -> Result<(), String> {
    let library = checkout.join("crates/dumbbell-library");
    let source = library.join("src/abi.rs");
    let text = std::fs::read(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    let checksum: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut config = cbindgen::Config::from_file(library.join("cbindgen.toml"))?;
    let words = config.header.get_or_insert_default();
    words.push_str(&format!("\n// SHA-256 of its source: {checksum}"));
    let made = cbindgen::Builder::new().with_config(config).with_src(source).generate();
    let made = made.map_err(|error| error.to_string())?;
    let file = checkout.join("python/dumbbell/include/dumbbell.h");
    let mut header = Vec::new();
    made.write(&mut header);
    std::fs::write(&file, header).map_err(|error| format!("{}: {error}", file.display()))
}
