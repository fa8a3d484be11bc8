//! Events of a connection: losses, recoveries, timeouts, restarts. They are recorded only if requested.

use super::connection::Connection;
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
    events: Vec<TcpEvent>,
    in_slow_start: bool,
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

impl Connection {
    /// An event that leaves the state of the connection unchanged.
    pub(super) fn event(&self, now: Time, kind: TcpEventKind, cwnd_before: f64) -> TcpEvent {
        TcpEvent {
            at: now,
            kind,
            cwnd_before,
            cwnd: self.congestion.cwnd(),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            rtt_mean: self.stats.rtt_mean(),
        }
    }

    /// Records an event, before which the window was `cwnd_before`.
    pub(super) fn note(&mut self, now: Time, kind: TcpEventKind, cwnd_before: f64) {
        if self.trace.is_none() {
            return;
        }
        let event = self.event(now, kind, cwnd_before);
        let is_below_threshold = event.cwnd < self.congestion.ssthresh();
        let Some(trace) = &mut self.trace else { return };
        match kind {
            TcpEventKind::FastRetransmit => {
                if trace.in_slow_start {
                    trace.events.push(TcpEvent {
                        kind: TcpEventKind::SlowStartExit,
                        cwnd: cwnd_before,
                        ..event
                    });
                }
                trace.in_slow_start = is_below_threshold;
            }
            TcpEventKind::Timeout | TcpEventKind::IdleRestart => trace.in_slow_start = true,
            _ => {}
        }
        trace.events.push(event);
    }

    /// The congestion control has processed an acknowledgement, which may end slow start.
    #[cold]
    pub(super) fn note_acknowledged(&mut self, now: Time, cwnd_before: f64) {
        let has_reached_threshold = self.congestion.cwnd() >= self.congestion.ssthresh();
        if let Some(trace) = &mut self.trace
            && trace.in_slow_start
            && has_reached_threshold
        {
            trace.in_slow_start = false;
            self.note(now, TcpEventKind::SlowStartExit, cwnd_before);
        }
    }
}
