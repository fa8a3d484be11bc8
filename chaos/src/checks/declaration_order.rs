//! The order in which nodes, links, flows and probes are declared changes nothing, except at ties: of packets that enter
//! a link at the same instant, those of the component that was declared first enter first.
//!
//! Ties are found in the packets of the run. The starts of flows and the delays of links are moved a little first, so
//! that there are fewer. A run with a tie is compared up to the instant before it.

use super::{Case, Verdict, applies_if, is_valid, probe_of_everything, same};
use crate::difference;
use crate::draw::Draw;
use crate::exit::Exit;
use crate::packets::Packet;
use crate::paths::{Paths, paths};
use dumbbell_sim::flows::Start;
use dumbbell_sim::{Outcome, Scenario};
use dumbbell_units::Time;
use std::collections::BTreeMap;

pub fn holds(case: &Case<'_>) -> Verdict {
    let mut draw = case.draw("declaration-order");
    let mut scenario = with_stated_paths(&case.scenario);
    move_apart(&mut scenario, &mut draw);
    applies_if(is_valid(&scenario))?;
    let (_, packets) = case.run_with_packets(&scenario)?;
    if let Some(tie) = first_tie(&scenario, &packets) {
        case.note_limit("compared up to a tie");
        scenario = until(&scenario, tie).ok_or(Exit::NotApplicable)?;
    }
    scenario.probes = vec![probe_of_everything(&scenario)];
    let outcome = case.run(&scenario)?;
    let permuted = case.run(&permuted(&scenario, &mut draw))?;
    compare(&sorted(outcome), &sorted(permuted))
}

fn compare(one: &Outcome, other: &Outcome) -> Verdict {
    let difference = difference::of_rows(one, other)
        .or_else(|| difference::of_values("simulated_s", &one.simulated_s, &other.simulated_s))
        .or_else(|| difference::of_values("conservation", &one.conservation, &other.conservation))
        .or_else(|| difference::of_recordings(one, other));
    same(difference)
}

/// The scenario with the paths that the shortest ones are, of which the order of links decides.
fn with_stated_paths(scenario: &Scenario) -> Scenario {
    let mut stated = scenario.clone();
    let names = |path: &Vec<usize>| path.iter().map(|&link| scenario.links[link].name.clone()).collect();
    for (flow, Paths { forward, reverse }) in stated.flows.iter_mut().zip(paths(scenario)) {
        flow.path = forward.first().map(names);
        flow.reverse_path = reverse.first().map(names);
    }
    stated
}

/// Moves starts and delays by less than a microsecond each, and less than a hundredth of what they are.
fn move_apart(scenario: &mut Scenario, draw: &mut Draw) {
    let most = (scenario.duration.0 / 100).clamp(1, 1_000) as usize;
    let mut little = || Time(draw.below(most) as u64);
    for link in &mut scenario.links {
        link.delay += little();
    }
    for flow in &mut scenario.flows {
        if let Start::At(at) = &mut flow.start {
            *at += little();
        }
    }
}

/// The first instant at which packets enter a link that come from different links or connections.
fn first_tie(scenario: &Scenario, packets: &[Packet]) -> Option<u64> {
    let paths = paths(scenario);
    let node = |name: &str| scenario.nodes.iter().position(|node| node.0.name == name);
    let begins: Vec<Option<usize>> = scenario.links.iter().map(|link| node(&link.from)).collect();
    let mut entered: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
    let mut now = None;
    for packet in packets {
        if now != Some(packet.at) {
            now = Some(packet.at);
            entered.clear();
        }
        let paths = &paths[packet.flow];
        let of_packet = if packet.is_reverse() { &paths.reverse } else { &paths.forward };
        let is_entered = |link: &usize| begins[*link] == Some(packet.node);
        for link in of_packet.iter().flatten().copied().filter(is_entered) {
            let origin = (packet.flow, packet.connection);
            let before = *entered.entry(link).or_insert(origin);
            // After a reroute, two links may bring packets of one connection.
            let is_rerouted = entered.len() > 1 && of_packet.len() > 1;
            if before != origin || is_rerouted {
                return Some(packet.at);
            }
        }
    }
    None
}

/// The scenario up to the instant before a time.
fn until(scenario: &Scenario, end: u64) -> Option<Scenario> {
    let duration = Time(end.checked_sub(1)?);
    let measure_until = scenario.measure_until.map(|until| until.min(duration));
    let cut = Scenario { duration, measure_until, ..scenario.clone() };
    (cut.measure_from < duration && is_valid(&cut)).then_some(cut)
}

fn permuted(scenario: &Scenario, draw: &mut Draw) -> Scenario {
    let mut permuted = scenario.clone();
    draw.shuffle(&mut permuted.nodes);
    draw.shuffle(&mut permuted.links);
    draw.shuffle(&mut permuted.flows);
    draw.shuffle(&mut permuted.stop_when_complete);
    permuted
}

fn sorted(mut outcome: Outcome) -> Outcome {
    outcome.flows.sort_by(|one, other| one.name.cmp(&other.name));
    outcome.links.sort_by(|one, other| one.name.cmp(&other.name));
    outcome
        .recordings
        .sort_by(|one, other| (one.quantity.name(), &one.name).cmp(&(other.quantity.name(), &other.name)));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Runner;
    use serde_json::json;
    use std::time::Duration;

    /// Two flows over equal links to a bottleneck, the second of which starts `later` nanoseconds later.
    fn two_flows(later: u64) -> Scenario {
        let link = |from: &str, to: &str, rate: &str| json!({ "name": format!("{from}{to}"), "from": from, "to": to, "rate": rate, "delay": "1 ms", "queue": { "kind": "droptail", "limit": "5 packets" } });
        let flow = |from: &str, start: u64| json!({ "name": from, "from": from, "to": "z", "start": format!("{start} ns"), "tcp": "reno" });
        let value = json!({
            "duration": "500 ms", "rules": "classic", "nodes": ["a", "b", "m", "z"],
            "links": [link("a", "m", "10 Mbit/s"), link("b", "m", "10 Mbit/s"), link("m", "z", "1 Mbit/s"),
                      link("z", "m", "1 Mbit/s"), link("m", "a", "10 Mbit/s"), link("m", "b", "10 Mbit/s")],
            "flows": [flow("a", 0), flow("b", later)],
        });
        Scenario::from_value(&value).expect("a valid scenario")
    }

    fn reversed(scenario: &Scenario) -> Scenario {
        let mut reversed = scenario.clone();
        reversed.links.reverse();
        reversed.flows.reverse();
        reversed
    }

    #[test]
    fn runs_in_another_order_differ_after_the_first_tie_and_not_before() {
        let runner = Runner::new(Duration::from_secs(20), None);
        let compared = |scenario: &Scenario| {
            let run = |scenario: &Scenario| sorted(runner.run(scenario, 1, 0).expect("it ends"));
            compare(&run(scenario), &run(&reversed(scenario)))
        };
        let tied = two_flows(0);
        let (_, packets) = runner.run_with_packets(&tied, 1, 0).expect("it ends");
        // 1500 bytes at 10 Mbit/s and the delay.
        let tie = first_tie(&tied, &packets);
        assert_eq!(tie, Some(2_200_000));
        assert!(matches!(compared(&tied), Err(Exit::Broken(_))));
        assert_eq!(compared(&until(&tied, 2_200_000).expect("a shorter scenario")), Ok(()));
        let apart = two_flows(777);
        let (_, packets) = runner.run_with_packets(&apart, 1, 0).expect("it ends");
        if first_tie(&apart, &packets).is_none() {
            assert_eq!(compared(&apart), Ok(()));
        }
    }
}
