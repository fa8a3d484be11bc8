//! The first HyStart, as in the CUBIC of Linux [linux6 tcp_cubic.c].
//!
//! Slow start ends at the current window when one of two signs shows that the path is full: the acknowledgements of a
//! round trip arrive back to back for more than half of the minimum round-trip time, or the round-trip time of a round is
//! above the minimum by an eighth of it, at least 4 ms and at most 16 ms. A slow start after a timeout begins afresh.
//!
//! The acknowledgement that ends slow start belongs to congestion avoidance already.
//!
//! Where every round-trip time is reported, as under the rules of Linux, each counts: also those of a recovery and of
//! acknowledgements that only report. Then the window is judged, and slow start is left once until a timeout. Elsewhere,
//! acknowledgements that grow the window count, and the bytes in flight are judged.

use super::{SlowStart, Step};
use crate::{Ack, Congestion, Context};
use dumbbell_units::{Time, params};

/// Linux grants a paced connection at most this time in addition, for segments sent back to back.
const CUSHION: Time = Time(1_000_000);

params! {
    /// Parameters of the first HyStart.
    pub struct ClassicHyStartParams {
        /// Smallest window that is left.
        low_window: u64 = 16, "segments", "[linux6 tcp_cubic.c]";
        /// Leave slow start by the length of trains of acknowledgements.
        train: bool = true, "-", "[linux6 tcp_cubic.c]";
        /// Largest gap within a train.
        gap: Time = Time(2_000_000), "s", "[linux6 tcp_cubic.c]";
        /// Require a train of a full round-trip time plus 1 ms, as Linux does for a paced connection.
        paced: bool = false, "-", "[linux6 tcp_cubic.c]";
        /// Added to the minimum round-trip time before it is halved, for segments sent back to back.
        cushion: Time = Time(0), "s", "[linux6 tcp_cubic.c]";
        /// Leave slow start by the round-trip time.
        delay: bool = true, "-", "[linux6 tcp_cubic.c]";
        /// Minimum significant rise of the round-trip time.
        min_threshold: Time = Time(4_000_000), "s", "[linux6 tcp_cubic.c]";
        /// Maximum required rise.
        max_threshold: Time = Time(16_000_000), "s", "[linux6 tcp_cubic.c]";
        /// Between these, the required rise is the round-trip time divided by this.
        divisor: u64 = 8, "-", "[linux6 tcp_cubic.c]", |divisor| *divisor > 0, "a whole number above 0";
        /// Number of samples of a round before it is evaluated.
        samples: u64 = 8, "-", "[linux6 tcp_cubic.c]";
    }
}

impl ClassicHyStartParams {
    /// Those of Linux, which grants a connection that is not paced a half of the same time.
    pub fn linux() -> Self {
        ClassicHyStartParams { cushion: CUSHION, ..Self::default() }
    }
}

/// The state of the first HyStart.
#[derive(Clone, Debug)]
pub struct ClassicHyStart {
    params: ClassicHyStartParams,
    /// Last byte sent when the round began.
    round_end: u64,
    round_begun: Time,
    /// Last acknowledgement of the train that began with the round.
    train: Time,
    /// Minimum round-trip times of the slow start and of the round.
    delay_min: Time,
    minimum: Time,
    samples: u64,
    /// True if every round-trip time is reported.
    is_sampled: bool,
    /// True if slow start was left since the last timeout.
    has_left: bool,
}

impl ClassicHyStart {
    fn begin_round(&mut self, end: u64, now: Time) {
        self.round_end = end;
        (self.round_begun, self.train) = (now, now);
        self.minimum = Time::NEVER;
        self.samples = 0;
    }

    /// True if a sample shows that the path is full, with so many bytes acknowledged and this window.
    fn is_full(&mut self, rtt: Time, acknowledged: u64, window: f64, context: &Context) -> bool {
        let now = context.now;
        if acknowledged > self.round_end {
            self.begin_round(context.snd_nxt.max(acknowledged), now);
        }
        if window < self.params.low_window as f64 * context.mss {
            return false;
        }
        let mut is_full = false;
        if self.params.train && now.since(self.train) <= self.params.gap {
            self.train = now;
            let most = if self.params.paced {
                self.delay_min + CUSHION
            } else {
                Time((self.delay_min + self.params.cushion).0 / 2)
            };
            is_full = now.since(self.round_begun) > most;
        }
        if self.params.delay {
            self.minimum = self.minimum.min(rtt);
            if self.samples < self.params.samples {
                self.samples += 1;
            } else {
                let share = Time(self.delay_min.0 / self.params.divisor);
                let rise = share.min(self.params.max_threshold).max(self.params.min_threshold);
                is_full |= self.minimum > self.delay_min + rise;
            }
        }
        is_full
    }
}

impl SlowStart for ClassicHyStart {
    type Params = ClassicHyStartParams;
    const SUMMARY: &'static str =
        "Left when ACKs arrive back to back or the round-trip time rises, as in Linux.";
    const SOURCE: &'static str = "[linux6 tcp_cubic.c]";

    fn new(params: &ClassicHyStartParams, now: Time) -> Self {
        ClassicHyStart {
            params: *params,
            round_end: 0,
            round_begun: now,
            train: now,
            delay_min: Time::NEVER,
            minimum: Time::NEVER,
            samples: 0,
            is_sampled: false,
            has_left: false,
        }
    }

    fn on_ack(&mut self, standard: f64, context: &Context, ack: &Ack) -> Step {
        let Some(rtt) = ack.rtt.filter(|_| !self.is_sampled) else { return Step::Grow(standard) };
        self.delay_min = self.delay_min.min(rtt);
        let is_full = self.is_full(rtt, ack.ack, context.flight_size, context);
        if is_full { Step::Leave(0.0) } else { Step::Grow(standard) }
    }

    fn on_sample(&mut self, rtt: Time, window: f64, is_below: bool, context: &Context) -> bool {
        self.is_sampled = true;
        self.delay_min = self.delay_min.min(rtt);
        let leaves = is_below && !self.has_left && self.is_full(rtt, context.snd_una, window, context);
        self.has_left |= leaves;
        leaves
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if congestion.signal.restarts() {
            self.delay_min = Time::NEVER;
            self.has_left = false;
            self.begin_round(if self.is_sampled { context.snd_nxt } else { 0 }, context.now);
        }
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
    }

    impl Connection {
        fn new(params: ClassicHyStartParams, segments: u64) -> Self {
            let slow_start = SlowStartSpec::ClassicHyStart(params);
            let rules = WindowRules { slow_start, ..WindowRules::default() };
            let nxt = segments * MSS as u64;
            let window = RenoWindow::new(&Setup::new(Time::ZERO, MSS, nxt as f64).with_rules(rules));
            Connection { window, una: 0, nxt }
        }

        /// An ACK of a segment at this time; the window in segments.
        fn acknowledge(&mut self, microseconds: u64, rtt: u64) -> f64 {
            let context = Context::new(Time(microseconds * 1000), MSS).with_sent(self.una, self.nxt);
            self.una += MSS as u64;
            let ack = Ack::new(self.una, MSS as u64).with_rtt(Some(Time(rtt * 1000)));
            self.window.increase(&context, &ack);
            self.nxt = self.una + self.window.cwnd as u64;
            self.window.cwnd / MSS
        }
    }

    #[test]
    fn slow_start_ends_when_the_round_trip_time_has_risen_by_an_eighth_from_4_to_16_ms() {
        for (before, rise) in [(200_000, 16_000), (20_000, 4_000), (100_000, 12_500)] {
            // 19 segments are sent, and the ACK of the first begins the first round; its samples are no rise. The ACK of
            // the 20th begins the second: 8 samples, and the ninth decides.
            for (above, window) in [(0, 47.0), (1, 46.0)] {
                let params = ClassicHyStartParams { train: false, ..ClassicHyStartParams::default() };
                let mut connection = Connection::new(params, 19);
                let first: Vec<f64> = (0..19).map(|_| connection.acknowledge(0, before)).collect();
                assert_eq!(first[18], 38.0);
                let second: Vec<f64> =
                    (0..9).map(|_| connection.acknowledge(300_000, before + rise + above)).collect();
                assert_eq!((second[7], second[8]), (46.0, window));
                assert_eq!(connection.window.ssthresh.is_finite(), above == 1);
            }
        }
    }

    #[test]
    fn slow_start_ends_when_acknowledgements_arrive_back_to_back_for_half_a_round_trip_time() {
        let left_at = |paced, gap: u64| {
            let mut connection = Connection::new(ClassicHyStartParams { paced, ..Default::default() }, 20);
            let mut at = 0;
            while at < 100_000 && connection.window.ssthresh.is_infinite() {
                connection.acknowledge(at, 20_000);
                connection.una -= 1000;
                at += gap;
            }
            at - gap
        };
        // 2 ms apart: more than 10 ms after the first, or than 21 ms.
        assert_eq!((left_at(false, 2000), left_at(true, 2000)), (12_000, 22_000));
        // Longer gaps are no train.
        assert!(left_at(false, 2001) > 90_000);
    }

    #[test]
    fn a_sample_of_a_recovery_ends_slow_start_at_the_window_once_until_a_timeout() {
        let mut connection = Connection::new(ClassicHyStartParams::default(), 20);
        let sample = |connection: &mut Connection, milliseconds: u64, inflation| {
            let mut context =
                Context::new(Time(milliseconds * 1_000_000), MSS).with_sent(connection.una, connection.nxt);
            context.inflation = inflation;
            connection.window.on_sample(&context, Time(20_000_000));
            (connection.window.cwnd / MSS, connection.window.ssthresh / MSS)
        };
        connection.una = 1000;
        sample(&mut connection, 0, 0.0);
        let lose = |connection: &mut Connection, window| {
            let loss = Congestion::new(Signal::FastRetransmit);
            connection.window.reduce(window, window, &Context::new(Time::ZERO, MSS), &loss);
        };
        // The window of the recovery is two segments below the threshold. A train of more than 10 ms ends slow start.
        lose(&mut connection, 30e3);
        for milliseconds in [2, 4, 6, 8, 10] {
            assert_eq!(sample(&mut connection, milliseconds, -2e3), (30.0, 30.0));
        }
        assert_eq!(sample(&mut connection, 12, -2e3), (28.0, 28.0));
        lose(&mut connection, 30e3);
        assert_eq!(sample(&mut connection, 14, -2e3), (30.0, 30.0));
        // After a timeout, the round lasts until all that was sent before is acknowledged.
        let context = Context::new(Time(20_000_000), MSS).with_sent(1000, 20_000).with_loss_window(20e3);
        connection.window.halve(&context, &Congestion::new(Signal::Timeout));
        connection.window.ssthresh = 40e3;
        for milliseconds in [22, 24, 26, 28, 30] {
            assert_eq!(sample(&mut connection, milliseconds, 0.0), (20.0, 40.0));
        }
        assert_eq!(sample(&mut connection, 32, 0.0), (20.0, 20.0));
    }

    #[test]
    fn a_window_below_16_segments_is_not_left_and_a_timeout_begins_afresh() {
        let mut connection = Connection::new(ClassicHyStartParams::default(), 3);
        connection.acknowledge(0, 10_000);
        for _ in 0..12 {
            connection.acknowledge(1000, 100_000);
        }
        assert_eq!((connection.window.cwnd, connection.window.ssthresh), (16_000.0, f64::INFINITY));
        let context = Context::new(Time::ZERO, MSS).with_sent(0, 200_000);
        connection.window.halve(&context, &Congestion::new(Signal::Timeout));
        // The minimum of 10 ms is forgotten: 100 ms are no rise.
        for number in 0..50 {
            connection.acknowledge(2_000_000 + number * 5_000, 100_000);
        }
        assert_eq!((connection.window.cwnd, connection.window.ssthresh), (51_000.0, 100_000.0));
    }
}
