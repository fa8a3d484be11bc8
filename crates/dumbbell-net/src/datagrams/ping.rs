//! Probes of the round-trip time: the receiver answers each with a packet of the same size, as hosts answer echo requests
//! [RFC 792].

use super::{Codepoint, Datagrams, Emission, Packets};
use dumbbell_units::{Bytes, Rate, Stream, Time, params};

params! {
    /// Probes at regular intervals, each of which is answered.
    pub struct Ping {
        /// Time between two probes.
        interval: Time = Time(1_000_000_000), "s", "-", |time| time.0 > 0, "a time above 0";
        /// Size of a probe and of its answer on the wire.
        packet: Bytes = Bytes(84), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Number of probes; unlimited if not given.
        count: Option<u64> = None, "-", "-", |count| count.is_none_or(|count| count > 0), "a whole number, at least 1";
    }
}

impl Datagrams for Ping {
    /// Number of probes sent.
    type State = u64;

    fn start(&self, _random: &mut Stream) -> u64 {
        0
    }

    fn packets(&self) -> Packets {
        let rate = self.packet.0 as f64 * 8.0 / self.interval.secs();
        Packets { size: self.packet, ecn: Codepoint::NotEct, rate: Some(Rate(rate as u64)) }
    }

    fn next(&self, sent: &mut u64, _random: &mut Stream) -> Option<Emission> {
        if self.count.is_some_and(|count| *sent >= count) {
            return None;
        }
        let after_start = Time(self.interval.0.saturating_mul(*sent));
        *sent += 1;
        Some(Emission { after_start, bytes: self.packet.0, packet: self.packet.0 as u32 })
    }

    /// An answer to each probe.
    fn reports(&self) -> Option<(Time, Bytes)> {
        Some((Time::ZERO, self.packet))
    }

    fn echoes(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_keep_their_interval_and_their_number() {
        let source = Ping { interval: Time(20), count: Some(3), ..Ping::default() };
        let (mut sent, mut random) = (0, Stream::new(1, 0, "ping"));
        let times = std::iter::from_fn(|| source.next(&mut sent, &mut random)).map(|sent| sent.after_start.0);
        assert_eq!(times.collect::<Vec<_>>(), [0, 20, 40]);
    }
}
