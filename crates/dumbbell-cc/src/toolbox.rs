//! Pieces that several algorithms share: Reno's growth and halving, and the rules by which
//! implementations of the same algorithm differ.

use crate::{Congestion, Context};
use dumbbell_units::choice;

choice! {
    /// How a window grows in congestion avoidance.
    pub enum Growth {
        /// By `mss * mss / cwnd` whole bytes per ACK, as in BSD.
        Whole = "whole-bytes",
        /// By the same amount, not rounded, as in ns-2 and in RFC 5681 §3.1.
        Real = "real",
    }
}

choice! {
    /// What is halved at a loss.
    pub enum Halving {
        /// The bytes in flight, at least two segments (RFC 5681 §3.1).
        Flight = "flight",
        /// What the scoreboard of selective acknowledgements leaves in the network, in whole bytes, at least two segments
        /// (ns-3).
        Pipe = "pipe",
        /// The usable window, in whole segments, at least two (BSD).
        WholeWindow = "whole-window",
        /// The usable window: the threshold in whole segments, the window itself not rounded (ns-2).
        RealWindow = "real-window",
    }
}

/// How an environment grows and halves windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowRules {
    /// Growth in congestion avoidance.
    pub growth: Growth,
    /// What is halved.
    pub halving: Halving,
    /// True if a window equal to the threshold is still in slow start (BSD).
    pub slow_start_at_ssthresh: bool,
    /// True to add an eighth of a segment per ACK in congestion avoidance (BSD 1990 to 1994).
    pub extra_eighth: bool,
    /// True if the cut by a quarter of Vegas leaves the threshold as it is until the inflation is taken back (ns-2).
    pub late_threshold: bool,
}

impl Default for WindowRules {
    /// The rules of RFC 5681 §3.1.
    fn default() -> Self {
        WindowRules {
            growth: Growth::Real,
            halving: Halving::Flight,
            slow_start_at_ssthresh: false,
            extra_eighth: false,
            late_threshold: false,
        }
    }
}

impl WindowRules {
    /// True if the window is below its threshold.
    pub fn in_slow_start(&self, cwnd: f64, ssthresh: f64) -> bool {
        if self.slow_start_at_ssthresh { cwnd <= ssthresh } else { cwnd < ssthresh }
    }

    /// Growth per ACK in congestion avoidance, in bytes (RFC 5681 §3.1).
    pub fn linear_growth(&self, cwnd: f64, mss: f64) -> f64 {
        let growth = mss * mss / cwnd;
        let growth = match self.growth {
            Growth::Whole => growth.floor(),
            Growth::Real => growth,
        };
        if self.extra_eighth { growth + (mss / 8.0).floor() } else { growth }
    }

    /// Reno's growth per ACK, in bytes.
    pub fn reno_growth(&self, cwnd: f64, ssthresh: f64, mss: f64) -> f64 {
        if self.in_slow_start(cwnd, ssthresh) { mss } else { self.linear_growth(cwnd, mss) }
    }

    /// Threshold and window after a loss, in bytes.
    pub fn halved(&self, cwnd: f64, context: &Context, congestion: &Congestion) -> (f64, f64) {
        let mss = context.mss;
        let window = (cwnd + context.inflation).min(context.max_window);
        match self.halving {
            Halving::Flight => {
                let half = (context.flight_size / 2.0).max(2.0 * mss);
                (half, half)
            }
            Halving::Pipe => {
                let half = (congestion.pipe / 2.0).floor().max(2.0 * mss);
                (half, half)
            }
            Halving::WholeWindow => {
                let half = (window / 2.0 / mss).floor().max(2.0) * mss;
                (half, half)
            }
            Halving::RealWindow => {
                let half = (window / 2.0 / mss).floor().max(2.0) * mss;
                (half, (window / 2.0).max(mss))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};

    /// Threshold and window in segments after the loss of a window of 13.5 segments, of which 13 are in flight and 8.5 in
    /// the network.
    fn halved(halving: Halving) -> (f64, f64) {
        let rules = WindowRules { halving, ..WindowRules::default() };
        let signal = Signal::FastRetransmit;
        let congestion = Congestion { signal, retransmitted_before: false, pipe: 8.5 * MSS };
        let (ssthresh, cwnd) = rules.halved(13.5 * MSS, &context(13.0 * MSS), &congestion);
        (ssthresh / MSS, cwnd / MSS)
    }

    #[test]
    fn each_rule_halves_what_it_names() {
        assert_eq!(halved(Halving::Flight), (6.5, 6.5));
        assert_eq!(halved(Halving::Pipe), (4.25, 4.25));
        assert_eq!(halved(Halving::WholeWindow), (6.0, 6.0));
        assert_eq!(halved(Halving::RealWindow), (6.0, 6.75));
    }
}
