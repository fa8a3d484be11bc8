//! HyStart++ [RFC 9406 §4], which ends slow start when a queue builds, before it overflows.
//!
//! A round whose minimum round-trip time is some milliseconds above that of the previous round begins a conservative
//! slow start with a quarter of the growth. If the round-trip time falls again, it was a false alarm, and slow start
//! continues; after five rounds, congestion avoidance begins at the current window. This applies only to the slow start
//! at the beginning of a connection; later ones are standard.
//!
//! Where it departs: the sample of the acknowledgement that ends a round counts for that round, and may decide on it.
//! The first round begins with the first acknowledgement.

use super::{SlowStart, Step};
use crate::{Ack, Congestion, Context};
use dumbbell_units::{Time, params};

params! {
    /// Parameters of HyStart++.
    pub struct HyStartParams {
        /// Minimum significant rise of the round-trip time.
        min_threshold: Time = Time(4_000_000), "s", "[RFC 9406 §4.3]";
        /// Maximum required rise.
        max_threshold: Time = Time(16_000_000), "s", "[RFC 9406 §4.3]";
        /// Between these, the required rise is the round-trip time divided by this.
        divisor: u64 = 8, "-", "[RFC 9406 §4.3]", |divisor| *divisor > 0, "a whole number above 0";
        /// Minimum number of samples of a round before it is evaluated.
        samples: u64 = 8, "-", "[RFC 9406 §4.3]";
        /// Divisor of the growth in the conservative slow start.
        growth_divisor: f64 = 4.0, "-", "[RFC 9406 §4.3]", |divisor| *divisor >= 1.0, "a number, at least 1";
        /// Number of rounds of the conservative slow start.
        rounds: u64 = 5, "-", "[RFC 9406 §4.3]", |rounds| *rounds > 0, "a whole number above 0";
        /// Maximum growth per acknowledgement.
        limit: f64 = 8.0, "segments", "[RFC 9406 §4.3]", |limit| *limit >= 1.0, "a number of segments, at least 1";
    }
}

/// The conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// Minimum round-trip time of the round that began it.
    baseline: Time,
    /// Number of its rounds that have ended.
    rounds: u64,
}

/// The state of HyStart++.
#[derive(Clone, Debug)]
pub struct HyStart {
    params: HyStartParams,
    /// First byte after the round.
    round_end: Option<u64>,
    last_minimum: Time,
    minimum: Time,
    samples: u64,
    conservative: Option<Conservative>,
    /// True once slow start has ended, by itself or by congestion.
    is_over: bool,
}

impl HyStart {
    fn on_sample(&mut self, rtt: Time) {
        self.minimum = self.minimum.min(rtt);
        self.samples += 1;
        if self.samples < self.params.samples {
            return;
        }
        match self.conservative {
            Some(Conservative { baseline, .. }) if self.minimum < baseline => self.conservative = None,
            None if self.last_minimum < Time::NEVER => {
                let share = Time(self.last_minimum.0 / self.params.divisor);
                let threshold = share.min(self.params.max_threshold).max(self.params.min_threshold);
                if self.minimum >= self.last_minimum + threshold {
                    self.conservative = Some(Conservative { baseline: self.minimum, rounds: 0 });
                }
            }
            _ => {}
        }
    }

    /// A round ended; true if it was the last one.
    fn on_round_end(&mut self, next_end: u64) -> bool {
        self.round_end = Some(next_end);
        self.last_minimum = self.minimum;
        self.minimum = Time::NEVER;
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds >= self.params.rounds
    }
}

impl SlowStart for HyStart {
    type Params = HyStartParams;
    const SUMMARY: &'static str =
        "Left when the round-trip time of a round rises, after rounds of slower growth.";
    const SOURCE: &'static str = "[RFC 9406 §4]";

    fn new(params: &HyStartParams, _now: Time) -> Self {
        HyStart {
            params: *params,
            round_end: None,
            last_minimum: Time::NEVER,
            minimum: Time::NEVER,
            samples: 0,
            conservative: None,
            is_over: false,
        }
    }

    fn on_ack(&mut self, standard: f64, context: &Context, ack: &Ack) -> Step {
        if self.is_over {
            return Step::Grow(standard);
        }
        let round_end = *self.round_end.get_or_insert(context.snd_nxt);
        if let Some(rtt) = ack.rtt {
            self.on_sample(rtt);
        }
        let mut growth = (ack.acked as f64).min(self.params.limit * context.mss);
        if self.conservative.is_some() {
            growth /= self.params.growth_divisor;
        }
        self.is_over = ack.ack >= round_end && self.on_round_end(context.snd_nxt.max(ack.ack));
        if self.is_over { Step::Leave(growth) } else { Step::Grow(growth) }
    }

    fn on_congestion(&mut self, _context: &Context, _congestion: &Congestion) {
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolbox::RenoWindow;
    use crate::{Setup, Signal, SlowStartSpec, WindowRules};

    const MSS: f64 = 1000.0;

    struct Connection {
        window: RenoWindow,
        una: u64,
        nxt: u64,
        round_end: u64,
    }

    impl Connection {
        fn new() -> Self {
            let slow_start = SlowStartSpec::HyStart(HyStartParams::default());
            let rules = WindowRules { slow_start, ..WindowRules::default() };
            let window = RenoWindow::new(&Setup::new(Time::ZERO, MSS, 10.0 * MSS).with_rules(rules));
            Connection { window, una: 0, nxt: 10_000, round_end: 10_000 }
        }

        /// Acknowledges segment by segment up to this byte, and sends what the window allows. Returns the window in
        /// segments.
        fn acknowledge(&mut self, end: u64, microseconds: u64) -> f64 {
            while self.una < end {
                let context = Context::new(Time::ZERO, MSS).with_sent(self.una, self.nxt);
                self.una += MSS as u64;
                let ack = Ack::new(self.una, MSS as u64).with_rtt(Some(Time(microseconds * 1000)));
                self.window.increase(&context, &ack);
                self.round_end = self.nxt;
                self.nxt = self.una + (self.window.cwnd / MSS).floor() as u64 * MSS as u64;
            }
            self.window.cwnd / MSS
        }

        /// Acknowledges the data sent before the end of the previous round.
        fn round(&mut self, microseconds: u64) -> f64 {
            self.acknowledge(self.round_end, microseconds)
        }
    }

    #[test]
    fn the_rise_that_counts_is_an_eighth_from_4_to_16_ms() {
        // 200 ms: an eighth is 25 ms, so 16 ms. 20 ms: 2.5 ms, so 4 ms. 100 ms: 12.5 ms.
        for (before, rise) in [(200_000, 16_000), (20_000, 4_000), (100_000, 12_500)] {
            // The first round ends when 28 segments have been sent. The eighth of the 18 samples of the second begins
            // the slower growth: 20 + 7 + 11 / 4 = 29.75.
            for (now, grown) in [(before + rise - 1, 38.0), (before + rise, 29.75)] {
                let mut connection = Connection::new();
                assert_eq!(connection.round(before), 20.0);
                assert_eq!(connection.round(now), grown);
            }
        }
    }

    #[test]
    fn congestion_avoidance_begins_after_five_conservative_rounds() {
        let mut connection = Connection::new();
        connection.round(100_000);
        // The round that begins it is the first of the five.
        let windows: Vec<f64> = (0..5).map(|_| connection.round(120_000)).collect();
        // A quarter of the segments sent before the end of the previous round: 28, 35, 44 and 55.
        assert_eq!(windows, [29.75, 36.75, 45.5, 56.5, 70.25]);
        assert_eq!(connection.window.ssthresh, 70_250.0);
        // One segment per round trip.
        assert!(connection.round(120_000) < 71.3);
    }

    #[test]
    fn a_round_trip_time_that_falls_again_was_a_false_alarm() {
        let mut connection = Connection::new();
        connection.round(100_000);
        assert_eq!(connection.round(120_000), 29.75);
        // The eighth of 28 samples ends the alarm: 29.75 + 7 / 4 + 21 = 52.5.
        assert_eq!(connection.round(110_000), 52.5);
        assert_eq!(connection.window.ssthresh, f64::INFINITY);
    }

    #[test]
    fn a_later_slow_start_is_the_standard_one() {
        let mut connection = Connection::new();
        connection.round(100_000);
        let context = Context::new(Time::ZERO, MSS).with_sent(connection.una, connection.nxt);
        connection.window.halve(&context, &Congestion::new(Signal::Timeout));
        // 18 segments in flight leave a threshold of 9, below which an acknowledgement adds one segment, whatever the
        // round-trip time.
        let windows = [(1, 100_000), (3, 150_000), (7, 200_000)]
            .map(|(segments, rtt)| connection.acknowledge(10_000 + segments * 1000, rtt));
        assert_eq!(windows, [2.0, 4.0, 8.0]);
    }
}
