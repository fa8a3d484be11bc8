//! TCP without input or output: a [`Sender`] and a [`Receiver`] that are told what happened and
//! asked what to do next. They never see a link, a clock or an event queue.
//!
//! The congestion control decides how much may be outstanding; the sender decides which segment
//! goes next and when. [`TcpParams`] gathers every rule by which implementations differ; an environment
//! is a preset of the same parameters.

pub mod config;
pub mod fine;
pub mod ranges;
pub mod rate;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod segment;
pub mod sender;

pub use config::{DelayedAck, Rules, Tcp, TcpParams, WireSizes};
pub use receiver::Receiver;
pub use rtt::HostClock;
pub use segment::{AckSegment, DataSegment, SackBlocks};
pub use sender::recovery::RecoverySpec;
pub use sender::{Sender, SenderStats, TcpEvent, TcpEventKind};
