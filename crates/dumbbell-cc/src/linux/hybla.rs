//! Hybla in whole numbers [linux6 tcp_hybla.c].
//!
//! rho counts in eighths, and an increment in 1/128 of a segment per acknowledgement, whatever that acknowledges. The
//! initial window is rho. rho follows the lowest smoothed round-trip time of the sender; outside the state Open, the window
//! grows as Reno's. Slow start stops at the threshold, and an increment of nothing counts acknowledgements.

use super::{Module, Segments};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Sample, SenderState};
use dumbbell_units::Time;

/// Scale of rho.
const EIGHTHS: u64 = 8;
/// Scale of increments.
const SCALE: u64 = 128;
/// Powers of two to the eighths of rho, in 1/128.
const POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Largest power of two of a slow start.
const LARGEST_POWER: u64 = 16;
/// Largest rho, in eighths: its square has 64 bits.
const LARGEST_RHO: u64 = 1 << 31;
/// Largest window, in segments.
const LARGEST: u64 = 65_535;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Hybla {
    /// The reference in microseconds.
    reference: u64,
    is_on: bool,
    /// Eighths of rho.
    rho: u64,
    /// Lowest smoothed round-trip time, in eighths of a microsecond.
    srtt_min: u64,
    /// The newest one.
    latest: Option<u64>,
    /// 1/128 segments that wait for a whole one.
    fractions: u64,
}

/// The smoothed round-trip time, in eighths of a microsecond.
fn smoothed(context: &Context) -> Option<u64> {
    context.srtt().map(|srtt| (srtt * 8e6 + 1e-3) as u64)
}

impl Hybla {
    pub fn new(reference: Time) -> Self {
        Hybla {
            reference: (reference.0 / 1000).max(1),
            is_on: true,
            rho: EIGHTHS,
            srtt_min: u64::MAX,
            latest: None,
            fractions: 0,
        }
    }

    fn follow(&mut self, srtt: u64) {
        self.rho = (srtt / self.reference).clamp(EIGHTHS, LARGEST_RHO);
        self.srtt_min = srtt;
    }
}

impl Module for Hybla {
    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        window.halve(context, congestion);
    }

    fn on_sample(&mut self, _window: &RenoWindow, context: &Context, _sample: &Sample) {
        self.latest = smoothed(context);
    }

    fn on_state(&mut self, _context: &Context, state: SenderState) {
        self.is_on = state == SenderState::Open;
    }

    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        if let Some(srtt) = self.latest.filter(|srtt| *srtt < self.srtt_min) {
            self.follow(srtt);
        }
        if !self.is_on {
            window.increase(context, ack);
            return;
        }
        let in_slow_start = window.in_slow_start();
        let threshold = (window.ssthresh / context.mss).min(LARGEST as f64) as u64;
        let mut segments = Segments::of(window, context);
        if !segments.is_limiting {
            return;
        }
        let mut counted = segments.counted();
        let increment = if in_slow_start {
            (1 << (self.rho / EIGHTHS).min(LARGEST_POWER)) * POWERS[(self.rho % EIGHTHS) as usize] - SCALE
        } else {
            let increment = 2 * self.rho * self.rho / segments.cwnd().max(1);
            counted += u64::from(increment < SCALE);
            increment
        };
        let mut cwnd = segments.cwnd() + increment / SCALE;
        self.fractions += increment % SCALE;
        if self.fractions >= SCALE {
            cwnd += self.fractions / SCALE;
            self.fractions %= SCALE;
            counted = 0;
        }
        if increment == 0 && counted >= cwnd {
            cwnd += 1;
            counted = 0;
        }
        segments.set_counted(counted);
        segments.set(if in_slow_start { cwnd.min(threshold) } else { cwnd }.min(LARGEST));
    }

    fn on_open(&mut self, window: &mut RenoWindow, context: &Context) {
        if let Some(srtt) = smoothed(context) {
            self.follow(srtt);
        }
        Segments::of(window, context).set(self.rho / EIGHTHS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::linux::tests::window;

    fn opened(rtt: f64) -> (Hybla, RenoWindow) {
        let mut hybla = Hybla::new(Time(25_000_000));
        let mut window = window(10.0, 1000.0);
        hybla.on_open(&mut window, &context(0.0).with_rtts(rtt, rtt));
        (hybla, window)
    }

    #[test]
    fn the_initial_window_is_rho() {
        for (rtt, segments) in [(0.010, 1.0), (0.049, 1.0), (0.050, 2.0), (0.120, 4.0)] {
            assert_eq!(opened(rtt).1.cwnd / MSS, segments, "{rtt}");
        }
    }

    #[test]
    fn slow_start_adds_128ths_and_stops_at_the_threshold() {
        // 40 ms are 12 eighths: 2 * 181 - 128 = 234, which are 1 and 106 of 128.
        let (mut hybla, mut window) = opened(0.040);
        let mut grow = |hybla: &mut Hybla| {
            hybla.on_ack(&mut window, &context(10.0 * MSS), &Ack::new(1000, 1000));
            window.cwnd / MSS
        };
        assert_eq!([grow(&mut hybla), grow(&mut hybla), grow(&mut hybla)], [2.0, 4.0, 6.0]);
        assert_eq!(hybla.fractions, 3 * 106 - 256);
        let mut near = crate::linux::tests::window(10.0, 11.0);
        hybla.on_ack(&mut near, &context(10.0 * MSS), &Ack::new(1000, 1000));
        assert_eq!(near.cwnd / MSS, 11.0);
    }

    #[test]
    fn above_the_threshold_each_acknowledgement_adds_128ths() {
        // 8 eighths: 128 / 20 = 6 of 128; the 22nd acknowledgement makes a segment.
        let (mut hybla, _) = opened(0.010);
        let mut window = window(20.0, 2.0);
        let windows: Vec<f64> = (0..22)
            .map(|_| {
                hybla.on_ack(&mut window, &context(20.0 * MSS), &Ack::new(3000, 3000));
                window.cwnd / MSS
            })
            .collect();
        assert_eq!((windows[20], windows[21]), (20.0, 21.0));
    }

    #[test]
    fn outside_open_it_is_reno() {
        let (mut hybla, _) = opened(0.120);
        let mut window = window(20.0, 2.0);
        hybla.on_state(&context(0.0), SenderState::Disorder);
        hybla.on_ack(&mut window, &context(20.0 * MSS), &Ack::new(1000, 1000));
        assert_eq!((window.cwnd / MSS, *window.counted()), (20.0, 1.0));
    }
}
