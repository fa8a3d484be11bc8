//! Types shared by all crates: simulated time, sizes and rates ([`quantity`]),
//! mathematics that gives the same bits on every platform ([`math`]), named random streams
//! ([`random`]), percentiles ([`histogram`]) and parameters declared once for parser, schema and catalogue ([`spec`]).
//!
//! Nothing here reads a clock, prints, or touches files.

pub mod ecn;
pub mod histogram;
pub mod math;
pub mod quantity;
pub mod random;
pub mod spec;

pub use ecn::Ecn;
pub use histogram::Histogram;
pub use quantity::{Bytes, Interval, Limit, Rate, Time, Window};
pub use random::Stream;
pub use serde_json::Value;

/// Prefetches the cache line in which a value begins.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_index::prefetch_index(std::slice::from_ref(value), 0);
}

/// Prefetches the front of a queue, and the place of the next elements, unless they go to the beginning of its memory.
#[inline(always)]
pub fn prefetch_ends<T>(queue: &std::collections::VecDeque<T>) {
    if let (Some(front), Some(back)) = (queue.front(), queue.back()) {
        prefetch(front);
        let last = std::slice::from_ref(back);
        prefetch_index::prefetch_index(last, 1);
        prefetch_index::prefetch_index(last, 2);
    }
}

/// Prefetches the cache lines of `bytes` bytes from a value on: with the first field of a `repr(C)` struct and its size,
/// the whole struct.
#[inline(always)]
pub fn prefetch_from<T>(first: &T, bytes: usize) {
    for offset in (0..bytes).step_by(64) {
        prefetch_index::prefetch_index(std::slice::from_ref(first), offset / size_of::<T>());
    }
}
