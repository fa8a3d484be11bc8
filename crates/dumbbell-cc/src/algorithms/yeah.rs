//! YeAH, yet another highspeed TCP [baiocchi2007 §3], which is fast while the queue is short.
//!
//! A round trip with the minimum round-trip time RTT has queued $q = W (RTT - base) / RTT$ segments. Unless q exceeds
//! 80, or the queueing delay an eighth of the base, the window grows as Scalable TCP's; otherwise as Reno's, and if q
//! exceeds 80 it gives up q segments at once, at most half of the window. It does not fall below an estimate of Reno's
//! window beside it, `reno_count`. A loss in a fast phase takes q segments, at least an eighth and at most half of the
//! window; after 16 round trips of Reno it takes half, since a loss-based flow competes.
//!
//! Constants and details are those of Linux [linux6 tcp_yeah.c]: a round of at most two samples is not evaluated, and
//! `reno_count` begins with half of the window, grows by one per round trip of Reno, is halved by losses, and is forgotten
//! after 50 fast round trips. `form = "linux"` is its module in whole numbers.

use crate::delay::RoundTrips;
use crate::linux::{self, Attached, Form, Module, module_hooks, module_repairs};
use crate::probes::{BASE_RTT, VEGAS_DIFF};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, SentSegment, Setup, window_in};
use dumbbell_units::math::least;
use dumbbell_units::params;

params! {
    /// Parameters of YeAH.
    pub struct YeahParams {
        /// Queue above which the window gives it up.
        alpha: f64 = 80.0, "segments", "[linux6 tcp_yeah.c]",
            |alpha| *alpha >= 0.0, "a number of segments, at least 0";
        /// The base round-trip time divided by this is the queueing delay above which it grows as Reno.
        phy: f64 = 8.0, "-", "[linux6 tcp_yeah.c]", |phy| *phy > 0.0, "a number above 0";
        /// Divisor of the queue that is given up.
        gamma: f64 = 1.0, "-", "[linux6 tcp_yeah.c]", |gamma| *gamma >= 1.0, "a number, at least 1";
        /// Largest part of the window that is given up at once.
        epsilon: f64 = 0.5, "-", "[linux6 tcp_yeah.c]",
            |part| *part > 0.0 && *part <= 1.0, "a fraction above 0 and at most 1";
        /// Least part of the window that a loss takes in a fast phase.
        delta: f64 = 0.125, "-", "[linux6 tcp_yeah.c]",
            |part| *part > 0.0 && *part <= 0.5, "a fraction above 0 and at most 0.5";
        /// Round trips of Reno after which a loss takes half.
        rho: u64 = 16, "-", "[linux6 tcp_yeah.c]";
        /// Fast round trips after which Reno's window is forgotten.
        zeta: u64 = 50, "-", "[linux6 tcp_yeah.c]";
        /// The rules: those of the paper, or of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_yeah.c]";
    }
}

impl YeahParams {
    /// The module of Linux, if the parameters ask for it.
    fn module(&self, setup: &Setup) -> Option<Box<Attached<linux::yeah::Yeah>>> {
        let constants = linux::yeah::Constants {
            alpha: linux::whole(self.alpha),
            phy: linux::whole(self.phy).max(1),
            gamma: linux::whole(self.gamma),
            epsilon: self.epsilon,
            delta: self.delta,
            rho: self.rho,
            zeta: self.zeta,
        };
        (self.form == Form::Linux).then(|| Box::new(Attached::new(linux::yeah::Yeah::new(constants), setup)))
    }
}

/// The state of YeAH.
#[derive(Clone, Debug)]
pub struct Yeah {
    params: YeahParams,
    window: RenoWindow,
    rtts: RoundTrips,
    /// Segments queued in the last round evaluated.
    queued: f64,
    reno_rounds: u64,
    fast_rounds: u64,
    /// Window of a Reno flow beside it, in segments.
    reno_count: f64,
    module: Option<Box<Attached<linux::yeah::Yeah>>>,
}

impl Yeah {
    fn on_round_end(&mut self, mss: f64) {
        let segments = self.window.cwnd / mss;
        let delay = self.rtts.minimum - self.rtts.base;
        self.queued = segments * delay / self.rtts.minimum;
        let is_long = self.queued > self.params.alpha;
        if !is_long && delay <= self.rtts.base / self.params.phy {
            self.reno_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > self.params.zeta {
                self.reno_count = 2.0;
                self.fast_rounds = 0;
            }
            return;
        }
        if is_long && segments > self.reno_count {
            let surplus = least(self.queued / self.params.gamma, segments * self.params.epsilon);
            let rest = (segments - surplus).max(self.reno_count).max(1.0);
            self.window.shrink_to(rest * mss);
        }
        if self.reno_count <= 2.0 {
            self.reno_count = (self.window.cwnd / mss / 2.0).max(2.0);
        } else {
            self.reno_count += 1.0;
        }
        self.reno_rounds += 1;
    }
}

impl CongestionControl for Yeah {
    type Params = YeahParams;
    const SUMMARY: &'static str = "Scalable TCP while the queue is short, otherwise Reno that empties it.";
    const SOURCE: &'static str = "[baiocchi2007 §3]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF];

    fn new(params: &YeahParams, setup: &Setup) -> Self {
        Yeah {
            params: params.clone(),
            window: RenoWindow::new(setup),
            rtts: RoundTrips::default(),
            queued: 0.0,
            reno_rounds: 0,
            fast_rounds: 0,
            reno_count: 2.0,
            module: params.module(setup),
        }
    }
}

impl Control for Yeah {
    window_in!(window);
    module_hooks!();
    module_repairs!();

    fn on_sent(&mut self, context: &Context, _sent: &SentSegment) {
        self.module.iter_mut().for_each(|attached| attached.module.on_sent(context));
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(module) = &mut self.module {
            module.on_ack(&mut self.window, context, ack);
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.rtts.on_sample(rtt.secs());
        }
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            let segments = self.window.cwnd / context.mss;
            let count = if self.reno_rounds == 0 { least(segments, 100.0) } else { segments };
            self.window.grow(additions, count, context);
        }
        if !ack.in_recovery && ack.ack >= self.rtts.end {
            if self.rtts.has_enough() {
                self.on_round_end(context.mss);
            }
            self.rtts.begin_round(context.snd_nxt.max(ack.ack + 1));
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if let Some(module) = &mut self.module {
            module.on_congestion(&mut self.window, context, congestion);
            return;
        }
        let segments = self.window.cwnd / context.mss;
        let taken = if self.reno_rounds < self.params.rho {
            (self.queued / segments).clamp(self.params.delta, 0.5)
        } else {
            0.5
        };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count / 2.0).max(2.0);
        self.window.keep(1.0 - taken, context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let (base, queued) = match self.module.as_deref() {
            Some(Attached { module, .. }) => (module.base_secs(), module.queued()),
            None => (self.rtts.base_rtt(), self.queued),
        };
        *[base, Some(queued)].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use dumbbell_units::Time;

    /// A base round-trip time of 100 ms.
    fn yeah(segments: f64) -> Yeah {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(2.0 * MSS);
        let mut yeah = Yeah::new(&YeahParams::default(), &setup);
        yeah.rtts.base = 0.1;
        yeah
    }

    /// Ends a round with this minimum round-trip time; the window in segments.
    fn round(yeah: &mut Yeah, rtt: f64) -> f64 {
        yeah.rtts.minimum = rtt;
        yeah.on_round_end(MSS);
        yeah.cwnd() / MSS
    }

    fn kept(yeah: &mut Yeah) -> f64 {
        let cwnd = yeah.cwnd();
        yeah.on_congestion(&context(cwnd), &Congestion::new(Signal::FastRetransmit));
        yeah.cwnd() / cwnd
    }

    #[test]
    fn a_short_queue_grows_as_scalable_and_a_delay_above_an_eighth_as_reno() {
        let growth = |rtt| {
            let mut yeah = yeah(400.0);
            round(&mut yeah, rtt);
            let before = yeah.cwnd();
            yeah.on_ack(&context(400.0 * MSS).with_sent(0, 400_000), &Ack::new(1000, 1000));
            yeah.cwnd() - before
        };
        // 12.5 ms are an eighth of the base and 44 segments of 400.
        assert_eq!((growth(0.1), growth(0.1125)), (10.0, 10.0));
        assert_eq!(growth(0.113), 2.5);
    }

    #[test]
    fn a_queue_of_more_than_80_segments_is_given_up() {
        // 1000 * 10 / 110 = 90.9 segments.
        let mut yeah = yeah(1000.0);
        assert!((round(&mut yeah, 0.11) - 909.0909).abs() < 1e-3);
        assert_eq!(yeah.ssthresh(), yeah.cwnd());
        // Half of it is Reno's window, which the next rounds raise by one.
        assert!((yeah.reno_count - 454.545).abs() < 1e-3);
        round(&mut yeah, 0.1);
        round(&mut yeah, 0.113);
        assert!((yeah.reno_count - 455.545).abs() < 1e-3);
        // At most half: 1000 * 300 / 400 are queued.
        assert_eq!(round(&mut self::yeah(1000.0), 0.4), 500.0);
        // Not below Reno's window.
        let mut beside = self::yeah(1000.0);
        beside.reno_count = 950.0;
        assert_eq!(round(&mut beside, 0.11), 950.0);
    }

    #[test]
    fn a_loss_takes_the_queue_from_an_eighth_to_a_half_and_half_beside_reno() {
        let with_queue = |queued| kept(&mut Yeah { queued, ..yeah(400.0) });
        assert_eq!((with_queue(0.0), with_queue(100.0), with_queue(300.0)), (0.875, 0.75, 0.5));
        assert_eq!(kept(&mut Yeah { reno_rounds: 15, ..yeah(400.0) }), 0.875);
        assert_eq!(kept(&mut Yeah { reno_rounds: 16, ..yeah(400.0) }), 0.5);
    }

    #[test]
    fn renos_window_is_halved_by_a_loss_and_forgotten_after_50_fast_rounds() {
        let mut yeah = Yeah { reno_count: 100.0, ..yeah(400.0) };
        kept(&mut yeah);
        assert_eq!(yeah.reno_count, 50.0);
        for _ in 0..50 {
            round(&mut yeah, 0.1);
        }
        assert_eq!(yeah.reno_count, 50.0);
        round(&mut yeah, 0.1);
        assert_eq!(yeah.reno_count, 2.0);
    }

    #[test]
    fn a_round_of_two_samples_is_not_evaluated() {
        let mut yeah = yeah(1000.0);
        let sent = context(1000.0 * MSS).with_sent(0, 1_000_000);
        let ack = |number: u64| Ack::new(number * 1000, 1000).with_rtt(Some(Time(200_000_000)));
        yeah.rtts.end = 2000;
        yeah.on_ack(&sent, &ack(1));
        yeah.on_ack(&sent, &ack(2));
        assert_eq!((yeah.reno_rounds, yeah.rtts.end), (0, 1_000_000));
        yeah.rtts.end = 5000;
        (3..=5).for_each(|number| yeah.on_ack(&sent, &ack(number)));
        assert_eq!(yeah.reno_rounds, 1);
    }
}
