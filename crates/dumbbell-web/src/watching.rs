//! What a page plots besides the probes of a scenario. Probes do not change a run.

use dumbbell_net::LinkSpec;
use dumbbell_sim::Scenario;
use dumbbell_sim::quantity::{Measure, Quantity};
use dumbbell_sim::scenario::ProbeSpec;
use dumbbell_units::Time;

/// Most flows and most links that are plotted.
pub const MOST: usize = 24;
/// Samples of a run that is too long for every change to be recorded.
const PERIODS: u64 = 20_000;

/// How much is recorded of what a page plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Nothing besides the scenario's own probes.
    Nothing,
    /// Every change.
    Changes,
    /// Values at regular times.
    Periods,
}

/// The scenario with probes of its first flows and of the links where queues grow, after its own.
pub fn watched(scenario: &Scenario, watch: Watch) -> Scenario {
    let mut scenario = scenario.clone();
    if watch != Watch::Nothing {
        let period = (watch == Watch::Periods).then(|| Time((scenario.duration.0 / PERIODS).max(1)));
        let probe = |measures: &[Measure]| ProbeSpec {
            quantities: measures.iter().copied().map(Quantity::Measured).collect(),
            period,
            ..ProbeSpec::default()
        };
        let names = |flows: Vec<&String>| flows.into_iter().cloned().collect();
        let flows = || scenario.flows.iter().take(MOST);
        let with_tcp = flows().filter(|flow| flow.tcp.is_some()).map(|flow| &flow.name).collect();
        let of_senders = ProbeSpec { flows: names(with_tcp), ..probe(&[Measure::Cwnd, Measure::Rtt]) };
        let all = flows().map(|flow| &flow.name).collect();
        let of_receivers = ProbeSpec { flows: names(all), ..probe(&[Measure::Delivered]) };
        let slow = slow_links(&scenario.links).map(|link| &link.name).take(MOST).collect();
        let of_links =
            ProbeSpec { links: names(slow), ..probe(&[Measure::Backlog, Measure::Drops, Measure::Marks]) };
        scenario.probes.extend([of_senders, of_receivers, of_links]);
    }
    scenario
}

/// The links that are slower than the fastest one, or all if they are equally fast, and those whose rate varies.
fn slow_links(links: &[LinkSpec]) -> impl Iterator<Item = &LinkSpec> {
    let fastest = links.iter().map(|link| link.rate).max();
    let all_the_same = links.iter().all(|link| Some(link.rate) == fastest);
    links.iter().filter(move |link| {
        all_the_same || Some(link.rate) != fastest || link.opportunities.is_some() || link.trace.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_sim::run;

    fn example() -> Scenario {
        Scenario::from_toml(include_str!("../../../examples/codel.toml")).expect("an example")
    }

    #[test]
    fn what_is_watched_changes_no_run() {
        let scenario = example();
        let plain = run(&scenario, 1, 0).fingerprint;
        for watch in [Watch::Nothing, Watch::Changes, Watch::Periods] {
            assert_eq!(run(&watched(&scenario, watch), 1, 0).fingerprint, plain);
        }
    }

    #[test]
    fn the_links_slower_than_the_fastest_are_watched() {
        let scenario = watched(&example(), Watch::Changes);
        assert_eq!(scenario.probes.last().expect("a probe").links, ["r1-r2", "r2-r1"]);
        let mut same = example().links;
        same.retain(|link| link.name != "r1-r2" && link.name != "r2-r1");
        assert_eq!(slow_links(&same).count(), same.len());
    }

    #[test]
    fn datagrams_have_no_window() {
        let scenario = watched(&example(), Watch::Changes);
        let probes = &scenario.probes[scenario.probes.len() - 3..];
        assert_eq!((probes[0].flows.len(), probes[1].flows.len()), (2, 3));
    }
}
