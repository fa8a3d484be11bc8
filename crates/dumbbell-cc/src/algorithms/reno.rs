//! Reno's window [RFC 5681 §3.1], the base of Tahoe, Reno, NewReno and SACK.
//!
//! Slow start adds a segment per ACK up to `ssthresh`; congestion avoidance adds about a segment
//! per round trip; a loss halves the window. How the halves are rounded, and what is halved,
//! differs between BSD, ns-2 and the RFC and is given by [`WindowRules`](crate::WindowRules).
//! Inflation by duplicate ACKs is the sender's.

use crate::{Ack, Congestion, CongestionControl, Context, Setup, Signal, WindowRules};
use dumbbell_units::params;

params! {
    /// Reno has no parameters of its own.
    pub struct RenoParams {}
}

/// The state of Reno's window.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: f64,
    ssthresh: f64,
    initial_window: f64,
    rules: WindowRules,
}

impl CongestionControl for Reno {
    type Params = RenoParams;
    const SUMMARY: &'static str =
        "Additive increase by a segment per round trip, halving at a loss.";
    const SOURCE: &'static str = "[RFC 5681 §3.1]";

    fn new(_params: &RenoParams, setup: &Setup) -> Self {
        Reno {
            cwnd: setup.initial_window,
            ssthresh: setup.initial_ssthresh,
            initial_window: setup.initial_window,
            rules: setup.rules,
        }
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !ack.in_recovery && self.cwnd < context.max_window {
            let growth = self.rules.reno_growth(self.cwnd, self.ssthresh, context.mss);
            self.cwnd = (self.cwnd + growth).min(context.max_window);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let (ssthresh, cwnd) = self.rules.halved(self.cwnd, context, congestion);
        self.ssthresh = ssthresh;
        self.cwnd = match congestion.signal {
            Signal::FastRetransmit => cwnd,
            Signal::Restart | Signal::Timeout => context.loss_window,
        };
    }

    fn on_recovery_exit(&mut self, _context: &Context, kept_inflation: f64) {
        self.cwnd += kept_inflation;
    }

    fn on_restart(&mut self, _context: &Context) {
        self.cwnd = self.cwnd.min(self.initial_window);
    }
}
