//! Compound TCP [tan2006 §3], the sum of Reno's window and a window that follows the delay.
//!
//! Once per round trip above the threshold, $Diff = win (1 - base / RTT)$ segments are queued of the window
//! $win = cwnd + dwnd$. Below gamma, the delay window dwnd grows by $alpha win^k - 1$; otherwise it falls by $zeta Diff$.
//! Reno's part grows by $1 / win$ per acknowledgement. A loss leaves $(1 - beta) win$, of which Reno's part has half of
//! what it had; a timeout clears the delay window.
//!
//! Other implementations agree on alpha, beta, gamma and zeta, but not on k. gamma does not adapt. RTT is the mean of
//! the round.

use crate::probes::{BASE_RTT, VEGAS_DIFF};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Restart, Setup, Undo, Window};
use dumbbell_units::math::pow;
use dumbbell_units::params;

params! {
    /// Parameters of Compound TCP.
    pub struct CompoundParams {
        /// Factor of the growth of the delay window.
        alpha: f64 = 0.125, "-", "[tan2006 §3]", |alpha| *alpha >= 0.0, "a number, at least 0";
        /// Fraction of the window that a loss takes.
        beta: f64 = 0.5, "-", "[tan2006 §3]",
            |beta| *beta > 0.0 && *beta < 1.0, "a fraction above 0 and below 1";
        /// Exponent of the growth of the delay window.
        k: f64 = 0.75, "-", "[tan2006 §3], unverified", |k| *k >= 0.0 && *k <= 1.0, "a number from 0 to 1";
        /// Segments queued from which the delay window falls.
        gamma: f64 = 30.0, "segments", "[tan2006 §3]",
            |gamma| *gamma >= 0.0, "a number of segments, at least 0";
        /// Factor of the segments queued by which it falls.
        zeta: f64 = 1.0, "-", "[tan2006 §3]", |zeta| *zeta >= 0.0, "a number, at least 0";
    }
}

/// The state of Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    params: CompoundParams,
    /// Reno's part.
    window: RenoWindow,
    /// Delay window, in bytes.
    dwnd: f64,
    /// Window, threshold and delay window before the last reduction.
    before_reduction: (f64, f64, f64),
    /// Minimum round-trip time, in seconds; infinite before the first.
    base_rtt: f64,
    /// Sum and number of the samples of the round.
    sum: f64,
    samples: f64,
    /// First byte after the round.
    round_end: u64,
    queued: f64,
}

impl Compound {
    fn on_round_end(&mut self, context: &Context) {
        let mss = context.mss;
        let win = self.cwnd() / mss;
        let rtt = self.sum / self.samples;
        self.queued = win * (1.0 - self.base_rtt / rtt);
        let CompoundParams { alpha, k, gamma, zeta, .. } = self.params;
        if self.queued >= gamma {
            self.dwnd = (self.dwnd - zeta * self.queued * mss).max(0.0);
        } else {
            let growth = (alpha * pow(win, k) - 1.0).max(0.0) * mss;
            self.dwnd += context.grown(self.cwnd(), growth) - self.cwnd();
        }
    }
}

impl CongestionControl for Compound {
    type Params = CompoundParams;
    const SUMMARY: &'static str =
        "Reno's window plus a delay window that grows fast while the queue is short.";
    const SOURCE: &'static str = "[tan2006 §3]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF];

    fn new(params: &CompoundParams, setup: &Setup) -> Self {
        Compound {
            params: params.clone(),
            window: RenoWindow::new(setup),
            dwnd: 0.0,
            before_reduction: (0.0, 0.0, 0.0),
            base_rtt: f64::INFINITY,
            sum: 0.0,
            samples: 0.0,
            round_end: 0,
            queued: 0.0,
        }
    }
}

impl Control for Compound {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.window.cwnd + self.dwnd
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh + self.dwnd
    }

    fn window(&mut self) -> Option<&mut Window> {
        Some(&mut self.window)
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.secs();
            self.base_rtt = self.base_rtt.min(rtt);
            self.sum += rtt;
            self.samples += 1.0;
        }
        let own = context.with_growth_limit(context.growth_limit - self.dwnd);
        let additions = self.window.slow_start(&own, ack);
        if additions > 0.0 {
            self.window.grow(additions, self.cwnd() / context.mss, &own);
        }
        if ack.ack >= self.round_end {
            if additions > 0.0 && self.samples > 0.0 {
                self.on_round_end(context);
            }
            (self.sum, self.samples) = (0.0, 0.0);
            self.round_end = context.snd_nxt.max(ack.ack + 1);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let win = self.cwnd();
        self.before_reduction = (self.window.cwnd, self.window.ssthresh, self.dwnd);
        let (ssthresh, cwnd) = self.window.rules().reduced(win, 1.0 - self.params.beta, context);
        let most = win.max(2.0 * context.mss);
        let (ssthresh, cwnd) = (ssthresh.min(most), cwnd.min(most));
        self.dwnd = if congestion.signal.restarts() {
            0.0
        } else {
            (cwnd - (self.window.cwnd / 2.0).max(context.mss)).max(0.0)
        };
        self.window.reduce(ssthresh - self.dwnd, cwnd - self.dwnd, context, congestion);
    }

    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        let (cwnd, ssthresh, dwnd) = self.before_reduction;
        if self.cwnd() < cwnd + dwnd {
            self.dwnd = dwnd;
            self.window.on_undo(&Undo { cwnd, ssthresh, ..*undo });
        }
    }

    fn on_restart(&mut self, _context: &Context, _restart: &Restart) {
        self.dwnd = 0.0;
        self.window.on_restart();
    }

    fn probe(&self, index: usize) -> Option<f64> {
        *[self.base_rtt.is_finite().then_some(self.base_rtt), Some(self.queued)].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use dumbbell_units::Time;

    /// Reno's part of so many segments above its threshold, and a delay window.
    fn compound(segments: f64, dwnd: f64) -> Compound {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(2.0 * MSS);
        let new = Compound::new(&CompoundParams::default(), &setup);
        Compound { dwnd: dwnd * MSS, base_rtt: 0.1, ..new }
    }

    /// The delay window in segments after a round of this mean round-trip time.
    fn after_round(mut compound: Compound, rtt: f64) -> f64 {
        (compound.sum, compound.samples) = (rtt, 1.0);
        compound.on_round_end(&context(200.0 * MSS));
        compound.dwnd / MSS
    }

    #[test]
    fn the_delay_window_grows_by_an_eighth_of_the_three_quarter_power_less_one() {
        // 256^0.75 = 64: 64 / 8 - 1 = 7. 16^0.75 = 8: nothing. 10: not less.
        assert!((after_round(compound(200.0, 56.0), 0.1) - 63.0).abs() < 1e-9);
        assert!(after_round(compound(16.0, 0.0), 0.1).abs() < 1e-9);
        assert_eq!(after_round(compound(10.0, 0.0), 0.1), 0.0);
    }

    #[test]
    fn the_delay_window_falls_by_what_is_queued_from_30_segments_on() {
        // 300 (1 - 100 / 120) = 50 segments of 300, and not below none.
        assert!((after_round(compound(200.0, 100.0), 0.12) - 50.0).abs() < 1e-9);
        assert_eq!(after_round(compound(290.0, 10.0), 0.12), 0.0);
        // 27.3 are fewer than 30: 300^0.75 / 8 - 1 = 8.010 more.
        assert!((after_round(compound(200.0, 100.0), 0.11) - 108.0105).abs() < 1e-3);
    }

    #[test]
    fn an_ack_adds_to_renos_part_by_the_sum_of_both() {
        let mut compound = compound(60.0, 40.0);
        compound.round_end = 100_000;
        compound.on_ack(&context(100.0 * MSS), &Ack::new(1000, 1000));
        assert_eq!(compound.cwnd(), 100_010.0);
    }

    #[test]
    fn a_loss_halves_the_sum_and_renos_part_and_a_timeout_clears_the_delay_window() {
        let mut lossy = compound(60.0, 40.0);
        lossy.on_congestion(&context(100.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!((lossy.cwnd(), lossy.ssthresh(), lossy.dwnd), (50_000.0, 50_000.0, 20_000.0));
        lossy.on_undo(&context(100.0 * MSS), &Undo::new(Signal::FastRetransmit, 100_000.0, 42_000.0));
        assert_eq!((lossy.cwnd(), lossy.dwnd), (100_000.0, 40_000.0));
        lossy.on_congestion(&context(100.0 * MSS), &Congestion::new(Signal::Timeout));
        assert_eq!((lossy.cwnd(), lossy.ssthresh(), lossy.dwnd), (MSS, 50_000.0, 0.0));
    }
}
