//! Validation of a congestion window that is not used.
//!
//! A window that was reached long ago says little about the path. By the rule of Linux, it is halved for each timeout that
//! the connection was idle, down to the initial window, and approaches what is used while the application limits the
//! sender. By RFC 7661, it is kept for five minutes but does not grow, unless a half of it is delivered per round trip;
//! what a loss reduces is then what was used. In both, the slow-start threshold remembers three quarters of the window.
//!
//! Where it departs from RFC 7661: what was retransmitted is not deducted at the end of a recovery (§4.4.1), and a half of
//! the window is compared with the largest delivery of a round trip within four quarters of the sampling period.

use super::connection::Connection;
use super::trace::TcpEventKind;
use crate::config::TcpParams;
use dumbbell_cc::{Restart, UnusedWindow, WindowValidation};
use dumbbell_units::Time;
use dumbbell_units::math::real;

/// Longest time for which a window is kept that is not used [RFC 7661 §4.3].
const KEPT: Time = Time(300_000_000_000);
/// Shortest period in which deliveries count [RFC 7661 §4.2].
const SHORTEST_PERIOD: Time = Time(1_000_000_000);

/// What is known of the use of the window.
#[derive(Clone, Debug)]
pub(super) struct Validation {
    /// The rule, unless only RFC 5681 §4.1 applies.
    rule: Option<WindowValidation>,
    initial_window: f64,
    /// When the window last limited the sender, and what was in use since, in bytes.
    limited_at: Time,
    used: u64,
    /// Largest deliveries of a round trip, newest first, each within a quarter of the period that begins at `quarter`.
    largest: [u64; 4],
    quarter: Time,
    /// Bytes delivered when the round trip began.
    round_from: u64,
    /// Since when less than a half of the window is delivered per round trip.
    unused_since: Time,
}

impl Validation {
    pub(super) fn new(params: &TcpParams, initial_window: f64, now: Time) -> Self {
        let rule = params.window.validation;
        let is_more = params.idle_restart && rule != WindowValidation::Restart;
        Validation {
            rule: is_more.then_some(rule),
            initial_window,
            limited_at: now,
            used: 0,
            largest: [0; 4],
            quarter: now,
            round_from: 0,
            unused_since: Time::NEVER,
        }
    }

    /// True if the use of the window matters.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.rule.is_some()
    }

    /// True if the window must not grow because less than a half of it is used [RFC 7661 §4.3].
    pub(super) fn is_unused(&self) -> bool {
        self.unused_since != Time::NEVER
    }

    /// Largest delivery of a round trip in the sampling period, in bytes: pipeACK [RFC 7661 §4.2].
    pub(super) fn largest_delivery(&self) -> u64 {
        self.largest.into_iter().fold(0, u64::max)
    }

    /// A round trip ends at `now`, with so many bytes delivered since the connection began.
    fn on_round(&mut self, now: Time, delivered: u64, srtt: f64, cwnd: f64) {
        let period = Time::from_secs(if srtt.is_finite() { 3.0 * srtt } else { 0.0 }).max(SHORTEST_PERIOD);
        let quarter = Time(period.0 / 4);
        let past = (now.since(self.quarter).0 / quarter.0).min(4);
        if past > 0 {
            self.quarter = now;
            self.largest.rotate_right(past as usize % 4);
            self.largest[..past as usize].fill(0);
        }
        self.largest[0] = self.largest[0].max(delivered - self.round_from);
        self.round_from = delivered;
        if 2.0 * real(self.largest_delivery()) >= cwnd {
            self.unused_since = Time::NEVER;
        } else {
            self.unused_since = self.unused_since.min(now);
        }
    }
}

/// The window after an idle period, by the rule of Linux: half of it for each timeout, in whole segments.
fn halved(cwnd: f64, mss: f64, initial_window: f64, restart: &Restart) -> f64 {
    let least = initial_window.min(cwnd);
    let mut window = cwnd;
    let mut rest = restart.idle.0;
    while rest > restart.timeout.0 && window > least {
        rest -= restart.timeout.0;
        window = (window / 2.0 / mss).floor() * mss;
    }
    window.max(least)
}

impl Connection {
    /// Nothing can be sent at the moment: by the rule of Linux, a window not used for a timeout approaches what is.
    #[cold]
    pub(super) fn validate_window(&mut self) {
        // The last transmission is the time of the pause, since a pause follows what is sent.
        let now = self.idle.last_sent;
        if self.idle.validation.rule != Some(WindowValidation::Linux) {
            return;
        }
        if self.limits.is_cwnd_limited(&self.congestion) {
            (self.idle.validation.limited_at, self.idle.validation.used) = (now, 0);
            return;
        }
        self.idle.validation.used = self.idle.validation.used.max(self.snd_nxt - self.snd_una);
        if now.since(self.idle.validation.limited_at) < self.retransmission.timeout() || self.in_recovery {
            return;
        }
        let cwnd = self.congestion.cwnd();
        let used = real(self.idle.validation.used).max(self.idle.validation.initial_window);
        (self.idle.validation.limited_at, self.idle.validation.used) = (now, 0);
        if used < cwnd {
            let mss = f64::from(self.mss);
            self.shrink_unused(now, ((cwnd + used) / 2.0 / mss).floor() * mss);
        }
    }

    /// A round trip ends with an ACK.
    #[cold]
    pub(super) fn validate_round(&mut self, now: Time) {
        if self.idle.validation.rule != Some(WindowValidation::Rfc7661) {
            return;
        }
        let (delivered, cwnd) = (self.scoreboard.delivered(), self.congestion.cwnd());
        self.idle.validation.on_round(now, delivered, self.retransmission.srtt_or_infinity(), cwnd);
        self.end_kept_window(now);
    }

    /// After five minutes, a window that is not used is halved [RFC 7661 §4.3].
    fn end_kept_window(&mut self, now: Time) {
        if self.idle.validation.is_unused() && now.since(self.idle.validation.unused_since) >= KEPT {
            self.idle.validation.unused_since = now;
            let window = (self.congestion.cwnd() / 2.0).max(self.idle.validation.initial_window);
            self.shrink_unused(now, window);
        }
    }

    /// The connection was idle for a timeout. True if a rule other than the restart from the initial window applies.
    pub(super) fn validate_idle(&mut self, now: Time, restart: &Restart) -> bool {
        match self.idle.validation.rule {
            None | Some(WindowValidation::Restart) => false,
            Some(WindowValidation::Linux) => {
                let mss = f64::from(self.mss);
                let window =
                    halved(self.congestion.cwnd(), mss, self.idle.validation.initial_window, restart);
                (self.idle.validation.limited_at, self.idle.validation.used) = (now, 0);
                self.shrink_unused(now, window)
            }
            Some(WindowValidation::Rfc7661) => {
                self.end_kept_window(now);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_halved_for_each_timeout_of_idleness() {
        let after = |idle| halved(45_000.0, 1000.0, 10_000.0, &Restart::new(Time(idle), Time(1000)));
        // 45 segments, then 22, 11, and no less than the initial 10.
        assert_eq!([1000, 1500, 2500, 3500, 9000].map(after), [45e3, 22e3, 11e3, 10e3, 10e3]);
        // A window below the initial one is not raised.
        assert_eq!(halved(4000.0, 1000.0, 10_000.0, &Restart::new(Time(5000), Time(1000))), 4000.0);
    }

    #[test]
    fn the_largest_delivery_of_a_round_trip_counts_for_a_second() {
        let mut validation = Validation::new(&TcpParams::default(), 1000.0, Time::ZERO);
        let ms = |ms: u64| Time(ms * 1_000_000);
        // 6000 of 10,000 bytes in a round trip of 100 ms: the window is in use. 1000 afterwards: still, for a second.
        for (at, delivered, unused) in [
            (100, 6000, false),
            (200, 7000, false),
            (900, 8000, false),
            (1200, 9000, true),
            (1300, 15_000, false),
        ] {
            validation.on_round(ms(at), delivered, 0.1, 10_000.0);
            assert_eq!(validation.is_unused(), unused, "at {at} ms");
        }
        assert_eq!(validation.largest_delivery(), 6000);
    }
}
