//! Additive increase, multiplicative decrease with both constants as parameters [RFC 9438 §4.3].
//!
//! Above the threshold, a round trip adds `increase` segments; a loss keeps the fraction `decrease` of the window. The
//! defaults are those of Reno. With periodic losses of a fraction p of the segments, the mean window is, in segments,
//!
//! $$sqrt(increase (1 + decrease) / (2 (1 - decrease) p)),$$
//!
//! so that AIMD(0.529, 0.7) has that of Reno.

use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, Setup, window_in};
use dumbbell_units::params;

params! {
    /// Parameters of additive increase, multiplicative decrease.
    pub struct AimdParams {
        /// Growth of the window per round trip.
        increase: f64 = 1.0, "segments", "[RFC 9438 §4.3]",
            |increase| *increase > 0.0 && *increase <= 1e6, "a number of segments, above 0 and at most 1000000";
        /// Fraction of the window that remains after a loss.
        decrease: f64 = 0.5, "-", "[RFC 9438 §4.3]",
            |decrease| *decrease > 0.0 && *decrease < 1.0, "a fraction above 0 and below 1";
    }
}

/// The state of additive increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: AimdParams,
    window: RenoWindow,
}

impl CongestionControl for Aimd {
    type Params = AimdParams;
    const SUMMARY: &'static str = "Additive increase, multiplicative decrease with constants to choose.";
    const SOURCE: &'static str = "[RFC 9438 §4.3]";
    const TAKES_SLOW_START: bool = true;

    fn new(params: &AimdParams, setup: &Setup) -> Self {
        Aimd { params: params.clone(), window: RenoWindow::new(setup) }
    }
}

impl Control for Aimd {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            let count = self.window.cwnd / (context.mss * self.params.increase);
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.window.keep(self.params.decrease, context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::periodic_loss::mean_window;
    use crate::{Algorithm, AlgorithmSpec};
    use dumbbell_units::Time;

    fn aimd(increase: f64, decrease: f64) -> AlgorithmSpec {
        AlgorithmSpec::Aimd(AimdParams { increase, decrease })
    }

    #[test]
    fn an_ack_adds_its_share_of_the_increase_and_a_loss_keeps_a_fraction() {
        let setup = Setup::new(Time::ZERO, MSS, 10.0 * MSS).with_initial_ssthresh(5.0 * MSS);
        let mut aimd = Aimd::new(&AimdParams { increase: 2.0, decrease: 0.7 }, &setup);
        // One of ten segments: 2 * 1000 / 10 bytes.
        aimd.on_ack(&context(10.0 * MSS), &Ack::new(1000, 1000));
        assert_eq!(aimd.cwnd(), 10_200.0);
        // 0.7 of the ten segments in flight.
        aimd.on_congestion(&context(10.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!((aimd.cwnd(), aimd.ssthresh()), (7000.0, 7000.0));
    }

    #[test]
    fn a_decrease_of_nearly_one_never_raises_a_small_window() {
        let setup = Setup::new(Time::ZERO, MSS, 4.0 * MSS).with_initial_ssthresh(4.0 * MSS);
        let mut algorithm = Algorithm::new(&aimd(1.0, 0.95), &setup);
        // Limited transmit has sent two segments more than the window of four: 0.95 * 6 = 5.7 would exceed it.
        algorithm.on_congestion(&context(6.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!(algorithm.cwnd(), 4.0 * MSS);
    }

    #[test]
    fn the_mean_window_at_periodic_loss_is_that_of_reno_if_the_constants_are_matched() {
        // sqrt(3/2 / 1e-4) = 122.5; 0.529 * 1.7 / (2 * 0.3) = 1.499.
        let reno = mean_window(&AlgorithmSpec::named("reno").expect("a registered name"), 0.1, 1e4, 60.0);
        assert!((reno / 122.5 - 1.0).abs() < 0.05, "{reno}");
        let matched = mean_window(&aimd(0.529, 0.7), 0.1, 1e4, 60.0);
        assert!((matched / reno - 1.0).abs() < 0.05, "{matched} against {reno}");
        let plain = mean_window(&aimd(1.0, 0.5), 0.1, 1e4, 60.0);
        assert!((plain / reno - 1.0).abs() < 1e-3, "{plain} against {reno}");
    }
}
