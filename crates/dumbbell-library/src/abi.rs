//! The C ABI, version 1. The header for C is written from this file; a test compares them.
//!
//! All structs that the engine passes have only fields of 4 and 8 bytes and no padding, so that they are the same for a
//! shared library and for a module of 32-bit WebAssembly. A later version of the engine may append fields to them.

use std::ffi::{c_char, c_void};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Version of this interface. A library of another version is refused.
pub const ABI_VERSION: u32 = 1;

/// Signal: duplicate ACKs; the recovery continues from the reduced window.
pub const FAST_RETRANSMIT: u32 = 0;
/// Signal: a router marked a packet; at most once per window of data.
pub const ECN_ECHO: u32 = 1;
/// Signal: duplicate ACKs, answered with a restart from the loss window (Tahoe).
pub const RESTART: u32 = 2;
/// Signal: the retransmission timer expired.
pub const TIMEOUT: u32 = 3;

/// Flag: acknowledgements carry delivery rates.
pub const USES_RATE_SAMPLES: u32 = 1;
/// Flag: the window follows from a model of the path, so that the rules of growth do not apply.
pub const MODEL_BASED: u32 = 2;
/// Flag: on_ack reacts to marks by itself; with exact feedback, on_congestion is not called for them.
pub const REACTS_TO_MARKS: u32 = 4;

/// The setup of a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct Setup {
    /// Time of its start since that of the run, in s, at least 0.
    pub now: f64,
    /// Payload of a full segment, in bytes, above 0.
    pub mss: f64,
    /// Initial window, in bytes, at least one segment.
    pub initial_window: f64,
    /// Initial slow-start threshold, in bytes, possibly infinite.
    pub initial_ssthresh: f64,
    /// Seed for random numbers of this connection, from 0 to 2^53 - 1.
    pub seed: u64,
    /// 1 if both ends echo ECN marks, otherwise 0.
    pub is_ecn_capable: u32,
    /// 0.
    pub reserved: u32,
}

/// The connection at an event, before the event changes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct Connection {
    /// Time since the start of the run, in s, at least 0.
    pub now: f64,
    /// Payload of a full segment, in bytes, above 0.
    pub mss: f64,
    /// Oldest unacknowledged byte, from 0.
    pub snd_una: u64,
    /// Next byte to send, at least snd_una.
    pub snd_nxt: u64,
    /// Bytes sent and not acknowledged (FlightSize, RFC 5681 §2), at least 0.
    pub flight_size: f64,
    /// Bytes in the network as far as the sender knows, at least 0.
    pub in_flight: f64,
    /// Receive window and send buffer, whichever is smaller, in bytes, above 0, possibly infinite.
    pub max_window: f64,
    /// Limit of growth by acknowledgements, in bytes, possibly infinite: a window below it may grow up to it, any other
    /// must not grow.
    pub growth_limit: f64,
    /// Window to restart from after a timeout, in bytes, at least one segment.
    pub loss_window: f64,
    /// Smoothed round-trip time, in s, above 0; infinite before the first sample.
    pub srtt: f64,
    /// Minimum round-trip time, in s, above 0; infinite before the first sample.
    pub min_rtt: f64,
    /// Bytes delivered since the connection began, from 0.
    pub delivered: u64,
    /// Bytes considered lost since the connection began, from 0.
    pub lost: u64,
    /// Bytes for which an ECN mark was echoed since the connection began, from 0.
    pub marked: u64,
    /// Round trips since the connection began, from 0.
    pub round: u64,
    /// 1 if only the application limits the sender, otherwise 0.
    pub is_app_limited: u32,
    /// 0.
    pub reserved: u32,
}

/// An acknowledgement.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct Ack {
    /// Next byte that the receiver expects.
    pub ack: u64,
    /// Newly acknowledged bytes; 0 for a duplicate.
    pub acked: u64,
    /// Newly delivered bytes: acknowledged, or reported selectively, for the first time; at least 0.
    pub newly_delivered: u64,
    /// Bytes lost according to the reports of this acknowledgement, at least 0.
    pub newly_lost: u64,
    /// Bytes for which this acknowledgement echoes a mark, at least 0.
    pub newly_marked: u64,
    /// Round-trip time of the newest acknowledged segment, in s, above 0; infinite without a sample.
    pub rtt: f64,
    /// Delivery rate, in bytes/s, at least 0; 0 without a sample, or without the flag DUMBBELL_USES_RATE_SAMPLES.
    pub delivery_rate: f64,
    /// Bytes in flight after the acknowledgement, at least 0; in_flight of the connection is the state before.
    pub in_flight_after: f64,
    /// 1 if the application limited the sender during the sample of the rate, otherwise 0.
    pub rate_is_app_limited: u32,
    /// 1 if a round trip begins, otherwise 0.
    pub is_round_start: u32,
    /// 1 if the window limits the sender, otherwise 0.
    pub is_cwnd_limited: u32,
    /// 1 during a fast recovery, in which the window does not grow; otherwise 0.
    pub in_recovery: u32,
    /// 1 if the acknowledgement echoes congestion experienced, otherwise 0.
    pub is_ecn_echo: u32,
    /// 0.
    pub reserved: u32,
}

/// A congestion event.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct Congestion {
    /// DUMBBELL_FAST_RETRANSMIT, DUMBBELL_ECN_ECHO, DUMBBELL_RESTART or DUMBBELL_TIMEOUT.
    pub signal: u32,
    /// 1 if the connection restarts from the loss window, otherwise 0.
    pub restarts: u32,
    /// 1 if the lost segment had already been retransmitted, otherwise 0.
    pub retransmitted_before: u32,
    /// 0.
    pub reserved: u32,
}

/// A segment that is sent, or considered lost.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct Segment {
    /// First byte, from 0.
    pub seq: u64,
    /// Time of its last transmission, in s, at least 0.
    pub sent_at: f64,
    /// Payload, in bytes, above 0.
    pub bytes: u32,
    /// 1 if it is, or was, a retransmission, otherwise 0.
    pub is_retransmission: u32,
}

/// The end of a fast recovery.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct RecoveryExit {
    /// Inflation that the environment leaves in the window, in bytes; below 0 if the window stays reduced.
    pub kept_inflation: f64,
}

/// A reaction that was spurious and is undone.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct Undo {
    /// Window before the reaction, in bytes, at least one segment.
    pub cwnd: f64,
    /// Slow-start threshold before the reaction, in bytes, possibly infinite.
    pub ssthresh: f64,
    /// The signal that was not caused by congestion, as in dumbbell_congestion.
    pub signal: u32,
    /// 0.
    pub reserved: u32,
}

/// A connection that resumes sending after an idle period.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
pub struct Restart {
    /// Time since the last transmission, in s, at least timeout.
    pub idle: f64,
    /// Retransmission timeout, in s, above 0.
    pub timeout: f64,
}

/// The answer: passed with its current values, and read after the call. A value out of range ends the run with an error.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
pub struct Window {
    /// Congestion window, in bytes, finite, at least one segment. At the start, the initial window.
    pub cwnd: f64,
    /// Slow-start threshold, in bytes, above 0, possibly infinite. At the start, that of the setup.
    pub ssthresh: f64,
    /// Pacing rate, in bytes/s of payload, finite, above 0; 0 if segments leave as the window allows, as at the start.
    pub pacing_rate: f64,
}

/// A parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name: 1 to 40 letters, digits and underscores.
    pub name: *const c_char,
    /// Unit of its values, such as "s", or "-".
    pub unit: *const c_char,
    /// Value if a scenario gives none, within the range.
    pub initial: f64,
    /// Smallest and largest value that a scenario may give, possibly infinite.
    pub minimum: f64,
    /// See minimum.
    pub maximum: f64,
}

/// What a library states about its algorithm. Pointers may be null unless they are required, and stay valid.
///
/// A function receives the state of one connection. It depends on nothing else: threads call it at once with the states of
/// different connections. It must not keep the pointers that it receives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// DUMBBELL_ABI_VERSION.
    pub abi_version: u32,
    /// sizeof(struct dumbbell_algorithm). A later version may append fields to the struct.
    pub size: u32,
    /// Size of the state of a connection, in bytes, at most 2^20. The engine provides it, zeroed and aligned to 16 bytes.
    pub state_size: u32,
    /// Sum of DUMBBELL_USES_RATE_SAMPLES, DUMBBELL_MODEL_BASED and DUMBBELL_REACTS_TO_MARKS, or 0.
    pub flags: u32,
    /// Number of parameters, at most 64.
    pub parameter_count: u32,
    /// Number of probes, at most 64.
    pub probe_count: u32,
    /// The parameters.
    pub parameters: *const Parameter,
    /// The names of the probes: 1 to 40 letters, digits and underscores. A scenario records them as own.NAME.
    pub probes: *const *const c_char,
    /// A connection starts. The values of the parameters are in the declared order.
    pub start: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            setup: *const Setup,
            parameters: *const f64,
            window: *mut Window,
        ),
    >,
    /// Required: new data is acknowledged.
    pub on_ack: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            ack: *const Ack,
            window: *mut Window,
        ),
    >,
    /// Required: congestion is detected. Afterwards cwnd is the window of the recovery.
    pub on_congestion: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            congestion: *const Congestion,
            window: *mut Window,
        ),
    >,
    /// A duplicate ACK arrives, which may report data as delivered.
    pub on_duplicate_ack: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            ack: *const Ack,
            window: *mut Window,
        ),
    >,
    /// A segment is considered lost; called for each, before the reaction to congestion.
    pub on_loss: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            segment: *const Segment,
            window: *mut Window,
        ),
    >,
    /// A fast recovery begins.
    pub on_recovery_enter:
        Option<unsafe extern "C" fn(state: *mut c_void, connection: *const Connection, window: *mut Window)>,
    /// A fast recovery ends. Null: the kept inflation is added to cwnd.
    pub on_recovery_exit: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            exit: *const RecoveryExit,
            window: *mut Window,
        ),
    >,
    /// A reaction was spurious. Null: cwnd and ssthresh return to their values before it, unless they are larger.
    pub on_undo: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            undo: *const Undo,
            window: *mut Window,
        ),
    >,
    /// Sending resumes after an idle period. Null: cwnd is at most the initial window (RFC 5681 §4.1).
    pub on_restart: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            restart: *const Restart,
            window: *mut Window,
        ),
    >,
    /// A segment is about to be sent, and is not in flight yet. It changes neither cwnd nor ssthresh.
    pub on_sent: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            connection: *const Connection,
            segment: *const Segment,
            window: *mut Window,
        ),
    >,
    /// The value of a probe by its index, in its unit; NaN if it has none yet. Required if there are probes.
    pub probe: Option<unsafe extern "C" fn(state: *const c_void, index: u32) -> f64>,
    /// Makes `to` an independent copy of `from`. Null: its bytes are copied. Not called in WebAssembly, where the whole
    /// memory is copied.
    pub copy: Option<unsafe extern "C" fn(to: *mut c_void, from: *const c_void)>,
    /// Releases what the state owns. Null: nothing. Not called in WebAssembly.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
}

unsafe extern "C" {
    /// The only function that a library exports: its algorithm, which stays valid.
    pub fn dumbbell_library() -> *const Algorithm;
}
