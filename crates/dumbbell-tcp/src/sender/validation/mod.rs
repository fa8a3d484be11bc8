//! Validation of a congestion window that is not used: a window that was reached long ago says little about the path. By
//! each rule, the slow-start threshold remembers three quarters of a window that is given up.

mod linux;
mod rfc7661;

use super::connection::Connection;
use super::trace::TcpEventKind;
use crate::config::TcpParams;
use dumbbell_cc::{Restart, UnusedWindow, WindowValidation};
use dumbbell_units::Time;

/// What is known of the use of the window, by rule.
#[derive(Clone, Debug)]
pub(super) enum Validation {
    /// Nothing: at most the restart after an idle period applies [RFC 5681 §4.1].
    Off,
    Linux(linux::Use),
    Rfc7661(rfc7661::Kept),
}

impl Validation {
    pub(super) fn new(params: &TcpParams, initial_window: f64, now: Time) -> Self {
        match params.window.validation {
            WindowValidation::Linux if params.idle_restart => {
                Validation::Linux(linux::Use::new(initial_window, now))
            }
            WindowValidation::Rfc7661 if params.idle_restart => {
                Validation::Rfc7661(rfc7661::Kept::new(initial_window, now))
            }
            _ => Validation::Off,
        }
    }

    /// True if the use of the window matters.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        !matches!(self, Validation::Off)
    }

    /// True if the window must not grow because too little of it is used.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        matches!(self, Validation::Rfc7661(kept) if kept.is_unused())
    }

    /// What was used of a window that is not used otherwise, in bytes per round trip.
    pub(super) fn used(&self) -> Option<u64> {
        match self {
            Validation::Rfc7661(kept) if kept.is_unused() => Some(kept.largest_delivery()),
            _ => None,
        }
    }
}

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
        if self.in_recovery || !usage.is_unlimited_for(self.retransmission.timeout(), now) {
            return;
        }
        if let Some(window) = usage.approach(now, self.congestion.cwnd(), f64::from(self.mss)) {
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
