//! How the caller of the engine watches over runs: it can stop them, follow their clock, limit their memory, have the
//! actions of one flow recorded, and tap packets. None of it changes the events of a run.

use crate::capture::Tap;
use crate::journal::Request;
use dumbbell_units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Samples that the probes of one run may record unless the caller states another number; see
/// [`Recording::samples`](crate::trace::Recording::samples).
pub const MAX_SAMPLES: u64 = 5_000_000;

/// Packets that may be in flight or in queues at one time unless the caller states another number: 2 GiB of memory.
pub const MAX_IN_FLIGHT: u64 = 1 << 25;

/// What the caller wants of runs.
#[derive(Clone, Copy)]
pub struct Supervision<'a> {
    /// A run ends soon after this becomes true.
    pub stop: &'a AtomicBool,
    /// Where a run writes its simulated time, in ns, every thousand events.
    pub clock: Option<&'a AtomicU64>,
    /// Samples that the probes of one run may record.
    pub max_samples: u64,
    /// Packets that may be in flight or in queues at one time.
    pub max_in_flight: u64,
    /// The run pauses soon after so many events since its beginning.
    pub max_events: u64,
    /// The flow and the time for which a run keeps a journal.
    pub journal: Option<Request>,
    /// What receives the packets of a single run.
    pub tap: Option<&'a dyn Tap>,
}

impl<'a> From<&'a AtomicBool> for Supervision<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Supervision {
            stop,
            clock: None,
            max_samples: MAX_SAMPLES,
            max_in_flight: MAX_IN_FLIGHT,
            max_events: u64::MAX,
            journal: None,
            tap: None,
        }
    }
}

impl Supervision<'_> {
    /// Does not limit the memory of runs.
    pub fn without_limits(self) -> Self {
        Supervision { max_samples: u64::MAX, max_in_flight: u64::MAX, ..self }
    }
}

/// A run that was ended because it needed more memory than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// What was too much.
    pub of: Excess,
    /// How much there was.
    pub count: u64,
    /// How much was allowed.
    pub limit: u64,
    /// Simulated time.
    pub at: Time,
}

/// What needs memory in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Samples recorded by probes.
    Samples,
    /// Packets in flight or in queues.
    Packets,
}
