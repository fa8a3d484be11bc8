//! Routes over the links of a scenario, and the links that need no events.

use crate::flows::FlowSpec;
use crate::scenario::Scenario;
use dumbbell_net::SourceSpec;
use dumbbell_units::Time;
use dumbbell_units::spec::{SpecError, near_miss};
use std::collections::{BTreeMap, VecDeque};

/// Marks the end of a route in the list of links.
const END: u32 = u32::MAX;

/// Start of the reverse route of a flow without reverse traffic.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The routes of all flows.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// The hops of all routes one after the other.
    pub hops: Vec<Hop>,
    /// First hop of each flow's forward and reverse route.
    pub begins: Vec<(u32, u32)>,
    /// Future route changes, the next one last.
    pub reroutes: Vec<NewRoute>,
    /// Links fed by several links, or by links and hosts, in order.
    pub merge_points: Vec<u32>,
    /// Links that lead to hosts and do not keep packets in order.
    pub unordered: Vec<u32>,
}

/// One link of a route.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Index of the link.
    pub link: u32,
    /// What follows the link.
    pub after: After,
}

/// What follows a link on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// A link fed only by this one. Packets enter it in the order in which they entered this one, so both are passed
    /// in one step.
    Chained,
    /// The host at the end.
    Host,
    /// The same if packets overtake others on the link or arrive twice, with its index among such links.
    Unordered(u32),
    /// A receiver that is affected only by this path: it answers a packet as soon as the packet enters the link.
    Receiver,
    /// A link also fed by others, with the index of its merge point.
    Merge(u32),
}

/// A new route of a flow from a given time.
#[derive(Clone, Copy, Debug)]
pub struct NewRoute {
    /// Time of the change.
    pub at: Time,
    /// Index of the flow.
    pub flow: u32,
    /// First hops of the forward and reverse routes.
    pub begins: (u32, u32),
}

/// The names of a scenario's components with their positions.
#[derive(Clone, Debug, Default)]
pub struct Names<'a>(BTreeMap<&'a str, usize>);

impl<'a> Names<'a> {
    /// The names in order; of duplicates, the last counts.
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

/// Why a path was rejected.
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
    /// For each node, the links to nodes from which a path may continue, with these nodes. A host with a single link
    /// to a router is never on the path to another host, and a router may have thousands of such hosts.
    onward: Vec<Vec<(u32, usize)>>,
    /// The first link between two nodes.
    direct: BTreeMap<(usize, usize), u32>,
}

impl<'a> Graph<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let nodes = Names::new(scenario.node_names());
        let mut onward = vec![Vec::new(); scenario.nodes.len()];
        let mut direct = BTreeMap::new();
        for (number, link) in scenario.links.iter().enumerate() {
            if let (Some(from), Some(to)) = (nodes.index(&link.from), nodes.index(&link.to)) {
                onward[from].push((number as u32, to));
                direct.entry((from, to)).or_insert(number as u32);
            }
        }
        // Two different next nodes suffice to decide whether a path continues: at least one of them is not where it
        // came from.
        let two = |links: &Vec<(u32, usize)>| {
            let first = links.first().map(|&(_, to)| to);
            [first, links.iter().map(|&(_, to)| to).find(|&to| Some(to) != first)]
        };
        let reached: Vec<[Option<usize>; 2]> = onward.iter().map(two).collect();
        for (from, links) in onward.iter_mut().enumerate() {
            links.retain(|&(_, to)| reached[to].iter().flatten().any(|&next| next != from));
        }
        Graph { scenario, nodes, links: Names::new(scenario.link_names()), onward, direct }
    }

    /// The named links, or the first name that does not continue the path.
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

    /// Breadth first, with links in order, so that the choice among equal paths is defined.
    fn shortest_path(&self, from: &str, to: &str) -> Option<Vec<u32>> {
        let (start, goal) = (self.nodes.index(from)?, self.nodes.index(to)?);
        let mut reached_by = BTreeMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(node) = waiting.pop_front() {
            if let Some(&link) = self.direct.get(&(node, goal)) {
                reached_by.insert(goal, (link, node));
                break;
            }
            for &(link, next) in &self.onward[node] {
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
    /// The given paths, or those with the fewest hops.
    pub fn new(scenario: &Scenario) -> Result<Routes, SpecError> {
        let graph = Graph::new(scenario);
        let mut routes = Routes::default();
        let mut paths = Vec::new();
        for flow in &scenario.flows {
            let field = |member: &str| format!("flows.{}.{member}", flow.name);
            let mut add = |(from, to): (&str, &str), stated: Option<&[String]>, field: String| {
                add_path(&mut paths, &graph, (from, to), stated, field)
            };
            let (there, back) =
                ((flow.from.as_str(), flow.to.as_str()), (flow.to.as_str(), flow.from.as_str()));
            let forward = add(there, flow.path.as_deref(), field("path"))?;
            let is_one_way =
                flow.source.is_datagram() && flow.source.reports().is_none() && !flow.writes_messages();
            let reverse = if is_one_way && flow.reverse_path.is_none() {
                NOWHERE
            } else {
                add(back, flow.reverse_path.as_deref(), field("reverse_path"))?
            };
            let mut begins = (forward, reverse);
            let number = routes.begins.len() as u32;
            routes.begins.push(begins);
            for (index, change) in flow.reroutes.iter().enumerate() {
                let field = |member: &str| format!("flows.{}.reroutes.{index}.{member}", flow.name);
                if let Some(path) = &change.path {
                    begins.0 = add(there, Some(path), field("path"))?;
                }
                if let Some(path) = &change.reverse_path {
                    begins.1 = add(back, Some(path), field("reverse_path"))?;
                }
                routes.reroutes.push(NewRoute { at: change.at, flow: number, begins });
            }
        }
        routes.reroutes.sort_by_key(|change| std::cmp::Reverse((change.at, change.flow)));
        let is_scheduled: Vec<bool> = scenario.links.iter().map(|link| link.is_scheduled()).collect();
        let keeps_order: Vec<bool> = scenario.links.iter().map(|link| link.keeps_order()).collect();
        routes.find_what_follows(&paths, &is_scheduled, &keeps_order);
        Ok(routes)
    }

    /// The links of the path that begins with a hop, in order; empty for an empty path.
    pub fn links_from(&self, begin: u32) -> impl Iterator<Item = usize> {
        let hops = self.hops.get(begin as usize..).unwrap_or_default();
        hops.iter().map(|hop| hop.link).take_while(|&link| link != END).map(|link| link as usize)
    }

    /// Determines what follows each link of these paths. A scheduled link is never chained: it has a merge point,
    /// whatever feeds it. Behind a link that does not keep packets in order, a link has a merge point, too.
    fn find_what_follows(&mut self, paths: &[u32], is_scheduled: &[bool], keeps_order: &[bool]) {
        let feeders = feeders(paths, is_scheduled.len());
        let after = |place: usize| paths.get(place + 1).copied().filter(|&next| next != END);
        let is_chained = |link: u32, next: u32| {
            feeders[next as usize] == Feeder::One(link)
                && !is_scheduled[next as usize]
                && keeps_order[link as usize]
        };
        let hops = || paths.iter().enumerate().filter(|&(_, &link)| link != END);
        for (place, &link) in hops() {
            if let Some(next) = after(place).filter(|&next| !is_chained(link, next)) {
                self.merge_points.push(next);
            }
            if is_scheduled[link as usize] {
                self.merge_points.push(link);
            }
            if after(place).is_none() && !keeps_order[link as usize] {
                self.unordered.push(link);
            }
        }
        for links in [&mut self.merge_points, &mut self.unordered] {
            links.sort_unstable();
            links.dedup();
        }
        for (place, &link) in paths.iter().enumerate() {
            let after = match after(place) {
                _ if link == END => After::Chained,
                None => match self.unordered.binary_search(&link) {
                    Ok(number) => After::Unordered(number as u32),
                    Err(_) => After::Host,
                },
                Some(next) if is_chained(link, next) => After::Chained,
                Some(next) => After::Merge(self.merge_points.binary_search(&next).unwrap_or_default() as u32),
            };
            self.hops.push(Hop { link, after });
        }
    }
}

/// Traffic that enters a link from a host.
#[derive(Clone, Copy, Default)]
struct Entrance {
    /// Number of paths that begin with the link.
    paths: u32,
    /// Number of them that carry acknowledgements of steady flows.
    answers: u32,
    /// The link that leads to their receivers, if it is the same one.
    from: Option<u32>,
    is_from_many: bool,
    /// Some of these receivers delay acknowledgements.
    has_delays: bool,
}

impl Entrance {
    /// True if only data arriving from one link determines what enters. The timers of several receivers would have no
    /// defined order.
    fn follows_one_link(&self) -> bool {
        self.answers == self.paths && !self.is_from_many && !(self.has_delays && self.answers > 1)
    }
}

/// True for a flow that, once started, sends over the same path to the end of the run, and whose receiver waits for
/// nothing but its data.
fn is_steady(flow: &FlowSpec) -> bool {
    let is_greedy = matches!(flow.source, SourceSpec::Greedy(_));
    is_greedy
        && flow.transport.is_none()
        && !flow.tells_window()
        && flow.stop.is_none()
        && flow.restarts.is_empty()
        && flow.reroutes.is_empty()
}

impl Routes {
    /// Finds the receivers that may answer ahead of the clock because arriving data is their only input: their flows
    /// are steady and not traced, and their acknowledgements enter links that follow one other link.
    pub fn find_receivers(&mut self, scenario: &Scenario, is_traced: impl Fn(usize) -> bool) {
        if scenario.may_end_early() {
            return;
        }
        let mut entrances = vec![Entrance::default(); scenario.links.len()];
        let mut is_first = true;
        for hop in &self.hops {
            if is_first {
                entrances[hop.link as usize].paths += 1;
            }
            is_first = hop.link == END;
        }
        let mut answers = Vec::new();
        for (number, flow) in scenario.flows.iter().enumerate() {
            if !is_steady(flow) || is_traced(number) {
                continue;
            }
            let (forward, reverse) = (self.begins[number].0 as usize, self.begins[number].1 as usize);
            let length = self.hops[forward..].iter().take_while(|hop| hop.link != END).count();
            let (last, back) = (forward + length - 1, self.hops[reverse].link);
            answers.push((last, back));
            let from = self.hops[last].link;
            let entrance = &mut entrances[back as usize];
            entrance.answers += 1;
            entrance.is_from_many |= entrance.from.replace(from).is_some_and(|other| other != from);
            entrance.has_delays |= flow.tcp.as_ref().is_some_and(|tcp| tcp.0.delays_acknowledgements());
        }
        for (last, back) in answers {
            // Over a link without delay, an answer could reach others at the same instant.
            let takes_time = scenario.links[back as usize].min_delay() > Time::ZERO;
            let is_free = entrances[back as usize].follows_one_link()
                && self.merge_points.binary_search(&back).is_err();
            if takes_time && is_free && self.hops[last].after == After::Host {
                self.hops[last].after = After::Receiver;
            }
        }
    }
}

/// Adds the named links, or those with the fewest hops, to the paths, and returns where they begin.
fn add_path(
    paths: &mut Vec<u32>,
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
    let begin = paths.len() as u32;
    paths.extend(path);
    paths.push(END);
    Ok(begin)
}

/// What feeds a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Nothing,
    One(u32),
    Many,
}

/// What feeds each link; a host feeds the first link of a path.
fn feeders(paths: &[u32], links: usize) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::Nothing; links];
    let mut previous = END;
    for &link in paths {
        if link != END {
            let feeder = &mut feeders[link as usize];
            let is_first_or_same = *feeder == Feeder::Nothing || *feeder == Feeder::One(previous);
            *feeder = if previous != END && is_first_or_same { Feeder::One(previous) } else { Feeder::Many };
        }
        previous = link;
    }
    feeders
}
