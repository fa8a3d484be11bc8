//! TCP Vegas [brakmo1995 §3], divided into its mechanisms [hengartner2000 §VI].
//!
//! Once per round trip, Vegas compares the expected with the actual rate, $diff = (expected - actual) base_rtt$
//! [hengartner2000 §VII.C, eq. 1-2], and keeps between `alpha` and `beta` segments queued. This file owns mechanisms A,
//! B, F and I; with all of them off, it equals Reno byte for byte.
//!
//! Where it departs from the papers: the released code's numerator (eq. 3), its reset of the base RTT and its late
//! reaction to a timeout are three switches (`fix_*`), all corrected by default. Rules that the papers leave open
//! (growth every other RTT starting with the second check, the reduction by an eighth on leaving slow start) follow the
//! released code. How the window grows by a granted segment, and whether both rates are computed from the window
//! itself, are `increase` and `numerator`.

use crate::delay::{Check, Increase, Numerator, RoundRules, Rounds, RttChoice, Thresholds, VegasWindow};
use crate::probes::{BASE_RTT, VEGAS_DIFF};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, window_in};
use dumbbell_units::params;

params! {
    /// Parameters of Vegas.
    pub struct VegasParams {
        /// Grow while fewer segments than this are queued.
        alpha: f64 = 1.0, "segments", "[hengartner2000 §VII.D]",
            |alpha| *alpha >= 0.0, "a number of segments, at least 0";
        /// Shrink while more segments than this are queued.
        beta: f64 = 3.0, "segments", "[hengartner2000 §IX.A]",
            |beta| *beta >= 0.0, "a number of segments, at least alpha";
        /// Leave slow start when more segments than this are queued.
        gamma: f64 = 1.0, "segments", "[brakmo1995 §3.3]",
            |gamma| *gamma >= 0.0, "a number of segments, at least 0";
        /// Round the difference to whole segments before comparing, as ns-2 does.
        round_diff: bool = false, "-", "[brakmo1995 §3.2]";
        /// The round-trip time used in the actual rate.
        rtt: RttChoice = RttChoice::Mean, "-", "[hengartner2000 §VII.C]";
        /// Numerator of the expected rate, which is divided by the base RTT.
        numerator: Numerator = Numerator::InTransit, "-", "[hengartner2000 §VII.C]";
        /// How the window grows by one segment per round trip.
        increase: Increase = Increase::Spread, "-", "[brakmo1995 §3.2]";
        /// Grow exponentially immediately after a timeout, not only after the next check.
        fix_timeout: bool = true, "-", "[hengartner2000 §VII.A]";
        /// With mechanism B and without A, keep the window after a timeout that follows a loss in slow start, until all
        /// data sent before it is acknowledged.
        hold_after_slow_start: bool = false, "-", "[hengartner2000 §VII.A]";
        /// Use the minimum of measured times as the base RTT, without taking over the length of a
        /// round and resetting it when one segment was sent in a round.
        fix_base_rtt: bool = true, "-", "[hengartner2000 §VII.B]";
        /// Keep expected at least actual: no last term in eq. 3, and a new round after a timeout.
        fix_invariant: bool = true, "-", "[hengartner2000 §VII.C]";
    }
}

/// The state of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    rounds: Rounds,
    window: VegasWindow,
}

impl Vegas {
    /// The last check.
    pub fn last_check(&self) -> Check {
        self.rounds.last_check().unwrap_or_default()
    }

    /// First byte of the round that the next check will cover.
    pub fn beg_seq(&self) -> u64 {
        self.rounds.beg_seq()
    }
}

impl CongestionControl for Vegas {
    type Params = VegasParams;
    const SUMMARY: &'static str =
        "Keeps between alpha and beta segments in the queue by comparing the expected with the actual rate.";
    const SOURCE: &'static str = "[brakmo1995 §3], [hengartner2000 §VI]";
    const RECOVERY: Option<&'static str> = Some("reno");
    // Spike suppression is off by default.
    const MECHANISMS: &'static str = "ABCDEFGHI";
    const OWNED_MECHANISMS: &'static str = "ABFI";
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF];

    fn new(params: &VegasParams, setup: &Setup) -> Self {
        let rules = RoundRules {
            rtt: params.rtt,
            numerator: params.numerator,
            round_diff: params.round_diff,
            fix_base_rtt: params.fix_base_rtt,
            fix_invariant: params.fix_invariant,
        };
        Vegas {
            params: params.clone(),
            rounds: Rounds::new(rules, setup.now),
            window: VegasWindow::new(setup, params.fix_timeout)
                .with_hold_after_slow_start(params.hold_after_slow_start),
        }
    }

    fn contradiction(params: &VegasParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }
}

impl Control for Vegas {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !ack.in_recovery {
            if let Some(check) = self.rounds.poll_check(context, ack, self.window.cwnd) {
                let VegasParams { alpha, beta, gamma, increase, .. } = self.params;
                self.window.decide(check.diff, &Thresholds { alpha, beta, gamma, increase }, context, ack);
            }
            self.window.on_ack(context, ack);
        }
        if let Some(rtt) = ack.rtt {
            self.rounds.on_sample(rtt);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.window.on_congestion(context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        *[self.rounds.base_rtt(), self.rounds.last_check().map(|check| check.diff)].get(index)?
    }
}
