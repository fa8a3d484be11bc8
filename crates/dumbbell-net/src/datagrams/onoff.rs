//! Exponential bursts and pauses, the variable-rate source of ns-2.
//!
//! The number of packets in a burst is an exponential number rounded to the nearest integer, at least one, so short
//! bursts carry more than their mean length suggests. Pauses are exponential and follow the gap after the last packet.

use super::{Codepoint, Datagrams, Emission, Packets};
use dumbbell_units::{Bytes, Rate, Stream, Time, params};

params! {
    /// Datagrams of one size in exponential bursts with exponential pauses.
    pub struct OnOff {
        /// Rate on the wire within a burst.
        rate: Rate = Rate(1_000_000), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0";
        /// Size of a packet on the wire.
        packet: Bytes = Bytes(1000), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Mean length of a burst.
        on: Time = Time(500_000_000), "s", "[chan2004 §6.1]", |t| t.0 > 0, "a time above 0";
        /// Mean length of a pause.
        off: Time = Time(500_000_000), "s", "[chan2004 §6.1]";
        /// ECN codepoint of the packets.
        ecn: Codepoint = Codepoint::NotEct, "-", "RFC 9331 §4.1";
    }
}

/// Position within a burst.
#[derive(Clone, Debug)]
pub struct State {
    /// Time of the last packet since the start.
    last: Option<Time>,
    /// Packets remaining in the burst.
    left: u64,
}

impl OnOff {
    fn gap(&self) -> f64 {
        self.packet.0 as f64 * 8.0 / self.rate.0 as f64
    }
}

impl Datagrams for OnOff {
    type State = State;

    fn start(&self, _random: &mut Stream) -> State {
        State { last: None, left: 0 }
    }

    fn packets(&self) -> Packets {
        Packets { size: self.packet, ecn: self.ecn, rate: Some(self.rate) }
    }

    fn next(&self, state: &mut State, random: &mut Stream) -> Option<Emission> {
        let gap = self.gap();
        let mut after_start = state.last.map_or(Time::ZERO, |last| last + Time::from_secs(gap));
        if state.left == 0 {
            let packets = random.exponential(self.on.secs() / gap);
            state.left = ((packets + 0.5) as u64).max(1);
            after_start += Time::from_secs(random.exponential(self.off.secs()));
        }
        state.left -= 1;
        state.last = Some(after_start);
        Some(Emission { after_start, bytes: self.packet.0, packet: self.packet.0 as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_rate_accounts_for_rounded_bursts() {
        // Packets of 2.5 ms in bursts with mean 4, and pauses with mean 10 ms. An exponential number with mean m = 4,
        // rounded to the nearest integer N, has the mean sum over k >= 0 of P(N > k) = sum of exp(-(k + 1/2) / m) =
        // e^(-1/8) / (1 - e^(-1/4)) = 3.9896. N = 0, with probability 1 - e^(-1/8) = 0.1175, becomes one packet:
        // 4.1071 packets in 4.1071 * 2.5 + 10 ms.
        let source =
            OnOff { rate: Rate(3_200_000), on: Time(10_000_000), off: Time(10_000_000), ..OnOff::default() };
        let mut random = Stream::new(1, 0, "flow:vbr:traffic");
        let mut state = source.start(&mut random);
        let n = 400_000;
        let last = (0..n).map(|_| source.next(&mut state, &mut random).unwrap().after_start).last().unwrap();
        let rate = f64::from(n) / last.secs();
        let expected = 4.1071 / (4.1071 * 0.0025 + 0.010);
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate} against {expected}");
    }
}
