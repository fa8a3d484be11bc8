//! A token-bucket policer, as in RFC 2697 §3 for the committed rate: a bucket of `burst` bytes is filled at `rate`. A
//! packet that finds a token for each of its bytes takes them and passes; any other packet is dropped.
//!
//! The policer has no queue. Conforming packets wait only for the transmitter. Its backlog never exceeds one burst,
//! because the policer must not be faster than its link.

use super::tokenbucket::Bucket;
use super::{Arrival, AtArrival, Contradiction, Discipline, Reason, Setup, Verdict};
use dumbbell_units::{Bytes, Rate, Stream, params};

params! {
    /// A token bucket that drops packets beyond its rate and burst.
    pub struct Policer {
        /// Token rate; the initial rate of the link if not given.
        rate: Option<Rate> = None, "bit/s", "RFC 2697 §3",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0, such as \"1.6 Mbit/s\"";
        /// Size of the bucket, which is full at the start: the maximum burst that passes.
        burst: Bytes = Bytes(100_000), "bytes", "RFC 2697 §3",
            |burst| (1..=1 << 40).contains(&burst.0), "a size from 1 byte to 1 TiB";
    }
}

impl Discipline for Policer {
    const SUMMARY: &'static str =
        "A token bucket that drops packets beyond its rate and burst and queues none.";
    const SOURCE: &'static str = "RFC 2697 §3";

    fn contradiction(&self, setup: &Setup) -> Option<Contradiction> {
        let is_faster = self.rate.is_some_and(|rate| rate > setup.rate);
        is_faster.then(|| ("rate", format!("a rate of at most the link's, {}", setup.rate)))
    }

    fn largest_packet(&self) -> Option<(&'static str, Bytes)> {
        Some(("burst", self.burst))
    }
}

impl AtArrival for Policer {
    type State = Bucket;

    fn start(&self, setup: &Setup) -> Bucket {
        Bucket::new(self.rate.unwrap_or(setup.rate), self.burst)
    }

    fn admit(bucket: &mut Bucket, arrival: &Arrival, _random: &mut Stream) -> Verdict {
        bucket.fill(arrival.at);
        if bucket.take(arrival.size) { Verdict::Enqueue } else { Verdict::Drop(Reason::Policer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::Service;
    use dumbbell_units::{Ecn, Time};

    #[test]
    fn one_burst_passes_and_then_the_rate() {
        // A bucket of 3000 bytes at 8 Mbit/s: three packets of 1000 bytes immediately, then exactly one per
        // millisecond.
        let policer = Policer { rate: Some(Rate(8_000_000)), burst: Bytes(3000) };
        let mut bucket = policer.start(&Setup { rate: Rate(10_000_000) });
        let mut random = Stream::new(1, 0, "policer");
        let mut passes = |at| {
            let service = Service::IdleSince(Time::ZERO);
            let arrival =
                Arrival { at: Time(at), size: 1000, flow: 0, ecn: Ecn::NotEct, waiting: (0, 0), service };
            Policer::admit(&mut bucket, &arrival, &mut random) == Verdict::Enqueue
        };
        assert_eq!([0, 0, 0, 0].map(&mut passes), [true, true, true, false]);
        assert_eq!([999_999, 1_000_000, 1_000_001, 1_999_999].map(&mut passes), [false, true, false, false]);
        // Ten milliseconds later the bucket is full again, and not fuller than that.
        assert_eq!([12_000_000; 4].map(&mut passes), [true, true, true, false]);
    }

    #[test]
    fn a_policer_faster_than_its_link_is_rejected() {
        let policer = Policer { rate: Some(Rate(2_000_000)), ..Policer::default() };
        assert_eq!(
            policer.contradiction(&Setup { rate: Rate(1_000_000) }).map(|(field, _)| field),
            Some("rate")
        );
        assert_eq!(policer.contradiction(&Setup { rate: Rate(2_000_000) }), None);
    }
}
