//! Shared by the congestion controls that estimate bandwidth from acknowledgements: counting what an ACK delivers, and
//! the window that is set from the estimate after congestion [mascolo2001], [grieco2004 §2.1].

use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Control, Setup, window_in};
use dumbbell_units::Time;

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

/// An estimate of the bandwidth from what acknowledgements deliver.
pub trait Estimate {
    /// A round-trip time was sampled.
    fn on_rtt(&mut self, _rtt: Time) {}

    /// An ACK or a duplicate ACK signals so many bytes.
    fn on_delivered(&mut self, bytes: f64, now: Time);

    /// The estimate is about to be used: brings it up to date.
    fn advance(&mut self, _now: Time) {}

    /// The estimate in bytes per second, once there is one.
    fn bandwidth(&self) -> Option<f64>;
}

/// Reno's window, whose threshold after a loss is the estimated bandwidth times the minimum round-trip time.
#[derive(Clone, Debug)]
pub struct BandwidthWindow<E> {
    reno: RenoWindow,
    counter: AckCounter,
    /// The estimate.
    pub(crate) estimate: E,
    /// Minimum round-trip time sampled, in seconds; infinite before the first.
    rtt_min: f64,
    /// A loss never raises the window.
    only_reduces: bool,
}

impl<E: Estimate> BandwidthWindow<E> {
    /// The window at the start of a connection.
    pub fn with(estimate: E, only_reduces: bool, setup: &Setup) -> Self {
        BandwidthWindow {
            reno: RenoWindow::new(setup).reduced_unused(),
            counter: AckCounter::default(),
            estimate,
            rtt_min: f64::INFINITY,
            only_reduces,
        }
    }

    /// Minimum round-trip time sampled, in seconds, once there is one.
    fn rtt_min(&self) -> Option<f64> {
        self.rtt_min.is_finite().then_some(self.rtt_min)
    }
}

impl<E: Estimate> Control for BandwidthWindow<E> {
    window_in!(reno);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.estimate.on_rtt(rtt);
            self.rtt_min = self.rtt_min.min(rtt.secs());
        }
        let delivered = self.counter.on_ack(ack.acked as f64, context.mss);
        self.estimate.on_delivered(delivered, context.now);
        self.reno.increase(context, ack);
    }

    fn on_duplicate_ack(&mut self, context: &Context, _ack: &Ack) {
        let delivered = self.counter.on_duplicate_ack(context.mss);
        self.estimate.on_delivered(delivered, context.now);
    }

    /// Without an estimate, the reaction is Reno's.
    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.estimate.advance(context.now);
        let (Some(bandwidth), Some(rtt_min)) = (self.estimate.bandwidth(), self.rtt_min()) else {
            self.reno.halve(context, congestion);
            return;
        };
        let ssthresh = self.reno.rules().threshold(bandwidth * rtt_min, context.mss);
        let most = if self.only_reduces { self.reno.cwnd } else { context.max_window };
        self.reno.reduce(ssthresh, ssthresh.min(most), context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        *[self.rtt_min(), self.estimate.bandwidth().map(|bandwidth| 8.0 * bandwidth)].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReductionBase, Signal, WindowRules};

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

    /// A bandwidth that is known, or not, from the start.
    impl Estimate for Option<f64> {
        fn on_delivered(&mut self, _bytes: f64, _now: Time) {}

        fn bandwidth(&self) -> Option<f64> {
            *self
        }
    }

    fn after(signal: Signal, bandwidth: Option<f64>, only_reduce: bool) -> (f64, f64) {
        after_by(WindowRules::default(), signal, bandwidth, only_reduce)
    }

    fn after_by(rules: WindowRules, signal: Signal, bandwidth: Option<f64>, only_reduce: bool) -> (f64, f64) {
        let setup = Setup::new(Time::ZERO, MSS, 40.0 * MSS).with_rules(rules);
        let mut window = BandwidthWindow::with(bandwidth, only_reduce, &setup);
        window.rtt_min = 0.1;
        let context = Context::new(Time::ZERO, MSS).with_sent(0, 40_000);
        window.on_congestion(&context, &Congestion::new(signal));
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
