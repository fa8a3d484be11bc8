//! Random valid scenarios. The structure is drawn here: networks, flows and changes. Parameters are drawn from the
//! schema, so that everything registered occurs. The duration follows from the target number of packets.

mod leaves;
mod planting;
mod repair;
mod times;
mod topology;
mod work;

pub use repair::repair;
pub use times::probe;
pub use work::Work;

use crate::draw::{Draw, rounded};
use crate::pairs::{Row, acting, rows};
use crate::schema::SCHEMA;
use crate::values::{complete_sizes, written};
use dumbbell_net::SourceSpec;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members, Node};
use leaves::Leaves;
use serde_json::json;
use topology::Topology;

/// Range of the target number of packets of a run; its logarithm is uniform.
const PACKETS: (f64, f64) = (100.0, 20_000.0);
/// Maximum number of packets of a run with everything that changes in it.
pub const MOST_PACKETS: f64 = 100_000.0;
/// Fraction of scenarios with values at the limits of what is accepted.
const EXTREME: f64 = 0.25;
/// Probability that a quantity of a link is drawn in proportion to the link.
const LIKE_LINK: f64 = 0.3;
/// Number of attempts per scenario.
const ATTEMPTS: u64 = 20;

/// A drawn scenario.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The scenario as drawn; `None` if no attempt gave a valid one.
    pub value: Option<Value>,
    /// Number of values that the parser rejected and that were removed.
    pub refused: usize,
}

/// Scenario `number` of a base seed. It depends only on these numbers and the schema.
pub fn scenario(base: u64, number: u64) -> Drawn {
    let mut draw = Draw::new(base, number, "chaos");
    let mut refused = 0;
    let row = row(number);
    for _ in 0..ATTEMPTS {
        if let Some(value) = attempt(row, &mut draw, &mut refused) {
            return Drawn { value: Some(value), refused };
        }
    }
    Drawn { value: None, refused }
}

/// The pairs that a scenario has on purpose: two of three numbers plant the rows in order, the others are drawn freely.
pub fn row(number: u64) -> Option<&'static Row> {
    let planted = number - number.div_ceil(3);
    (!number.is_multiple_of(3)).then(|| &rows()[planted as usize % rows().len()])
}

fn attempt(row: Option<&Row>, draw: &mut Draw, refused: &mut usize) -> Option<Value> {
    let is_extreme = draw.chance(EXTREME);
    let mut leaves = Leaves::new(is_extreme);
    let topology = Topology::draw(draw);
    let links = links(&topology, &mut leaves, is_extreme, draw);
    let flows = flows(&topology, &mut leaves, draw);
    let mut value = json!({ "name": "chaos", "duration": "1 s", "nodes": nodes(&topology, draw), "links": links,
                            "flows": flows });
    // What is planted is named as in the classic environment.
    if row.is_some() || draw.chance(0.5) {
        value["rules"] = json!("classic");
    }
    let mut valid = |value: &mut Value| {
        let (scenario, removals) = repair(value)?;
        *refused += removals;
        Some(scenario)
    };
    let mut scenario = valid(&mut value)?;
    let place = match row {
        Some(row) => {
            let place = planting::place(&mut value, &scenario, row, &topology, draw)?;
            planting::plant(&mut value, row, &place, &mut leaves, draw)?;
            scenario = valid(&mut value)?;
            Some((row, place))
        }
        None => None,
    };
    let mut seconds = duration(&scenario, draw)?;
    if scenario.links.iter().any(|link| link.trace.is_some()) {
        seconds = seconds.min(times::LONGEST_TRACE_S);
    }
    times::add(&mut value, &scenario, &topology, seconds, &mut leaves, draw);
    if let Some((row, place)) = &place {
        planting::plant_times(&mut value, row, place, seconds, draw)?;
    }
    let scenario = valid(&mut value)?;
    // What the parser has rejected may have been planted.
    let is_planted = row.is_none_or(|row| row.pairs().is_subset(&acting(&value, &scenario)));
    // Times may have added far faster links.
    let is_short = Work::of(&scenario).packets(scenario.duration.secs()) < MOST_PACKETS;
    (is_planted && is_short).then_some(value)
}

/// Seconds in which the scenario sends about the target number of packets.
fn duration(scenario: &Scenario, draw: &mut Draw) -> Option<f64> {
    let packets = draw.log_between(PACKETS.0, PACKETS.1);
    let seconds = Work::of(scenario).seconds_of(packets)?;
    Some(rounded(seconds, *draw.pick(&[1, 1, 2, 2, 2, 3, 9])).max(1e-9))
}

fn schema_of(list: &str) -> &'static Value {
    SCHEMA.pointer(&format!("/properties/{list}/items")).unwrap_or(&Value::Null)
}

fn nodes(topology: &Topology, draw: &mut Draw) -> Value {
    let aqt = *draw.pick(&[0.0, 0.0, 0.2, 1.0]);
    let node = |number: usize, draw: &mut Draw| {
        let mut members = Members::new();
        members.insert("name".to_owned(), json!(node_name(number)));
        if draw.chance(aqt) {
            members.insert("aqt".to_owned(), json!(true));
        }
        if draw.chance(0.2) {
            members.insert(
                "tick_phase".to_owned(),
                draw.pick(&[json!("random"), json!("0 s"), json!("1 ms")]).clone(),
            );
        }
        if members.len() == 1 { json!(node_name(number)) } else { Value::Object(members) }
    };
    (0..topology.nodes).map(|number| node(number, draw)).collect()
}

fn node_name(number: usize) -> String {
    format!("n{number}")
}

fn link_name(number: usize) -> String {
    format!("l{number}")
}

/// Links whose rates and delays are mostly simple multiples of each other.
fn links(topology: &Topology, leaves: &mut Leaves, is_extreme: bool, draw: &mut Draw) -> Vec<Value> {
    let schema = schema_of("links");
    let properties = |name: &str| schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null);
    let rate = rounded(if is_extreme { draw.log_between(10.0, 1e11) } else { draw.log_between(3e4, 1e8) }, 1);
    let delay = match draw.chance(0.15) {
        true => 0.0,
        false => rounded(draw.log_between(1e-4, if is_extreme { 3.0 } else { 0.1 }), 1),
    };
    let is_even = draw.chance(0.3);
    let mut links = Vec::new();
    for (number, &(from, to)) in topology.links.iter().enumerate() {
        let multiple = |draw: &mut Draw| match draw.below(8) {
            _ if is_even => 1.0,
            0..=3 => 1.0,
            4 => 2.0,
            5 => 10.0,
            6 => 0.5,
            _ => draw.log_between(0.1, 10.0),
        };
        let (mut rate, mut delay) = (rate * multiple(draw), delay * multiple(draw));
        if is_extreme && draw.chance(0.3) {
            rate = draw.log_between(10.0, 1e11);
        }
        if !is_even && draw.chance(0.15) {
            delay = *draw.pick(&[0.0, 0.0, 1e-9, 1e-3]);
        }
        let (rate, delay) = (written(rate.max(1.0), "bit/s", draw), format!("{} ns", (delay * 1e9).round()));
        leaves.remember(properties("rate"), &rate);
        leaves.remember(properties("delay"), &delay);
        let mut link = json!({ "name": link_name(number), "from": node_name(from), "to": node_name(to),
                               "rate": rate, "delay": delay });
        // Opportunities exclude changes of the rate, and have about the rate of the link.
        let drawn = ["name", "from", "to", "rate", "delay", "changes", "opportunities", "outages", "trace"];
        leaves.on_link(Some(&link), LIKE_LINK);
        let others = leaves.table(schema, &drawn, draw);
        leaves.on_link(None, 0.0);
        extend(&mut link, others);
        links.push(link);
    }
    links
}

fn extend(table: &mut Value, others: Value) {
    if let (Value::Object(table), Value::Object(others)) = (table, others) {
        table.extend(others);
    }
}

/// Members of a flow that are drawn here, not from the schema. Transports have hosts above the engine: a check puts them in
/// the place of TCP.
const STRUCTURE: [&str; 13] = [
    "name",
    "count",
    "from",
    "to",
    "path",
    "reverse_path",
    "start",
    "stop",
    "restarts",
    "reroutes",
    "tcp",
    "transport",
    "messages",
];

fn flows(topology: &Topology, leaves: &mut Leaves, draw: &mut Draw) -> Vec<Value> {
    let schema = schema_of("flows");
    let member = |name: &str| schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null);
    let count = match draw.below(20) {
        0 => draw.between(9, 40),
        1..=4 => draw.between(5, 8),
        _ => draw.between(1, 4),
    };
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut flows: Vec<Value> = Vec::new();
    for number in 0..count {
        let (from, to) = match draw.chance(0.4) && !pairs.is_empty() {
            true => *draw.pick(&pairs),
            false => (*draw.pick(&topology.hosts), *draw.pick(&topology.hosts)),
        };
        if from == to {
            continue;
        }
        pairs.push((from, to));
        let mut flow = json!({ "name": format!("f{number}"), "from": node_name(from), "to": node_name(to) });
        for (name, from, to) in [("path", from, to), ("reverse_path", to, from)] {
            if draw.chance(0.1)
                && let Some(path) = stated_path(topology, (from, to), draw)
            {
                flow[name] = path;
            }
        }
        let others = leaves.table(schema, &[&STRUCTURE[..], &["source"]].concat(), draw);
        extend(&mut flow, others);
        // Like the previous flow, or drawn anew.
        let like = flows.last().filter(|_| draw.chance(0.3)).cloned();
        let source = match like.as_ref().map(|like| &like["source"]) {
            Some(source) => source.clone(),
            None if draw.chance(0.3) => json!("greedy"),
            // Small enough to complete in many runs.
            None if draw.chance(0.3) => {
                let size = written(draw.log_between(0.5, 300.0), "kB", draw);
                json!({ "kind": "transfer", "size": size })
            }
            None => {
                let mut source = leaves.value(member("source"), draw);
                complete_sizes(&mut source);
                source
            }
        };
        let read = SourceSpec::decode(&Node::root(&source)).ok();
        let is_datagram = read.as_ref().is_some_and(SourceSpec::is_datagram);
        let writes = is_datagram && read.is_some_and(|source| source.reports().is_none()) && draw.chance(0.3);
        flow["source"] = source;
        if writes && draw.chance(0.5) {
            let deadline = written(draw.log_between(0.1, 1000.0), "ms", draw);
            let backlog = written(draw.log_between(0.1, 1000.0), "kB", draw);
            flow["messages"] = json!({ "deadline": deadline, "backlog": backlog });
        }
        if !is_datagram || writes {
            flow["tcp"] = match like.as_ref().and_then(|like| like.get("tcp")) {
                Some(tcp) => tcp.clone(),
                None => leaves.value(member("tcp"), draw),
            };
        }
        flows.push(flow);
    }
    flows
}

fn stated_path(topology: &Topology, (from, to): (usize, usize), draw: &mut Draw) -> Option<Value> {
    let walk = topology.walk(from, to, 8, draw)?;
    Some(walk.into_iter().map(|link| json!(link_name(link))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_gives_the_same_scenario() {
        for number in 0..50 {
            assert_eq!(scenario(3, number).value, scenario(3, number).value);
        }
        assert_ne!(scenario(3, 1).value, scenario(3, 2).value);
        assert_ne!(scenario(3, 1).value, scenario(4, 1).value);
    }

    #[test]
    fn nearly_every_number_has_a_valid_scenario() {
        let drawn: Vec<_> = (0..500).filter_map(|number| scenario(1, number).value).collect();
        assert!(drawn.len() > 490, "{}", drawn.len());
        assert!(drawn.iter().all(|value| Scenario::from_value(value).is_ok()));
    }
}
