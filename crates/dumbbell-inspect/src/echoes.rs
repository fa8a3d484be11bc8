//! Round-trip times by timestamps, as the side of the receiver can see them.

use crate::rtt::Rtt;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// Clocks that wait for their echo.
const MOST_CLOCKS: usize = 4096;

/// Times from an acknowledgement to the data that echoes its clock [RFC 7323 §4]. Between the two lie the way to the sender
/// and back, and the time that the sender waited; what passes the capture in the other direction adds the rest of a round
/// trip. At the receiver they are round-trip times, as long as data follows each acknowledgement at once: a sample during
/// which no other data came, and that is more than twice the smallest, is of a sender that waited, and does not count.
#[derive(Clone, Debug, Default)]
pub struct Echoes {
    waiting: VecDeque<(u32, Time)>,
    /// When data came last.
    last_data: Option<Time>,
    /// The samples.
    pub rtt: Rtt,
}

impl Echoes {
    /// The receiver sent its clock. Only the first segment with a reading counts.
    pub fn on_ack(&mut self, at: Time, clock: u32) {
        if self.waiting.back().is_some_and(|(last, _)| clock.wrapping_sub(*last) as i32 <= 0) {
            return;
        }
        if self.waiting.len() == MOST_CLOCKS {
            self.waiting.pop_front();
        }
        self.waiting.push_back((clock, at));
    }

    /// Data echoes a clock. Returns the time since the receiver sent it.
    pub fn on_data(&mut self, at: Time, echo: u32) -> Option<Time> {
        let mut found = None;
        while let Some((clock, sent)) = self.waiting.front().copied() {
            if (clock.wrapping_sub(echo) as i32) > 0 {
                break;
            }
            found = (clock == echo).then(|| at - sent);
            self.waiting.pop_front();
        }
        let found = found.filter(|sample| !self.has_waited(at, *sample));
        self.last_data = Some(at);
        if let Some(sample) = found {
            self.rtt.add(sample);
        }
        found
    }

    /// The sender had nothing to send when the acknowledgement came, and so waited before it sent this.
    fn has_waited(&self, at: Time, sample: Time) -> bool {
        let is_alone = self.last_data.is_none_or(|last| at - last >= sample);
        is_alone && self.rtt.least.is_some_and(|least| sample.0 > 2 * least.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_echo_of_the_first_use_of_a_clock_is_the_sample() {
        let mut echoes = Echoes::default();
        echoes.on_ack(Time(10), 1);
        echoes.on_ack(Time(15), 1);
        echoes.on_ack(Time(20), 2);
        echoes.on_ack(Time(30), 3);
        assert_eq!(echoes.on_data(Time(110), 1), Some(Time(100)));
        assert_eq!(echoes.on_data(Time(112), 1), None);
        assert_eq!(echoes.on_data(Time(140), 3), Some(Time(110)), "the echo of 2 was lost");
        assert_eq!(echoes.rtt.count, 2);
    }

    #[test]
    fn a_sample_of_a_sender_that_waited_does_not_count() {
        let mut echoes = Echoes::default();
        echoes.on_ack(Time(10), 1);
        assert_eq!(echoes.on_data(Time(110), 1), Some(Time(100)));
        echoes.on_ack(Time(110), 2);
        echoes.on_ack(Time(120), 3);
        assert_eq!(echoes.on_data(Time(400), 2), None, "nothing came for 290");
        assert_eq!(echoes.on_data(Time(401), 3), Some(Time(281)), "other data came during it");
        echoes.on_ack(Time(401), 4);
        assert_eq!(echoes.on_data(Time(601), 4), Some(Time(200)), "twice the smallest may be a queue");
    }
}
