//! The state machine: Startup, Drain, the cycle of ProbeBW, and ProbeRTT.

use super::{Bbr3, Form};
use crate::{Ack, Context, RateSample};
use dumbbell_units::Time;
use dumbbell_units::math::{least, real};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// True in the states that probe for bandwidth.
    pub(super) fn probes(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// True in the states of ProbeBW.
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

/// What the samples of the current acknowledgements belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

impl Bbr3 {
    /// Begins a state, with its gains.
    pub(super) fn enter(&mut self, state: State) {
        let params = &self.params;
        let is_kernel = params.form == Form::Kernel;
        self.state = state;
        (self.pacing_gain, self.cwnd_gain) = match state {
            State::Startup => (params.startup_gain, params.cwnd_gain),
            State::Drain => {
                (params.drain_gain.unwrap_or(if is_kernel { 88.0 / 256.0 } else { 0.5 }), params.cwnd_gain)
            }
            State::Down => (params.down_gain.unwrap_or(if is_kernel { 0.91 } else { 0.9 }), params.cwnd_gain),
            State::Cruise | State::Refill => (1.0, params.cwnd_gain),
            State::Up => (params.up_gain, params.up_cwnd_gain),
            State::ProbeRtt => (1.0, params.probe_rtt_gain),
        };
    }

    /// Begins a cycle of ProbeBW: a queue is drained.
    pub(super) fn enter_down(&mut self, now: Time) {
        self.reset_signals();
        self.acked_per_step = f64::INFINITY;
        self.rounds_since_up = u64::from(self.random.chance(0.5));
        let random = self.random.uniform() * self.params.probe_wait_random.secs();
        self.wait = self.params.probe_wait + Time::from_secs(random);
        self.cycle_at = now;
        self.ack_phase = AckPhase::Stopping;
        self.rounds.restart();
        self.enter(State::Down);
    }

    /// The pipe is filled before a probe.
    pub(super) fn enter_refill(&mut self) {
        self.reset_short_term();
        (self.up_rounds, self.up_acked) = (0, 0.0);
        self.was_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart();
        self.enter(State::Refill);
    }

    /// A probe begins.
    pub(super) fn enter_up(&mut self, rate: f64, mss: f64) {
        self.ack_phase = AckPhase::Starting;
        self.rounds.restart();
        self.reset_full(rate);
        self.enter(State::Up);
        self.raise_slope(mss);
    }

    /// Startup ends if a whole round in recovery loses too much.
    pub(super) fn check_startup_losses(&mut self, rate: &RateSample) {
        let has_lost = self.is_loss_round_start
            && self.repair.is_recovery()
            && self.ranges.0 >= self.params.full_losses
            && self.is_too_high(rate.lost, rate.tx_in_flight);
        let has_marks = self.marks.full_rounds >= self.params.ecn_full_rounds;
        if has_lost || has_marks {
            self.saved.state = Some(State::Startup);
            (self.is_full, self.is_full_now) = (true, true);
            self.inflight_long = self.bdp(self.bandwidth, 1.0).max(self.inflight_latest);
        }
    }

    /// True if the wait for the next probe is over, in time or in rounds.
    pub(super) fn is_time_to_probe(&self, now: Time, mss: f64) -> bool {
        now > self.cycle_at + self.wait
            || real(self.rounds_since_up)
                >= least(self.target_inflight() / mss, real(self.params.probe_rounds))
    }

    /// True if a probe ends without too much loss.
    pub(super) fn is_time_to_go_down(&mut self, ack: &Ack, sample: f64) -> bool {
        if self.was_too_high && ack.in_flight >= self.inflight_long {
            self.was_precautionary = true;
            return true;
        }
        if ack.is_cwnd_limited && self.cwnd >= self.inflight_long {
            self.reset_full(sample);
            return false;
        }
        self.is_full_now
    }

    /// Moves through the states of ProbeBW.
    pub(super) fn update_cycle(
        &mut self,
        context: &Context,
        ack: &Ack,
        rate: &RateSample,
        sample: f64,
        is_app_limited: bool,
    ) {
        if !self.is_full || self.adapt_long_term(context, ack, rate, is_app_limited) {
            return;
        }
        let (now, mss, state) = (context.now, context.mss, self.state);
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(now, mss) => self.enter_refill(),
            State::Down
                if ack.in_flight <= self.inflight_with_headroom(mss)
                    && ack.in_flight <= self.inflight(self.max_bw(), mss) =>
            {
                self.enter(State::Cruise);
            }
            State::Refill if self.is_round_start => {
                self.is_probe_sample = true;
                self.enter_up(sample, mss);
            }
            State::Up if self.is_time_to_go_down(ack, sample) => {
                self.was_too_high = false;
                self.enter_down(now);
            }
            _ => {}
        }
    }

    /// Begins, holds and ends ProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, context: &Context, ack: &Ack) {
        let now = context.now;
        if self.state != State::ProbeRtt && self.is_probe_rtt_due && !self.is_idle_restart {
            self.enter(State::ProbeRtt);
            self.save_cwnd();
            self.probe_rtt_end = None;
            self.ack_phase = AckPhase::Stopping;
            self.rounds.restart();
        }
        if self.state == State::ProbeRtt {
            self.rounds.limit(ack.in_flight);
            if self.probe_rtt_end.is_some() {
                self.has_probed_round |= self.is_round_start;
                if self.has_probed_round {
                    self.leave_probe_rtt(now);
                }
            } else if ack.in_flight <= self.probe_rtt_cwnd(context.mss) {
                self.probe_rtt_end = Some(now + self.params.probe_rtt_duration);
                self.has_probed_round = false;
                self.rounds.restart();
            }
        }
        if ack.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    /// Ends ProbeRTT if it has lasted.
    pub(super) fn leave_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_end.is_some_and(|end| now > end) {
            self.probe_rtt_min_at = now;
            self.cwnd = self.repair.restored(self.cwnd);
            self.reset_short_term();
            if self.is_full {
                self.enter_down(now);
                self.enter(State::Cruise);
            } else {
                self.enter(State::Startup);
            }
        }
    }

    /// The flow sends again after it was idle.
    pub(super) fn restart_from_idle(&mut self, now: Time) {
        self.is_idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        }
    }
}
