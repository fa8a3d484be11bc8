//! The house rules as functions from a tree of texts to findings.
//!
//! A rule never touches the file system: it reads a [`Tree`], so its tests use a few lines that break it.

mod circles;
mod citations;
mod crates;
mod engine;
mod leftovers;
mod outputs;
mod papers;
mod prose;
mod registry;
mod rooms;
mod silenced;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::Command;

/// One broken rule, at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path relative to the root of the checkout.
    pub path: String,
    /// Line, counted from 1; 0 if the finding concerns the whole file.
    pub line: usize,
    /// What is wrong and what is accepted.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.path, self.message),
            line => write!(formatter, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// The text files of a checkout by path, in order.
#[derive(Debug, Default)]
pub struct Tree {
    texts: BTreeMap<String, String>,
}

impl Tree {
    /// Reads all files under `root` that git tracks or that are new and not ignored.
    pub fn of_checkout(root: &Path) -> io::Result<Self> {
        let listing = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(root)
            .output()?;
        if !listing.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&listing.stderr).into_owned()));
        }
        let mut tree = Self::default();
        for path in String::from_utf8_lossy(&listing.stdout).split('\0').filter(|path| !path.is_empty()) {
            // A tracked file may be missing on disk, and an image is not text: neither is checked here.
            if let Ok(text) = std::fs::read_to_string(root.join(path)) {
                tree.texts.insert(path.to_owned(), text);
            }
        }
        Ok(tree)
    }

    /// A tree with the given paths and texts.
    #[cfg(test)]
    pub fn of_texts(texts: &[(&str, &str)]) -> Self {
        let texts = texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self { texts }
    }

    /// Number of text files.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// The text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Every path with its text.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// Runs every rule and returns the findings in order of place.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [
        circles::check,
        citations::check,
        crates::check,
        engine::check,
        leftovers::check,
        outputs::check,
        papers::check,
        prose::check,
        registry::check,
        rooms::check,
        silenced::check,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

/// The positions in `line` where `word` is a whole word.
fn word_starts(line: &str, word: &str) -> Vec<usize> {
    let is_part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word)
        .map(|(start, _)| start)
        .filter(|&start| {
            !line[..start].ends_with(is_part_of_word)
                && !line[start + word.len()..].starts_with(is_part_of_word)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_state_their_place() {
        let at_line = Finding { path: "a.rs".into(), line: 3, message: "wrong".into() };
        assert_eq!(at_line.to_string(), "a.rs:3: wrong");
        assert_eq!(Finding { line: 0, ..at_line }.to_string(), "a.rs: wrong");
    }

    #[test]
    fn only_whole_words_are_found() {
        assert_eq!(word_starts("one stone, one_way, (one)", "one"), [0, 21]);
    }
}
