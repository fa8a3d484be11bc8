//! Counters of flows.

use crate::outcome::FlowOutcome;
use dumbbell_tcp::SenderStats;

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
    /// What is not counted, because a stack that is not ours does not show it.
    pub lacks: Lacks,
}

/// Counters that a stack that is not ours does not show.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "each is the counter of its name")]
pub(super) struct Lacks {
    pub segments_retransmitted: bool,
    pub bytes_retransmitted: bool,
    pub timeouts: bool,
    pub fast_retransmits: bool,
    pub receive_window_limited: bool,
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
            lacks: Lacks::default(),
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
    pub(super) fn since(&self, before: &Counts) -> Counts {
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
            lacks: self.lacks,
        }
    }

    /// The result columns derived from these counters; the others have their defaults.
    pub(super) fn outcome(&self) -> FlowOutcome {
        let (rtt_sum, rtt_count) = self.rtt;
        let shown = |is_lacking: bool, count: u64| (!is_lacking).then_some(count);
        let lacks = &self.lacks;
        FlowOutcome {
            segments_sent: self.segments_sent,
            segments_retransmitted: shown(lacks.segments_retransmitted, self.segments_retransmitted),
            bytes_retransmitted: shown(lacks.bytes_retransmitted, self.bytes_retransmitted),
            timeouts: shown(lacks.timeouts, self.timeouts),
            fast_retransmits: shown(lacks.fast_retransmits, self.fast_retransmits),
            rtt_mean_s: (rtt_count > 0).then(|| rtt_sum / rtt_count as f64),
            rtt_min_s: self.rtt_min.is_finite().then_some(self.rtt_min),
            connections: self.connections,
            connections_given_up: self.connections_given_up,
            receive_window_limited: shown(lacks.receive_window_limited, self.receive_window_limited),
            ..FlowOutcome::default()
        }
    }
}
