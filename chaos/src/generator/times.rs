//! Times of events: starts, stops, changes, windows and probes, as fractions of the duration. Many are simultaneous.

use super::leaves::Leaves;
use super::topology::Topology;
use super::{extend, schema_of, stated_path};
use crate::draw::Draw;
use crate::values::{opportunities, written};
use dumbbell_net::SourceSpec;
use dumbbell_sim::Scenario;
use dumbbell_sim::quantity::Quantity;
use dumbbell_units::Value;
use serde_json::json;

/// Instants of a run, in nanoseconds.
struct Instants {
    end: u64,
    used: Vec<u64>,
}

impl Instants {
    /// An instant: a round fraction of the run, one used before, one near an edge, or a random one.
    fn draw(&mut self, draw: &mut Draw) -> u64 {
        let at = match draw.below(10) {
            0..=2 => self.end / 10 * draw.between(0, 9) as u64,
            3 | 4 => self.end / 4 * draw.between(0, 3) as u64,
            5 | 6 if !self.used.is_empty() => *draw.pick(&self.used),
            7 => *draw.pick(&[0, 1, 1_000_000, self.end - 1, self.end]),
            _ => (draw.uniform() * self.end as f64) as u64,
        };
        self.used.push(at);
        at
    }

    fn ascending(&mut self, count: usize, draw: &mut Draw) -> Vec<u64> {
        let mut instants: Vec<u64> = (0..count).map(|_| self.draw(draw)).collect();
        instants.sort_unstable();
        instants.dedup();
        instants
    }
}

fn time(nanoseconds: u64) -> Value {
    json!(format!("{nanoseconds} ns"))
}

/// Adds times to a scenario that has none yet.
pub fn add(
    value: &mut Value,
    scenario: &Scenario,
    topology: &Topology,
    seconds: f64,
    leaves: &mut Leaves,
    draw: &mut Draw,
) {
    let end = (seconds * 1e9).round() as u64;
    let mut instants = Instants { end, used: Vec::new() };
    value["duration"] = time(end);
    for link in elements(value, "links").iter_mut().filter(|link| link.get("trace").is_none()) {
        if draw.chance(0.12) {
            let changes = instants.ascending(draw.between(1, 4), draw);
            link["changes"] = changes.into_iter().map(|at| change(link, at, leaves, draw)).collect();
        } else if draw.chance(0.08) {
            link["opportunities"] = opportunities(link, draw);
        } else if seconds < SHORT_S && draw.chance(0.03) {
            let schema = schema_of("links").pointer("/properties/trace").unwrap_or(&Value::Null);
            link["trace"] = leaves.value(schema, draw);
            continue;
        }
        if draw.chance(0.06) {
            let edges = instants.ascending(2, draw);
            if let [from, until] = edges[..] {
                let packets = draw.pick(&["hold", "drop"]);
                link["outages"] = json!([{ "from": time(from), "until": time(until), "packets": packets }]);
            }
        }
    }
    for (flow, spec) in elements(value, "flows").iter_mut().zip(&scenario.flows) {
        add_times_of_flow(flow, &spec.source, &mut instants, draw);
        if draw.chance(0.1) {
            add_reroutes(flow, topology, &mut instants, draw);
        }
    }
    if draw.chance(0.4) {
        value["measure_from"] = time(instants.draw(draw));
    }
    if draw.chance(0.3) {
        value["measure_until"] = time(instants.draw(draw));
    }
    let transfers: Vec<&str> =
        scenario.flows.iter().filter(|flow| flow.source.is_finite()).map(|flow| flow.name.as_str()).collect();
    if !transfers.is_empty() && draw.chance(0.7) {
        let awaited: Vec<&str> = transfers.iter().copied().filter(|_| draw.chance(0.6)).collect();
        value["stop_when_complete"] = json!(awaited);
    }
    if draw.chance(0.3) {
        value["probes"] = (0..draw.between(1, 2)).map(|_| probe(scenario, end, draw)).collect();
    }
    let others = leaves.table(&crate::schema::SCHEMA, &TIMED, draw);
    extend(value, others);
}

/// Traces have rates of their own, which would make longer runs too long.
const SHORT_S: f64 = 2.0;
/// Those that are planted have about the rate of their link, but may change every millisecond.
pub const LONGEST_TRACE_S: f64 = 200.0;

/// Members of a scenario that are not drawn from the schema alone.
const TIMED: [&str; 9] = [
    "name",
    "duration",
    "stop_when_complete",
    "measure_from",
    "measure_until",
    "nodes",
    "links",
    "flows",
    "probes",
];

fn elements<'a>(value: &'a mut Value, list: &str) -> &'a mut [Value] {
    value.get_mut(list).and_then(Value::as_array_mut).map_or(&mut [], |elements| elements.as_mut_slice())
}

fn change(link: &Value, at: u64, leaves: &mut Leaves, draw: &mut Draw) -> Value {
    let schema = schema_of("links").pointer("/properties/changes/items").unwrap_or(&Value::Null);
    let mut change = leaves.table(schema, &["at", "rate", "delay"], draw);
    change["at"] = time(at);
    let is_of_rate = draw.chance(0.6);
    if is_of_rate {
        let rate = link["rate"].as_str().and_then(|text| text.split_once(' ')?.0.parse::<f64>().ok());
        let factor = *draw.pick(&[1.0, 2.0, 0.5, 0.1, 10.0]);
        change["rate"] = json!(written((rate.unwrap_or(1e6) * factor).max(1.0), "bit/s", draw));
    }
    if !is_of_rate || draw.chance(0.4) {
        let delay = link["delay"].as_str().and_then(|text| text.split_once(' ')?.0.parse::<f64>().ok());
        let factor = *draw.pick(&[0.0, 0.5, 2.0, 1.0, 0.1]);
        change["delay"] = time((delay.unwrap_or(1e6) * factor) as u64);
    }
    change
}

fn add_times_of_flow(flow: &mut Value, source: &SourceSpec, instants: &mut Instants, draw: &mut Draw) {
    let start = match draw.below(10) {
        0..=4 => 0,
        5..=7 => instants.draw(draw),
        8 => instants.draw(draw) / 10,
        _ => {
            let bounds = [instants.draw(draw), instants.draw(draw)];
            let (from, to) = (bounds[0].min(bounds[1]), bounds[0].max(bounds[1]));
            flow["start"] = json!({ "uniform": [time(from), time(to)] });
            to
        }
    };
    if start > 0 && flow.get("start").is_none() {
        flow["start"] = time(start);
    }
    if !draw.chance(0.25) {
        return;
    }
    let mut after: Vec<u64> = instants.ascending(draw.between(1, 5), draw);
    after.retain(|&at| at > start);
    let mut after = after.into_iter();
    let Some(stop) = after.next() else { return };
    flow["stop"] = time(stop);
    if matches!(source, SourceSpec::Transfer(_)) {
        return;
    }
    let mut restarts = Vec::new();
    while let Some(start) = after.next() {
        let mut restart = json!({ "start": time(start) });
        let stop = after.next();
        if let Some(stop) = stop {
            restart["stop"] = time(stop);
        }
        restarts.push(restart);
    }
    if !restarts.is_empty() {
        flow["restarts"] = json!(restarts);
    }
}

fn add_reroutes(flow: &mut Value, topology: &Topology, instants: &mut Instants, draw: &mut Draw) {
    let number = |end: &str| flow[end].as_str().and_then(|name| name.get(1..)?.parse::<usize>().ok());
    let (Some(from), Some(to)) = (number("from"), number("to")) else { return };
    let mut reroutes = Vec::new();
    for at in instants.ascending(draw.between(1, 3), draw) {
        let (name, ends) =
            *draw.pick(&[("path", (from, to)), ("path", (from, to)), ("reverse_path", (to, from))]);
        if let Some(path) = stated_path(topology, ends, draw) {
            let mut reroute = json!({ "at": time(at) });
            reroute[name] = path;
            reroutes.push(reroute);
        }
    }
    if !reroutes.is_empty() {
        flow["reroutes"] = json!(reroutes);
    }
}

/// A probe of some quantities of some components.
pub fn probe(scenario: &Scenario, end: u64, draw: &mut Draw) -> Value {
    let possible = scenario.quantities();
    let drawn: Vec<Quantity> = (0..draw.between(1, 3)).map(|_| *draw.pick(&possible)).collect();
    let quantities: Vec<&str> = drawn.iter().map(Quantity::name).collect();
    let is_of_all = drawn.iter().any(Quantity::is_of_some_flows);
    let names = |names: Vec<&str>, draw: &mut Draw| match names.is_empty() || draw.chance(0.5) {
        true => "*".to_owned(),
        false => (*draw.pick(&names)).to_owned(),
    };
    let flows = scenario.flows.iter().filter(|_| !is_of_all).map(|flow| flow.name.as_str()).collect();
    let links = scenario.links.iter().map(|link| link.name.as_str()).collect();
    let mut probe =
        json!({ "flows": [names(flows, draw)], "links": [names(links, draw)], "quantities": quantities });
    let has_events = drawn.iter().any(|quantity| quantity.has_rows());
    if draw.chance(0.4) && !has_events {
        probe["period"] = time((end / draw.between(1, 500) as u64).max(1));
    }
    probe
}
