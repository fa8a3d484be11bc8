//! Timings: what happens to flows, links and the run at stated times. The schema has no list of them; models of links
//! that change by themselves come from its registry.

use crate::schema::SCHEMA;
use dumbbell_net::Downtime;
use dumbbell_net::{LinkSpec, SyntheticSpec};
use dumbbell_sim::Scenario;
use dumbbell_sim::flows::{FlowSpec, Start};
use dumbbell_units::{Time, Value};

/// Where a timing acts.
#[derive(Clone, Copy, Debug)]
pub enum Timing {
    /// On a flow.
    Flow(fn(&FlowSpec) -> bool),
    /// On a flow together with another one over the same link.
    Flows(fn(&FlowSpec, &FlowSpec) -> bool),
    /// On a link.
    Link(fn(&LinkSpec) -> bool),
    /// On the run.
    Run(fn(&Scenario) -> bool),
}

/// Timings by name, except the models of links.
pub const TIMINGS: &[(&str, Timing)] = &[
    ("late start", Timing::Flow(|flow| matches!(flow.start, Start::At(at) if at > Time::ZERO))),
    ("random start", Timing::Flow(|flow| matches!(flow.start, Start::Uniform(from, to) if from < to))),
    (
        "simultaneous start",
        Timing::Flows(|one, other| one.start == other.start && matches!(one.start, Start::At(_))),
    ),
    ("stop", Timing::Flow(|flow| flow.stop.is_some())),
    ("restart", Timing::Flow(|flow| !flow.restarts.is_empty())),
    ("reroute", Timing::Flow(|flow| !flow.reroutes.is_empty())),
    ("change of rate", Timing::Link(|link| link.changes.iter().any(|change| change.rate.is_some()))),
    ("change of delay", Timing::Link(|link| link.changes.iter().any(|change| change.delay.is_some()))),
    ("outage that holds", Timing::Link(|link| has_outage(link, Downtime::Hold))),
    ("outage that drops", Timing::Link(|link| has_outage(link, Downtime::Drop))),
    ("opportunities", Timing::Link(|link| link.opportunities.is_some())),
    ("wifi", Timing::Link(|link| link.wifi.is_some())),
    ("begin of window", Timing::Run(|scenario| scenario.measure_from > Time::ZERO)),
    (
        "end of window",
        Timing::Run(|scenario| scenario.measure_until.is_some_and(|end| end < scenario.duration)),
    ),
    ("early end", Timing::Run(Scenario::may_end_early)),
];

fn has_outage(link: &LinkSpec, kind: Downtime) -> bool {
    link.outages.iter().any(|outage| outage.packets == kind)
}

/// Begins the names of models of links.
const TRACE: &str = "trace ";

/// The model that a timing names.
pub fn model(timing: &str) -> Option<&str> {
    timing.strip_prefix(TRACE)
}

/// The name of the timing of a link's model.
pub fn of_model(trace: &SyntheticSpec) -> String {
    format!("{TRACE}{}", trace.name())
}

/// Schema of the models.
pub fn models() -> &'static Value {
    SCHEMA.pointer("/properties/links/items/properties/trace/anyOf/0").unwrap_or(&Value::Null)
}

/// The names of all timings.
pub fn names() -> Vec<String> {
    let models = models().pointer("/anyOf/0/enum").and_then(Value::as_array).into_iter().flatten();
    let models = models.filter_map(|name| Some(format!("{TRACE}{}", name.as_str()?)));
    TIMINGS.iter().map(|(name, _)| (*name).to_owned()).chain(models).collect()
}
