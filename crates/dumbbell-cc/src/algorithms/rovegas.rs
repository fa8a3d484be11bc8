//! RoVegas: Vegas with routers that report queueing times [chan2004 §3].
//!
//! Every data segment accumulates its queueing time, the receiver returns it, and the ACK accumulates its own. The rest
//! of the round-trip time is that of the path itself. The base RTT is therefore known from every ACK and follows a
//! change of route (eq. 3). The queueing time of the ACK is subtracted in the actual rate (eq. 2), so congestion of the
//! reverse path does not reduce the window.
//!
//! Where it departs from the paper: the round-trip time of the actual rate is the mean of a round, as in the other
//! variants of Vegas, where the paper says "newly measured" (`rtt = "newest"`). An ACK not caused by the newest segment
//! it acknowledges echoes nothing, since its round-trip time is that of another segment; such ACKs are handled as in
//! Vegas. The paper's two statements on the base RTT (every sample replaces it [chan2004 §3.1]; the smallest is kept,
//! where not every router takes part [chan2004 §6.4]) are the switch `base_rtt`.
//! part [chan2004 §6.4]) are the switch `base_rtt`.

use crate::delay::{Increase, Numerator, RoundRules, Rounds, RttChoice, Thresholds, VegasWindow};
use crate::probes::{BASE_RTT, VEGAS_DIFF};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, window_in};
use dumbbell_units::{choice, params};

choice! {
    /// How a round-trip time without queueing time updates the base RTT.
    pub enum BaseRtt {
        /// Replace the base RTT. Only for paths on which every node stamps: an unreported queue becomes part of the
        /// base RTT, and the window fills it without bound.
        Replace = "replace",
        /// Replace the base RTT if it is smaller.
        Minimum = "minimum",
    }
}

params! {
    /// Parameters of RoVegas.
    pub struct RoVegasParams {
        /// Grow while fewer segments than this are queued.
        alpha: f64 = 1.0, "segments", "[chan2004 §6.2]",
            |alpha| *alpha >= 0.0, "a number of segments, at least 0";
        /// Shrink while more segments than this are queued.
        beta: f64 = 3.0, "segments", "[chan2004 §6.2]",
            |beta| *beta >= 0.0, "a number of segments, at least alpha";
        /// Leave slow start when more segments than this are queued.
        gamma: f64 = 1.0, "segments", "[brakmo1995 §3.3]",
            |gamma| *gamma >= 0.0, "a number of segments, at least 0";
        /// How a round-trip time without queueing time updates the base RTT.
        base_rtt: BaseRtt = BaseRtt::Replace, "-", "[chan2004 §3.1]";
        /// Round the difference to whole segments before comparing, as ns-2 does.
        round_diff: bool = false, "-", "[brakmo1995 §3.2]";
        /// The round-trip time used in the actual rate.
        rtt: RttChoice = RttChoice::Mean, "-", "[brakmo1995 §3.2]";
        /// Numerator of the expected rate, which is divided by the base RTT.
        numerator: Numerator = Numerator::Window, "-", "[chan2004 §3.1]";
        /// How the window grows by one segment per round trip.
        increase: Increase = Increase::Spread, "-", "[brakmo1995 §3.2]";
    }
}

/// The state of RoVegas.
#[derive(Clone, Debug)]
pub struct RoVegas {
    thresholds: Thresholds,
    base_rtt: BaseRtt,
    rounds: Rounds,
    window: VegasWindow,
}

impl RoVegas {
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let Some(queueing) = ack.queueing else {
            self.rounds.on_sample(rtt);
            return;
        };
        let fixed = rtt.since(queueing.forward).since(queueing.backward);
        if fixed.0 == 0 {
            return;
        }
        self.rounds.on_actual_rtt(rtt.since(queueing.backward));
        match self.base_rtt {
            BaseRtt::Replace => self.rounds.replace_base_rtt(fixed),
            BaseRtt::Minimum => self.rounds.lower_base_rtt(fixed),
        }
    }
}

impl CongestionControl for RoVegas {
    type Params = RoVegasParams;
    const SUMMARY: &'static str = "Vegas with queueing times from routers: an exact base RTT, unaffected by queues on the reverse path.";
    const SOURCE: &'static str = "[chan2004 §3]";
    const RECOVERY: Option<&'static str> = Some("reno");
    const MECHANISMS: &'static str = "ABCDEFGHI";
    const ASKS_QUEUEING: bool = true;
    const OWNED_MECHANISMS: &'static str = "ABFI";
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF];

    fn new(params: &RoVegasParams, setup: &Setup) -> Self {
        let &RoVegasParams { alpha, beta, gamma, increase, .. } = params;
        let rules = RoundRules::corrected(params.rtt, params.numerator, params.round_diff);
        RoVegas {
            thresholds: Thresholds { alpha, beta, gamma, increase },
            base_rtt: params.base_rtt,
            rounds: Rounds::new(rules, setup.now),
            window: VegasWindow::new(setup, true),
        }
    }

    fn contradiction(params: &RoVegasParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }
}

impl Control for RoVegas {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !ack.in_recovery {
            if let Some(check) = self.rounds.poll_check(context, ack, self.window.cwnd) {
                self.window.decide(check.diff, &self.thresholds, context, ack);
            }
            self.window.on_ack(context, ack);
        }
        self.measure(ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.window.on_congestion(context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        *[self.rounds.base_rtt(), self.rounds.last_check().map(|check| check.diff)].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::vegas::{Vegas, VegasParams};
    use crate::{Mechanisms, Queueing};
    use dumbbell_units::Time;

    const MS: u64 = 1_000_000;

    fn setup() -> Setup {
        Setup::new(Time::ZERO, 1000.0, 10_000.0)
            .with_initial_ssthresh(2000.0)
            .with_mechanisms(Mechanisms::from_letters("ABFI").unwrap_or_default())
    }

    fn rovegas(base_rtt: BaseRtt) -> RoVegas {
        RoVegas::new(&RoVegasParams { base_rtt, ..RoVegasParams::default() }, &setup())
    }

    fn context(snd_una: u64) -> Context {
        Context::new(Time(100 * MS), 1000.0).with_sent(snd_una, snd_una + 10_000).with_max_window(1e9)
    }

    fn ack(ack: u64, rtt: u64, queueing: Option<(u64, u64)>) -> Ack<'static> {
        let queueing = queueing.map(|(forward, backward)| Queueing {
            forward: Time(forward * MS),
            backward: Time(backward * MS),
        });
        Ack::new(ack, 1000).with_rtt(Some(Time(rtt * MS))).with_queueing(queueing)
    }

    #[test]
    fn the_reverse_path_is_not_in_the_difference() {
        // RTT 100 ms, of which 10 ms is queueing time forward and 50 ms backward: base RTT 40 ms. The window has grown
        // by a tenth of a segment at the first check, so diff = 10.1 (1 - 40 / (100 - 50)) = 2.02.
        let mut algorithm = rovegas(BaseRtt::Replace);
        algorithm.on_ack(&context(0), &ack(1000, 100, Some((10, 50))));
        algorithm.on_ack(&context(10_000), &ack(11_000, 100, Some((10, 50))));
        assert_eq!(algorithm.probe(0), Some(0.04));
        let diff = algorithm.probe(1).unwrap_or_default();
        assert!((diff - 2.02).abs() < 1e-9, "{diff}");
    }

    #[test]
    fn the_base_rtt_follows_a_longer_route_only_where_it_is_replaced() {
        for (mode, expected) in [(BaseRtt::Replace, 0.08), (BaseRtt::Minimum, 0.04)] {
            let mut algorithm = rovegas(mode);
            algorithm.on_ack(&context(0), &ack(1000, 50, Some((10, 0))));
            algorithm.on_ack(&context(1000), &ack(2000, 90, Some((5, 5))));
            assert_eq!(algorithm.probe(0), Some(expected));
        }
    }

    #[test]
    fn acks_without_queueing_times_are_handled_as_in_vegas() {
        let setup = setup();
        let vegas = VegasParams { numerator: Numerator::Window, ..VegasParams::default() };
        let mut vegas = Vegas::new(&vegas, &setup);
        let mut rovegas = RoVegas::new(&RoVegasParams::default(), &setup);
        let mut random = dumbbell_units::Stream::new(1, 0, "rtt");
        for segment in 1..2000 {
            let ack = ack(segment * 1000, 50 + (random.uniform() * 20.0) as u64, None);
            vegas.on_ack(&context(ack.ack - 1000), &ack);
            rovegas.on_ack(&context(ack.ack - 1000), &ack);
            let shown = |control: &dyn Control| (control.cwnd(), control.probe(0), control.probe(1));
            assert_eq!(shown(&vegas), shown(&rovegas));
        }
        assert!(rovegas.cwnd() != setup.initial_window);
    }
}
