//! The links of a scenario in real time, between network namespaces with real TCP.
//!
//! [`packet`] reads and rewrites the headers of real packets, and [`wire`] carries their bytes over the
//! [`Paths`](dumbbell_sim::Paths) of a scenario. Neither performs input or output, so they build and are tested
//! everywhere.

pub mod packet;
pub mod wire;

pub use packet::{Headers, Refusal};
pub use wire::Wire;
