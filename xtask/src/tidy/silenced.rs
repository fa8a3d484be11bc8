//! A silenced check or a skipped test states its reason beside it.

use super::{Finding, Tree};

/// Attributes of Rust that silence a lint.
const LINTS: [&str; 4] = ["#[allow(", "#![allow(", "#[expect(", "#![expect("];

/// Comments of Python that silence a linter or the type checker.
const COMMENTS: [&str; 2] = [concat!("# no", "qa"), concat!("# type", ": ignore")];

/// Checks the Rust and Python sources.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let is_silent = match path.rsplit('.').next() {
                Some("rs") => silences_in_rust(&lines[index..]),
                Some("py") => silences_in_python(line),
                _ => false,
            };
            if is_silent {
                let message = "a silenced check states its reason".to_owned();
                findings.push(Finding { path: path.to_owned(), line: index + 1, message });
            }
        }
    }
    findings
}

/// True if an attribute begins on the first line and ends without a reason.
fn silences_in_rust(lines: &[&str]) -> bool {
    let attribute = lines[0].trim_start();
    if attribute == "#[ignore]" {
        return true;
    }
    let length = lines.iter().position(|line| line.contains(")]")).map_or(1, |end| end + 1);
    LINTS.iter().any(|start| attribute.starts_with(start))
        && !lines[..length].iter().any(|line| line.contains("reason = \""))
}

/// True if a comment silences a check and gives no reason after a dash or a second comment sign.
fn silences_in_python(line: &str) -> bool {
    COMMENTS.iter().filter_map(|comment| line.split_once(comment)).any(|(_, rest)| {
        let reason = rest.split_once(" - ").or_else(|| rest.split_once("# ")).map(|(_, reason)| reason);
        reason.is_none_or(|reason| reason.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of_texts(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_silenced_lint_without_a_reason_is_found() {
        assert_eq!(lines("one.rs", "fn one() {}\n    #[allow(dead_code)]\n"), [2]);
        assert_eq!(lines("one.rs", "#![expect(\n    dead_code,\n)]\n"), [1]);
        assert_eq!(lines("one.rs", "#[ignore]\n"), [1]);
    }

    #[test]
    fn a_silenced_lint_with_a_reason_is_accepted() {
        assert_eq!(lines("one.rs", "#[allow(dead_code, reason = \"an example\")]\n"), [0; 0]);
        assert_eq!(lines("one.rs", "#[allow(\n    dead_code,\n    reason = \"an example\"\n)]\n"), [0; 0]);
        assert_eq!(lines("one.rs", "#[ignore = \"takes an hour\"]\n"), [0; 0]);
    }

    #[test]
    fn a_silenced_line_of_python_without_a_reason_is_found() {
        for comment in COMMENTS {
            assert_eq!(lines("one.py", &format!("x = 1  {comment}\n")), [1], "{comment}");
            assert_eq!(lines("one.py", &format!("x = 1  {comment}[arg-type]\n")), [1], "{comment}");
            assert_eq!(lines("one.py", &format!("x = 1  {comment}: N818\n")), [1], "{comment}");
        }
    }

    #[test]
    fn a_silenced_line_of_python_with_a_reason_is_accepted() {
        for comment in COMMENTS {
            assert_eq!(lines("one.py", &format!("x = 1  {comment}[N818] - the field's own name\n")), [0; 0]);
            assert_eq!(lines("one.py", &format!("x = 1  {comment}[N818]  # the field's own name\n")), [0; 0]);
        }
    }
}
