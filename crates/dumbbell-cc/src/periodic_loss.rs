//! A congestion control on a path of constant round-trip time that loses one segment in so many, for tests.

use crate::{Ack, Algorithm, AlgorithmSpec, Congestion, Context, GrowPer, Setup, Signal, WindowRules};
use dumbbell_units::Time;

const MSS: f64 = 1000.0;

/// Losses before the average begins.
const SKIPPED: u32 = 25;

/// Losses in the average.
const COUNTED: u32 = 10;

/// Acknowledgements of a round trip, at most; each delivers as many segments as necessary.
const ACKS: f64 = 64.0;

/// Mean window in segments, over time, if one segment is lost after each `interval` delivered and the reaction is
/// immediate. The round-trip time is `rtt` seconds, and the first loss finds a window of `start` segments.
pub(crate) fn mean_window(spec: &AlgorithmSpec, rtt: f64, interval: f64, start: f64) -> f64 {
    let rules = WindowRules { grow_per: GrowPer::Segment, ..WindowRules::default() };
    let setup = Setup::new(Time::ZERO, MSS, start * MSS).with_initial_ssthresh(2.0 * MSS).with_rules(rules);
    let mut algorithm = Algorithm::new(spec, &setup);
    let (mut now, mut una, mut delivered) = (0.0, 0.0, interval);
    let (mut losses, mut area, mut duration) = (0, 0.0, 0.0);
    while losses < SKIPPED + COUNTED {
        let window = algorithm.cwnd();
        let segments = (window / (MSS * ACKS)).ceil();
        let step = rtt * segments * MSS / window;
        now += step;
        if losses >= SKIPPED {
            area += window / MSS * step;
            duration += step;
        }
        let bytes = (segments * MSS) as u64;
        let context = Context::new(Time::from_secs(now), MSS)
            .with_sent(una as u64, (una + window) as u64)
            .with_flight_size(window)
            .with_rtts(rtt, rtt);
        una += segments * MSS;
        delivered += segments;
        if delivered >= interval {
            delivered -= interval;
            losses += 1;
            algorithm.on_congestion(&context, &Congestion::new(Signal::FastRetransmit));
        } else {
            let ack = Ack::new(una as u64, bytes).with_rtt(Some(Time::from_secs(rtt)));
            algorithm.on_ack(&context, &ack);
        }
    }
    area / duration
}
