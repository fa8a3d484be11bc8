//! Where a capture was made, between the ends of a connection.

use dumbbell_units::Time;

/// A capture is at an end if at most this part of a round trip lies between, in fifths.
const NEAR_FIFTHS: u64 = 1;

/// Where a capture was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the end that sends the data of the direction.
    Sender,
    /// At the other end.
    Receiver,
    /// On the way.
    Between,
    /// Neither a handshake nor timestamps tell.
    Unknown,
}

impl Place {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Place::Sender => "sender",
            Place::Receiver => "receiver",
            Place::Between => "between",
            Place::Unknown => "unknown",
        }
    }
}

/// The two parts of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// From the capture to the receiver of the data and back.
    pub to_receiver: Time,
    /// From the capture to its sender and back.
    pub to_sender: Time,
}

impl Ways {
    /// The whole round trip.
    pub fn whole(self) -> Time {
        self.to_receiver + self.to_sender
    }

    /// Where the capture lies.
    pub fn place(self) -> Place {
        let near = |part: Time| part.0.saturating_mul(5) <= self.whole().0.saturating_mul(NEAR_FIFTHS);
        if near(self.to_sender) {
            Place::Sender
        } else if near(self.to_receiver) {
            Place::Receiver
        } else {
            Place::Between
        }
    }
}
