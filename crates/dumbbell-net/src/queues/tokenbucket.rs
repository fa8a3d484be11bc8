//! A token-bucket shaper, as `tbf` in Linux: a bucket of `burst` bytes is filled at `rate`, and a packet departs when
//! the bucket has a token for each of its bytes.
//!
//! Packets wait in a first-in, first-out queue, so that in any period of T seconds at most `rate` T plus `burst` bytes
//! begin their transmission. With `peak_rate`, a second bucket of `peak_burst` bytes limits the bursts themselves. Both
//! buckets are full at the start. Tokens are counted exactly.
//!
//! Departures: bytes are those on the wire; Linux counts Ethernet headers. The limit is a size, not a latency. On a link
//! with delivery opportunities, packets use the first opportunity after the buckets have their tokens.

use super::{AtDeparture, Backlog, Contradiction, Discipline, Fifo, Queued, Reason, Setup, Slot, has_room};
use dumbbell_units::{Bytes, Limit, Rate, Stream, Time, params};

params! {
    /// A shaper that delays packets beyond its rate and burst.
    pub struct TokenBucket {
        /// Token rate; the initial rate of the link if not given.
        rate: Option<Rate> = None, "bit/s", "[linux6 sch_tbf]",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0, such as \"1.6 Mbit/s\"";
        /// Size of the bucket, which is full at the start: the maximum burst that passes at once.
        burst: Bytes = Bytes(100_000), "bytes", "[linux6 sch_tbf]",
            |burst| (1..=1 << 40).contains(&burst.0), "a size from 1 byte to 1 TiB";
        /// Capacity of the queue; packets that do not fit are dropped on arrival.
        limit: Limit = Limit::Packets(1000), "packets or bytes", "[linux6 sch_tbf]";
        /// Rate of a second bucket, which limits bursts; the rate of the link if not given.
        peak_rate: Option<Rate> = None, "bit/s", "[linux6 sch_tbf]",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0, such as \"1.6 Mbit/s\"";
        /// Size of the second bucket, at least the largest packet.
        peak_burst: Option<Bytes> = None, "bytes", "[linux6 sch_tbf]",
            |burst| burst.is_none_or(|burst| (1..=1 << 40).contains(&burst.0)), "a size from 1 byte to 1 TiB";
    }
}

/// Size of the second bucket if only its rate is given.
const PEAK_BURST: Bytes = Bytes(1514);

impl Discipline for TokenBucket {
    const SUMMARY: &'static str = "A token-bucket shaper: packets beyond its rate and burst wait.";
    const SOURCE: &'static str = "[linux6 sch_tbf]";

    fn contradiction(&self, setup: &Setup) -> Option<Contradiction> {
        let rate = self.rate.unwrap_or(setup.rate);
        if rate > setup.rate {
            return Some(("rate", format!("a rate of at most the link's, {}", setup.rate)));
        }
        match (self.peak_rate, self.peak_burst) {
            (None, Some(_)) => Some(("peak_burst", "nothing without peak_rate".to_owned())),
            (Some(peak), _) if peak < rate || peak > setup.rate => {
                Some(("peak_rate", format!("a rate from {rate} to the link's, {}", setup.rate)))
            }
            _ => None,
        }
    }

    fn largest_packet(&self) -> Option<(&'static str, Bytes)> {
        let peak = self.peak_rate.map(|_| self.peak_burst.unwrap_or(PEAK_BURST));
        match peak {
            Some(peak) if peak < self.burst => Some(("peak_burst", peak)),
            _ => Some(("burst", self.burst)),
        }
    }
}

/// Token units per byte, so that one bit per second adds one unit per nanosecond.
const PARTS: u128 = 8_000_000_000;

/// A token bucket, which is full at the start.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: u128,
    size: u128,
    tokens: u128,
    /// Time up to which tokens have been added.
    filled: Time,
}

impl Bucket {
    /// A bucket of this size, filled at this rate.
    pub(super) fn new(rate: Rate, size: Bytes) -> Self {
        let size = u128::from(size.0) * PARTS;
        Bucket { rate: u128::from(rate.0), size, tokens: size, filled: Time::ZERO }
    }

    /// Adds the tokens until `now`.
    pub(super) fn fill(&mut self, now: Time) {
        let arrived = self.rate * u128::from(now.since(self.filled).0);
        self.tokens = (self.tokens + arrived).min(self.size);
        self.filled = now;
    }

    /// The time at which it has a token for each of so many bytes.
    fn ready(&self, bytes: u32) -> Time {
        let missing = (u128::from(bytes) * PARTS).saturating_sub(self.tokens);
        self.filled + Time(u64::try_from(missing.div_ceil(self.rate)).unwrap_or(u64::MAX))
    }

    /// Takes a token for each of so many bytes. False if it has fewer.
    pub(super) fn take(&mut self, bytes: u32) -> bool {
        let rest = self.tokens.checked_sub(u128::from(bytes) * PARTS);
        self.tokens = rest.unwrap_or(self.tokens);
        rest.is_some()
    }
}

/// The queue with its buckets.
#[derive(Clone, Debug)]
pub struct Shaper {
    bucket: Bucket,
    peak: Option<Bucket>,
    limit: Limit,
    queue: Fifo,
    ready: Time,
}

impl AtDeparture for TokenBucket {
    type State = Shaper;

    fn start(&self, setup: &Setup, _random: &mut Stream) -> Shaper {
        Shaper {
            bucket: Bucket::new(self.rate.unwrap_or(setup.rate), self.burst),
            peak: self.peak_rate.map(|rate| Bucket::new(rate, self.peak_burst.unwrap_or(PEAK_BURST))),
            limit: self.limit,
            queue: Fifo::default(),
            ready: Time::NEVER,
        }
    }

    #[inline]
    fn enqueue(state: &mut Shaper, _now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        if has_room(state.limit, (state.queue.packets(), state.queue.bytes()), packet.size) {
            backlog.push(&mut state.queue, packet);
        } else {
            backlog.drop_arriving(packet, Reason::NoRoom);
        }
    }

    #[inline]
    fn dequeue(state: &mut Shaper, now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        let size = backlog.first(&state.queue)?.size;
        let mut buckets = [Some(&mut state.bucket), state.peak.as_mut()];
        buckets.iter_mut().flatten().for_each(|bucket| bucket.fill(now));
        state.ready = buckets.iter().flatten().map(|bucket| bucket.ready(size)).max().unwrap_or(now);
        if state.ready > now {
            return None;
        }
        buckets.into_iter().flatten().for_each(|bucket| {
            bucket.take(size);
        });
        backlog.pop(&mut state.queue)
    }

    #[inline]
    fn ready(state: &Shaper) -> Time {
        state.ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::QueueSpec;
    use crate::{ClockedLink, LinkSpec, Packet};
    use dumbbell_units::Interval;

    const ALWAYS: Interval = Interval { from: Time::ZERO, until: Time::NEVER };

    fn link(queue: TokenBucket) -> ClockedLink<u32> {
        let queue = QueueSpec::TokenBucket(queue);
        let spec = LinkSpec { rate: Rate(80_000_000), queue, ..LinkSpec::default() };
        ClockedLink::new(&spec, Stream::new(1, 0, "shaper"), ALWAYS)
    }

    /// Ends of transmissions, and sizes.
    fn drain(link: &mut ClockedLink<u32>, until: Time) -> Vec<(Time, u32)> {
        let mut ends = Vec::new();
        while link.next_departure() <= until && link.next_departure() < Time::NEVER {
            let at = link.next_departure();
            ends.extend(std::iter::from_fn(|| link.poll_arrival(at)).map(|(at, packet)| (at, packet.size)));
        }
        ends
    }

    #[test]
    fn a_burst_departs_at_the_rate_of_the_link_and_the_rest_at_that_of_the_bucket() {
        // 1000 bytes take 0.1 ms at 80 Mbit/s, and their tokens 1 ms at 8 Mbit/s. A bucket of 3000 bytes passes three
        // packets at once. During their 0.3 ms, 300 tokens arrive: the fourth begins at 1 ms, the fifth at 2 ms.
        let mut link =
            link(TokenBucket { rate: Some(Rate(8_000_000)), burst: Bytes(3000), ..TokenBucket::default() });
        (0..5).for_each(|number| link.enqueue(Time::ZERO, &Packet::of_size(1000, number)));
        let ends: Vec<u64> = drain(&mut link, Time::NEVER).iter().map(|(at, _)| at.0 / 100_000).collect();
        assert_eq!(ends, [1, 2, 3, 11, 21]);
    }

    #[test]
    fn the_peak_rate_spaces_packets_of_a_burst() {
        // As above with a peak rate of 20 Mbit/s and a second bucket of one packet: tokens of a packet take 0.4 ms.
        let peak_rate = Some(Rate(20_000_000));
        let shaper =
            TokenBucket { rate: Some(Rate(8_000_000)), burst: Bytes(3000), ..TokenBucket::default() };
        let mut link = link(TokenBucket { peak_rate, peak_burst: Some(Bytes(1000)), ..shaper });
        (0..5).for_each(|number| link.enqueue(Time::ZERO, &Packet::of_size(1000, number)));
        // They begin at 0, 0.4, 0.8, 1.2 (the bucket has 3000 - 3000 + 1200 tokens) and 2 ms.
        let ends: Vec<u64> = drain(&mut link, Time::NEVER).iter().map(|(at, _)| at.0 / 100_000).collect();
        assert_eq!(ends, [1, 5, 9, 13, 21]);
    }

    #[test]
    fn no_period_passes_more_than_the_rate_and_one_burst() {
        let mut random = Stream::new(3, 0, "traffic");
        let (rate, burst) = (8_000_000_u64, 5000_u64);
        let mut link =
            link(TokenBucket { rate: Some(Rate(rate)), burst: Bytes(burst), ..TokenBucket::default() });
        let (mut now, mut ends) = (Time::ZERO, Vec::new());
        for number in 0..3000 {
            now += Time(random.exponential(if number % 300 < 150 { 1e5 } else { 2e6 }) as u64);
            ends.extend(drain(&mut link, now));
            link.enqueue(now, &Packet::of_size(40 + (random.uniform() * 1460.0) as u32, number));
        }
        ends.extend(drain(&mut link, Time::NEVER));
        // 0.1 us per byte at 80 Mbit/s.
        let begins: Vec<(u64, u64)> =
            ends.iter().map(|&(at, size)| (at.0 - 100 * u64::from(size), u64::from(size))).collect();
        let mut closest = u128::MAX;
        for (first, &(from, _)) in begins.iter().enumerate() {
            let mut bytes = 0;
            for &(at, size) in begins[first..].iter().take(400) {
                bytes += u128::from(size) * PARTS;
                let allowed = u128::from(rate) * u128::from(at - from) + u128::from(burst) * PARTS;
                assert!(bytes <= allowed, "{bytes} in {} ns", at - from);
                closest = closest.min(allowed - bytes);
            }
        }
        // The bound is reached, but for what arrives in less than a nanosecond.
        assert!(closest < u128::from(rate), "{closest}");
    }

    #[test]
    fn contradicting_rates_are_rejected() {
        let setup = Setup { rate: Rate(1_000_000) };
        let field = |shaper: TokenBucket| shaper.contradiction(&setup).map(|(field, _)| field);
        let rate = |rate: u64| Some(Rate(rate));
        assert_eq!(field(TokenBucket { rate: rate(2_000_000), ..TokenBucket::default() }), Some("rate"));
        let slow = TokenBucket { rate: rate(500_000), ..TokenBucket::default() };
        assert_eq!(field(TokenBucket { peak_rate: rate(400_000), ..slow.clone() }), Some("peak_rate"));
        assert_eq!(field(TokenBucket { peak_burst: Some(Bytes(1514)), ..slow.clone() }), Some("peak_burst"));
        assert_eq!(field(slow), None);
    }
}
