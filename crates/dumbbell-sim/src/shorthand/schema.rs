//! The short forms in the JSON Schema of a scenario.

use super::{TOPOLOGY, Topology, links};
use dumbbell_net::{ImpairmentSpec, LinkChange, QueueSpec, SyntheticSpec};
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, any_of, described};
use serde_json::json;

/// Adds the short forms to the JSON Schema of a scenario. What they have in common with links is defined once.
pub(crate) fn complete(schema: &mut Value) {
    let shared = [
        ("queue", QueueSpec::schema()),
        ("impairment", ImpairmentSpec::schema()),
        ("change", LinkChange::schema()),
        ("synthetic", SyntheticSpec::schema()),
    ];
    let about = "Nodes and links by the name of a shape. Further nodes and links may be stated beside it.";
    let mut topology = described(Topology::schema(), about);
    let mut short = links::schema();
    share(&mut topology, &shared);
    share(&mut short, &shared);
    let links = &mut schema["properties"]["links"];
    links["items"] = any_of(vec![links["items"].take(), short]);
    schema["properties"][TOPOLOGY] = topology;
    schema["$defs"] = shared.into_iter().map(|(name, one)| (name.to_owned(), one)).collect();
    schema["required"] = json!(["duration", "flows"]);
    let either = json!([{ "required": ["nodes", "links"] }, { "required": [TOPOLOGY] }]);
    schema["allOf"] = json!([{ "anyOf": either }]);
}

/// Replaces parts of a schema by references to their definitions.
fn share(node: &mut Value, shared: &[(&str, Value)]) {
    match node {
        Value::Object(members) => {
            for (name, part) in shared {
                let Some(part) = part.as_object() else { continue };
                if part.iter().all(|(key, value)| members.get(key) == Some(value)) {
                    members.retain(|key, _| !part.contains_key(key));
                    members.insert("$ref".into(), json!(format!("#/$defs/{name}")));
                    return;
                }
            }
            members.values_mut().for_each(|member| share(member, shared));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| share(element, shared)),
        _ => {}
    }
}
