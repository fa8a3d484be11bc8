//! Repairs nearly valid scenarios by removing what the parser rejects.

use dumbbell_sim::Scenario;
use dumbbell_units::Value;

/// Maximum number of removals.
const MOST_REMOVALS: usize = 60;

/// Removes what the parser rejects until it accepts the rest. Returns the scenario and the number of removals; `None`
/// if nothing usable is left.
pub fn repair(value: &mut Value) -> Option<(Scenario, usize)> {
    let mut last = String::new();
    for removals in 0..MOST_REMOVALS {
        match Scenario::from_value(value) {
            Ok(scenario) => return Some((scenario, removals)),
            Err(error) => {
                // What is rejected again after its removal is missing: what requires it is removed.
                let mut path: Vec<&str> = error.field.split('.').collect();
                if error.field == last {
                    path.pop();
                }
                while !remove(value, &path) {
                    path.pop()?;
                }
                last = error.field.clone();
            }
        }
    }
    None
}

/// Removes the member or the element at a path as in parser errors. False if it does not exist, or if a list of the
/// scenario itself would be removed.
fn remove(value: &mut Value, path: &[&str]) -> bool {
    const LISTS: [&str; 3] = ["nodes", "links", "flows"];
    let Some((last, ways)) = path.split_last() else { return false };
    if ways.is_empty() && LISTS.contains(last) {
        return false;
    }
    let mut at = value;
    for key in ways {
        let Some(next) = step(at, key) else { return false };
        at = next;
    }
    match at {
        Value::Object(members) => members.shift_remove(*last).is_some(),
        Value::Array(elements) => match position(elements, last) {
            Some(index) => {
                elements.remove(index);
                true
            }
            None => false,
        },
        _ => false,
    }
}

fn step<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(members) => members.get_mut(key),
        Value::Array(elements) => {
            let index = position(elements, key)?;
            elements.get_mut(index)
        }
        _ => None,
    }
}

fn position(elements: &[Value], key: &str) -> Option<usize> {
    let named = elements.iter().position(|element| element.get("name").and_then(Value::as_str) == Some(key));
    named.or_else(|| key.parse().ok().filter(|&index: &usize| index < elements.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rejected_members_are_removed_with_what_requires_them() {
        let link = |name: &str, from: &str, to: &str| json!({ "name": name, "from": from, "to": to, "rate": "1 Mbit/s", "delay": "0 s" });
        let mut value = json!({
            "duration": "1 s", "nodes": ["a", "b"],
            "links": [link("ab", "a", "b"), link("ba", "b", "a"), link("ax", "a", "x")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": { "mss": "0 bytes" }, "source": "greedy" },
                      { "name": "g", "from": "a", "to": "c", "tcp": "reno" }],
        });
        let (scenario, removals) = repair(&mut value).expect("a scenario is left");
        assert_eq!((scenario.links.len(), scenario.flows.len()), (2, 1));
        assert!(removals >= 3, "{removals}");
    }
}
