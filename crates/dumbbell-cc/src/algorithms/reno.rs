//! Reno's window [RFC 5681 §3.1], the base of Tahoe, Reno, NewReno and SACK.
//!
//! Slow start adds a segment per ACK up to `ssthresh`; congestion avoidance adds about a segment per round trip; a loss
//! halves the window. What is halved, and how it is rounded, differs between environments and is given by
//! [`WindowRules`](crate::WindowRules). Inflation by duplicate ACKs belongs to the sender.

use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, RecoveryExit, Restart, Setup, Undo};
use dumbbell_units::params;

params! {
    /// Reno has no parameters of its own.
    pub struct RenoParams {}
}

/// The state of Reno.
#[derive(Clone, Debug)]
pub struct Reno(RenoWindow);

impl CongestionControl for Reno {
    type Params = RenoParams;
    const SUMMARY: &'static str =
        "Additive increase by one segment per round trip, multiplicative decrease to one half.";
    const SOURCE: &'static str = "[RFC 5681 §3.1]";
    const TAKES_SLOW_START: bool = true;

    fn new(_params: &RenoParams, setup: &Setup) -> Self {
        Reno(RenoWindow::new(setup))
    }
}

impl Control for Reno {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh()
    }

    #[inline(always)]
    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.0.on_ack(context, ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.0.on_congestion(context, congestion);
    }

    fn on_recovery_exit(&mut self, _context: &Context, exit: &RecoveryExit) {
        self.0.on_recovery_exit(exit);
    }

    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        self.0.on_undo(undo);
    }

    fn on_restart(&mut self, _context: &Context, _restart: &Restart) {
        self.0.on_restart();
    }
}
