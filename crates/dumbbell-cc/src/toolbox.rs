//! Components shared by several algorithms: Reno's window, and the rules in which implementations of the same algorithm
//! differ.

use crate::slow_start::{SlowStarter, Step};
use crate::{Ack, AlgorithmSpec, Congestion, Context, RecoveryExit, Setup, SlowStartSpec, Undo};
use dumbbell_units::math::whole;
use dumbbell_units::{choice, params};

choice! {
    /// How a window grows in congestion avoidance.
    pub enum Growth {
        /// By `mss * mss / cwnd` whole bytes per ACK, as in BSD.
        Whole = "whole-bytes",
        /// By the same amount, not rounded (RFC 5681 §3.1).
        Real = "real",
    }
}

choice! {
    /// When a window grows.
    pub enum GrowWhen {
        /// Only while it limits the sender (RFC 7661 §4.4).
        CwndLimited = "cwnd-limited",
        /// On every acknowledgement of new data, whether the window is used or not.
        Always = "always",
    }
}

choice! {
    /// The quantity that a loss reduces to a fraction.
    pub enum ReductionBase {
        /// The bytes in flight; the result is at least two segments (RFC 5681 §3.1).
        Flight = "flight",
        /// The bytes in the network by the scoreboard of selective acknowledgements; the result is whole bytes, at
        /// least two segments.
        Pipe = "pipe",
        /// The usable window; the result is whole segments, at least two (BSD).
        WholeWindow = "whole-window",
        /// The usable window; the threshold becomes whole segments, at least two, and the window itself is not rounded.
        RealWindow = "real-window",
    }
}

params! {
    /// How windows grow and are reduced.
    pub struct WindowRules {
        /// How a window grows in congestion avoidance.
        growth: Growth = Growth::Real, "-", "[RFC 5681 §3.1]";
        /// When a window grows.
        grow_when: GrowWhen = GrowWhen::CwndLimited, "-", "[RFC 7661 §4.4]";
        /// The quantity that a loss reduces.
        reduction_base: ReductionBase = ReductionBase::Flight, "-", "[RFC 5681 §3.1]";
        /// A window equal to its threshold is still in slow start.
        slow_start_at_ssthresh: bool = false, "-", "[RFC 5681 §3.1]";
        /// Add an eighth of a segment per ACK in congestion avoidance, as BSD did until 1994.
        extra_eighth: bool = false, "-", "[RFC 5681 §3.1]";
        /// How a window grows in slow start, and when it leaves it before a loss.
        slow_start: SlowStartSpec = SlowStartSpec::default(), "-", "[RFC 5681 §3.1]";
    }
}

// Every algorithm has its own copy.
impl Copy for WindowRules {}

impl WindowRules {
    /// Why these rules contradict a congestion control: the field and what is accepted.
    pub fn contradiction(&self, congestion: &AlgorithmSpec) -> Option<(&'static str, &'static str)> {
        let is_ignored = self.slow_start != SlowStartSpec::default() && !congestion.takes_slow_start();
        is_ignored.then_some(("slow_start", "standard: this congestion control has a slow start of its own"))
    }

    /// True if the window is below its threshold.
    #[inline]
    pub fn in_slow_start(&self, cwnd: f64, ssthresh: f64) -> bool {
        if self.slow_start_at_ssthresh { cwnd <= ssthresh } else { cwnd < ssthresh }
    }

    /// Growth per ACK in congestion avoidance, in bytes (RFC 5681 §3.1).
    #[inline]
    pub fn linear_growth(&self, cwnd: f64, mss: f64) -> f64 {
        let growth = mss * mss / cwnd;
        let growth = match self.growth {
            Growth::Whole => whole(growth),
            Growth::Real => growth,
        };
        if self.extra_eighth { growth + whole(mss / 8.0) } else { growth }
    }

    /// Growth per ACK of Reno's window with the standard slow start, in bytes.
    pub fn reno_growth(&self, cwnd: f64, ssthresh: f64, mss: f64) -> f64 {
        if self.in_slow_start(cwnd, ssthresh) { mss } else { self.linear_growth(cwnd, mss) }
    }

    /// Threshold and window after a loss that halves them, in bytes.
    pub fn halved(&self, cwnd: f64, context: &Context) -> (f64, f64) {
        let mss = context.mss;
        let window = (cwnd + context.inflation).min(context.max_window);
        match self.reduction_base {
            ReductionBase::Flight => {
                let half = (context.flight_size / 2.0).max(2.0 * mss);
                (half, half)
            }
            ReductionBase::Pipe => {
                let half = (context.in_flight / 2.0).floor().max(2.0 * mss);
                (half, half)
            }
            ReductionBase::WholeWindow => {
                let half = (window / 2.0 / mss).floor().max(2.0) * mss;
                (half, half)
            }
            ReductionBase::RealWindow => {
                let half = (window / 2.0 / mss).floor().max(2.0) * mss;
                (half, (window / 2.0).max(mss))
            }
        }
    }
}

/// Reno's window [RFC 5681 §3.1]: slow start, one segment per round trip above the threshold, and half after a loss.
#[derive(Clone, Debug)]
pub struct RenoWindow {
    cwnd: f64,
    ssthresh: f64,
    initial_window: f64,
    rules: WindowRules,
    slow_start: SlowStarter,
}

impl RenoWindow {
    /// The window at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        RenoWindow {
            cwnd: setup.initial_window,
            ssthresh: setup.initial_ssthresh,
            initial_window: setup.initial_window,
            rules: setup.rules,
            slow_start: SlowStarter::new(setup),
        }
    }

    /// The window in bytes.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// The slow-start threshold in bytes.
    #[inline]
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// New data was acknowledged: grow outside recoveries.
    #[inline]
    pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if ack.in_recovery {
            return;
        }
        if self.rules.in_slow_start(self.cwnd, self.ssthresh) {
            match self.slow_start.on_ack(self.cwnd, context, ack) {
                Step::Grow(growth) => self.cwnd = context.grown(self.cwnd, growth),
                Step::Leave(growth) => {
                    self.cwnd = context.grown(self.cwnd, growth);
                    self.ssthresh = self.cwnd;
                }
            }
        } else {
            let growth = self.rules.linear_growth(self.cwnd, context.mss);
            self.cwnd = context.grown(self.cwnd, growth);
        }
    }

    /// Congestion: halves the window, or sets it to the loss window.
    pub fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let (ssthresh, cwnd) = self.rules.halved(self.cwnd, context);
        self.reduce(ssthresh, cwnd, context, congestion);
    }

    /// Congestion: sets this threshold and this window, or the loss window.
    pub fn reduce(&mut self, ssthresh: f64, cwnd: f64, context: &Context, congestion: &Congestion) {
        self.slow_start.on_congestion(congestion);
        self.ssthresh = ssthresh;
        self.cwnd = if congestion.signal.restarts() { context.loss_window } else { cwnd };
    }

    /// A fast recovery ended.
    pub fn on_recovery_exit(&mut self, exit: &RecoveryExit) {
        self.cwnd += exit.kept_inflation;
    }

    /// A reaction was spurious: restores window and threshold unless they are larger now.
    pub fn on_undo(&mut self, undo: &Undo) {
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.ssthresh = self.ssthresh.max(undo.ssthresh);
    }

    /// The connection was idle: limits the window to the initial window (RFC 5681 §4.1).
    pub fn on_restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use dumbbell_units::Time;

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
            assert_eq!(rules.contradiction(&congestion).map(|(field, _)| field), field);
            assert_eq!(WindowRules::default().contradiction(&congestion), None);
        }
    }

    #[test]
    fn an_undo_restores_the_window_unless_it_is_larger_now() {
        let setup = Setup::new(Time::ZERO, MSS, 20.0 * MSS).with_initial_ssthresh(30.0 * MSS);
        let undo = Undo::new(Signal::Timeout, 20.0 * MSS, 30.0 * MSS);
        let mut window = RenoWindow::new(&setup);
        window.on_congestion(&context(20.0 * MSS), &Congestion::new(Signal::Timeout));
        assert_eq!((window.cwnd(), window.ssthresh()), (MSS, 10.0 * MSS));
        window.on_undo(&undo);
        assert_eq!((window.cwnd(), window.ssthresh()), (20.0 * MSS, 30.0 * MSS));
        window.on_ack(&context(20.0 * MSS), &Ack::new(1000, 1000));
        window.on_undo(&undo);
        assert_eq!(window.cwnd(), 21.0 * MSS);
    }

    #[test]
    fn each_rule_halves_its_own_quantity() {
        assert_eq!(halved(ReductionBase::Flight), (6.5, 6.5));
        assert_eq!(halved(ReductionBase::Pipe), (4.25, 4.25));
        assert_eq!(halved(ReductionBase::WholeWindow), (6.0, 6.0));
        assert_eq!(halved(ReductionBase::RealWindow), (6.0, 6.75));
    }
}
