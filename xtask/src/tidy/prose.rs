//! Lines of Markdown prose end at 120 characters, so that they can be read and compared side by side.
//!
//! Tables and code cannot be wrapped, nor can a line without a space: they are not checked.

use super::{Finding, Tree};

/// Maximum line length of prose, in characters.
const WIDTH: usize = 120;

/// Checks every Markdown file.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|(path, _)| path.ends_with(".md"))
        .flat_map(|(path, text)| check_text(path, text))
        .collect()
}

fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        let words = line.trim_start();
        if words.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let length = line.chars().count();
        if !is_code && length > WIDTH && !words.starts_with('|') && words.contains(' ') {
            findings.push(Finding {
                path: path.to_owned(),
                line: index + 1,
                message: format!("{length} characters: break lines of prose at {WIDTH}"),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of_texts(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    /// Two words of `length` characters, with a space between them.
    fn words(length: usize) -> String {
        format!("{} b", "a".repeat(length - 2))
    }

    #[test]
    fn a_line_of_prose_ends_at_120_characters() {
        let text = format!("# Title\n\n{}\n{}\n* {}\n", words(120), words(121), words(119));
        assert_eq!(lines("docs/one.md", &text), [4, 5]);
        assert_eq!(lines("docs/one.rs", &text), Vec::<usize>::new());
    }

    #[test]
    fn width_is_counted_in_characters_not_bytes() {
        assert_eq!(lines("README.md", &format!("{} ü", "§".repeat(118))), Vec::<usize>::new());
    }

    #[test]
    fn tables_code_and_unbreakable_lines_may_be_longer() {
        let long = words(130);
        let text = format!("| {long} |\n```sh\n{long}\n```\n{}\n{long}\n", "a".repeat(130));
        assert_eq!(lines("README.md", &text), [6]);
    }
}
