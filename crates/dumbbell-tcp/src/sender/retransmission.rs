//! The retransmission timer: which segment is timed, and when the timeout falls due.

use crate::config::TcpParams;
use crate::rtt::{HostClock, RttEstimator};
use dumbbell_units::Time;

/// Estimator of the timeout, and the one segment being timed where there are no timestamps.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    estimator: RttEstimator,
    /// Every ACK gives a sample [RFC 7323 §4].
    timestamps: bool,
    /// A segment is timed on when it is sent again, whatever [RFC 6298 §3] says.
    times_resent: bool,
    /// End of the segment being timed, and when it was sent.
    timed: Option<(u64, Time)>,
}

impl RetransmissionTimer {
    pub(super) fn new(params: &TcpParams, clock: HostClock) -> Self {
        RetransmissionTimer {
            estimator: RttEstimator::new(&params.timer, clock),
            timestamps: params.timestamps,
            times_resent: params.recovery.times_resent(),
            timed: None,
        }
    }

    /// When the timeout falls due of what leaves at `now`.
    #[inline]
    pub(super) fn deadline(&self, now: Time) -> Time {
        self.estimator.deadline(now)
    }

    /// The timeout with its back-off.
    #[inline]
    pub(super) fn timeout(&self) -> Time {
        self.estimator.timeout()
    }

    /// Smoothed round-trip time in seconds, infinite before the first sample.
    #[inline]
    pub(super) fn srtt_or_infinity(&self) -> f64 {
        self.estimator.srtt_or_infinity()
    }

    /// Doubles the timeout [RFC 6298 §5.5].
    pub(super) fn back_off(&mut self) {
        self.estimator.back_off();
    }

    /// The connection opened at `sent` is accepted.
    pub(super) fn on_open(&mut self, sent: Time, now: Time) {
        self.estimator.sample(sent, now);
    }

    /// A new segment left that ends at `end`.
    #[inline]
    pub(super) fn on_new_segment(&mut self, end: u64, now: Time) {
        if self.timed.is_none() && !self.timestamps {
            self.timed = Some((end, now));
        }
    }

    /// The segment that ends at `end` was sent again: an ACK would not say which transmission it answers [RFC 6298 §3].
    pub(super) fn on_resent(&mut self, end: u64) {
        if !self.times_resent && self.timed.is_some_and(|(timed, _)| timed == end) {
            self.timed = None;
        }
    }

    /// No segment is timed any more.
    pub(super) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Data up to `ack` was acknowledged, with the echo of a timestamp.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: u64, timestamp_echo: Time) {
        if self.timestamps {
            self.estimator.sample(timestamp_echo, now);
        } else if let Some((end, sent)) = self.timed
            && ack >= end
        {
            self.estimator.sample(sent, now);
            self.timed = None;
        }
    }
}
