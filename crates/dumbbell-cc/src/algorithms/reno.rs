//! Reno's window [RFC 5681 §3.1], the base of Tahoe, Reno, NewReno and SACK.
//!
//! Slow start adds a segment per ACK up to `ssthresh`; congestion avoidance adds about a segment per round trip; a loss
//! halves the window. What is halved, and how it is rounded, differs between environments and is given by
//! [`WindowRules`](crate::WindowRules). Inflation by duplicate ACKs belongs to the sender.
//!
//! A router that marks keeps its queue short, so a mark may reduce the window by less than a loss: the alternative backoff
//! of RFC 8511 recommends 0.8. The default is that of RFC 3168, which treats both alike.

use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, Setup, Signal, window_in};
use dumbbell_units::params;

params! {
    /// Parameters of Reno.
    pub struct RenoParams {
        /// Fraction of the window that remains after an echoed ECN mark; 0.8 for the alternative backoff of RFC 8511.
        beta_ecn: f64 = 0.5, "-", "[RFC 3168 §6.1.2]",
            |beta| *beta > 0.0 && *beta < 1.0, "a fraction above 0 and below 1";
    }
}

/// The state of Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    window: RenoWindow,
    beta_ecn: f64,
}

impl CongestionControl for Reno {
    type Params = RenoParams;
    const SUMMARY: &'static str =
        "Additive increase by one segment per round trip, multiplicative decrease to one half.";
    const SOURCE: &'static str = "[RFC 5681 §3.1]";
    const TAKES_SLOW_START: bool = true;

    fn new(params: &RenoParams, setup: &Setup) -> Self {
        Reno { window: RenoWindow::new(setup).reduced_unused(), beta_ecn: params.beta_ecn }
    }
}

impl Control for Reno {
    window_in!(window);

    #[inline(always)]
    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.window.increase(context, ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if congestion.signal == Signal::EcnEcho {
            self.window.keep(self.beta_ecn, context, congestion);
        } else {
            self.window.halve(context, congestion);
        }
    }

    fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        self.window.restart(context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Time;

    #[test]
    fn a_mark_leaves_the_fraction_given_and_a_loss_half() {
        let setup = Setup::new(Time::ZERO, 1000.0, 20_000.0);
        let context = Context::new(Time::ZERO, 1000.0).with_sent(0, 20_000);
        let after = |beta_ecn, signal| {
            let mut reno = Reno::new(&RenoParams { beta_ecn }, &setup);
            reno.on_congestion(&context, &Congestion::new(signal));
            (reno.cwnd(), reno.ssthresh())
        };
        // Of 20 segments in flight, 0.8 are 16. By RFC 3168 a mark is as good as a loss.
        assert_eq!(after(0.8, Signal::EcnEcho), (16_000.0, 16_000.0));
        assert_eq!(after(0.8, Signal::FastRetransmit), (10_000.0, 10_000.0));
        assert_eq!(after(0.5, Signal::EcnEcho), (10_000.0, 10_000.0));
        assert_eq!(after(0.8, Signal::Timeout), (1_000.0, 10_000.0));
    }
}
