//! The TCP of an unmodified Linux kernel in simulated time.
//!
//! A user-mode Linux runs as an ordinary process, without root, on a clock that the engine grants. Both ends of all its
//! connections are in it, and every packet between them passes through the engine. The same seed gives the same bits.
#![cfg(target_os = "linux")]

pub mod affinity;
pub mod agent;
pub mod calendar;
pub mod connection;
pub mod frames;
pub mod guest;
pub mod host;
pub mod rings;
pub mod stack;
pub mod vhost;
