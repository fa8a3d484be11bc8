//! The clock of a run.

use dumbbell_units::Time;
use nix::time::{ClockId, clock_gettime};
use std::io;

/// The monotonic clock since the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    start: Time,
}

impl RunClock {
    /// A clock that shows zero now.
    ///
    /// # Errors
    ///
    /// The kernel has no monotonic clock.
    pub fn start() -> io::Result<RunClock> {
        Ok(RunClock { start: monotonic()? })
    }

    /// Time from the start to a time of the kernel's monotonic clock, in nanoseconds; zero if it was before.
    pub fn since_start(&self, monotonic_ns: u64) -> Time {
        Time(monotonic_ns.saturating_sub(self.start.0))
    }

    /// Time since the start.
    ///
    /// # Errors
    ///
    /// The kernel has no monotonic clock.
    pub fn now(&self) -> io::Result<Time> {
        Ok(monotonic()?.since(self.start))
    }
}

fn monotonic() -> io::Result<Time> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(Time(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64))
}
