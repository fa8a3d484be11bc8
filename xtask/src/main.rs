//! Tasks of the checkout that are written in Rust and need only the toolchain.
//!
//! `cargo run -p xtask -- tidy` checks the house rules that no compiler or linter checks, and exits with status 1 if
//! one is broken.
//! `cargo run -p xtask -- licences` checks the licences of dependencies in the same way.
//! `cargo run -p xtask --features header -- header` writes the header of the C interface.

#![allow(clippy::disallowed_macros, reason = "a command-line tool speaks to its user")]

#[cfg(feature = "header")]
mod header;
mod licences;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- tidy|licences, or with --features header: header";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => run_tidy(),
        ["licences"] => run_licences(),
        #[cfg(feature = "header")]
        ["header"] => match header::write(&checkout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("header: {error}");
                ExitCode::from(2)
            }
        },
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

/// The checkout of this crate, determined at run time, because checkouts may share one target folder.
fn checkout() -> PathBuf {
    let manifest =
        std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest).parent().expect("xtask lies in the checkout").to_owned()
}

/// Checks the licences of all dependencies.
fn run_licences() -> ExitCode {
    match licences::check(&checkout()) {
        Ok((findings, read)) => {
            findings.iter().for_each(|finding| eprintln!("{finding}"));
            println!("licences: {read} dependencies read, {} findings", findings.len());
            if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("licences: {error}");
            ExitCode::from(2)
        }
    }
}

/// Checks the checkout of this crate.
fn run_tidy() -> ExitCode {
    let tree = match tidy::Tree::of_checkout(&checkout()) {
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
