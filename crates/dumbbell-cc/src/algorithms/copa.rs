//! Copa [arun2018]: a target rate inversely proportional to the queueing delay.
//!
//! The queueing delay is the standing round-trip time, the least of the last half smoothed round-trip time, less the
//! least of ten seconds. The target is $1 / (delta delay)$ segments per second. Below it the window grows by
//! $v / (delta window)$ segments per segment acknowledged, above it shrinks by as much; the velocity v doubles once per
//! round trip after the direction has held for three. Slow start doubles the window until the target is exceeded once.
//! Segments are paced at twice the window per standing round-trip time, so that the queue is the network's.
//!
//! A queue that is not nearly empty at any time within five round trips shows competition with flows that fill the
//! queue: then
//! $1 / delta$ grows by 1 per round trip without a loss, and a loss halves it. It returns to its default when the queue has
//! been nearly empty again.
//!
//! The rules are those of the paper, and of its authors' code [arun2018b]. The latter looks back four smoothed
//! round-trip times for the mode, not five. Where it departs: $1 / delta$ in competition is at least its default. A
//! queue of a segment at the current rate also counts as nearly empty, as a slow link is never seen emptier. In the
//! default mode, a loss does not change the window, as in the paper; a timeout restarts from the loss window.

use crate::delivery::{WindowedMax, WindowedMin};
use crate::probes::{BASE_RTT, QUEUEING_DELAY};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Window};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Time, params};

params! {
    /// Parameters of Copa.
    pub struct CopaParams {
        /// Weight of delay against rate; a flow alone keeps about `1 / delta` segments in the queue.
        delta: f64 = 0.5, "1/segments", "[arun2018 §2]", |delta| *delta > 0.0, "a number above 0";
        /// Window of the round-trip time's minimum.
        min_rtt_window: Time = Time(10_000_000_000), "s", "[arun2018 §2]", |window| window.0 > 0, "a time above 0";
        /// Round trips for which a direction must hold before the velocity doubles.
        steady_rounds: u64 = 3, "rounds", "[arun2018 §2]";
        /// Compete with flows that fill the queue.
        mode_switch: bool = true, "-", "[arun2018 §2]";
        /// Part of the largest queueing delay below which the queue is nearly empty.
        empty_part: f64 = 0.1, "-", "[arun2018 §2]", |part| *part > 0.0 && *part < 1.0, "a fraction above 0 and below 1";
        /// Round trips within which it must be.
        empty_rounds: u64 = 5, "rounds", "[arun2018 §2]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Pacing rate in windows per standing round-trip time.
        pacing_gain: f64 = 2.0, "-", "[arun2018 §2]", |gain| *gain > 0.0, "a number above 0";
        /// Least window.
        min_window: f64 = 2.0, "segments", "[arun2018b]", |window| *window >= 1.0, "a number of segments, at least 1";
    }
}

/// Mode of Copa, with the number that its probe reports.
const MODE: ProbeInfo = ProbeInfo::new(
    "copa_mode",
    "-",
    "Mode of Copa: 0 slow start, 1 default, 2 competition with flows that fill the queue.",
);
const DELTA: ProbeInfo = ProbeInfo::new("copa_delta", "1/segments", "Weight of delay against rate.");
const VELOCITY: ProbeInfo = ProbeInfo::new("copa_velocity", "-", "Velocity of the window's changes.");

/// The state of Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    params: CopaParams,
    window: Window,
    initial_window: f64,
    min_rtt: WindowedMin,
    standing: WindowedMin,
    /// Largest round-trip time of the last rounds.
    max_rtt: WindowedMax,
    delta: f64,
    in_slow_start: bool,
    is_competing: bool,
    velocity: f64,
    /// True while the window grows, and for how many round trips it has or has not.
    is_up: bool,
    steady: u64,
    /// When the round trip began, and the window then.
    round_at: Time,
    round_cwnd: f64,
    had_loss: bool,
    /// When the queue was last nearly empty.
    emptied_at: Time,
    pacing_rate: Option<f64>,
}

impl Copa {
    fn end_round(&mut self, now: Time, srtt: f64) {
        let is_up = self.window.cwnd > self.round_cwnd;
        if is_up == self.is_up {
            self.steady += 1;
            if self.steady > self.params.steady_rounds {
                self.velocity *= 2.0;
            }
        } else {
            (self.is_up, self.steady, self.velocity) = (is_up, 1, 1.0);
        }
        let has_emptied = now.since(self.emptied_at).secs() <= real(self.params.empty_rounds) * srtt;
        self.is_competing = self.params.mode_switch && !has_emptied;
        if !self.is_competing {
            self.delta = self.params.delta;
        } else if !self.had_loss {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        (self.round_at, self.round_cwnd, self.had_loss) = (now, self.window.cwnd, false);
    }
}

impl CongestionControl for Copa {
    type Params = CopaParams;
    const SUMMARY: &'static str = "Copa: steers to a rate inversely proportional to the queueing delay.";
    const SOURCE: &'static str = "[arun2018]";
    const RECOVERY: Option<&'static str> = Some("rack");
    const PROBES: &'static [ProbeInfo] = &[MODE, BASE_RTT, QUEUEING_DELAY, DELTA, VELOCITY];

    fn new(params: &CopaParams, setup: &Setup) -> Self {
        Copa {
            params: params.clone(),
            window: Window::new(setup),
            initial_window: setup.initial_window,
            min_rtt: WindowedMin::default(),
            standing: WindowedMin::default(),
            max_rtt: WindowedMax::default(),
            delta: params.delta,
            in_slow_start: true,
            is_competing: false,
            velocity: 1.0,
            is_up: true,
            steady: 0,
            round_at: setup.now,
            round_cwnd: setup.initial_window,
            had_loss: false,
            emptied_at: setup.now,
            pacing_rate: None,
        }
    }
}

impl Control for Copa {
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        if self.in_slow_start { f64::INFINITY } else { self.initial_window }
    }

    fn window(&mut self) -> Option<&mut Window> {
        Some(&mut self.window)
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        let (now, mss) = (context.now, context.mss);
        let Some(rtt) = ack.rtt.map(Time::secs) else { return };
        let srtt = context.srtt().unwrap_or(rtt);
        self.min_rtt.update(now.0, rtt, self.params.min_rtt_window.0);
        self.standing.update(now.0, rtt, Time::from_secs(srtt / 2.0).0);
        self.max_rtt.update(now.0, rtt, Time::from_secs(real(self.params.empty_rounds) * srtt).0);
        let (standing, min_rtt) = (self.standing.value(), self.min_rtt.value());
        let queueing = standing - min_rtt;
        let nearly_empty = self.params.empty_part * (self.max_rtt.value() - min_rtt);
        if queueing * self.window.cwnd <= (nearly_empty * self.window.cwnd).max(standing * mss) {
            self.emptied_at = now;
        }
        // Segments in the standing queue, at most 1 / delta at the target: the rate is window / standing.
        let is_below = self.window.cwnd * self.delta * queueing <= standing * mss;
        if self.in_slow_start && !is_below {
            self.in_slow_start = false;
            (self.is_up, self.steady, self.velocity) = (false, 0, 1.0);
            (self.round_at, self.round_cwnd) = (now, self.window.cwnd);
        }
        let acked = real(ack.acked);
        if self.in_slow_start {
            if !ack.in_recovery {
                self.window.cwnd = context.grown(self.window.cwnd, acked);
            }
        } else {
            if now.since(self.round_at).secs() >= srtt {
                self.end_round(now, srtt);
            }
            let step = self.velocity * acked * mss / (self.delta * self.window.cwnd);
            // No more than a window per round trip.
            let step = least(step, acked);
            if is_below != self.is_up && self.velocity > 1.0 {
                self.velocity = 1.0;
                self.steady = 0;
            }
            if !is_below {
                let floor = least(self.params.min_window * mss, self.window.cwnd);
                self.window.cwnd = (self.window.cwnd - step).max(floor);
            } else if !ack.in_recovery {
                self.window.cwnd = context.grown(self.window.cwnd, step);
            }
        }
        self.pacing_rate =
            Some(self.params.pacing_gain * self.window.cwnd / standing).filter(|rate| rate.is_finite());
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.had_loss = true;
        self.in_slow_start = false;
        if self.is_competing {
            self.delta = least(2.0 * self.delta, self.params.delta);
        }
        if congestion.signal.restarts() {
            self.window.cwnd = context.loss_window;
            self.velocity = 1.0;
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        match index {
            0 if self.in_slow_start => Some(0.0),
            0 => Some(if self.is_competing { 2.0 } else { 1.0 }),
            1 => Some(self.min_rtt.value()).filter(|rtt| rtt.is_finite()),
            2 => Some(self.standing.value() - self.min_rtt.value()).filter(|delay| delay.is_finite()),
            3 => Some(self.delta),
            4 => Some(self.velocity),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;

    const MSS: f64 = 1000.0;
    const MS: u64 = 1_000_000;

    fn copa(segments: f64) -> Copa {
        let params = CopaParams { mode_switch: false, ..CopaParams::default() };
        let mut copa = Copa::new(&params, &Setup::new(Time::ZERO, MSS, segments * MSS));
        copa.in_slow_start = false;
        copa
    }

    fn acknowledged(copa: &mut Copa, ms: u64, rtt_ms: u64) -> f64 {
        let context = Context::new(Time(ms * MS), MSS).with_sent(0, 20_000).with_rtts(0.04, 0.04);
        copa.on_ack(&context, &Ack::new(1000, 1000).with_rtt(Some(Time(rtt_ms * MS))));
        copa.window.cwnd / MSS
    }

    #[test]
    fn the_window_moves_by_two_segments_per_round_trip_at_first() {
        // delta 0.5: v / (delta * cwnd) = 1 / (0.5 * 20) = 0.1 segments per segment.
        let mut copa = copa(20.0);
        assert!((acknowledged(&mut copa, 1, 40) - 20.1).abs() < 1e-9);
        // 30 ms later the standing round-trip time is 45 ms. The queue is 5 ms, the target 1 / (0.5 * 5 ms) = 400 segments
        // per second; the rate is 20.1 / 45 ms = 447.
        assert!((acknowledged(&mut copa, 31, 45) - (20.1 - 2.0 / 20.1)).abs() < 1e-9);
        // A queue of 4 ms: 500 per second against 20.0 / 44 ms = 455.
        let before = copa.window.cwnd / MSS;
        assert!((acknowledged(&mut copa, 32, 44) - (before + 2.0 / before)).abs() < 1e-9);
    }

    #[test]
    fn the_velocity_doubles_after_three_round_trips_in_one_direction() {
        let mut copa = copa(20.0);
        let mut velocities = Vec::new();
        for round in 0..6 {
            acknowledged(&mut copa, 1 + 41 * round, 40);
            velocities.push(copa.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0]);
        // A queue turns it around.
        acknowledged(&mut copa, 247, 90);
        acknowledged(&mut copa, 270, 90);
        assert_eq!(copa.velocity, 1.0);
    }

    #[test]
    fn a_loss_changes_delta_only_in_competition() {
        let mut copa = copa(20.0);
        let context = Context::new(Time(MS), MSS).with_sent(0, 20_000);
        copa.on_congestion(&context, &Congestion::new(Signal::FastRetransmit));
        assert_eq!((copa.window.cwnd, copa.delta), (20.0 * MSS, 0.5));
        (copa.is_competing, copa.delta) = (true, 0.1);
        copa.on_congestion(&context, &Congestion::new(Signal::FastRetransmit));
        assert_eq!(copa.delta, 0.2);
    }

    #[test]
    fn a_queue_of_at_most_a_segment_is_an_empty_one() {
        // A queue of 1 ms in 41 ms, which is all of the variation, holds a segment if the window is 41 segments.
        for (segments, emptied_ms) in [(40.0, 31), (42.0, 1)] {
            let mut copa = copa(segments);
            acknowledged(&mut copa, 1, 40);
            copa.window.cwnd = segments * MSS;
            acknowledged(&mut copa, 31, 41);
            assert_eq!(copa.emptied_at, Time(emptied_ms * MS), "{segments}");
        }
    }
}
