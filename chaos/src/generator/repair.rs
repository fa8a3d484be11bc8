//! Repairs nearly valid scenarios by removing what the parser rejects.

use dumbbell_net::LinkSpec;
use dumbbell_sim::Scenario;
use dumbbell_sim::flows::FlowSpec;
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Node, SpecError};

/// Maximum number of removals.
const MOST_REMOVALS: usize = 60;

/// Removes what the parser rejects until it accepts the rest. Returns the scenario and the number of removals; `None`
/// if nothing usable is left.
pub fn repair(value: &mut Value) -> Option<(Scenario, usize)> {
    state_environment_of_ticks(value);
    // What is wrong with a link or a flow by itself is found without reading all others again.
    let of_links = repair_elements::<LinkSpec>(value, "links");
    let of_flows = repair_elements::<FlowSpec>(value, "flows");
    let (scenario, removals) = repair_by(value, Scenario::from_value)?;
    Some((scenario, of_links + of_flows + removals))
}

/// Only senders of Linux have ticks: one that states them and no environment is of Linux.
fn state_environment_of_ticks(value: &mut Value) {
    let Some(Value::Array(flows)) = value.get_mut("flows") else { return };
    for tcp in flows.iter_mut().filter_map(|flow| flow.get_mut("tcp")) {
        if let Value::Object(members) = tcp
            && members.contains_key("hz")
            && !members.contains_key("rules")
        {
            members.insert("rules".to_owned(), "linux".into());
        }
    }
}

fn repair_elements<T: Field>(value: &mut Value, list: &str) -> usize {
    let root: Value = value.get("rules").map(|rules| ("rules", rules.clone())).into_iter().collect();
    let Some(Value::Array(elements)) = value.get_mut(list) else { return 0 };
    let mut total = 0;
    for element in elements {
        // An element that cannot be repaired by itself is removed with the whole scenario in view.
        let removals = repair_by(element, |element| T::decode(&Node::part(element, &root)));
        total += removals.map_or(0, |(_, removals)| removals);
    }
    total
}

/// Removes what a parser rejects until it accepts the rest.
fn repair_by<T>(value: &mut Value, parse: impl Fn(&Value) -> Result<T, SpecError>) -> Option<(T, usize)> {
    let mut last = String::new();
    for removals in 0..MOST_REMOVALS {
        match parse(value) {
            Ok(parsed) => return Some((parsed, removals)),
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
            "duration": "1 s", "rules": "classic", "nodes": ["a", "b"],
            "links": [link("ab", "a", "b"), link("ba", "b", "a"), link("ax", "a", "x")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": { "mss": "0 bytes" }, "source": "greedy" },
                      { "name": "g", "from": "a", "to": "c", "tcp": "reno" }],
        });
        let (scenario, removals) = repair(&mut value).expect("a scenario is left");
        assert_eq!((scenario.links.len(), scenario.flows.len()), (2, 1));
        assert!(removals >= 3, "{removals}");
    }
}
