//! Minimizes a scenario that fails a check: parts are removed and values rounded as long as the same check fails.

#![allow(clippy::disallowed_methods, reason = "the time a search may spend on one violation is bounded")]

use crate::generator::repair;
use dumbbell_units::{Time, Value};
use std::time::{Duration, Instant};

/// The budget for minimizing one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Maximum number of variants.
    pub tries: usize,
    /// Time limit.
    pub time: Duration,
}

/// A change of a value at a path of members and positions.
struct Edit {
    path: Vec<String>,
    /// The new value; `None` to remove the place.
    new: Option<Value>,
}

/// The smallest scenario found that still fails. `value` must fail, and be a valid scenario.
pub fn minimize(value: &Value, budget: Budget, mut fails: impl FnMut(&Value) -> bool) -> Value {
    let begin = Instant::now();
    let mut smallest = value.clone();
    let mut left = budget.tries;
    loop {
        let before = smallest.clone();
        for edit in edits(&smallest) {
            if left == 0 || begin.elapsed() > budget.time {
                return smallest;
            }
            let Some(mut candidate) = edited(&smallest, &edit) else { continue };
            if repair(&mut candidate).is_none() || candidate == smallest {
                continue;
            }
            left -= 1;
            if fails(&candidate) {
                smallest = candidate;
            }
        }
        if smallest == before {
            return smallest;
        }
    }
}

fn edited(value: &Value, edit: &Edit) -> Option<Value> {
    let mut candidate = value.clone();
    let (last, ways) = edit.path.split_last()?;
    let mut at = &mut candidate;
    for key in ways {
        at = match at {
            Value::Object(members) => members.get_mut(key)?,
            Value::Array(elements) => elements.get_mut(key.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    match at {
        Value::Object(members) => match &edit.new {
            Some(new) => *members.get_mut(last)? = new.clone(),
            None => drop(members.shift_remove(last)?),
        },
        Value::Array(elements) => {
            let index = last.parse::<usize>().ok().filter(|&index| index < elements.len())?;
            match &edit.new {
                Some(new) => elements[index] = new.clone(),
                None => drop(elements.remove(index)),
            }
        }
        _ => return None,
    }
    Some(candidate)
}

/// Possible edits: the largest parts first, then members, then values.
fn edits(value: &Value) -> Vec<Edit> {
    let mut edits = halves_of_lists(value);
    let mut level = vec![(Vec::new(), value)];
    let mut values = Vec::new();
    while !level.is_empty() {
        let mut below = Vec::new();
        for (path, value) in level {
            let children: Vec<(String, &Value)> = match value {
                Value::Object(members) => members.iter().map(|(key, member)| (key.clone(), member)).collect(),
                // From the last, so that the positions of earlier elements stay the same.
                Value::Array(elements) => {
                    elements.iter().enumerate().rev().map(|(at, element)| (at.to_string(), element)).collect()
                }
                _ => continue,
            };
            for (key, child) in children {
                let path = [&path[..], &[key]].concat();
                if !is_name(&path) {
                    edits.push(Edit { path: path.clone(), new: None });
                    values.extend(
                        simpler(child).into_iter().map(|new| Edit { path: path.clone(), new: Some(new) }),
                    );
                }
                below.push((path, child));
            }
        }
        level = below;
    }
    edits.extend(values);
    edits
}

fn is_name(path: &[String]) -> bool {
    path.last().is_some_and(|last| ["name", "from", "to", "kind"].contains(&last.as_str())) && path.len() > 1
}

/// Removes one half of the lists of flows, links and nodes.
fn halves_of_lists(value: &Value) -> Vec<Edit> {
    let lists = ["flows", "links", "nodes"].into_iter();
    let long = lists
        .filter_map(|list| Some((list, value.get(list)?.as_array()?)))
        .filter(|(_, list)| list.len() > 3);
    long.flat_map(|(name, list)| {
        let half = list.len() / 2;
        [&list[..half], &list[half..]]
            .map(|part| Edit { path: vec![name.to_owned()], new: Some(Value::Array(part.to_vec())) })
    })
    .collect()
}

/// Simpler values, the simplest first.
fn simpler(value: &Value) -> Vec<Value> {
    let tag = |value: &Value| {
        ["name", "kind", "variant"].iter().find_map(|tag| value.get(*tag)?.as_str().map(Value::from))
    };
    let candidates = match value {
        Value::Object(_) => tag(value).into_iter().collect(),
        Value::Number(number) if number.is_u64() => {
            let number = number.as_u64().unwrap_or_default();
            [0, 1, number / 2, number.saturating_sub(1)]
                .into_iter()
                .filter(|&less| less < number)
                .map(Value::from)
                .collect()
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            [0.0, 1.0, 0.5, crate::draw::rounded(number, 1)].into_iter().map(Value::from).collect()
        }
        Value::String(text) => simpler_quantities(text),
        _ => Vec::new(),
    };
    candidates.into_iter().filter(|candidate| candidate != value).collect()
}

fn simpler_quantities(text: &str) -> Vec<Value> {
    let Some((amount, unit)) = text.split_once(' ') else { return Vec::new() };
    let Ok(number) = amount.parse::<f64>() else { return Vec::new() };
    if unit == "ns" && number >= 1000.0 && number.fract() == 0.0 {
        let round = Time(number as u64).to_string();
        if round.len() < text.len() {
            return vec![Value::from(round)];
        }
    }
    let digits = amount.trim_end_matches('0').len();
    let power = power_of_ten(number);
    let mut simpler = Vec::new();
    if number > 0.0 && digits > 1 {
        simpler.extend([power, crate::draw::rounded(number, 1)]);
    }
    if number > 1.0 {
        simpler.extend([1.0, (number / 2.0).floor()]);
    }
    simpler.retain(|&less| less < number || less.to_string().len() < amount.len());
    simpler.into_iter().map(|less| Value::from(format!("{less} {unit}"))).collect()
}

/// The largest power of ten that does not exceed a number.
fn power_of_ten(number: f64) -> f64 {
    let text = format!("{number:e}");
    text.split_once('e').and_then(|(_, exponent)| format!("1e{exponent}").parse().ok()).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn irrelevant_parts_are_removed() {
        let link = |name: &str, from: &str, to: &str| json!({ "name": name, "from": from, "to": to, "rate": "1234567 bit/s", "delay": "3 ms" });
        let value = json!({
            "duration": "17 s", "rules": "classic", "measure_from": "2 s", "nodes": ["a", "b", "c"],
            "links": [link("ab", "a", "b"), link("ba", "b", "a"), link("bc", "b", "c"), link("cb", "c", "b")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": { "variant": "reno", "mss": "700 bytes" } },
                      { "name": "g", "from": "a", "to": "c", "tcp": "vegas" }],
        });
        let budget = Budget { tries: 1000, time: Duration::from_secs(60) };
        let has_reno = |value: &Value| {
            value["flows"].as_array().is_some_and(|flows| {
                flows.iter().any(|flow| flow["tcp"]["variant"] == "reno" || flow["tcp"] == "reno")
            })
        };
        let small = minimize(&value, budget, has_reno);
        assert_eq!(small["flows"], json!([{ "name": "f", "from": "a", "to": "b", "tcp": "reno" }]));
        assert_eq!(
            (small["nodes"].as_array().map(Vec::len), small["links"].as_array().map(Vec::len)),
            (Some(2), Some(2))
        );
        assert_eq!(small["links"][0]["rate"], "1 bit/s");
    }
}
