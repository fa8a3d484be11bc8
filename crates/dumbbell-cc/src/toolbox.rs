//! Components shared by several algorithms: Reno's window and its growth.

use crate::slow_start::{SlowStarter, Step};
use crate::{Ack, Congestion, Context, GrowPer, Growth, Setup, Window, WindowRules};
use dumbbell_units::Time;
use dumbbell_units::math::whole;
use std::ops::{Deref, DerefMut};

/// Growth of a window by Reno's rules, with what it counts.
#[derive(Clone, Copy, Debug)]
pub struct RenoGrowth {
    /// The rules.
    pub rules: WindowRules,
    /// True unless every ACK adds once and windows grow by fractions.
    is_counted: bool,
    /// Additions since the window last grew, if it grows by whole segments.
    counted: f64,
}

impl RenoGrowth {
    /// The growth at the start of a connection.
    pub fn new(rules: WindowRules) -> Self {
        let is_counted = rules.growth == Growth::Segments || rules.grow_per == GrowPer::Segment;
        RenoGrowth { rules, is_counted, counted: 0.0 }
    }

    /// Growth of a window of `cwnd` bytes in congestion avoidance, in bytes (RFC 5681 §3.1).
    #[inline]
    pub fn linear(&mut self, additions: f64, cwnd: f64, context: &Context) -> f64 {
        match self.rules.growth {
            Growth::Segments => {
                self.by_segments(additions, (cwnd / context.mss).floor().max(1.0), cwnd, context)
            }
            Growth::Real | Growth::Whole => additions * self.rules.linear_growth(cwnd, context.mss),
        }
    }

    /// Growth of a window of `cwnd` bytes by a segment for each `count` additions, in bytes.
    #[inline]
    pub fn per(&mut self, additions: f64, count: f64, cwnd: f64, context: &Context) -> f64 {
        let growth = match self.rules.growth {
            Growth::Segments => return self.by_segments(additions, count, cwnd, context),
            Growth::Real => additions * context.mss / count,
            Growth::Whole => whole(additions * context.mss / count),
        };
        if self.rules.extra_eighth { growth + additions * whole(context.mss / 8.0) } else { growth }
    }

    /// A segment for each full count. What a larger count has left adds one segment, and the count begins again. Nothing
    /// is counted while the window must not grow.
    #[inline(never)]
    fn by_segments(&mut self, additions: f64, count: f64, cwnd: f64, context: &Context) -> f64 {
        if cwnd >= context.growth_limit {
            return 0.0;
        }
        let mut segments = 0.0;
        if self.counted >= count {
            self.counted = 0.0;
            segments = 1.0;
        }
        self.counted += additions;
        let full = (self.counted / count).floor();
        self.counted -= full * count;
        (segments + full) * context.mss
    }

    /// The window of `cwnd` bytes after an ACK outside recoveries, with the standard slow start, in bytes.
    pub fn grown(&mut self, cwnd: f64, ssthresh: f64, context: &Context, ack: &Ack) -> f64 {
        let additions = self.rules.additions(ack, context.mss);
        if !self.rules.in_slow_start(cwnd, ssthresh) {
            return context.grown(cwnd, self.linear(additions, cwnd, context));
        }
        let early = self.rules.additions_below(additions, cwnd, ssthresh, context.mss);
        let cwnd = context.grown(cwnd, early * context.mss);
        let rest = additions - early;
        if rest > 0.0 { context.grown(cwnd, self.linear(rest, cwnd, context)) } else { cwnd }
    }

    /// The window is reduced: the count begins again.
    pub fn restart(&mut self) {
        self.counted = 0.0;
    }
}

/// Reno's window [RFC 5681 §3.1]: slow start, one segment per round trip above the threshold, and half after a loss.
#[derive(Clone, Debug)]
pub struct RenoWindow {
    window: Window,
    growth: RenoGrowth,
    slow_start: SlowStarter,
}

impl RenoWindow {
    /// The window at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        RenoWindow {
            window: Window::new(setup),
            growth: RenoGrowth::new(setup.rules),
            slow_start: SlowStarter::new(&setup.rules.slow_start, setup.now),
        }
    }

    /// The same window, which is reduced while it is not used.
    #[must_use]
    pub fn reduced_unused(mut self) -> Self {
        self.window = self.window.reduced_unused();
        self
    }

    /// The rules by which it grows and is reduced.
    pub fn rules(&self) -> &WindowRules {
        &self.growth.rules
    }

    /// New data was acknowledged: outside recoveries, adds a segment per ACK in slow start and one per round trip above
    /// (RFC 5681 §3.1).
    #[inline(always)]
    pub fn increase(&mut self, context: &Context, ack: &Ack) {
        if ack.in_recovery {
            return;
        }
        if self.growth.is_counted {
            // Copies, so that both stay in registers otherwise.
            let (context, ack) = (*context, *ack);
            self.on_counted_ack(&context, &ack);
        } else if self.growth.rules.in_slow_start(self.window.cwnd, self.window.ssthresh) {
            // Copies, for the same reason.
            let (context, ack) = (*context, *ack);
            self.grow_in_slow_start(context.mss, &context, &ack);
        } else {
            let growth = self.growth.rules.linear_growth(self.window.cwnd, context.mss);
            self.window.cwnd = context.grown(self.window.cwnd, growth);
        }
    }

    /// Grows by what the rules count: in slow start up to the threshold, above it by the rest.
    #[inline(never)]
    fn on_counted_ack(&mut self, context: &Context, ack: &Ack) {
        let additions = self.slow_start(context, ack);
        if additions > 0.0 {
            let growth = self.growth.linear(additions, self.window.cwnd, context);
            self.window.cwnd = context.grown(self.window.cwnd, growth);
        }
    }

    /// Grows in slow start, for an algorithm with its own congestion avoidance. Returns how often the ACK adds to the
    /// window above the threshold; 0 in a recovery.
    #[inline]
    pub fn slow_start(&mut self, context: &Context, ack: &Ack) -> f64 {
        if ack.in_recovery {
            return 0.0;
        }
        let additions = self.growth.rules.additions(ack, context.mss);
        if !self.growth.rules.in_slow_start(self.window.cwnd, self.window.ssthresh) {
            return additions;
        }
        let early =
            self.growth.rules.additions_below(additions, self.window.cwnd, self.window.ssthresh, context.mss);
        let (context, ack) = (*context, *ack);
        let has_left = self.grow_in_slow_start(early * context.mss, &context, &ack);
        if has_left { additions } else { additions - early }
    }

    /// Grows by at most `growth` bytes, as the slow start says. True if it ends without any: the ACK belongs to congestion
    /// avoidance, as in Linux.
    #[inline(never)]
    fn grow_in_slow_start(&mut self, growth: f64, context: &Context, ack: &Ack) -> bool {
        let (growth, leaves) = match self.slow_start.on_ack(growth, context, ack) {
            Step::Grow(growth) => (growth, false),
            Step::Leave(growth) => (growth, true),
        };
        self.window.cwnd = context.grown(self.window.cwnd, growth);
        if leaves {
            self.window.ssthresh = self.window.cwnd;
        }
        leaves && growth == 0.0
    }

    /// A round-trip time was measured. If that ends slow start, the threshold is the window: in a recovery, what the sender
    /// makes of it.
    pub fn on_sample(&mut self, context: &Context, rtt: Time) {
        let window = self.window.cwnd + context.inflation;
        let is_below = self.growth.rules.in_slow_start(window, self.window.ssthresh);
        if self.slow_start.on_sample(rtt, window, is_below, context) {
            (self.window.cwnd, self.window.ssthresh) = (window, window);
        }
    }

    /// Grows in congestion avoidance by a segment for each `count` additions.
    #[inline]
    pub fn grow(&mut self, additions: f64, count: f64, context: &Context) {
        let growth = self.growth.per(additions, count, self.window.cwnd, context);
        self.window.cwnd = context.grown(self.window.cwnd, growth);
    }

    /// Grows to this many bytes at once, unless the window is larger already.
    #[inline]
    pub fn grow_to(&mut self, cwnd: f64, context: &Context) {
        if cwnd > self.window.cwnd {
            self.window.cwnd = context.grown(self.window.cwnd, cwnd - self.window.cwnd);
        }
    }

    /// True if an acknowledgement grows the window by slow start.
    pub fn in_slow_start(&self) -> bool {
        self.growth.rules.in_slow_start(self.window.cwnd, self.window.ssthresh)
    }

    /// What is counted for the next segment of the window, as `snd_cwnd_cnt` of Linux.
    pub fn counted(&mut self) -> &mut f64 {
        &mut self.growth.counted
    }

    /// Sets window and threshold to this many bytes without a loss.
    pub fn shrink_to(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd;
        self.window.ssthresh = cwnd;
        self.growth.restart();
    }

    /// Congestion: keeps this fraction of the window, or sets it to the loss window. A small window that more data was
    /// sent than it allows does not grow.
    pub fn keep(&mut self, kept: f64, context: &Context, congestion: &Congestion) {
        let (ssthresh, cwnd) = self.growth.rules.reduced(self.window.cwnd, kept, context);
        let most = self.window.cwnd.max(2.0 * context.mss);
        self.reduce(ssthresh.min(most), cwnd.min(most), context, congestion);
    }

    /// Congestion: halves the window, or sets it to the loss window (RFC 5681 §3.1).
    pub fn halve(&mut self, context: &Context, congestion: &Congestion) {
        let (ssthresh, cwnd) = self.growth.rules.halved(self.window.cwnd, context);
        self.reduce(ssthresh, cwnd, context, congestion);
    }

    /// Congestion: sets this threshold and this window, or the loss window.
    pub fn reduce(&mut self, ssthresh: f64, cwnd: f64, context: &Context, congestion: &Congestion) {
        self.slow_start.on_congestion(context, congestion);
        self.growth.restart();
        self.window.ssthresh = ssthresh;
        self.window.cwnd = if congestion.signal.restarts() { context.loss_window } else { cwnd };
    }

    /// A timeout whose threshold is reduced already: begins again with the loss window.
    pub fn restart(&mut self, context: &Context, congestion: &Congestion) {
        self.reduce(self.window.ssthresh, context.loss_window, context, congestion);
    }
}

impl Deref for RenoWindow {
    type Target = Window;

    #[inline]
    fn deref(&self) -> &Window {
        &self.window
    }
}

impl DerefMut for RenoWindow {
    #[inline]
    fn deref_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::{AlgorithmSpec, Signal};
    use crate::{ReductionBase, SlowStartSpec};

    /// Threshold and window in segments after a loss with a window of 13.5 segments, 13 of them in flight and 8.5 in
    /// the network.
    fn halved(reduction_base: ReductionBase) -> (f64, f64) {
        let rules = WindowRules { reduction_base, ..WindowRules::default() };
        let (ssthresh, cwnd) = rules.halved(13.5 * MSS, &context(13.0 * MSS).with_in_flight(8.5 * MSS));
        (ssthresh / MSS, cwnd / MSS)
    }

    #[test]
    fn a_slow_start_that_the_algorithm_does_not_use_is_a_contradiction() {
        let slow_start = SlowStartSpec::named("hystartpp").expect("a registered name");
        let rules = WindowRules { slow_start, ..WindowRules::default() };
        for (name, field) in [("reno", None), ("vegas", Some("slow_start"))] {
            let congestion = AlgorithmSpec::named(name).expect("a registered name");
            let takes_slow_start = congestion.takes_slow_start();
            assert_eq!(rules.contradiction(takes_slow_start).map(|(field, _)| field), field);
            assert_eq!(WindowRules::default().contradiction(takes_slow_start), None);
        }
    }

    /// Windows in segments after each of these ACKs, which deliver so many segments, by the rules of Linux.
    fn grown(initial: f64, ssthresh: f64, acks: &[u64]) -> (RenoWindow, Vec<f64>) {
        let rules =
            WindowRules { growth: Growth::Segments, grow_per: GrowPer::Segment, ..WindowRules::default() };
        let setup = Setup::new(Time::ZERO, MSS, initial * MSS).with_initial_ssthresh(ssthresh * MSS);
        let mut window = RenoWindow::new(&setup.with_rules(rules));
        let windows = acks.iter().map(|&segments| acknowledged(&mut window, segments)).collect();
        (window, windows)
    }

    /// The window in segments after an ACK that delivers so many segments.
    fn acknowledged(window: &mut RenoWindow, segments: u64) -> f64 {
        let bytes = segments * MSS as u64;
        window.increase(&context(20.0 * MSS), &Ack::new(bytes, bytes));
        window.cwnd / MSS
    }

    #[test]
    fn a_window_of_whole_segments_grows_by_one_per_window_of_segments_delivered() {
        // Counted of 4: 2, 4. Of 5: 2, 4, 6, which leaves 1. Of 6: 3, 5, 7.
        let (_, windows) = grown(4.0, 4.0, &[2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(windows, [4.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 7.0]);
        // An ACK of two windows and a half adds two segments; the two left and three more add the next.
        assert_eq!(grown(4.0, 4.0, &[10, 3, 1]).1, [6.0, 6.0, 7.0]);
    }

    #[test]
    fn slow_start_by_segments_ends_at_the_threshold_and_the_rest_is_counted() {
        // 10 + 2 reach the threshold. The other 2 of the ACK are counted, and 10 more make a window of 12.
        assert_eq!(grown(10.0, 12.0, &[4, 5, 4, 1]).1, [12.0, 12.0, 12.0, 13.0]);
        // Data that was reported before adds nothing.
        let (mut window, _) = grown(10.0, 30.0, &[]);
        let ack = Ack::new(20_000, 20_000).with_delivered(1000);
        window.increase(&context(20.0 * MSS), &ack);
        assert_eq!(window.cwnd, 11.0 * MSS);
    }

    #[test]
    fn a_timeout_that_keeps_the_threshold_forgets_what_was_counted() {
        // Of 4 segments, 3 are counted. After the timeout, slow start ends at 4, of which 3 do not add a segment.
        let (mut window, windows) = grown(4.0, 4.0, &[3]);
        assert_eq!(windows, [4.0]);
        let context = context(20.0 * MSS).with_loss_window(MSS);
        window.restart(&context, &Congestion::new(Signal::Timeout));
        assert_eq!((window.cwnd, window.ssthresh), (MSS, 4.0 * MSS));
        assert_eq!([3, 3, 1].map(|segments| acknowledged(&mut window, segments)), [4.0, 4.0, 5.0]);
    }

    #[test]
    fn what_a_larger_window_has_counted_adds_one_segment() {
        // 3 + 4 + 5 segments lead to a window of 6, of which 4 are counted when an idle period ends it.
        let (mut window, windows) = grown(3.0, 3.0, &[3, 4, 5, 4]);
        assert_eq!(windows, [4.0, 5.0, 6.0, 6.0]);
        window.on_restart();
        // These 4 make a segment, and the count begins again: 1 of 4.
        assert_eq!([1, 2, 1].map(|segments| acknowledged(&mut window, segments)), [4.0, 4.0, 5.0]);
        // A reduction clears the count.
        let (mut window, _) = grown(8.0, 4.0, &[7]);
        window.halve(&context(8.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!([3, 1].map(|segments| acknowledged(&mut window, segments)), [4.0, 5.0]);
    }

    #[test]
    fn a_window_that_may_not_grow_counts_nothing() {
        let (mut window, _) = grown(4.0, 4.0, &[]);
        let limited = context(4.0 * MSS).with_growth_limit(4.0 * MSS);
        window.increase(&limited, &Ack::new(3000, 3000));
        assert_eq!([3, 1].map(|segments| acknowledged(&mut window, segments)), [4.0, 5.0]);
    }

    #[test]
    fn real_growth_by_segments_adds_twice_as_much_for_an_ack_of_two() {
        let rules = WindowRules { grow_per: GrowPer::Segment, ..WindowRules::default() };
        let setup = Setup::new(Time::ZERO, MSS, 8.0 * MSS).with_rules(rules);
        let mut window = RenoWindow::new(&setup.with_initial_ssthresh(10.0 * MSS));
        // Slow start: 8 + 2. Above: 2 / 10 of a segment.
        assert_eq!(acknowledged(&mut window, 2), 10.0);
        assert!((acknowledged(&mut window, 2) - 10.2).abs() < 1e-9);
        // A part of a segment counts as one: 1 / 10.2.
        window.increase(&context(20.0 * MSS), &Ack::new(100, 100));
        assert!((window.cwnd / MSS - (10.2 + 1.0 / 10.2)).abs() < 1e-9);
    }

    #[test]
    fn an_eighth_of_a_segment_contradicts_whole_segments() {
        let rules = WindowRules { growth: Growth::Segments, extra_eighth: true, ..WindowRules::default() };
        assert_eq!(rules.contradiction(true).map(|(field, _)| field), Some("extra_eighth"));
    }

    #[test]
    fn each_rule_halves_its_own_quantity() {
        assert_eq!(halved(ReductionBase::Flight), (6.5, 6.5));
        assert_eq!(halved(ReductionBase::Pipe), (4.25, 4.25));
        assert_eq!(halved(ReductionBase::WholeWindow), (6.0, 6.0));
        assert_eq!(halved(ReductionBase::RealWindow), (6.0, 6.75));
    }
}
