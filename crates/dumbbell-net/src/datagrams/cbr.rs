//! Datagrams of one size at a constant rate, equally spaced or with bounded jitter.

use super::{Codepoint, Datagrams, Emission, Packets};
use dumbbell_units::{Bytes, Rate, Stream, Time, params};

params! {
    /// Datagrams of one size at a constant rate.
    pub struct ConstantRate {
        /// Rate on the wire.
        rate: Rate = Rate(1_000_000), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0";
        /// Size of a packet on the wire.
        packet: Bytes = Bytes(1000), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Fraction of the packet gap over which the sending time varies uniformly.
        jitter: f64 = 0.0, "-", "-", |share| (0.0..=1.0).contains(share), "a share from 0 to 1";
        /// ECN codepoint of the packets.
        ecn: Codepoint = Codepoint::NotEct, "-", "RFC 9331 §4.1";
    }
}

impl Datagrams for ConstantRate {
    /// Number of packets emitted.
    type State = u64;

    fn start(&self, _random: &mut Stream) -> u64 {
        0
    }

    fn packets(&self) -> Packets {
        Packets { size: self.packet, ecn: self.ecn, rate: Some(self.rate) }
    }

    fn next(&self, emitted: &mut u64, random: &mut Stream) -> Option<Emission> {
        let bits = u128::from(self.packet.0) * 8 * 1_000_000_000;
        let on_time = Time((bits * u128::from(*emitted) / u128::from(self.rate.0)) as u64);
        let gap = bits as f64 / self.rate.0 as f64;
        let late =
            if self.jitter > 0.0 { Time((self.jitter * random.uniform() * gap) as u64) } else { Time::ZERO };
        *emitted += 1;
        Some(Emission { after_start: on_time + late, bytes: self.packet.0, packet: self.packet.0 as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(jitter: f64) -> Vec<u64> {
        let source = ConstantRate { rate: Rate(8_000_000), jitter, ..ConstantRate::default() };
        let (mut emitted, mut random) = (0, Stream::new(1, 0, "cbr"));
        (0..1000).map(|_| source.next(&mut emitted, &mut random).unwrap().after_start.0).collect()
    }

    #[test]
    fn packets_keep_the_rate_and_jitter_stays_within_the_gap() {
        assert_eq!(times(0.0)[..3], [0, 1_000_000, 2_000_000]);
        let jittered = times(1.0);
        assert!(jittered.iter().enumerate().all(|(k, at)| at / 1_000_000 == k as u64));
        assert!(jittered.iter().any(|at| at % 1_000_000 > 500_000));
    }
}
