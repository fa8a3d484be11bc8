//! Checks the licences of all dependencies against the allow list of `deny.toml`, like `cargo deny check licenses`, for
//! machines without it.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Dependencies whose licence is not allowed, one sentence each, and the number of dependencies.
pub fn check(root: &Path) -> Result<(Vec<String>, usize), String> {
    let text =
        std::fs::read_to_string(root.join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
    let deny: toml::Table = toml::from_str(&text).map_err(|error| format!("deny.toml: {error}"))?;
    let list =
        deny.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    let allowed: BTreeSet<&str> =
        list.ok_or("deny.toml has no licenses.allow")?.iter().filter_map(toml::Value::as_str).collect();
    let packages = dependencies(root)?;
    let refused = packages.iter().filter(|(_, _, licence)| !is_allowed(licence, &allowed));
    let sentence = |(name, version, licence): &(String, String, String)| {
        format!("{name} {version}: the licence \"{licence}\" is not allowed by deny.toml")
    };
    Ok((refused.map(sentence).collect(), packages.len()))
}

/// Name, version and licence of every external dependency.
fn dependencies(root: &Path) -> Result<BTreeSet<(String, String, String)>, String> {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.args(["metadata", "--format-version", "1", "--all-features", "--locked"]).current_dir(root);
    let output = command.output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let foreign = packages.iter().filter(|package| !package["source"].is_null());
    Ok(foreign
        .map(|package| (text(&package["name"]), text(&package["version"]), text(&package["license"])))
        .collect())
}

/// True if an SPDX expression can be satisfied with the allowed licences. A slash is an old notation for `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    alternatives(&mut words, allowed) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn alternatives(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    let mut is_met = conjunction(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        is_met |= conjunction(words, allowed);
    }
    is_met
}

fn conjunction(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    let mut is_met = licence(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_met &= licence(words, allowed);
    }
    is_met
}

fn licence(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    match words.next() {
        Some("(") => alternatives(words, allowed) && words.next() == Some(")"),
        Some(name) if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next().unwrap_or_default();
            allowed.contains(format!("{name} WITH {exception}").as_str())
        }
        Some(name) => allowed.contains(name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_needs_one_of_its_alternatives_and_all_of_its_conjuncts() {
        let allowed = BTreeSet::from(["MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]);
        for (expression, expected) in [
            ("MIT", true),
            ("Apache-2.0", false),
            ("MIT OR Apache-2.0", true),
            ("GPL-3.0/MIT", true),
            ("Apache-2.0 AND MIT", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(GPL-3.0 OR Apache-2.0) AND Unicode-3.0", false),
            ("GPL-3.0 OR MIT AND Unicode-3.0", true),
            ("MIT Unicode-3.0", false),
            ("(MIT", false),
            ("none", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }
}
