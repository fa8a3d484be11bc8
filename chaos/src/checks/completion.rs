//! Transfers complete and deliver their size if nothing is lost and no round-trip time exceeds the initial timeout.

use super::{Case, Verdict, applies_if, require};
use crate::paths::paths;
use dumbbell_cc::AlgorithmSpec;
use dumbbell_net::{LinkSpec, QueueSpec, SourceSpec};
use dumbbell_sim::Scenario;
use dumbbell_sim::flows::{FlowSpec, Start};
use dumbbell_tcp::DelayedAck;
use dumbbell_tcp::config::{DelayedAckParams, Pacing};
use dumbbell_tcp::rtt::{RfcTimer, TimerSpec};
use dumbbell_units::{Time, Window};

/// Maximum number of segments of all transfers.
const SEGMENTS: u64 = 5_000;
/// Maximum round-trip time of a segment without queueing, in seconds.
const ROUND_TRIP: f64 = 1.0;
/// Maximum time that a segment and its acknowledgement spend in queues, in seconds. A sender gives up after twelve timeouts
/// from 1 s to 60 s, which are 483 s together.
const LONGEST_WAIT: f64 = 400.0;
/// Maximum duration of a run, in seconds: 31 years.
const LONGEST_RUN: f64 = 1e9;

pub fn holds(case: &Case<'_>) -> Verdict {
    let mut alone = case.scenario.clone();
    alone.flows.retain(|flow| size(flow).is_some());
    applies_if(!alone.flows.is_empty())?;
    let segments: u64 = alone.flows.iter().map(segments).sum();
    applies_if(segments <= SEGMENTS)?;
    clear_the_way(&mut alone);
    let rtt = longest_round_trip(&alone);
    applies_if(rtt < ROUND_TRIP)?;
    keep_queues_short(&mut alone, rtt);
    // Sending each segment alone, with a delayed acknowledgement and a timeout each, is slower than any sender that is paced
    // by at least a window per round-trip time.
    let start = alone.flows.iter().map(|flow| match flow.start {
        Start::At(at) | Start::Uniform(_, at) => at.secs(),
    });
    let seconds =
        start.fold(0.0, f64::max) + 100.0 * (segments as f64 + 10.0) * (rtt + 2.0) / slowest_pacing(&alone);
    applies_if(seconds < LONGEST_RUN)?;
    alone.duration = Time::from_secs(seconds);
    let outcome = case.run(&alone)?;
    for (flow, spec) in outcome.flows.iter().zip(&alone.flows) {
        let size = size(spec).unwrap_or_default();
        let name = &flow.name;
        require(flow.completion_s.is_some(), || {
            format!(
                "flows.{name}: {} of {size} bytes within {seconds} s, {} timeouts",
                flow.bytes_delivered,
                flow.timeouts.unwrap_or_default()
            )
        })?;
        require(flow.bytes_delivered == size, || {
            format!("flows.{name}.bytes_delivered: {} of {size} bytes", flow.bytes_delivered)
        })?;
    }
    Ok(())
}

fn size(flow: &FlowSpec) -> Option<u64> {
    match &flow.source {
        SourceSpec::Transfer(transfer) => Some(transfer.size.0),
        _ => None,
    }
}

/// The least rate at which a flow is paced, in windows per round-trip time, at most 1.
fn slowest_pacing(scenario: &Scenario) -> f64 {
    let of_flow = |flow: &FlowSpec| {
        let tcp = &flow.tcp.as_ref()?.0;
        let of_window = match &tcp.pacing {
            Pacing::On(pacing) => pacing.ratio.min(pacing.slow_start_ratio),
            Pacing::Off => 1.0,
        };
        // The window of Copa has at least one segment.
        let of_algorithm = match &tcp.congestion {
            AlgorithmSpec::Copa(copa) => copa.pacing_gain,
            _ => 1.0,
        };
        Some(of_window.min(of_algorithm))
    };
    scenario.flows.iter().filter_map(of_flow).fold(1.0, f64::min)
}

fn segments(flow: &FlowSpec) -> u64 {
    let mss = flow.tcp.as_ref().map_or(1, |tcp| tcp.0.mss.0);
    size(flow).unwrap_or_default().div_ceil(mss)
}

/// Removes everything that may lose packets, stop transfers or make timers shorter than round trips.
fn clear_the_way(scenario: &mut Scenario) {
    scenario.probes.clear();
    scenario.stop_when_complete = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    (scenario.measure_from, scenario.measure_until) = (Time::ZERO, None);
    for link in &mut scenario.links {
        link.queue = QueueSpec::default();
        link.impairments.clear();
        link.outages.clear();
        (link.trace, link.wifi) = (None, None);
    }
    for flow in &mut scenario.flows {
        flow.stop = None;
        let Some(tcp) = &mut flow.tcp else { continue };
        tcp.0.timer = TimerSpec::Rfc6298(RfcTimer::default());
        if let DelayedAck::On(delayed) = &mut tcp.0.delayed_ack {
            delayed.timer = DelayedAckParams::default().timer;
        }
    }
}

/// Limits the windows such that no segment waits in queues until its sender gives up.
fn keep_queues_short(scenario: &mut Scenario, rtt: f64) {
    let segments = (LONGEST_WAIT / rtt / scenario.flows.len() as f64).floor().max(1.0);
    for tcp in scenario.flows.iter_mut().filter_map(|flow| flow.tcp.as_mut()) {
        let mss = tcp.0.mss.0 as u32;
        let window = Window::Segments(segments);
        if window.bytes(mss) < tcp.0.receive_buffer.bytes(mss) {
            tcp.0.receive_buffer = window;
        }
    }
}

/// The maximum time that a full segment and its acknowledgement take over empty links, in seconds.
fn longest_round_trip(scenario: &Scenario) -> f64 {
    let crossing = |link: &LinkSpec, size: u32| {
        let changed = || link.changes.iter();
        let slowest = changed().filter_map(|change| change.rate).chain([link.rate]).map(|rate| rate.0).min();
        let delay = changed().filter_map(|change| change.delay).chain([link.delay]).max().unwrap_or_default();
        delay.secs() + f64::from(size) * 8.0 / slowest.unwrap_or(1) as f64
    };
    let longest = |paths: &[Vec<usize>], size: u32| {
        let time = |path: &Vec<usize>| -> f64 {
            path.iter().map(|&link| crossing(&scenario.links[link], size)).sum()
        };
        paths.iter().map(time).fold(0.0, f64::max)
    };
    let of_flow = |(flow, paths): (&FlowSpec, crate::paths::Paths)| {
        let Some(tcp) = &flow.tcp else { return 0.0 };
        let sizes = tcp.0.wire_sizes();
        let segment = sizes.segment(tcp.0.mss.0 as u32);
        longest(&paths.forward, segment) + longest(&paths.reverse, sizes.acknowledgement(&Default::default()))
    };
    scenario.flows.iter().zip(paths(scenario)).map(of_flow).fold(0.0, f64::max)
}
