//! NewVegas [devendictis2003], as described in [chan2010 §2.4].
//!
//! Vegas whose band from `alpha` to `beta` moves. If the round-trip time grows while the window does not, other flows
//! are the cause, and the band rises by a segment. If it does not grow, the band falls by a segment towards its initial
//! values, and a loss restores them. Beside Reno, the window thus grows by one segment in two round trips
//! [chan2010 table 1].
//!
//! `diff` is that of [chan2010 §2.2], eq. 1, and the window moves by eq. 2. [chan2010 table 1] determines the order:
//! the window first, then the band, given the new window.
//!
//! Where it departs from the paper: a timeout is followed by Vegas's slow start, as a window of one segment in
//! congestion avoidance would take a round trip for every segment; the literal reading is `timeout_avoidance`.
//! Round-trip times of rounds before and after a slow start or a loss are not compared, since they belong to different
//! windows. The three corrections of Vegas [hengartner2000 §VII] are on.
//!
//! On ideal links, the round-trip times of a single flow are equal from round to round, and the band falls. On real
//! paths they never are: microseconds move the band. `rtt_tolerance` is the growth that counts as none.

use crate::delay::{Check, Increase, Numerator, RoundRules, Rounds, RttChoice, VegasWindow};
use crate::probes::{ALPHA, BASE_RTT, VEGAS_DIFF};
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Signal, window_in};
use dumbbell_units::{Time, choice, params};

choice! {
    /// The round-trip time that shows whether congestion increases.
    pub enum BandRtt {
        /// That of the ACK that ends the round.
        Target = "target",
        /// The smallest sample of the round.
        Minimum = "minimum",
        /// The one used in the actual rate.
        Actual = "actual",
    }
}

params! {
    /// Parameters of NewVegas.
    pub struct NewVegasParams {
        /// Initial lower threshold, restored after a loss.
        alpha: f64 = 1.0, "segments", "[chan2010 §2.4]",
            |alpha| *alpha >= 0.0, "a number of segments, at least 0";
        /// Initial upper threshold, restored after a loss.
        beta: f64 = 3.0, "segments", "[chan2010 §2.4]",
            |beta| *beta >= 0.0, "a number of segments, at least alpha";
        /// Leave slow start when more segments than this are queued.
        gamma: f64 = 1.0, "segments", "[brakmo1995 §3.3]",
            |gamma| *gamma >= 0.0, "a number of segments, at least 0";
        /// The round-trip time that moves the thresholds.
        band_rtt: BandRtt = BandRtt::Target, "-", "[chan2010 §2.4]";
        /// Growth of this round-trip time up to which it counts as unchanged.
        rtt_tolerance: Time = Time::ZERO, "s", "[chan2010 §2.4]";
        /// How the window grows by one segment per round trip.
        increase: Increase = Increase::AtOnce, "-", "[chan2010 table 1]";
        /// Stay in congestion avoidance after a timeout.
        timeout_avoidance: bool = false, "-", "[chan2010 §2.4]";
        /// Round the difference to whole segments before comparing, as ns-2 does.
        round_diff: bool = false, "-", "[brakmo1995 §3.2]";
        /// The round-trip time used in the actual rate.
        rtt: RttChoice = RttChoice::Mean, "-", "[chan2010 §2.2]";
        /// Numerator of the expected rate, which is divided by the base RTT.
        numerator: Numerator = Numerator::InTransit, "-", "[hengartner2000 §VII.C]";
    }
}

/// The thresholds between which a window stays constant, and how they move.
#[derive(Clone, Debug)]
pub struct Band {
    /// Grow while fewer segments than this are queued.
    pub alpha: f64,
    /// Shrink while more segments than this are queued.
    pub beta: f64,
    start: (f64, f64),
    rise: f64,
    /// Growth of the round-trip time up to which it counts as unchanged, in seconds.
    tolerance: f64,
    /// Round-trip time of the previous round, in seconds, if it may be compared.
    rtt_old: Option<f64>,
    is_round_spoiled: bool,
}

impl Band {
    /// A band that starts at `alpha` and `beta` and rises in steps of `rise` segments.
    pub fn new(alpha: f64, beta: f64, rise: f64) -> Self {
        Band {
            alpha,
            beta,
            start: (alpha, beta),
            rise,
            tolerance: 0.0,
            rtt_old: None,
            is_round_spoiled: false,
        }
    }

    /// The same band, for which a round-trip time that grows by no more than this is unchanged.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: Time) -> Self {
        self.tolerance = tolerance.secs();
        self
    }

    /// The initial thresholds.
    pub fn start(&self) -> (f64, f64) {
        self.start
    }

    /// A round ended in congestion avoidance, and the window has moved.
    pub fn on_round(&mut self, rtt: Option<f64>, has_grown: bool) {
        if std::mem::take(&mut self.is_round_spoiled) {
            return;
        }
        if let (Some(rtt), Some(rtt_old)) = (rtt, self.rtt_old) {
            if rtt <= rtt_old + self.tolerance {
                if self.alpha > self.start.0 {
                    self.alpha -= 1.0;
                    self.beta -= 1.0;
                }
            } else if !has_grown {
                self.alpha += self.rise;
                self.beta += self.rise;
            }
        }
        self.rtt_old = rtt;
    }

    /// Restores the initial thresholds.
    pub fn reset(&mut self) {
        (self.alpha, self.beta) = self.start;
    }

    /// The round of a loss is not compared with its neighbours.
    fn on_loss(&mut self) {
        self.rtt_old = None;
        self.is_round_spoiled = true;
    }

    fn on_slow_start(&mut self) {
        self.rtt_old = None;
        self.is_round_spoiled = false;
    }
}

/// Vegas's window between adaptive thresholds.
#[derive(Clone, Debug)]
pub struct BandWindow {
    /// Slow start, growth and reductions.
    pub window: VegasWindow,
    /// The thresholds.
    pub band: Band,
    rounds: Rounds,
    gamma: f64,
    band_rtt: BandRtt,
    increase: Increase,
}

impl BandWindow {
    /// The state at the start of a connection.
    pub fn new(params: &NewVegasParams, setup: &Setup, rise: f64) -> Self {
        let rules = RoundRules::corrected(params.rtt, params.numerator, params.round_diff);
        BandWindow {
            window: VegasWindow::new(setup, true),
            band: Band::new(params.alpha, params.beta, rise).with_tolerance(params.rtt_tolerance),
            rounds: Rounds::new(rules, setup.now),
            gamma: params.gamma,
            band_rtt: params.band_rtt,
            increase: params.increase,
        }
    }

    /// New data was acknowledged.
    pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !ack.in_recovery {
            if let Some(check) = self.rounds.poll_check(context, ack, self.window.cwnd) {
                if self.window.is_in_avoidance() {
                    let rtt = self.band_rtt(&check, ack);
                    self.decide(check.diff, rtt, context, ack);
                } else if self.window.is_below_ssthresh() {
                    self.band.on_slow_start();
                    self.window.check_slow_start(check.diff, self.gamma, context.mss);
                }
            }
            self.window.on_ack(context, ack);
        }
        if let Some(rtt) = ack.rtt {
            self.rounds.on_sample(rtt);
        }
    }

    fn band_rtt(&self, check: &Check, ack: &Ack) -> Option<f64> {
        match self.band_rtt {
            BandRtt::Target => ack.rtt.map(Time::secs),
            BandRtt::Minimum => check.rtt_minimum,
            BandRtt::Actual => check.rtt_minimum.and(Some(check.rtt)),
        }
    }

    fn decide(&mut self, diff: f64, rtt: Option<f64>, context: &Context, ack: &Ack) {
        let before = self.window.cwnd;
        let is_granted = diff < self.band.alpha;
        if diff > self.band.beta {
            self.window.shrink(context.mss);
        } else if is_granted {
            self.window.grow(self.increase, context, ack);
        } else {
            self.window.hold();
        }
        let has_grown = match self.increase {
            Increase::AtOnce => self.window.cwnd > before,
            // The growth follows: the decision counts as growth.
            Increase::Spread => is_granted,
        };
        self.band.on_round(rtt, has_grown);
    }

    /// Congestion. The algorithm decides how it moves the thresholds.
    pub fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.window.on_congestion(context, congestion);
        self.band.on_loss();
    }

    /// The value of the probe at this index: base RTT, difference, lower threshold.
    pub fn probe(&self, index: usize) -> Option<f64> {
        *[self.rounds.base_rtt(), self.rounds.last_check().map(|check| check.diff), Some(self.band.alpha)]
            .get(index)?
    }
}

/// The state of NewVegas.
#[derive(Clone, Debug)]
pub struct NewVegas {
    moving: BandWindow,
    timeout_avoidance: bool,
}

impl CongestionControl for NewVegas {
    type Params = NewVegasParams;
    const SUMMARY: &'static str = "Vegas whose thresholds rise by a segment while other flows fill the queue, and are reset after a loss.";
    const SOURCE: &'static str = "[devendictis2003], [chan2010 §2.4]";
    const RECOVERY: Option<&'static str> = Some("reno");
    const MECHANISMS: &'static str = "ABCDEFGHI";
    const OWNED_MECHANISMS: &'static str = "ABFI";
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF, ALPHA];

    fn new(params: &NewVegasParams, setup: &Setup) -> Self {
        let moving = BandWindow::new(params, setup, 1.0);
        NewVegas { moving, timeout_avoidance: params.timeout_avoidance }
    }

    fn contradiction(params: &NewVegasParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }
}

impl Control for NewVegas {
    window_in!(moving.window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.moving.on_ack(context, ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.moving.on_congestion(context, congestion);
        self.moving.band.reset();
        if congestion.signal == Signal::Timeout && self.timeout_avoidance {
            self.moving.window.skip_slow_start();
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        self.moving.probe(index)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Mechanisms;

    /// One round of [chan2010 table 1]: the window before, the current thresholds, the queue, the window after; all in
    /// segments.
    pub(crate) type Row = (f64, f64, f64, f64, f64);

    pub(crate) const MSS: f64 = 1000.0;

    /// A connection of 20 segments in congestion avoidance.
    pub(crate) fn setup() -> Setup {
        Setup::new(Time::ZERO, MSS, 20.0 * MSS)
            .with_initial_ssthresh(2.0 * MSS)
            .with_mechanisms(Mechanisms::from_letters("ABCDEFGHI").expect("known letters"))
    }

    pub(crate) fn context(cwnd: f64) -> Context {
        Context::new(Time(1_000_000_000), MSS).with_sent(0, cwnd as u64).with_flight_size(cwnd)
    }

    /// The rounds of [chan2010 table 1]: 20 segments of which 5 are queued; every additional segment is queued too, and
    /// the round-trip time rises from round to round.
    pub(crate) fn rising_rounds(moving: &mut BandWindow, rounds: u32) -> Vec<Row> {
        moving.band.on_round(Some(0.1), true);
        (1..=rounds)
            .map(|round| {
                let before = moving.window.cwnd;
                let (alpha, beta) = (moving.band.alpha, moving.band.beta);
                let queued = before / MSS - 15.0;
                let ack = Ack::new(MSS as u64, MSS as u64);
                let rtt = 0.1 + 0.001 * f64::from(round);
                moving.decide(queued, Some(rtt), &context(before), &ack);
                (before / MSS, alpha, beta, queued, moving.window.cwnd / MSS)
            })
            .collect()
    }

    fn new_vegas(params: &NewVegasParams) -> NewVegas {
        NewVegas::new(params, &setup())
    }

    #[test]
    fn six_rounds_are_as_printed_and_grow_by_a_segment_in_two_round_trips() {
        // Table 1 writes "5 + 1": 5 holds in that round, and the 1 is added in the next.
        let mut new_vegas = new_vegas(&NewVegasParams { alpha: 5.0, beta: 7.0, ..Default::default() });
        let printed = [
            (20.0, 5.0, 7.0, 5.0, 20.0),
            (20.0, 6.0, 8.0, 5.0, 21.0),
            (21.0, 6.0, 8.0, 6.0, 21.0),
            (21.0, 7.0, 9.0, 6.0, 22.0),
            (22.0, 7.0, 9.0, 7.0, 22.0),
            (22.0, 8.0, 10.0, 7.0, 23.0),
        ];
        assert_eq!(rising_rounds(&mut new_vegas.moving, 26)[..6], printed);
        // 3 segments in 6 rounds; the following 20 rounds add 10 more: from 23 to 33.
        assert_eq!(new_vegas.cwnd(), 33.0 * MSS);
    }

    #[test]
    fn the_band_falls_to_its_initial_values_while_the_rtt_does_not_grow() {
        let mut band = Band::new(1.0, 3.0, 1.0);
        band.on_round(Some(0.100), false);
        // The RTT grew and the window did not: 1 + 1 and 3 + 1.
        band.on_round(Some(0.101), false);
        assert_eq!((band.alpha, band.beta), (2.0, 4.0));
        // Both grew.
        band.on_round(Some(0.102), true);
        assert_eq!((band.alpha, band.beta), (2.0, 4.0));
        // The RTT did not grow: 2 - 1 and 4 - 1, and no further down.
        band.on_round(Some(0.102), true);
        band.on_round(Some(0.101), false);
        assert_eq!((band.alpha, band.beta), (1.0, 3.0));
    }

    #[test]
    fn growth_within_the_tolerance_is_none() {
        let mut band = Band::new(1.0, 3.0, 1.0).with_tolerance(Time(100_000));
        band.on_round(Some(0.1), false);
        band.on_round(Some(0.1002), false);
        assert_eq!((band.alpha, band.beta), (2.0, 4.0));
        // 90 us more than 100.2 ms.
        band.on_round(Some(0.10029), false);
        assert_eq!((band.alpha, band.beta), (1.0, 3.0));
    }

    #[test]
    fn rounds_without_a_sample_and_rounds_of_a_loss_are_not_compared() {
        let mut band = Band::new(1.0, 3.0, 1.0);
        band.on_round(Some(0.1), false);
        band.on_round(None, false);
        band.on_round(Some(0.2), false);
        assert_eq!(band.alpha, 1.0);
        band.on_loss();
        // The round of the loss, then the first that can be recorded, then the first compared.
        band.on_round(Some(0.3), false);
        band.on_round(Some(0.4), false);
        assert_eq!(band.alpha, 1.0);
        band.on_round(Some(0.5), false);
        assert_eq!(band.alpha, 2.0);
    }

    #[test]
    fn a_loss_leaves_three_quarters_and_restores_the_initial_band() {
        let mut new_vegas = new_vegas(&NewVegasParams::default());
        (new_vegas.moving.band.alpha, new_vegas.moving.band.beta) = (15.0, 17.0);
        new_vegas.on_congestion(&context(20.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!((new_vegas.moving.band.alpha, new_vegas.moving.band.beta), (1.0, 3.0));
        // 20 - 20 / 4 = 15 segments.
        assert_eq!(new_vegas.cwnd(), 15.0 * MSS);
    }

    #[test]
    fn a_timeout_begins_slow_start_except_in_the_literal_reading() {
        let after_timeout = |timeout_avoidance| {
            let mut new_vegas = new_vegas(&NewVegasParams { timeout_avoidance, ..Default::default() });
            new_vegas.moving.band.alpha = 15.0;
            new_vegas.on_congestion(&context(20.0 * MSS), &Congestion::new(Signal::Timeout));
            assert_eq!(new_vegas.moving.band.alpha, 1.0);
            (new_vegas.cwnd() / MSS, new_vegas.ssthresh() / MSS)
        };
        // The threshold is half of the 20 segments in flight; without slow start, so is the window.
        assert_eq!(after_timeout(false), (1.0, 10.0));
        assert_eq!(after_timeout(true), (1.0, 1.0));
    }
}
