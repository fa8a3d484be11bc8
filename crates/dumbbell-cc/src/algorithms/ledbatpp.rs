//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus [balasubramanian2020]): LEDBAT with round-trip times, a multiplicative decrease, and
//! periodic slowdowns.
//!
//! The window grows by a part of a segment per round trip below the target of the queueing delay, a smaller one for short
//! round trips, and above it shrinks by the excess over the target times the window, at most by half. Slow start grows by
//! that part, too, and ends at three quarters of the target. A slowdown of two round trips at two segments empties the
//! queue, so that the base delay is seen by all flows; slow start then returns to the window before. The first is two round
//! trips after slow start, the next after nine times the duration of the last.

use super::ledbat::{Delays, halve};
use crate::probes::{BASE_RTT, QUEUEING_DELAY};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Window, window_in};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Time, params};

params! {
    /// Parameters of LEDBAT++.
    pub struct LedbatPpParams {
        /// Target of the queueing delay.
        target: Time = Time(60_000_000), "s", "[balasubramanian2020 §4.5]", |target| target.0 > 0, "a time above 0";
        /// Largest divisor of the growth by a segment per round trip: the least of it and twice the target over the base delay.
        max_divisor: f64 = 16.0, "-", "[balasubramanian2020 §4.2]", |divisor| *divisor >= 1.0, "a number, at least 1";
        /// Part of the target at which slow start ends.
        slow_start_exit: f64 = 0.75, "-", "[balasubramanian2020 §4.1]", |part| *part > 0.0, "a number above 0";
        /// Weight of the excess over the target in the decrease.
        decrease: f64 = 1.0, "-", "[balasubramanian2020 §4.3]", |weight| *weight > 0.0, "a number above 0";
        /// Slow down periodically.
        slowdown: bool = true, "-", "[balasubramanian2020 §4.4]";
        /// Time from one slowdown to the next, in durations of the last.
        slowdown_period: f64 = 9.0, "-", "[balasubramanian2020 §4.4]", |period| *period > 0.0, "a number above 0";
        /// Intervals of the base delay's history.
        base_history: u64 = 10, "-", "[RFC 6817 §2.4.2]", |count| *count >= 1 && *count <= 16, "a whole number from 1 to 16";
        /// Length of each.
        base_interval: Time = Time(60_000_000_000), "s", "[RFC 6817 §2.4.2]", |time| time.0 > 0, "a time above 0";
        /// Newest delays, of which the least counts.
        current_filter: u64 = 4, "-", "[RFC 6817 §2.4.2]", |count| *count >= 1 && *count <= 16, "a whole number from 1 to 16";
        /// Least window.
        min_window: f64 = 2.0, "segments", "[balasubramanian2020 §4.4]", |window| *window >= 1.0, "a number of segments, at least 1";
    }
}

/// Where the flow is between slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowdown {
    /// None before slow start has ended.
    None,
    /// The next begins then.
    At(Time),
    /// At the least window since then, for two round trips.
    Empty(Time),
    /// Back to the window before, since the slowdown that began then.
    Back(Time),
}

/// The state of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPp {
    params: LedbatPpParams,
    delays: Delays,
    window: Window,
    slowdown: Slowdown,
}

impl LedbatPp {
    /// Part of a segment added per round trip.
    fn gain(&self) -> f64 {
        let base = self.delays.base();
        if !base.is_finite() || base <= 0.0 {
            return 1.0;
        }
        1.0 / least(self.params.max_divisor, (2.0 * self.params.target.secs() / base).ceil()).max(1.0)
    }

    fn two_round_trips(context: &Context, ack: &Ack) -> Time {
        let rtt = context.srtt().or(ack.rtt.map(Time::secs)).unwrap_or(0.0);
        Time::from_secs(2.0 * rtt)
    }

    /// Moves through the slowdown. True while it keeps the window.
    fn slow_down(&mut self, context: &Context, ack: &Ack) -> bool {
        let now = context.now;
        match self.slowdown {
            Slowdown::None if self.params.slowdown && self.window.cwnd >= self.window.ssthresh => {
                self.slowdown = Slowdown::At(now + LedbatPp::two_round_trips(context, ack));
            }
            Slowdown::At(at) if now >= at => {
                self.window.ssthresh = self.window.cwnd;
                self.window.cwnd = least(self.window.cwnd, self.params.min_window * context.mss);
                self.slowdown = Slowdown::Empty(now);
                return true;
            }
            Slowdown::Empty(since) => {
                if now.since(since) < LedbatPp::two_round_trips(context, ack) {
                    return true;
                }
                self.slowdown = Slowdown::Back(since);
            }
            Slowdown::Back(since) if self.window.cwnd >= self.window.ssthresh => {
                let duration = now.since(since).secs();
                self.slowdown = Slowdown::At(now + Time::from_secs(self.params.slowdown_period * duration));
            }
            _ => {}
        }
        false
    }
}

impl CongestionControl for LedbatPp {
    type Params = LedbatPpParams;
    const SUMMARY: &'static str = "LEDBAT++: LEDBAT with a multiplicative decrease and periodic slowdowns.";
    const SOURCE: &'static str = "[balasubramanian2020]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, QUEUEING_DELAY];

    fn new(params: &LedbatPpParams, setup: &Setup) -> Self {
        LedbatPp {
            params: params.clone(),
            delays: Delays::new(setup.now, params.base_history, params.base_interval, params.current_filter),
            window: Window::new(setup),
            slowdown: Slowdown::None,
        }
    }
}

impl Control for LedbatPp {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.update(context.now, rtt.secs());
        }
        let Some(queueing) = self.delays.queueing() else { return };
        if ack.in_recovery || self.slow_down(context, ack) {
            return;
        }
        let (mss, acked) = (context.mss, real(ack.delivered));
        let (gain, target) = (self.gain(), self.params.target.secs());
        let is_returning = matches!(self.slowdown, Slowdown::Back(_));
        if self.window.cwnd < self.window.ssthresh {
            if queueing > self.params.slow_start_exit * target && !is_returning {
                self.window.ssthresh = self.window.cwnd;
            } else {
                let growth = least(gain * acked, self.window.ssthresh - self.window.cwnd);
                self.window.cwnd = context.grown(self.window.cwnd, growth);
                return;
            }
        }
        let round = acked / self.window.cwnd;
        if queueing < target {
            self.window.cwnd = context.grown(self.window.cwnd, gain * mss * round);
        } else {
            let excess = self.params.decrease * self.window.cwnd * (queueing / target - 1.0);
            let change = (gain * mss - excess).max(-self.window.cwnd / 2.0) * round;
            let floor = least(self.params.min_window * mss, self.window.cwnd);
            self.window.cwnd = if change > 0.0 {
                context.grown(self.window.cwnd, change)
            } else {
                (self.window.cwnd + change).max(floor)
            };
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let floor = self.params.min_window * context.mss;
        self.window.ssthresh = halve(&mut self.window, floor, context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        self.delays.probe(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;

    fn ledbatpp(slowdown: bool) -> LedbatPp {
        let params = LedbatPpParams { current_filter: 1, slowdown, ..LedbatPpParams::default() };
        let setup = Setup::new(Time::ZERO, MSS, 20.0 * MSS).with_initial_ssthresh(20.0 * MSS);
        LedbatPp::new(&params, &setup)
    }

    fn acknowledged(flow: &mut LedbatPp, ms: u64, rtt_ms: u64) -> f64 {
        let context = Context::new(Time(ms * 1_000_000), MSS).with_sent(0, 20_000).with_rtts(0.1, 0.1);
        flow.on_ack(&context, &Ack::new(1000, 1000).with_rtt(Some(Time(rtt_ms * 1_000_000))));
        flow.window.cwnd / MSS
    }

    #[test]
    fn growth_and_decrease_follow_the_draft() {
        let mut flow = ledbatpp(false);
        // Base 100 ms: ceil(120 / 100) = 2, so half a segment per round trip; one of 20 segments adds 0.025.
        assert!((acknowledged(&mut flow, 0, 100) - 20.025).abs() < 1e-9);
        // A queue of 75 ms, a quarter above the target: 0.5 - 20.025 / 4 = -4.50625 per round trip, times 1 / 20.025.
        let expected = 20.025 - 4.50625 / 20.025;
        assert!((acknowledged(&mut flow, 1, 175) - expected).abs() < 1e-9);
        // A queue of three targets: at most half of the window per round trip, 0.5 segments per segment.
        assert!((acknowledged(&mut flow, 2, 280) - (expected - 0.5)).abs() < 1e-9);
    }

    #[test]
    fn a_slowdown_empties_the_queue_for_two_round_trips_and_recurs_after_nine_durations() {
        let mut flow = ledbatpp(true);
        acknowledged(&mut flow, 0, 100);
        assert_eq!(flow.slowdown, Slowdown::At(Time(200_000_000)));
        let before = flow.window.cwnd;
        assert_eq!(acknowledged(&mut flow, 200, 100), 2.0);
        assert_eq!(acknowledged(&mut flow, 399, 100), 2.0);
        // Back by half a segment per ACK.
        assert_eq!(acknowledged(&mut flow, 400, 100), 2.5);
        (0..40).for_each(|_| {
            acknowledged(&mut flow, 500, 100);
        });
        assert!(flow.window.cwnd >= before);
        // 300 ms from its start to the return: the next begins 2.7 s later.
        assert_eq!(flow.slowdown, Slowdown::At(Time(3_200_000_000)));
    }
}
