//! The network between the end points: packets, links with queues and impairments, and traffic sources. It is
//! independent of congestion control.

pub mod clocked;
pub mod datagrams;
pub mod fifo;
pub mod flight;
pub mod impairment;
pub mod link;
pub mod opportunities;
pub mod packet;
pub mod queues;
pub mod scheduled;
pub mod sizes;
pub mod source;
pub mod synthetic;
pub mod tcplib;
mod transmitter;
pub mod waits;
pub mod wifi;
pub mod workloads;

pub use clocked::ClockedLink;
pub use datagrams::{DatagramState, Emission, Report};
pub use fifo::{FifoLink, Offer};
pub use flight::Flights;
pub use impairment::ImpairmentSpec;
pub use link::{DropReason, Link, LinkSpec, LinkStats};
pub use opportunities::OpportunitySpec;
pub use packet::{Packet, PacketKind};
pub use queues::{QueueSpec, Queued};
pub use scheduled::ScheduledLink;
pub use sizes::SizeSpec;
pub use source::SourceSpec;
pub use synthetic::SyntheticSpec;
pub use wifi::WifiSpec;
pub use workloads::{Ended, Order, Playback, Turn, WorkloadState};
