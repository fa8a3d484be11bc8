//! Acknowledgements as their receiver, the sender of the data, sees them, wherever they were captured.
//!
//! A segment that answers an acknowledgement passes the capture one round trip after it, of the part of the path between
//! the capture and the sender. Acknowledgements that are held back for so long have the same order with the data as at
//! the sender.

use crate::rtt::is_at_end;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// Samples of which the least counts: some of them contain a wait of the application.
const SAMPLES: usize = 16;
/// Queueing on the part of the path to the sender that is believed. What is longer is a wait of the application.
const MOST_QUEUEING: Time = Time(200_000_000);
/// Acknowledgements that are held back.
const MOST_HELD: usize = 1 << 14;

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// When it passed the capture, or reaches the sender.
    pub at: Time,
    /// The first byte that is not acknowledged.
    pub snd_una: i64,
    /// The window, if it is known.
    pub window: Option<u64>,
}

/// Acknowledgements on their way to the sender.
#[derive(Clone, Debug, Default)]
pub struct Late {
    /// Round-trip time between capture and sender, by the handshake.
    base: Option<Time>,
    samples: VecDeque<Time>,
    held: VecDeque<Held>,
}

impl Late {
    /// The handshake took so long between capture and sender and back, of so long in all.
    pub fn on_handshake(&mut self, part: Time, whole: Time) {
        self.base = Some(if is_at_end(part, whole) { Time::ZERO } else { part });
    }

    /// Data came so long after the acknowledgement whose clock it echoes.
    pub fn on_echo(&mut self, sample: Time) {
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// For how long acknowledgements are held back. `ahead` is the round-trip time between capture and receiver.
    fn delay(&self, ahead: Option<Time>) -> Time {
        let least = self.samples.iter().min().copied();
        match (self.base, least) {
            (Some(Time::ZERO), _) | (None, None) => Time::ZERO,
            (Some(base), None) => base,
            (Some(base), Some(least)) => least.clamp(base, base + MOST_QUEUEING),
            (None, Some(least)) => {
                let whole = least + ahead.unwrap_or_default();
                if is_at_end(least, whole) { Time::ZERO } else { least.min(MOST_QUEUEING) }
            }
        }
    }

    /// An acknowledgement passed the capture.
    pub fn hold(&mut self, held: Held) {
        if self.held.len() < MOST_HELD {
            self.held.push_back(held);
        }
    }

    /// The next one that reaches the sender until an instant, with the time of that.
    pub fn next(&mut self, until: Time, ahead: Option<Time>) -> Option<Held> {
        let first = *self.held.front()?;
        let at = first.at + self.delay(ahead);
        if at > until {
            return None;
        }
        self.held.pop_front();
        Some(Held { at, ..first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(ms: u64) -> Time {
        Time(ms * MS)
    }

    fn arrives(late: &mut Late, ahead: Option<Time>) -> u64 {
        late.hold(Held { at: ms(1000), snd_una: 7, window: None });
        late.next(ms(9000), ahead).map_or(0, |held| held.at.0 / MS)
    }

    #[test]
    fn at_the_sender_nothing_is_held_back() {
        let mut late = Late::default();
        late.on_handshake(ms(20), ms(100));
        late.on_echo(ms(300));
        assert_eq!(arrives(&mut late, Some(ms(80))), 1000);
        let mut unknown = Late::default();
        assert_eq!(arrives(&mut unknown, Some(ms(80))), 1000);
        unknown.on_echo(ms(10));
        assert_eq!(arrives(&mut unknown, Some(ms(80))), 1000);
    }

    #[test]
    fn at_the_receiver_they_reach_the_sender_a_round_trip_later() {
        let mut late = Late::default();
        late.on_handshake(ms(100), ms(100));
        assert_eq!(arrives(&mut late, None), 1100);
        late.on_echo(ms(90));
        assert_eq!(arrives(&mut late, None), 1100, "not faster than the handshake");
        let mut queued = Late::default();
        queued.on_handshake(ms(100), ms(100));
        queued.on_echo(ms(500));
        assert_eq!(arrives(&mut queued, None), 1300, "a wait of the application");
        queued.on_echo(ms(150));
        assert_eq!(arrives(&mut queued, None), 1150);
        let mut without = Late::default();
        without.on_echo(ms(60));
        assert_eq!(arrives(&mut without, Some(ms(0))), 1060);
    }

    #[test]
    fn nothing_arrives_before_its_time() {
        let mut late = Late::default();
        late.on_handshake(ms(100), ms(100));
        late.hold(Held { at: ms(5), snd_una: 7, window: None });
        assert_eq!(late.next(ms(104), None), None);
        assert!(late.next(ms(105), None).is_some());
    }
}
