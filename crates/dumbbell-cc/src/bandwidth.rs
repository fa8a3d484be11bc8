//! Shared by the congestion controls that estimate bandwidth from acknowledgements: counting what an ACK delivers, and
//! the window that is set from the estimate after congestion [mascolo2001], [grieco2004 §2.1].

use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Setup};

/// Counts delivered data once, whether it is signalled by duplicate, delayed or cumulative ACKs [grieco2004 §2.2].
#[derive(Clone, Copy, Debug, Default)]
pub struct AckCounter {
    /// Bytes that duplicate ACKs have signalled and no cumulative ACK has covered yet.
    accounted: f64,
}

impl AckCounter {
    /// Bytes that a duplicate ACK signals: one segment arrived.
    pub fn on_duplicate_ack(&mut self, mss: f64) -> f64 {
        self.accounted += mss;
        mss
    }

    /// Bytes that an ACK of `acked` new bytes signals: one segment, or the excess over the segments
    /// that duplicate ACKs have signalled.
    pub fn on_ack(&mut self, acked: f64, mss: f64) -> f64 {
        if acked <= mss {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted -= acked;
            return mss;
        }
        acked - std::mem::take(&mut self.accounted)
    }
}

/// Reno's window, whose threshold after a loss is the estimated bandwidth times the minimum round-trip time.
#[derive(Clone, Debug)]
pub struct BandwidthWindow {
    /// The window.
    pub reno: RenoWindow,
    /// Minimum round-trip time sampled, in seconds; infinite before the first.
    rtt_min: f64,
}

impl BandwidthWindow {
    /// The window at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        BandwidthWindow { reno: RenoWindow::new(setup).reduced_unused(), rtt_min: f64::INFINITY }
    }

    /// Minimum round-trip time sampled, in seconds, once there is one.
    pub fn rtt_min(&self) -> Option<f64> {
        self.rtt_min.is_finite().then_some(self.rtt_min)
    }

    /// New data was acknowledged: grow as Reno does.
    #[inline]
    pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min = self.rtt_min.min(rtt.secs());
        }
        self.reno.increase(context, ack);
    }

    /// Congestion with an estimate of `bandwidth` bytes per second. Without an estimate, the reaction is Reno's.
    pub fn on_congestion(
        &mut self,
        context: &Context,
        congestion: &Congestion,
        bandwidth: Option<f64>,
        only_reduce: bool,
    ) {
        let (Some(bandwidth), Some(rtt_min)) = (bandwidth, self.rtt_min()) else {
            self.reno.halve(context, congestion);
            return;
        };
        let ssthresh = self.reno.rules().threshold(bandwidth * rtt_min, context.mss);
        let most = if only_reduce { self.reno.cwnd } else { context.max_window };
        self.reno.reduce(ssthresh, ssthresh.min(most), context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReductionBase, Signal, WindowRules};
    use dumbbell_units::Time;

    const MSS: f64 = 1000.0;

    /// Segments signalled by a sequence of ACKs: 0 is a duplicate, n acknowledges n segments.
    fn signalled(acks: &[u32]) -> Vec<f64> {
        let mut counter = AckCounter::default();
        acks.iter()
            .map(|&segments| match segments {
                0 => counter.on_duplicate_ack(MSS) / MSS,
                n => counter.on_ack(f64::from(n) * MSS, MSS) / MSS,
            })
            .collect()
    }

    #[test]
    fn regular_and_delayed_acks_count_the_acknowledged_bytes() {
        assert_eq!(signalled(&[1, 1, 2, 2, 1]), [1.0, 1.0, 2.0, 2.0, 1.0]);
    }

    #[test]
    fn a_cumulative_ack_counts_what_duplicates_have_not_signalled() {
        // Segment 1 of 5 is lost: four duplicates signal 2 to 5, then all five are acknowledged, of which 5 - 4 = 1 is
        // new. Nothing is left over: the delayed ACK counts 2.
        assert_eq!(signalled(&[0, 0, 0, 0, 5, 2]), [1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
        // One of the four duplicates was lost: 5 - 3 = 2.
        assert_eq!(signalled(&[0, 0, 0, 5, 2]), [1.0, 1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn partial_acks_use_up_what_duplicates_have_signalled() {
        // Segments 1 and 4 of 8 are lost: six duplicates signal 2, 3, 5, 6, 7, 8. The partial ACK of 1 to 3 counts one
        // and leaves 6 - 3 = 3; that of 4 to 8 counts 5 - 3 = 2. The total of nine is one more than arrived: the rule
        // also subtracts segment 1 from what was accounted for.
        assert_eq!(signalled(&[0, 0, 0, 0, 0, 0, 3, 5]), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
        // An ACK of one segment leaves what is accounted for: 4 - 2 = 2 later.
        assert_eq!(signalled(&[0, 0, 1, 4]), [1.0, 1.0, 1.0, 2.0]);
    }

    #[test]
    fn a_short_segment_counts_its_bytes() {
        assert_eq!(AckCounter::default().on_ack(300.0, MSS), 300.0);
    }

    fn after(signal: Signal, bandwidth: Option<f64>, only_reduce: bool) -> (f64, f64) {
        after_by(WindowRules::default(), signal, bandwidth, only_reduce)
    }

    fn after_by(rules: WindowRules, signal: Signal, bandwidth: Option<f64>, only_reduce: bool) -> (f64, f64) {
        let setup = Setup::new(Time::ZERO, MSS, 40.0 * MSS).with_rules(rules);
        let mut window = BandwidthWindow::new(&setup);
        window.rtt_min = 0.1;
        let context = Context::new(Time::ZERO, MSS).with_sent(0, 40_000);
        let congestion = Congestion::new(signal);
        window.on_congestion(&context, &congestion, bandwidth, only_reduce);
        (window.reno.cwnd / MSS, window.reno.ssthresh / MSS)
    }

    #[test]
    fn thresholds_are_whole_segments_where_halved_windows_are() {
        // 259 000 bytes/s * 0.1 s = 25.9 segments.
        let loss = |reduction_base| {
            let rules = WindowRules { reduction_base, ..WindowRules::default() };
            after_by(rules, Signal::FastRetransmit, Some(259_000.0), true)
        };
        assert_eq!(loss(ReductionBase::WholeWindow), (25.0, 25.0));
        assert_eq!(loss(ReductionBase::RealWindow), (25.9, 25.9));
        assert_eq!(loss(ReductionBase::Flight), (25.9, 25.9));
    }

    #[test]
    fn a_loss_sets_the_window_to_bandwidth_times_minimum_rtt() {
        // 250 000 bytes/s * 0.1 s = 25 segments; 5 000 * 0.1 = 500 bytes, but at least 2 segments.
        assert_eq!(after(Signal::FastRetransmit, Some(250_000.0), true), (25.0, 25.0));
        assert_eq!(after(Signal::FastRetransmit, Some(5_000.0), true), (2.0, 2.0));
        assert_eq!(after(Signal::Timeout, Some(250_000.0), true), (1.0, 25.0));
        // 600 000 * 0.1 = 60 segments are more than the 40 of the window.
        assert_eq!(after(Signal::FastRetransmit, Some(600_000.0), true), (40.0, 60.0));
        assert_eq!(after(Signal::FastRetransmit, Some(600_000.0), false), (60.0, 60.0));
        // No estimate: half of the 40 segments in flight.
        assert_eq!(after(Signal::FastRetransmit, None, true), (20.0, 20.0));
    }
}
