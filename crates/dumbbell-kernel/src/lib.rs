//! The TCP of an unmodified Linux kernel in simulated time.
//!
//! A user-mode Linux runs as an ordinary process, without root, on a clock that the engine grants. Both ends of all its
//! connections are in it, and every packet between them passes through the engine. The same seed gives the same bits.
//!
//! [`calendar`], [`vhost`] and [`rings`] are the protocols of the guest's clock and devices, bytes in and bytes out;
//! [`guest`] is the process, and [`link`] a device with its socket. [`machine`] boots it and gives commands to [`agent`],
//! which opens connections in the guest. [`stack`] carries flows over it, and [`connection`] follows their packets. [`host`]
//! finds kernels and checks what scenarios state. [`script`] plays scripts of segments on one.

pub mod agent;
pub mod calendar;
pub mod connection;
pub mod frames;
pub mod rings;
pub mod vhost;

#[cfg(target_os = "linux")]
pub mod affinity;
#[cfg(target_os = "linux")]
pub mod guest;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod link;
#[cfg(target_os = "linux")]
pub mod machine;
#[cfg(target_os = "linux")]
pub mod script;
#[cfg(target_os = "linux")]
pub mod stack;
