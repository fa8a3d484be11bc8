//! Each property of congestion controls refuses a control that violates it.

use dumbbell_cc::conformance::{MSS, PROPERTIES, Property, setup, the_window_grows_while_nothing_is_lost};
use dumbbell_cc::{
    Ack, Algorithm, Congestion, Context, Control, ExternalControl, Signal, Undo, UnusedWindow, WindowRules,
};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    NotANumber,
    IgnoresTheReceiver,
    GrowsUnused,
    GrowsInRecovery,
    RaisedByLoss,
    KeptByTimeout,
    HalfUndone,
    KeptUnused,
    ForgetsUnused,
    SlowCopy,
    Unseeded,
    Frozen,
}

/// Reno with a fault.
#[derive(Clone, Debug)]
struct Faulty {
    fault: Fault,
    cwnd: f64,
    ssthresh: f64,
    is_copy: bool,
}

/// What no control may depend on.
static ACKNOWLEDGEMENTS: AtomicU64 = AtomicU64::new(0);

impl Control for Faulty {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if ack.in_recovery && self.fault != Fault::GrowsInRecovery {
            return;
        }
        let growth =
            if self.cwnd < self.ssthresh { context.mss } else { context.mss * context.mss / self.cwnd };
        let number = ACKNOWLEDGEMENTS.fetch_add(1, Ordering::Relaxed);
        self.cwnd = match self.fault {
            Fault::NotANumber => f64::NAN,
            Fault::IgnoresTheReceiver if context.flight_size + context.mss > self.cwnd => self.cwnd + growth,
            Fault::GrowsUnused => (self.cwnd + growth).min(context.max_window.max(self.cwnd)),
            Fault::Unseeded if number.is_multiple_of(3) => self.cwnd,
            Fault::SlowCopy if self.is_copy => context.grown(self.cwnd, growth / 2.0),
            Fault::Frozen => self.cwnd,
            _ => context.grown(self.cwnd, growth),
        };
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.ssthresh = (context.flight_size / 2.0).max(2.0 * context.mss);
        self.cwnd = match congestion.signal {
            Signal::FastRetransmit if self.fault == Fault::RaisedByLoss => self.cwnd + 3.0 * MSS,
            signal if signal.restarts() && self.fault != Fault::KeptByTimeout => context.loss_window,
            _ => self.ssthresh,
        };
    }

    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        self.cwnd = self.cwnd.max(undo.cwnd);
        if self.fault != Fault::HalfUndone {
            self.ssthresh = self.ssthresh.max(undo.ssthresh);
        }
    }

    fn on_unused_window(&mut self, _context: &Context, unused: &UnusedWindow) -> bool {
        if self.fault != Fault::ForgetsUnused {
            self.ssthresh = WindowRules::remembered(self.cwnd, self.ssthresh);
        } else {
            self.ssthresh = MSS;
        }
        if self.fault != Fault::KeptUnused {
            self.cwnd = unused.window;
        }
        true
    }
}

impl ExternalControl for Faulty {
    fn fork(&self) -> Box<dyn ExternalControl> {
        Box::new(Faulty { is_copy: true, ..self.clone() })
    }
}

fn control(fault: Fault) -> Faulty {
    Faulty { fault, cwnd: 2.0 * MSS, ssthresh: 30.0 * MSS, is_copy: false }
}

/// The violations of a control with a fault.
fn violations(fault: Fault) -> Vec<String> {
    let create = || Algorithm::external(Box::new(control(fault)), &setup());
    let grows: Property = the_window_grows_while_nothing_is_lost;
    PROPERTIES.iter().chain([&grows]).filter_map(|property| property(&create).err()).collect()
}

#[test]
fn a_control_without_a_fault_violates_nothing() {
    assert_eq!(violations(Fault::None), Vec::<String>::new());
}

#[test]
fn each_fault_is_named() {
    for (fault, said) in [
        (Fault::NotANumber, "the window is NaN bytes; expected a finite number"),
        (Fault::IgnoresTheReceiver, "where the receiver allows 10000; grow it by grown"),
        (Fault::GrowsUnused, "a window that does not limit the sender grows by "),
        (Fault::GrowsInRecovery, "bytes during a recovery; look at in_recovery"),
        (Fault::RaisedByLoss, "a loss raises the window from "),
        (Fault::KeptByTimeout, "after a timeout the window is "),
        (Fault::HalfUndone, "an undo leaves window and threshold at "),
        (Fault::KeptUnused, "an unused window of "),
        (Fault::ForgetsUnused, "an unused window of "),
        (Fault::SlowCopy, "after the same events, a copy has a window of "),
        (Fault::Unseeded, "the same events give windows of "),
        (Fault::Frozen, "the window never grows: "),
    ] {
        let found = violations(fault);
        assert!(found.iter().any(|violation| violation.contains(said)), "{fault:?}: {found:?}");
    }
}
