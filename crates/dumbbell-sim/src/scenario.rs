//! A scenario: nodes, links, flows, probes and times. It is data, with a canonical form.

use crate::flows::{FlowSpec, Flows, Start};
use crate::quantity::{Measure, Quantity};
use dumbbell_net::LinkSpec;
use dumbbell_tcp::config::Rules;
use dumbbell_units::random::name_hash;
use dumbbell_units::spec::{Field, Node, SpecError, any_of};
use dumbbell_units::{Time, Value, params};
use serde_json::json;
use std::collections::BTreeSet;

/// When a host's clocks tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TickPhase {
    /// At a random phase of their period.
    #[default]
    Random,
    /// At this time after the origin.
    At(Time),
}

impl Field for TickPhase {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        match node.value().as_str() {
            Some("random") => Ok(TickPhase::Random),
            _ => Time::decode(node).map(TickPhase::At).map_err(|_| node.error(Self::accepted())),
        }
    }
    fn encode(&self) -> Value {
        match self {
            TickPhase::Random => json!("random"),
            TickPhase::At(at) => at.encode(),
        }
    }
    fn accepted() -> String {
        "\"random\" or a time such as \"100 ms\"".into()
    }
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

params! {
    /// A node as a table.
    pub struct NodeTable requires [name] {
        /// Name, unique among nodes.
        name: String = String::new(), "-", "-", |name| !name.is_empty(), "a name";
        /// When the node's coarse clocks tick.
        tick_phase: TickPhase = TickPhase::Random, "s", "[jacobson1988 appendix A]";
        /// Stamp packets sent by this node with their queueing time.
        aqt: bool = false, "-", "[chan2004 §3.1]";
    }
}

/// A node: its name alone, or a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSpec(pub NodeTable);

impl Field for NodeSpec {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        match node.value() {
            Value::String(name) if !name.is_empty() => {
                Ok(NodeSpec(NodeTable { name: name.clone(), ..NodeTable::default() }))
            }
            Value::Object(_) => NodeTable::decode(node).map(NodeSpec),
            _ => Err(node.error(Self::accepted())),
        }
    }
    fn encode(&self) -> Value {
        self.0.encode()
    }
    fn accepted() -> String {
        "a name, or a table with `name`, `tick_phase` and `aqt`".into()
    }
    fn schema() -> Value {
        any_of(vec![String::schema(), NodeTable::schema()])
    }
}

params! {
    /// A request to record quantities of flows or links.
    pub struct ProbeSpec requires [quantities] {
        /// Names of flows; `*` for all.
        flows: Vec<String> = Vec::new(), "-", "-";
        /// Names of links; `*` for all.
        links: Vec<String> = Vec::new(), "-", "-";
        /// What to record.
        quantities: Vec<Quantity> = Vec::new(), "-", "-";
        /// Sampling period, from the start of the run to before its end; if not given, every change is recorded.
        period: Option<Time> = None, "s", "-",
            |period| period.is_none_or(|period| period.0 > 0), "a time above 0";
    }
}

params! {
    /// A network, its flows, and their times.
    pub struct Scenario requires [duration, nodes, links, flows] {
        /// Name, for display only.
        name: String = String::new(), "-", "-";
        /// Longest simulated time.
        duration: Time = Time::ZERO, "s", "-", |duration| duration.0 > 0, "a time above 0";
        /// The run ends when all these flows have completed.
        stop_when_complete: Vec<String> = Vec::new(), "-", "-";
        /// Beginning of the measurement window.
        measure_from: Time = Time::ZERO, "s", "-";
        /// End of the measurement window; the end of the run if not given.
        measure_until: Option<Time> = None, "s", "-";
        /// Measure percentiles of round-trip times and one-way delays of all flows.
        delay_percentiles: bool = false, "-", "-";
        /// The environment of flows that state none. What it means is part of the flows once they are read.
        rules: Option<Rules> = None, "-", "-";
        /// Hosts and routers.
        nodes: Vec<NodeSpec> = Vec::new(), "-", "-";
        /// Unidirectional links between them.
        links: Vec<LinkSpec> = Vec::new(), "-", "-";
        /// Flows over them.
        flows: Flows = Flows::default(), "-", "-";
        /// What to record.
        probes: Vec<ProbeSpec> = Vec::new(), "-", "-";
    }
}

/// A list of names in which `*` is every name.
pub(crate) struct Chosen<'a>(BTreeSet<&'a str>);

impl<'a> Chosen<'a> {
    pub(crate) fn new(names: &'a [String]) -> Self {
        Chosen(names.iter().map(String::as_str).collect())
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains(name) || self.0.contains("*")
    }
}

impl Scenario {
    /// The canonical form: every field, in order, with canonical units. The environment is that of its flows.
    pub fn to_json(&self) -> String {
        let mut value = self.encode();
        if let Value::Object(members) = &mut value {
            members.shift_remove("rules");
        }
        value.to_string()
    }

    /// Hash of the canonical form.
    pub fn hash(&self) -> u64 {
        name_hash(&self.to_json())
    }

    /// End of the measurement window, if the run lasts its full duration.
    pub fn measure_until(&self) -> Time {
        self.measure_until.unwrap_or(self.duration).min(self.duration)
    }

    /// True if a flow is carried by a stack that is not ours.
    pub fn has_transports(&self) -> bool {
        self.flows.iter().any(|flow| flow.transport.is_some())
    }

    /// True if the run may end before its duration is over.
    pub fn may_end_early(&self) -> bool {
        !self.stop_when_complete.is_empty()
    }

    /// The time that the run lasts at least: the flows that it waits for have started by then.
    pub(crate) fn earliest_end(&self) -> Time {
        let names: BTreeSet<&String> = self.stop_when_complete.iter().collect();
        let awaited = |flow: &&FlowSpec| names.contains(&flow.name);
        let earliest = |flow: &FlowSpec| match flow.start {
            Start::At(start) | Start::Uniform(start, _) => start,
        };
        self.flows.iter().filter(awaited).map(earliest).max().unwrap_or(self.duration).min(self.duration)
    }

    pub(crate) fn node_names(&self) -> Vec<&str> {
        self.nodes.iter().map(|node| node.0.name.as_str()).collect()
    }

    pub(crate) fn link_names(&self) -> Vec<&str> {
        self.links.iter().map(|link| link.name.as_str()).collect()
    }

    pub(crate) fn flow_names(&self) -> Vec<&str> {
        self.flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    /// Everything that a probe of all flows and links can record.
    pub fn quantities(&self) -> Vec<Quantity> {
        let shown = |quantity: &Quantity| self.flows.iter().any(|flow| shows(flow, quantity));
        let is_there = |quantity: &Quantity| !quantity.is_of_some_flows() || shown(quantity);
        Quantity::all().into_iter().filter(is_there).collect()
    }
}

/// The probes of a flow's congestion control.
pub(crate) fn probes_of(flow: &FlowSpec) -> Vec<String> {
    flow.tcp.as_ref().map_or_else(Vec::new, |tcp| tcp.0.probe_names())
}

/// True if a flow has a quantity that only some flows have.
pub(crate) fn shows(flow: &FlowSpec, quantity: &Quantity) -> bool {
    match quantity {
        Quantity::Measured(Measure::Transfers) => flow.source.is_workload(),
        Quantity::Measured(Measure::TcpEvents) => flow.tcp.is_some(),
        Quantity::Measured(_) => flow.tcp.is_some() || flow.transport.is_some(),
        Quantity::Declared(_) => probes_of(flow).iter().any(|name| name == quantity.name()),
    }
}
