//! Lists the twins in `bpf/` and, with the feature `kernel`, compiles them, so that adding a twin is adding a file.

#![allow(clippy::disallowed_macros, reason = "a build script tells Cargo on standard output")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler, unless the variable `CLANG` names another. Newer ones work; older ones lack declaration tags.
const CLANG: &str = "clang-16";

fn main() {
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../bpf");
    let folder = folder.canonicalize().expect("the checkout has a folder bpf");
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-env-changed=CLANG");

    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder bpf can be read")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".h") || name.ends_with(".c"))
        .collect();
    names.sort();

    let mut files = String::from("const FILES: &[(&str, &str)] = &[\n");
    for name in &names {
        println!("cargo:rerun-if-changed={}", folder.join(name).display());
        writeln!(files, "    ({name:?}, include_str!({:?})),", folder.join(name)).expect("a string grows");
    }
    files.push_str("];\n");

    let is_kernel =
        std::env::var_os("CARGO_FEATURE_KERNEL").is_some() && variable("CARGO_CFG_TARGET_OS") == "linux";
    if is_kernel {
        files.push_str("const OBJECTS: &[(&str, &[u8])] = &[\n");
        for stem in names.iter().filter_map(|name| name.strip_suffix(".bpf.c")) {
            let object = compile(&folder, stem);
            writeln!(files, "    ({stem:?}, include_bytes!({object:?})),").expect("a string grows");
        }
        files.push_str("];\n");
    }
    let output = Path::new(&variable("OUT_DIR")).join("twins.rs");
    std::fs::write(output, files).expect("the output folder can be written");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// Compiles one twin and returns the path of its object.
fn compile(folder: &Path, stem: &str) -> PathBuf {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| CLANG.to_owned());
    let object = Path::new(&variable("OUT_DIR")).join(format!("{stem}.bpf.o"));
    let mut command = Command::new(&clang);
    // Version 3 of the instruction set has 32-bit jumps, and is the newest that this compiler and libbpf both know.
    command.args([
        "-g",
        "-O2",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Werror",
    ]);
    command.arg("-I").arg(variable("DEP_BPF_INCLUDE"));
    // A compiler for another target does not look where Debian keeps the headers of the machine.
    command.arg("-I").arg(format!("/usr/include/{}-linux-gnu", variable("CARGO_CFG_TARGET_ARCH")));
    command.arg("-c").arg(folder.join(format!("{stem}.bpf.c"))).arg("-o").arg(&object);
    match command.status() {
        Ok(status) if status.success() => object,
        Ok(status) => panic!("{clang} failed on bpf/{stem}.bpf.c: {status}"),
        Err(error) => {
            panic!("the feature `kernel` needs {clang} (Debian: clang-16), or another in CLANG: {error}")
        }
    }
}
