//! How the caller of the engine watches over runs: it can stop them, follow their clock, limit their traces, have the
//! actions of one flow recorded, and tap packets. None of it changes the events of a run.

use crate::capture::Tap;
use crate::journal::Request;
use dumbbell_units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Samples that the probes of one run may record unless the caller states another number; see
/// [`Recording::samples`](crate::trace::Recording::samples).
pub const MAX_SAMPLES: u64 = 5_000_000;

/// What the caller wants of runs.
#[derive(Clone, Copy)]
pub struct Supervision<'a> {
    /// A run ends soon after this becomes true.
    pub stop: &'a AtomicBool,
    /// Where a run writes its simulated time, in ns, every thousand events.
    pub clock: Option<&'a AtomicU64>,
    /// Samples that the probes of one run may record.
    pub max_samples: u64,
    /// The flow and the time for which a run keeps a journal.
    pub journal: Option<Request>,
    /// What receives the packets of a single run.
    pub tap: Option<&'a dyn Tap>,
}

impl<'a> From<&'a AtomicBool> for Supervision<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Supervision { stop, clock: None, max_samples: MAX_SAMPLES, journal: None, tap: None }
    }
}

/// A run that was ended because its probes recorded too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Samples recorded so far.
    pub samples: u64,
    /// Samples that were allowed.
    pub max_samples: u64,
    /// Simulated time.
    pub at: Time,
}
