//! No flow exceeds the capacity of its links.
//!
//! From the start of a run to the end of its window, some flows deliver at most the bytes that a link crossed by all of
//! their paths can transmit in that time: its rate, including changes, times the time, or its opportunities times their
//! size. A later start of the window only reduces the counted bytes. A transmission takes whole nanoseconds, so each may
//! be shorter by less than one.
//!
//! If the window begins with the run, the goodput of a flow is at most the maximum rate of any link crossed by all of
//! its paths. Later, TCP may deliver data at once that waited for a hole, and the first packet of the window may have
//! been sent before it.

use super::{Case, Verdict, require};
use crate::paths::paths;
use dumbbell_net::LinkSpec;
use dumbbell_units::Time;

/// Rounding error of a quotient in `f64`.
const ROUNDING: f64 = 1e-9;

pub fn holds(case: &Case<'_>) -> Verdict {
    for link in &case.outcome.links {
        require(link.utilization <= 1.0 + ROUNDING, || {
            format!("links.{}.utilization: {}", link.name, link.utilization)
        })?;
        let (mean, most) = (link.backlog_mean_packets, link.backlog_max_packets as f64);
        require(mean <= most * (1.0 + ROUNDING), || {
            format!("links.{}: mean backlog {mean}, largest {most}", link.name)
        })?;
    }
    let paths = paths(&case.scenario);
    let packets = case.outcome.conservation.sent as f64;
    let until = Time::from_secs(case.outcome.simulated_s).min(case.scenario.measure_until());
    for (number, link) in case.scenario.links.iter().enumerate() {
        let crosses = |flow: &usize| paths[*flow].forward.iter().all(|path| path.contains(&number));
        let delivered: u64 =
            (0..paths.len()).filter(crosses).map(|flow| case.outcome.flows[flow].bytes_delivered).sum();
        let (carried, fastest) = transmitted(link, until);
        let alone = (0..paths.len()).filter(crosses).map(|flow| &case.outcome.flows[flow]);
        for flow in alone.filter(|flow| flow.bytes_delivered > 0 && case.scenario.measure_from == Time::ZERO)
        {
            let bits = 8.0 * flow.bytes_delivered as f64;
            let active = bits / flow.goodput_bps;
            let bound = (active + packets * 1e-9) * fastest * (1.0 + ROUNDING);
            require(bits <= bound, || {
                let (name, goodput) = (&flow.name, flow.goodput_bps);
                format!("flows.{name}.goodput_bps: {goodput} over {}, of at most {fastest} bit/s", link.name)
            })?;
        }
        let shorter = if fastest.is_finite() { packets * fastest * 1e-9 } else { 0.0 };
        let bound = (carried + shorter) / 8.0 * (1.0 + ROUNDING);
        require(delivered as f64 <= bound, || {
            format!(
                "links.{}: {delivered} bytes delivered by flows across it, which transmits {bound} in {until}",
                link.name
            )
        })?;
    }
    Ok(())
}

/// Bits that a link can transmit until a time, and its maximum rate in bit/s, which opportunities do not bound. Those of
/// a trace depend on the run.
fn transmitted(link: &LinkSpec, until: Time) -> (f64, f64) {
    if link.trace.is_some() {
        return (f64::INFINITY, f64::INFINITY);
    }
    if let Some(spec) = &link.opportunities {
        let (milliseconds, length) = (until.0 / 1_000_000, spec.times.last().copied().unwrap_or(1));
        let whole = spec.times.len() as u64 * (milliseconds / length);
        let rest = spec.times.partition_point(|&time| time <= milliseconds % length) as u64;
        return ((whole + rest) as f64 * spec.size.0 as f64 * 8.0, f64::INFINITY);
    }
    let (mut rate, mut since, mut bits) = (link.rate.0 as f64, Time::ZERO, 0.0);
    let mut fastest = rate;
    for change in link.changes.iter().filter(|change| change.at < until) {
        bits += rate * change.at.since(since).secs();
        since = change.at;
        rate = change.rate.map_or(rate, |rate| rate.0 as f64);
        fastest = fastest.max(rate);
    }
    if link.wifi.is_some() {
        // An aggregate keeps the rate with which it has begun.
        return (fastest * until.secs(), fastest);
    }
    (bits + rate * until.since(since).secs(), fastest)
}
