//! The links of a scenario in real time, between network namespaces with real TCP.
//!
//! [`packet`] reads and rewrites the headers of real packets, and [`wire`] carries their bytes over the
//! [`Paths`](dumbbell_sim::Paths) of a scenario; [`plan`] says what the kernel is told, so that its TCP follows the
//! scenario. None performs input or output, so they build and are tested everywhere. The feature `kernel` adds what
//! needs Linux and, to run, root: `space`, network namespaces with their devices; `emulator`, the loop that drives a
//! wire by the monotonic clock; `traffic`, the connections of the flows; `run`, all of these together; and `doctor`,
//! which says what a machine lacks. The feature `twins` adds the eBPF twins of the congestion controls.
//!
//! [`shell`] puts any program behind such links.

pub mod host;
pub mod packet;
pub mod plan;
pub mod shell;
pub mod wire;

#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod clock;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod control_group;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod doctor;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod emulator;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod error;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod files;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod pcap;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod run;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod sample;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod space;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod tcp_info;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod traffic;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod twins;
#[cfg(all(feature = "kernel", target_os = "linux"))]
mod waiting;

pub use packet::{Headers, Refusal};
pub use wire::Wire;
