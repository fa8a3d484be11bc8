//! Shared by the fuzz targets, in addition to the schema's values in `dumbbell_chaos::schema`.

#![allow(clippy::disallowed_macros, reason = "a fuzz target reports on standard error, as its fuzzer does")]

use dumbbell_kernel::rings::{Memory, RingError};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of events between two reports.
const EVENTS_PER_LINE: u64 = 100_000_000;

/// Adds the events (packets, steps) of an execution to the total of this process, and reports it now and then.
pub fn count_events(events: u64) {
    static ALL: AtomicU64 = AtomicU64::new(0);
    let before = ALL.fetch_add(events, Ordering::Relaxed);
    if before / EVENTS_PER_LINE != (before + events) / EVENTS_PER_LINE {
        eprintln!("{} events", before + events);
    }
}

/// Memory of a guest, from address 0.
pub struct GuestMemory(RefCell<Vec<u8>>);

impl GuestMemory {
    /// Memory with this content.
    pub fn new(bytes: Vec<u8>) -> Self {
        GuestMemory(RefCell::new(bytes))
    }

    fn at<T>(&self, address: u64, length: usize, with: impl FnOnce(&mut [u8]) -> T) -> Result<T, RingError> {
        let mut bytes = self.0.borrow_mut();
        let begin = usize::try_from(address).unwrap_or(usize::MAX);
        let found = begin.checked_add(length).and_then(|end| bytes.get_mut(begin..end));
        found.map(with).ok_or(RingError::Memory(address, length as u64))
    }
}

impl Memory for GuestMemory {
    fn read_at(&self, address: u64, bytes: &mut [u8]) -> Result<(), RingError> {
        self.at(address, bytes.len(), |found| bytes.copy_from_slice(found))
    }
    fn write_at(&self, address: u64, bytes: &[u8]) -> Result<(), RingError> {
        self.at(address, bytes.len(), |found| found.copy_from_slice(bytes))
    }
}
