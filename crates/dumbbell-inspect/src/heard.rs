//! What the sender has heard of its receiver.

use dumbbell_units::Time;
use std::collections::VecDeque;

/// Acknowledgements that are on their way from the capture to the sender.
const MOST_WAITING: usize = 1 << 16;

/// The acknowledgements that have reached the sender, and those on their way. A capture at the sender has none on their way;
/// one at the receiver sees the answer to an acknowledgement a round trip later.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    waiting: VecDeque<(Time, i64, Option<u64>)>,
    /// The first byte that is not acknowledged, as far as the sender knows.
    pub snd_una: i64,
    /// Window of the receiver as the sender knows it, in bytes; unknown without a handshake.
    pub window: Option<u64>,
}

impl Heard {
    /// An acknowledgement reaches the sender at this time.
    pub fn on_ack(&mut self, arrives: Time, snd_una: i64, window: Option<u64>) {
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        // One that a shorter way would overtake arrives with the one before it.
        let arrives = self.waiting.back().map_or(arrives, |last| last.0.max(arrives));
        self.waiting.push_back((arrives, snd_una, window));
    }

    /// The next acknowledgement that reaches the sender until this time is heard. Returns when.
    pub fn next(&mut self, until: Time) -> Option<Time> {
        let (at, snd_una, window) = *self.waiting.front().filter(|next| next.0 <= until)?;
        self.waiting.pop_front();
        self.snd_una = self.snd_una.max(snd_una);
        self.window = window;
        Some(at)
    }
}
