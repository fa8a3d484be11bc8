//! Tasks of the checkout that are written in Rust, so that they need nothing but the toolchain.
//!
//! `cargo run -p xtask -- tidy` checks the house rules that no compiler and no linter knows, and ends with status 1 when one is broken.

#![allow(clippy::disallowed_macros, reason = "a command-line tool speaks to its user")]

mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- tidy";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => run_tidy(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Checks the checkout that this crate belongs to.
fn run_tidy() -> ExitCode {
    // Asked when it runs, not when it was built: checkouts may share one target folder.
    let manifest =
        std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let root = Path::new(&manifest).parent().expect("xtask lies in the checkout");
    let tree = match tidy::Tree::of_checkout(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot read the checkout: {error}");
            return ExitCode::from(2);
        }
    };
    let findings = tidy::check(&tree);
    for finding in &findings {
        eprintln!("{finding}");
    }
    println!("tidy: {} files read, {} findings", tree.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
