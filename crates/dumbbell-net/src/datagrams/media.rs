//! Real-time media that adapts its rate to loss and delay, in the manner of Google Congestion Control [carlucci2016]
//! [holmer2016].
//!
//! The receiver reports at regular intervals what it received and missed, and the mean one-way delay. The delay minus
//! the least one reported so far is the queueing delay. If it exceeds a threshold, the rate becomes `decrease` times
//! the rate received. Otherwise, if more than `high_loss` is lost, it decreases by half of that share; if less than
//! `low_loss` is lost, it increases by `increase` per second, up to 1.5 times the rate received.
//!
//! Departures from the source: a threshold of the queueing delay takes the place of the filtered gradient of the
//! delay and its adaptive threshold; the controllers by loss and by delay share one rate; clocks are synchronous; a lost
//! report is not detected. It stands in for adaptive media beside other flows and is not a model of WebRTC.

use super::{Codepoint, Datagrams, Emission, Packets, Report};
use dumbbell_units::{Bytes, Rate, Stream, Time, math, params};

params! {
    /// Datagrams of one size at a rate that adapts to loss and delay.
    pub struct Media {
        /// Rate on the wire at the start.
        rate: Rate = Rate(300_000), "bit/s", "assumed", |rate| rate.0 > 0, "a rate above 0";
        /// Lowest rate.
        min: Rate = Rate(50_000), "bit/s", "assumed", |rate| rate.0 > 0, "a rate above 0";
        /// Highest rate.
        max: Rate = Rate(2_500_000), "bit/s", "assumed", |rate| rate.0 > 0, "a rate above 0";
        /// Size of a packet on the wire.
        packet: Bytes = Bytes(1200), "bytes", "assumed", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Time between two reports of the receiver.
        interval: Time = Time(100_000_000), "s", "[carlucci2016 §3], unverified", |time| time.0 >= 1_000_000, "a time of at least 1 ms";
        /// Size of a report on the wire.
        report: Bytes = Bytes(80), "bytes", "assumed", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Queueing delay above which the rate decreases.
        threshold: Time = Time(25_000_000), "s", "assumed", |time| time.0 > 0, "a time above 0";
        /// Rate after a decrease, divided by the rate received.
        decrease: f64 = 0.85, "-", "[holmer2016 §5.5]",
            |factor| *factor > 0.0 && *factor < 1.0, "a number above 0 and below 1";
        /// Factor of the increase in one second.
        increase: f64 = 1.08, "1/s", "[holmer2016 §5.5]", |factor| (1.0..=100.0).contains(factor), "a number from 1 to 100";
        /// Share lost above which the rate decreases.
        high_loss: f64 = 0.1, "-", "[holmer2016 §6]", |share| (0.0..=1.0).contains(share), "a share from 0 to 1";
        /// Share lost below which the rate increases.
        low_loss: f64 = 0.02, "-", "[holmer2016 §6]", |share| (0.0..=1.0).contains(share), "a share from 0 to 1";
    }
}

/// The current rate.
#[derive(Clone, Debug)]
pub struct State {
    /// In bit/s.
    rate: f64,
    /// Time of the next packet since the start.
    next: Time,
    /// Least one-way delay reported.
    base: Time,
}

impl Datagrams for Media {
    type State = State;

    fn start(&self, _random: &mut Stream) -> State {
        let rate = (self.rate.0 as f64).clamp(self.min.0 as f64, (self.max.0 as f64).max(self.min.0 as f64));
        State { rate, next: Time::ZERO, base: Time::NEVER }
    }

    fn packets(&self) -> Packets {
        Packets { size: self.packet, ecn: Codepoint::NotEct, rate: Some(self.max.max(self.min)) }
    }

    fn next(&self, state: &mut State, _random: &mut Stream) -> Option<Emission> {
        let after_start = state.next;
        state.next += Time::from_secs(self.packet.0 as f64 * 8.0 / state.rate);
        Some(Emission { after_start, bytes: self.packet.0, packet: self.packet.0 as u32 })
    }

    fn reports(&self) -> Option<(Time, Bytes)> {
        Some((self.interval, self.report))
    }

    fn on_report(&self, state: &mut State, report: &Report) {
        let expected = report.received + report.lost;
        if expected == 0 || report.interval == Time::ZERO {
            return;
        }
        let loss = report.lost as f64 / expected as f64;
        let seconds = report.interval.secs();
        let received = report.received as f64 * self.packet.0 as f64 * 8.0 / seconds;
        state.base = state.base.min(report.delay);
        if report.delay - state.base > self.threshold {
            state.rate = state.rate.min(self.decrease * received);
        } else if loss > self.high_loss {
            state.rate *= 1.0 - 0.5 * loss;
        } else if loss < self.low_loss {
            let grown = state.rate * math::pow(self.increase, seconds);
            // The rate received counts only as a bound, not as a reason to decrease.
            state.rate = grown.min((1.5 * received).max(state.rate));
        }
        state.rate = state.rate.min(self.max.0 as f64).max(self.min.0 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate in bit/s after a report over 100 ms, from 1.2 Mbit/s.
    fn after(received: u64, lost: u64, delay_ms: u64) -> f64 {
        let source = Media { rate: Rate(1_200_000), packet: Bytes(1500), ..Media::default() };
        let mut state = source.start(&mut Stream::new(1, 0, "media"));
        state.base = Time(20_000_000);
        let delay = Time(delay_ms * 1_000_000);
        source.on_report(&mut state, &Report { received, lost, interval: Time(100_000_000), delay });
        state.rate
    }

    #[test]
    fn the_rate_follows_loss_and_delay() {
        // 10 packets of 1500 bytes in 100 ms are 1.2 Mbit/s. Without loss, 1.08^0.1 = 1.007726 times the rate.
        assert!((after(10, 0, 25) / 1_209_272.0 - 1.0).abs() < 1e-5);
        // 26 ms of queueing: 0.85 times the 0.96 Mbit/s received.
        assert!((after(8, 0, 46) - 816_000.0).abs() < 1e-6);
        // Two of ten lost: 1 - 0.5 * 0.2 of the rate. One of ten is not above 10 % and not below 2 %.
        assert!((after(8, 2, 20) - 1_080_000.0).abs() < 1e-6);
        assert_eq!(after(9, 1, 20), 1_200_000.0);
        // A report without packets says nothing.
        assert_eq!(after(0, 0, 20), 1_200_000.0);
    }

    #[test]
    fn packets_are_spaced_at_the_rate_within_its_bounds() {
        let source = Media { rate: Rate(9_600_000), max: Rate(960_000), ..Media::default() };
        let mut random = Stream::new(1, 0, "media");
        let mut state = source.start(&mut random);
        let times = [(); 3].map(|()| source.next(&mut state, &mut random).unwrap().after_start.0 / 1_000_000);
        assert_eq!(times, [0, 10, 20]);
    }
}
