//! Captures, read: what a file of packets says about its TCP connections.
//!
//! Nothing here knows the engine: a capture of a network and one that the simulator wrote are read alike.

pub mod counts;
pub mod file;
mod link;
pub mod segment;

pub use counts::{Counts, Damage};
pub use file::{ReadError, Reader};
pub use segment::{Flags, Options, Segment};
