//! Dependencies between crates point down, and every crate uses the lints of the workspace.

use super::{Finding, Tree};
use toml::{Table, Value};

/// Allowed dependencies of each crate. A new crate must be added here and to the overview in `docs/architecture.md`.
const ARROWS: [(&str, &[&str]); 18] = [
    ("dumbbell-units", &[]),
    ("dumbbell-cc", &["dumbbell-units"]),
    ("dumbbell-net", &["dumbbell-units"]),
    ("dumbbell-tcp", &["dumbbell-units", "dumbbell-cc"]),
    ("dumbbell-sim", &["dumbbell-units", "dumbbell-cc", "dumbbell-net", "dumbbell-tcp"]),
    ("dumbbell-bpf", &["dumbbell-units", "dumbbell-cc"]),
    ("dumbbell-capture", &["dumbbell-units", "dumbbell-tcp", "dumbbell-sim"]),
    ("dumbbell-inspect", &["dumbbell-units"]),
    (
        "dumbbell-testbed",
        &[
            "dumbbell-units",
            "dumbbell-cc",
            "dumbbell-net",
            "dumbbell-tcp",
            "dumbbell-sim",
            "dumbbell-bpf",
            "dumbbell-capture",
        ],
    ),
    (
        "dumbbell-py",
        &[
            "dumbbell-units",
            "dumbbell-cc",
            "dumbbell-net",
            "dumbbell-tcp",
            "dumbbell-sim",
            "dumbbell-capture",
            "dumbbell-inspect",
            "dumbbell-library",
            "dumbbell-script",
            "dumbbell-transports",
            "dumbbell-kernel",
        ],
    ),
    ("dumbbell-library", &["dumbbell-units", "dumbbell-cc", "dumbbell-sim"]),
    ("dumbbell-transports", &["dumbbell-units", "dumbbell-net", "dumbbell-sim"]),
    ("dumbbell-kernel", &["dumbbell-units", "dumbbell-net", "dumbbell-script", "dumbbell-sim"]),
    ("dumbbell-script", &["dumbbell-units", "dumbbell-tcp"]),
    (
        "dumbbell-web",
        &[
            "dumbbell-units",
            "dumbbell-net",
            "dumbbell-tcp",
            "dumbbell-sim",
            "dumbbell-capture",
            "dumbbell-library",
        ],
    ),
    ("dumbbell-benches", &["dumbbell-units", "dumbbell-cc", "dumbbell-net", "dumbbell-tcp", "dumbbell-sim"]),
    (
        "dumbbell-chaos",
        &[
            "dumbbell-units",
            "dumbbell-cc",
            "dumbbell-net",
            "dumbbell-tcp",
            "dumbbell-sim",
            "dumbbell-transports",
            "dumbbell-kernel",
        ],
    ),
    ("xtask", &[]),
];

/// The section of a manifest for tests, and what tests of a crate may use besides; itself stands for more of its features.
const DEV: &str = "dev-dependencies";
const FOR_TESTS: [(&str, &str); 2] =
    [("dumbbell-capture", "dumbbell-transports"), ("dumbbell-transports", "dumbbell-transports")];

/// Crates that state their own lints: a binding cannot forbid `unsafe`.
const OWN_LINTS: [&str; 4] = ["dumbbell-library", "dumbbell-py", "dumbbell-testbed", "dumbbell-web"];

/// Checks every manifest of the workspace except its root.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|(path, _)| path.ends_with("/Cargo.toml") && !path.starts_with("fuzz/"))
        .flat_map(|(path, text)| check_manifest(path, text))
        .collect()
}

fn check_manifest(path: &str, text: &str) -> Vec<Finding> {
    let finding = |message: String| Finding { path: path.to_owned(), line: 0, message };
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![finding(format!("is not TOML: {error}"))],
    };
    let Some(name) = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str)
    else {
        return vec![finding("has no package name".into())];
    };
    let Some((_, accepted)) = ARROWS.iter().find(|(known, _)| *known == name) else {
        return vec![finding(format!("{name} has no place in ARROWS of xtask/src/tidy/crates.rs"))];
    };
    let mut findings: Vec<Finding> = dependencies(&manifest)
        .into_iter()
        .filter(|(kind, dependency)| {
            let is_of_tests = *kind == DEV && FOR_TESTS.contains(&(name, dependency.as_str()));
            dependency.starts_with("dumbbell-") && !accepted.contains(&dependency.as_str()) && !is_of_tests
        })
        .map(|(_, dependency)| {
            finding(format!("{name} must not depend on {dependency}; accepted: {accepted:?}"))
        })
        .collect();
    let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
    if inherits != Some(true) && !OWN_LINTS.contains(&name) {
        findings.push(finding(format!(
            "{name} must inherit the lints of the workspace: [lints] workspace = true"
        )));
    }
    findings
}

/// The packages that a manifest names with their sections, including those for builds, tests and specific targets.
fn dependencies(manifest: &Table) -> Vec<(&'static str, String)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let sections = std::iter::once(manifest)
        .chain(targets.into_iter().flat_map(Table::values).filter_map(Value::as_table));
    let mut packages = Vec::new();
    for section in sections {
        for kind in ["dependencies", DEV, "build-dependencies"] {
            for (key, value) in section.get(kind).and_then(Value::as_table).into_iter().flatten() {
                // A renamed dependency states its real name in `package`.
                let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
                packages.push((kind, package.to_owned()));
            }
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn messages(name: &str, rest: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"{name}\"\n{rest}");
        let tree = Tree::of_texts(&[("crates/one/Cargo.toml", &manifest)]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_downward_dependency_is_accepted() {
        let rest = format!("{LINTS}[dependencies]\ndumbbell-units.workspace = true\nlibm = \"0.2\"\n");
        assert_eq!(messages("dumbbell-cc", &rest), Vec::<String>::new());
    }

    #[test]
    fn the_network_never_sees_congestion_control() {
        let rest = format!("{LINTS}[dependencies]\ndumbbell-cc.workspace = true\n");
        let messages = messages("dumbbell-net", &rest);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains("dumbbell-net must not depend on dumbbell-cc"), "{messages:?}");
    }

    #[test]
    fn an_upward_dependency_of_any_kind_is_found() {
        for section in
            ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"]
        {
            let rest = format!("{LINTS}[{section}]\ndumbbell-sim = {{ path = \"../sim\" }}\n");
            assert_eq!(messages("dumbbell-tcp", &rest).len(), 1, "{section}");
        }
    }

    #[test]
    fn only_the_tests_of_captures_use_stacks() {
        for (section, findings) in [("dependencies", 1), ("dev-dependencies", 0)] {
            let rest = format!("{LINTS}[{section}]\ndumbbell-transports.workspace = true\n");
            assert_eq!(messages("dumbbell-capture", &rest).len(), findings, "{section}");
        }
    }

    #[test]
    fn a_renamed_dependency_is_found() {
        let rest =
            format!("{LINTS}[dependencies]\nnetwork = {{ path = \"../net\", package = \"dumbbell-net\" }}\n");
        assert_eq!(messages("dumbbell-cc", &rest).len(), 1);
    }

    #[test]
    fn a_crate_missing_from_the_overview_is_found() {
        let messages = messages("dumbbell-extra", LINTS);
        assert!(messages[0].contains("has no place"), "{messages:?}");
    }

    #[test]
    fn a_crate_without_the_lints_of_the_workspace_is_found() {
        assert_eq!(messages("dumbbell-sim", "").len(), 1);
        assert_eq!(messages("dumbbell-py", "").len(), 0);
    }
}
