//! The network between the end points: packets, links with queues and impairments, and traffic sources. It is
//! independent of congestion control.

pub mod changes;
pub mod clocked;
pub mod datagrams;
pub mod fifo;
pub mod flight;
pub mod impairment;
pub mod link;
pub mod link_spec;
pub mod link_stats;
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

pub use changes::{Downtime, LinkChange, Outage};
pub use clocked::ClockedLink;
pub use datagrams::{Emission, Report};
pub use fifo::{FifoLink, Offer};
pub use flight::Flights;
pub use impairment::ImpairmentSpec;
pub use link::Link;
pub use link_spec::LinkSpec;
pub use link_stats::{BacklogChange, DropReason, LinkStats};
pub use opportunities::OpportunitySpec;
pub use packet::{Packet, PacketKind};
pub use queues::{QueueSpec, Queued};
pub use scheduled::ScheduledLink;
pub use sizes::SizeSpec;
pub use source::{DatagramState, SourceSpec, WorkloadState};
pub use synthetic::SyntheticSpec;
pub use wifi::WifiSpec;
pub use workloads::{Ended, Order, Playback, Turn};
