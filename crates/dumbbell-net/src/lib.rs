//! What lies between the end points: packets, links with their queues and impairments, and the
//! traffic that applications offer. Nothing here knows a congestion control.

pub mod datagrams;
pub mod flight;
pub mod impairment;
pub mod link;
pub mod packet;
pub mod queue;
pub mod source;
pub mod tcplib;

pub use datagrams::{DatagramState, Emission};
pub use flight::Flights;
pub use impairment::ImpairmentSpec;
pub use link::{Link, LinkSpec, LinkStats, Offer};
pub use packet::{Packet, PacketKind};
pub use queue::QueueSpec;
pub use source::SourceSpec;
