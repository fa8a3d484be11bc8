//! Datagrams of one size with exponential gaps.

use super::{Codepoint, Datagrams, Emission, Packets};
use dumbbell_units::{Bytes, Rate, Stream, Time, params};

params! {
    /// Datagrams of one size with exponential gaps.
    pub struct Poisson {
        /// Mean rate on the wire.
        rate: Rate = Rate(1_000_000), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0";
        /// Size of a packet on the wire.
        packet: Bytes = Bytes(1000), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// ECN codepoint of the packets.
        ecn: Codepoint = Codepoint::NotEct, "-", "RFC 9331 §4.1";
    }
}

impl Datagrams for Poisson {
    /// Time of the last packet since the start.
    type State = Time;

    fn start(&self, _random: &mut Stream) -> Time {
        Time::ZERO
    }

    fn packets(&self) -> Packets {
        Packets { size: self.packet, ecn: self.ecn, rate: Some(self.rate) }
    }

    fn next(&self, last: &mut Time, random: &mut Stream) -> Option<Emission> {
        let mean = self.packet.0 as f64 * 8.0 / self.rate.0 as f64;
        *last += Time::from_secs(random.exponential(mean));
        Some(Emission { after_start: *last, bytes: self.packet.0, packet: self.packet.0 as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_stated_mean_rate_and_exponential_gaps() {
        // 1250 bytes at 1 Mbit/s: 10 ms. A share of 1/e of exponential gaps is longer than their mean.
        let source = Poisson { packet: Bytes(1250), ..Poisson::default() };
        let mut random = Stream::new(1, 0, "poisson");
        let (mut last, mut longer, mut before) = (source.start(&mut random), 0, Time::ZERO);
        for _ in 0..40_000 {
            let emission = source.next(&mut last, &mut random).unwrap();
            longer += u32::from(emission.after_start.since(before) > Time(10_000_000));
            before = emission.after_start;
        }
        // Standard errors of 0.005 and 0.0024.
        assert!((before.secs() / 400.0 - 1.0).abs() < 0.02, "{before:?}");
        assert!((f64::from(longer) / 40_000.0 - std::f64::consts::E.recip()).abs() < 0.01, "{longer}");
    }
}
