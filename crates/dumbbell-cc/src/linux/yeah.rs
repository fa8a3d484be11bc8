//! YeAH in whole numbers [linux6 tcp_yeah.c].
//!
//! Rounds are those of Vegas in Linux, and are looked at while the window limits the sender: an acknowledgement first
//! grows the window, and then ends a round. The growth of Scalable TCP is at least Reno's.

use super::rounds::Rounds;
use super::{LEAST, Module, Segments, before_loss};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Sample, SenderState};

/// Segments acknowledged that add one to a large window.
const SCALABLE: u64 = 100;

/// Constants of the module.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    pub alpha: u64,
    pub phy: u64,
    pub gamma: u64,
    pub epsilon: f64,
    pub delta: f64,
    pub rho: u64,
    pub zeta: u64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Yeah {
    constants: Constants,
    rounds: Rounds,
    queued: u64,
    reno_rounds: u64,
    fast_rounds: u64,
    reno_count: u64,
}

fn part(segments: u64, fraction: f64) -> u64 {
    (segments as f64 * fraction) as u64
}

impl Yeah {
    pub fn new(constants: Constants) -> Self {
        Yeah {
            constants,
            rounds: Rounds::new(),
            queued: 0,
            reno_rounds: 0,
            fast_rounds: 0,
            reno_count: LEAST,
        }
    }

    /// Segments queued in the last round evaluated.
    pub fn queued(&self) -> f64 {
        self.queued as f64
    }

    /// The lowest round-trip time, in seconds.
    pub fn base_secs(&self) -> Option<f64> {
        self.rounds.base_secs()
    }

    pub fn on_sent(&mut self, context: &Context) {
        self.rounds.on_sent(context);
    }

    fn end_round(&mut self, window: &mut RenoWindow, context: &Context) {
        let Constants { alpha, phy, gamma, epsilon, zeta, .. } = self.constants;
        let mut segments = Segments::of(window, context);
        let cwnd = segments.cwnd();
        let delay = self.rounds.minimum - self.rounds.base;
        self.queued = cwnd * delay / self.rounds.minimum;
        let is_long = self.queued > alpha;
        if !is_long && delay <= self.rounds.base / phy {
            self.fast_rounds += 1;
            if self.fast_rounds > zeta {
                (self.reno_count, self.fast_rounds) = (LEAST, 0);
            }
            self.reno_rounds = 0;
            return;
        }
        if is_long && cwnd > self.reno_count {
            let taken = (self.queued / gamma).min(part(cwnd, epsilon));
            segments.set((cwnd - taken).max(self.reno_count));
            window.ssthresh = window.cwnd;
        }
        let cwnd = Segments::of(window, context).cwnd();
        self.reno_count = if self.reno_count <= LEAST { (cwnd / 2).max(LEAST) } else { self.reno_count + 1 };
        self.reno_rounds += 1;
    }
}

impl Module for Yeah {
    fn on_sample(&mut self, _window: &RenoWindow, context: &Context, sample: &Sample) {
        self.rounds.on_sample(context, sample);
    }

    fn on_state(&mut self, context: &Context, state: SenderState) {
        self.rounds.on_state(context, state);
    }

    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        if !Segments::of(window, context).is_limiting {
            return;
        }
        let additions = window.slow_start(context, ack) as u64;
        let mut segments = Segments::of(window, context);
        if additions > 0 {
            let cwnd = segments.cwnd().max(1);
            segments.grow(additions, if self.reno_rounds == 0 { cwnd.min(SCALABLE) } else { cwnd });
        }
        if self.rounds.is_over(ack.ack) {
            if self.rounds.has_enough() {
                self.end_round(window, context);
            }
            self.rounds.begin(context.snd_nxt);
        }
    }

    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        let Constants { delta, rho, .. } = self.constants;
        let cwnd = before_loss(window, context);
        let half = (cwnd / 2).max(LEAST);
        let taken = if self.reno_rounds < rho { self.queued.min(half).max(part(cwnd, delta)) } else { half };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count / 2).max(LEAST);
        super::reduce(window, cwnd.saturating_sub(taken), context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::linux::tests::window;

    fn yeah() -> Yeah {
        let constants =
            Constants { alpha: 80, phy: 8, gamma: 1, epsilon: 0.5, delta: 0.125, rho: 16, zeta: 50 };
        let mut yeah = Yeah::new(constants);
        yeah.rounds.base = 100_000;
        yeah
    }

    #[test]
    fn a_round_ends_after_the_growth_of_its_last_acknowledgement() {
        let (mut yeah, mut window) = (yeah(), window(1000.0, 2.0));
        (yeah.rounds.minimum, yeah.rounds.count) = (110_000, 3);
        *window.counted() = 99.0;
        yeah.on_ack(&mut window, &context(1000.0 * MSS), &Ack::new(1000, 1000));
        // 1001 segments, of which 1001 * 10 / 110 = 91 are queued.
        assert_eq!((window.cwnd / MSS, window.ssthresh / MSS, yeah.queued), (910.0, 910.0, 91));
        assert_eq!((yeah.reno_count, yeah.reno_rounds), (455, 1));
    }

    #[test]
    fn a_loss_takes_whole_segments() {
        let after = |queued, reno_rounds| {
            let (mut yeah, mut window) = (yeah(), window(25.0, 2.0));
            (yeah.queued, yeah.reno_rounds) = (queued, reno_rounds);
            yeah.on_congestion(&mut window, &context(0.0), &Congestion::new(Signal::FastRetransmit));
            window.ssthresh / MSS
        };
        // 25 / 8 = 3; 5; 25 / 2 = 12 at most, and after 16 rounds of Reno.
        assert_eq!((after(0, 0), after(5, 0), after(20, 0), after(0, 16)), (22.0, 20.0, 13.0, 13.0));
    }
}
