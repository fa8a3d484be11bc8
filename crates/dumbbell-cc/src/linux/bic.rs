//! BIC in whole numbers [linux6 tcp_bic.c].
//!
//! The number of segments acknowledged that adds one to the window holds for an unchanged window for 31.25 ms. It is
//! divided by the segments per acknowledgement, which begin as two and follow each acknowledgement of the state Open by a
//! sixteenth. A timeout forgets everything.

use super::{Clock, LEAST, Module, Segments, before_loss};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Sample, SenderState};
use dumbbell_units::Time;

/// An unchanged window has the same number for a second divided by this, in whole ticks.
const UNCHANGED: u64 = 32;
/// Segments per acknowledgement are sixteenths.
const RATIO: u64 = 16;
/// Segments per acknowledgement at first, in sixteenths.
const INITIAL_RATIO: u64 = 2 * RATIO;
/// Largest number before the first loss: a twentieth of the window per round trip.
const FIRST_COUNT: u64 = 20;
/// Scale of the fraction that a loss keeps.
const SCALE: u64 = 1024;

/// Constants of the module.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    pub max_increment: u64,
    pub search: u64,
    pub smooth: u64,
    /// In 1/1024.
    pub beta: u64,
    pub fast_convergence: bool,
    pub low_window: u64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Bic {
    constants: Constants,
    clock: Clock,
    state: SenderState,
    count: u64,
    w_max: u64,
    /// The window of the number, and when it was determined.
    last: Option<(u64, u64)>,
    ratio: u64,
}

impl Bic {
    pub fn new(constants: Constants, tick: Time) -> Self {
        let clock = Clock::new(tick);
        Bic {
            constants,
            clock,
            state: SenderState::Open,
            count: 0,
            w_max: 0,
            last: None,
            ratio: INITIAL_RATIO,
        }
    }

    /// The last maximum, in segments.
    pub fn w_max(&self) -> f64 {
        self.w_max as f64
    }

    fn reset(&mut self) {
        (self.count, self.w_max, self.last, self.ratio) = (0, 0, None, INITIAL_RATIO);
    }

    fn update(&mut self, now: u64, cwnd: u64) {
        if self.last.is_some_and(|(window, at)| {
            window == cwnd && now.saturating_sub(at) <= self.clock.per_second() / UNCHANGED
        }) {
            return;
        }
        self.last = Some((cwnd, now));
        let Constants { max_increment, search, smooth, low_window, .. } = self.constants;
        if cwnd <= low_window {
            self.count = cwnd.max(1);
            return;
        }
        let slow = cwnd * smooth / search;
        let below = self.w_max.saturating_sub(cwnd) / search;
        let above = cwnd.saturating_sub(self.w_max);
        let mut count = match () {
            () if cwnd < self.w_max && below > max_increment => cwnd / max_increment,
            () if cwnd < self.w_max && below <= 1 => slow,
            () if cwnd < self.w_max => cwnd / below,
            () if above < search => slow,
            () if above < max_increment * (search - 1) => cwnd * (search - 1) / above,
            () => cwnd / max_increment,
        };
        if self.w_max == 0 {
            count = count.min(FIRST_COUNT);
        }
        self.count = (count * RATIO / self.ratio).max(1);
    }
}

impl Module for Bic {
    fn on_sample(&mut self, _window: &RenoWindow, _context: &Context, sample: &Sample) {
        if self.state == SenderState::Open {
            self.ratio = (self.ratio + sample.segments - self.ratio / RATIO).max(1);
        }
    }

    fn on_state(&mut self, _context: &Context, state: SenderState) {
        self.state = state;
        if state == SenderState::Loss {
            self.reset();
        }
    }

    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        let additions = window.slow_start(context, ack);
        let mut segments = Segments::of(window, context);
        if additions > 0.0 && segments.is_limiting {
            self.update(self.clock.at(context.now), segments.cwnd());
            segments.grow(additions as u64, self.count);
        }
    }

    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        let cwnd = before_loss(window, context);
        let Constants { beta, fast_convergence, low_window, .. } = self.constants;
        self.w_max =
            if fast_convergence && cwnd < self.w_max { cwnd * (SCALE + beta) / (2 * SCALE) } else { cwnd };
        let rest = if cwnd <= low_window { cwnd / LEAST } else { cwnd * beta / SCALE };
        super::reduce(window, rest, context, congestion);
        if congestion.signal.restarts() {
            self.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setup;
    use crate::algorithms::newvegas::tests::{MSS, context};

    fn bic() -> Bic {
        let constants = Constants {
            max_increment: 16,
            search: 4,
            smooth: 20,
            beta: 819,
            fast_convergence: true,
            low_window: 14,
        };
        Bic::new(constants, Time(4_000_000))
    }

    #[test]
    fn the_number_is_halved_at_first_and_follows_the_segments_per_acknowledgement() {
        let mut bic = bic();
        // 60 / 16 = 3, of which 16 / 32 are one.
        bic.update(0, 60);
        assert_eq!(bic.count, 1);
        // 60 * 20 / 4 = 300.
        bic.w_max = 58;
        bic.update(8, 60);
        assert_eq!(bic.count, 150);
        let window = RenoWindow::new(&Setup::new(Time::ZERO, MSS, MSS));
        let one = Sample::new(None).with_segments(1);
        (0..100).for_each(|_| bic.on_sample(&window, &context(0.0), &one));
        // One segment each ends at 31 sixteenths, whose sixteenth is 1: the ratio is not 16, because it is rounded.
        assert_eq!(bic.ratio, 31);
        bic.on_state(&context(0.0), SenderState::Disorder);
        bic.on_sample(&window, &context(0.0), &Sample::default());
        assert_eq!(bic.ratio, 31);
    }

    #[test]
    fn an_unchanged_window_keeps_its_number_for_7_ticks_of_4_milliseconds() {
        let mut bic = bic();
        bic.update(0, 100);
        bic.w_max = 200;
        bic.update(7, 100);
        assert_eq!(bic.count, 3);
        bic.update(8, 100);
        // 100 / 16 = 6, halved.
        assert_eq!(bic.count, 3);
        bic.w_max = 140;
        bic.update(16, 100);
        // 100 / 10 = 10, halved.
        assert_eq!(bic.count, 5);
    }

    #[test]
    fn a_window_of_14_segments_counts_its_segments() {
        let mut bic = bic();
        bic.update(0, 14);
        assert_eq!(bic.count, 14);
    }
}
