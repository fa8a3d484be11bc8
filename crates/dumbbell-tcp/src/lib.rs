//! TCP without input or output: a [`Sender`] and a [`Receiver`] that are told what happened and
//! asked what to do next. They never see a link, a clock or an event queue.
//!
//! The congestion control decides how much may be outstanding; the sender decides which segment
//! goes next and when. [`TcpParams`] gathers every rule by which implementations differ; BSD,
//! ns-2 and the RFCs are presets of the same parameters.

pub mod config;
pub mod fine;
pub mod outstanding;
pub mod ranges;
pub mod receiver;
pub mod rtt;
pub mod segment;
pub mod sender;

pub use config::{DelayedAck, Recovery, Tcp, TcpParams, WireSizes};
pub use receiver::Receiver;
pub use rtt::HostClock;
pub use segment::{AckSegment, DataSegment, SackBlocks};
pub use sender::{Sender, SenderStats};
