//! The structs of the sender stay small, and code specific to one environment stays in its own files.

use super::{Finding, Tree};

/// The sources of the sender.
const SENDER: &str = "crates/dumbbell-tcp/src/";

/// Files that may name environments: their recoveries with the registries, and their presets.
const OF_ENVIRONMENTS: [&str; 5] = [
    "crates/dumbbell-tcp/src/config/recovery.rs",
    "crates/dumbbell-tcp/src/sender/recovery/mod.rs",
    "crates/dumbbell-tcp/src/sender/recovery/ns2_",
    "crates/dumbbell-tcp/src/sender/recovery/ns3_",
    "crates/dumbbell-tcp/src/config/presets/",
];

/// Structs and their maximum number of members.
const LIMITS: [(&str, &str, usize); 3] = [
    ("crates/dumbbell-tcp/src/config/mod.rs", "TcpParams", 24),
    ("crates/dumbbell-tcp/src/sender/mod.rs", "Sender", 25),
    ("crates/dumbbell-tcp/src/sender/connection.rs", "Connection", 25),
];

/// Checks the sources of the sender.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = LIMITS.iter().flat_map(|limit| check_members(tree, *limit)).collect();
    let sources = tree.files().filter(|(path, _)| path.starts_with(SENDER) && path.ends_with(".rs"));
    for (path, text) in sources.filter(|(path, _)| !OF_ENVIRONMENTS.iter().any(|own| path.starts_with(own))) {
        let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").enumerate();
        findings.extend(code.filter(|(_, line)| names_a_simulator(line)).map(|(index, _)| Finding {
            path: path.to_owned(),
            line: index + 1,
            message: "an environment is named outside its recovery and its preset".into(),
        }));
    }
    findings
}

fn names_a_simulator(line: &str) -> bool {
    let line = line.to_lowercase();
    ["ns-2", "ns-3", "ns2", "ns3"].iter().any(|name| line.contains(name))
}

fn check_members(tree: &Tree, (path, name, most): (&str, &str, usize)) -> Option<Finding> {
    let text = tree.text(path)?;
    let message = match count_members(text, name) {
        None => format!("has no struct {name}, whose members are counted"),
        Some(count) if count > most => format!("{name} has {count} members, of at most {most}"),
        Some(_) => return None,
    };
    Some(Finding { path: path.to_owned(), line: 0, message })
}

/// Members of a struct, in a `struct` or in `params!`: the lines at its depth that begin with a name and a colon.
fn count_members(text: &str, name: &str) -> Option<usize> {
    let mut lines = text.lines();
    let opening = lines.find(|line| {
        line.split_once("struct ").is_some_and(|(_, rest)| rest.split([' ', '{', '<']).next() == Some(name))
    })?;
    let indent = opening.len() - opening.trim_start().len();
    let inside = lines.take_while(|line| line.trim_end() != format!("{}}}", " ".repeat(indent)));
    let is_member = |line: &&str| {
        let depth = line.len() - line.trim_start().len();
        let declared = line.trim_start().trim_start_matches("pub(super) ").trim_start_matches("pub ");
        let is_name = |text: &str| {
            !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        depth == indent + 4 && declared.split_once(": ").is_some_and(|(before, _)| is_name(before))
    };
    Some(inside.filter(is_member).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_named_only_in_their_own_files() {
        let tree = Tree::of_texts(&[
            ("crates/dumbbell-tcp/src/config/presets/ns2.rs", "//! The simulator ns-2.\n"),
            (
                "crates/dumbbell-tcp/src/sender/timeout.rs",
                "fn f() {\n    // As ns-2 does.\n}\n#[cfg(test)]\n// ns-3\n",
            ),
        ]);
        let findings: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("crates/dumbbell-tcp/src/sender/timeout.rs:2"), "{findings:?}");
    }

    #[test]
    fn members_are_counted_in_structs_and_in_declared_parameters() {
        let plain = "pub struct Sender {\n    a: u8,\n    /// Not: this.\n    pub(super) b: Vec<u8>,\n}\nstruct Other {\n    c: u8,\n}\n";
        assert_eq!(count_members(plain, "Sender"), Some(2));
        let declared = "params! {\n    pub struct TcpParams {\n        a: u64 = 1, \"-\", \"[x]\",\n            |n| *n > 0, \"above: 0\";\n        b: bool = true, \"-\", \"[x]\";\n    }\n}\n";
        assert_eq!(count_members(declared, "TcpParams"), Some(2));
        assert_eq!(count_members(plain, "Receiver"), None);
    }
}
