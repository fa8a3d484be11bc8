//! RFC 7661: a window that is not used is kept for five minutes but does not grow, unless a half of it is delivered per
//! round trip. What a loss reduces is then what was used.
//!
//! Where it departs: what was retransmitted is not deducted at the end of a recovery (§4.4.1), and a half of the window is
//! compared with the largest delivery of a round trip within four quarters of the sampling period.

use dumbbell_units::Time;
use dumbbell_units::math::real;

/// Longest time for which a window is kept that is not used [RFC 7661 §4.3].
const KEPT: Time = Time(300_000_000_000);
/// Shortest period in which deliveries count [RFC 7661 §4.2].
const SHORTEST_PERIOD: Time = Time(1_000_000_000);

/// What was delivered per round trip, and since when it is less than a half of the window.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Kept {
    initial_window: f64,
    /// Largest deliveries of a round trip, newest first, each within a quarter of the period that begins at `quarter`.
    largest: [u64; 4],
    quarter: Time,
    /// Bytes delivered when the round trip began.
    round_from: u64,
    /// Since when less than a half of the window is delivered per round trip.
    unused_since: Time,
}

impl Kept {
    pub(in crate::sender) fn new(initial_window: f64, now: Time) -> Self {
        Kept { initial_window, largest: [0; 4], quarter: now, round_from: 0, unused_since: Time::NEVER }
    }

    /// True if the window must not grow because less than a half of it is used [RFC 7661 §4.3].
    pub(in crate::sender) fn is_unused(&self) -> bool {
        self.unused_since != Time::NEVER
    }

    /// Largest delivery of a round trip in the sampling period, in bytes: pipeACK [RFC 7661 §4.2].
    pub(in crate::sender) fn largest_delivery(&self) -> u64 {
        self.largest.into_iter().fold(0, u64::max)
    }

    /// A round trip ends at `now`, with so many bytes delivered since the connection began.
    pub(in crate::sender) fn on_round(&mut self, now: Time, delivered: u64, srtt: f64, cwnd: f64) {
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

    /// Half of a window that has not been used for five minutes [RFC 7661 §4.3], at least the initial one.
    pub(in crate::sender) fn after_unused(&mut self, now: Time, cwnd: f64) -> Option<f64> {
        let ends = self.is_unused() && now.since(self.unused_since) >= KEPT;
        ends.then(|| {
            self.unused_since = now;
            (cwnd / 2.0).max(self.initial_window)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_delivery_of_a_round_trip_counts_for_a_second() {
        let mut kept = Kept::new(1000.0, Time::ZERO);
        let ms = |ms: u64| Time(ms * 1_000_000);
        // 6000 of 10,000 bytes in a round trip of 100 ms: the window is in use. 1000 afterwards: still, for a second.
        for (at, delivered, unused) in [
            (100, 6000, false),
            (200, 7000, false),
            (900, 8000, false),
            (1200, 9000, true),
            (1300, 15_000, false),
        ] {
            kept.on_round(ms(at), delivered, 0.1, 10_000.0);
            assert_eq!(kept.is_unused(), unused, "at {at} ms");
        }
        assert_eq!(kept.largest_delivery(), 6000);
    }
}
