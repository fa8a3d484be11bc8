//! The bounds that losses set: the short-term ones outside probes, the long-term one within, and their undoing.

use super::Bbr3;
use super::states::{AckPhase, State};
use crate::{Ack, Context, LostSegment, RateSample, Undo};
use dumbbell_units::Time;
use dumbbell_units::math::{least, real};

/// What is restored if losses were spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    /// Startup or UP, if the losses ended it.
    pub(super) state: Option<State>,
    pub(super) bw_short: f64,
    pub(super) inflight_short: f64,
    pub(super) inflight_long: f64,
}

impl Saved {
    pub(super) const NOTHING: Saved = Saved {
        state: None,
        bw_short: f64::INFINITY,
        inflight_short: f64::INFINITY,
        inflight_long: f64::INFINITY,
    };
}

impl Bbr3 {
    /// The long-term bound less what CRUISE leaves free, in bytes; infinite while there is none.
    pub(super) fn inflight_with_headroom(&self, mss: f64) -> f64 {
        let headroom = mss.max(self.params.headroom * self.inflight_long);
        if self.inflight_long.is_finite() {
            (self.inflight_long - headroom).max(self.params.min_window * mss)
        } else {
            f64::INFINITY
        }
    }

    /// Forgets the losses and deliveries of the round.
    pub(super) fn reset_signals(&mut self) {
        self.has_loss_in_round = false;
        self.marks.in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// Removes the short-term bounds.
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_short, self.inflight_short) = (f64::INFINITY, f64::INFINITY);
    }

    /// Lowers the short-term bounds after a round with losses or marks.
    pub(super) fn lower_bounds(&mut self) {
        let beta = self.params.beta;
        if self.inflight_short.is_infinite() {
            self.inflight_short = self.cwnd;
        }
        let by_marks = if self.marks.in_round {
            self.inflight_short * (1.0 - self.params.ecn_factor * self.marks.alpha)
        } else {
            f64::INFINITY
        };
        if self.has_loss_in_round {
            if self.bw_short.is_infinite() {
                self.bw_short = self.max_bw();
            }
            self.bw_short = self.bw_latest.max(beta * self.bw_short);
            self.inflight_short = self.inflight_latest.max(beta * self.inflight_short);
        }
        self.inflight_short = least(self.inflight_short, by_marks);
    }

    /// True if so many lost bytes are too many of those in flight.
    pub(super) fn is_too_high(&self, lost: u64, tx_in_flight: f64) -> bool {
        real(lost) > tx_in_flight * self.params.loss_threshold
    }

    /// True if losses or marks since the newest delivered segment was sent are too many.
    pub(super) fn is_sample_too_high(&self, rate: &RateSample) -> bool {
        self.is_too_high(rate.lost, rate.tx_in_flight)
            || self.marks.is_eligible && real(rate.marked) > self.params.ecn_threshold * real(rate.delivered)
    }

    /// A probe had too much in flight: the long-term bound follows, and UP ends.
    pub(super) fn handle_too_high(&mut self, now: Time, tx_in_flight: f64, is_app_limited: bool) {
        self.was_too_high = true;
        self.is_probe_sample = false;
        if !is_app_limited {
            self.inflight_long = tx_in_flight.max(self.params.beta * self.target_inflight());
        }
        if self.state == State::Up {
            self.saved.state = Some(State::Up);
            self.enter_down(now);
        }
    }

    /// Doubles the segments by which the long-term bound grows in a round.
    pub(super) fn raise_slope(&mut self, mss: f64) {
        let growth = real(1 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.acked_per_step = (self.cwnd / growth).max(mss);
    }

    /// The bounds that probes raise. True if a probe begins.
    pub(super) fn adapt_long_term(
        &mut self,
        context: &Context,
        ack: &Ack,
        rate: &RateSample,
        is_app_limited: bool,
    ) -> bool {
        if self.is_round_start && self.ack_phase == AckPhase::Starting {
            self.ack_phase = AckPhase::Feedback;
        } else if self.is_round_start && self.ack_phase == AckPhase::Stopping {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !is_app_limited && self.max_bw[1] > 0.0 {
                    self.max_bw = [self.max_bw[1], 0.0];
                }
                if self.was_precautionary && !self.was_too_high {
                    self.enter_refill();
                    return true;
                }
            }
        }
        if self.is_sample_too_high(rate) {
            if self.is_kernel() && self.is_probe_sample {
                self.handle_too_high(context.now, rate.tx_in_flight, is_app_limited);
            }
            return false;
        }
        if self.inflight_long.is_infinite() {
            return false;
        }
        self.inflight_long = self.inflight_long.max(rate.tx_in_flight);
        if self.state == State::Up && ack.is_cwnd_limited && self.cwnd >= self.inflight_long {
            self.up_acked += real(ack.delivered);
            if self.up_acked >= self.acked_per_step {
                let steps = (self.up_acked / self.acked_per_step).floor();
                self.up_acked -= steps * self.acked_per_step;
                self.inflight_long += steps * context.mss;
            }
            if self.is_round_start {
                self.raise_slope(context.mss);
            }
        }
        false
    }

    /// An episode of losses begins.
    pub(super) fn save_state(&mut self) {
        if !std::mem::replace(&mut self.is_saved, true) {
            self.save_cwnd();
            self.saved = Saved {
                state: None,
                bw_short: self.bw_short,
                inflight_short: self.inflight_short,
                inflight_long: self.inflight_long,
            };
        }
    }

    /// The losses are repaired: the window returns.
    pub(super) fn end_repair(&mut self) {
        self.cwnd = self.repair.end(self.cwnd);
        self.is_saved = false;
    }

    /// A segment is lost: an episode may begin, and a probe may be too high.
    pub(super) fn note_loss(&mut self, context: &Context, lost: &LostSegment) {
        let size = f64::from(lost.bytes);
        self.lost += u64::from(lost.bytes);
        if !self.has_loss_in_round {
            self.has_loss_in_round = true;
            // With what the ACK delivered that reports the loss, of which the model is told later.
            self.loss_round_delivered = self.rounds.delivered.max(context.delivered);
            self.save_state();
        }
        if self.ranges.1 != lost.seq || self.ranges.0 == 0 {
            self.ranges.0 += 1;
        }
        self.ranges.1 = lost.seq + u64::from(lost.bytes);
        if !self.is_probe_sample {
            return;
        }
        let since_sent = self.lost.saturating_sub(lost.lost);
        if self.is_too_high(since_sent, lost.tx_in_flight) {
            // What was in flight when the losses crossed the threshold, perhaps within the segment.
            let (before, lost_before) = (lost.tx_in_flight - size, real(since_sent) - size);
            let threshold = self.params.loss_threshold;
            let prefix = (threshold * before - lost_before) / (1.0 - threshold);
            let is_app_limited = lost.is_app_limited || self.rounds.was_limited(lost.delivered);
            self.handle_too_high(context.now, before + prefix, is_app_limited);
        }
    }

    /// Losses were spurious: window, bounds and state return.
    pub(super) fn restore(&mut self, undo: &Undo) {
        self.end_repair();
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.has_loss_in_round = false;
        self.reset_full(0.0);
        self.bw_short = self.bw_short.max(self.saved.bw_short);
        self.inflight_short = self.inflight_short.max(self.saved.inflight_short);
        self.inflight_long = self.inflight_long.max(self.saved.inflight_long);
        match self.saved.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.is_full = false;
                if self.state != State::ProbeRtt {
                    self.enter(State::Startup);
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.enter_refill(),
            _ => {}
        }
    }
}
