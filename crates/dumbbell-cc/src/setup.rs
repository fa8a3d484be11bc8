//! The setup of an algorithm at the start of its connection.

use crate::boundary::setters;
use crate::{Mechanisms, WindowRules};
use dumbbell_units::{Stream, Time};

/// What a sender by the rules of Linux reports besides acknowledgements and congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Every acknowledgement, see [`Control::on_sample`](crate::Control::on_sample): its timer is that of Linux.
    pub samples: bool,
    /// States, see [`Control::on_state`](crate::Control::on_state): its recovery is that of Linux.
    pub states: bool,
}

/// The setup of an algorithm at the start of its connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// Time of the start.
    pub now: Time,
    /// Payload of a full segment, in bytes, above 0.
    pub mss: f64,
    /// Initial window, in bytes, at least one segment.
    pub initial_window: f64,
    /// Initial slow-start threshold, in bytes, possibly infinite.
    pub initial_ssthresh: f64,
    /// How windows grow and are reduced.
    pub rules: WindowRules,
    /// The switches of TCP Vegas; an algorithm reads those it owns.
    pub mechanisms: Mechanisms,
    /// True if Vegas's reduction by a quarter leaves the threshold unchanged until the inflation is removed.
    pub late_threshold: bool,
    /// True if both ends echo ECN marks.
    pub is_ecn_capable: bool,
    /// What the sender reports.
    pub reports: Reports,
    /// Random stream of this connection's congestion control.
    pub random: Stream,
}

impl Setup {
    /// A connection that starts at `now` with segments of `mss` bytes and an initial window of `initial_window` bytes:
    /// without a threshold, by the rules of the RFCs, with all mechanisms off and without ECN.
    pub fn new(now: Time, mss: f64, initial_window: f64) -> Self {
        Setup {
            now,
            mss,
            initial_window,
            initial_ssthresh: f64::INFINITY,
            rules: WindowRules::default(),
            mechanisms: Mechanisms::default(),
            late_threshold: false,
            is_ecn_capable: false,
            reports: Reports::default(),
            random: Stream::new(0, 0, "congestion"),
        }
    }

    /// A seed for generators outside of the engine, from 0 to 2^53 - 1.
    pub fn seed(&self) -> u64 {
        (self.random.clone().uniform() * (1_u64 << 53) as f64) as u64
    }
}

setters! { Setup {
    with_initial_ssthresh => initial_ssthresh: f64,
    with_rules => rules: WindowRules,
    with_mechanisms => mechanisms: Mechanisms,
    with_late_threshold => late_threshold: bool,
    with_ecn_capable => is_ecn_capable: bool,
    with_reports => reports: Reports,
    with_random => random: Stream,
} }
