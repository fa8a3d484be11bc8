//! Events as the ABI passes them.

use crate::abi;
use dumbbell_cc::{
    Ack, Congestion, Context, Hook, LostSegment, RecoveryExit, Restart, SentSegment, Setup, Signal, Undo,
};
use zerocopy::IntoBytes;

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    Ack(&'a abi::Ack),
    Congestion(&'a abi::Congestion),
    DuplicateAck(&'a abi::Ack),
    Loss(&'a abi::Segment),
    RecoveryEnter,
    RecoveryExit(&'a abi::RecoveryExit),
    Undo(&'a abi::Undo),
    Restart(&'a abi::Restart),
    Sent(&'a abi::Segment),
}

impl Event<'_> {
    pub(crate) fn hook(&self) -> Hook {
        match self {
            Event::Ack(_) => Hook::Ack,
            Event::Congestion(_) => Hook::Congestion,
            Event::DuplicateAck(_) => Hook::DuplicateAck,
            Event::Loss(_) => Hook::Loss,
            Event::RecoveryEnter => Hook::RecoveryEnter,
            Event::RecoveryExit(_) => Hook::RecoveryExit,
            Event::Undo(_) => Hook::Undo,
            Event::Restart(_) => Hook::Restart,
            Event::Sent(_) => Hook::Sent,
        }
    }

    /// Its struct in memory; empty for an event without one.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Event::Ack(event) | Event::DuplicateAck(event) => event.as_bytes(),
            Event::Congestion(event) => event.as_bytes(),
            Event::Loss(event) | Event::Sent(event) => event.as_bytes(),
            Event::RecoveryEnter => &[],
            Event::RecoveryExit(event) => event.as_bytes(),
            Event::Undo(event) => event.as_bytes(),
            Event::Restart(event) => event.as_bytes(),
        }
    }
}

pub(crate) fn setup(setup: &Setup) -> abi::Setup {
    abi::Setup {
        now: setup.now.secs(),
        mss: setup.mss,
        initial_window: setup.initial_window,
        initial_ssthresh: setup.initial_ssthresh,
        seed: setup.seed(),
        is_ecn_capable: setup.is_ecn_capable.into(),
        reserved: 0,
    }
}

#[inline]
pub(crate) fn connection(context: &Context) -> abi::Connection {
    abi::Connection {
        now: context.now.secs(),
        mss: context.mss,
        snd_una: context.snd_una,
        snd_nxt: context.snd_nxt,
        flight_size: context.flight_size,
        in_flight: context.in_flight,
        max_window: context.max_window,
        growth_limit: context.growth_limit,
        loss_window: context.loss_window,
        srtt: context.srtt().unwrap_or(f64::INFINITY),
        min_rtt: context.min_rtt().unwrap_or(f64::INFINITY),
        delivered: context.delivered,
        lost: context.lost,
        marked: context.marked,
        round: context.round,
        is_app_limited: context.is_app_limited.into(),
        reserved: 0,
    }
}

#[inline]
pub(crate) fn ack(ack: &Ack<'_>) -> abi::Ack {
    abi::Ack {
        ack: ack.ack,
        acked: ack.acked,
        newly_delivered: ack.delivered,
        newly_lost: ack.lost,
        newly_marked: ack.marked,
        rtt: ack.rtt.map_or(f64::INFINITY, |rtt| rtt.secs()),
        delivery_rate: ack.rate.map_or(0.0, |rate| rate.delivery_rate()),
        in_flight_after: ack.in_flight,
        rate_is_app_limited: ack.rate.is_some_and(|rate| rate.is_app_limited).into(),
        is_round_start: ack.is_round_start.into(),
        is_cwnd_limited: ack.is_cwnd_limited.into(),
        in_recovery: ack.in_recovery.into(),
        is_ecn_echo: ack.is_ecn_echo.into(),
        reserved: 0,
    }
}

/// The number of a signal. One that is not known here counts as the timeout or the loss that it resembles.
fn number(signal: Signal) -> u32 {
    match signal {
        Signal::FastRetransmit => abi::FAST_RETRANSMIT,
        Signal::EcnEcho => abi::ECN_ECHO,
        Signal::Restart => abi::RESTART,
        Signal::Timeout => abi::TIMEOUT,
        other if other.restarts() => abi::RESTART,
        _ => abi::FAST_RETRANSMIT,
    }
}

pub(crate) fn congestion(congestion: &Congestion) -> abi::Congestion {
    abi::Congestion {
        signal: number(congestion.signal),
        restarts: congestion.signal.restarts().into(),
        retransmitted_before: congestion.retransmitted_before.into(),
        reserved: 0,
    }
}

pub(crate) fn lost(lost: &LostSegment) -> abi::Segment {
    abi::Segment {
        seq: lost.seq,
        sent_at: lost.sent_at.secs(),
        bytes: lost.bytes,
        is_retransmission: lost.is_retransmission.into(),
    }
}

#[inline]
pub(crate) fn sent(context: &Context, sent: &SentSegment) -> abi::Segment {
    abi::Segment {
        seq: sent.seq,
        sent_at: context.now.secs(),
        bytes: sent.bytes,
        is_retransmission: sent.is_retransmission.into(),
    }
}

pub(crate) fn recovery_exit(exit: &RecoveryExit) -> abi::RecoveryExit {
    abi::RecoveryExit { kept_inflation: exit.kept_inflation }
}

pub(crate) fn undo(undo: &Undo) -> abi::Undo {
    abi::Undo { cwnd: undo.cwnd, ssthresh: undo.ssthresh, signal: number(undo.signal), reserved: 0 }
}

pub(crate) fn restart(restart: &Restart) -> abi::Restart {
    abi::Restart { idle: restart.idle.secs(), timeout: restart.timeout.secs() }
}
