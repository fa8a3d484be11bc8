//! Opening and giving up a connection.

use dumbbell_units::Time;

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
}

impl Opening {
    /// A connection that starts at `now`, with a handshake or open at once.
    pub(super) fn new(handshake: bool, now: Time) -> Self {
        let phase = if handshake { Phase::MustOpen } else { Phase::Open };
        Opening { phase, requested_at: now, timeouts_in_a_row: 0 }
    }

    /// Something arrived from the receiver.
    #[inline]
    pub(super) fn on_progress(&mut self) {
        self.timeouts_in_a_row = 0;
    }

    /// The retransmission timer expired. True if the connection is given up.
    pub(super) fn on_timeout(&mut self) -> bool {
        self.timeouts_in_a_row += 1;
        let gives_up = self.timeouts_in_a_row > MAX_RETRANSMISSIONS;
        if gives_up {
            self.phase = Phase::GivenUp;
        }
        gives_up
    }
}
