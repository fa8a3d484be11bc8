//! Routes over the links of a scenario, and which links need no event of their own.

use crate::scenario::{FlowSpec, Scenario};
use dumbbell_units::spec::SpecError;
use std::collections::VecDeque;

/// Ends a route in the list of hops.
pub const END: u32 = u32::MAX;

/// The routes of all flows.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Links of all routes one after the other, each route ended by [`END`].
    pub hops: Vec<u32>,
    /// Where the route of each flow begins: forward and reverse.
    pub begins: Vec<(u32, u32)>,
    /// For each link the only link that feeds it, if no host and no other link does. Packets
    /// enter such a link in the order they entered its feeder, so both are passed at once.
    pub sole_feeder: Vec<Option<u32>>,
}

impl Routes {
    /// Stated paths, or those of fewest hops.
    pub fn new(scenario: &Scenario) -> Result<Routes, SpecError> {
        let mut routes = Routes::default();
        for flow in &scenario.flows {
            let forward = routes.add(scenario, flow, false)?;
            let reverse = routes.add(scenario, flow, true)?;
            routes.begins.push((forward, reverse));
        }
        routes.find_feeders(scenario.links.len());
        Ok(routes)
    }

    fn add(&mut self, scenario: &Scenario, flow: &FlowSpec, reverse: bool) -> Result<u32, SpecError> {
        let (from, to, member, stated) = if reverse {
            (&flow.to, &flow.from, "reverse_path", &flow.reverse_path)
        } else {
            (&flow.from, &flow.to, "path", &flow.path)
        };
        let refuse = |value: String, accepted: String| SpecError {
            field: format!("flows.{}.{member}", flow.name),
            value,
            accepted,
            suggestion: None,
        };
        let path = match stated {
            Some(names) => stated_path(scenario, names, from, to)
                .map_err(|at| refuse(at, format!("connected links from {from} to {to}")))?,
            None => shortest_path(scenario, from, to).ok_or_else(|| {
                refuse(format!("no path from {from} to {to}"), "links that connect them".into())
            })?,
        };
        let begin = self.hops.len() as u32;
        self.hops.extend(path);
        self.hops.push(END);
        Ok(begin)
    }

    fn find_feeders(&mut self, links: usize) {
        const MANY: u32 = u32::MAX - 1;
        let mut feeder: Vec<Option<u32>> = vec![None; links];
        let mut previous = None;
        for &hop in &self.hops {
            if hop == END {
                previous = None;
                continue;
            }
            let entry = &mut feeder[hop as usize];
            *entry = match (*entry, previous) {
                (None, Some(link)) => Some(link),
                (Some(known), Some(link)) if known == link => Some(link),
                _ => Some(MANY),
            };
            previous = Some(hop);
        }
        self.sole_feeder = feeder.into_iter().map(|link| link.filter(|&link| link != MANY)).collect();
    }
}

fn stated_path(scenario: &Scenario, names: &[String], from: &str, to: &str) -> Result<Vec<u32>, String> {
    let mut at = from;
    let mut path = Vec::with_capacity(names.len());
    for name in names {
        let link = scenario.links.iter().position(|link| link.name == *name && link.from == at);
        let index = link.ok_or_else(|| format!("\"{name}\""))?;
        at = &scenario.links[index].to;
        path.push(index as u32);
    }
    if at == to && !path.is_empty() { Ok(path) } else { Err(format!("a path that ends at {at}")) }
}

/// Breadth first, links in their order, so that the choice among equals is stated.
fn shortest_path(scenario: &Scenario, from: &str, to: &str) -> Option<Vec<u32>> {
    let names = scenario.node_names();
    let index = |name: &str| names.iter().position(|known| *known == name);
    let (start, goal) = (index(from)?, index(to)?);
    let mut links_from = vec![Vec::new(); names.len()];
    for (number, link) in scenario.links.iter().enumerate() {
        links_from[index(&link.from)?].push((number as u32, index(&link.to)?));
    }
    let mut reached_by = vec![None; names.len()];
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        for &(link, next) in &links_from[node] {
            if next != start && reached_by[next].is_none() {
                reached_by[next] = Some((link, node));
                waiting.push_back(next);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = goal;
    while at != start {
        let (link, previous) = reached_by[at]?;
        path.push(link);
        at = previous;
    }
    path.reverse();
    Some(path)
}
