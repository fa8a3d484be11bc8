//! A cellular link of the fourth generation, in place of the recorded ones of Mahimahi [netravali2015 §3.2].
//!
//! Each second has a rate; its logarithm is a first-order process. Within a second, the scheduler serves the link in some
//! milliseconds, with a burst of opportunities whose size is geometric. Gaps without any service come at random and have
//! lognormal lengths: handovers and deep fades.
//!
//! The defaults lie within what eight recorded LTE traces of Mahimahi have: coefficients of variation of rates per
//! second from 0.49 to 0.88, and longest gaps of 0.7 to 1.7 s in two to thirteen minutes, apart from two uplinks with
//! longer ones.

use super::Course;
use super::{Fading, MOST_STEPS, OPPORTUNITY, Synthetic, normal};
use crate::opportunities::OpportunitySpec;
use dumbbell_units::{Rate, Stream, Time, math, params};

params! {
    /// A cellular link of the fourth generation.
    pub struct Lte {
        /// Mean rate, outside of gaps.
        rate: Rate = Rate(12_000_000), "bit/s", "[netravali2015 §3.2]",
            |rate| (1000..=1_000_000_000).contains(&rate.0), "a rate from 1 kbit/s to 1 Gbit/s";
        /// Coefficient of variation of the rate in slots of one second.
        variation: f64 = 0.7, "-", "-", |v| (0.0..=3.0).contains(v), "a number from 0 to 3";
        /// Correlation of the logarithm of the rate with that of the second before.
        correlation: f64 = 0.9, "-", "-", |phi| (0.0..1.0).contains(phi), "a fraction from 0, below 1";
        /// Maximum rate of a second, as a multiple of the mean.
        peak: f64 = 5.0, "-", "-", |peak| (1.0..=100.0).contains(peak), "a number from 1 to 100";
        /// Mean number of opportunities in a burst.
        burst: f64 = 4.0, "-", "-", |burst| (1.0..=100.0).contains(burst), "a number from 1 to 100";
        /// Mean time between gaps; no gaps if not given.
        gap_every: Option<Time> = Some(Time(45_000_000_000)), "s", "-",
            |t| t.is_none_or(|t| t.0 >= 1_000_000), "a time of at least 1 ms";
        /// Median length of a gap.
        gap_median: Time = Time(200_000_000), "s", "-",
            |t| (1..=1_000_000_000_000).contains(&t.0), "a time above 0, up to 1000 s";
        /// Standard deviation of the logarithm of a gap's length.
        gap_spread: f64 = 0.8, "-", "-", |spread| (0.0..=3.0).contains(spread), "a number from 0 to 3";
        /// Seed of the trace; if not given, the trace differs from run to run and from link to link.
        seed: Option<u64> = None, "-", "-";
    }
}

/// Milliseconds without service.
struct Gaps {
    random: Stream,
    /// The current or next gap.
    from: f64,
    until: f64,
}

impl Gaps {
    fn new(params: &Lte, random: Stream) -> Self {
        let mut gaps = Gaps { random, from: 0.0, until: 0.0 };
        gaps.next(params);
        gaps
    }

    fn next(&mut self, params: &Lte) {
        let Some(every) = params.gap_every else {
            (self.from, self.until) = (f64::INFINITY, f64::INFINITY);
            return;
        };
        self.from = self.until + self.random.exponential(every.secs() * 1e3);
        let length = math::exp(params.gap_spread * normal(&mut self.random));
        self.until = self.from + params.gap_median.secs() * 1e3 * length;
    }

    /// True if there is no service in a millisecond. Calls are in order of time.
    fn contains(&mut self, params: &Lte, millisecond: f64) -> bool {
        while self.until <= millisecond {
            self.next(params);
        }
        self.from <= millisecond
    }
}

impl Lte {
    /// The times of the opportunities up to an end, all in milliseconds.
    pub fn times(&self, end: u64, mut random: Stream) -> Vec<u64> {
        let mut gaps = Gaps::new(self, random.fork());
        let mut fading = Fading::new(self.rate, self.variation, self.correlation, &mut random.fork());
        let mut fades = random.fork();
        let mut times = Vec::new();
        let mut per_millisecond = 0.0;
        for millisecond in 1..=end {
            if millisecond % 1000 == 1 {
                let rate = fading.next(&mut fades).min(self.peak * self.rate.0 as f64);
                per_millisecond = rate / (OPPORTUNITY * 8 * 1000) as f64;
            }
            let share = (per_millisecond / self.burst).min(1.0);
            if !random.chance(share) || gaps.contains(self, millisecond as f64) {
                continue;
            }
            let mean = per_millisecond / share;
            let size = if mean > 1.0 {
                1.0 + (math::ln(1.0 - random.uniform()) / math::ln(1.0 - 1.0 / mean)).floor()
            } else {
                1.0
            };
            let room = MOST_STEPS as usize - times.len().min(MOST_STEPS as usize);
            times.extend(std::iter::repeat_n(millisecond, (size as usize).min(room)));
        }
        times
    }
}

impl Synthetic for Lte {
    const HAS_OPPORTUNITIES: bool = true;

    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn course(&self, _delay: Time, duration: Time, random: Stream) -> Course {
        let mut course = Course::default();
        // The trace outlasts the run, since its last time ends it, whatever that is.
        let end = duration.0 / 1_000_000 + 1;
        let mut times = self.times(end, random);
        if times.last() != Some(&end) {
            times.push(end);
        }
        course.opportunities = Some(OpportunitySpec { times, ..OpportunitySpec::default() });
        course
    }

    fn steps(&self, duration: Time) -> f64 {
        // A millisecond without an opportunity takes a quarter of the time of one with an opportunity, and no memory.
        let opportunities = self.rate.0 as f64 / (8 * OPPORTUNITY) as f64 * duration.secs();
        opportunities.max(duration.secs() * 250.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Statistics;
    use super::*;

    #[test]
    fn statistics_are_those_of_recorded_traces() {
        // Over four hours, since a rate that is correlated over ten seconds converges slowly.
        let seconds = 14_400;
        let times = Lte::default().times(seconds * 1000, Stream::new(1, 0, "trace:lte"));
        let mut rates = vec![0.0; seconds as usize];
        times.iter().for_each(|time| rates[((time - 1) / 1000) as usize] += (OPPORTUNITY * 8) as f64);
        let statistics = Statistics::of(&rates);
        assert!((statistics.mean / 12e6 - 1.0).abs() < 0.06, "{}", statistics.mean);
        assert!((0.6..0.75).contains(&statistics.variation), "{}", statistics.variation);
        assert!((0.8..0.92).contains(&statistics.correlation), "{}", statistics.correlation);
        // The longest gaps of stretches of 140 s, of which the recorded traces have 0.7 to 1.7 s.
        let mut longest: Vec<u64> = times
            .chunk_by(|one, other| one / 140_000 == other / 140_000)
            .map(|stretch| stretch.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0))
            .collect();
        longest.sort_unstable();
        let (median, high) = (longest[longest.len() / 2], longest[longest.len() * 95 / 100]);
        assert!((250..900).contains(&median) && (700..2500).contains(&high), "{median} {high}");
        let busiest = times.chunk_by(|one, other| one == other).map(<[u64]>::len).max();
        assert!(busiest > Some(20), "{busiest:?}");
    }

    #[test]
    fn without_variation_and_gaps_the_rate_is_constant() {
        let params = Lte { variation: 0.0, gap_every: None, burst: 1.0, ..Lte::default() };
        // 12 Mbit/s are 997.34 opportunities of 12 032 bits per second.
        let times = params.times(100_000, Stream::new(1, 0, "trace:lte"));
        assert!((times.len() as f64 / 99_734.0 - 1.0).abs() < 0.01, "{}", times.len());
    }
}
