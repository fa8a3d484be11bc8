//! RED [floyd1993]: signals congestion at random before the queue is full, depending on its average length.
//!
//! The average is exponentially weighted and decays during idle time as if small packets had passed. Between two
//! thresholds, the probability of a signal rises from 0 to `max_p`. It also increases with the number of packets since
//! the last signal, which spreads signals uniformly. As in ns-2, `gentle` raises the probability further, to 1 at twice
//! the upper threshold [floyd2001]. `adaptive` adjusts `max_p` so that the average stays in the middle between the
//! thresholds [floyd2001]. Nothing is dropped early while at most one packet waits.
//!
//! Departures from [floyd1993]: packets since the last signal are counted from 0, as in its text, so that the gap
//! between two signals is uniform from 1 to 1/p; its figure 2 counts from 1. Idle time is that of the transmitter.
//!
//! [floyd2001] leaves open when its intervals begin. Here, the first one begins with the first packet of the link, and the
//! next one with the packet that ends the interval before, so that results do not depend on when a scenario begins. In
//! ns-2 2.35, the first one begins at time 0, and an interval lasts until `max_p` changes (`lastset` in `red.cc`).

use super::{Arrival, AtArrival, Contradiction, Discipline, Reason, Service, Setup, Verdict};
use dumbbell_units::math::exp;
use dumbbell_units::{Bytes, Limit, Stream, Time, params};

params! {
    /// Random early detection.
    pub struct Red {
        /// Capacity of the queue behind the packet in service.
        limit: Limit = Limit::Unlimited, "packets or bytes", "[floyd1993 §4]";
        /// Lower threshold: average above which packets are marked or dropped; default: half of the packets that the
        /// link sends in `target_delay`, at least 5.
        minimum: Option<Limit> = None, "packets", "[floyd2001]",
            |limit| limit.is_none_or(|limit| matches!(limit, Limit::Packets(1..=1_000_000_000))),
            "packets, such as \"5 packets\"";
        /// Upper threshold: average at which `max_p` is reached; default: three times the lower threshold.
        maximum: Option<Limit> = None, "packets", "[floyd2001]",
            |limit| limit.is_none_or(|limit| matches!(limit, Limit::Packets(1..=1_000_000_000))),
            "packets, such as \"15 packets\"";
        /// Weight of a packet in the average; default: 1 - exp(-1/n) for the n packets that the link sends in a
        /// second.
        weight: Option<f64> = None, "-", "[floyd2001]",
            |weight| weight.is_none_or(|weight| weight > 0.0 && weight <= 1.0), "a number above 0, at most 1";
        /// Probability of a signal at the upper threshold; the initial value if adaptive.
        max_p: f64 = 0.1, "-", "[floyd2001]", |p| *p > 0.0 && *p <= 1.0, "a probability above 0, at most 1";
        /// Above the upper threshold, raise the probability gradually to 1 at twice the threshold.
        gentle: bool = true, "-", "[floyd2001]";
        /// Adapt `max_p` so that the average stays between the thresholds.
        adaptive: bool = true, "-", "[floyd2001]";
        /// Time between two adaptations.
        interval: Time = Time(500_000_000), "s", "[floyd2001]", |interval| interval.0 > 0, "a time above 0";
        /// Target queueing delay; the default lower threshold corresponds to half of it.
        target_delay: Time = Time(5_000_000), "s", "[floyd2001]";
        /// Mean packet size, used by defaults and by the decay during idle time.
        mean_packet: Bytes = Bytes(1000), "bytes", "[floyd1993 §4]",
            |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Mark packets of ECN-capable transports instead of dropping them, up to the average at which all packets are
        /// dropped.
        ecn: bool = true, "-", "RFC 3168 §7";
    }
}

/// Thresholds, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Thresholds {
    minimum: f64,
    maximum: f64,
}

impl Red {
    /// Number of packets of mean size that the link sends in a second.
    fn packets_per_second(&self, setup: &Setup) -> f64 {
        setup.rate.0 as f64 / (8.0 * self.mean_packet.0 as f64)
    }

    fn thresholds(&self, setup: &Setup) -> Thresholds {
        let packets = |limit: Option<Limit>| match limit {
            Some(Limit::Packets(packets)) => Some(packets as f64),
            _ => None,
        };
        let default = (self.target_delay.secs() * self.packets_per_second(setup) / 2.0).max(5.0);
        // A given upper threshold below the default lower one reduces the latter.
        let stated = packets(self.maximum);
        let minimum =
            packets(self.minimum).unwrap_or(stated.map_or(default, |maximum| default.min(maximum / 3.0)));
        Thresholds { minimum, maximum: stated.unwrap_or(3.0 * minimum) }
    }
}

impl Discipline for Red {
    const SUMMARY: &'static str =
        "Random early detection, gentle and adaptive: drops or marks at random, by the average queue.";
    const SOURCE: &'static str = "[floyd1993]";

    fn room(&self) -> Limit {
        self.limit
    }

    fn contradiction(&self, setup: &Setup) -> Option<Contradiction> {
        let Thresholds { minimum, maximum } = self.thresholds(setup);
        if minimum >= maximum {
            return Some(("maximum", format!("packets above the lower threshold, {minimum}")));
        }
        match self.limit {
            Limit::Packets(limit) if (limit as f64) < minimum => {
                Some(("limit", format!("at least the lower threshold, {minimum} packets")))
            }
            _ => None,
        }
    }
}

/// The state of RED.
#[derive(Clone, Debug)]
pub struct Average {
    limit: Limit,
    thresholds: Thresholds,
    weight: f64,
    gentle: bool,
    ecn: bool,
    /// Transmission time of a packet of mean size, at least one nanosecond.
    packet_time: Time,
    /// Average queue, in packets.
    average: f64,
    max_p: f64,
    /// Candidate packets since the last signal; `None` while the average is below the thresholds.
    count: Option<u32>,
    /// Time between two adaptations, and time of the last one or of the first packet; `None` if not adaptive.
    adaptation: Option<(Time, Option<Time>)>,
}

/// Integer power of a number, by squaring.
#[inline]
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    power
}

impl Average {
    /// Updates the average with the current queue, after decay for the packets of mean size that could have been sent
    /// during idle time.
    #[inline]
    fn update(&mut self, arrival: &Arrival) {
        if let Service::IdleSince(since) = arrival.service {
            let packets = arrival.at.since(since).0 / self.packet_time.0;
            self.average *= power(1.0 - self.weight, packets);
        }
        self.average += self.weight * (arrival.waiting.0 as f64 - self.average);
    }

    /// Adapts `max_p` by additive increase and multiplicative decrease [floyd2001].
    #[inline]
    fn adapt(&mut self, now: Time) {
        let Some((interval, last)) = &mut self.adaptation else { return };
        if now.since(*last.get_or_insert(now)) < *interval {
            return;
        }
        *last = Some(now);
        let Thresholds { minimum, maximum } = self.thresholds;
        let part = 0.4 * (maximum - minimum);
        if self.average > maximum - part && self.max_p <= 0.5 {
            self.max_p += (self.max_p / 4.0).min(0.01);
        } else if self.average < minimum + part && self.max_p >= 0.01 {
            self.max_p *= 0.9;
        }
    }

    /// Probability of a signal, regardless of previous packets; 1 above all thresholds.
    fn probability(&self) -> f64 {
        let Thresholds { minimum, maximum } = self.thresholds;
        if self.average < maximum {
            self.max_p * (self.average - minimum) / (maximum - minimum)
        } else if self.gentle && self.average < 2.0 * maximum {
            self.max_p + (1.0 - self.max_p) * (self.average - maximum) / maximum
        } else {
            1.0
        }
    }

    /// True if a packet is chosen, with probability p / (1 - count * p), so that gaps are uniform [floyd1993 §7].
    fn is_chosen(&mut self, probability: f64, random: &mut Stream) -> bool {
        let count = self.count.unwrap_or(0);
        let rest = 1.0 - f64::from(count) * probability;
        let is_chosen = rest <= probability || random.chance(probability / rest);
        self.count = Some(if is_chosen { 0 } else { count.saturating_add(1) });
        is_chosen
    }
}

/// Minimum number of waiting packets for early drops, as in ns-2: an old average must not make the link idle.
const MIN_WAITING: usize = 2;

impl AtArrival for Red {
    type State = Average;

    fn start(&self, setup: &Setup) -> Average {
        let per_second = self.packets_per_second(setup);
        Average {
            limit: self.limit,
            thresholds: self.thresholds(setup),
            weight: self.weight.unwrap_or_else(|| 1.0 - exp(-1.0 / per_second)),
            gentle: self.gentle,
            ecn: self.ecn,
            packet_time: Time::from_secs(1.0 / per_second).max(Time(1)),
            average: 0.0,
            max_p: self.max_p,
            count: None,
            adaptation: self.adaptive.then_some((self.interval, None)),
        }
    }

    #[inline]
    fn admit(state: &mut Average, arrival: &Arrival, random: &mut Stream) -> Verdict {
        state.update(arrival);
        state.adapt(arrival.at);
        let is_busy = matches!(arrival.service, Service::Busy(_));
        let has_room = match state.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => (arrival.waiting.0 as u64) < limit,
            Limit::Bytes(limit) => arrival.waiting.1 + u64::from(arrival.size) <= limit,
        };
        if state.average < state.thresholds.minimum || arrival.waiting.0 < MIN_WAITING {
            state.count = None;
        } else {
            let probability = state.probability();
            if probability >= 1.0 {
                state.count = Some(0);
                return Verdict::Drop(Reason::Early);
            }
            if state.is_chosen(probability, random) {
                let verdict = arrival.signal(state.ecn);
                if verdict != Verdict::Mark || has_room || !is_busy {
                    return verdict;
                }
            }
        }
        if has_room || !is_busy { Verdict::Enqueue } else { Verdict::Drop(Reason::NoRoom) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::{Ecn, Rate};

    fn arrival(at: u64, waiting: usize) -> Arrival {
        let service = Service::Busy(1000);
        Arrival {
            at: Time(at),
            size: 1000,
            flow: 0,
            ecn: Ecn::Ect0,
            waiting: (waiting, 1000 * waiting as u64),
            service,
        }
    }

    fn red(parameters: Red) -> (Average, Stream) {
        (parameters.start(&Setup { rate: Rate(8_000_000) }), Stream::new(1, 0, "red"))
    }

    fn thresholds(minimum: u64, maximum: u64) -> Red {
        let (minimum, maximum) = (Some(Limit::Packets(minimum)), Some(Limit::Packets(maximum)));
        Red { minimum, maximum, adaptive: false, ..Red::default() }
    }

    /// Packets from one mark to the next, including the marked packet, while ten packets are always waiting.
    fn gaps(count: usize, max_p: f64) -> Vec<u64> {
        let (mut state, mut random) = red(Red { weight: Some(1.0), max_p, ..thresholds(5, 15) });
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() < count {
            gap += 1;
            if Red::admit(&mut state, &arrival(0, 10), &mut random) == Verdict::Mark {
                gaps.push(gap);
                gap = 0;
            }
        }
        gaps
    }

    #[test]
    fn marks_are_spread_uniformly() {
        // In the middle between the thresholds, p is half of max_p: 0.05 or 0.02. Gaps are uniform from 1 to 20 or 50.
        // With 19 and 49 degrees of freedom, 43.8 and 85.4 are exceeded with probability 0.001. Gaps between independent
        // marks would be geometric.
        for (max_p, longest, limit) in [(0.1, 20, 43.8), (0.04, 50, 85.4)] {
            let gaps = gaps(40_000, max_p);
            let mut counts = vec![0_u32; longest];
            gaps.iter().for_each(|&gap| counts[gap as usize - 1] += 1);
            let expected = gaps.len() as f64 / longest as f64;
            let excess = counts.iter().map(|&count| f64::from(count) - expected);
            let chi_squared: f64 = excess.map(|excess| excess * excess / expected).sum();
            assert!(chi_squared < limit, "{chi_squared}: {counts:?}");
        }
        // From 1 to 20, the mean is 10.5 and the variance (20 * 20 - 1) / 12 = 33.25.
        let gaps = gaps(40_000, 0.1);
        // Successive gaps are independent.
        let products = gaps.windows(2).map(|pair| (pair[0] as f64 - 10.5) * (pair[1] as f64 - 10.5));
        let correlation = products.sum::<f64>() / gaps.len() as f64 / 33.25;
        assert!(correlation.abs() < 0.02, "{correlation}");
    }

    #[test]
    fn the_probability_rises_gently_to_one_at_twice_the_upper_threshold() {
        let (mut state, _) = red(thresholds(5, 15));
        let mut at = |average| {
            state.average = average;
            state.probability()
        };
        assert_eq!([5.0, 10.0, 15.0, 22.5, 30.0].map(&mut at), [0.0, 0.05, 0.1, 0.55, 1.0]);
        let (mut state, mut random) = red(Red { weight: Some(1.0), gentle: false, ..thresholds(5, 15) });
        assert_eq!(Red::admit(&mut state, &arrival(0, 15), &mut random), Verdict::Drop(Reason::Early));
    }

    #[test]
    fn the_average_decays_during_idle_time() {
        // A packet of 1000 bytes takes one millisecond: 100 of them would pass in 0.1 s, then one arrives, and
        // (1 - 0.01)^101 = 0.362372.
        let (mut state, mut random) = red(Red { weight: Some(0.01), ..thresholds(5, 15) });
        state.average = 10.0;
        let service = Service::IdleSince(Time(100_000_000));
        let idle = Arrival { waiting: (0, 0), service, ..arrival(200_000_000, 0) };
        assert_eq!(Red::admit(&mut state, &idle, &mut random), Verdict::Enqueue);
        assert!((state.average / 10.0 - 0.362_372).abs() < 1e-6, "{}", state.average);
    }

    #[test]
    fn max_p_is_adapted_by_additive_increase_and_multiplicative_decrease() {
        let (mut state, mut random) = red(Red { weight: Some(1.0), adaptive: true, ..thresholds(5, 15) });
        // The target is the middle fifth, 9 to 11 packets. The first interval begins with the first packet.
        for (at, waiting, max_p) in [
            (700, 14, 0.1),
            (1199, 14, 0.1),
            (1200, 14, 0.11),
            (1300, 14, 0.11),
            (1700, 10, 0.11),
            (2200, 6, 0.099),
        ] {
            Red::admit(&mut state, &arrival(at * 1_000_000, waiting), &mut random);
            assert!((state.max_p - max_p).abs() < 1e-12, "{} at {at} ms", state.max_p);
        }
    }

    #[test]
    fn max_p_rises_up_to_a_half_and_falls_down_to_a_hundredth() {
        for (before, waiting, after) in
            [(0.5, 14, 0.51), (0.501, 14, 0.501), (0.01, 6, 0.009), (0.009_9, 6, 0.009_9)]
        {
            let adaptive = Red { weight: Some(1.0), adaptive: true, max_p: before, ..thresholds(5, 15) };
            let (mut state, mut random) = red(adaptive);
            for at in [0, 500] {
                Red::admit(&mut state, &arrival(at * 1_000_000, waiting), &mut random);
            }
            assert!((state.max_p - after).abs() < 1e-12, "{} from {before}", state.max_p);
        }
    }

    #[test]
    fn defaults_follow_the_rate() {
        // 100 Mbit/s correspond to 12,500 packets of 1000 bytes per second, or 62.5 in 5 ms.
        let found = Red::default().thresholds(&Setup { rate: Rate(100_000_000) });
        assert_eq!(found, Thresholds { minimum: 31.25, maximum: 93.75 });
        let found = Red::default().thresholds(&Setup { rate: Rate(1_000_000) });
        assert_eq!(found, Thresholds { minimum: 5.0, maximum: 15.0 });
    }

    #[test]
    fn contradicting_thresholds_are_rejected() {
        let setup = Setup { rate: Rate(1_000_000) };
        assert_eq!(thresholds(9, 9).contradiction(&setup).map(|(field, _)| field), Some("maximum"));
        let small = Red { limit: Limit::Packets(3), ..Red::default() };
        assert_eq!(small.contradiction(&setup).map(|(field, _)| field), Some("limit"));
        assert_eq!(Red::default().contradiction(&setup), None);
    }
}
