//! Plants the elements of a row in a scenario, so that they act together.

use super::row::{Row, Slot};
use super::{ELEMENTS, Number, timings};
use crate::draw::Draw;
use crate::schema::SCHEMA;
use crate::values::{complete_sizes, opportunities, written};
use dumbbell_cc::{AlgorithmSpec, Mechanisms};
use dumbbell_net::SourceSpec;
use dumbbell_tcp::RecoverySpec;
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members, Node};
use serde_json::json;

/// Names of the components that get the elements of a row.
#[derive(Clone, Debug)]
pub struct Place {
    /// Two flows over `link`.
    pub flows: [String; 2],
    /// The link.
    pub link: String,
    /// Another link of the first flow.
    pub second_link: String,
    /// Paths of the flows to which they are rerouted.
    pub paths: [Vec<String>; 2],
}

/// Gives the tables of elements: by their schema with drawn members, or with defaults.
pub trait Tables {
    /// A table of this schema.
    fn table(&mut self, schema: &Value) -> Value;
    /// True if the second of two tables of one kind is like the first.
    fn repeats(&mut self) -> bool;
    /// The next tables are those of this link.
    fn on_link(&mut self, link: Option<&Value>);
    /// The members of a flow's `tcp` beside those that are planted.
    fn tcp(&mut self) -> Members;
}

fn component<'a>(value: &'a mut Value, list: &str, name: &str) -> Option<&'a mut Value> {
    value.get_mut(list)?.as_array_mut()?.iter_mut().find(|component| component["name"] == *name)
}

/// The table of an element; its tag is the only member that is sure to be there.
fn table(element: Number, tables: &mut dyn Tables) -> Value {
    let element = &ELEMENTS[element];
    tagged(element.category.schema(), &element.name, tables)
}

fn tagged(schema: &Value, name: &str, tables: &mut dyn Tables) -> Value {
    let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let has_tag = |schema: &&Value| {
        let members = schema.get("properties").and_then(Value::as_object);
        members.is_some_and(|members| members.values().any(|member| member["const"] == *name))
    };
    alternatives.into_iter().find(has_tag).map_or_else(|| json!(name), |schema| tables.table(schema))
}

/// Plants everything except what needs the duration.
pub fn plant(value: &mut Value, row: &Row, place: &Place, tables: &mut dyn Tables) -> Option<()> {
    if let Some(second) = row.at(Slot::SecondQueue) {
        let link = component(value, "links", &place.second_link)?;
        tables.on_link(Some(link));
        link["queue"] = table(second, tables);
    }
    let link = component(value, "links", &place.link)?;
    tables.on_link(Some(link));
    if let Some(queue) = row.at(Slot::Queue) {
        link["queue"] = table(queue, tables);
    }
    let mut impairments: Vec<Value> = Vec::new();
    for slot in [Slot::FirstImpairment, Slot::SecondImpairment] {
        let like =
            impairments.last().filter(|_| row.at(Slot::FirstImpairment) == row.at(slot) && tables.repeats());
        impairments
            .extend(like.cloned().or_else(|| row.at(slot).map(|impairment| table(impairment, tables))));
    }
    if !impairments.is_empty() {
        link["impairments"] = json!(impairments);
    }
    for timing in row.timings() {
        if timing == "wifi" {
            let schema = SCHEMA.pointer("/properties/links/items/properties/wifi/anyOf/0");
            link["wifi"] = tables.table(schema.unwrap_or(&Value::Null));
        }
        if let Some(model) = timings::model(timing) {
            let mut trace = tagged(timings::models(), model, tables);
            at_rate_of(link, &mut trace);
            link["trace"] = trace;
        }
    }
    tables.on_link(None);
    for (name, slots) in place.flows.iter().zip(Slot::OF_FLOWS) {
        plant_in_flow(component(value, "flows", name)?, slots.map(|slot| row.at(slot)), tables);
    }
    Some(())
}

/// Gives the model of a link rates of about that of the link, so that the estimate of packets holds.
fn at_rate_of(link: &Value, trace: &mut Value) {
    let Some(name) = trace.as_str().map(str::to_owned).or_else(|| Some(trace["kind"].as_str()?.to_owned()))
    else {
        return;
    };
    let rate =
        link["rate"].as_str().and_then(|text| text.split_once(' ')?.0.parse::<f64>().ok()).unwrap_or(1e6);
    let rates = |factor: f64| json!(format!("{} bit/s", (rate * factor).max(1.0).round()));
    let mut members = trace.as_object().cloned().unwrap_or_default();
    members.insert("kind".into(), json!(name));
    let schema = timings::models().get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let of_model = schema
        .filter_map(|schema| schema.get("properties"))
        .find(|members| members["kind"]["const"] == *name);
    for (member, schema) in of_model.and_then(Value::as_object).into_iter().flatten() {
        match (schema["x-unit"].as_str(), schema["type"].as_str()) {
            (Some("bit/s"), Some("array")) => {
                drop(members.insert(member.clone(), json!([rates(0.5), rates(1.0)])))
            }
            (Some("bit/s"), _) => drop(members.insert(member.clone(), rates(1.0))),
            _ => {}
        }
    }
    *trace = Value::Object(members);
}

fn plant_in_flow(
    flow: &mut Value,
    [rules, control, recovery, source]: [Option<Number>; 4],
    tables: &mut dyn Tables,
) {
    if let Some(source) = source {
        flow["source"] = table(source, tables);
        complete_sizes(&mut flow["source"]);
    }
    let spec = flow.get("source").map(|source| SourceSpec::decode(&Node::root(source)));
    if spec.is_some_and(|spec| spec.is_ok_and(|spec| spec.is_datagram())) {
        if let Value::Object(members) = flow {
            members.shift_remove("tcp");
        }
        return;
    }
    let mut tcp = tables.tcp();
    let named = [("rules", rules), ("congestion", control), ("recovery", recovery)];
    for (member, element) in named {
        if let Some(element) = element {
            tcp.insert(member.to_owned(), table(element, tables));
        }
    }
    if let (Some(control), Some(recovery)) = (control, recovery) {
        let control = AlgorithmSpec::named(&ELEMENTS[control].name).map_or("", |spec| spec.mechanisms());
        let recovery =
            RecoverySpec::named(&ELEMENTS[recovery].name).map_or("", |spec| spec.properties().mechanisms);
        // A recovery that lacks a mechanism of the control is accepted only if the mechanism is off.
        let is_possible =
            |letter: &char| !Mechanisms::OF_RECOVERIES.contains(*letter) || recovery.contains(*letter);
        let possible: String = control.chars().filter(is_possible).collect();
        if possible != control {
            tcp.insert("mechanisms".to_owned(), json!(possible));
        }
    }
    flow["tcp"] = Value::Object(tcp);
}

fn time(nanoseconds: u64) -> Value {
    json!(format!("{nanoseconds} ns"))
}

fn remove(table: &mut Value, members: &[&str]) {
    if let Value::Object(table) = table {
        members.iter().for_each(|member| drop(table.shift_remove(*member)));
    }
}

/// Draws a time between tenths of a run of `end` nanoseconds.
fn tenths(end: u64, (low, high): (usize, usize), draw: &mut Draw) -> u64 {
    end / 10 * draw.between(low, high) as u64
}

/// Plants the timings in a run of `end` nanoseconds.
pub fn plant_timings(value: &mut Value, row: &Row, place: &Place, end: u64, draw: &mut Draw) -> Option<()> {
    let planted: Vec<&str> = row.timings().collect();
    plant_in_window(value, &planted, place, end, draw);
    plant_starts(value, &planted, place, end, draw)?;
    if planted.contains(&"reroute") {
        for (name, path) in place.flows.iter().zip(&place.paths) {
            let at = time(tenths(end, (1, 8), draw).max(1));
            component(value, "flows", name)?["reroutes"] = json!([{ "at": at, "path": path }]);
        }
    }
    plant_in_link(component(value, "links", &place.link)?, &planted, end, draw)
}

fn plant_in_window(value: &mut Value, planted: &[&str], place: &Place, end: u64, draw: &mut Draw) {
    let has = |timing: &str| planted.contains(&timing);
    if has("begin of window") || has("end of window") {
        remove(value, &["measure_from", "measure_until"]);
    }
    if has("begin of window") {
        value["measure_from"] = time(tenths(end, (1, 4), draw).max(1));
    }
    if has("end of window") {
        value["measure_until"] = time(tenths(end, (6, 9), draw).max(1));
    }
    if has("early end") {
        value["stop_when_complete"] = json!([place.flows[0]]);
    }
}

/// Plants when flows start, stop and start again.
fn plant_starts(value: &mut Value, planted: &[&str], place: &Place, end: u64, draw: &mut Draw) -> Option<()> {
    let has = |timing: &str| planted.contains(&timing);
    let is_timed =
        ["late start", "random start", "simultaneous start", "stop", "restart"].into_iter().any(has);
    let mut tenths = |low: usize, high: usize| tenths(end, (low, high), draw);
    let common = if has("late start") { tenths(1, 3).max(1) } else { 0 };
    for name in &place.flows {
        let flow = component(value, "flows", name)?;
        if is_timed {
            remove(flow, &["start", "stop", "restarts"]);
        }
        if has("random start") {
            flow["start"] = json!({ "uniform": [time(0), time(tenths(1, 3).max(1))] });
        } else if has("late start") {
            flow["start"] = time(if has("simultaneous start") { common } else { tenths(1, 3).max(1) });
        }
        if has("stop") || has("restart") {
            flow["stop"] = time(tenths(4, 5).max(2));
        }
        if has("restart") {
            flow["restarts"] =
                json!([{ "start": time(tenths(6, 7).max(3)), "stop": time(tenths(8, 9).max(4)) }]);
        }
    }
    Some(())
}

/// Plants the opportunities, outages and changes of a link.
fn plant_in_link(link: &mut Value, planted: &[&str], end: u64, draw: &mut Draw) -> Option<()> {
    let has = |timing: &str| planted.contains(&timing);
    let of_links = [
        "change of rate",
        "change of delay",
        "outage that holds",
        "outage that drops",
        "opportunities",
        "wifi",
    ];
    if of_links.into_iter().any(has) || planted.iter().any(|timing| timings::model(timing).is_some()) {
        remove(link, &["changes", "outages", "opportunities"]);
    }
    if has("opportunities") {
        link["opportunities"] = opportunities(link, draw);
    }
    let mut outages = Vec::new();
    for (timing, packets, bounds) in
        [("outage that holds", "hold", (1, 2)), ("outage that drops", "drop", (4, 5))]
    {
        if has(timing) {
            let from = tenths(end, bounds, draw);
            outages.push(
                json!({ "from": time(from), "until": time(from + (end / 10).max(1)), "packets": packets }),
            );
        }
    }
    if !outages.is_empty() {
        link["outages"] = json!(outages);
    }
    if has("change of rate") || has("change of delay") {
        link["changes"] = json!([change(link, planted, end, draw)?]);
    }
    Some(())
}

/// A change of a link's rate, its delay or both.
fn change(link: &Value, planted: &[&str], end: u64, draw: &mut Draw) -> Option<Value> {
    let amount = |text: &Value| text.as_str().and_then(|text| text.split_once(' ')?.0.parse::<f64>().ok());
    let mut change = json!({ "at": time(tenths(end, (1, 8), draw)) });
    if planted.contains(&"change of rate") {
        let factor = *draw.pick(&[2.0, 0.5, 0.1, 10.0]);
        change["rate"] = json!(written((amount(&link["rate"])? * factor).max(1.0), "bit/s", draw));
    }
    if planted.contains(&"change of delay") {
        let factor = *draw.pick(&[0.0, 0.5, 2.0, 0.1]);
        change["delay"] = time((amount(&link["delay"])? * factor) as u64);
    }
    Some(change)
}

/// Plants the probe.
pub fn plant_probe(value: &mut Value, row: &Row) {
    let probes = Slot::OF_PROBE.into_iter().filter_map(|slot| row.at(slot));
    let quantities: Vec<&str> = probes.map(|probe| ELEMENTS[probe].name.as_str()).collect();
    if quantities.is_empty() {
        return;
    }
    let probe = json!({ "flows": ["*"], "links": ["*"], "quantities": quantities });
    match value.get_mut("probes").and_then(Value::as_array_mut) {
        Some(probes) => probes.push(probe),
        None => value["probes"] = json!([probe]),
    }
}
