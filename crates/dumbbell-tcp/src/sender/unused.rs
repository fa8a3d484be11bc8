//! What a connection does with a window that it does not use, by the rules of [`validation`](super::validation).

use super::connection::Connection;
use super::trace::TcpEventKind;
use super::validation::Validation;
use dumbbell_cc::{Restart, UnusedWindow};
use dumbbell_units::Time;

impl Connection {
    /// Nothing can be sent at the moment.
    #[cold]
    pub(super) fn validate_window(&mut self) {
        let Validation::Linux(usage) = &mut self.idle.validation else { return };
        // The last transmission is the time of the pause, since a pause follows what is sent.
        let now = self.idle.last_sent;
        if self.limits.is_cwnd_limited(&self.congestion) {
            usage.begin(now);
            return;
        }
        usage.on_use(self.snd_nxt - self.snd_una);
        let (unlimited, timeout) = self.retransmission.elapsed(usage.limited_at(), now);
        if self.congestion.is_model_based() || unlimited < timeout {
            return;
        }
        let is_open = !self.in_recovery && !self.phases.loss && !self.scoreboard.has_sacked();
        if let Some(window) = usage.approach(now, self.congestion.cwnd(), f64::from(self.mss), is_open) {
            self.shrink_unused(now, window);
        }
    }

    /// A round trip ends with an ACK.
    #[cold]
    pub(super) fn validate_round(&mut self, now: Time) {
        let Validation::Rfc7661(kept) = &mut self.idle.validation else { return };
        let (delivered, cwnd) = (self.scoreboard.delivered(), self.congestion.cwnd());
        kept.on_round(now, delivered, self.retransmission.srtt_or_infinity(), cwnd);
        if let Some(window) = kept.after_unused(now, cwnd) {
            self.shrink_unused(now, window);
        }
    }

    /// The connection was idle for a timeout. True if a rule other than the restart from the initial window applies.
    pub(super) fn validate_idle(&mut self, now: Time, restart: &Restart) -> bool {
        let cwnd = self.congestion.cwnd();
        match &mut self.idle.validation {
            Validation::Off => false,
            // An idle period of exactly a timeout is none (`tcp_slow_start_after_idle_check`).
            Validation::Linux(_) if restart.idle <= restart.timeout => true,
            Validation::Linux(usage) => {
                let window = usage.after_idle(now, cwnd, f64::from(self.mss), restart);
                self.shrink_unused(now, window)
            }
            Validation::Rfc7661(kept) => {
                if let Some(window) = kept.after_unused(now, cwnd) {
                    self.shrink_unused(now, window);
                }
                true
            }
        }
    }

    fn shrink_unused(&mut self, now: Time, window: f64) -> bool {
        let context = self.context(now);
        let cwnd_before = self.congestion.cwnd();
        let is_taken = self.congestion.on_unused_window(&context, &UnusedWindow::new(window));
        if is_taken {
            self.note(now, TcpEventKind::IdleRestart, cwnd_before);
        }
        is_taken
    }
}
