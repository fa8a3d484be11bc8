//! TCP-Illinois in whole numbers [linux6 tcp_illinois.c].
//!
//! Delays are whole microseconds, the increase counts in 1/128 and what a loss takes in 1/64. The increase begins with its
//! maximum. The window grows by the segments that an acknowledgement covers; a full count is cleared, and leaves nothing. A
//! round ends above what was sent when it began, also while the window does not limit the sender.

use super::{Module, Segments, before_loss, micros, whole};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Sample, SenderState};

/// Scale of the increase.
const SCALE: u64 = 128;
/// Scale of what a loss takes.
const PARTS: u64 = 64;
/// Longest round-trip time in microseconds, so that products have 32 bits.
const LONGEST: u64 = 0xffff_ffff / (10 * SCALE);
/// The base before the first sample.
const NONE: u64 = 0x7fff_ffff;

/// Constants of the module: increases in 1/128 of a segment, decreases in 1/64 of the window.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    pub alpha_max: u64,
    pub alpha_min: u64,
    pub beta_min: u64,
    pub beta_max: u64,
    pub low_window: u64,
    pub low_rounds: u64,
}

impl Constants {
    /// From numbers of segments and fractions of the window, rounded down.
    pub fn of(alphas: (f64, f64), betas: (f64, f64), low_window: f64, low_rounds: u64) -> Self {
        let (least, most) = (whole(alphas.0 * SCALE as f64), whole(alphas.1 * SCALE as f64));
        Constants {
            alpha_max: most.max(1),
            alpha_min: least.max(1),
            beta_min: (betas.0 * PARTS as f64) as u64,
            beta_max: (betas.1 * PARTS as f64) as u64,
            low_window: whole(low_window.ceil()),
            low_rounds,
        }
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Illinois {
    constants: Constants,
    alpha: u64,
    beta: u64,
    base: u64,
    rtt_max: u64,
    /// Sum and number of the samples of the round.
    sum: u64,
    samples: u64,
    end: u64,
    /// Segments of the last acknowledgement.
    acked: u64,
    has_been_above: bool,
    rounds_below: u64,
}

impl Illinois {
    pub fn new(constants: Constants) -> Self {
        Illinois {
            constants,
            alpha: constants.alpha_max,
            beta: constants.beta_max,
            base: NONE,
            rtt_max: 0,
            sum: 0,
            samples: 0,
            end: 0,
            acked: 0,
            has_been_above: false,
            rounds_below: 0,
        }
    }

    /// The increase, in segments per round trip.
    pub fn increase(&self) -> f64 {
        self.alpha as f64 / SCALE as f64
    }

    /// The lowest round-trip time, in seconds.
    pub fn base_secs(&self) -> Option<f64> {
        (self.base < NONE).then_some(self.base as f64 * 1e-6)
    }

    fn be_reno(&mut self) {
        (self.alpha, self.beta) = (SCALE, self.constants.beta_max);
    }

    /// The increase at a mean queueing delay and its maximum.
    fn alpha_at(&mut self, delay: u64, most: u64) -> u64 {
        let Constants { alpha_max, alpha_min, low_rounds, .. } = self.constants;
        let low = most / 100;
        if delay > low {
            self.has_been_above = true;
            let (delay, range) = (delay - low, most - low);
            return range * alpha_max / (range + delay * (alpha_max - alpha_min) / alpha_min);
        }
        if self.has_been_above {
            self.rounds_below += 1;
            if self.rounds_below < low_rounds {
                return self.alpha;
            }
            (self.has_been_above, self.rounds_below) = (false, 0);
        }
        alpha_max
    }

    /// What a loss takes at a mean queueing delay and its maximum.
    fn beta_at(&self, delay: u64, most: u64) -> u64 {
        let Constants { beta_min, beta_max, .. } = self.constants;
        let (low, high) = (most / 10, 8 * most / 10);
        if delay <= low {
            beta_min
        } else if delay >= high || high <= low {
            beta_max
        } else {
            ((beta_min * high + (beta_max - beta_min) * delay).saturating_sub(beta_max * low)) / (high - low)
        }
    }

    fn end_round(&mut self, cwnd: u64, end: u64) {
        if cwnd < self.constants.low_window {
            self.be_reno();
        } else if let Some(mean) = self.sum.checked_div(self.samples) {
            let (delay, most) = (mean - self.base, self.rtt_max - self.base);
            self.alpha = self.alpha_at(delay, most);
            self.beta = self.beta_at(delay, most);
        }
        self.begin(end);
    }

    fn begin(&mut self, end: u64) {
        (self.end, self.sum, self.samples) = (end, 0, 0);
    }
}

impl Module for Illinois {
    fn on_sample(&mut self, _window: &RenoWindow, context: &Context, sample: &Sample) {
        self.acked = sample.segments;
        let Some(rtt) = sample.rtt else { return };
        let rtt = micros(context.now, rtt).min(LONGEST);
        self.base = self.base.min(rtt);
        self.rtt_max = self.rtt_max.max(rtt);
        self.samples += 1;
        self.sum += rtt;
    }

    fn on_state(&mut self, context: &Context, state: SenderState) {
        if state == SenderState::Loss {
            self.be_reno();
            (self.has_been_above, self.rounds_below) = (false, 0);
            self.begin(context.snd_nxt);
        }
    }

    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        if ack.ack > self.end {
            let cwnd = Segments::of(window, context).cwnd();
            self.end_round(cwnd, context.snd_nxt);
        }
        if window.in_slow_start() {
            window.slow_start(context, ack);
            return;
        }
        let mut segments = Segments::of(window, context);
        if !segments.is_limiting {
            return;
        }
        let counted = segments.counted() + std::mem::replace(&mut self.acked, 1);
        let full = (counted * self.alpha / SCALE).checked_div(segments.cwnd()).unwrap_or(1);
        segments.add(full);
        segments.set_counted(if full > 0 { 0 } else { counted });
    }

    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        let cwnd = before_loss(window, context);
        super::reduce(window, cwnd - cwnd * self.beta / PARTS, context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::linux::tests::window;

    fn illinois() -> Illinois {
        Illinois::new(Constants::of((0.3, 10.0), (0.125, 0.5), 15.0, 5))
    }

    #[test]
    fn increases_count_in_128ths_and_decreases_in_64ths() {
        let mut illinois = illinois();
        assert_eq!(illinois.alpha, 1280);
        // 99000 * 1280 / (99000 + 44000 * 1242 / 38).
        assert_eq!(illinois.alpha_at(45_000, 100_000), 82);
        // (8 * 80000 + 24 * 45000 - 32 * 10000) / 70000.
        assert_eq!(illinois.beta_at(45_000, 100_000), 20);
        assert_eq!((illinois.beta_at(10_000, 100_000), illinois.beta_at(80_000, 100_000)), (8, 32));
    }

    #[test]
    fn a_full_count_leaves_nothing() {
        // An increase of 10: 2 segments counted make 20 of 20, 3 make 30.
        let (mut illinois, mut window) = (illinois(), window(20.0, 2.0));
        illinois.end = u64::MAX;
        illinois.on_sample(&window, &context(0.0), &Sample::new(None).with_segments(3));
        illinois.on_ack(&mut window, &context(20.0 * MSS), &Ack::new(3000, 3000));
        assert_eq!((window.cwnd / MSS, *window.counted()), (21.0, 0.0));
        // What an acknowledgement covers counts once; another one counts as one segment.
        illinois.on_ack(&mut window, &context(20.0 * MSS), &Ack::new(3000, 3000));
        assert_eq!(*window.counted(), 1.0);
    }

    #[test]
    fn a_timeout_returns_to_renos_constants() {
        let mut illinois = illinois();
        illinois.on_state(&context(0.0), SenderState::Loss);
        assert_eq!((illinois.alpha, illinois.beta), (128, 32));
    }
}
