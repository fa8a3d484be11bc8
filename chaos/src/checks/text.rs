//! A scenario in TOML or JSON, with its members in any order, is the same scenario.

use super::{Case, Verdict, same};
use crate::difference::of_values;
use crate::exit::Exit;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, SpecError};

pub fn holds(case: &Case<'_>) -> Verdict {
    let canonical = case.scenario.encode();
    let backwards = turned(&canonical);
    let toml = |value: &Value| {
        let text = toml::to_string(&without_nulls(value)).map_err(|error| Exit::Broken(error.to_string()))?;
        compare(case, "TOML", Scenario::from_toml(&text))
    };
    compare(case, "JSON", Scenario::from_json(&canonical.to_string()))?;
    compare(case, "JSON backwards", Scenario::from_json(&backwards.to_string()))?;
    toml(&canonical)?;
    toml(&backwards)
}

fn compare(case: &Case<'_>, form: &str, read: Result<Scenario, SpecError>) -> Verdict {
    let read = read.map_err(|error| Exit::Broken(format!("{form}: {error}")))?;
    same(of_values(form, &case.scenario.to_json(), &read.to_json()))?;
    same(of_values(&format!("hash of {form}"), &case.scenario.hash(), &read.hash()))
}

/// The same with the members of every table in reverse order.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.iter().rev().map(|(key, member)| (key.clone(), turned(member))).collect())
        }
        Value::Array(elements) => elements.iter().map(turned).collect(),
        other => other.clone(),
    }
}

/// The same without null members, which TOML cannot express.
pub fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, member)| !member.is_null());
            Value::Object(members.map(|(key, member)| (key.clone(), without_nulls(member))).collect())
        }
        Value::Array(elements) => elements.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
