//! The committed header for C was written from the `src/abi.rs` of today.

use sha2::{Digest, Sha256};
use std::path::Path;

#[test]
fn the_header_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read(here.join(file)).expect("a file of the checkout");
    let checksum: String =
        Sha256::digest(read("src/abi.rs")).iter().map(|byte| format!("{byte:02x}")).collect();
    let header = String::from_utf8(read("../../python/dumbbell/include/dumbbell.h")).expect("UTF-8");
    let line = format!("// SHA-256 of its source: {checksum}\n");
    assert!(header.contains(&line), "the header is not current: `make header` writes it");
}
