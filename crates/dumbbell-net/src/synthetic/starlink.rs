//! A link over satellites in low orbit that are reassigned every 15 s, as Starlink does.
//!
//! At each reassignment, delay and rate jump, and with a probability all packets are lost for a while. In between,
//! packets are lost at random. Reassignments were observed 12, 27, 42 and 57 s after each full minute [tanveer2023]; a run
//! begins at a full minute. All sizes are assumptions.
//!
//! The delay of the trace is half of the round-trip time of the satellite part, for each direction. Two links with the
//! same seed take the same steps.

use super::Course;
use super::Synthetic;
use crate::changes::{Downtime, LinkChange, Outage};
use crate::impairment::{Bernoulli, ImpairmentSpec};
use dumbbell_units::{Rate, Stream, Time, params};

params! {
    /// A link over satellites in low orbit.
    pub struct Starlink {
        /// Mean rate.
        rate: Rate = Rate(100_000_000), "bit/s", "assumed",
            |rate| (1000..=1_000_000_000_000).contains(&rate.0), "a rate from 1 kbit/s to 1 Tbit/s";
        /// Largest step of the rate up or down, as a fraction of the mean.
        rate_step: f64 = 0.3, "-", "assumed", |step| (0.0..1.0).contains(step), "a fraction from 0, below 1";
        /// Smallest and largest round-trip time; half of it is the delay of a link.
        rtt: Vec<Time> = vec![Time(20_000_000), Time(60_000_000)], "s", "assumed",
            |rtt| matches!(rtt[..], [from, to] if from <= to && to < Time::NEVER), "two times, the smaller first";
        /// Time between reassignments.
        period: Time = Time(15_000_000_000), "s", "[tanveer2023]",
            |t| (1_000_000_000..=3_600_000_000_000).contains(&t.0), "a time from 1 s to an hour";
        /// Time of the first reassignment.
        first: Time = Time(12_000_000_000), "s", "[tanveer2023]", |t| t.0 > 0, "a time above 0";
        /// Probability that packets are lost after a reassignment.
        burst_probability: f64 = 0.3, "-", "assumed", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Shortest and longest time of these losses.
        burst: Vec<Time> = vec![Time(20_000_000), Time(200_000_000)], "s", "assumed",
            |burst| matches!(burst[..], [from, to] if from.0 > 0 && from <= to && to.0 <= 1_000_000_000),
            "two times above 0, the shorter first, up to 1 s";
        /// Probability of losing a packet at any other time.
        loss: f64 = 0.003, "-", "assumed", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Seed of the trace; if not given, the trace differs from run to run and from link to link.
        seed: Option<u64> = None, "-", "-";
    }
}

impl Synthetic for Starlink {
    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn steps(&self, duration: Time) -> f64 {
        duration.secs() / self.period.secs()
    }

    fn course(&self, delay: Time, duration: Time, mut random: Stream) -> Course {
        let mut course = Course::default();
        let bounds = |times: &[Time]| match times {
            [from, to] => (from.secs(), to.secs()),
            _ => (0.0, 0.0),
        };
        let (rtt, burst) = (bounds(&self.rtt), bounds(&self.burst));
        let mut at = Time::ZERO;
        while at < duration {
            let step = random.uniform_between(-self.rate_step, self.rate_step);
            let delay = delay + Time::from_secs(random.uniform_between(rtt.0, rtt.1) / 2.0);
            let rate = Rate((self.rate.0 as f64 * (1.0 + step)) as u64);
            let (loses, length) =
                (random.chance(self.burst_probability), random.uniform_between(burst.0, burst.1));
            if at > Time::ZERO && loses {
                let until = at + Time::from_secs(length);
                course.outages.push(Outage { from: at, until, packets: Downtime::Drop });
            }
            course.changes.push(LinkChange { at, rate: Some(rate), delay: Some(delay) });
            at = if at == Time::ZERO { self.first } else { at + self.period };
        }
        if self.loss > 0.0 {
            course.impairments.push(ImpairmentSpec::Bernoulli(Bernoulli { probability: self.loss }));
        }
        course
    }

    fn loses_packets(&self) -> bool {
        self.loss > 0.0 || self.burst_probability > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::Statistics;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn every_15_seconds_delay_and_rate_take_a_step() {
        let course = Starlink::default().course(
            Time(5_000_000),
            Time(36_000 * SECOND),
            Stream::new(1, 0, "trace:starlink"),
        );
        let at: Vec<u64> = course.changes.iter().map(|change| change.at.0 / SECOND).collect();
        assert_eq!(at[..6], [0, 12, 27, 42, 57, 72]);
        let delays: Vec<f64> =
            course.changes.iter().filter_map(|change| change.delay).map(Time::secs).collect();
        // 5 ms on ground, and 10 to 30 ms to the satellite and back down.
        assert!(delays.iter().all(|delay| (0.015..=0.035).contains(delay)));
        assert!((delays.iter().sum::<f64>() / delays.len() as f64 / 0.025 - 1.0).abs() < 0.02);
        let statistics = Statistics::of_changes(&course, 36_000);
        assert!((statistics.mean / 100e6 - 1.0).abs() < 0.01, "{}", statistics.mean);
        // Uniform from -0.3 to 0.3: 0.6 / sqrt(12). One of 15 seconds differs from the one before it.
        assert!((statistics.variation / 0.173 - 1.0).abs() < 0.05, "{}", statistics.variation);
        assert!((statistics.correlation / (14.0 / 15.0) - 1.0).abs() < 0.02, "{}", statistics.correlation);
        let lengths: Vec<f64> =
            course.outages.iter().map(|outage| outage.until.since(outage.from).secs()).collect();
        assert!(lengths.iter().all(|length| (0.02..=0.2).contains(length)));
        assert!((lengths.len() as f64 / (2400.0 * 0.3) - 1.0).abs() < 0.1, "{}", lengths.len());
        assert!(course.outages.iter().all(|outage| at.contains(&(outage.from.0 / SECOND))));
    }
}
