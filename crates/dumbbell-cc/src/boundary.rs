//! The interface of congestion control: the data that an algorithm receives.
//!
//! Everything is plain data. A constructor takes what every caller knows and sets neutral defaults (zero or none) for
//! the rest; `with_*` and the public fields set them. The structs are non-exhaustive, so that a new field changes
//! neither an algorithm nor a caller.

use dumbbell_units::Time;
use dumbbell_units::math::{least, real};

/// For each optional field, a method that returns the value with that field set.
macro_rules! setters {
    ($Type:ident $(<$life:lifetime>)? { $( $with:ident => $field:ident: $ty:ty, )+ }) => {
        impl $(<$life>)? $Type $(<$life>)? {
            $(
                #[doc = concat!("The same with [`", stringify!($field), "`](Self::", stringify!($field), ") set.")]
                #[inline]
                #[must_use]
                pub fn $with(mut self, $field: $ty) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}
pub(crate) use setters;

/// The connection as an algorithm sees it, before the current event changes it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context {
    /// Time of the event.
    pub now: Time,
    /// Payload of a full segment, in bytes.
    pub mss: f64,
    /// Oldest unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send; below the highest byte sent while data is retransmitted after a timeout.
    pub snd_nxt: u64,
    /// Bytes sent and not acknowledged (FlightSize, RFC 5681 §2).
    pub flight_size: f64,
    /// Bytes in the network as far as the sender knows: the flight size; with a scoreboard, without bytes that were
    /// reported, or lost and not retransmitted (RFC 6675 §4).
    pub in_flight: f64,
    /// Bytes that the sender adds to the window while duplicate ACKs arrive.
    pub inflation: f64,
    /// Receive window and send buffer, whichever is smaller, in bytes.
    pub max_window: f64,
    /// Limit of the window's growth by acknowledgements, in bytes: the maximum window, or the current window if it does
    /// not limit the sender and the rules require that.
    pub growth_limit: f64,
    /// Window to restart from after a timeout, in bytes.
    pub loss_window: f64,
    /// Infinite before the first sample, like `min_rtt`.
    pub(crate) srtt: f64,
    pub(crate) min_rtt: f64,
    /// Bytes delivered since the connection began, cumulatively or selectively acknowledged.
    pub delivered: u64,
    /// Bytes considered lost since the connection began.
    pub lost: u64,
    /// Bytes for which an ECN mark was echoed since the connection began.
    pub marked: u64,
    /// Round trips since the connection began, counted by the sender.
    pub round: u64,
    /// True if only the application limits the sender.
    pub is_app_limited: bool,
    /// The earliest departure of the next segment by the pacer; in the past if nothing has to wait.
    pub next_departure: Time,
}

impl Context {
    /// A connection that has sent nothing yet, at `now`, with segments of `mss` bytes.
    #[inline]
    pub fn new(now: Time, mss: f64) -> Self {
        Context {
            now,
            mss,
            snd_una: 0,
            snd_nxt: 0,
            flight_size: 0.0,
            in_flight: 0.0,
            inflation: 0.0,
            max_window: f64::INFINITY,
            growth_limit: f64::INFINITY,
            loss_window: mss,
            srtt: f64::INFINITY,
            min_rtt: f64::INFINITY,
            delivered: 0,
            lost: 0,
            marked: 0,
            round: 0,
            is_app_limited: false,
            next_departure: Time::ZERO,
        }
    }

    /// The same with the bytes from `snd_una` to `snd_nxt` sent, all of them in flight.
    #[inline]
    #[must_use]
    pub fn with_sent(mut self, snd_una: u64, snd_nxt: u64) -> Self {
        (self.snd_una, self.snd_nxt) = (snd_una, snd_nxt);
        self.with_flight_size(real(snd_nxt.saturating_sub(snd_una)))
    }

    /// The same with this flight size, in bytes, all of it in the network.
    #[inline]
    #[must_use]
    pub fn with_flight_size(mut self, bytes: f64) -> Self {
        (self.flight_size, self.in_flight) = (bytes, bytes);
        self
    }

    /// The same with a maximum window, which also limits growth.
    #[inline]
    #[must_use]
    pub fn with_max_window(mut self, bytes: f64) -> Self {
        (self.max_window, self.growth_limit) = (bytes, bytes);
        self
    }

    /// The same with a smoothed and a minimum round-trip time, in seconds; infinite before the first sample.
    #[inline]
    #[must_use]
    pub fn with_rtts(mut self, srtt: f64, min_rtt: f64) -> Self {
        (self.srtt, self.min_rtt) = (srtt, min_rtt);
        self
    }

    /// Smoothed round-trip time of the retransmission timer in seconds, once there is a sample.
    #[inline]
    pub fn srtt(&self) -> Option<f64> {
        self.srtt.is_finite().then_some(self.srtt)
    }

    /// Minimum round-trip time measured by the sender in seconds, once there is a sample.
    #[inline]
    pub fn min_rtt(&self) -> Option<f64> {
        self.min_rtt.is_finite().then_some(self.min_rtt)
    }

    /// The window after growing by `bytes`, within the growth limit.
    #[inline]
    pub fn grown(&self, cwnd: f64, growth: f64) -> f64 {
        if cwnd < self.growth_limit { least(cwnd + growth, self.growth_limit) } else { cwnd }
    }
}

setters! { Context {
    with_in_flight => in_flight: f64,
    with_inflation => inflation: f64,
    with_growth_limit => growth_limit: f64,
    with_loss_window => loss_window: f64,
    with_delivered => delivered: u64,
    with_lost => lost: u64,
    with_marked => marked: u64,
    with_round => round: u64,
    with_app_limited => is_app_limited: bool,
    with_next_departure => next_departure: Time,
} }

/// Queueing times reported by routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// Queueing time of the newest acknowledged segment.
    pub forward: Time,
    /// Queueing time of the ACK.
    pub backward: Time,
}

/// A delivery-rate sample between the transmission of a segment and its acknowledgement (draft-ietf-ccwg-bbr, "Delivery
/// Rate Samples").
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: u64,
    /// The longer of the send and the acknowledgement interval, above 0.
    pub interval: Time,
    /// Send interval.
    pub send_elapsed: Time,
    /// Acknowledgement interval.
    pub ack_elapsed: Time,
    /// Bytes that the connection had delivered when the segment was sent.
    pub prior_delivered: u64,
    /// When the last of those was delivered.
    pub prior_time: Time,
    /// Bytes considered lost since the segment was sent.
    pub lost: u64,
    /// Bytes for which a mark was echoed since the segment was sent.
    pub marked: u64,
    /// Bytes in flight right after the segment was sent, including it.
    pub tx_in_flight: f64,
    /// Round-trip time of the segment.
    pub rtt: Option<Time>,
    /// True if the segment was sent while the application limited the sender.
    pub is_app_limited: bool,
    /// True if the segment was a retransmission.
    pub is_retransmission: bool,
}

impl RateSample {
    /// `delivered` bytes within `interval`, which is above 0.
    pub fn new(delivered: u64, interval: Time) -> Self {
        RateSample {
            delivered,
            interval,
            send_elapsed: interval,
            ack_elapsed: interval,
            prior_delivered: 0,
            prior_time: Time::ZERO,
            lost: 0,
            marked: 0,
            tx_in_flight: 0.0,
            rtt: None,
            is_app_limited: false,
            is_retransmission: false,
        }
    }

    /// Bytes per second.
    #[inline]
    pub fn delivery_rate(&self) -> f64 {
        real(self.delivered) / (real(self.interval.0) * 1e-9)
    }
}

setters! { RateSample {
    with_send_elapsed => send_elapsed: Time,
    with_ack_elapsed => ack_elapsed: Time,
    with_prior_delivered => prior_delivered: u64,
    with_prior_time => prior_time: Time,
    with_lost => lost: u64,
    with_marked => marked: u64,
    with_tx_in_flight => tx_in_flight: f64,
    with_rtt => rtt: Option<Time>,
    with_app_limited => is_app_limited: bool,
    with_retransmission => is_retransmission: bool,
} }

/// An ACK for new data, or a duplicate ACK.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ack<'a> {
    /// Next byte the receiver expects.
    pub ack: u64,
    /// Newly acknowledged bytes; 0 for a duplicate ACK.
    pub acked: u64,
    /// Newly delivered bytes: acknowledged or selectively acknowledged for the first time.
    pub delivered: u64,
    /// Bytes lost according to the reports of this ACK. Each loss, including those that a recovery infers or a timeout
    /// implies, is reported to [`Control::on_loss`](crate::Control::on_loss).
    pub lost: u64,
    /// Bytes for which this ACK echoes a mark. Exact with accurate feedback; with that of DCTCP as long as no ACK is lost.
    /// With classic feedback, the echo goes on until the sender answers it.
    pub marked: u64,
    /// Data packets for which this ACK echoes a mark: exact with accurate feedback, otherwise `marked` in segments, rounded
    /// up.
    pub marked_packets: u64,
    /// Round-trip time of the newest segment acknowledged, if it was sent exactly once and not selectively acknowledged
    /// before.
    pub rtt: Option<Time>,
    /// Queueing times within that round-trip time, if requested from routers.
    pub queueing: Option<Queueing>,
    /// The delivery-rate sample, if this ACK gives one and the algorithm uses them.
    pub rate: Option<&'a RateSample>,
    /// Bytes in flight after the ACK and the losses it shows; [`Context::in_flight`] is the state before.
    pub in_flight: f64,
    /// Bytes in flight before the ACK and its reports.
    pub prior_in_flight: f64,
    /// True if a round trip begins: data sent after the beginning of the last round is acknowledged.
    pub is_round_start: bool,
    /// True if the congestion window limits the sender: it was full within the last window of data, or in slow start
    /// more than half of it was in use.
    pub is_cwnd_limited: bool,
    /// True during a fast recovery: the window does not grow.
    pub in_recovery: bool,
    /// True if the ACK echoes congestion experienced: ECE, or with accurate feedback a mark.
    pub is_ecn_echo: bool,
}

impl Ack<'_> {
    /// An ACK of `acked` new bytes up to `ack`, which delivers nothing else and leaves nothing in flight, for a sender
    /// limited by its window.
    #[inline]
    pub fn new(ack: u64, acked: u64) -> Self {
        Ack {
            ack,
            acked,
            delivered: acked,
            lost: 0,
            marked: 0,
            marked_packets: 0,
            rtt: None,
            queueing: None,
            rate: None,
            in_flight: 0.0,
            prior_in_flight: 0.0,
            is_round_start: false,
            is_cwnd_limited: true,
            in_recovery: false,
            is_ecn_echo: false,
        }
    }
}

setters! { Ack<'a> {
    with_delivered => delivered: u64,
    with_lost => lost: u64,
    with_marked => marked: u64,
    with_marked_packets => marked_packets: u64,
    with_rtt => rtt: Option<Time>,
    with_queueing => queueing: Option<Queueing>,
    with_rate => rate: Option<&'a RateSample>,
    with_in_flight => in_flight: f64,
    with_prior_in_flight => prior_in_flight: f64,
    with_round_start => is_round_start: bool,
    with_cwnd_limited => is_cwnd_limited: bool,
    with_recovery => in_recovery: bool,
    with_ecn_echo => is_ecn_echo: bool,
} }

/// A segment that is sent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SentSegment {
    /// First byte.
    pub seq: u64,
    /// Payload, in bytes.
    pub bytes: u32,
    /// True if it is a retransmission.
    pub is_retransmission: bool,
}

impl SentSegment {
    /// `bytes` starting at `seq`, sent for the first time.
    #[inline]
    pub fn new(seq: u64, bytes: u32) -> Self {
        SentSegment { seq, bytes, is_retransmission: false }
    }
}

setters! { SentSegment { with_retransmission => is_retransmission: bool, } }

/// A segment considered lost, with the state at its last transmission.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LostSegment {
    /// First byte.
    pub seq: u64,
    /// Payload, in bytes.
    pub bytes: u32,
    /// Time of its last transmission.
    pub sent_at: Time,
    /// Bytes that the connection had delivered then.
    pub delivered: u64,
    /// Bytes that were considered lost then.
    pub lost: u64,
    /// Bytes in flight right after it was sent, including it.
    pub tx_in_flight: f64,
    /// True if the application limited the sender then.
    pub is_app_limited: bool,
    /// True if it was a retransmission.
    pub is_retransmission: bool,
}

impl LostSegment {
    /// `bytes` starting at `seq`, sent once at `sent_at`.
    pub fn new(seq: u64, bytes: u32, sent_at: Time) -> Self {
        LostSegment {
            seq,
            bytes,
            sent_at,
            delivered: 0,
            lost: 0,
            tx_in_flight: 0.0,
            is_app_limited: false,
            is_retransmission: false,
        }
    }
}

setters! { LostSegment {
    with_delivered => delivered: u64,
    with_lost => lost: u64,
    with_tx_in_flight => tx_in_flight: f64,
    with_app_limited => is_app_limited: bool,
    with_retransmission => is_retransmission: bool,
} }

/// Congestion signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Duplicate ACKs; the recovery continues from the reduced window.
    FastRetransmit,
    /// A router marked a packet; at most once per window of data (RFC 3168 §6.1.2). Not reported to an algorithm that
    /// [reacts to marks](crate::Control::reacts_to_marks) by itself if the feedback is exact.
    EcnEcho,
    /// Duplicate ACKs, answered with a restart from the loss window (Tahoe).
    Restart,
    /// The retransmission timer expired.
    Timeout,
}

impl Signal {
    /// True if the connection restarts from the loss window.
    #[inline]
    pub fn restarts(self) -> bool {
        matches!(self, Signal::Restart | Signal::Timeout)
    }
}

/// A congestion event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Congestion {
    /// The signal.
    pub signal: Signal,
    /// True if the lost segment had already been retransmitted.
    pub retransmitted_before: bool,
}

impl Congestion {
    /// A signal without a previous retransmission.
    #[inline]
    pub fn new(signal: Signal) -> Self {
        Congestion { signal, retransmitted_before: false }
    }
}

setters! { Congestion { with_retransmitted_before => retransmitted_before: bool, } }

/// What an acknowledgement tells before anything else is made of it, under the rules of Linux (`struct ack_sample`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Segments that it acknowledges cumulatively, those reported before among them.
    pub segments: u64,
    /// Bytes that it acknowledges cumulatively.
    pub acked: u64,
    /// True if it reports nothing and echoes no mark.
    pub is_plain: bool,
    /// Round-trip time of the last segment that it delivers, if that was sent once, or by timestamps.
    pub rtt: Option<Time>,
}

impl Sample {
    /// A round-trip time, without segments.
    pub fn new(rtt: Option<Time>) -> Self {
        Sample { rtt, ..Sample::default() }
    }
}

setters! { Sample {
    with_segments => segments: u64,
    with_acked => acked: u64,
    with_plain => is_plain: bool,
    with_rtt => rtt: Option<Time>,
} }

/// The state of a sender by the rules of Linux (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SenderState {
    /// Nothing is reported, lost or retransmitted.
    #[default]
    Open,
    /// Something is, or an acknowledgement was a duplicate.
    Disorder,
    /// A mark reduces the window.
    Cwr,
    /// A fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// The end of a fast recovery.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryExit {
    /// Inflation that an environment without deflation leaves in the window, in bytes; below zero if it has permanently
    /// reduced the window.
    pub kept_inflation: f64,
}

impl RecoveryExit {
    /// A recovery that leaves this many bytes of its inflation in the window.
    #[inline]
    pub fn new(kept_inflation: f64) -> Self {
        RecoveryExit { kept_inflation }
    }
}

/// A spurious reaction to congestion.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Undo {
    /// The signal that was not caused by congestion.
    pub signal: Signal,
    /// Window before the reaction, in bytes.
    pub cwnd: f64,
    /// Slow-start threshold before the reaction, in bytes, possibly infinite.
    pub ssthresh: f64,
}

impl Undo {
    /// The reaction to `signal` is undone; window and threshold were these before it.
    pub fn new(signal: Signal, cwnd: f64, ssthresh: f64) -> Self {
        Undo { signal, cwnd, ssthresh }
    }
}

/// A window that the sender does not use.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UnusedWindow {
    /// The window to continue with, in bytes: no larger than the current one, and no smaller than it or the initial window.
    pub window: f64,
}

impl UnusedWindow {
    /// The window should be this many bytes.
    pub fn new(window: f64) -> Self {
        UnusedWindow { window }
    }
}

/// A connection that resumes sending after an idle period.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Restart {
    /// Time since its last transmission.
    pub idle: Time,
    /// The retransmission timeout.
    pub timeout: Time,
}

impl Restart {
    /// Nothing was sent for `idle`, at least one retransmission timeout of `timeout`.
    pub fn new(idle: Time, timeout: Time) -> Self {
        Restart { idle, timeout }
    }
}
