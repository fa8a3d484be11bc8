//! The engine reads no clock, touches no files and spawns no threads: the same scenario and seed give the same bits
//! everywhere.
//!
//! Clippy's lists (`clippy.toml`) forbid single functions. This rule forbids the modules of the standard library for
//! input, output and concurrency.

use super::{Finding, Tree};

/// The crates that make up the engine.
const ENGINE: [&str; 5] = ["dumbbell-units", "dumbbell-cc", "dumbbell-tcp", "dumbbell-net", "dumbbell-sim"];

/// Modules that the engine must not use.
const WORLD: [&str; 8] =
    ["std::fs", "std::net", "std::thread", "std::env", "std::process", "std::io", "std::os", "std::time"];

/// Checks the sources of the engine up to their unit tests, which may read files or measure time.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|(path, _)| {
            path.ends_with(".rs")
                && ENGINE.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")))
        })
        .flat_map(|(path, text)| check_source(path, text))
        .collect()
}

fn check_source(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim() == "#[cfg(test)]" {
            break;
        }
        if line.trim_start().starts_with("//") {
            continue;
        }
        for module in WORLD.iter().filter(|module| !super::word_starts(line, module).is_empty()) {
            let message = format!("the engine is closed to the world: {module} belongs in a door above it");
            findings.push(Finding { path: path.to_owned(), line: index + 1, message });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_modules_are_found_with_their_line() {
        let tree =
            Tree::of_texts(&[("crates/dumbbell-sim/src/run.rs", "use core::fmt;\nuse std::thread;\n")]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
    }

    #[test]
    fn comments_tests_and_other_crates_are_exempt() {
        let tree = Tree::of_texts(&[
            (
                "crates/dumbbell-sim/src/run.rs",
                "// std::fs is refused here.\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n",
            ),
            ("crates/dumbbell-py/src/lib.rs", "use std::thread;\n"),
        ]);
        assert_eq!(check(&tree), Vec::new());
    }
}
