//! What limits the sender, and whether its congestion window is in use.
//!
//! The window limits the sender if it was full within the last window of data, that is, if it left no room for a
//! further segment, whether one was ready or not. A window of data ends when all data sent at its start is
//! acknowledged. In slow start, the window also limits the sender if more than half of it was in use, because a window
//! that doubles is not used up at once. Linux has the same rules.

use crate::scoreboard::Scoreboard;
use dumbbell_cc::{Algorithm, WindowRules, WindowValidation};

/// Use of the congestion window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// Bound of the congestion window, in bytes: what the buffers of both ends allow, or none.
    pub(super) most_cwnd: f64,
    /// Only a full window or new data says something of its use (`tcp_write_xmit`).
    needs_news: bool,
    /// A timer is the reason to send: what waits beyond it is not looked at.
    is_by_timer: bool,
    /// The application has written: the use of the window is looked at after every segment (`tcp_push_one`).
    is_by_write: bool,
    /// First byte never sent at the last pause.
    seen_max: u64,
    is_cwnd_limited: bool,
    is_app_limited: bool,
    /// Maximum number of bytes in flight in a window of data that the congestion window did not limit.
    largest_flight: u64,
    /// First byte after the window of data.
    end: u64,
}

impl Limits {
    /// The use of a window that nothing was sent with. The buffers of both ends allow `max_window` bytes.
    pub(super) fn new(rules: &WindowRules, max_window: f64) -> Self {
        let most_cwnd = if rules.is_bounded { max_window } else { f64::INFINITY };
        Limits { most_cwnd, needs_news: rules.validation == WindowValidation::Linux, ..Limits::default() }
    }

    /// True if only a full window or new data says something of the use of the window, as in Linux.
    #[inline]
    pub(super) fn needs_news(&self) -> bool {
        self.needs_news
    }

    /// An event is the reason to send: a timer other than the pacer's, or another one.
    #[inline]
    pub(super) fn begin(&mut self, is_by_timer: bool) {
        self.is_by_timer = is_by_timer;
        self.is_by_write = false;
    }

    /// A write of the application is the reason to send.
    #[inline]
    pub(super) fn begin_write(&mut self) {
        self.begin(false);
        self.is_by_write = self.needs_news;
    }

    /// True if the use of the window is looked at after every segment, as after a write in Linux.
    #[inline]
    pub(super) fn looks_at_each(&self) -> bool {
        self.is_by_write
    }

    /// True if the rules of Linux look at the use of the window, which has room or not: data beyond what was sent at the last
    /// pause was sent, or an event that lets new data be sent finds no room for it (`tcp_write_xmit`).
    pub(super) fn has_news(&mut self, snd_max: u64, is_waiting: bool) -> bool {
        std::mem::replace(&mut self.seen_max, snd_max) < snd_max || is_waiting && !self.is_by_timer
    }

    /// The application limits the sender, or not.
    #[inline]
    pub(super) fn set_app_limited(&mut self, is_app_limited: bool) {
        self.is_app_limited = is_app_limited;
    }

    /// Nothing can be sent at the moment: the congestion window is full, the application has no data, or for another
    /// reason.
    #[inline]
    pub(super) fn on_pause(&mut self, is_full: bool, has_data: bool, snd_una: u64, snd_nxt: u64) {
        let flight = snd_nxt - snd_una;
        self.set_app_limited(!is_full && !has_data);
        if is_full || snd_una >= self.end || !self.is_cwnd_limited && flight > self.largest_flight {
            self.is_cwnd_limited = is_full;
            self.largest_flight = flight;
            self.end = snd_nxt;
        }
    }

    /// True if the congestion window limits the sender.
    #[inline]
    pub(super) fn is_cwnd_limited(&self, congestion: &Algorithm) -> bool {
        self.is_cwnd_limited || self.fills_slow_start(congestion.cwnd(), congestion.ssthresh())
    }

    /// True in slow start if more than half of the window was in use.
    fn fills_slow_start(&self, cwnd: f64, ssthresh: f64) -> bool {
        cwnd < ssthresh && cwnd < 2.0 * self.largest_flight as f64
    }

    /// True if only the application limits the sender.
    #[inline]
    pub(super) fn is_app_limited(&self) -> bool {
        self.is_app_limited
    }

    /// The same for samples of the delivery rate: by the rules of Linux, until what was in flight when the application wrote
    /// is delivered.
    #[inline]
    pub(super) fn limits_samples(&self, scoreboard: &Scoreboard) -> bool {
        match scoreboard.is_app_limited() {
            Some(is_limited) if self.needs_news => is_limited,
            _ => self.is_app_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNLIMITED: f64 = f64::INFINITY;

    fn is_limited(limits: &Limits, cwnd: f64, ssthresh: f64) -> bool {
        limits.is_cwnd_limited || limits.fills_slow_start(cwnd, ssthresh)
    }

    #[test]
    fn a_full_window_limits_until_its_data_is_acknowledged() {
        let mut limits = Limits::default();
        // Ten segments in flight fill the window; then the application has no data for a while.
        limits.on_pause(true, true, 0, 10_000);
        limits.on_pause(false, false, 5_000, 12_000);
        assert!(is_limited(&limits, 10_000.0, 5_000.0) && limits.is_app_limited());
        limits.on_pause(false, false, 10_000, 12_000);
        assert!(!is_limited(&limits, 10_000.0, 5_000.0));
    }

    #[test]
    fn in_slow_start_more_than_half_of_the_window_in_use_limits() {
        let mut limits = Limits::default();
        limits.on_pause(false, false, 0, 5_000);
        assert!(is_limited(&limits, 9_999.0, UNLIMITED));
        assert!(!is_limited(&limits, 10_000.0, UNLIMITED));
        assert!(!is_limited(&limits, 9_999.0, 9_000.0));
        // The maximum within a window of data counts, not the last value; the next window starts with the current
        // value.
        limits.on_pause(false, false, 4_000, 5_000);
        assert!(is_limited(&limits, 9_999.0, UNLIMITED));
        limits.on_pause(false, false, 5_000, 6_000);
        assert!(!is_limited(&limits, 2_000.0, UNLIMITED));
    }

    #[test]
    fn in_linux_a_full_window_counts_if_data_waits_for_it_and_no_timer_is_the_reason() {
        let mut limits = Limits { needs_news: true, ..Limits::default() };
        assert!(limits.has_news(5_000, false));
        assert!(!limits.has_news(5_000, false) && limits.has_news(5_000, true));
        limits.begin(true);
        assert!(!limits.has_news(5_000, true) && limits.has_news(6_000, false));
    }

    #[test]
    fn only_the_application_limits_if_there_is_room_and_no_data() {
        let mut limits = Limits::default();
        for (is_full, has_data, expected) in
            [(false, false, true), (true, false, false), (false, true, false)]
        {
            limits.on_pause(is_full, has_data, 0, 5_000);
            assert_eq!(limits.is_app_limited(), expected);
        }
    }
}
