//! Opening and giving up a connection.

mod linux;

use dumbbell_units::Time;
pub(super) use linux::FALLBACK_TIMEOUT;

/// Retransmissions of one segment by the timer; the next timeout gives up the connection [RFC 1122 §4.2.3.5].
const MAX_RETRANSMISSIONS: u32 = 12;

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    MustOpen,
    Opening,
    Open,
    /// Too many retransmissions of one segment: the sender sends nothing and ignores what arrives.
    GivenUp,
}

/// State of the connection, and the number of consecutive timeouts without an answer.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    pub(super) phase: Phase,
    /// When the last request was sent.
    pub(super) requested_at: Time,
    timeouts_in_a_row: u32,
    /// Congestion window before the first timeout in a row, in bytes.
    window_before: f64,
    /// When the first request was sent, and when the first timeout in a row expired.
    first_requested_at: Time,
    first_timeout_at: Time,
    /// Requests and giving up have the rules of Linux.
    is_linux: bool,
}

impl Opening {
    /// A connection that starts at `now`, with a handshake or open at once.
    pub(super) fn new(handshake: bool, is_linux: bool, now: Time) -> Self {
        let phase = if handshake { Phase::MustOpen } else { Phase::Open };
        Opening {
            phase,
            requested_at: now,
            timeouts_in_a_row: 0,
            window_before: 0.0,
            first_requested_at: Time::NEVER,
            first_timeout_at: Time::NEVER,
            is_linux,
        }
    }

    /// A request is sent.
    pub(super) fn on_request(&mut self, now: Time) {
        self.requested_at = now;
        self.first_requested_at = self.first_requested_at.min(now);
    }

    /// Something arrived from the receiver.
    #[inline]
    pub(super) fn on_progress(&mut self) {
        self.timeouts_in_a_row = 0;
    }

    /// The retransmission timer expired with this window in bytes. True if the connection is given up.
    pub(super) fn on_timeout(&mut self, now: Time, cwnd: f64) -> bool {
        self.timeouts_in_a_row += 1;
        if self.timeouts_in_a_row == 1 {
            self.window_before = cwnd;
            self.first_timeout_at = now;
        }
        let gives_up = if self.is_linux {
            self.gives_up_in_linux(now)
        } else {
            self.timeouts_in_a_row > MAX_RETRANSMISSIONS
        };
        if gives_up {
            self.phase = Phase::GivenUp;
        }
        gives_up
    }

    /// Congestion window before the first timeout in a row, in bytes.
    pub(super) fn window_before(&self) -> f64 {
        self.window_before
    }

    /// True if the next timeout is twice this one.
    pub(super) fn backs_off(&self) -> bool {
        !self.is_linux || self.backs_off_in_linux()
    }

    /// True if the handshake has the rules of Linux.
    pub(super) fn is_linux(&self) -> bool {
        self.is_linux
    }
}
