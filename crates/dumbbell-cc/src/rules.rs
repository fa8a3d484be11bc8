//! The rules in which implementations of the same algorithm differ.

use crate::{Ack, Context, SlowStartSpec};
use dumbbell_units::math::{least, real, whole};
use dumbbell_units::{choice, params};

choice! {
    /// How a window grows in congestion avoidance.
    pub enum Growth {
        /// By `mss * mss / cwnd` whole bytes per ACK, as in BSD.
        Whole = "whole-bytes",
        /// By the same amount, not rounded (RFC 5681 §3.1).
        Real = "real",
        /// By whole segments: what adds to the window is counted, and a full window of it adds a segment, as in Linux.
        Segments = "whole-segments",
    }
}

choice! {
    /// What adds to a window.
    pub enum GrowPer {
        /// Every acknowledgement of new data, whatever it acknowledges (RFC 5681 §3.1).
        Ack = "ack",
        /// Every segment delivered, without a limit per acknowledgement (RFC 3465 §2.1); in slow start up to the
        /// threshold, above which the rest of an acknowledgement counts in congestion avoidance, as in Linux.
        Segment = "segment",
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
    /// What becomes of a window that the sender does not use.
    pub enum WindowValidation {
        /// After an idle period of one retransmission timeout, the connection restarts from the initial window
        /// (RFC 5681 §4.1).
        Restart = "restart",
        /// It is halved for each timeout of idleness, and approaches what is used while the application limits the sender,
        /// as in Linux (RFC 2861).
        Linux = "linux",
        /// It is kept for five minutes without growing (RFC 7661).
        Rfc7661 = "rfc7661",
    }
}

choice! {
    /// The quantity that a loss reduces to a fraction.
    pub enum ReductionBase {
        /// The bytes in flight, at a timeout at most the window; the result is at least two segments. A repeated timeout
        /// keeps the threshold (RFC 5681 §3.1).
        Flight = "flight",
        /// The bytes in the network by the scoreboard of selective acknowledgements; the result is whole bytes, at
        /// least two segments.
        Pipe = "pipe",
        /// The usable window; the result is whole segments, at least two (BSD). So are thresholds from an estimate of
        /// the bandwidth.
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
        /// What adds to a window.
        grow_per: GrowPer = GrowPer::Ack, "-", "[RFC 5681 §3.1]";
        /// When a window grows.
        grow_when: GrowWhen = GrowWhen::CwndLimited, "-", "[RFC 7661 §4.4]";
        /// What becomes of a window that the sender does not use, if `idle_restart` of the connection is on.
        validation: WindowValidation = WindowValidation::Restart, "-", "[RFC 5681 §4.1]";
        /// The quantity that a loss reduces.
        reduction_base: ReductionBase = ReductionBase::Flight, "-", "[RFC 5681 §3.1]";
        /// The receive window and the send buffer also bound the window itself, not only what is sent.
        is_bounded: bool = true, "-", "[RFC 5681 §3.1]";
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
    /// Why these rules contradict a congestion control that takes the slow start of others, or does not: the field and
    /// what is accepted.
    pub fn contradiction(&self, takes_slow_start: bool) -> Option<(&'static str, &'static str)> {
        if self.slow_start != SlowStartSpec::default() && !takes_slow_start {
            return Some(("slow_start", "standard: this congestion control has a slow start of its own"));
        }
        (self.growth == Growth::Segments && self.extra_eighth)
            .then_some(("extra_eighth", "false: windows of whole segments do not grow by an eighth of one"))
    }

    /// The threshold of a window that is reduced because it is not used: at least three quarters of it (RFC 7661 §4.3).
    pub fn remembered(cwnd: f64, ssthresh: f64) -> f64 {
        ssthresh.max(0.75 * cwnd)
    }

    /// The same of a window of whole segments: a half and a quarter of it, each rounded down [linux6 tcp.h].
    pub fn remembered_segments(cwnd: f64, ssthresh: f64, mss: f64) -> f64 {
        let segments = (cwnd / mss).floor();
        ssthresh.max(((segments / 2.0).floor() + (segments / 4.0).floor()) * mss)
    }

    /// True if the window is below its threshold.
    #[inline]
    pub fn in_slow_start(&self, cwnd: f64, ssthresh: f64) -> bool {
        if self.slow_start_at_ssthresh { cwnd <= ssthresh } else { cwnd < ssthresh }
    }

    /// Growth in congestion avoidance by an ACK that adds once, in bytes (RFC 5681 §3.1), unless segments are counted.
    #[inline]
    pub fn linear_growth(&self, cwnd: f64, mss: f64) -> f64 {
        let growth = mss * mss / cwnd;
        let growth = match self.growth {
            Growth::Whole => whole(growth),
            Growth::Real | Growth::Segments => growth,
        };
        if self.extra_eighth { growth + whole(mss / 8.0) } else { growth }
    }

    /// How often an ACK adds to the window: once, or once for each segment that it delivers. A part of a segment counts
    /// as one.
    #[inline]
    pub fn additions(&self, ack: &Ack, mss: f64) -> f64 {
        match self.grow_per {
            GrowPer::Ack => 1.0,
            GrowPer::Segment => (real(ack.delivered) / mss).ceil(),
        }
    }

    /// Those of an ACK's additions with which a window below its threshold reaches it, if each adds a segment; all if
    /// ACKs are not divided.
    #[inline]
    pub fn additions_below(&self, additions: f64, cwnd: f64, ssthresh: f64, mss: f64) -> f64 {
        match self.grow_per {
            GrowPer::Ack => additions,
            GrowPer::Segment => least(additions, ((ssthresh - cwnd) / mss).ceil().max(1.0)),
        }
    }

    /// A threshold that does not come from the window, in bytes: at least two segments, and whole ones if those from
    /// the window are.
    pub fn threshold(&self, bytes: f64, mss: f64) -> f64 {
        let is_whole = self.reduction_base == ReductionBase::WholeWindow;
        let rest = if is_whole { (bytes / mss).floor() * mss } else { bytes };
        rest.max(2.0 * mss)
    }

    /// Threshold and window after a loss that halves them, in bytes.
    pub fn halved(&self, cwnd: f64, context: &Context) -> (f64, f64) {
        self.reduced(cwnd, 0.5, context)
    }

    /// Threshold and window after a loss that leaves the fraction `kept` of them, in bytes.
    pub fn reduced(&self, cwnd: f64, kept: f64, context: &Context) -> (f64, f64) {
        let mss = context.mss;
        let window = (cwnd + context.inflation).min(context.max_window);
        match self.reduction_base {
            ReductionBase::Flight => {
                let rest = (context.flight_size * kept).max(2.0 * mss);
                (rest, rest)
            }
            ReductionBase::Pipe => {
                let rest = (context.in_flight * kept).floor().max(2.0 * mss);
                (rest, rest)
            }
            ReductionBase::WholeWindow => {
                let rest = (window * kept / mss).floor().max(2.0) * mss;
                (rest, rest)
            }
            ReductionBase::RealWindow => {
                let rest = (window * kept / mss).floor().max(2.0) * mss;
                (rest, (window * kept).max(mss))
            }
        }
    }
}
