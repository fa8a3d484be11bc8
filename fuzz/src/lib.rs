//! What the fuzz targets share beside the schema's values in `dumbbell_chaos::schema`.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many events have to come before their number is told again.
const EVENTS_PER_LINE: u64 = 100_000_000;

/// Adds what an execution has driven (packets, steps) to all that this process has, and tells of it now and then.
pub fn count_events(events: u64) {
    static ALL: AtomicU64 = AtomicU64::new(0);
    let before = ALL.fetch_add(events, Ordering::Relaxed);
    if before / EVENTS_PER_LINE != (before + events) / EVENTS_PER_LINE {
        eprintln!("{} events", before + events);
    }
}
