//! Routes over the links of a scenario, and which links need no event of their own.

use crate::scenario::Scenario;
use dumbbell_units::Time;
use dumbbell_units::spec::{SpecError, near_miss};
use std::collections::{BTreeMap, VecDeque};

/// Ends a route in the list of hops.
pub const END: u32 = u32::MAX;

/// Where the reverse route of a flow begins that sends nothing back.
const NOWHERE: u32 = u32::MAX;

/// The routes of all flows.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Links of all routes one after the other, each route ended by [`END`].
    pub hops: Vec<u32>,
    /// Where the route of each flow begins: forward and reverse.
    pub begins: Vec<(u32, u32)>,
    /// Changes of these to come, the next one last.
    pub reroutes: Vec<NewRoute>,
    /// For each of the hops what follows its link.
    pub after: Vec<After>,
    /// Links that several links feed, or links and hosts.
    pub intakes: Vec<u32>,
}

/// What follows a link on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// A link that only this one feeds. Packets enter it in the order they entered this one, so both are passed at once.
    Chained,
    /// The host at the end.
    Host,
    /// A link that others feed too: its number among the intakes.
    Intake(u32),
}

/// Where the route of a flow begins from a time on.
#[derive(Clone, Copy, Debug)]
pub struct NewRoute {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: u32,
    /// Forward and reverse.
    pub begins: (u32, u32),
}

/// The names of a scenario's components with their positions.
#[derive(Clone, Debug, Default)]
pub struct Names<'a>(BTreeMap<&'a str, usize>);

impl<'a> Names<'a> {
    /// The names in their order; of two that are the same the later counts.
    pub fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        Names(names.into_iter().enumerate().map(|(index, name)| (name, index)).collect())
    }

    /// The position of a name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }

    /// The names in alphabetical order.
    pub fn sorted(&self) -> Vec<&'a str> {
        self.0.keys().copied().collect()
    }
}

/// Why a path was refused.
struct Refusal {
    value: String,
    accepted: String,
    suggestion: Option<String>,
}

/// The links of a scenario between the positions of their nodes.
struct Graph<'a> {
    scenario: &'a Scenario,
    nodes: Names<'a>,
    links: Names<'a>,
    /// For each node the links that leave it, with the nodes they reach.
    leaving: Vec<Vec<(u32, usize)>>,
}

impl<'a> Graph<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let nodes = Names::new(scenario.node_names());
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        for (number, link) in scenario.links.iter().enumerate() {
            if let (Some(from), Some(to)) = (nodes.index(&link.from), nodes.index(&link.to)) {
                leaving[from].push((number as u32, to));
            }
        }
        Graph { scenario, nodes, links: Names::new(scenario.link_names()), leaving }
    }

    /// The links named, or the first name that does not lead on from where the path has come.
    fn stated_path(&self, names: &[String], from: &str, to: &str) -> Result<Vec<u32>, Refusal> {
        let mut at = from;
        let mut path = Vec::with_capacity(names.len());
        for name in names {
            let leads_on = |index: &usize| self.scenario.links[*index].from == at;
            let index = self.links.index(name).filter(leads_on).ok_or_else(|| {
                let leaving = self.scenario.links.iter().filter(|link| link.from == at);
                let leaving: Vec<&str> = leaving.map(|link| link.name.as_str()).collect();
                Refusal {
                    value: format!("\"{name}\""),
                    accepted: format!("a link that leaves {at}: {}", leaving.join(", ")),
                    suggestion: near_miss(name, &leaving),
                }
            })?;
            at = &self.scenario.links[index].to;
            path.push(index as u32);
        }
        if at == to && !path.is_empty() {
            return Ok(path);
        }
        let accepted = format!("a path that ends at {to}");
        Err(Refusal { value: format!("a path that ends at {at}"), accepted, suggestion: None })
    }

    /// Breadth first, links in their order, so that the choice among equals is stated.
    fn shortest_path(&self, from: &str, to: &str) -> Option<Vec<u32>> {
        let (start, goal) = (self.nodes.index(from)?, self.nodes.index(to)?);
        let mut reached_by = BTreeMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(node) = waiting.pop_front() {
            if node == goal {
                break;
            }
            // A host with one link to a router is never on the way to another host.
            for &(link, next) in self.leaving[node].iter().filter(|&&(_, next)| {
                next == goal || self.leaving[next].iter().any(|&(_, onward)| onward != node)
            }) {
                if next != start && !reached_by.contains_key(&next) {
                    reached_by.insert(next, (link, node));
                    waiting.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = goal;
        while at != start {
            let &(link, previous) = reached_by.get(&at)?;
            path.push(link);
            at = previous;
        }
        path.reverse();
        Some(path)
    }
}

impl Routes {
    /// Stated paths, or those of fewest hops.
    pub fn new(scenario: &Scenario) -> Result<Routes, SpecError> {
        let graph = Graph::new(scenario);
        let mut routes = Routes::default();
        for flow in &scenario.flows {
            let field = |member: &str| format!("flows.{}.{member}", flow.name);
            let forward = routes.add(&graph, (&flow.from, &flow.to), flow.path.as_deref(), field("path"))?;
            let reverse = if flow.source.is_datagram() && flow.reverse_path.is_none() {
                NOWHERE
            } else {
                let stated = flow.reverse_path.as_deref();
                routes.add(&graph, (&flow.to, &flow.from), stated, field("reverse_path"))?
            };
            let mut begins = (forward, reverse);
            let number = routes.begins.len() as u32;
            routes.begins.push(begins);
            for (index, change) in flow.reroutes.iter().enumerate() {
                let field = |member: &str| format!("flows.{}.reroutes.{index}.{member}", flow.name);
                if let Some(path) = &change.path {
                    begins.0 = routes.add(&graph, (&flow.from, &flow.to), Some(path), field("path"))?;
                }
                if let Some(path) = &change.reverse_path {
                    begins.1 =
                        routes.add(&graph, (&flow.to, &flow.from), Some(path), field("reverse_path"))?;
                }
                routes.reroutes.push(NewRoute { at: change.at, flow: number, begins });
            }
        }
        routes.reroutes.sort_by_key(|change| std::cmp::Reverse((change.at, change.flow)));
        routes.find_what_follows(scenario.links.len());
        Ok(routes)
    }

    /// Adds the links named, or those of fewest hops, and returns where they begin.
    fn add(
        &mut self,
        graph: &Graph<'_>,
        (from, to): (&str, &str),
        stated: Option<&[String]>,
        field: String,
    ) -> Result<u32, SpecError> {
        let found = match stated {
            Some(names) => graph.stated_path(names, from, to),
            None => graph.shortest_path(from, to).ok_or_else(|| Refusal {
                value: format!("no path from {from} to {to}"),
                accepted: "links that connect them".into(),
                suggestion: None,
            }),
        };
        let path = found.map_err(|Refusal { value, accepted, suggestion }| SpecError {
            field,
            value,
            accepted,
            suggestion,
        })?;
        let begin = self.hops.len() as u32;
        self.hops.extend(path);
        self.hops.push(END);
        Ok(begin)
    }

    fn find_what_follows(&mut self, links: usize) {
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
        let mut known = BTreeMap::new();
        for (index, &link) in self.hops.iter().enumerate() {
            self.after.push(match self.hops.get(index + 1) {
                None | Some(&END) => After::Host,
                Some(&next) if link == END || feeder[next as usize] == Some(link) => After::Chained,
                Some(&next) => After::Intake(*known.entry(next).or_insert_with(|| {
                    self.intakes.push(next);
                    (self.intakes.len() - 1) as u32
                })),
            });
        }
    }
}
