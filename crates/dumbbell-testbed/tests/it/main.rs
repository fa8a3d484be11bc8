//! All tests that need the feature `kernel` and a machine that permits what they do, in one binary.

#![cfg(all(feature = "kernel", target_os = "linux"))]
#![allow(clippy::disallowed_macros, reason = "a skipped test says so, and others what they measured")]
#![allow(clippy::disallowed_methods, reason = "tests of real time read its clock")]

use std::sync::{Mutex, MutexGuard, PoisonError};

mod kernel;
mod runs;
mod shell;

/// One test at a time: they measure time, and compare what is on the machine before and after.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
