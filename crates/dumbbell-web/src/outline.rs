//! Where the fields of a scenario are in its text: for errors at their field, and for controls that replace a value.

use serde_json::{Value, json};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A place of the text by its path. Offsets count UTF-16 code units, as editors in browsers do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path as errors state it: an element of a list is addressed by its `name` where it has one.
    pub path: String,
    /// The path by positions, such as `links.0.rate`.
    pub position: String,
    /// The key; the value again for elements of lists.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

impl Entry {
    fn json(&self) -> Value {
        let Entry { path, position, key, value } = self;
        json!([path, position, key.start, key.end, value.start, value.end])
    }
}

/// The fields of a TOML text in the order of their paths, parents first. A text with a syntax error has none.
pub fn entries(text: &str) -> Vec<Entry> {
    let Ok(table) = DeTable::parse(text) else { return Vec::new() };
    let mut outline = Outline { offsets: Offsets::new(text), found: Vec::new() };
    outline.table(table.get_ref(), "", "");
    outline.found
}

/// The fields as JSON: a list of `[path, position, key from, key until, value from, value until]`.
pub fn json(text: &str) -> Value {
    entries(text).iter().map(Entry::json).collect()
}

struct Outline {
    offsets: Offsets,
    found: Vec<Entry>,
}

impl Outline {
    fn table(&mut self, table: &DeTable<'_>, path: &str, position: &str) {
        for (key, value) in table {
            let name = key.get_ref();
            self.add((&joined(path, name), &joined(position, name)), key.span(), value);
        }
    }

    fn add(&mut self, (path, position): (&str, &str), key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        self.found.push(Entry {
            path: path.to_owned(),
            position: position.to_owned(),
            key: self.offsets.of(key),
            value: self.offsets.of(value.span()),
        });
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, path, position),
            DeValue::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    let index = index.to_string();
                    let name = name_of(element.get_ref()).unwrap_or(&index);
                    let paths = (joined(path, name), joined(position, &index));
                    self.add((&paths.0, &paths.1), element.span(), element);
                }
            }
            _ => (),
        }
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn name_of<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    let DeValue::Table(table) = value else { return None };
    table.iter().find(|(key, _)| key.get_ref() == "name").and_then(|(_, name)| name.get_ref().as_str())
}

/// UTF-16 code units before each byte of a text; empty for ASCII, where both are the same.
struct Offsets(Vec<usize>);

impl Offsets {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Offsets(Vec::new());
        }
        let mut before = Vec::with_capacity(text.len() + 1);
        let mut units = 0;
        for character in text.chars() {
            before.extend(std::iter::repeat_n(units, character.len_utf8()));
            units += character.len_utf16();
        }
        before.push(units);
        Offsets(before)
    }

    fn of(&self, bytes: Range<usize>) -> Range<usize> {
        let unit = |byte: usize| self.0.get(byte).copied().unwrap_or(byte);
        unit(bytes.start)..unit(bytes.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(text: &'a str, path: &str) -> Option<&'a str> {
        let entry = entries(text).into_iter().find(|entry| entry.path == path)?;
        Some(&text[entry.value])
    }

    const TEXT: &str = "duration = \"1 s\"\n[[links]]\nname = \"a\"\nqueue = { kind = \"red\", ecn = true }\n\
        [[links]]\nname = \"b\"\n[links.queue]\nkind = \"pie\"\n";

    #[test]
    fn elements_are_addressed_by_name() {
        assert_eq!(found(TEXT, "duration"), Some("\"1 s\""));
        assert_eq!(found(TEXT, "links.a.queue.ecn"), Some("true"));
        assert_eq!(found(TEXT, "links.b.queue.kind"), Some("\"pie\""));
        assert_eq!(found(TEXT, "links.0.queue.kind"), None);
        assert_eq!(found("nodes = [\"x\", \"y\"]", "nodes.1"), Some("\"y\""));
    }

    #[test]
    fn offsets_are_those_of_utf_16() {
        // Two bytes of UTF-8 are one unit, four are two.
        let text = "# ü 𝄞\nname = \"ä\"\n";
        let entry = entries(text).remove(0);
        let units: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(String::from_utf16_lossy(&units[entry.value]), "\"ä\"");
        assert_eq!(String::from_utf16_lossy(&units[entry.key]), "name");
    }

    #[test]
    fn a_text_with_a_syntax_error_has_no_fields() {
        assert_eq!(entries("duration = \n"), []);
    }
}
