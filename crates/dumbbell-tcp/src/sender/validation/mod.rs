//! Validation of a congestion window that is not used: a window that was reached long ago says little about the path. By
//! each rule, the slow-start threshold remembers three quarters of a window that is given up.

mod linux;
mod rfc7661;

use crate::config::TcpParams;
use dumbbell_cc::WindowValidation;
use dumbbell_units::Time;

/// What is known of the use of the window, by rule.
#[derive(Clone, Debug)]
pub(super) enum Validation {
    /// Nothing: at most the restart after an idle period applies [RFC 5681 §4.1].
    Off,
    /// See `linux`.
    Linux(linux::Use),
    /// See `rfc7661`.
    Rfc7661(rfc7661::Kept),
}

impl Validation {
    pub(super) fn new(params: &TcpParams, initial_window: f64, now: Time) -> Self {
        match params.window.validation {
            WindowValidation::Linux if params.idle_restart => {
                Validation::Linux(linux::Use::new(initial_window, now))
            }
            WindowValidation::Rfc7661 if params.idle_restart => {
                Validation::Rfc7661(rfc7661::Kept::new(initial_window, now))
            }
            _ => Validation::Off,
        }
    }

    /// True if the use of the window matters.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        !matches!(self, Validation::Off)
    }

    /// True if the window must not grow because too little of it is used.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        matches!(self, Validation::Rfc7661(kept) if kept.is_unused())
    }

    /// An ACK of new data may have raised the window.
    #[inline]
    pub(super) fn on_growth(&mut self, now: Time) {
        if let Validation::Linux(usage) = self {
            usage.on_growth(now);
        }
    }

    /// What was used of a window that is not used otherwise, in bytes per round trip.
    pub(super) fn used(&self) -> Option<u64> {
        match self {
            Validation::Rfc7661(kept) if kept.is_unused() => Some(kept.largest_delivery()),
            _ => None,
        }
    }
}
