//! Everything registered occurs among the first scenarios.

use dumbbell_chaos::generator;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::Field;
use std::collections::BTreeSet;

/// Names of choices, each with its member.
type Names = BTreeSet<(String, String)>;

/// Choices that a schema offers for the member `of`.
fn offered(schema: &Value, of: &str, names: &mut Names) {
    for (key, part) in schema.as_object().into_iter().flatten() {
        match (key.as_str(), part) {
            ("enum", Value::Array(choices)) => {
                names.extend(
                    choices.iter().filter_map(|name| Some((of.to_owned(), name.as_str()?.to_owned()))),
                );
            }
            ("const", Value::String(name)) => {
                names.insert((of.to_owned(), name.clone()));
            }
            ("properties", Value::Object(members)) => {
                members.iter().for_each(|(member, schema)| offered(schema, member, names));
            }
            ("anyOf", Value::Array(schemas)) => schemas.iter().for_each(|schema| offered(schema, of, names)),
            ("items", schema) => offered(schema, of, names),
            _ => {}
        }
    }
}

/// Members and texts of a scenario.
fn used(value: &Value, of: &str, names: &mut Names) {
    match value {
        Value::Object(members) => members.iter().for_each(|(member, value)| used(value, member, names)),
        Value::Array(elements) => elements.iter().for_each(|element| used(element, of, names)),
        Value::String(text) => {
            names.insert((of.to_owned(), text.clone()));
        }
        _ => {}
    }
}

/// The member that states a control of the user's own. Only a host can run one, and chaos has none.
const NOT_REGISTERED: &str = "external";

/// Members of all tables of a schema.
fn members_of(schema: &Value, members: &mut BTreeSet<String>) {
    match schema {
        Value::Object(parts) => {
            let properties = parts.get("properties").and_then(Value::as_object).into_iter().flatten();
            members.extend(properties.map(|(name, _)| name.clone()).filter(|name| name != NOT_REGISTERED));
            let registered = parts.iter().filter(|(name, _)| *name != NOT_REGISTERED);
            registered.for_each(|(_, part)| members_of(part, members));
        }
        Value::Array(parts) => parts.iter().for_each(|part| members_of(part, members)),
        _ => {}
    }
}

fn members_used(value: &Value, members: &mut BTreeSet<String>) {
    match value {
        Value::Object(parts) => {
            members.extend(parts.keys().cloned());
            parts.values().for_each(|part| members_used(part, members));
        }
        Value::Array(parts) => parts.iter().for_each(|part| members_used(part, members)),
        _ => {}
    }
}

#[test]
fn everything_registered_occurs_among_twelve_thousand_scenarios() {
    let schema = Scenario::schema();
    let (mut wanted, mut members) = (Names::new(), BTreeSet::new());
    offered(&schema, "scenario", &mut wanted);
    members_of(&schema, &mut members);
    // The check of transports puts them in the place of TCP.
    for member in ["transport", "version", "digest"] {
        assert!(members.remove(member), "{member}");
    }
    for number in 0..12_000 {
        if wanted.is_empty() && members.is_empty() {
            break;
        }
        let Some(value) = generator::scenario(1, number).value else { continue };
        let mut names = Names::new();
        used(&value, "scenario", &mut names);
        // Defaults occur as well.
        let scenario = Scenario::from_value(&value).expect("a valid scenario");
        used(&scenario.encode(), "scenario", &mut names);
        wanted.retain(|name| !names.contains(name));
        let mut drawn = BTreeSet::new();
        members_used(&value, &mut drawn);
        members.retain(|member| !drawn.contains(member));
    }
    assert!(wanted.is_empty(), "never drawn: {wanted:?}");
    assert!(members.is_empty(), "members never drawn: {members:?}");
}
