//! A link over a geostationary satellite: a long delay, and optionally a rate that fades with the weather.
//!
//! The defaults, 250 Mbit/s and 300 ms one way, are the profile of a downlink that implementations of QUIC are tested
//! with; its uplink has 3 Mbit/s.

use super::Course;
use super::{Fading, Synthetic, to_rate};
use crate::changes::LinkChange;
use dumbbell_units::{Rate, Stream, Time, params};

params! {
    /// A link over a geostationary satellite.
    pub struct Geo {
        /// Mean rate.
        rate: Rate = Rate(250_000_000), "bit/s", "-",
            |rate| (1000..=1_000_000_000_000).contains(&rate.0), "a rate from 1 kbit/s to 1 Tbit/s";
        /// Delay to the satellite and down again.
        delay: Time = Time(300_000_000), "s", "-", |t| *t < Time::NEVER, "a time";
        /// Coefficient of variation of the rate in slots of one second.
        variation: f64 = 0.0, "-", "-", |v| (0.0..=3.0).contains(v), "a number from 0 to 3";
        /// Correlation of the logarithm of the rate with that of the second before.
        correlation: f64 = 0.98, "-", "-", |phi| (0.0..1.0).contains(phi), "a fraction from 0, below 1";
        /// Seed of the trace; if not given, the trace differs from run to run and from link to link.
        seed: Option<u64> = None, "-", "-";
    }
}

impl Synthetic for Geo {
    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn steps(&self, duration: Time) -> f64 {
        duration.secs()
    }

    fn course(&self, delay: Time, duration: Time, mut random: Stream) -> Course {
        let mut course = Course::default();
        let delay = Some(delay + self.delay);
        course.changes.push(LinkChange { at: Time::ZERO, rate: Some(self.rate), delay });
        if self.variation == 0.0 {
            return course;
        }
        course.changes.clear();
        let mut fading = Fading::new(self.rate, self.variation, self.correlation, &mut random);
        for second in 0..=duration.0 / 1_000_000_000 {
            course.changes.push(to_rate(Time(second * 1_000_000_000), fading.next(&mut random)));
        }
        if let Some(first) = course.changes.first_mut() {
            first.delay = delay;
        }
        course
    }
}

#[cfg(test)]
mod tests {
    use super::super::Statistics;
    use super::*;

    #[test]
    fn the_rate_is_constant_unless_it_varies() {
        let of = |params: Geo, seconds: u64| {
            params.course(Time(1_000_000), Time(seconds * 1_000_000_000), Stream::new(1, 0, "trace:geo"))
        };
        let constant = of(Geo::default(), 60);
        let change =
            LinkChange { at: Time::ZERO, rate: Some(Rate(250_000_000)), delay: Some(Time(301_000_000)) };
        assert_eq!(constant.changes, [change]);
        let fading = of(Geo { variation: 0.3, correlation: 0.9, ..Geo::default() }, 36_000);
        let statistics = Statistics::of_changes(&fading, 36_000);
        assert!((statistics.mean / 250e6 - 1.0).abs() < 0.02, "{}", statistics.mean);
        assert!((statistics.variation / 0.3 - 1.0).abs() < 0.05, "{}", statistics.variation);
        assert!((statistics.correlation - 0.9).abs() < 0.02, "{}", statistics.correlation);
    }
}
