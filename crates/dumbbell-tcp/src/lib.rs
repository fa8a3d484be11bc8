//! TCP without input or output: a [`Sender`] and a [`Receiver`] that receive events and are polled for their next
//! actions. They never see a link, a clock or an event queue.
//!
//! The congestion control computes the window; the sender decides which segment to send and when. [`TcpParams`]
//! contains every rule in which implementations differ; an environment is a preset of these parameters.

mod clock;
pub mod config;
mod fine;
mod ranges;
pub mod receiver;
pub mod rtt;
mod scoreboard;
pub mod segment;
pub mod sender;

pub use clock::HostClock;
pub use config::recovery::RecoverySpec;
pub use config::{DelayedAck, Nagle, Rules, Tcp, TcpParams, WireSizes};
pub use receiver::Receiver;
pub use segment::{AckSegment, DataSegment, SackBlocks};
pub use sender::{Cause, Observation, Sender, SenderStats, TIMERS, TcpEvent, TcpEventKind, TcpInfo};
