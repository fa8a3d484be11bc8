//! Shared by the congestion controls that model a path from delivery-rate samples: round trips counted in packets, the
//! data that counts as limited by the application, and windowed maxima.

use crate::{Ack, Context};

/// A maximum over a sliding window, kept as the best, second and third best samples, each newer than the one before
/// (K. Nichols' algorithm, as in Linux [linux6]). Times are counted in any unit and never fall.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax {
    /// Time and value of each sample; values never rise, and times never fall, from one to the next.
    samples: [(u64, f64); 3],
}

impl WindowedMax {
    /// The maximum; 0 before the first sample.
    #[inline]
    pub fn value(&self) -> f64 {
        self.samples[0].1
    }

    /// Takes a sample of at least 0 at `time`; samples older than `window` no longer count.
    #[inline]
    pub fn update(&mut self, time: u64, value: f64, window: u64) {
        let sample = (time, value);
        let [first, second, third] = &mut self.samples;
        if value >= first.1 || time - third.0 > window {
            self.samples = [sample; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (sample, sample);
        } else if value >= third.1 {
            *third = sample;
        }
        let age = time - first.0;
        if age > window {
            // The best is too old: the others move up, if need be twice.
            (*first, *second, *third) = (*second, *third, sample);
            if time - first.0 > window {
                (*first, *second, *third) = (*second, *third, sample);
            }
        } else if second.0 == first.0 && age > window / 4 {
            (*second, *third) = (sample, sample);
        } else if third.0 == second.0 && age > window / 2 {
            *third = sample;
        }
    }
}

/// A minimum over a sliding window, kept as [`WindowedMax`] keeps a maximum.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMin(WindowedMax);

impl Default for WindowedMin {
    fn default() -> Self {
        WindowedMin(WindowedMax { samples: [(0, f64::NEG_INFINITY); 3] })
    }
}

impl WindowedMin {
    /// The minimum; infinite before the first sample.
    #[inline]
    pub fn value(&self) -> f64 {
        -self.0.value()
    }

    /// Takes a sample at `time`; samples older than `window` no longer count.
    #[inline]
    pub fn update(&mut self, time: u64, value: f64, window: u64) {
        self.0.update(time, -value, window);
    }
}

/// What is delivered, in round trips: a round ends when data is delivered that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// Bytes delivered since the connection began.
    pub delivered: u64,
    /// Rounds since the connection began.
    pub count: u64,
    /// The round ends with data sent after this many bytes had been delivered.
    end: u64,
    /// Data sent while between so many bytes had been delivered counts as limited by the application.
    limited: Option<(u64, u64)>,
}

impl Rounds {
    /// An ACK or a duplicate ACK arrived.
    #[inline]
    pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.delivered = match ack.rate {
            Some(rate) => rate.prior_delivered + rate.delivered,
            None => (self.delivered + ack.delivered).max(context.delivered),
        };
    }

    /// Data was delivered that was sent when `prior_delivered` bytes had been. True if a round begins.
    #[inline]
    pub fn advance(&mut self, prior_delivered: u64) -> bool {
        let begins = prior_delivered >= self.end;
        if begins {
            self.end = self.delivered;
            self.count += 1;
        }
        begins
    }

    /// A round begins now; it is not counted.
    #[inline]
    pub fn restart(&mut self) {
        self.end = self.delivered;
    }

    /// The algorithm itself limits the sender, with so many bytes in flight: data sent from now on counts as limited by
    /// the application until what is in flight is delivered.
    pub fn limit(&mut self, in_flight: f64) {
        let from = self
            .limited
            .filter(|limited| self.delivered <= limited.1)
            .map_or(self.delivered, |known| known.0);
        self.limited = Some((from, self.delivered + in_flight as u64));
    }

    /// True if the algorithm itself limited the sender when data was sent, after so many bytes had been delivered.
    #[inline]
    pub fn was_limited(&self, delivered: u64) -> bool {
        self.limited.is_some_and(|(from, until)| (from..=until).contains(&delivered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RateSample;
    use dumbbell_units::Time;

    #[test]
    fn the_third_best_is_renewed_in_the_second_half_of_a_window() {
        let mut best = WindowedMax::default();
        // The samples at 3 and 5 are older than a quarter and a half of the window.
        for (time, value) in [(0, 10.0), (3, 5.0), (5, 4.0), (9, 1.0), (12, 0.5)] {
            best.update(time, value, 8);
        }
        // At 12, the samples at 0 and 3 no longer count.
        assert_eq!(best.value(), 4.0);
    }

    #[test]
    fn the_second_best_is_renewed_after_a_quarter_of_a_window() {
        let mut best = WindowedMax::default();
        // A quarter is 2: the sample at 1 is not kept, that at 3 is.
        for (time, value) in [(0, 10.0), (1, 9.0), (3, 5.0), (9, 1.0)] {
            best.update(time, value, 8);
        }
        assert_eq!(best.value(), 5.0);
    }

    #[test]
    fn a_maximum_counts_for_its_window_and_then_the_best_since() {
        let mut best = WindowedMax::default();
        for (time, value) in [(0, 8.0), (3, 5.0), (6, 6.0), (9, 4.0), (10, 3.0)] {
            best.update(time, value, 10);
            assert_eq!(best.value(), 8.0);
        }
        // The sample of time 0 is 11 old. The best since is that of time 6, until 16.
        best.update(11, 2.0, 10);
        assert_eq!(best.value(), 6.0);
        best.update(16, 1.0, 10);
        assert_eq!(best.value(), 6.0);
        best.update(17, 1.0, 10);
        assert!(best.value() < 6.0);
        // After a pause longer than the window, only the new sample is left.
        best.update(40, 0.5, 10);
        assert_eq!(best.value(), 0.5);
    }

    #[test]
    fn a_minimum_counts_for_its_window() {
        let mut least = WindowedMin::default();
        assert_eq!(least.value(), f64::INFINITY);
        for (time, value, expected) in
            [(0, 5.0, 5.0), (4, 7.0, 5.0), (8, 6.0, 5.0), (11, 9.0, 6.0), (30, 8.0, 8.0)]
        {
            least.update(time, value, 10);
            assert_eq!(least.value(), expected);
        }
    }

    #[test]
    fn a_round_ends_with_data_sent_after_it_began() {
        let mut rounds = Rounds::default();
        let context = Context::new(Time::ZERO, 1000.0);
        let mut deliver = |prior: u64, delivered: u64| {
            let rate = RateSample::new(delivered, Time(1)).with_prior_delivered(prior);
            rounds.on_ack(&context, &Ack::new(0, 0).with_rate(Some(&rate)));
            rounds.advance(prior)
        };
        // The first segments begin round 1. Those sent after 1,000 bytes had been delivered begin round 2.
        assert!(deliver(0, 1000));
        assert!(!deliver(0, 2000));
        assert!(deliver(1000, 2000));
        assert!(!deliver(2000, 2000));
        assert_eq!((rounds.delivered, rounds.count), (4000, 2));
    }

    #[test]
    fn data_sent_while_the_algorithm_limits_the_sender_counts_as_limited() {
        let mut rounds = Rounds { delivered: 10_000, ..Rounds::default() };
        rounds.limit(4000.0);
        rounds.delivered = 12_000;
        rounds.limit(2000.0);
        let limited = [9_999, 10_000, 14_000, 14_001].map(|delivered| rounds.was_limited(delivered));
        assert_eq!(limited, [false, true, true, false]);
        // A later limit does not reach back to the first.
        rounds.delivered = 20_000;
        rounds.limit(1000.0);
        assert!(!rounds.was_limited(14_000) && rounds.was_limited(20_500));
    }
}
