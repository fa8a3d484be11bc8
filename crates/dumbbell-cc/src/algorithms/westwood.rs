//! TCP Westwood [mascolo2001], with the time-varying filter to which [grieco2004 §2.2] compares Westwood+.
//!
//! Reno whose reaction to a loss depends on the measured bandwidth: every ACK gives a bandwidth sample, a low-pass
//! filter smooths the samples, and a loss sets `ssthresh` to the estimate times the minimum round-trip time. ACKs
//! compressed by a queue on the reverse path give samples far above any bandwidth, which the filter only partly
//! removes. Westwood+ avoids this.
//!
//! If the ACK k arrives $dt$ after the previous one and acknowledges d bytes, the sample is $b_k = d / dt$, and with
//! the filter's time constant tau
//!
//! $$bw_k = ((2 tau / dt - 1) bw_(k - 1) + b_k + b_(k - 1)) / (2 tau / dt + 1);$$
//!
//! a virtual sample of 0 is inserted whenever $tau / m$ passes without an ACK.
//!
//! Where it departs from the paper: virtual samples are inserted when the next event shows that they were due, which
//! gives the same estimate whenever it is used. The first ACK after virtual samples measures from the last ACK, as the
//! sample is defined, while the filter continues from the last virtual sample. Simultaneous ACKs give one sample, as
//! their $dt$ is 0. A loss before the first sample halves the window as in Reno.

use crate::bandwidth::{BandwidthWindow, Estimate};
use crate::probes::{BANDWIDTH, BASE_RTT};
use crate::{CongestionControl, ProbeInfo, Setup};
use dumbbell_units::{Time, math, params};

params! {
    /// Parameters of Westwood.
    pub struct WestwoodParams {
        /// Time constant of the filter.
        tau: Time = Time(1_000_000_000), "s", "[mascolo2001]",
            |tau| tau.0 > 0, "a time above 0";
        /// Insert a virtual sample of zero after this fraction of the time constant: tau / m.
        m: f64 = 2.0, "-", "[mascolo2001]",
            |m| *m >= 1.0 && *m <= 1000.0, "a number from 1 to 1000";
    }
}

/// The bandwidth filter.
#[derive(Clone, Debug)]
struct Filter {
    /// Time constant, in seconds.
    tau: f64,
    /// Longest interval without a sample, in seconds.
    longest: f64,
    /// Estimate, in bytes per second.
    bandwidth: f64,
    /// The previous sample, in bytes per second.
    sample: f64,
    /// Seconds since the last sample of the filter, virtual or not, up to `at`.
    age: f64,
    at: Time,
}

impl Filter {
    fn new(params: &WestwoodParams, now: Time) -> Self {
        let tau = params.tau.secs();
        Filter { tau, longest: tau / params.m, bandwidth: 0.0, sample: 0.0, age: 0.0, at: now }
    }

    fn input(&mut self, sample: f64, dt: f64) {
        // The equation with both sides of the fraction multiplied by `dt`.
        let sum = (2.0 * self.tau - dt) * self.bandwidth + dt * (sample + self.sample);
        self.bandwidth = sum / (2.0 * self.tau + dt);
        self.sample = sample;
    }

    /// Inserts the virtual samples that were due before `now`.
    fn advance(&mut self, now: Time) {
        self.age += now.since(self.at).secs();
        self.at = now;
        let due = (self.age / self.longest).ceil() - 1.0;
        if due >= 1.0 {
            self.input(0.0, self.longest);
            // After the first, a virtual sample only multiplies the estimate.
            let factor = (2.0 * self.tau - self.longest) / (2.0 * self.tau + self.longest);
            self.bandwidth *= math::pow(factor, due - 1.0);
            self.age = (self.age - due * self.longest).max(0.0);
        }
    }

    fn on_sample(&mut self, sample: f64, now: Time) {
        self.advance(now);
        self.input(sample, self.age);
        self.age = 0.0;
    }
}

/// The estimate from a sample per ACK.
#[derive(Clone, Debug)]
pub struct Filtered {
    filter: Filter,
    /// Time of the last ACK that gave a sample.
    last_ack: Time,
    /// Bytes acknowledged since then.
    delivered: f64,
    has_sample: bool,
}

impl Estimate for Filtered {
    fn on_delivered(&mut self, bytes: f64, now: Time) {
        self.delivered += bytes;
        let dt = now.since(self.last_ack).secs();
        if dt > 0.0 {
            self.filter.on_sample(self.delivered / dt, now);
            self.delivered = 0.0;
            self.last_ack = now;
            self.has_sample = true;
        }
    }

    fn advance(&mut self, now: Time) {
        self.filter.advance(now);
    }

    fn bandwidth(&self) -> Option<f64> {
        self.has_sample.then_some(self.filter.bandwidth)
    }
}

/// The state of Westwood.
pub type Westwood = BandwidthWindow<Filtered>;

impl CongestionControl for Westwood {
    type Params = WestwoodParams;
    const SUMMARY: &'static str =
        "Reno that sets its window after a loss to the filtered bandwidth estimate times the minimum RTT.";
    const SOURCE: &'static str = "[mascolo2001]";
    const RECOVERY: Option<&'static str> = Some("newreno");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, BANDWIDTH];

    fn new(params: &WestwoodParams, setup: &Setup) -> Self {
        let filter = Filter::new(params, setup.now);
        let estimate = Filtered { filter, last_ack: setup.now, delivered: 0.0, has_sample: false };
        BandwidthWindow::with(estimate, true, setup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter() -> Filter {
        Filter::new(&WestwoodParams::default(), Time::ZERO)
    }

    fn at(seconds: f64) -> Time {
        Time::from_secs(seconds)
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} against {expected}");
    }

    #[test]
    fn a_tenth_of_the_constant_weighs_the_past_by_19_and_the_samples_by_1_in_21() {
        // 2 tau / dt = 20: (20 - 1) / (20 + 1) = 19/21, and 1/21 for each of the two samples.
        let mut filter = filter();
        filter.on_sample(2100.0, at(0.1));
        close(filter.bandwidth, 100.0);
        // 19/21 * 100 + (420 + 2100) / 21 = 1900/21 + 120.
        filter.on_sample(420.0, at(0.2));
        close(filter.bandwidth, 1900.0 / 21.0 + 120.0);
    }

    #[test]
    fn idle_time_inserts_a_virtual_sample_per_half_time_constant() {
        // dt = 0.5 s: 2 tau / dt = 4, so 3/5 of the estimate and 1/5 of each sample. From 100 with a previous sample of
        // 100: 60 + 20 = 80, then 48, then 28.8.
        let steady = Filter { bandwidth: 100.0, sample: 100.0, ..filter() };
        for (seconds, expected) in [(0.5, 100.0), (0.75, 80.0), (1.25, 48.0), (1.75, 28.8)] {
            let mut filter = steady.clone();
            filter.advance(at(seconds));
            close(filter.bandwidth, expected);
        }
        // Intermediate queries change nothing.
        let mut asked = steady;
        [0.3, 0.9, 1.0, 1.75].iter().for_each(|&seconds| asked.advance(at(seconds)));
        close(asked.bandwidth, 28.8);
        // The ACK at 1.75 s comes 0.25 s after the last virtual sample: 2 tau / dt = 8, 7/9 and 1/9.
        asked.on_sample(90.0, at(1.75));
        close(asked.bandwidth, 28.8 * 7.0 / 9.0 + 10.0);
    }

    #[test]
    fn a_steady_rate_is_estimated_and_compressed_acks_raise_it() {
        let mut steady = filter();
        let mut pressed = filter();
        for ack in 1..=4000_u32 {
            // 1000 bytes every 10 ms, or ten times that within 1 ms once in 100 ms.
            steady.on_sample(100_000.0, at(f64::from(ack) * 0.01));
        }
        for burst in 1..=200_u32 {
            let start = f64::from(burst) * 0.1;
            pressed.on_sample(1000.0 / 0.0991, at(start));
            (1..=9).for_each(|ack| pressed.on_sample(1000.0 / 0.0001, at(start + f64::from(ack) * 0.0001)));
        }
        close(steady.bandwidth, 100_000.0);
        // The first ACK of a burst weights the previous sample, 10 Mbyte/s, by 99.1 ms / (2 s).
        assert!(pressed.bandwidth > 400_000.0, "{}", pressed.bandwidth);
    }
}
