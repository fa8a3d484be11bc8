//! Veno in whole numbers [linux6 tcp_veno.c].
//!
//! The queue counts in half segments and follows each acknowledgement, once there were three samples in the connection.
//! With a queue of `beta`, a full count of segments acknowledged is found full by the next acknowledgement, which adds a
//! segment every second time. Outside the state Open, the window grows as Reno's. What a loss keeps follows from the
//! queue last computed.

use super::rounds::Rounds;
use super::{Module, Segments, before_loss, whole};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Sample, SenderState};

/// Queues count in this part of a segment.
const HALVES: u64 = 2;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Veno {
    /// Half segments queued from which the network is congested.
    beta: u64,
    /// Fraction of the window that remains after a loss without congestion.
    kept: f64,
    rounds: Rounds,
    /// Samples in the connection.
    samples: u64,
    /// Half segments queued.
    queued: u64,
    /// The next full count adds a segment.
    adds: bool,
}

impl Veno {
    pub fn new(beta: f64, kept: f64) -> Self {
        let beta = whole(beta * HALVES as f64);
        Veno { beta, kept, rounds: Rounds::new(), samples: 0, queued: 0, adds: true }
    }

    /// Segments queued.
    pub fn queued(&self) -> f64 {
        self.queued as f64 / HALVES as f64
    }

    /// The lowest round-trip time, in seconds.
    pub fn base_secs(&self) -> Option<f64> {
        self.rounds.base_secs()
    }

    pub fn on_sent(&mut self, context: &Context) {
        if context.in_flight == 0.0 {
            self.adds = true;
            self.rounds.on_sent(context);
        }
    }

    fn avoid(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        let halves = Segments::of(window, context).cwnd() * HALVES;
        let target = halves * self.rounds.base / self.rounds.minimum;
        self.queued = halves.saturating_sub(target);
        let additions = window.slow_start(context, ack) as u64;
        if additions == 0 {
            return;
        }
        let mut segments = Segments::of(window, context);
        let (counted, cwnd) = (segments.counted(), segments.cwnd());
        if self.queued < self.beta {
            segments.grow_as_reno(additions);
        } else if counted >= cwnd {
            segments.add(u64::from(self.adds));
            self.adds = !self.adds;
            segments.set_counted(0);
        } else {
            segments.set_counted(counted + additions);
        }
    }
}

impl Module for Veno {
    fn on_sample(&mut self, _window: &RenoWindow, context: &Context, sample: &Sample) {
        self.samples += u64::from(sample.rtt.is_some());
        self.rounds.on_sample(context, sample);
    }

    fn on_state(&mut self, context: &Context, state: SenderState) {
        self.rounds.on_state(context, state);
    }

    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        if !self.rounds.is_on {
            window.increase(context, ack);
            return;
        }
        if !Segments::of(window, context).is_limiting {
            return;
        }
        if self.samples <= 2 {
            window.increase(context, ack);
        } else {
            self.avoid(window, context, ack);
        }
        self.rounds.forget_minimum();
    }

    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        let cwnd = before_loss(window, context);
        let rest = if self.queued < self.beta { (cwnd as f64 * self.kept) as u64 } else { cwnd / 2 };
        super::reduce(window, rest, context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::linux::tests::window;

    fn veno(base: u64, minimum: u64) -> Veno {
        let mut veno = Veno::new(3.0, 0.8);
        (veno.rounds.base, veno.rounds.minimum, veno.samples) = (base, minimum, 3);
        veno
    }

    #[test]
    fn with_a_queue_of_three_segments_every_second_full_count_adds_one() {
        let mut window = window(20.0, 2.0);
        let mut veno = veno(100_000, 125_000);
        let mut acknowledge = |times| {
            for _ in 0..times {
                veno.rounds.minimum = 125_000;
                veno.on_ack(&mut window, &context(20.0 * MSS), &Ack::new(1000, 1000));
            }
            window.cwnd / MSS
        };
        // 40 - 40 * 100 / 125 = 8 halves. 20 are counted, and the 21st acknowledgement finds them.
        assert_eq!((acknowledge(20), acknowledge(1)), (20.0, 21.0));
        // 21 counted and found without a segment, and 21 again.
        assert_eq!((acknowledge(22 + 21), acknowledge(1)), (21.0, 22.0));
    }

    #[test]
    fn a_short_queue_keeps_four_fifths_and_a_segment_into_an_empty_network_begins_again() {
        let after = |minimum| {
            let (mut veno, mut window) = (veno(100_000, minimum), window(20.0, 2.0));
            veno.on_ack(&mut window, &context(20.0 * MSS), &Ack::new(1000, 1000));
            veno.on_congestion(&mut window, &context(0.0), &Congestion::new(Signal::FastRetransmit));
            window.ssthresh / MSS
        };
        assert_eq!((after(110_000), after(125_000)), (16.0, 10.0));
        let mut veno = veno(100_000, 100_000);
        veno.on_state(&context(0.0), SenderState::Loss);
        assert!(!veno.rounds.is_on);
        veno.on_sent(&context(0.0).with_in_flight(MSS));
        assert!(!veno.rounds.is_on);
        veno.on_sent(&context(0.0).with_in_flight(0.0));
        assert_eq!((veno.rounds.is_on, veno.base_secs()), (true, None));
    }
}
