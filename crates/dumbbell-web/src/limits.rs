//! What a page may use: a run on somebody's phone gets less memory than one in a terminal.

use crate::own::Own;
use dumbbell_sim::{Scenario, Stated};
use dumbbell_units::Value;
use dumbbell_units::spec::SpecError;

/// Largest text of a scenario, in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// Samples that the probes of a run may record: 16 bytes each, and as much while they grow.
pub const MAX_SAMPLES: u64 = 3_000_000;
/// Packets that may be in flight or in queues at one time: 128 MiB.
pub const MAX_IN_FLIGHT: u64 = 1 << 21;
/// Most flows of a scenario, about 4 kB each.
pub const MAX_FLOWS: u64 = 10_000;

/// Reads a scenario with the algorithms of the page, and refuses more flows than a page may have.
///
/// # Errors
///
/// The text is no valid scenario, or too large.
pub fn read(text: &str, own: &Own) -> Result<Scenario, SpecError> {
    let mut value = Scenario::toml_value(text)?;
    refuse_many_flows(&value)?;
    refuse_large_topology(&value)?;
    own.complete(&mut value)?;
    Stated::from_value(&value)?.bind(&[&own.host()])
}

/// Counts flows before groups are expanded, because that takes the memory.
fn refuse_many_flows(value: &Value) -> Result<(), SpecError> {
    let flows = value.get("flows").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut left = MAX_FLOWS;
    for (index, flow) in flows.iter().enumerate() {
        let stated = flow.get("count").and_then(Value::as_u64);
        let count = stated.unwrap_or(1);
        if count > left {
            let name = flow.get("name").and_then(Value::as_str).map_or(index.to_string(), str::to_owned);
            return Err(SpecError {
                field: format!("flows.{name}{}", if stated.is_some() { ".count" } else { "" }),
                value: count.to_string(),
                accepted: format!("at most {MAX_FLOWS} flows in a page"),
                suggestion: None,
            });
        }
        left -= count;
    }
    Ok(())
}

/// Refuses numbers of pairs and hops before nodes and links are made of them.
fn refuse_large_topology(value: &Value) -> Result<(), SpecError> {
    let members = value.get("topology").and_then(Value::as_object).into_iter().flatten();
    for (member, count) in members.filter_map(|(member, value)| Some((member, value.as_u64()?))) {
        if count > MAX_FLOWS {
            return Err(SpecError {
                field: format!("topology.{member}"),
                value: count.to_string(),
                accepted: format!("at most {MAX_FLOWS} in a page"),
                suggestion: None,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_group_with_too_many_flows_is_refused_at_its_count() {
        let flows = json!([{ "name": "one" }, { "name": "web", "count": MAX_FLOWS - 1 }]);
        assert_eq!(refuse_many_flows(&json!({ "flows": flows })), Ok(()));
        let flows = json!([{ "name": "one" }, { "name": "web", "count": MAX_FLOWS }]);
        let error = refuse_many_flows(&json!({ "flows": flows })).expect_err("one flow too many");
        assert_eq!((error.field.as_str(), error.value.as_str()), ("flows.web.count", "10000"));
    }

    #[test]
    fn a_topology_with_too_many_pairs_is_refused_at_their_number() {
        let topology = |pairs: u64| json!({ "topology": { "kind": "satellite", "pairs": pairs } });
        assert_eq!(refuse_large_topology(&topology(MAX_FLOWS)), Ok(()));
        let error = refuse_large_topology(&topology(MAX_FLOWS + 1)).expect_err("too many pairs");
        assert_eq!(error.field, "topology.pairs");
    }
}
