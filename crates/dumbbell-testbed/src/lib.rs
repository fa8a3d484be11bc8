//! The links of a scenario in real time, between network namespaces with real TCP.
//!
//! [`packet`] reads and rewrites the headers of real packets, and [`wire`] carries their bytes over the
//! [`Paths`](dumbbell_sim::Paths) of a scenario. Neither performs input or output, so they build and are tested
//! everywhere. The feature `kernel` adds what needs Linux and, to run, root: `space`, network namespaces with their
//! devices, and `emulator`, the loop that drives a wire by the monotonic clock.
//!
//! [`shell`] puts any program behind such links.

pub mod packet;
pub mod shell;
pub mod wire;

#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod emulator;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod space;

pub use packet::{Headers, Refusal};
pub use wire::Wire;
