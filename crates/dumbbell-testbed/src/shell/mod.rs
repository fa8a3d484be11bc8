//! `dumbbell shell`: any program behind the links of a scenario.
//!
//! [`options`] turns options into a scenario. The rest needs Linux and root:
//!
//! * `ends` makes the two ends of the link: a TUN device in a network namespace of the program, and one in the namespace
//!   from which the shell was started.
//! * `carrier` is the loop that carries packets between them.
//! * `records` writes logs and packets, and `live` shows what the link does.
//! * `program` starts the program with the rights of the invoking user, and ends everything that it started.
//! * `environment` states which variables the program has.
//! * `internet` lets the program reach beyond the host, if asked for.
//!
//! Nothing outlives the process, however it ends: namespaces have no name, devices are not persistent, and all processes
//! inside are in a process namespace whose first process dies with its parent.

pub mod options;

#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod carrier;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod ends;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod environment;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod internet;
#[cfg(all(feature = "kernel", target_os = "linux"))]
mod live;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod program;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod records;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod sample;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod session;
