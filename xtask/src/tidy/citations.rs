//! A citation has one form and resolves in `docs/references.toml`.
//!
//! A work is cited by its key in square brackets, alone or with a place: the section sign and a number, or a table,
//! figure, equation, appendix, chapter, page or footnote. An RFC is cited by its number after `RFC` and one space, with
//! its section in the same form.

use super::{Finding, Tree};
use toml::Table;

/// The file that declares the keys.
const REFERENCES: &str = "docs/references.toml";

/// Words that may begin a place in a work.
const PLACES: [&str; 13] = [
    "§",
    "table ",
    "tables ",
    "figure ",
    "figures ",
    "equation ",
    "equations ",
    "appendix ",
    "chapter ",
    "chapters ",
    "page ",
    "footnote ",
    "slide ",
];

/// Checks every text except the licence, lock files and data tables.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let whole_file = |message: String| vec![Finding { path: REFERENCES.into(), line: 0, message }];
    let Some(text) = tree.text(REFERENCES) else {
        return whole_file("is missing: citations resolve there".into());
    };
    let references: Table = match text.parse() {
        Ok(references) => references,
        Err(error) => return whole_file(format!("is not TOML: {error}")),
    };
    let mut findings = check_references(&references);
    for (path, text) in tree.files() {
        if path == REFERENCES
            || path == "LICENSE"
            || [".lock", ".csv", ".svg"].iter().any(|end| path.ends_with(end))
        {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            let messages = check_works(line, &references).into_iter().chain(check_rfcs(line, &references));
            findings.extend(messages.map(|message| Finding {
                path: path.to_owned(),
                line: index + 1,
                message,
            }));
        }
    }
    findings
}

/// Without a title, an entry cannot be looked up by a reader.
fn check_references(references: &Table) -> Vec<Finding> {
    let sections = ["work", "rfc"].iter().filter_map(|section| references.get(*section)?.as_table());
    sections
        .flatten()
        .filter(|(_, entry)| entry.get("title").and_then(toml::Value::as_str).is_none_or(str::is_empty))
        .map(|(key, _)| Finding { path: REFERENCES.into(), line: 0, message: format!("{key} has no title") })
        .collect()
}

fn is_known(references: &Table, section: &str, key: &str) -> bool {
    references.get(section).and_then(|entries| entries.get(key)).is_some()
}

/// The messages about the citations of works in one line.
fn check_works(line: &str, references: &Table) -> Vec<String> {
    let mut messages = Vec::new();
    for (start, _) in line.match_indices('[') {
        // After a name or a closing bracket, a bracket is an index in code.
        if line[..start].ends_with(|before: char| before.is_alphanumeric() || "_])".contains(before)) {
            continue;
        }
        let inside = &line[start + 1..];
        let key: &str = &inside[..inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len())];
        if !has_form_of_key(key) {
            continue;
        }
        let Some(end) = inside.find(']') else {
            messages.push(format!("the citation of {key} does not end on its line"));
            continue;
        };
        let place = &inside[key.len()..end];
        if !is_known(references, "work", key) {
            messages.push(format!("{key} is not in {REFERENCES}"));
        } else if !place.is_empty() && !place.strip_prefix(' ').is_some_and(is_place) {
            messages.push(format!(
                "\"{}\" names no place in {key}; accepted: {}",
                place.trim(),
                PLACES.join("| ")
            ));
        }
    }
    messages
}

/// True if `key` is a name, a year and at most one more letter.
fn has_form_of_key(key: &str) -> bool {
    let name = key.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let (name, letters) = (name, &key[name.len()..]);
    if letters.len() > 1 || !name.is_ascii() || name.len() < 6 {
        return false;
    }
    let (author, year) = name.split_at(name.len() - 4);
    year.bytes().all(|byte| byte.is_ascii_digit()) && author.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_place(place: &str) -> bool {
    PLACES.iter().any(|word| {
        place
            .strip_prefix(word)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '('))
    })
}

/// The messages about the citations of RFCs in one line.
fn check_rfcs(line: &str, references: &Table) -> Vec<String> {
    let mut messages = Vec::new();
    for (start, _) in line.match_indices("RFC") {
        if line[..start].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            continue;
        }
        let rest = &line[start + "RFC".len()..];
        let number_follows = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        if number_follows(rest) || rest.strip_prefix(['-', '_']).is_some_and(number_follows) {
            messages.push("an RFC is cited as RFC, one space and its number".into());
        } else if let Some(rest) = rest.strip_prefix(' ').filter(|rest| number_follows(rest)) {
            let number = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
            if !is_known(references, "rfc", number) {
                messages.push(format!("RFC {number} is not in {REFERENCES}"));
            }
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "[work.jain1991]\ntitle = \"The art\"\n[work.brakmo1995b]\ntitle = \"Problems\"\n[rfc.5681]\ntitle = \"Congestion control\"\n";

    fn messages(line: &str) -> Vec<String> {
        let tree = Tree::of_texts(&[(REFERENCES, KNOWN), ("crates/one/src/lib.rs", line)]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    /// Citations that do not resolve, concatenated so that the checkout does not contain them.
    fn cite(inside: &str) -> String {
        format!("//! See [{inside}] for why.")
    }

    #[test]
    fn known_citations_resolve() {
        for inside in [
            "jain1991",
            "jain1991 §18.2",
            "jain1991 table 17.3",
            "brakmo1995b equation (3)",
            "brakmo1995b figure 2",
        ] {
            assert_eq!(messages(&cite(inside)), Vec::<String>::new(), "{inside}");
        }
        assert_eq!(messages("// RFC 5681 §3.1 and the RFCs of its time"), Vec::<String>::new());
    }

    #[test]
    fn an_unknown_key_is_found() {
        for key in ["jacobson1988", "Jain1991", "brakmo1995", "jain1991c"] {
            let messages = messages(&cite(&format!("{key} §2")));
            assert_eq!(messages, [format!("{key} is not in {REFERENCES}")]);
        }
    }

    #[test]
    fn a_place_in_another_form_is_found() {
        for place in ["p. 3", "sec 2", "§", "tab 3"] {
            assert_eq!(messages(&cite(&format!("jain1991 {place}"))).len(), 1, "{place}");
        }
        assert_eq!(messages(&cite("jain1991, §2")).len(), 1);
    }

    #[test]
    fn a_citation_across_lines_is_found() {
        let broken = cite("jain1991 §2").replace(' ', "\n//! ");
        assert_eq!(messages(&broken).len(), 1);
    }

    #[test]
    fn an_unknown_or_misspelt_rfc_is_found() {
        let number = 9;
        assert_eq!(
            messages(&format!("// RFC {number} §2")),
            [format!("RFC {number} is not in {REFERENCES}")]
        );
        assert_eq!(messages(&format!("// {}5681 §3.1", "RFC")).len(), 1);
        assert_eq!(messages(&format!("// {}-5681 §3.1", "RFC")).len(), 1);
    }

    #[test]
    fn indices_and_types_in_code_are_not_citations() {
        for line in [
            "let x = table[year2000];",
            "let y: [u8; 1500] = [0; 1500];",
            "[profile.release]",
            "#[cfg(test)]",
        ] {
            assert_eq!(messages(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn an_entry_without_a_title_is_found() {
        let tree = Tree::of_texts(&[(REFERENCES, "[work.jain1991]\nyear = 1991\n")]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn missing_references_are_found() {
        assert_eq!(check(&Tree::of_texts(&[("README.md", "")])).len(), 1);
    }
}
