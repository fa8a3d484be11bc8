//! Counters of flows, and their values within the measurement window.

use super::connections::Connections;
use super::flows::Flows;
use crate::network::NewRoute;
use crate::outcome::FlowOutcome;
use dumbbell_tcp::SenderStats;
use dumbbell_units::{Interval, Time};

/// Counters of a flow. They only grow, so the value within a window is a difference. The minimum round-trip time is
/// that since the start of the run: it describes the path without queues, which may not occur within a later window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub segments_sent: u64,
    pub segments_retransmitted: u64,
    pub bytes_retransmitted: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub connections: u64,
    pub connections_given_up: u64,
    pub receive_window_limited: u64,
    pub rtt_min: f64,
    /// Sum of round-trip times, and their count.
    pub rtt: (f64, u64),
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            segments_sent: 0,
            segments_retransmitted: 0,
            bytes_retransmitted: 0,
            timeouts: 0,
            fast_retransmits: 0,
            connections: 0,
            connections_given_up: 0,
            receive_window_limited: 0,
            rtt_min: f64::INFINITY,
            rtt: (0.0, 0),
        }
    }
}

impl Counts {
    /// Adds the counters of a connection's sender.
    pub(super) fn add(&mut self, stats: &SenderStats) {
        self.segments_sent += stats.segments_sent;
        self.segments_retransmitted += stats.segments_retransmitted;
        self.bytes_retransmitted += stats.bytes_retransmitted;
        self.timeouts += stats.timeouts;
        self.fast_retransmits += stats.fast_retransmits;
        self.receive_window_limited += stats.receive_window_limited;
        self.rtt_min = self.rtt_min.min(stats.rtt_min);
        self.rtt = (self.rtt.0 + stats.rtt_sum, self.rtt.1 + stats.rtt_count);
    }

    /// The difference since `before`.
    fn since(&self, before: &Counts) -> Counts {
        Counts {
            segments_sent: self.segments_sent - before.segments_sent,
            segments_retransmitted: self.segments_retransmitted - before.segments_retransmitted,
            bytes_retransmitted: self.bytes_retransmitted - before.bytes_retransmitted,
            timeouts: self.timeouts - before.timeouts,
            fast_retransmits: self.fast_retransmits - before.fast_retransmits,
            connections: self.connections - before.connections,
            connections_given_up: self.connections_given_up - before.connections_given_up,
            receive_window_limited: self.receive_window_limited - before.receive_window_limited,
            rtt_min: self.rtt_min,
            rtt: (self.rtt.0 - before.rtt.0, self.rtt.1 - before.rtt.1),
        }
    }

    /// The result columns derived from these counters; the others have their defaults.
    pub(super) fn outcome(&self) -> FlowOutcome {
        let (rtt_sum, rtt_count) = self.rtt;
        FlowOutcome {
            segments_sent: self.segments_sent,
            segments_retransmitted: self.segments_retransmitted,
            bytes_retransmitted: self.bytes_retransmitted,
            timeouts: self.timeouts,
            fast_retransmits: self.fast_retransmits,
            rtt_mean_s: (rtt_count > 0).then(|| rtt_sum / rtt_count as f64),
            rtt_min_s: self.rtt_min.is_finite().then_some(self.rtt_min),
            connections: self.connections,
            connections_given_up: self.connections_given_up,
            receive_window_limited: self.receive_window_limited,
            ..FlowOutcome::default()
        }
    }
}

/// The counters of all flows at both ends of the measurement window, once these are reached. Senders never run ahead
/// of the clock, so their counters before the first event at a time cover exactly the events before that time.
#[derive(Clone, Debug, Default)]
struct Edges {
    /// Empty if the window opens at the start of the run, when all counters are zero.
    opening: Option<Vec<Counts>>,
    closing: Option<Vec<Counts>>,
}

/// What changes at given times, whatever happens: paths, and the counters from which those of the window are taken.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// Future changes of paths, the next one last.
    reroutes: Vec<NewRoute>,
    edges: Edges,
    /// Time of the next change of a path or end of the window.
    next: Time,
}

impl Changes {
    pub(super) fn new(reroutes: Vec<NewRoute>) -> Self {
        Changes { reroutes, edges: Edges::default(), next: Time::ZERO }
    }

    /// True if something changes before the event at this time.
    #[inline]
    pub(super) fn are_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Applies path changes and the start or end of the window that precede the current event.
    pub(super) fn apply(
        &mut self,
        (now, is_first_event): (Time, bool),
        window: Interval,
        flows: &mut Flows,
        connections: &Connections,
    ) {
        while let Some(change) = self.reroutes.pop_if(|change| change.at <= now) {
            flows.hot[change.flow as usize].begins = change.begins;
        }
        if self.edges.opening.is_none() && now >= window.from {
            let opening = if is_first_event { Vec::new() } else { counts(flows, connections) };
            self.edges.opening = Some(opening);
        }
        if self.edges.closing.is_none() && now > window.until {
            self.edges.closing = Some(counts(flows, connections));
        }
        let edge = match (&self.edges.opening, &self.edges.closing) {
            (None, _) => window.from,
            (Some(_), None) => Time(window.until.0.saturating_add(1)),
            (Some(_), Some(_)) => Time::NEVER,
        };
        self.next = self.reroutes.last().map_or(Time::NEVER, |change| change.at).min(edge);
    }

    /// The counters of a flow within the window, after the end of the run, whose counters are `totals`.
    pub(super) fn measured(&self, flow: usize, totals: &Counts) -> Counts {
        let Some(opening) = &self.edges.opening else {
            // Nothing has happened since the window opened, or it never did.
            return Counts { rtt_min: totals.rtt_min, ..Counts::default() };
        };
        let end = self.edges.closing.as_ref().map_or(totals, |closing| &closing[flow]);
        end.since(opening.get(flow).unwrap_or(&Counts::default()))
    }
}

/// The current counters of all flows.
fn counts(flows: &Flows, connections: &Connections) -> Vec<Counts> {
    let mut counts: Vec<Counts> = flows.states.iter().map(|flow| flow.totals).collect();
    for connection in connections.open() {
        counts[connection.flow as usize].add(connection.sender.stats());
    }
    counts
}
