//! Papers, peers and examples use only the public Python interface, and the package knows no paper and no peer.

use super::{Finding, Tree};

/// Checks the imports of every Python file inside and outside the package.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".py")) {
        let is_user = ["papers/", "peers/", "examples/"].iter().any(|folder| path.starts_with(folder));
        let is_package = path.starts_with("python/dumbbell/");
        for (index, line) in text.lines().enumerate() {
            let statement = line.trim_start();
            if !statement.starts_with("import ") && !statement.starts_with("from ") {
                continue;
            }
            let message = if is_user
                && (statement.contains("dumbbell._") || statement.starts_with("from dumbbell import _"))
            {
                "a paper or peer uses the public interface only: no module of dumbbell whose name begins with an underscore"
            } else if is_package
                && matches!(statement.split([' ', '.']).nth(1), Some("papers" | "peers" | "examples"))
            {
                "the package knows no paper and no peer: it finds them at run time"
            } else {
                continue;
            };
            findings.push(Finding { path: path.to_owned(), line: index + 1, message: message.into() });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paper_that_uses_a_private_interface_is_found() {
        let text = "import dumbbell\nfrom dumbbell._engine import run\nfrom dumbbell import _store\n";
        let lines: Vec<usize> =
            check(&Tree::of_texts(&[("papers/one/tables.py", text)])).iter().map(|f| f.line).collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn a_package_that_imports_a_paper_is_found() {
        let text = "from papers.one import claims\nimport papers\nfrom dumbbell import _engine\n";
        let lines: Vec<usize> = check(&Tree::of_texts(&[("python/dumbbell/reproduce.py", text)]))
            .iter()
            .map(|f| f.line)
            .collect();
        assert_eq!(lines, [1, 2]);
    }
}
