//! What the expiry of the retransmission timer does.

use super::{LastCut, MAX_RETRANSMISSIONS, Phase, Sender};
use crate::config::Recovery;
use dumbbell_cc::{Congestion, ReductionBase, Signal};
use dumbbell_units::Time;

impl Sender {
    /// Time has reached [`next_deadline`](Self::next_deadline).
    pub fn on_deadline(&mut self, now: Time) {
        self.burst_sent = 0;
        if now < self.retransmit_deadline {
            return;
        }
        self.stats.timeouts += 1;
        self.timeouts_in_a_row += 1;
        self.estimator.back_off();
        if self.timeouts_in_a_row > MAX_RETRANSMISSIONS {
            self.phase = Phase::GivenUp;
            self.retransmit_deadline = Time::NEVER;
            self.pace.stop_waiting();
            return;
        }
        if self.phase != Phase::Open {
            self.phase = Phase::MustOpen;
            self.retransmit_deadline = Time::NEVER;
            return;
        }
        self.end_initial_slow_start();
        if self.initial_slow_start_end.is_some_and(|end| self.snd_una < end) {
            self.stats.first_slow_start_timeouts += 1;
        }
        let retransmitted_before = self.outstanding.head().is_some_and(|head| head.transmissions > 1);
        let halves_inflation = self.in_recovery && self.switches.halving != ReductionBase::RealWindow;
        if !halves_inflation && !self.switches.faults_of_ns2 {
            // Limited transmit's allowance is no part of the window that is halved, and in ns-2 no inflation is, which
            // in BSD cannot be told from the window.
            self.inflation = -self.deflated;
        }
        let mut context = self.context(now);
        if self.switches.recovery == Recovery::Sack {
            // What is reported has left the network, and may be many windows where a retransmission was lost.
            context.flight_size = self.outstanding.unreported() as f64;
        }
        context.in_flight = self.outstanding.in_network(self.next_index) as f64;
        let congestion = Congestion::new(Signal::Timeout).with_retransmitted_before(retransmitted_before);
        self.congestion.on_congestion(&context, &congestion);
        self.last_cut = LastCut::Timeout;
        self.last_reduction = Some(now);
        self.cut_window = 0.0;
        self.recover = Some(self.snd_max);
        self.in_recovery = false;
        self.inflation = 0.0;
        self.deflated = 0.0;
        self.is_deaf = self.counts_pipe();
        self.limited_bytes = 0;
        // Where duplicates keep a sender from sending, a timeout has to forget them.
        if !self.switches.timeout_keeps_duplicates || self.switches.faults_of_ns2 {
            self.duplicates = 0;
        }
        if !self.switches.faults_of_ns2 {
            self.checks_left = 0;
        }
        self.pace.release();
        self.timed = None;
        self.retransmitted_at = None;
        if self.outstanding.has_sacked() {
            self.outstanding.forget_reports();
        }
        self.go_back();
        self.retransmit_deadline = self.estimator.deadline(now);
    }
}
