//! Tests of the transports behind the boundary of the engine.

mod harness;
mod transfers;
