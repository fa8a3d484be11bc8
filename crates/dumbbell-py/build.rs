//! Identifies the engine by everything that determines its results, so that equal checkouts share their stores of runs.
//!
//! The identity is a digest of the sources, manifests and data of the crates, of `Cargo.lock`, the compiler, the target
//! and the profile. It includes no path of the machine and no tests, as they change no result.

#![allow(clippy::disallowed_macros, reason = "a build script tells Cargo on standard output")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File types of a crate: sources, manifests and tables that are compiled in.
const EXTENSIONS: [&str; 3] = ["rs", "toml", "csv"];

/// Folders that are not part of the engine: of a crate, and crates that decide no result of
/// the engine.
const APART: [&str; 8] = [
    "benches",
    "dumbbell-bpf",
    "dumbbell-capture",
    "dumbbell-inspect",
    "dumbbell-testbed",
    "examples",
    "target",
    "tests",
];

/// Files shared by all crates. A source distribution has both; a build of the crates alone has neither.
const WORKSPACE: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Build settings given by Cargo.
const SETTINGS: [&str; 4] = ["TARGET", "PROFILE", "OPT_LEVEL", "CARGO_ENCODED_RUSTFLAGS"];

/// The 128-bit Fowler-Noll-Vo hash, variant 1a.
struct Digest(u128);

impl Digest {
    fn new() -> Self {
        Digest(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds content with its name. Lengths are included, so that different lists of contents have different input.
    fn update(&mut self, name: &str, content: &[u8]) {
        for part in [name.as_bytes(), content] {
            let length = (part.len() as u64).to_le_bytes();
            for byte in length.iter().chain(part) {
                self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
            }
        }
    }
}

fn main() {
    let manifest =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("Cargo states the package's folder"));
    let crates = manifest.parent().expect("the package lies among the crates");
    let mut files = Vec::new();
    collect(crates, &mut files);
    let mut named: Vec<(String, PathBuf)> =
        files.into_iter().map(|file| (name_in(crates, &file), file)).collect();
    let root = crates.parent().expect("the crates lie in the workspace");
    named.extend(
        WORKSPACE
            .iter()
            .map(|name| (format!("../{name}"), root.join(name)))
            .filter(|(_, file)| file.is_file()),
    );
    named.sort();
    let mut digest = Digest::new();
    for (name, file) in &named {
        println!("cargo:rerun-if-changed={}", file.display());
        let content = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        digest.update(name, &content);
    }
    for setting in SETTINGS {
        println!("cargo:rerun-if-env-changed={setting}");
        digest.update(setting, env::var(setting).unwrap_or_default().as_bytes());
    }
    let rustc = env::var_os("RUSTC").expect("Cargo states the compiler");
    let version = Command::new(rustc).arg("-vV").output().expect("the compiler states its version");
    digest.update("rustc", &version.stdout);
    let folded = (digest.0 >> 64) as u64 ^ digest.0 as u64;
    println!("cargo:rustc-env=DUMBBELL_ENGINE_DIGEST={folded:016x}");
}

/// Adds the engine's files below a folder, and makes Cargo watch for new ones.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let listed = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in listed {
        let path = entry.expect("a folder can be listed to its end").path();
        if path.is_dir() {
            if !APART.iter().any(|name| path.ends_with(name)) {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
}

/// The path of a file below a folder, with `/` on every platform.
fn name_in(folder: &Path, file: &Path) -> String {
    let relative = file.strip_prefix(folder).expect("a file of the folder");
    let parts: Vec<String> =
        relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.join("/")
}
