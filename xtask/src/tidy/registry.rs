//! A congestion control is one file and one line of the registry: every file is registered, and every file cites its
//! source. The file may be a folder's `mod.rs`; the other files of the folder are its parts.

use super::{Finding, Tree};

/// The folder with one file per algorithm.
const ALGORITHMS: &str = "crates/dumbbell-cc/src/algorithms/";

/// The file of the registry.
const REGISTRY: &str = "crates/dumbbell-cc/src/algorithms/mod.rs";

/// Maximum length of a registry name; the name of its eBPF counterpart must fit into 15 characters.
const LONGEST_NAME: usize = 9;

/// One line of the registry.
struct Entry<'a> {
    line: usize,
    name: &'a str,
    module: &'a str,
}

/// Checks the registry of congestion controls against the files beside it.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(registry) = tree.text(REGISTRY) else {
        return vec![Finding {
            path: REGISTRY.into(),
            line: 0,
            message: "is missing: it holds the registry".into(),
        }];
    };
    let entries = entries(registry);
    let mut findings: Vec<Finding> = entries.iter().flat_map(|entry| check_entry(tree, entry)).collect();
    for (path, text) in tree.files() {
        let Some(file) = path.strip_prefix(ALGORITHMS).and_then(|file| file.strip_suffix(".rs")) else {
            continue;
        };
        let (module, part) = file.split_once('/').unwrap_or((file, "mod"));
        if file != "mod" && part == "mod" {
            findings.extend(check_file(path, text, entries.iter().any(|entry| entry.module == module)));
        }
    }
    findings
}

/// The lines of the form `"name" => module::Type,` between `registry! {` and its closing brace.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("registry! {")).skip(1);
    lines
        .take_while(|(_, line)| !line.starts_with('}'))
        .filter_map(|(index, line)| {
            let (name, item) = line.trim().strip_prefix('"')?.split_once("\" => ")?;
            let (module, _) = item.split_once("::")?;
            Some(Entry { line: index + 1, name, module })
        })
        .collect()
}

fn check_entry(tree: &Tree, entry: &Entry<'_>) -> Vec<Finding> {
    let finding = |message: String| Finding { path: REGISTRY.into(), line: entry.line, message };
    let mut findings = Vec::new();
    let Entry { name, module, .. } = entry;
    let is_letter = |byte: u8| byte.is_ascii_lowercase();
    let is_well_formed = name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit());
    if name.len() > LONGEST_NAME || !is_well_formed {
        findings.push(finding(format!(
            "\"{name}\" is not 1 to {LONGEST_NAME} lower-case letters and digits, a letter first"
        )));
    }
    if name != module {
        findings.push(finding(format!("\"{name}\" and its module {module} differ: the path says the name")));
    }
    let paths = [".rs", "/mod.rs"].map(|end| format!("{ALGORITHMS}{module}{end}"));
    if !paths.iter().any(|path| tree.text(path).is_some()) {
        findings.push(finding(format!("there is no {ALGORITHMS}{module}.rs")));
    }
    findings
}

fn check_file(path: &str, text: &str, is_registered: bool) -> Vec<Finding> {
    let finding =
        |line: usize, message: &str| Finding { path: path.to_owned(), line, message: message.to_owned() };
    let mut findings = Vec::new();
    if !is_registered {
        findings.push(finding(0, "is not in the registry"));
    }
    let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
    if header.is_empty() {
        findings.push(finding(
            1,
            "an algorithm's file opens with `//!`: its citation, what it is, where it departs from the paper",
        ));
    } else if !header.iter().any(|line| cites(line)) {
        findings.push(finding(1, "the opening comment of an algorithm cites where it comes from"));
    }
    findings
}

/// True if a line contains the key of a work in brackets or the number of an RFC; `citations` checks that they resolve.
fn cites(line: &str) -> bool {
    let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let in_brackets = line.split('[').skip(1).any(|rest| rest.split(']').next().is_some_and(has_digit));
    in_brackets || line.split("RFC ").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/dumbbell-cc/src/algorithms/one.rs";
    const TEXT: &str = "//! One [jain1991 §2].\n";

    fn registry(line: &str) -> String {
        format!("macro_rules! registry {{\n}}\n\nregistry! {{\n    {line}\n}}\n")
    }

    fn messages(line: &str, file: &str, text: &str) -> Vec<String> {
        let tree = Tree::of_texts(&[(REGISTRY, &registry(line)), (file, text)]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn an_algorithm_is_a_file_and_a_line() {
        assert_eq!(messages("\"one\" => one::One,", FILE, TEXT), Vec::<String>::new());
    }

    #[test]
    fn the_file_may_be_that_of_a_folder() {
        const FOLDER: &str = "crates/dumbbell-cc/src/algorithms/one/mod.rs";
        assert_eq!(messages("\"one\" => one::One,", FOLDER, TEXT), Vec::<String>::new());
        assert_eq!(messages("\"one\" => one::One,", FOLDER, "//! One.\n").len(), 1);
    }

    #[test]
    fn names_in_another_form_are_found() {
        for name in ["One", "one_two", "2reno", "abcdefghij", ""] {
            let messages = messages(&format!("\"{name}\" => one::One,"), FILE, TEXT);
            assert!(
                messages.iter().any(|message| message.contains("lower-case letters")),
                "{name}: {messages:?}"
            );
        }
    }

    #[test]
    fn lines_without_files_and_files_without_lines_are_found() {
        let messages = messages("\"two\" => two::Two,", FILE, TEXT);
        assert_eq!(messages.len(), 2);
        assert!(messages[0].contains("there is no"), "{messages:?}");
        assert!(messages[1].contains("not in the registry"), "{messages:?}");
    }

    #[test]
    fn a_name_that_differs_from_its_path_is_found() {
        assert_eq!(messages("\"uno\" => one::One,", FILE, TEXT).len(), 1);
    }

    #[test]
    fn an_opening_comment_without_a_citation_is_found() {
        for text in [
            "use crate::Ack;\n",
            "//! One, an algorithm [`Ack`](crate::Ack).\n",
            "//! One.\nfn one() {} // [jain1991]\n",
        ] {
            assert_eq!(messages("\"one\" => one::One,", FILE, text).len(), 1, "{text}");
        }
        let rfc = format!("//! One, as {} 5681 says.\n", "RFC");
        assert_eq!(messages("\"one\" => one::One,", FILE, &rfc), Vec::<String>::new());
    }

    #[test]
    fn a_missing_registry_is_found() {
        assert_eq!(check(&Tree::of_texts(&[(FILE, TEXT)])).len(), 1);
    }
}
