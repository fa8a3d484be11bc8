//! CODE TCP, a competitive delay-based TCP [chan2010 §3].
//!
//! NewVegas with two changes: the band from `alpha` to `beta` rises by two segments instead of one, and a loss
//! multiplies it by `epsilon` instead of restoring its initial values. Beside Reno, the window thus grows by two
//! segments in three round trips. `epsilon` is the smaller root of $34 epsilon^2 - 54 epsilon + 21 = 0$
//! [chan2010 §3.3], eq. 18-19, for which a model of two flows gives CODE and Reno the same share.
//!
//! Where it departs from the paper: the paper does not define the reaction to a timeout; it is that of NewVegas. The
//! paper gives `epsilon` no minimum, so the band may fall below its initial values and narrows with every loss; `clamp`
//! keeps it at or above them, and `truncate` keeps whole segments, like ns-2's integer variables. Other open points are
//! as in NewVegas.

use super::newvegas::{BandRtt, BandWindow, NewVegasParams};
use crate::delay::{Increase, Numerator, RttChoice};
use crate::probes::{ALPHA, BASE_RTT, VEGAS_DIFF};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Signal, window_in};
use dumbbell_units::{Time, params};

params! {
    /// Parameters of CODE.
    pub struct CodeParams {
        /// Initial lower threshold, restored after a timeout.
        alpha: f64 = 1.0, "segments", "[chan2010 §2.4]",
            |alpha| *alpha >= 0.0, "a number of segments, at least 0";
        /// Initial upper threshold, restored after a timeout.
        beta: f64 = 3.0, "segments", "[chan2010 §2.4]",
            |beta| *beta >= 0.0, "a number of segments, at least alpha";
        /// Leave slow start when more segments than this are queued.
        gamma: f64 = 1.0, "segments", "[brakmo1995 §3.3]",
            |gamma| *gamma >= 0.0, "a number of segments, at least 0";
        /// Fraction of the thresholds that remains after a loss.
        epsilon: f64 = 0.68, "-", "[chan2010 §3.3]",
            |epsilon| *epsilon > 0.0 && *epsilon <= 1.0, "a fraction above 0 and at most 1";
        /// Step by which the thresholds rise.
        rise: f64 = 2.0, "segments", "[chan2010 §3.2]",
            |rise| *rise >= 0.0, "a number of segments, at least 0";
        /// Never lower the thresholds below their initial values.
        clamp: bool = false, "-", "[chan2010 §3.2]";
        /// Round the thresholds down to whole segments after a loss.
        truncate: bool = false, "-", "[chan2010 §3.2]";
        /// The round-trip time that moves the thresholds.
        band_rtt: BandRtt = BandRtt::Minimum, "-", "[chan2010 §4.5]";
        /// Growth of this round-trip time up to which it counts as unchanged.
        rtt_tolerance: Time = Time::ZERO, "s", "[chan2010 §2.4]";
        /// How the window grows by one segment per round trip.
        increase: Increase = Increase::AtOnce, "-", "[chan2010 table 1]";
        /// Round the difference to whole segments before comparing, as ns-2 does.
        round_diff: bool = false, "-", "[brakmo1995 §3.2]";
        /// The round-trip time used in the actual rate.
        rtt: RttChoice = RttChoice::Mean, "-", "[chan2010 §2.2]";
        /// Numerator of the expected rate, which is divided by the base RTT.
        numerator: Numerator = Numerator::InTransit, "-", "[hengartner2000 §VII.C]";
    }
}

/// The state of CODE.
#[derive(Clone, Debug)]
pub struct Code {
    moving: BandWindow,
    epsilon: f64,
    clamp: bool,
    truncate: bool,
}

impl Code {
    fn clamp_band(&mut self) {
        if self.clamp {
            let (alpha, beta) = self.moving.band.start();
            self.moving.band.alpha = self.moving.band.alpha.max(alpha);
            self.moving.band.beta = self.moving.band.beta.max(beta);
        }
    }
}

impl CongestionControl for Code {
    type Params = CodeParams;
    const SUMMARY: &'static str =
        "NewVegas whose thresholds rise by two segments and are reduced, not reset, after a loss.";
    const SOURCE: &'static str = "[chan2010 §3]";
    const RECOVERY: Option<&'static str> = Some("reno");
    const MECHANISMS: &'static str = "ABCDEFGHI";
    const OWNED_MECHANISMS: &'static str = "ABFI";
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF, ALPHA];

    fn new(params: &CodeParams, setup: &Setup) -> Self {
        let base = NewVegasParams {
            alpha: params.alpha,
            beta: params.beta,
            gamma: params.gamma,
            band_rtt: params.band_rtt,
            rtt_tolerance: params.rtt_tolerance,
            increase: params.increase,
            timeout_avoidance: false,
            round_diff: params.round_diff,
            rtt: params.rtt,
            numerator: params.numerator,
        };
        Code {
            moving: BandWindow::new(&base, setup, params.rise),
            epsilon: params.epsilon,
            clamp: params.clamp,
            truncate: params.truncate,
        }
    }

    fn contradiction(params: &CodeParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }
}

impl Control for Code {
    window_in!(moving.window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.moving.on_ack(context, ack);
        self.clamp_band();
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.moving.on_congestion(context, congestion);
        let band = &mut self.moving.band;
        if congestion.signal == Signal::Timeout {
            band.reset();
        } else {
            band.alpha *= self.epsilon;
            band.beta *= self.epsilon;
            if self.truncate {
                (band.alpha, band.beta) = (band.alpha.floor(), band.beta.floor());
            }
        }
        self.clamp_band();
    }

    fn probe(&self, index: usize) -> Option<f64> {
        self.moving.probe(index)
    }
}

#[cfg(test)]
mod tests {
    use super::super::newvegas::tests::{MSS, context, rising_rounds, setup};
    use super::*;

    fn code(params: &CodeParams) -> Code {
        Code::new(params, &setup())
    }

    fn band(code: &Code) -> (f64, f64) {
        (code.moving.band.alpha, code.moving.band.beta)
    }

    #[test]
    fn the_window_grows_by_two_segments_in_three_round_trips() {
        let mut code = code(&CodeParams { alpha: 5.0, beta: 7.0, ..Default::default() });
        // 5 are queued, none below alpha: hold, and the band rises to 7 and 9. 5 and then 6 are below 7: two segments.
        // 7 are not: hold, and the band rises to 9 and 11; and so on.
        let rows = [
            (20.0, 5.0, 7.0, 5.0, 20.0),
            (20.0, 7.0, 9.0, 5.0, 21.0),
            (21.0, 7.0, 9.0, 6.0, 22.0),
            (22.0, 7.0, 9.0, 7.0, 22.0),
            (22.0, 9.0, 11.0, 7.0, 23.0),
            (23.0, 9.0, 11.0, 8.0, 24.0),
        ];
        assert_eq!(rising_rounds(&mut code.moving, 36)[..6], rows);
        // The following 30 rounds add 20 segments.
        assert_eq!(code.cwnd(), 44.0 * MSS);
    }

    #[test]
    fn a_loss_leaves_epsilon_of_the_band_and_three_quarters_of_the_window() {
        let after_losses = |params: &CodeParams, alpha: f64, losses: u32| {
            let mut code = code(params);
            (code.moving.band.alpha, code.moving.band.beta) = (alpha, alpha + 2.0);
            let loss = Congestion::new(Signal::FastRetransmit);
            for _ in 0..losses {
                code.on_congestion(&context(20.0 * MSS), &loss);
            }
            code
        };
        // 25 * 0.68 = 17, 27 * 0.68 = 18.36; 20 - 20 / 4 = 15 segments.
        let literal = after_losses(&CodeParams::default(), 25.0, 1);
        assert!((band(&literal).0 - 17.0).abs() < 1e-12 && (band(&literal).1 - 18.36).abs() < 1e-12);
        assert_eq!(literal.cwnd(), 15.0 * MSS);
        // From the initial values, 0.68 and 2.04: below them, and narrower. 2 * 0.68^2 = 0.9248 is the width after two.
        let fallen = after_losses(&CodeParams::default(), 1.0, 1);
        assert_eq!(band(&fallen), (0.68, 3.0 * 0.68));
        let (alpha, beta) = band(&after_losses(&CodeParams::default(), 1.0, 2));
        assert!((beta - alpha - 0.9248).abs() < 1e-12);
        // The switches: clamped to 1 and 3; truncated to 0 and 2; 17 and 18 from 17 and 18.36.
        assert_eq!(
            band(&after_losses(&CodeParams { clamp: true, ..Default::default() }, 1.0, 1)),
            (1.0, 3.0)
        );
        let truncated = CodeParams { truncate: true, ..Default::default() };
        assert_eq!(band(&after_losses(&truncated, 1.0, 1)), (0.0, 2.0));
        assert_eq!(band(&after_losses(&truncated, 25.0, 1)), (17.0, 18.0));
    }

    #[test]
    fn a_fractional_band_falls_below_its_initial_values_unless_clamped() {
        let sunk = |clamp| {
            let mut code = code(&CodeParams { clamp, ..Default::default() });
            (code.moving.band.alpha, code.moving.band.beta) = (1.36, 3.36);
            code.moving.band.on_round(Some(0.2), false);
            code.moving.band.on_round(Some(0.1), false);
            code.clamp_band();
            band(&code)
        };
        // 1.36 is above 1: 1.36 - 1 and 3.36 - 1.
        let (alpha, beta) = sunk(false);
        assert!((alpha - 0.36).abs() < 1e-12 && (beta - 2.36).abs() < 1e-12);
        assert_eq!(sunk(true), (1.0, 3.0));
    }

    #[test]
    fn epsilon_solves_the_quadratic_to_the_printed_digits() {
        // (27 - sqrt(15)) / 34 = (27 - 3.872983) / 34 = 0.680206.
        let root = (27.0 - 15.0_f64.sqrt()) / 34.0;
        assert!((34.0 * root * root - 54.0 * root + 21.0).abs() < 1e-12);
        assert!((CodeParams::default().epsilon - root).abs() < 0.005);
    }
}
