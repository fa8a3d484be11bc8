//! No round-trip time is below the propagation and serialization delays: with the minimum delays and the maximum rates
//! of the links at any time, for the smallest segment and an acknowledgement.

use super::{Case, Verdict, applies_if, require};
use crate::paths::paths;
use dumbbell_net::LinkSpec;

pub fn holds(case: &Case<'_>) -> Verdict {
    let mut measured = 0;
    for ((flow, spec), paths) in
        case.outcome.flows.iter().zip(&case.scenario.flows).zip(paths(&case.scenario))
    {
        let (Some(rtt), Some(tcp)) = (flow.rtt_min_s, &spec.tcp) else { continue };
        measured += 1;
        let sizes = tcp.0.wire_sizes();
        let least = |paths: &[Vec<usize>], size: u32| {
            let time = |path: &Vec<usize>| -> u64 {
                path.iter().map(|&link| crossing(&case.scenario.links[link], size)).sum()
            };
            paths.iter().map(time).min().unwrap_or(0)
        };
        // A SYN carries no data.
        let smallest = sizes.segment(u32::from(!tcp.0.handshake));
        let there = least(&paths.forward, smallest);
        let back = least(&paths.reverse, sizes.acknowledgement(&Default::default()));
        let bound = (there + back) as f64 * 1e-9;
        require(rtt >= bound * (1.0 - 1e-12), || {
            format!("flows.{}.rtt_min_s: {rtt}, at least {bound}", flow.name)
        })?;
    }
    applies_if(measured > 0)
}

/// The minimum time that a packet of `size` bytes takes, in nanoseconds. An opportunity passes it in no time.
fn crossing(link: &LinkSpec, size: u32) -> u64 {
    // A trace may change the delay.
    if link.trace.is_some() {
        return 0;
    }
    if link.opportunities.is_some() {
        return link.min_delay().0;
    }
    let rates = link.changes.iter().filter_map(|change| change.rate).chain([link.rate]);
    let fastest = rates.map(|rate| rate.0).max().unwrap_or(1);
    link.min_delay().0 + (u128::from(size) * 8_000_000_000 / u128::from(fastest)) as u64
}
