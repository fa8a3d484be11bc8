//! Captures, read: what a file of packets says about its TCP connections.
//!
//! Nothing here knows the engine: a capture of a network and one that the simulator wrote are read alike.

pub mod connection;
pub mod connections;
mod echoes;
pub mod half;
mod outstanding;
pub mod repair;
pub mod rounds;
pub mod rows;
pub mod rtt;
pub mod segment;
mod sequence;
pub mod series;

pub use connections::Connections;
pub use segment::{Flags, Options, Segment};
