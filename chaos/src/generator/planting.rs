//! Plants the elements of a row in a drawn scenario, on a link and two flows over it.

use super::leaves::Leaves;
use super::topology::Topology;
use super::{schema_of, stated_path};
use crate::draw::Draw;
use crate::pairs::{self, Place, Row, Slot, Tables};
use crate::paths::paths;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::Members;
use serde_json::json;

/// Mean number of members of a planted table that are drawn: many effects of two things depend on their parameters.
const MEMBERS_DRAWN: f64 = 6.0;

/// Probability that a quantity of a planted table is drawn in proportion to its link.
const LIKE_LINK: f64 = 0.7;

/// A link that two flows cross, and another one of the first flow. If no other flow crosses it, one is added.
pub fn place(
    value: &mut Value,
    scenario: &Scenario,
    row: &Row,
    topology: &Topology,
    draw: &mut Draw,
) -> Option<Place> {
    let paths = paths(scenario);
    let path = |flow: usize| paths[flow].forward.first().map_or(&[][..], Vec::as_slice);
    let least = if row.at(Slot::SecondQueue).is_some() { 2 } else { 1 };
    let possible: Vec<usize> = (0..paths.len()).filter(|&flow| path(flow).len() >= least).collect();
    if possible.is_empty() {
        return None;
    }
    let first = *draw.pick(&possible);
    let link = *draw.pick(path(first));
    let others: Vec<usize> = path(first).iter().copied().filter(|&other| other != link).collect();
    let second_link = if others.is_empty() { link } else { *draw.pick(&others) };
    let crossing: Vec<usize> =
        (0..paths.len()).filter(|&flow| flow != first && path(flow).contains(&link)).collect();
    let flow_name = |flow: usize| scenario.flows[flow].name.clone();
    let (second, ends) = match crossing.is_empty() {
        true => {
            let name = "planted".to_owned();
            let mut flow =
                value["flows"].as_array()?.iter().find(|flow| flow["name"] == *flow_name(first))?.clone();
            flow["name"] = json!(name);
            value["flows"].as_array_mut()?.push(flow);
            (name, first)
        }
        false => {
            let second = *draw.pick(&crossing);
            (flow_name(second), second)
        }
    };
    let number = |name: &str| name.get(1..)?.parse::<usize>().ok();
    let mut rerouted = |flow: usize| {
        let spec = &scenario.flows[flow];
        let ends = (number(&spec.from)?, number(&spec.to)?);
        let names = |path: Value| -> Option<Vec<String>> {
            path.as_array()?.iter().map(|link| link.as_str().map(str::to_owned)).collect()
        };
        stated_path(topology, ends, draw)
            .and_then(names)
            .or_else(|| Some(path(flow).iter().map(|&link| scenario.links[link].name.clone()).collect()))
    };
    Some(Place {
        paths: [rerouted(first)?, rerouted(ends)?],
        flows: [flow_name(first), second],
        link: scenario.links[link].name.clone(),
        second_link: scenario.links[second_link].name.clone(),
    })
}

struct Drawn<'a>(&'a mut Leaves, &'a mut Draw);

impl Tables for Drawn<'_> {
    fn table(&mut self, schema: &Value) -> Value {
        self.0.table_with(schema, &[], MEMBERS_DRAWN, self.1)
    }

    fn repeats(&mut self) -> bool {
        self.1.chance(0.5)
    }

    fn on_link(&mut self, link: Option<&Value>) {
        self.0.on_link(link, LIKE_LINK);
    }

    fn tcp(&mut self) -> Members {
        let planted = ["variant", "rules", "congestion", "recovery", "external"];
        let schema = schema_of("flows").pointer("/properties/tcp/anyOf/0/anyOf/1").unwrap_or(&Value::Null);
        match self.0.table(schema, &planted, self.1) {
            Value::Object(members) => members,
            _ => Members::new(),
        }
    }
}

/// Plants everything but times.
pub fn plant(
    value: &mut Value,
    row: &Row,
    place: &Place,
    leaves: &mut Leaves,
    draw: &mut Draw,
) -> Option<()> {
    pairs::plant(value, row, place, &mut Drawn(leaves, draw))
}

/// Plants timings and the probe in a run of this many seconds.
pub fn plant_times(value: &mut Value, row: &Row, place: &Place, seconds: f64, draw: &mut Draw) -> Option<()> {
    pairs::plant_timings(value, row, place, (seconds * 1e9).round() as u64, draw)?;
    pairs::plant_probe(value, row);
    Some(())
}
