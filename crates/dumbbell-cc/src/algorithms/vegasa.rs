//! Vegas-A [srijith2005], as described in [chan2010 §2.5].
//!
//! Vegas whose band from `alpha` to `beta` follows its own throughput. While throughput rises within the band, window
//! and band rise together; when it falls, or the queue exceeds the band, both fall together, down to the band from 1 to
//! 3. `diff` and the rates are Vegas's, [chan2010 §2.2], eq. 1; throughput is the actual rate of a round, compared with
//! that of the previous round.
//!
//! Where it departs from the paper: the paper does not define the reaction to losses. The band remains, the previous
//! throughput is cleared, and everything else is as in Vegas. A band with fractional thresholds stops at its minimum of
//! 1 instead of passing it. The window grows by fractions of a segment, as in the authors' ns-2 code, not at once; that
//! code includes the thresholds in the band, which is `inclusive` here. The three corrections of Vegas
//! [hengartner2000 §VII] are on. On real paths, microseconds decide whether the throughput rises: `rtt_tolerance` is the
//! change that counts as none.

use crate::delay::{Check, Increase, Numerator, RoundRules, Rounds, RttChoice, VegasWindow};
use crate::probes::{ALPHA, BASE_RTT, VEGAS_DIFF};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, window_in};
use dumbbell_units::{Time, params};

/// Minimum of `alpha`, in segments [chan2010 §2.5].
const FLOOR: f64 = 1.0;

params! {
    /// Parameters of Vegas-A.
    pub struct VegasAParams {
        /// Initial lower threshold.
        alpha: f64 = 1.0, "segments", "[chan2010 §2.5]",
            |alpha| *alpha >= FLOOR, "a number of segments, at least 1";
        /// Initial upper threshold.
        beta: f64 = 3.0, "segments", "[chan2010 §2.5]",
            |beta| *beta >= FLOOR, "a number of segments, at least alpha";
        /// Leave slow start when more segments than this are queued.
        gamma: f64 = 1.0, "segments", "[brakmo1995 §3.3]",
            |gamma| *gamma >= 0.0, "a number of segments, at least 0";
        /// Treat a difference equal to a threshold as between the thresholds.
        inclusive: bool = false, "-", "[chan2010 §2.5]";
        /// How the window grows by one segment per round trip.
        increase: Increase = Increase::Spread, "-", "[srijith2005]";
        /// Round the difference to whole segments before comparing, as ns-2 does.
        round_diff: bool = false, "-", "[brakmo1995 §3.2]";
        /// The round-trip time used in the actual rate.
        rtt: RttChoice = RttChoice::Mean, "-", "[chan2010 §2.2]";
        /// Numerator of the expected rate, which is divided by the base RTT.
        numerator: Numerator = Numerator::InTransit, "-", "[hengartner2000 §VII.C]";
        /// A change of the throughput counts as none if the round-trip time need be longer or shorter by no more than
        /// this to explain it.
        rtt_tolerance: Time = Time::ZERO, "s", "[chan2010 §2.5]";
    }
}

/// How a round changes window and thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Hold,
    Grow,
    GrowAndRise,
    ShrinkAndSink,
}

/// The state of Vegas-A.
#[derive(Clone, Debug)]
pub struct VegasA {
    params: VegasAParams,
    rounds: Rounds,
    window: VegasWindow,
    alpha: f64,
    beta: f64,
    /// Actual rate of the previous round, in bytes per second.
    throughput: Option<f64>,
}

impl VegasA {
    fn step(&self, check: &Check) -> Step {
        let (diff, throughput) = (check.diff, check.actual);
        // Data of a round over its RTT: an RTT longer or shorter by a fraction changes the throughput by this fraction.
        let tolerated = self.params.rtt_tolerance.secs() / check.rtt;
        let rises = self.throughput.is_some_and(|before| throughput > before * (1.0 + tolerated));
        let falls = self.throughput.is_some_and(|before| throughput < before * (1.0 - tolerated));
        let is_within = if self.params.inclusive {
            self.alpha <= diff && diff <= self.beta
        } else {
            self.alpha < diff && diff < self.beta
        };
        if is_within {
            if rises { Step::GrowAndRise } else { Step::Hold }
        } else if diff < self.alpha {
            if self.alpha <= FLOOR || rises {
                Step::Grow
            } else if falls {
                Step::ShrinkAndSink
            } else {
                Step::Hold
            }
        } else if diff > self.beta {
            Step::ShrinkAndSink
        } else {
            Step::Hold
        }
    }

    fn decide(&mut self, check: &Check, context: &Context, ack: &Ack) {
        match self.step(check) {
            Step::Hold => self.window.hold(),
            Step::Grow => self.window.grow(self.params.increase, context, ack),
            Step::GrowAndRise => {
                self.window.grow(self.params.increase, context, ack);
                self.alpha += 1.0;
                self.beta += 1.0;
            }
            Step::ShrinkAndSink => {
                self.window.shrink(context.mss);
                let sunk = (self.alpha - FLOOR).min(1.0);
                self.alpha -= sunk;
                self.beta -= sunk;
            }
        }
    }
}

impl CongestionControl for VegasA {
    type Params = VegasAParams;
    const SUMMARY: &'static str = "Vegas whose thresholds adapt to its own throughput.";
    const SOURCE: &'static str = "[srijith2005], [chan2010 §2.5]";
    const RECOVERY: Option<&'static str> = Some("reno");
    const MECHANISMS: &'static str = "ABCDEFGHI";
    const OWNED_MECHANISMS: &'static str = "ABFI";
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF, ALPHA];

    fn new(params: &VegasAParams, setup: &Setup) -> Self {
        let rules = RoundRules::corrected(params.rtt, params.numerator, params.round_diff);
        VegasA {
            params: params.clone(),
            rounds: Rounds::new(rules, setup.now),
            window: VegasWindow::new(setup, true),
            alpha: params.alpha,
            beta: params.beta,
            throughput: None,
        }
    }

    fn contradiction(params: &VegasAParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }
}

impl Control for VegasA {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !ack.in_recovery {
            if let Some(check) = self.rounds.poll_check(context, ack, self.window.cwnd) {
                if self.window.is_in_avoidance() {
                    self.decide(&check, context, ack);
                } else if self.window.is_below_ssthresh() {
                    self.window.check_slow_start(check.diff, self.params.gamma, context.mss);
                }
                self.throughput = Some(check.actual);
            }
            self.window.on_ack(context, ack);
        }
        if let Some(rtt) = ack.rtt {
            self.rounds.on_sample(rtt);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.window.on_congestion(context, congestion);
        self.throughput = None;
    }

    fn probe(&self, index: usize) -> Option<f64> {
        *[self.rounds.base_rtt(), self.rounds.last_check().map(|check| check.diff), Some(self.alpha)]
            .get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::super::newvegas::tests::{MSS, context, setup};
    use super::*;

    /// Window and band in segments, after one round with `diff` segments queued at `throughput`, against 100 before,
    /// from 20 segments and a band of 2 above `alpha`.
    fn after(params: VegasAParams, alpha: f64, diff: f64, throughput: f64) -> (f64, f64, f64) {
        let params = VegasAParams { increase: Increase::AtOnce, ..params };
        let mut vegas_a = VegasA::new(&params, &setup());
        (vegas_a.alpha, vegas_a.beta) = (alpha, alpha + 2.0);
        vegas_a.throughput = Some(100.0);
        let check = Check { diff, actual: throughput, rtt: 0.1, ..Check::default() };
        let ack = Ack::new(MSS as u64, MSS as u64);
        vegas_a.decide(&check, &context(20.0 * MSS), &ack);
        (vegas_a.cwnd() / MSS, vegas_a.alpha, vegas_a.beta)
    }

    #[test]
    fn window_and_band_move_as_in_the_pseudocode() {
        let step = |alpha, diff, throughput| after(VegasAParams::default(), alpha, diff, throughput);
        // Within the band: both rise if the throughput rises; otherwise both hold.
        assert_eq!(step(1.0, 2.0, 101.0), (21.0, 2.0, 4.0));
        assert_eq!(step(1.0, 2.0, 100.0), (20.0, 1.0, 3.0));
        assert_eq!(step(1.0, 2.0, 99.0), (20.0, 1.0, 3.0));
        // Below the band, with `alpha` above its minimum: the throughput decides.
        assert_eq!(step(2.0, 1.0, 101.0), (21.0, 2.0, 4.0));
        assert_eq!(step(2.0, 1.0, 100.0), (20.0, 2.0, 4.0));
        assert_eq!(step(2.0, 1.0, 99.0), (19.0, 1.0, 3.0));
        // Below the band, with `alpha` at its minimum: grows as Vegas does, whatever the throughput.
        assert_eq!(step(1.0, 0.5, 99.0), (21.0, 1.0, 3.0));
        // Above the band: both shrink, the band down to its minimum.
        assert_eq!(step(2.0, 5.0, 101.0), (19.0, 1.0, 3.0));
        assert_eq!(step(1.0, 5.0, 101.0), (19.0, 1.0, 3.0));
        // 1.5 - 0.5 = 1: a fractional band stops there and keeps its width.
        assert_eq!(step(1.5, 5.0, 101.0), (19.0, 1.0, 3.0));
    }

    #[test]
    fn the_thresholds_of_the_band_hold_or_are_included() {
        let inclusive = || VegasAParams { inclusive: true, ..VegasAParams::default() };
        for diff in [1.0, 3.0] {
            assert_eq!(after(VegasAParams::default(), 1.0, diff, 101.0), (20.0, 1.0, 3.0));
            assert_eq!(after(inclusive(), 1.0, diff, 101.0), (21.0, 2.0, 4.0));
        }
    }

    #[test]
    fn a_round_after_a_loss_has_no_previous_throughput() {
        let mut vegas_a = VegasA::new(&VegasAParams::default(), &setup());
        vegas_a.throughput = None;
        let check = Check { diff: 2.0, actual: 1e9, rtt: 0.1, ..Check::default() };
        assert_eq!(vegas_a.step(&check), Step::Hold);
    }

    #[test]
    fn changes_within_the_tolerance_count_as_none() {
        // 2 ms of a round-trip time of 100 ms are 2 % of the throughput.
        let tolerant = || VegasAParams { rtt_tolerance: Time(2_000_000), ..VegasAParams::default() };
        assert_eq!(after(tolerant(), 1.0, 2.0, 101.0), (20.0, 1.0, 3.0));
        assert_eq!(after(tolerant(), 1.0, 2.0, 103.0), (21.0, 2.0, 4.0));
        assert_eq!(after(tolerant(), 2.0, 1.0, 99.0), (20.0, 2.0, 4.0));
        assert_eq!(after(tolerant(), 2.0, 1.0, 97.0), (19.0, 1.0, 3.0));
    }
}
