//! The pairs of elements that act together in a scenario.

use super::timings::{TIMINGS, Timing, of_model};
use super::{Category, Number, Pair, number, pair};
use crate::paths::paths;
use dumbbell_net::LinkSpec;
use dumbbell_sim::Scenario;
use dumbbell_sim::flows::FlowSpec;
use dumbbell_sim::quantity::{Measure, Quantity};
use dumbbell_sim::scenario::ProbeSpec;
use dumbbell_units::Value;
use std::collections::BTreeSet;

/// The pairs that act together in a scenario, which is `value` as it was written: its canonical form does not tell the
/// environment.
pub fn acting(value: &Value, scenario: &Scenario) -> BTreeSet<Pair> {
    let paths = paths(scenario);
    let first = |flow: usize| paths[flow].forward.first().map_or(&[][..], Vec::as_slice);
    let of_links: Vec<Vec<Number>> = scenario.links.iter().map(of_link).collect();
    let of_run = timings(|timing| matches!(timing, Timing::Run(is_there) if is_there(scenario)));
    let own: Vec<Vec<Number>> =
        (0..scenario.flows.len()).map(|flow| of_flow(value, scenario, flow)).collect();
    let mut pairs = BTreeSet::new();
    for (flow, spec) in scenario.flows.iter().enumerate() {
        for (place, &link) in first(flow).iter().enumerate() {
            let probes = probes(scenario, spec, &scenario.links[link].name);
            let together = [&own[flow], &of_links[link], &of_run, &probes];
            add_all(&together.into_iter().flatten().copied().collect::<Vec<_>>(), &mut pairs);
            for &other in first(flow).iter().skip(place + 1) {
                add_alike(&of_links[link], &of_links[other], &[Category::Queue], &mut pairs);
            }
            for other in (flow + 1..scenario.flows.len()).filter(|&other| first(other).contains(&link)) {
                let of_flows = [Category::Rules, Category::Control, Category::Recovery, Category::Source];
                add_alike(&own[flow], &own[other], &of_flows, &mut pairs);
                let both = (spec, &scenario.flows[other]);
                let shared = timings(|timing| matches!(timing, Timing::Flows(are) if are(both.0, both.1)));
                for &timing in &shared {
                    for own in [&own[flow], &own[other]] {
                        let together = [own, &of_links[link], &of_run, &probes];
                        pairs.extend(together.into_iter().flatten().map(|&other| pair(timing, other)));
                    }
                }
            }
        }
    }
    pairs
}

/// All pairs of a group, except of two queues or two things of which a flow has one. Impairments are in order, and each
/// is there as often as the link has it.
fn add_all(group: &[Number], pairs: &mut BTreeSet<Pair>) {
    for (place, &one) in group.iter().enumerate() {
        pairs.extend(group[place + 1..].iter().map(|&other| pair(one, other)));
    }
}

/// Pairs of one element of each group that are of the same category.
fn add_alike(ones: &[Number], others: &[Number], categories: &[Category], pairs: &mut BTreeSet<Pair>) {
    let of = |number: Number| super::ELEMENTS[number].category;
    for &one in ones.iter().filter(|&&one| categories.contains(&of(one))) {
        pairs.extend(others.iter().filter(|&&other| of(other) == of(one)).map(|&other| pair(one, other)));
    }
}

fn timings(is_there: impl Fn(&Timing) -> bool) -> Vec<Number> {
    let names = TIMINGS.iter().filter(|(_, timing)| is_there(timing));
    names.filter_map(|(name, _)| number(Category::Timing, name)).collect()
}

fn of_link(link: &LinkSpec) -> Vec<Number> {
    let mut elements = timings(|timing| matches!(timing, Timing::Link(is_there) if is_there(link)));
    elements.extend(link.trace.as_ref().and_then(|trace| number(Category::Timing, &of_model(trace))));
    elements.extend(number(Category::Queue, link.queue.name()));
    elements.extend(link.impairments.iter().filter_map(|spec| number(Category::Impairment, spec.name())));
    elements
}

fn of_flow(value: &Value, scenario: &Scenario, flow: usize) -> Vec<Number> {
    let spec = &scenario.flows[flow];
    let mut elements = timings(|timing| matches!(timing, Timing::Flow(is_there) if is_there(spec)));
    elements.extend(number(Category::Source, spec.source.name()));
    if let Some(tcp) = &spec.tcp {
        let rules =
            value["flows"][flow]["tcp"]["rules"].as_str().or(value["rules"].as_str()).unwrap_or("rfc");
        elements.extend(number(Category::Rules, rules));
        elements.extend(number(Category::Control, tcp.0.control_name()));
        elements.extend(number(Category::Recovery, tcp.0.recovery.name()));
    }
    elements
}

/// What probes record of a flow or of a link.
fn probes(scenario: &Scenario, flow: &FlowSpec, link: &str) -> Vec<Number> {
    let names = |names: &[String], name: &str| names.iter().any(|known| known == "*" || known == name);
    let recorded = |probe: &ProbeSpec| -> Vec<Number> {
        let quantities = probe.quantities.iter().filter(|quantity| match quantity.is_of_link() {
            true => names(&probe.links, link),
            false => names(&probe.flows, &flow.name) && shows(flow, quantity),
        });
        quantities.filter_map(|quantity| number(Category::Probe, quantity.name())).collect()
    };
    scenario.probes.iter().flat_map(recorded).collect()
}

/// True if a flow has a quantity.
fn shows(flow: &FlowSpec, quantity: &Quantity) -> bool {
    match quantity {
        Quantity::Measured(Measure::Delivered) => true,
        Quantity::Measured(Measure::Transfers) => flow.source.is_workload(),
        Quantity::Measured(_) => flow.tcp.is_some(),
        Quantity::Declared(probe) => {
            flow.tcp.as_ref().is_some_and(|tcp| tcp.0.probe_names().iter().any(|name| name == probe.name))
        }
    }
}
