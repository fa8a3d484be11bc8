//! Round-trip times by timestamps, as the side of the receiver can see them.

use crate::rtt::Rtt;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// Clocks that wait for their echo.
const MOST_CLOCKS: usize = 4096;

/// Times from an acknowledgement to the data that echoes its clock [RFC 7323 §4]. Between the two lie the way to the sender
/// and back, and the time that the sender waited; what passes the capture in the other direction adds the rest of a round
/// trip. At the receiver they are round-trip times, as long as data follows each acknowledgement at once.
#[derive(Clone, Debug, Default)]
pub struct Echoes {
    waiting: VecDeque<(u32, Time)>,
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
        if let Some(sample) = found {
            self.rtt.add(sample);
        }
        found
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
}
