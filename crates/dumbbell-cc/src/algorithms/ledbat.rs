//! LEDBAT, Low Extra Delay Background Transport (RFC 6817 §2.4).
//!
//! The queueing delay is the least of the newest delays less the base delay, the least of ten minutes. The window grows in
//! proportion to what the queueing delay is below its target, and shrinks in proportion to what it is above, by at most a
//! segment per round trip with a gain of 1. A loss halves it. A flow alone keeps the queueing delay at the target, and
//! one beside loss-based flows yields.
//!
//! Where it departs: delays are round-trip times, not one-way delays, so that queues on the way back also count. The window
//! begins with the connection's initial window, not with two segments. `slow_start` is the option of the RFC; it ends when
//! the queueing delay is three quarters of the target, and at a loss.

use crate::probes::{BASE_RTT, QUEUEING_DELAY};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Window, window_in};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Time, params};

/// Most delays of either history.
const HISTORY: usize = 16;

params! {
    /// Parameters of LEDBAT.
    pub struct LedbatParams {
        /// Target of the queueing delay.
        target: Time = Time(100_000_000), "s", "[RFC 6817 §2.4.2]", |target| target.0 > 0, "a time above 0";
        /// Segments added per round trip without a queue.
        gain: f64 = 1.0, "segments", "[RFC 6817 §2.4.2]", |gain| *gain > 0.0, "a number above 0";
        /// Intervals of the base delay's history.
        base_history: u64 = 10, "-", "[RFC 6817 §2.4.2]", |count| *count >= 1 && *count <= 16, "a whole number from 1 to 16";
        /// Length of each.
        base_interval: Time = Time(60_000_000_000), "s", "[RFC 6817 §2.4.2]", |time| time.0 > 0, "a time above 0";
        /// Newest delays, of which the least counts.
        current_filter: u64 = 4, "-", "[RFC 6817 §2.4.2]", |count| *count >= 1 && *count <= 16, "a whole number from 1 to 16";
        /// Segments by which the window may exceed what was in flight.
        allowed_increase: f64 = 1.0, "segments", "[RFC 6817 §2.4.2]", |segments| *segments > 0.0, "a number above 0";
        /// Least window.
        min_window: f64 = 2.0, "segments", "[RFC 6817 §2.4.2]", |window| *window >= 1.0, "a number of segments, at least 1";
        /// Start with a slow start.
        slow_start: bool = false, "-", "[RFC 6817 §2.4.1]";
    }
}

/// The base delay and the newest delays.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    base: [f64; HISTORY],
    base_count: usize,
    base_index: usize,
    interval: Time,
    since: Time,
    newest: [f64; HISTORY],
    newest_count: usize,
    newest_index: usize,
}

impl Delays {
    pub(crate) fn new(now: Time, intervals: u64, interval: Time, newest: u64) -> Self {
        Delays {
            base: [f64::INFINITY; HISTORY],
            base_count: intervals as usize,
            base_index: 0,
            interval,
            since: now,
            newest: [f64::INFINITY; HISTORY],
            newest_count: newest as usize,
            newest_index: 0,
        }
    }

    /// Takes a delay, in seconds.
    pub(crate) fn update(&mut self, now: Time, delay: f64) {
        if now.since(self.since) >= self.interval {
            self.since = now;
            self.base_index = (self.base_index + 1) % self.base_count;
            self.base[self.base_index] = f64::INFINITY;
        }
        let base = &mut self.base[self.base_index];
        *base = least(*base, delay);
        self.newest[self.newest_index] = delay;
        self.newest_index = (self.newest_index + 1) % self.newest_count;
    }

    /// The base delay in seconds; infinite before the first delay.
    pub(crate) fn base(&self) -> f64 {
        self.base.iter().copied().fold(f64::INFINITY, least)
    }

    /// The queueing delay in seconds; none before the first delay.
    pub(crate) fn queueing(&self) -> Option<f64> {
        let current = self.newest.iter().copied().fold(f64::INFINITY, least);
        current.is_finite().then(|| current - self.base())
    }

    /// The value of the probe at this index: base delay, queueing delay.
    pub(crate) fn probe(&self, index: usize) -> Option<f64> {
        match index {
            0 => Some(self.base()).filter(|base| base.is_finite()),
            1 => self.queueing(),
            _ => None,
        }
    }
}

/// Congestion: halves a window to no less than `floor` bytes, or sets it to the loss window. Returns the half.
pub(crate) fn halve(window: &mut Window, floor: f64, context: &Context, congestion: &Congestion) -> f64 {
    let half = (window.cwnd / 2.0).max(floor);
    window.cwnd = if congestion.signal.restarts() { context.loss_window } else { least(window.cwnd, half) };
    half
}

/// The state of LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    params: LedbatParams,
    delays: Delays,
    window: Window,
}

impl CongestionControl for Ledbat {
    type Params = LedbatParams;
    const SUMMARY: &'static str =
        "LEDBAT: keeps the queueing delay at a target, and yields to flows that fill the queue.";
    const SOURCE: &'static str = "[RFC 6817]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, QUEUEING_DELAY];

    fn new(params: &LedbatParams, setup: &Setup) -> Self {
        let mut window = Window::new(setup);
        if !params.slow_start {
            window.ssthresh = setup.mss;
        }
        Ledbat {
            params: params.clone(),
            delays: Delays::new(setup.now, params.base_history, params.base_interval, params.current_filter),
            window,
        }
    }
}

impl Control for Ledbat {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.update(context.now, rtt.secs());
        }
        let Some(queueing) = self.delays.queueing() else { return };
        if ack.in_recovery {
            return;
        }
        let mss = context.mss;
        let target = self.params.target.secs();
        // Data that arrived in a recovery has not made the window grow, and the ACK that ends it does not either.
        let acked = real(ack.delivered);
        let offset = (target - queueing) / target;
        let mut growth = self.params.gain * offset * acked * mss / self.window.cwnd;
        if self.params.slow_start && self.window.cwnd < self.window.ssthresh {
            if queueing > 0.75 * target {
                self.window.ssthresh = self.window.cwnd;
            } else {
                growth = acked;
            }
        }
        if growth > 0.0 {
            let most = context.flight_size + self.params.allowed_increase * mss.max(growth);
            self.window.cwnd = least(context.grown(self.window.cwnd, growth), most.max(self.window.cwnd));
        } else {
            let floor = least(self.params.min_window * mss, self.window.cwnd);
            self.window.cwnd = (self.window.cwnd + growth).max(floor);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let half = halve(&mut self.window, self.params.min_window * context.mss, context, congestion);
        if self.params.slow_start {
            self.window.ssthresh = half;
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        self.delays.probe(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;

    const MSS: f64 = 1000.0;

    fn acknowledged(ledbat: &mut Ledbat, ms: u64, rtt_ms: u64) -> f64 {
        let context = Context::new(Time(ms * 1_000_000), MSS).with_sent(0, 10_000);
        ledbat.on_ack(&context, &Ack::new(1000, 1000).with_rtt(Some(Time(rtt_ms * 1_000_000))));
        ledbat.window.cwnd / MSS
    }

    #[test]
    fn the_window_moves_in_proportion_to_the_distance_from_the_target() {
        let params = LedbatParams { current_filter: 1, ..LedbatParams::default() };
        let mut ledbat = Ledbat::new(&params, &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
        // No queue: one of ten segments adds a tenth of a segment.
        assert!((acknowledged(&mut ledbat, 0, 50) - 10.1).abs() < 1e-9);
        // A queue of 100 ms is the target; one of 150 ms is half above: 0.5 / 10.1 less.
        assert!((acknowledged(&mut ledbat, 1, 150) - 10.1).abs() < 1e-9);
        assert!((acknowledged(&mut ledbat, 2, 200) - (10.1 - 0.5 / 10.1)).abs() < 1e-9);
        // With 10 segments in flight, the window does not exceed 11.
        ledbat.window.cwnd = 10.95 * MSS;
        assert_eq!(acknowledged(&mut ledbat, 3, 50), 11.0);
    }

    #[test]
    fn the_base_delay_is_the_least_of_ten_minutes() {
        let mut delays = Delays::new(Time::ZERO, 10, Time(60_000_000_000), 4);
        delays.update(Time::ZERO, 0.05);
        for minute in 1..10 {
            delays.update(Time(minute * 60_000_000_000), 0.07);
            assert_eq!(delays.base(), 0.05);
        }
        delays.update(Time(600_000_000_000), 0.08);
        assert_eq!(delays.base(), 0.07);
        // The least of the four newest: 70, 70, 70, 80 ms.
        assert_eq!(delays.queueing(), Some(0.0));
        (0..3).for_each(|_| delays.update(Time(600_000_000_000), 0.08));
        assert!((delays.queueing().unwrap() - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_loss_halves_to_no_less_than_two_segments() {
        let mut ledbat = Ledbat::new(&LedbatParams::default(), &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
        let context = Context::new(Time::ZERO, MSS).with_sent(0, 10_000);
        let windows = [0, 1, 2].map(|_| {
            ledbat.on_congestion(&context, &Congestion::new(Signal::FastRetransmit));
            ledbat.window.cwnd / MSS
        });
        assert_eq!(windows, [5.0, 2.5, 2.0]);
    }
}
