//! What the model decides: pacing rate, burst and window.

use super::Bbr3;
use super::states::State;
use crate::Context;
use crate::model::quantum;
use dumbbell_units::math::{least, real};

impl Bbr3 {
    /// Length of a burst, in bytes.
    #[inline]
    pub(super) fn burst(&self, mss: f64) -> f64 {
        quantum(self.pacing_rate, self.params.burst_time, self.params.burst_bytes).max(2.0 * mss)
    }

    /// The same bytes in flight, with room for bursts and for delayed acknowledgements.
    #[inline]
    pub(super) fn with_budget(&self, inflight: f64, mss: f64) -> f64 {
        let inflight =
            inflight.max(self.params.burst_budget * self.burst(mss)).max(self.params.min_window * mss);
        if self.state == State::Up { inflight + 2.0 * mss } else { inflight }
    }

    /// The BDP of this bandwidth with that room, in bytes.
    #[inline]
    pub(super) fn inflight(&self, bandwidth: f64, mss: f64) -> f64 {
        self.with_budget(self.bdp(bandwidth, 1.0), mss)
    }

    /// The window of ProbeRTT, in bytes.
    pub(super) fn probe_rtt_cwnd(&self, mss: f64) -> f64 {
        self.bdp(self.bandwidth, self.params.probe_rtt_gain).max(self.params.min_window * mss)
    }

    /// Paces at the bandwidth times a gain, less the margin; only ever faster before the pipe is full.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth * (1.0 - self.params.pacing_margin);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Saves the window before losses or ProbeRTT reduce it.
    pub(super) fn save_cwnd(&mut self) {
        self.repair.save(self.cwnd, self.state == State::ProbeRtt);
    }

    /// Moves the window towards the model's target, within the bounds.
    pub(super) fn set_cwnd(&mut self, context: &Context, acked: f64) {
        let mss = context.mss;
        let target = self.with_budget(self.bdp(self.bandwidth, self.cwnd_gain) + self.extra_acked(), mss);
        if self.is_full {
            self.cwnd = least(self.cwnd + acked, target);
        } else if self.cwnd < target || real(self.rounds.delivered) < self.initial_window {
            self.cwnd += acked;
        }
        let floor = self.params.min_window * mss;
        let bound = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_long,
            State::Cruise => self.inflight_with_headroom(mss),
            State::ProbeRtt => least(self.inflight_with_headroom(mss), self.probe_rtt_cwnd(mss)),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let bound = least(bound, self.inflight_short).max(floor);
        self.cwnd = least(least(self.cwnd.max(floor), bound), context.max_window);
    }
}
