//! Reads the declarations of a twin from its source, so that they can be compared with the registry's where nothing is
//! compiled. The loader reads the same from the type information of an object.

use crate::{Parameter, Probe, Scale};
use std::collections::BTreeMap;

/// The text of a file with the files that it includes in quotes, each once, ahead of their users.
pub fn with_headers(name: &str, files: &[(&str, &str)]) -> String {
    let mut seen = Vec::new();
    let mut text = String::new();
    append(name, files, &mut seen, &mut text);
    text
}

fn append(name: &str, files: &[(&str, &str)], seen: &mut Vec<String>, text: &mut String) {
    if seen.iter().any(|known| known == name) {
        return;
    }
    seen.push(name.to_owned());
    let own = files.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| *text);
    for line in own.lines() {
        match line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(header) => append(header, files, seen, text),
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
}

/// The parameters that a source declares, in order.
///
/// # Panics
/// If a declaration has another form than those in `bpf/`.
pub fn parameters(text: &str) -> Vec<Parameter> {
    let code = code(text);
    let enums = enums(&code);
    let constants: BTreeMap<&str, i64> =
        enums.iter().flat_map(|(_, enumerators)| enumerators.iter().copied().zip(0..)).collect();
    let number = |text: &str| {
        let constant = constants.get(text).copied();
        constant
            .or_else(|| text.parse().ok())
            .unwrap_or_else(|| panic!("{text} is no number and no enumerator"))
    };
    let scale = |name: &str| match name.strip_prefix("enum ") {
        Some(name) => {
            let (_, enumerators) =
                enums.iter().find(|(known, _)| *known == name).expect("the enum is declared");
            Scale::of_enum(name, enumerators.iter().copied())
        }
        None => Scale::of_type(name).unwrap_or_else(|| panic!("{name} is no scale")),
    };
    calls(&code)
        .map(|(macro_name, arguments)| match (macro_name, arguments.as_slice()) {
            ("PARAMETER", &[type_name, name, default, least, most]) => Parameter {
                name: name.to_owned(),
                scale: scale(type_name),
                default: number(default),
                least: number(least),
                most: number(most),
                mechanism: None,
            },
            ("MECHANISM", &[letter, name, default]) => Parameter {
                name: name.to_owned(),
                scale: Scale::Flag,
                default: number(default),
                least: 0,
                most: 1,
                mechanism: Some(letter.trim_matches('"').to_owned()),
            },
            _ => panic!("{macro_name} with {} arguments", arguments.len()),
        })
        .collect()
}

/// The probes that a source declares, in order: the members of `struct probes`.
///
/// # Panics
/// If a member has a type that is no scale.
pub fn probes(text: &str) -> Vec<Probe> {
    let code = code(text);
    let Some((_, rest)) = code.split_once("struct probes {") else { return Vec::new() };
    let body = rest.split_once('}').map_or(rest, |(body, _)| body);
    let probe = |member: &str| {
        let (type_name, name) = member.split_once(' ')?;
        let scale = Scale::of_type(type_name).unwrap_or_else(|| panic!("{type_name} is no scale"));
        Some(Probe { name: name.trim().to_owned(), scale })
    };
    body.split(';').filter_map(|member| probe(member.trim())).collect()
}

/// The text without comments and directives of the preprocessor.
fn code(text: &str) -> String {
    let mut without = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        without.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    without.push_str(rest);

    let mut code = String::new();
    let mut is_directive = false;
    for line in without.lines() {
        is_directive |= line.starts_with('#');
        if !is_directive {
            code.push_str(line);
            code.push('\n');
        }
        is_directive &= line.ends_with('\\');
    }
    code
}

/// Every named enum with its enumerators, which count from 0.
fn enums(code: &str) -> Vec<(&str, Vec<&str>)> {
    let parse = |rest: &'_ str| -> Option<(usize, usize)> {
        let open = rest.find('{')?;
        let close = rest.find('}')?;
        (open < close && !rest[..open].contains([';', '(', ','])).then_some((open, close))
    };
    code.match_indices("enum ")
        .filter_map(|(start, word)| {
            let rest = &code[start + word.len()..];
            let (open, close) = parse(rest)?;
            let name = rest[..open].trim();
            let enumerators = rest[open + 1..close].split(',').map(str::trim).filter(|text| !text.is_empty());
            (!name.is_empty()).then(|| (name, enumerators.collect()))
        })
        .collect()
}

/// The declaring macros and their arguments, in order.
fn calls(code: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    code.lines().filter_map(|line| {
        let (name, rest) = line.split_once('(')?;
        let arguments = rest.strip_suffix(");")?;
        ["PARAMETER", "MECHANISM"]
            .contains(&name)
            .then(|| (name, arguments.split(',').map(str::trim).collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"
#define PARAMETER(type, name) \
	type name
enum {
	A = 3,
};
/* PARAMETER(flag, in_a_comment, 0, 0, 1); */
enum colour {
	colour_dark_red,
	colour_green,
};
MECHANISM("A", slow, 1);
"#;
    const SOURCE: &str = r#"
#include "one.h"
#include "one.h"
PARAMETER(thousandths, alpha, 1000, 0, 5000);
PARAMETER(enum colour, colour, colour_green, colour_dark_red, colour_green);
struct probes {
	microseconds base_rtt;
};
u32 next(enum colour colour) { return 0; }
"#;

    #[test]
    fn declarations_are_read_in_order_through_headers_and_past_comments() {
        let text = with_headers("two.c", &[("one.h", HEADER), ("two.c", SOURCE)]);
        let parameters = parameters(&text);
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names, ["slow", "alpha", "colour"]);
        assert_eq!(parameters[0].mechanism.as_deref(), Some("A"));
        assert_eq!((parameters[1].default, parameters[1].least, parameters[1].most), (1000, 0, 5000));
        assert_eq!(parameters[2].scale, Scale::Choice(vec!["dark-red".into(), "green".into()]));
        assert_eq!((parameters[2].default, parameters[2].most), (1, 1));
        assert_eq!(probes(&text), [Probe { name: "base_rtt".into(), scale: Scale::Microseconds }]);
    }
}
