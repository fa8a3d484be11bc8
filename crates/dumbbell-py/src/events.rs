//! What a congestion control in Python receives, as classes of plain numbers.

use dumbbell_sim::congestion::{self, Context, Signal};
use pyo3::prelude::*;

/// The setup of a congestion control at the start of its connection.
#[pyclass(frozen, get_all, module = "dumbbell._engine")]
pub struct Setup {
    /// Time of the start since that of the run, in s, at least 0.
    pub now: f64,
    /// Payload of a full segment, in bytes, above 0.
    pub mss: f64,
    /// Initial window, in bytes, at least one segment.
    pub initial_window: f64,
    /// Initial slow-start threshold, in bytes, possibly infinite.
    pub initial_ssthresh: f64,
    /// Whether both ends echo ECN marks.
    pub is_ecn_capable: bool,
    /// Seed for random numbers of this connection, from 0 to 2**53 - 1; it depends on the seed and the number of the run.
    pub seed: u64,
}

impl Setup {
    pub fn of(setup: &congestion::Setup) -> Self {
        Setup {
            now: setup.now.secs(),
            mss: setup.mss,
            initial_window: setup.initial_window,
            initial_ssthresh: setup.initial_ssthresh,
            is_ecn_capable: setup.is_ecn_capable,
            seed: setup.seed(),
        }
    }
}

#[pymethods]
impl Setup {
    /// Return the same object: it never changes.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

/// The connection at an event, before the event changes it.
#[pyclass(frozen, get_all, subclass, module = "dumbbell._engine")]
pub struct Connection {
    /// Time since the start of the run, in s, at least 0.
    now: f64,
    /// Payload of a full segment, in bytes, above 0.
    mss: f64,
    /// Oldest unacknowledged byte, from 0.
    snd_una: u64,
    /// Next byte to send, at least `snd_una`.
    snd_nxt: u64,
    /// Bytes sent and not acknowledged (FlightSize, RFC 5681 §2), at least 0.
    flight_size: f64,
    /// Bytes in the network as far as the sender knows, at least 0.
    in_flight: f64,
    /// Receive window and send buffer, whichever is smaller, in bytes.
    max_window: f64,
    /// Limit of growth by acknowledgements, in bytes; see `grown`.
    growth_limit: f64,
    /// Window to restart from after a timeout, in bytes, at least one segment.
    loss_window: f64,
    /// Smoothed round-trip time, in s, above 0; `None` before the first sample.
    srtt: Option<f64>,
    /// Minimum round-trip time, in s, above 0; `None` before the first sample.
    min_rtt: Option<f64>,
    /// Bytes delivered since the connection began, from 0.
    delivered: u64,
    /// Bytes considered lost since the connection began, from 0.
    lost: u64,
    /// Bytes for which an ECN mark was echoed since the connection began, from 0.
    marked: u64,
    /// Round trips since the connection began, from 0.
    round: u64,
    /// Whether only the application limits the sender.
    is_app_limited: bool,
}

impl Connection {
    pub fn of(context: &Context) -> Self {
        Connection {
            now: context.now.secs(),
            mss: context.mss,
            snd_una: context.snd_una,
            snd_nxt: context.snd_nxt,
            flight_size: context.flight_size,
            in_flight: context.in_flight,
            max_window: context.max_window,
            growth_limit: context.growth_limit,
            loss_window: context.loss_window,
            srtt: context.srtt(),
            min_rtt: context.min_rtt(),
            delivered: context.delivered,
            lost: context.lost,
            marked: context.marked,
            round: context.round,
            is_app_limited: context.is_app_limited,
        }
    }
}

#[pymethods]
impl Connection {
    /// Return a window of `cwnd` bytes after it has grown by `growth` bytes, within the growth limit.
    fn grown(&self, cwnd: f64, growth: f64) -> f64 {
        if cwnd < self.growth_limit { (cwnd + growth).min(self.growth_limit) } else { cwnd }
    }

    /// Return the same object: it never changes.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

/// An acknowledgement.
#[pyclass(frozen, get_all, extends = Connection, module = "dumbbell._engine")]
pub struct Ack {
    /// Next byte that the receiver expects.
    ack: u64,
    /// Newly acknowledged bytes; 0 for a duplicate.
    acked: u64,
    /// Newly delivered bytes: acknowledged, or reported selectively, for the first time; at least 0.
    newly_delivered: u64,
    /// Bytes lost according to the reports of this acknowledgement, at least 0.
    newly_lost: u64,
    /// Bytes for which this acknowledgement echoes a mark, at least 0.
    newly_marked: u64,
    /// Round-trip time of the newest acknowledged segment, in s, above 0; `None` without a sample.
    rtt: Option<f64>,
    /// Delivery rate, in bytes/s, at least 0; `None` without a sample, or unless the control has `rate_samples`.
    delivery_rate: Option<f64>,
    /// Whether the application limited the sender during that sample.
    rate_is_app_limited: bool,
    /// Bytes in flight after the acknowledgement, at least 0; `in_flight` is the state before.
    in_flight_after: f64,
    /// Whether a round trip begins.
    is_round_start: bool,
    /// Whether the window limits the sender.
    is_cwnd_limited: bool,
    /// Whether a fast recovery is in progress: the window does not grow.
    in_recovery: bool,
    /// Whether the acknowledgement echoes congestion experienced.
    is_ecn_echo: bool,
}

impl Ack {
    pub fn of(context: &Context, ack: &congestion::Ack<'_>) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Connection::of(context)).add_subclass(Ack {
            ack: ack.ack,
            acked: ack.acked,
            newly_delivered: ack.delivered,
            newly_lost: ack.lost,
            newly_marked: ack.marked,
            rtt: ack.rtt.map(|rtt| rtt.secs()),
            delivery_rate: ack.rate.map(|rate| rate.delivery_rate()),
            rate_is_app_limited: ack.rate.is_some_and(|rate| rate.is_app_limited),
            in_flight_after: ack.in_flight,
            is_round_start: ack.is_round_start,
            is_cwnd_limited: ack.is_cwnd_limited,
            in_recovery: ack.in_recovery,
            is_ecn_echo: ack.is_ecn_echo,
        })
    }
}

/// A congestion event.
#[pyclass(frozen, get_all, extends = Connection, module = "dumbbell._engine")]
pub struct Congestion {
    /// Its cause: ``"fast-retransmit"``, ``"ecn-echo"``, ``"restart"`` or ``"timeout"``.
    signal: &'static str,
    /// Whether the connection restarts from the loss window.
    restarts: bool,
    /// Whether the lost segment had already been retransmitted.
    retransmitted_before: bool,
}

fn name_of(signal: Signal) -> &'static str {
    match signal {
        Signal::FastRetransmit => "fast-retransmit",
        Signal::EcnEcho => "ecn-echo",
        Signal::Restart => "restart",
        Signal::Timeout => "timeout",
        _ => "other",
    }
}

impl Congestion {
    pub fn of(context: &Context, congestion: &congestion::Congestion) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Connection::of(context)).add_subclass(Congestion {
            signal: name_of(congestion.signal),
            restarts: congestion.signal.restarts(),
            retransmitted_before: congestion.retransmitted_before,
        })
    }
}

/// A segment that is sent, or considered lost.
#[pyclass(frozen, get_all, extends = Connection, module = "dumbbell._engine")]
pub struct Segment {
    /// First byte, from 0.
    seq: u64,
    /// Payload, in bytes, above 0.
    bytes: u32,
    /// Whether it is, or was, a retransmission.
    is_retransmission: bool,
    /// Time of its last transmission, in s, at least 0.
    sent_at: f64,
}

impl Segment {
    pub fn sent(context: &Context, sent: &congestion::SentSegment) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Connection::of(context)).add_subclass(Segment {
            seq: sent.seq,
            bytes: sent.bytes,
            is_retransmission: sent.is_retransmission,
            sent_at: context.now.secs(),
        })
    }

    pub fn lost(context: &Context, lost: &congestion::LostSegment) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Connection::of(context)).add_subclass(Segment {
            seq: lost.seq,
            bytes: lost.bytes,
            is_retransmission: lost.is_retransmission,
            sent_at: lost.sent_at.secs(),
        })
    }
}

/// The end of a fast recovery.
#[pyclass(frozen, get_all, extends = Connection, module = "dumbbell._engine")]
pub struct RecoveryExit {
    /// Inflation that the environment leaves in the window, in bytes; below 0 if the window stays reduced.
    kept_inflation: f64,
}

impl RecoveryExit {
    pub fn of(context: &Context, exit: &congestion::RecoveryExit) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Connection::of(context))
            .add_subclass(RecoveryExit { kept_inflation: exit.kept_inflation })
    }
}

/// A reaction that was spurious and is undone.
#[pyclass(frozen, get_all, extends = Connection, module = "dumbbell._engine")]
pub struct Undo {
    /// The signal that was not caused by congestion, as in `Congestion`.
    signal: &'static str,
    /// Window before the reaction, in bytes, at least one segment.
    cwnd: f64,
    /// Slow-start threshold before the reaction, in bytes, possibly infinite.
    ssthresh: f64,
}

impl Undo {
    pub fn of(context: &Context, undo: &congestion::Undo) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Connection::of(context)).add_subclass(Undo {
            signal: name_of(undo.signal),
            cwnd: undo.cwnd,
            ssthresh: undo.ssthresh,
        })
    }
}

/// A connection that resumes sending after an idle period.
#[pyclass(frozen, get_all, extends = Connection, module = "dumbbell._engine")]
pub struct Restart {
    /// Time since the last transmission, in s, at least `timeout`.
    idle: f64,
    /// Retransmission timeout, in s, above 0.
    timeout: f64,
}

impl Restart {
    pub fn of(context: &Context, restart: &congestion::Restart) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Connection::of(context))
            .add_subclass(Restart { idle: restart.idle.secs(), timeout: restart.timeout.secs() })
    }
}
