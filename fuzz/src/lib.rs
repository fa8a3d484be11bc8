//! Shared by the fuzz targets, in addition to the schema's values in `dumbbell_chaos::schema`.

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
