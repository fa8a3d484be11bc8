//! The counts of two successive windows add up to those of one window over both. Both ends of a window are
//! included, so the second starts one nanosecond after the end of the first. Utilizations of links with opportunities are
//! excepted: their weights are the bytes offered in a window.

use super::{Case, Verdict, applies_if, instants, require, same};
use crate::difference::of_values;
use dumbbell_net::LinkSpec;
use dumbbell_sim::{FlowOutcome, LinkOutcome, Outcome};
use dumbbell_units::Time;

/// A counter of a flow.
type Count = (&'static str, fn(&FlowOutcome) -> u64);

const COUNTS: [Count; 11] = [
    ("segments_sent", |flow| flow.segments_sent),
    ("segments_retransmitted", |flow| flow.segments_retransmitted.unwrap_or_default()),
    ("bytes_retransmitted", |flow| flow.bytes_retransmitted.unwrap_or_default()),
    ("segments_lost", |flow| flow.segments_lost),
    ("timeouts", |flow| flow.timeouts.unwrap_or_default()),
    ("fast_retransmits", |flow| flow.fast_retransmits.unwrap_or_default()),
    ("connections", |flow| flow.connections),
    ("connections_given_up", |flow| flow.connections_given_up),
    ("receive_window_limited", |flow| flow.receive_window_limited.unwrap_or_default()),
    ("transfers", |flow| flow.transfers.map_or(0, |transfers| transfers.begun)),
    ("transfers_completed", |flow| flow.transfers.map_or(0, |transfers| transfers.completed)),
];

pub fn holds(case: &Case<'_>) -> Verdict {
    let (from, until) = (case.scenario.measure_from, case.scenario.measure_until());
    for at in instants::within_window(case, "additive")? {
        applies_if(at + Time(1) < until)?;
        let mut first = case.scenario.clone();
        first.measure_until = Some(at);
        let mut second = case.scenario.clone();
        second.measure_from = at + Time(1);
        let end = Time(case.end()?).min(until);
        let spans = [at.since(from), end.since(at + Time(1)), end.since(from)];
        let outcomes = [&case.run(&first)?, &case.run(&second)?, &case.outcome];
        let compared = compare(outcomes, spans, &case.scenario.links);
        compared.map_err(|exit| match exit {
            super::Exit::Broken(text) => super::Exit::Broken(format!("windows that meet at {at}: {text}")),
            other => other,
        })?;
    }
    Ok(())
}

/// The first, the second and both windows, with their lengths.
fn compare([first, second, both]: [&Outcome; 3], spans: [Time; 3], links: &[LinkSpec]) -> Verdict {
    for ((first, second), both) in first.flows.iter().zip(&second.flows).zip(&both.flows) {
        let sum = first.bytes_delivered + second.bytes_delivered;
        same(of_values(&format!("flows.{}.bytes_delivered", both.name), &sum, &both.bytes_delivered))?;
        for (field, of) in COUNTS {
            let sum = of(first) + of(second);
            same(of_values(&format!("flows.{}.{field}", both.name), &sum, &of(both)))?;
        }
    }
    for (((first, second), both), spec) in first.links.iter().zip(&second.links).zip(&both.links).zip(links) {
        let path = |field: &str| format!("links.{}.{field}", both.name);
        same(of_values(&path("packets"), &(first.packets + second.packets), &both.packets))?;
        type LinkCount = fn(&LinkOutcome) -> u64;
        let counts: [(&str, LinkCount); 5] = [
            ("drops_queue", |link| link.drops_queue),
            ("drops_early", |link| link.drops_early),
            ("drops_policer", |link| link.drops_policer),
            ("drops_impairment", |link| link.drops_impairment),
            ("marks", |link| link.marks),
        ];
        for (field, count) in counts {
            same(of_values(&path(field), &(count(first) + count(second)), &count(both)))?;
        }
        let largest = first.backlog_max_packets.max(second.backlog_max_packets);
        same(of_values(&path("backlog_max_packets"), &largest, &both.backlog_max_packets))?;
        // Busy and waiting time in the nanosecond between.
        let gap = 1.1e-9 * (largest as f64 + 1.0);
        let means = [
            ("utilization", [first.utilization, second.utilization, both.utilization]),
            ("backlog_mean_packets", [first, second, both].map(|link| link.backlog_mean_packets)),
        ];
        let has_opportunities = spec.opportunities.is_some() || spec.trace.is_some();
        for (field, of) in means.into_iter().skip(usize::from(has_opportunities)) {
            let [one, other, whole]: [f64; 3] = std::array::from_fn(|part| of[part] * spans[part].secs());
            let sum = one + other;
            require((sum - whole).abs() <= 1e-9 * (sum + whole) + gap, || {
                format!("{}: {one} and {other} against {whole}, times seconds", path(field))
            })?;
        }
    }
    Ok(())
}
