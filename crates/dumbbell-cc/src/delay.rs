//! Shared by the delay-based congestion controls: the measurement once per round trip, and the window that TCP Vegas
//! derives from it [brakmo1995 §3], [hengartner2000 §VI].
//!
//! An algorithm asks [`Rounds`] whether an ACK ends a round, decides based on the resulting [`Check`], and passes its
//! decision to [`VegasWindow`], which owns slow start and the reactions to losses.

use crate::toolbox::RenoGrowth;
use crate::{Ack, Congestion, Context, Mechanisms, Setup, Signal, Window};
use dumbbell_units::{Time, choice};
use std::ops::{Deref, DerefMut};

choice! {
    /// Which round-trip time of the past round enters the actual rate.
    pub enum RttChoice {
        /// The mean of its samples.
        Mean = "mean",
        /// The newest sample.
        Newest = "newest",
        /// The smallest sample.
        Minimum = "minimum",
    }
}

choice! {
    /// Numerator of the expected rate, which is divided by the base RTT.
    pub enum Numerator {
        /// The bytes in transit when a check is due [hengartner2000 §VII.C].
        InTransit = "in-transit",
        /// The congestion window.
        Cwnd = "cwnd",
        /// The congestion window, which is also used in the actual rate [chan2010 §2.2, eq. 1].
        Window = "window",
        /// The bytes in transit after the ACK plus one segment, as in ns-2.
        Ns2 = "ns2",
    }
}

choice! {
    /// How a window grows by the segment that a check grants.
    pub enum Increase {
        /// By the whole segment when the check is due.
        AtOnce = "at-once",
        /// By a fraction of it with every ACK until the next check, as in ns-2.
        Spread = "spread",
    }
}

/// The thresholds of Vegas, and the growth of its window.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// Grow while fewer segments than this are queued.
    pub alpha: f64,
    /// Shrink while more segments than this are queued.
    pub beta: f64,
    /// Leave slow start when more segments than this are queued.
    pub gamma: f64,
    /// How the window grows by one segment per round trip.
    pub increase: Increase,
}

/// How a round is measured.
#[derive(Clone, Copy, Debug)]
pub struct RoundRules {
    /// Which round-trip time of the past round enters the actual rate.
    pub rtt: RttChoice,
    /// Numerator of the expected rate, which is divided by the base RTT.
    pub numerator: Numerator,
    /// Round the difference to whole segments, as ns-2 does.
    pub round_diff: bool,
    /// Let the base RTT be the minimum of measured times [hengartner2000 §VII.B].
    pub fix_base_rtt: bool,
    /// Keep the expected rate at least the actual one [hengartner2000 §VII.C].
    pub fix_invariant: bool,
}

impl RoundRules {
    /// The rules of an algorithm without the faults of the released code of Vegas.
    pub fn corrected(rtt: RttChoice, numerator: Numerator, round_diff: bool) -> Self {
        RoundRules { rtt, numerator, round_diff, fix_base_rtt: true, fix_invariant: true }
    }
}

/// The minimum round-trip times of a connection and of its round, as controls of Linux keep them.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrips {
    /// Minimum of the connection, in seconds; infinite before the first sample.
    pub base: f64,
    /// Minimum of the round, in seconds; infinite before its first sample.
    pub minimum: f64,
    /// First byte after the round.
    pub end: u64,
    samples: u32,
}

impl Default for RoundTrips {
    fn default() -> Self {
        RoundTrips { base: f64::INFINITY, minimum: f64::INFINITY, end: 0, samples: 0 }
    }
}

impl RoundTrips {
    /// A round of at most this many samples is not evaluated.
    const FEW_SAMPLES: u32 = 2;

    /// A sample, in seconds.
    #[inline]
    pub fn on_sample(&mut self, rtt: f64) {
        self.base = self.base.min(rtt);
        self.minimum = self.minimum.min(rtt);
        self.samples += 1;
    }

    /// True if the round has enough samples to be evaluated.
    pub fn has_enough(&self) -> bool {
        self.samples > Self::FEW_SAMPLES
    }

    /// The next round begins, and ends before this byte.
    pub fn begin_round(&mut self, end: u64) {
        self.end = end;
        self.minimum = f64::INFINITY;
        self.samples = 0;
    }

    /// Minimum of the connection, in seconds, once there is one.
    pub fn base_rtt(&self) -> Option<f64> {
        self.base.is_finite().then_some(self.base)
    }
}

/// The result of one check.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Check {
    /// Numerator of the expected rate in bytes (eq. 3).
    pub window_size: f64,
    /// Numerator of the actual rate in bytes (eq. 4).
    pub rtt_len: f64,
    /// Actual rate in bytes per second.
    pub actual: f64,
    /// Difference of expected and actual rate times the base RTT, in segments (eq. 1-2).
    pub diff: f64,
    /// Round-trip time that entered the actual rate, in seconds.
    pub rtt: f64,
    /// Minimum round-trip time sampled in the round, in seconds.
    pub rtt_minimum: Option<f64>,
}

/// The measurement once per round trip, and the base RTT.
#[derive(Clone, Debug)]
pub struct Rounds {
    rules: RoundRules,
    base_rtt: f64,
    beg_seq: u64,
    beg_time: Time,
    rtt_sum: f64,
    rtt_count: u32,
    rtt_newest: f64,
    rtt_minimum: f64,
    last_check: Option<Check>,
}

impl Rounds {
    /// The first round begins with the connection.
    pub fn new(rules: RoundRules, now: Time) -> Self {
        Rounds {
            rules,
            base_rtt: f64::INFINITY,
            beg_seq: 0,
            beg_time: now,
            rtt_sum: 0.0,
            rtt_count: 0,
            rtt_newest: 0.0,
            rtt_minimum: f64::INFINITY,
            last_check: None,
        }
    }

    /// Base RTT in seconds, once there is one.
    pub fn base_rtt(&self) -> Option<f64> {
        self.base_rtt.is_finite().then_some(self.base_rtt)
    }

    /// First byte of the round that the next check will cover.
    pub fn beg_seq(&self) -> u64 {
        self.beg_seq
    }

    /// The last check.
    pub fn last_check(&self) -> Option<Check> {
        self.last_check
    }

    /// The check if `ack` ends the round; a new round begins then.
    pub fn poll_check(&mut self, context: &Context, ack: &Ack, cwnd: f64) -> Option<Check> {
        // An ACK of data sent before a timeout voids the round. If no data of the round has been retransmitted, there
        // is nothing to check either.
        let corrected = self.rules.fix_invariant;
        let is_due = ack.ack > self.beg_seq && !(corrected && context.snd_nxt <= self.beg_seq);
        let check = is_due.then(|| self.check(context, ack, cwnd));
        if check.is_some() {
            self.last_check = check;
        }
        if corrected && ack.ack > context.snd_nxt {
            self.begin_round(ack.ack, context.now);
        }
        check
    }

    /// An ACK gave a round-trip time. It counts for the round after the check that is due with it.
    pub fn on_sample(&mut self, rtt: Time) {
        self.on_actual_rtt(rtt);
        self.base_rtt = self.base_rtt.min(rtt.secs());
    }

    /// A round-trip time for the actual rate, which leaves the base RTT unchanged.
    pub fn on_actual_rtt(&mut self, rtt: Time) {
        let rtt = rtt.secs();
        self.rtt_sum += rtt;
        self.rtt_count += 1;
        self.rtt_newest = rtt;
        self.rtt_minimum = self.rtt_minimum.min(rtt);
    }

    /// Replaces the base RTT.
    pub fn replace_base_rtt(&mut self, rtt: Time) {
        self.base_rtt = rtt.secs();
    }

    /// Lowers the base RTT, if this is smaller.
    pub fn lower_base_rtt(&mut self, rtt: Time) {
        self.base_rtt = self.base_rtt.min(rtt.secs());
    }

    fn round_rtt(&self, now: Time) -> f64 {
        if self.rtt_count == 0 {
            // After a timeout, ACKs jump, and a round may be shorter than any round-trip time. The released code uses
            // its length; the corrected code uses only measured times.
            let elapsed = now.since(self.beg_time).secs();
            let is_measured = self.rules.fix_base_rtt && self.base_rtt.is_finite();
            return if is_measured { elapsed.max(self.base_rtt) } else { elapsed };
        }
        match self.rules.rtt {
            RttChoice::Mean => self.rtt_sum / f64::from(self.rtt_count),
            RttChoice::Newest => self.rtt_newest,
            RttChoice::Minimum => self.rtt_minimum,
        }
    }

    fn check(&mut self, context: &Context, ack: &Ack, cwnd: f64) -> Check {
        let rtt = self.round_rtt(context.now);
        let snd_nxt_after = context.snd_nxt.max(ack.ack);
        let next_round = match self.rules.numerator {
            Numerator::Ns2 => snd_nxt_after,
            Numerator::InTransit | Numerator::Cwnd | Numerator::Window => context.snd_nxt,
        };
        let sent = next_round as f64 - self.beg_seq as f64;
        let rtt_len = if self.rules.numerator == Numerator::Window { cwnd } else { sent };
        let window_size = match self.rules.numerator {
            Numerator::Cwnd | Numerator::Window => cwnd,
            Numerator::Ns2 => (snd_nxt_after - ack.ack) as f64 + context.mss,
            Numerator::InTransit => {
                let in_transit = (context.snd_nxt - context.snd_una.min(context.snd_nxt)) as f64;
                let large_ack = (context.mss - ack.acked as f64).min(0.0);
                if self.rules.fix_invariant { in_transit } else { in_transit + large_ack }
            }
        };

        let is_reset = !self.rules.fix_base_rtt && (rtt < self.base_rtt || sent <= context.mss);
        if is_reset || !self.base_rtt.is_finite() {
            self.base_rtt = rtt;
        }
        let expected = window_size / self.base_rtt;
        let actual = rtt_len / rtt;
        let mut diff = (expected - actual) * self.base_rtt / context.mss;
        if self.rules.round_diff {
            diff = (diff + 0.5).floor();
        }
        let rtt_minimum = (self.rtt_count > 0).then_some(self.rtt_minimum);
        self.begin_round(next_round, context.now);
        Check { window_size, rtt_len, actual, diff, rtt, rtt_minimum }
    }

    fn begin_round(&mut self, first: u64, now: Time) {
        self.beg_seq = first;
        self.beg_time = now;
        self.rtt_sum = 0.0;
        self.rtt_count = 0;
        self.rtt_minimum = f64::INFINITY;
    }
}

/// The window of Vegas with mechanisms A, B, F and I; with all of them off, it equals Reno's.
#[derive(Clone, Debug)]
pub struct VegasWindow {
    mechanisms: Mechanisms,
    growth: RenoGrowth,
    late_threshold: bool,
    window: Window,
    /// Growth per ACK in bytes until the next check: a segment, its fraction, or zero.
    increment: f64,
    /// The growth is that of slow start, which ends at the threshold.
    is_slow_start_growth: bool,
    grow_this_rtt: bool,
    /// Grow exponentially immediately after a timeout [hengartner2000 §VII.A].
    fix_timeout: bool,
    /// After the timeout of a loss in slow start, keep the window until all data sent before it is acknowledged.
    hold_after_slow_start: bool,
    /// First byte not yet sent when slow start last ended with a loss.
    slow_start_lost_before: u64,
    /// First byte whose acknowledgement ends the hold after a timeout.
    held_before: u64,
}

impl VegasWindow {
    /// The window at the start of a connection.
    pub fn new(setup: &Setup, fix_timeout: bool) -> Self {
        VegasWindow {
            mechanisms: setup.mechanisms,
            growth: RenoGrowth::new(setup.rules),
            late_threshold: setup.late_threshold,
            window: Window::new(setup).reduced_unused().with_late_threshold(setup.late_threshold),
            increment: 0.0,
            is_slow_start_growth: false,
            grow_this_rtt: true,
            fix_timeout,
            hold_after_slow_start: false,
            slow_start_lost_before: 0,
            held_before: 0,
        }
    }

    /// The same, which keeps the window after the timeout of a loss in slow start until all data sent before it is
    /// acknowledged. This concerns mechanism B without A.
    pub fn with_hold_after_slow_start(mut self, hold: bool) -> Self {
        let without_slow_start = self.mechanisms.avoidance_detection && !self.mechanisms.slow_start_detection;
        self.hold_after_slow_start = hold && without_slow_start;
        self
    }

    /// True if the window is below its threshold.
    pub fn is_below_ssthresh(&self) -> bool {
        if self.mechanisms.slow_start_detection || self.mechanisms.avoidance_detection {
            self.window.cwnd < self.window.ssthresh
        } else {
            self.growth.rules.in_slow_start(self.window.cwnd, self.window.ssthresh)
        }
    }

    /// True if checks control the window in congestion avoidance (mechanism B), and it is there.
    pub fn is_in_avoidance(&self) -> bool {
        self.mechanisms.avoidance_detection && !self.is_below_ssthresh()
    }

    /// A check below the threshold: grows every other round, and leaves slow start when more than `gamma` segments are
    /// queued (mechanism A).
    pub fn check_slow_start(&mut self, diff: f64, gamma: f64, mss: f64) {
        if self.mechanisms.slow_start_detection {
            self.grow_this_rtt = !self.grow_this_rtt;
            self.is_slow_start_growth = true;
            self.increment = if !self.grow_this_rtt {
                0.0
            } else if diff > gamma {
                self.window.ssthresh = 2.0 * mss;
                self.window.cwnd = (self.window.cwnd - self.window.cwnd / 8.0).max(2.0 * mss);
                0.0
            } else {
                mss
            };
        }
    }

    /// A check in congestion avoidance: grows, holds or shrinks by the thresholds [chan2004 §3.1, eq. 4].
    pub fn decide(&mut self, diff: f64, thresholds: &Thresholds, context: &Context, ack: &Ack) {
        if self.is_below_ssthresh() {
            self.check_slow_start(diff, thresholds.gamma, context.mss);
        } else if self.is_in_avoidance() {
            if diff > thresholds.beta {
                self.shrink(context.mss);
            } else if diff < thresholds.alpha {
                self.grow(thresholds.increase, context, ack);
            } else {
                self.hold();
            }
        }
    }

    /// Keeps the window until the next check.
    pub fn hold(&mut self) {
        self.increment = 0.0;
    }

    /// Shrinks the window by one segment and then keeps it until the next check.
    pub fn shrink(&mut self, mss: f64) {
        self.window.cwnd = (self.window.cwnd - mss).max(2.0 * mss);
        self.increment = 0.0;
    }

    /// Grows the window by one segment until the next check.
    pub fn grow_until_check(&mut self, mss: f64) {
        self.increment = mss * mss / self.window.cwnd;
        self.is_slow_start_growth = false;
    }

    /// Grows the window by one segment now, unless something else limits the connection, and then keeps it until the
    /// next check.
    pub fn grow_at_once(&mut self, context: &Context, ack: &Ack) {
        self.increment = 0.0;
        if self.keeps_up(context, ack) {
            self.window.cwnd = context.grown(self.window.cwnd, context.mss);
        }
    }

    /// Grows the window by one segment in one of the two ways.
    pub fn grow(&mut self, increase: Increase, context: &Context, ack: &Ack) {
        match increase {
            Increase::AtOnce => self.grow_at_once(context, ack),
            Increase::Spread => self.grow_until_check(context.mss),
        }
    }

    /// New data was acknowledged, after the decision of a check that was due.
    pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if self.is_slow_start_growth && self.window.cwnd >= self.window.ssthresh {
            self.increment = 0.0;
        }
        if ack.ack >= self.held_before && self.keeps_up(context, ack) {
            self.grow_by_ack(context, ack);
        }
    }

    /// True unless most of the window is unused (mechanism I).
    fn keeps_up(&self, context: &Context, ack: &Ack) -> bool {
        // The segment just acknowledged still counts, as in the released code.
        let outstanding = (context.snd_nxt.max(ack.ack) - ack.ack) as f64 + context.mss;
        !self.mechanisms.growth_guard || self.window.cwnd - outstanding <= 2.0 * context.mss
    }

    /// Grows by the increment that the last check has set, or by Reno's rules where no mechanism sets one.
    fn grow_by_ack(&mut self, context: &Context, ack: &Ack) {
        let is_below = self.is_below_ssthresh();
        let has_increment =
            if is_below { self.mechanisms.slow_start_detection } else { self.mechanisms.avoidance_detection };
        if !has_increment {
            self.grow_as_reno(is_below, context, ack);
            return;
        }
        let rules = &self.growth.rules;
        let mut additions = rules.additions(ack, context.mss);
        if is_below && self.is_slow_start_growth {
            additions = rules.additions_below(additions, self.window.cwnd, self.window.ssthresh, context.mss);
        }
        self.window.cwnd = context.grown(self.window.cwnd, additions * self.increment);
    }

    fn grow_as_reno(&mut self, is_below: bool, context: &Context, ack: &Ack) {
        // With mechanisms A or B, a window equal to its threshold is above it whatever the rules.
        let ssthresh = if is_below { self.window.ssthresh } else { f64::NEG_INFINITY };
        self.window.cwnd = self.growth.grown(self.window.cwnd, ssthresh, context, ack);
    }

    /// Congestion: reduces the window by a quarter (mechanism F) or a half, or restarts.
    pub fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let mss = context.mss;
        let (ssthresh, halved) = self.growth.rules.halved(self.window.cwnd, context);
        self.growth.restart();
        self.note_slow_start(context, congestion.signal);
        match congestion.signal {
            Signal::FastRetransmit if self.mechanisms.quarter_cut => {
                let window = (self.window.cwnd + context.inflation).min(context.max_window);
                let segments = (window / mss).floor();
                let kept = if segments <= 3.0 {
                    2.0
                } else if congestion.retransmitted_before {
                    (segments / 2.0).floor()
                } else {
                    segments - (segments / 4.0).floor()
                };
                self.window.cwnd = kept * mss;
                if !self.late_threshold {
                    self.window.ssthresh = 2.0 * mss;
                }
            }
            Signal::FastRetransmit | Signal::EcnEcho => {
                self.window.ssthresh = ssthresh;
                self.window.cwnd = halved;
            }
            Signal::Restart | Signal::Timeout => {
                self.window.ssthresh = ssthresh;
                self.window.cwnd = context.loss_window;
                if self.fix_timeout {
                    self.increment = mss;
                    self.is_slow_start_growth = true;
                    self.grow_this_rtt = true;
                }
            }
        }
    }

    /// Notes a loss in slow start, and the hold that its timeout begins.
    fn note_slow_start(&mut self, context: &Context, signal: Signal) {
        match signal {
            Signal::FastRetransmit if self.is_below_ssthresh() => {
                self.slow_start_lost_before = context.snd_nxt;
            }
            Signal::Timeout
                if self.hold_after_slow_start && context.snd_una < self.slow_start_lost_before =>
            {
                self.held_before = self.held_before.max(context.snd_nxt);
            }
            _ => {}
        }
    }

    /// After a timeout: skips slow start and continues from the current window.
    pub fn skip_slow_start(&mut self) {
        self.window.ssthresh = self.window.cwnd;
        self.increment = 0.0;
    }
}

impl Deref for VegasWindow {
    type Target = Window;

    #[inline]
    fn deref(&self) -> &Window {
        &self.window
    }
}

impl DerefMut for VegasWindow {
    #[inline]
    fn deref_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDS: RoundRules = RoundRules {
        rtt: RttChoice::Mean,
        numerator: Numerator::InTransit,
        round_diff: false,
        fix_base_rtt: true,
        fix_invariant: true,
    };

    #[test]
    fn the_timeout_of_a_loss_in_slow_start_holds_the_window_until_older_data_is_acknowledged() {
        let mss = 1000.0;
        let windows_after = |letters: &str, hold: bool| {
            let setup = Setup::new(Time::ZERO, mss, 8.0 * mss)
                .with_initial_ssthresh(64.0 * mss)
                .with_mechanisms(Mechanisms::from_letters(letters).expect("mechanisms"));
            let mut window = VegasWindow::new(&setup, true).with_hold_after_slow_start(hold);
            let sent = Context::new(Time::ZERO, mss).with_sent(2000, 10_000).with_loss_window(mss);
            window.on_congestion(&sent, &Congestion::new(Signal::FastRetransmit));
            window.on_congestion(&sent, &Congestion::new(Signal::Timeout));
            // 10 segments were sent: the ACK of the tenth is the first that grows a held window.
            [4_u64, 9, 10, 11].map(|number| {
                let context = Context::new(Time::ZERO, mss).with_sent(number * 1000 - 1000, number * 1000);
                window.on_ack(&context, &Ack::new(number * 1000, 1000));
                window.cwnd / mss
            })
        };
        assert_eq!(windows_after("B", true), [1.0, 1.0, 2.0, 3.0]);
        // Half of the eight segments in flight is the threshold.
        assert_eq!(windows_after("B", false), [2.0, 3.0, 4.0, 4.0]);
        assert_eq!(windows_after("AB", true), windows_after("AB", false));
        assert_eq!(windows_after("F", true), windows_after("F", false));
    }

    #[test]
    fn a_segment_spread_over_a_window_of_one_is_added_with_its_ack() {
        let mss = 1000.0;
        let mechanisms = Mechanisms::from_letters("AB").expect("two mechanisms");
        let setup = Setup::new(Time::ZERO, mss, mss).with_initial_ssthresh(mss).with_mechanisms(mechanisms);
        let mut window = VegasWindow::new(&setup, false);
        let thresholds = Thresholds { alpha: 1.0, beta: 3.0, gamma: 1.0, increase: Increase::Spread };
        let mut acknowledge = |number: u64, diff: Option<f64>| {
            let context = Context::new(Time::ZERO, mss).with_sent(number * 1000, (number + 1) * 1000);
            let ack = Ack::new(number * 1000, 1000);
            if let Some(diff) = diff {
                window.decide(diff, &thresholds, &context, &ack);
            }
            window.on_ack(&context, &ack);
            window.cwnd
        };
        // 1000 * 1000 / 1000: the only ACK of a round adds the whole segment.
        assert_eq!(acknowledge(1, Some(0.0)), 2000.0);
        // Of the next segment, each of two ACKs adds a half, 1000 * 1000 / 2000.
        assert_eq!(acknowledge(2, Some(0.0)), 2500.0);
        assert_eq!(acknowledge(3, None), 3000.0);
        // Two queued segments hold the window, four shrink it by one.
        assert_eq!(acknowledge(4, Some(2.0)), 3000.0);
        assert_eq!(acknowledge(5, Some(4.0)), 2000.0);
    }

    #[test]
    fn the_growth_of_slow_start_ends_at_the_threshold() {
        let mss = 1000.0;
        let mechanisms = Mechanisms::from_letters("AB").expect("two mechanisms");
        let setup = Setup::new(Time::ZERO, mss, 2.0 * mss)
            .with_initial_ssthresh(4.0 * mss)
            .with_mechanisms(mechanisms);
        let mut window = VegasWindow::new(&setup, false);
        let context = Context::new(Time::ZERO, mss);
        // The second check of slow start grants a segment per ACK, up to the threshold of four.
        window.check_slow_start(0.0, 1.0, mss);
        window.check_slow_start(0.0, 1.0, mss);
        let grown: Vec<f64> = (1..5)
            .map(|number| {
                window.on_ack(&context, &Ack::new(number * 1000, 1000));
                window.cwnd
            })
            .collect();
        assert_eq!(grown, [3000.0, 4000.0, 4000.0, 4000.0]);
    }

    #[test]
    fn three_quarters_of_the_window_are_kept_and_a_half_after_a_second_loss() {
        let mss = 1000.0;
        let kept = |segments: f64, twice: bool| {
            let setup = Setup::new(Time::ZERO, mss, segments * mss)
                .with_mechanisms(Mechanisms::from_letters("F").expect("a mechanism"));
            let mut window = VegasWindow::new(&setup, true);
            let mut congestion = Congestion::new(Signal::FastRetransmit);
            congestion.retransmitted_before = twice;
            window.on_congestion(&Context::new(Time::ZERO, mss), &congestion);
            window.cwnd / mss
        };
        assert_eq!([3.0, 4.0, 9.0].map(|segments| kept(segments, false)), [2.0, 3.0, 7.0]);
        assert_eq!([3.0, 4.0, 9.0].map(|segments| kept(segments, true)), [2.0, 2.0, 4.0]);
    }

    #[test]
    fn an_ack_of_more_than_a_segment_shrinks_the_window_of_a_check_unless_corrected() {
        let mss = 1000.0;
        let window_size = |acked: u64, fix_invariant: bool| {
            let rules = RoundRules { fix_invariant, ..ROUNDS };
            let mut rounds = Rounds::new(rules, Time::ZERO);
            let context = Context::new(Time::ZERO, mss).with_sent(10_000, 15_000);
            rounds.check(&context, &Ack::new(10_000, acked), 8.0 * mss).window_size / mss
        };
        // Five segments are in transit.
        assert_eq!([500, 1000, 3000].map(|acked| window_size(acked, false)), [5.0, 5.0, 3.0]);
        assert_eq!([500, 1000, 3000].map(|acked| window_size(acked, true)), [5.0, 5.0, 5.0]);
    }

    #[test]
    fn the_difference_of_ns2_is_a_whole_number_of_segments() {
        let mss = 1000.0;
        let diff = |second: u64, round_diff: bool| {
            let rules = RoundRules { numerator: Numerator::Cwnd, round_diff, ..ROUNDS };
            let mut rounds = Rounds::new(rules, Time::ZERO);
            [100, second].into_iter().for_each(|ms| rounds.on_sample(Time(ms * 1_000_000)));
            let context = Context::new(Time::ZERO, mss).with_sent(0, 10_000);
            rounds.check(&context, &Ack::new(1000, 1000), 10.0 * mss).diff
        };
        // Means of 106 and 102 ms: 10 (1 - 100 / 106) = 0.57, and 10 (1 - 100 / 102) = 0.20.
        assert!((diff(112, false) - 0.566).abs() < 0.001 && (diff(104, false) - 0.196).abs() < 0.001);
        assert_eq!((diff(112, true), diff(104, true)), (1.0, 0.0));
    }
}
