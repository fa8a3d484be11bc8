//! Tests of the transports behind the boundary of the engine.

mod determinism;
mod engine;
mod harness;
mod hosts;
mod packets;
#[cfg(feature = "qlog")]
mod qlog;
mod speed;
mod transfers;
