//! No text contains marks of open work, values from memory, or paths of the machine it was written on.

use super::{Finding, Tree, word_starts};

/// Marks of open work, concatenated so that this file does not contain them.
const MARKS: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// Macros that stand for missing code.
const HOLES: [&str; 4] = [
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("NotImplemented", "Error"),
];

/// Words that stand for a source that was not looked up.
const MEMORY: &str = concat!("as remem", "bered");

/// Folders that exist on one machine only.
const MACHINE: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/tm", "p/"),
    concat!("/Us", "ers/"),
];

/// Checks every text except the licence, lock files and data tables.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|(path, _)| {
            *path != "LICENSE" && ![".lock", ".csv", ".svg"].iter().any(|end| path.ends_with(end))
        })
        .flat_map(|(path, text)| check_text(path, text))
        .collect()
}

fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut found =
            |message: String| findings.push(Finding { path: path.to_owned(), line: index + 1, message });
        for mark in MARKS.iter().filter(|mark| !word_starts(line, mark).is_empty()) {
            found(format!("{mark}: finish it, or say in a sentence why it is as it is"));
        }
        for hole in HOLES.iter().filter(|hole| line.contains(*hole)) {
            found(format!("{hole}: no hole is left in the code"));
        }
        if line.contains(MEMORY) {
            found(format!("{MEMORY}: cite the source, or declare the parameter's source as unverified"));
        }
        for folder in MACHINE.iter().filter(|folder| names_folder(line, folder)) {
            found(format!("{folder}: no path of one machine"));
        }
    }
    findings
}

/// True if `line` contains a path that begins with `folder`; the tail of a longer path or of an address does not count.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        before.is_none_or(|character| !character.is_alphanumeric() && !"._-~}*/".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::of_texts(&[("crates/one/src/lib.rs", text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn marks_of_open_work_are_found_only_as_words() {
        for mark in MARKS {
            assert_eq!(lines(&format!("fn one() {{}}\n// {mark}: later\n")), [2], "{mark}");
            assert_eq!(lines(&format!("let {mark}ED = 1;\n")), Vec::<usize>::new(), "{mark}");
        }
    }

    #[test]
    fn values_from_memory_are_found() {
        assert_eq!(lines(&format!("//! One.\n//! The constants are {MEMORY}.\n")), [2]);
    }

    #[test]
    fn missing_code_is_found() {
        for hole in HOLES {
            assert_eq!(lines(&format!("    {hole}\"why\")\n")), [1], "{hole}");
        }
    }

    #[test]
    fn paths_of_one_machine_are_found_and_longer_paths_are_not() {
        for folder in MACHINE {
            assert_eq!(lines(&format!("let path = \"{folder}here\";\n")), [1], "{folder}");
            assert_eq!(
                lines(&format!("let path = \"results{folder}here\";\n")),
                Vec::<usize>::new(),
                "{folder}"
            );
        }
    }

    #[test]
    fn data_tables_are_not_checked() {
        let text = format!("{},1\n", MARKS[2]);
        assert_eq!(check(&Tree::of_texts(&[("papers/one/numbers.csv", &text)])), Vec::new());
    }
}
