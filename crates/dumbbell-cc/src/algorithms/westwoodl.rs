//! Westwood+ as Linux has it under the name `westwood` [linux6 tcp_westwood.c].
//!
//! The samples are those of Westwood+, one per round-trip time and at most every 50 ms. Two filters that keep seven eighths
//! follow each other, in whole bytes per tick. Where it departs from the paper [grieco2004 §2]:
//!
//! * A loss halves the window, as in Reno; only when the recovery has ended do window and threshold become the estimated
//!   bandwidth times the minimum round-trip time, which may be more than before the loss.
//! * A timeout sets the threshold to that product at once, and the next acknowledgement begins a new minimum.
//! * Times are whole ticks; round-trip times are rounded up.
//! * An acknowledgement that reports something counts as in the paper, without what duplicates have counted. One that
//!   reports nothing counts in full, and the first one not at all.

use crate::bandwidth::AckCounter;
use crate::linux::micros;
use crate::probes::{BANDWIDTH, BASE_RTT};
use crate::toolbox::RenoWindow;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, RecoveryExit, Reports, Sample, Setup,
    Signal, window_in,
};
use dumbbell_units::{Time, params};

/// Shortest interval between samples, in seconds.
const MINIMUM_INTERVAL: f64 = 0.05;
/// The round-trip time before the first sample, in seconds.
const INITIAL_RTT: f64 = 20.0;
/// Smallest window that the estimate gives, in segments.
const LEAST_SEGMENTS: u64 = 2;

params! {
    /// Parameters of Linux's Westwood+.
    pub struct WestwoodLinuxParams {
        /// Tick of the kernel's clock: 1/HZ.
        tick: Time = Time(1_000_000), "s", "[linux6 tcp_westwood.c]",
            |tick| tick.0 >= 100_000 && tick.0 <= 100_000_000, "a time from 0.1 ms to 100 ms";
    }
}

/// A filter that keeps seven eighths, in whole numbers.
fn filtered(estimate: u64, sample: u64) -> u64 {
    (7 * estimate + sample) / 8
}

/// The state of Linux's Westwood+. Times are ticks, bandwidths bytes per tick.
#[derive(Clone, Debug)]
pub struct WestwoodLinux {
    window: RenoWindow,
    counter: AckCounter,
    tick: u64,
    /// When the interval began, the first one with the first segment; and bytes delivered in it.
    begun: Option<u64>,
    delivered: f64,
    /// The newest round-trip time.
    rtt: u64,
    has_begun: bool,
    reports: Reports,
    /// Minimum round-trip time; the next acknowledgement begins another one after a timeout.
    rtt_min: u64,
    is_rtt_min_over: bool,
    /// The first filter and the second, none before the first sample.
    bandwidth: Option<(u64, u64)>,
}

impl WestwoodLinux {
    fn ticks(&self, now: Time) -> u64 {
        now.0 / self.tick
    }

    fn ticks_of(&self, seconds: f64) -> u64 {
        Time::from_secs(seconds).0 / self.tick
    }

    /// An interval that is long enough gives a sample.
    fn end_interval(&mut self, now: Time) {
        let now = self.ticks(now);
        let elapsed = now - *self.begun.get_or_insert(now);
        if self.rtt == 0 || elapsed <= self.rtt.max(self.ticks_of(MINIMUM_INTERVAL)) {
            return;
        }
        let sample = self.delivered as u64 / elapsed;
        self.bandwidth = Some(match self.bandwidth {
            None | Some((0, 0)) => (sample, sample),
            Some((first, second)) => {
                let first = filtered(first, sample);
                (first, filtered(second, first))
            }
        });
        self.delivered = 0.0;
        self.begun = Some(now);
    }

    /// An acknowledgement, which may be a duplicate, of these bytes.
    fn take(&mut self, context: &Context, sample: &Sample) {
        if let Some(rtt) = sample.rtt {
            self.rtt = (1000 * micros(context.now, rtt)).div_ceil(self.tick);
        }
        self.end_interval(context.now);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let acked = if is_first { 0.0 } else { sample.acked as f64 };
        self.delivered += match acked {
            _ if sample.is_plain => acked,
            0.0 => self.counter.on_duplicate_ack(context.mss),
            _ => self.counter.on_ack(acked, context.mss),
        };
        self.rtt_min = if self.is_rtt_min_over { self.rtt } else { self.rtt_min.min(self.rtt) };
        self.is_rtt_min_over = false;
    }

    /// The estimate times the minimum round-trip time, in bytes of whole segments.
    fn product(&self, mss: f64) -> f64 {
        let (_, bandwidth) = self.bandwidth.unwrap_or_default();
        let segments = bandwidth * self.rtt_min / mss as u64;
        segments.max(LEAST_SEGMENTS) as f64 * mss
    }
}

impl CongestionControl for WestwoodLinux {
    type Params = WestwoodLinuxParams;
    const SUMMARY: &'static str = "Westwood+ as the module `westwood` of Linux has it.";
    const SOURCE: &'static str = "[linux6 tcp_westwood.c]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, BANDWIDTH];

    fn new(params: &WestwoodLinuxParams, setup: &Setup) -> Self {
        let initial = Time::from_secs(INITIAL_RTT).0 / params.tick.0;
        WestwoodLinux {
            window: RenoWindow::new(setup),
            counter: AckCounter::default(),
            tick: params.tick.0,
            begun: None,
            delivered: 0.0,
            rtt: initial,
            has_begun: false,
            reports: setup.reports,
            rtt_min: initial,
            is_rtt_min_over: true,
            bandwidth: None,
        }
    }
}

impl Control for WestwoodLinux {
    window_in!(window);

    fn on_open(&mut self, context: &Context) {
        self.begun = Some(self.ticks(context.now));
    }

    fn on_sample(&mut self, context: &Context, sample: &Sample) {
        self.take(context, sample);
        if let Some(rtt) = sample.rtt {
            self.window.on_sample(context, rtt);
        }
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !self.reports.samples {
            self.take(context, &Sample::new(ack.rtt).with_acked(ack.acked));
        }
        self.window.increase(context, ack);
    }

    fn on_duplicate_ack(&mut self, context: &Context, ack: &Ack) {
        if !self.reports.samples {
            self.take(context, &Sample::new(ack.rtt));
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if congestion.signal == Signal::Timeout {
            let product = self.product(context.mss);
            self.window.reduce(product, context.loss_window, context, congestion);
            self.is_rtt_min_over = true;
        } else {
            self.window.halve(context, congestion);
        }
    }

    fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        self.window.restart(context, congestion);
    }

    fn on_reduced(&mut self, context: &Context) {
        let product = self.product(context.mss);
        self.window.shrink_to(product);
    }

    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        self.window.on_recovery_exit(context, exit);
        if !self.reports.states {
            self.on_reduced(context);
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let rtt_min = Time(self.rtt_min * self.tick).secs();
        let tick = Time(self.tick).secs();
        let bandwidth = self.bandwidth.map(|(_, bandwidth)| 8.0 * bandwidth as f64 / tick);
        *[(!self.is_rtt_min_over).then_some(rtt_min), bandwidth].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;

    fn at(millis: u64) -> Context {
        Context::new(Time(millis * 1_000_000), MSS).with_sent(0, 40_000)
    }

    fn westwood() -> WestwoodLinux {
        let setup = Setup::new(Time::ZERO, MSS, 40.0 * MSS).with_initial_ssthresh(2.0 * MSS);
        let mut westwood = WestwoodLinux::new(&WestwoodLinuxParams::default(), &setup);
        (westwood.begun, westwood.has_begun) = (Some(0), true);
        westwood
    }

    fn ack(westwood: &mut WestwoodLinux, millis: u64, bytes: u64) {
        let sample = Sample::new(Some(Time(100_000_000))).with_acked(bytes);
        westwood.on_sample(&at(millis), &sample.with_plain(true));
    }

    #[test]
    fn an_acknowledgement_that_reports_something_counts_without_what_duplicates_have_counted() {
        let mut westwood = westwood();
        let report = |bytes| Sample::new(None).with_acked(bytes);
        (0..3).for_each(|_| westwood.on_sample(&at(1), &report(0)));
        assert_eq!(westwood.delivered, 3000.0);
        westwood.on_sample(&at(2), &report(5000));
        assert_eq!(westwood.delivered, 5000.0);
        westwood.on_sample(&at(3), &report(0));
        westwood.on_sample(&at(4), &report(5000).with_plain(true));
        assert_eq!(westwood.delivered, 11_000.0);
        // A started tick counts: 100.2 ms are 101.
        westwood.on_sample(&at(500), &Sample::new(Some(Time(100_200_000))));
        assert_eq!(westwood.rtt, 101);
    }

    #[test]
    fn the_first_acknowledgement_counts_nothing() {
        let mut westwood = WestwoodLinux { has_begun: false, ..westwood() };
        ack(&mut westwood, 1, 5000);
        ack(&mut westwood, 2, 5000);
        assert_eq!(westwood.delivered, 5000.0);
    }

    #[test]
    fn the_first_sample_fills_both_filters_and_the_next_pass_one_after_the_other() {
        let mut westwood = westwood();
        ack(&mut westwood, 100, 10_100);
        assert_eq!(westwood.bandwidth, None, "the interval must be longer than the round-trip time");
        // 10,100 bytes in 101 ticks: 100 bytes per tick.
        ack(&mut westwood, 101, 1000);
        assert_eq!(westwood.bandwidth, Some((100, 100)));
        ack(&mut westwood, 150, 49_500);
        // 50,500 bytes in 101 ticks are 500: (700 + 500) / 8 = 150, and (700 + 150) / 8 = 106.
        ack(&mut westwood, 202, 1000);
        assert_eq!(westwood.bandwidth, Some((150, 106)));
    }

    #[test]
    fn a_loss_halves_and_the_end_of_its_recovery_sets_the_product() {
        let mut westwood = westwood();
        (westwood.bandwidth, westwood.begun) = (Some((300, 259)), Some(200));
        ack(&mut westwood, 201, 1000);
        ack(&mut westwood, 202, 1000);
        westwood.on_congestion(&at(203), &Congestion::new(Signal::FastRetransmit));
        assert_eq!(westwood.cwnd(), 20.0 * MSS);
        westwood.on_recovery_exit(&at(100), &RecoveryExit::default());
        // 259 bytes per tick over 100 ticks are 25.9 segments, of which whole ones count.
        assert_eq!((westwood.cwnd(), westwood.ssthresh()), (25.0 * MSS, 25.0 * MSS));
    }

    #[test]
    fn a_timeout_takes_the_product_at_once_and_begins_another_minimum() {
        let mut westwood = westwood();
        (westwood.bandwidth, westwood.begun) = (Some((300, 259)), Some(200));
        ack(&mut westwood, 201, 1000);
        ack(&mut westwood, 202, 1000);
        westwood.on_congestion(&at(203), &Congestion::new(Signal::Timeout));
        assert_eq!((westwood.cwnd(), westwood.ssthresh()), (MSS, 25.0 * MSS));
        westwood.rtt = 140;
        westwood.on_sample(&at(204), &Sample::default());
        assert_eq!(westwood.rtt_min, 140);
    }

    #[test]
    fn two_segments_are_the_least() {
        let mut westwood = westwood();
        westwood.on_recovery_exit(&at(100), &RecoveryExit::default());
        assert_eq!(westwood.cwnd(), 2.0 * MSS);
    }
}
