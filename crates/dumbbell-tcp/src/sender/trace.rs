//! Events of a connection: losses, recoveries, timeouts, restarts. They are recorded only if requested.

use dumbbell_units::{Time, choice};

choice! {
    /// The kind of an event of a TCP connection. The sender reports all of them except losses and the first new data after a
    /// fast retransmission, which the simulation adds.
    pub enum TcpEventKind {
        /// The window has reached the slow-start threshold, or a fast retransmission ended slow start. A timeout or a
        /// restart after an idle period begins another slow start.
        SlowStartExit = "slow_start_exit",
        /// The oldest segment is considered lost before its timeout, and is retransmitted.
        FastRetransmit = "fast_retransmit",
        /// The first new data since the last fast retransmission.
        NewData = "new_data",
        /// A fast recovery begins.
        RecoveryEnter = "recovery_enter",
        /// A fast recovery is complete; one ended by a timeout is not.
        RecoveryExit = "recovery_exit",
        /// The retransmission timer expired. Before there is data, the SYN is retransmitted.
        Timeout = "timeout",
        /// The connection is given up, after too many retransmissions of one segment.
        GiveUp = "give_up",
        /// The window was reduced because the receiver echoed a mark.
        EcnReduction = "ecn_reduction",
        /// A reaction to a loss was spurious, and is undone.
        Undo = "undo",
        /// The connection has been idle for a retransmission timeout, and restarts from the restart window.
        IdleRestart = "idle_restart",
        /// A data segment was lost in the network.
        Loss = "loss",
    }
}

/// An event of a connection and the state right after it. The acknowledgement that completes a recovery is processed
/// after the recovery has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpEvent {
    /// Time of the event.
    pub at: Time,
    /// Kind of the event.
    pub kind: TcpEventKind,
    /// Congestion window without inflation before the event, in bytes.
    pub cwnd_before: f64,
    /// The same after the event.
    pub cwnd: f64,
    /// Oldest unacknowledged byte.
    pub snd_una: u64,
    /// First byte never sent.
    pub snd_max: u64,
    /// Mean round-trip time so far, in seconds.
    pub rtt_mean: Option<f64>,
}

/// Events that were not drained yet.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    /// The events.
    pub(super) events: Vec<TcpEvent>,
    /// The connection is in slow start.
    pub(super) in_slow_start: bool,
}

impl Trace {
    /// No events yet: the connection begins in slow start.
    pub(super) fn new() -> Self {
        Trace { events: Vec::new(), in_slow_start: true }
    }

    /// Drains the events, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = TcpEvent> + '_ {
        self.events.drain(..)
    }
}
