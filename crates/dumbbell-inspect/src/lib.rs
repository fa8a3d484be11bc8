//! Captures, read: what a file of packets says about its TCP connections.
//!
//! Nothing here knows the engine: a capture of a network and one that the simulator wrote are read alike. [`Reader`] turns a
//! file into segments, [`Connections`] turns segments into connections, and [`rows`] has the columns of their table.

pub mod connection;
pub mod connections;
pub mod counts;
mod echoes;
pub mod file;
pub mod half;
mod link;
mod outstanding;
pub mod repair;
pub mod rounds;
pub mod rows;
pub mod rtt;
pub mod segment;
mod sequence;
pub mod series;

pub use connections::Connections;
pub use counts::{Counts, Damage};
pub use file::{ReadError, Reader};
pub use segment::{Flags, Options, Segment};
