//! Values drawn from the schema of scenarios, and changes of a scenario that follow it. The parser and the catalogue
//! share the schema, so new parameters and algorithms are covered without a change. The fuzz targets use this module
//! too.

use arbitrary::{Arbitrary, Result, Unstructured};
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members};
use serde_json::json;
use std::sync::LazyLock;

/// The schema of scenarios.
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(Scenario::schema);

/// A value that satisfies `schema`, but not necessarily all rules of the parser. `texts` are used for texts that are
/// neither quantities nor choices.
pub fn value_of(schema: &Value, texts: &[String], u: &mut Unstructured<'_>) -> Result<Value> {
    if let Some(Value::Array(schemas)) = schema.get("anyOf") {
        return value_of(u.choose(schemas)?, texts, u);
    }
    if let Some(constant) = schema.get("const") {
        return Ok(constant.clone());
    }
    if let Some(Value::Array(names)) = schema.get("enum") {
        return Ok(u.choose(names)?.clone());
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Ok(json!(bool::arbitrary(u)?)),
        Some("integer") => Ok(json!(number(u)? as u64)),
        Some("number") => Ok(json!(number(u)?)),
        Some("string") => match schema.get("x-quantity").and_then(Value::as_str) {
            Some(accepted) => quantity(accepted, u),
            None if texts.is_empty() => Ok(json!("")),
            None => Ok(json!(u.choose(texts)?)),
        },
        Some("array") => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            (0..u.int_in_range(0..=3)?)
                .map(|_| value_of(items, texts, u))
                .collect::<Result<_>>()
                .map(Value::Array)
        }
        Some("object") => {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
            let mut table = Members::new();
            for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if is_required(name) || u.ratio(1, 5)? {
                    table.insert(name.clone(), value_of(member, texts, u)?);
                }
            }
            Ok(Value::Object(table))
        }
        _ => Ok(Value::Null),
    }
}

fn number(u: &mut Unstructured<'_>) -> Result<f64> {
    match u.int_in_range(0..=9)? {
        0..=6 => Ok(f64::from(u.int_in_range(0..=8)?)),
        7 => Ok(f64::from(u16::arbitrary(u)?) / 16.0),
        8 => Ok(f64::from(u32::arbitrary(u)?)),
        _ => Ok(u64::arbitrary(u)? as f64),
    }
}

fn quantity(accepted: &str, u: &mut Unstructured<'_>) -> Result<Value> {
    let units: &[&str] = match accepted {
        text if text.contains("segments") => &["segments", "segments", "bytes", "KiB", "unlimited"],
        text if text.contains("time") => &["ms", "ms", "s", "us", "ns", "h"],
        text if text.contains("size") => &["bytes", "bytes", "kB", "MiB"],
        _ => &["bit/s", "Mbit/s"],
    };
    let unit = u.choose(units)?;
    if *unit == "unlimited" {
        return Ok(json!(unit));
    }
    let scale = u.choose(&[1.0, 1.0, 100.0, 1000.0])?;
    Ok(json!(format!("{} {unit}", number(u)? * scale)))
}

/// Changes one place of `value`, usually following `schema`: a member or an element is redrawn, added, repeated or
/// removed.
pub fn change(value: &mut Value, schema: &Value, texts: &[String], u: &mut Unstructured<'_>) -> Result<()> {
    let schema = branch_of(schema, value);
    match value {
        Value::Object(members) if !members.is_empty() && u.ratio(7, 8)? => {
            let empty = Members::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
            let keys: Vec<String> = members.keys().cloned().collect();
            let key = u.choose(&keys)?;
            match u.int_in_range(0..=9)? {
                0 => {
                    members.shift_remove(key);
                }
                1 | 2 if !properties.is_empty() => {
                    let (name, member) = u.choose_iter(properties.iter())?;
                    members.insert(name.clone(), value_of(member, texts, u)?);
                }
                _ => {
                    if let (Some(member), Some(schema)) = (members.get_mut(key), properties.get(key)) {
                        change(member, schema, texts, u)?;
                    }
                }
            }
        }
        Value::Array(elements) if !elements.is_empty() && u.ratio(7, 8)? => {
            let index = u.choose_index(elements.len())?;
            match u.int_in_range(0..=9)? {
                0 => {
                    elements.remove(index);
                }
                1 => elements.push(elements[index].clone()),
                2 => elements.swap(0, index),
                _ => change(&mut elements[index], schema.get("items").unwrap_or(&Value::Null), texts, u)?,
            }
        }
        _ => *value = value_of(schema, texts, u)?,
    }
    Ok(())
}

/// The alternative of a schema that matches `value` by type and tag.
fn branch_of<'a>(schema: &'a Value, value: &Value) -> &'a Value {
    let (Some(Value::Array(schemas)), Some(members)) = (schema.get("anyOf"), value.as_object()) else {
        return schema;
    };
    schemas.iter().find(|schema| fits(schema, members)).unwrap_or(schema)
}

/// True if a table with these members has the tag of this schema.
pub(crate) fn fits(schema: &Value, members: &Members) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let agrees = |(name, member): (&String, &Value)| {
        member.get("const").is_none_or(|constant| members.get(name) == Some(constant))
    };
    properties.is_some_and(|properties| properties.iter().all(agrees))
}

/// The names of the nodes, links and flows of a scenario.
pub fn names(value: &Value) -> Vec<String> {
    let lists = ["nodes", "links", "flows"].into_iter().filter_map(|list| value.get(list)?.as_array());
    let name = |component: &Value| component.as_str().or(component.get("name")?.as_str()).map(str::to_owned);
    lists.flatten().filter_map(name).collect()
}
