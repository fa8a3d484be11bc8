//! What a sender shows to those who ask why it acted: its state at a moment, and why it would repeat a segment. Only a
//! recording asks; the sender itself uses none of it.

use super::Sender;
use super::cause::Cause;
use super::connection::Connection;
use super::opening::Phase;
use super::timers::TimerKind;
use dumbbell_units::Time;

/// Kinds of timers that a recording distinguishes, in the order in which simultaneous ones are handled. The pacer, which
/// waits before nearly every segment, is none of them.
pub const TIMERS: [&str; 3] = ["reordering", "tail_probe", "retransmission"];

/// The state of a sender at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Congestion window without inflation, in bytes.
    pub cwnd: f64,
    /// What duplicate ACKs add to the window, in bytes; below 0 if a recovery has reduced it.
    pub inflation: f64,
    /// Slow-start threshold, in bytes, possibly infinite.
    pub ssthresh: f64,
    /// Pacing rate, in bytes/s; `None` for a congestion control that does not pace.
    pub pacing_rate: Option<f64>,
    /// Oldest unacknowledged byte.
    pub snd_una: u64,
    /// Bytes in the network as far as the sender knows.
    pub in_flight: u64,
    /// Bytes delivered since the connection began.
    pub delivered: u64,
    /// Bytes considered lost since the connection began.
    pub lost: u64,
    /// Duplicate ACKs since new data was last acknowledged.
    pub duplicates: u32,
    /// True if only the application limits the sender.
    pub is_app_limited: bool,
    /// True if a fast recovery is in progress.
    pub in_recovery: bool,
    /// Number of round-trip times measured, and the latest of them in seconds.
    pub rtt: (u64, f64),
    /// The delivery rate of the latest sample, in bytes/s; only for a congestion control that uses such samples.
    pub delivery_rate: Option<f64>,
    /// Smoothed round-trip time, in seconds.
    pub srtt: Option<f64>,
    /// Deadlines of [`TIMERS`]; [`Time::NEVER`] for one that is not running.
    pub deadlines: [Time; TIMERS.len()],
    /// Values of the probes of the congestion control, in their order.
    pub quantities: Vec<Option<f64>>,
}

impl Observation {
    /// When the retransmission timer expires; [`Time::NEVER`] if it is not running.
    pub fn retransmission_deadline(&self) -> Time {
        let [_, _, retransmission] = self.deadlines;
        retransmission
    }
}

/// The state of a sender in the terms of Linux's `TCP_INFO`, counted in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// 0 for Open, 1 for Disorder, 2 for CWR, 3 for Recovery, 4 for Loss.
    pub ca_state: u8,
    /// Outstanding segments.
    pub unacked: u64,
    /// Of these, reported by selective acknowledgements.
    pub sacked: u64,
    /// Of these, considered lost, retransmitted or not.
    pub lost: u64,
    /// Of these, retransmitted.
    pub retrans: u64,
    /// Degree of reordering, and how often reordering was seen.
    pub reordering: (u64, u64),
}

impl Sender {
    /// The current state in the terms of `TCP_INFO`.
    pub fn tcp_info(&self) -> TcpInfo {
        let connection = &self.connection;
        let (sacked, lost, retrans) = connection.scoreboard.counts();
        let ca_state = match () {
            () if connection.in_recovery => 3,
            () if connection.phases.loss => 4,
            () if connection.phases.cwr => 2,
            () => u8::from(self.recovery.is_disordered().unwrap_or(sacked + lost + retrans > 0)),
        };
        let unacked = connection.scoreboard.len() as u64;
        TcpInfo { ca_state, unacked, sacked, lost, retrans, reordering: self.recovery.reordering() }
    }

    /// The current state.
    pub fn observe(&self) -> Observation {
        let connection = &self.connection;
        let control = &connection.congestion;
        let kinds = [TimerKind::Reordering, TimerKind::Probe, TimerKind::Retransmission];
        Observation {
            cwnd: control.cwnd(),
            inflation: connection.duplicates.inflation,
            ssthresh: control.ssthresh(),
            pacing_rate: control.pacing_rate(),
            snd_una: connection.snd_una,
            in_flight: connection.scoreboard.pipe(),
            delivered: connection.scoreboard.delivered(),
            lost: connection.scoreboard.lost(),
            duplicates: connection.duplicates.count,
            is_app_limited: connection.limits.is_app_limited(),
            in_recovery: connection.in_recovery,
            rtt: (connection.stats.rtt_count, connection.stats.rtt_latest),
            delivery_rate: connection.scoreboard.rate_sample().map(|rate| rate.delivery_rate()),
            srtt: self.srtt(),
            deadlines: kinds.map(|kind| connection.timers.deadline(kind)),
            quantities: (0..control.probes().len()).map(|index| control.probe(index)).collect(),
        }
    }

    /// Why [`poll_transmit`](Self::poll_transmit) would repeat a segment now.
    pub fn retransmission_cause(&self) -> Cause {
        if self.connection.opening.phase != Phase::Open {
            return Cause::Handshake;
        }
        let Connection { resend, in_recovery, phases, .. } = &self.connection;
        resend.head.or_else(|| self.recovery.cause(*in_recovery, phases.loss)).unwrap_or(resend.went_back)
    }
}
