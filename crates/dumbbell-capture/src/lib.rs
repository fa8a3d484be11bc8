//! Captures: the packets of a run as files that Wireshark opens, and the events of its senders as files that qvis opens.
//!
//! [`pcapng`] writes files of packets, of simulated ones and of those of the testbed. [`headers`] gives simulated packets
//! their IPv4, TCP and UDP headers, [`carried`] puts packets of stacks that are not ours between the same addresses, and [`qlog`] writes events of senders. [`files`] connects them with a run. The engine
//! reports what it sees as values and touches no file, see [`dumbbell_sim::capture`].

pub mod carried;
pub mod files;
pub mod headers;
pub mod pcapng;
pub mod qlog;

pub use files::{Files, Outputs};
pub use headers::Headers;
pub use pcapng::PacketFile;
