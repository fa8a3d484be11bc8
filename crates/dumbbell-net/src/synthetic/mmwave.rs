//! A cellular link of the fifth generation at millimetre waves: fast with a line of sight to the antenna, slow without.
//!
//! Stays in both states have uniform lengths; each draws a level within the rates of its state, and every slot varies
//! around it. The defaults are assumptions, fitted to no measurement.

use super::Course;
use super::{Synthetic, to_rate};
use dumbbell_units::{Rate, Stream, Time, params};

params! {
    /// A cellular link at millimetre waves.
    pub struct MmWave {
        /// Lowest and highest rate with line of sight.
        line_of_sight: Vec<Rate> = vec![Rate(800_000_000), Rate(1_500_000_000)], "bit/s", "assumed",
            |rates| is_range(rates), "two rates above 0, the lower first";
        /// Lowest and highest rate without.
        blocked: Vec<Rate> = vec![Rate(20_000_000), Rate(100_000_000)], "bit/s", "assumed",
            |rates| is_range(rates), "two rates above 0, the lower first";
        /// Shortest and longest stay in a state.
        stay: Vec<Time> = vec![Time(2_000_000_000), Time(10_000_000_000)], "s", "assumed",
            |stay| matches!(stay[..], [from, to] if from.0 >= 1_000_000 && from <= to && to < Time::NEVER),
            "two times of at least 1 ms, the shorter first";
        /// Largest deviation of a slot from the level of its stay, as a fraction.
        variation: f64 = 0.1, "-", "assumed", |v| (0.0..1.0).contains(v), "a fraction from 0, below 1";
        /// Length of a slot with one rate.
        slot: Time = Time(100_000_000), "s", "assumed",
            |t| (1_000_000..=3_600_000_000_000).contains(&t.0), "a time from 1 ms to an hour";
        /// Seed of the trace; if not given, the trace differs from run to run and from link to link.
        seed: Option<u64> = None, "-", "-";
    }
}

fn is_range(rates: &[Rate]) -> bool {
    matches!(rates, [from, to] if from.0 > 0 && from.0 <= to.0)
}

impl Synthetic for MmWave {
    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn steps(&self, duration: Time) -> f64 {
        duration.secs() / self.slot.secs()
    }

    fn course(&self, _delay: Time, duration: Time, mut random: Stream) -> Course {
        let mut course = Course::default();
        let range = |rates: &[Rate]| match rates {
            [from, to] => (from.0 as f64, to.0 as f64),
            _ => (1.0, 1.0),
        };
        let stay = match self.stay[..] {
            [from, to] => (from.secs(), to.secs()),
            _ => (1.0, 1.0),
        };
        let mut is_blocked = random.chance(0.5);
        let (mut leaves, mut level) = (Time::ZERO, 0.0);
        let mut bounds = (1.0, 1.0);
        let mut at = Time::ZERO;
        while at < duration {
            while leaves <= at {
                is_blocked = !is_blocked;
                bounds = range(if is_blocked { &self.blocked } else { &self.line_of_sight });
                level = random.uniform_between(bounds.0, bounds.1);
                leaves += Time::from_secs(random.uniform_between(stay.0, stay.1));
            }
            let rate = level * random.uniform_between(1.0 - self.variation, 1.0 + self.variation);
            course.changes.push(to_rate(at, rate.clamp(bounds.0, bounds.1)));
            at += self.slot;
        }
        course
    }
}

#[cfg(test)]
mod tests {
    use super::super::Statistics;
    use super::*;

    #[test]
    fn half_of_the_time_is_fast() {
        let course =
            MmWave::default().course(Time::ZERO, Time(3_600_000_000_000), Stream::new(1, 0, "trace:mmwave"));
        let rates: Vec<f64> =
            course.changes.iter().filter_map(|change| change.rate).map(|r| r.0 as f64).collect();
        let fast = rates.iter().filter(|&&rate| rate >= 8e8).count() as f64 / rates.len() as f64;
        assert!((fast - 0.5).abs() < 0.03 && rates.len() == 36_000, "{fast}");
        assert!(rates.iter().all(|rate| (2e7..=1e8).contains(rate) || (8e8..=1.5e9).contains(rate)));
        // Means of 1150 and 60 Mbit/s in equal parts: 605, and a deviation of about 545 plus that within the states.
        let statistics = Statistics::of_changes(&course, 3600);
        assert!((statistics.mean / 605e6 - 1.0).abs() < 0.06, "{}", statistics.mean);
        assert!((0.8..1.0).contains(&statistics.variation), "{}", statistics.variation);
        // A stay of 6 s on average ends within a given second with a probability of one sixth, and the second after a
        // change is uncorrelated only in part.
        assert!((0.6..0.9).contains(&statistics.correlation), "{}", statistics.correlation);
    }
}
