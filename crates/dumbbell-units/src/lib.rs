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
