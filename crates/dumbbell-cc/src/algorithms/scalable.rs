//! Scalable TCP, multiplicative increase and multiplicative decrease [kelly2003 §3].
//!
//! Each acknowledgement adds a hundredth of a segment, so that a round trip adds a hundredth of the window; a loss
//! takes an eighth. A recovery takes 13.4 round trips whatever the window. With losses of a fraction p of the segments,
//! growth and losses balance at $0.08 / p$ segments. A window of at most 16 segments is Reno's.
//!
//! Linux names the same increase and decrease as recommended by the author [linux6 tcp_scalable.c]. It has no such
//! limit: its growth is at least Reno's (`at_least_reno`), and a small window is reduced by an eighth, too, by whole segments
//! (`whole_decrease`).

use crate::linux;
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, Setup, window_in};
use dumbbell_units::math::least;
use dumbbell_units::params;

params! {
    /// Parameters of Scalable TCP.
    pub struct ScalableParams {
        /// Growth of the window by each acknowledgement.
        increase: f64 = 0.01, "segments", "[kelly2003 §3]",
            |increase| *increase > 0.0 && *increase <= 1.0, "a number of segments, above 0 and at most 1";
        /// Fraction of the window that remains after a loss.
        decrease: f64 = 0.875, "-", "[kelly2003 §3]",
            |decrease| *decrease > 0.0 && *decrease < 1.0, "a fraction above 0 and below 1";
        /// Largest window that grows and is reduced as Reno's; 0 in Linux.
        low_window: f64 = 16.0, "segments", "[kelly2003 §3], unverified",
            |window| *window >= 0.0, "a number of segments, at least 0";
        /// Grow at least as Reno does, whatever the window; true in Linux.
        at_least_reno: bool = false, "-", "[linux6 tcp_scalable.c]";
        /// What a loss takes counts in whole segments, rounded down; true in Linux.
        whole_decrease: bool = false, "-", "[linux6 tcp_scalable.c]";
    }
}

impl ScalableParams {
    /// The parameters of Linux [linux6 tcp_scalable.c].
    pub fn linux() -> Self {
        ScalableParams {
            low_window: 0.0,
            at_least_reno: true,
            whole_decrease: true,
            ..ScalableParams::default()
        }
    }
}

/// The state of Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    params: ScalableParams,
    window: RenoWindow,
}

impl Scalable {
    fn is_low(&self, mss: f64) -> bool {
        self.window.cwnd <= self.params.low_window * mss
    }
}

impl CongestionControl for Scalable {
    type Params = ScalableParams;
    const SUMMARY: &'static str =
        "Growth by a hundredth of the window per round trip, reduction by an eighth.";
    const SOURCE: &'static str = "[kelly2003 §3]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;

    fn new(params: &ScalableParams, setup: &Setup) -> Self {
        Scalable { params: params.clone(), window: RenoWindow::new(setup) }
    }
}

impl Control for Scalable {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            let segments = self.window.cwnd / context.mss;
            let scalable = 1.0 / self.params.increase;
            let count = if self.is_low(context.mss) {
                segments
            } else if self.params.at_least_reno {
                least(segments, scalable)
            } else {
                scalable
            };
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if self.params.whole_decrease {
            let cwnd = linux::before_loss(&self.window, context);
            let taken = (cwnd as f64 * (1.0 - self.params.decrease)) as u64;
            linux::reduce(&mut self.window, cwnd - taken, context, congestion);
            return;
        }
        let kept = if self.is_low(context.mss) { 0.5 } else { self.params.decrease };
        self.window.keep(kept, context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::periodic_loss::mean_window;
    use crate::{AlgorithmSpec, Signal};
    use dumbbell_units::Time;

    fn scalable(params: &ScalableParams, segments: f64) -> Scalable {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(2.0 * MSS);
        Scalable::new(params, &setup)
    }

    /// Growth by one acknowledgement in bytes, and the segments left of so many after a loss.
    fn reactions(params: &ScalableParams, segments: f64) -> (f64, f64) {
        let mut scalable = scalable(params, segments);
        scalable.on_ack(&context(segments * MSS), &Ack::new(1000, 1000));
        let growth = scalable.cwnd() - segments * MSS;
        let mut scalable = self::scalable(params, segments);
        scalable.on_congestion(&context(segments * MSS), &Congestion::new(Signal::FastRetransmit));
        (growth, scalable.cwnd() / MSS)
    }

    #[test]
    fn a_large_window_grows_by_a_hundredth_and_keeps_seven_eighths() {
        // 80 * 7 / 8 = 70.
        assert_eq!(reactions(&ScalableParams::default(), 80.0), (10.0, 70.0));
        // At most 16 segments: 1000 / 16 bytes, and half.
        assert_eq!(reactions(&ScalableParams::default(), 16.0), (62.5, 8.0));
        // Linux: Reno's growth below 100 segments, 1000 / 80 bytes; an eighth less always.
        assert_eq!(reactions(&ScalableParams::linux(), 80.0), (12.5, 70.0));
        assert_eq!(reactions(&ScalableParams::linux(), 16.0), (62.5, 14.0));
        assert_eq!(reactions(&ScalableParams::linux(), 200.0), (10.0, 175.0));
        // 15 / 8 is 1 segment.
        assert_eq!(reactions(&ScalableParams::linux(), 15.0).1, 14.0);
    }

    #[test]
    fn a_loss_is_recovered_in_13_4_round_trips_whatever_the_window() {
        // 1.01^13.42 = 8 / 7.
        for segments in [800.0, 8000.0] {
            let mut scalable = scalable(&ScalableParams::default(), segments * 7.0 / 8.0);
            let mut acks = 0.0;
            let mut rounds = 0.0;
            while scalable.cwnd() < segments * MSS {
                let in_flight = (scalable.cwnd() / MSS).floor();
                for _ in 0..in_flight as u64 {
                    scalable.on_ack(&context(segments * MSS), &Ack::new(1000, 1000));
                }
                rounds += 1.0;
                acks += in_flight;
            }
            // The last round overshoots by at most one.
            assert!((13.0..=14.0).contains(&rounds), "{rounds} rounds, {acks} acknowledgements");
        }
    }

    #[test]
    fn periodic_losses_of_one_in_ten_thousand_find_800_segments() {
        // Growth by 0.01 and a loss of W / 8 with rate p balance at W = 0.08 / p. The window at each periodic loss has that
        // value: from 700 to 800 segments, 100 / 0.01 are acknowledged. They take ln(8 / 7) / 0.01 = 13.353 round trips,
        // so that the mean over time is 10 000 / 13.353 = 748.9.
        let spec = AlgorithmSpec::named("scalable").expect("a registered name");
        let mean = mean_window(&spec, 0.1, 1e4, 1000.0);
        assert!((mean / 748.9 - 1.0).abs() < 0.02, "{mean}");
    }
}
