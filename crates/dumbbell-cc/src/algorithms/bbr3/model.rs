//! The model of the path: bandwidth, round-trip time, aggregation of acknowledgements, and whether the pipe is full.

use super::Bbr3;
use crate::{Ack, RateSample};
use dumbbell_units::Time;
use dumbbell_units::math::{least, real};

impl Bbr3 {
    /// Largest delivery rate of the last two cycles, in bytes per second.
    #[inline]
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// What a path of this bandwidth holds, times a gain, in bytes.
    #[inline]
    pub(super) fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.min_rtt.is_finite() { gain * bandwidth * self.min_rtt } else { self.initial_window }
    }

    /// What should be in flight: the BDP, or the window if losses have cut it, in bytes.
    pub(super) fn target_inflight(&self) -> f64 {
        least(self.bdp(self.bandwidth, 1.0), self.cwnd)
    }

    /// Signals of the round, the maximum of the bandwidth, and the short-term bounds.
    pub(super) fn update_signals(&mut self, rate: &RateSample, sample: f64, is_app_limited: bool) {
        self.bw_latest = self.bw_latest.max(sample);
        self.inflight_latest = self.inflight_latest.max(real(rate.delivered));
        if rate.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.rounds.delivered;
            self.is_loss_round_start = true;
        }
        self.is_round_start = self.rounds.advance(rate.prior_delivered);
        self.rounds_since_up += u64::from(self.is_round_start);
        if !is_app_limited || sample >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(sample);
        }
        if self.is_loss_round_start {
            if !self.state.probes() && (self.has_loss_in_round || self.marks.in_round) {
                self.lower_bounds();
            }
            self.has_loss_in_round = false;
            self.marks.in_round = false;
        }
    }

    /// Takes what an acknowledgement reports beyond the bandwidth.
    pub(super) fn update_extra_acked(&mut self, now: Time, acked: f64) {
        let extra = least(self.aggregation.sample(now, acked, self.bandwidth), self.cwnd);
        if self.is_kernel() {
            if self.is_round_start {
                self.aggregation.advance(self.params.extra_acked_rounds.div_ceil(2));
            }
            self.aggregation.update(extra);
        } else {
            let window = if self.is_full { self.params.extra_acked_rounds } else { 1 };
            self.extra.update(self.rounds.count, extra, window);
        }
    }

    /// ACK aggregation that the window provides for, in bytes. The kernel limits it to 100 ms, and has none in Startup.
    pub(super) fn extra_acked(&self) -> f64 {
        if !self.is_kernel() {
            self.extra.value()
        } else if self.is_full {
            least(self.aggregation.most(), 0.1 * self.bandwidth)
        } else {
            0.0
        }
    }

    /// Begins to look for a full pipe, from this delivery rate.
    pub(super) fn reset_full(&mut self, full_bw: f64) {
        (self.full_bw, self.full_count, self.is_full_now) = (full_bw, 0, false);
    }

    /// Counts rounds without growth.
    pub(super) fn update_full(&mut self, sample: f64, is_app_limited: bool) {
        if self.is_full_now || is_app_limited || !self.is_round_start && !self.is_kernel() {
            return;
        }
        if sample >= self.full_bw * self.params.full_growth {
            self.reset_full(sample);
        } else if self.is_round_start {
            self.full_count += 1;
            self.is_full_now = self.full_count >= self.params.full_rounds;
            self.is_full |= self.is_full_now;
        }
    }

    /// Takes a round-trip time, for ProbeRTT and for the model.
    pub(super) fn update_min_rtt(&mut self, now: Time, ack: &Ack) {
        self.is_probe_rtt_due = now > self.probe_rtt_min_at + self.params.probe_rtt_interval;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.secs();
            let is_lower = rtt < self.probe_rtt_min || self.is_kernel() && rtt <= self.probe_rtt_min;
            if is_lower || self.is_probe_rtt_due {
                (self.probe_rtt_min, self.probe_rtt_min_at) = (rtt, now);
            }
        }
        let is_expired = now > self.min_rtt_at + self.params.min_rtt_window;
        let is_lower =
            self.probe_rtt_min < self.min_rtt || self.is_kernel() && self.probe_rtt_min <= self.min_rtt;
        if self.probe_rtt_min.is_finite() && (is_lower || is_expired) {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
        }
    }
}
