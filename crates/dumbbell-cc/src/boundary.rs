//! What passes through the boundary: what a congestion control is told.
//!
//! Everything is plain data. A constructor takes what every caller knows and gives the rest an honest default (nothing, or
//! none), `with_*` and the public fields set the rest. The structs are non-exhaustive, so that a further field touches
//! neither an algorithm nor a caller.

use crate::{Mechanisms, WindowRules};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Stream, Time};

/// A method for each optional field that returns the value with that field set.
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

/// What an algorithm learns when its connection starts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// Time of the start.
    pub now: Time,
    /// Payload of a full segment, in bytes, above 0.
    pub mss: f64,
    /// First window, in bytes, at least one segment.
    pub initial_window: f64,
    /// First slow-start threshold, in bytes, possibly infinite.
    pub initial_ssthresh: f64,
    /// How windows grow and are reduced.
    pub rules: WindowRules,
    /// The switches of TCP Vegas; an algorithm reads those it owns.
    pub mechanisms: Mechanisms,
    /// True if the cut by a quarter of Vegas leaves the threshold as it is until the inflation is taken back.
    pub late_threshold: bool,
    /// True if both ends echo ECN marks.
    pub is_ecn_capable: bool,
    /// The random numbers of this connection's congestion control.
    pub random: Stream,
}

impl Setup {
    /// A connection that starts at `now` with segments of `mss` bytes and a first window of `initial_window` bytes: without a
    /// threshold, by the rules of the RFCs, with all mechanisms off and without ECN.
    pub fn new(now: Time, mss: f64, initial_window: f64) -> Self {
        Setup {
            now,
            mss,
            initial_window,
            initial_ssthresh: f64::INFINITY,
            rules: WindowRules::default(),
            mechanisms: Mechanisms::default(),
            late_threshold: false,
            is_ecn_capable: false,
            random: Stream::new(0, 0, "congestion"),
        }
    }
}

setters! { Setup {
    with_initial_ssthresh => initial_ssthresh: f64,
    with_rules => rules: WindowRules,
    with_mechanisms => mechanisms: Mechanisms,
    with_late_threshold => late_threshold: bool,
    with_ecn_capable => is_ecn_capable: bool,
    with_random => random: Stream,
} }

/// The connection as an algorithm may see it, before the event at hand changes it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context {
    /// Time of the event.
    pub now: Time,
    /// Payload of a full segment, in bytes.
    pub mss: f64,
    /// Oldest unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send; behind the highest sent while data is sent again after a timeout.
    pub snd_nxt: u64,
    /// Bytes sent and not acknowledged (FlightSize, RFC 5681 §2).
    pub flight_size: f64,
    /// Bytes in the network as far as the sender knows: the flight size, without what is reported or lost and not sent again
    /// where a scoreboard tells (RFC 6675 §4).
    pub in_flight: f64,
    /// What the sender adds to the window while duplicate ACKs arrive, in bytes.
    pub inflation: f64,
    /// Receive window and send buffer, whichever is smaller, in bytes.
    pub max_window: f64,
    /// No acknowledgement grows the window beyond this, in bytes: the maximum window, or the window as it is where it does
    /// not limit the sender and the rules let only those grow that do.
    pub growth_limit: f64,
    /// Window to restart from after a timeout, in bytes.
    pub loss_window: f64,
    /// Infinite before the first sample, as the next.
    pub(crate) srtt: f64,
    pub(crate) min_rtt: f64,
    /// Bytes delivered since the connection began, cumulatively or selectively acknowledged.
    pub delivered: u64,
    /// Bytes considered lost since the connection began.
    pub lost: u64,
    /// Bytes of which an ECN mark was echoed since the connection began.
    pub marked: u64,
    /// Round trips since the connection began, counted by the sender.
    pub round: u64,
    /// True if the application, and nothing else, keeps the sender from sending.
    pub is_app_limited: bool,
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
        }
    }

    /// The same with the bytes from `snd_una` on sent up to `snd_nxt`, all of them in flight.
    #[inline]
    #[must_use]
    pub fn with_sent(mut self, snd_una: u64, snd_nxt: u64) -> Self {
        (self.snd_una, self.snd_nxt) = (snd_una, snd_nxt);
        self.with_flight_size(real(snd_nxt.saturating_sub(snd_una)))
    }

    /// The same with so many bytes sent and not acknowledged, all of them in the network.
    #[inline]
    #[must_use]
    pub fn with_flight_size(mut self, bytes: f64) -> Self {
        (self.flight_size, self.in_flight) = (bytes, bytes);
        self
    }

    /// The same with a maximum window, which limits growth too.
    #[inline]
    #[must_use]
    pub fn with_max_window(mut self, bytes: f64) -> Self {
        (self.max_window, self.growth_limit) = (bytes, bytes);
        self
    }

    /// The same with a smoothed and a smallest round-trip time, in seconds; infinite before the first sample.
    #[inline]
    #[must_use]
    pub fn with_rtts(mut self, srtt: f64, min_rtt: f64) -> Self {
        (self.srtt, self.min_rtt) = (srtt, min_rtt);
        self
    }

    /// The retransmission timer's smoothed round-trip time in seconds, once there is a sample.
    #[inline]
    pub fn srtt(&self) -> Option<f64> {
        self.srtt.is_finite().then_some(self.srtt)
    }

    /// The smallest round-trip time that the sender has measured in seconds, once there is a sample.
    #[inline]
    pub fn min_rtt(&self) -> Option<f64> {
        self.min_rtt.is_finite().then_some(self.min_rtt)
    }

    /// The window after it has grown by so many bytes, as far as something lets it.
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
} }

/// Time that routers say packets have waited in queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// The newest segment acknowledged, on its way to the receiver.
    pub forward: Time,
    /// The ACK, on its way back.
    pub backward: Time,
}

/// What was delivered how fast between the sending of a segment and its acknowledgement
/// (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: u64,
    /// The longer of the times that sending and acknowledging them took, above 0.
    pub interval: Time,
    /// Time that sending them took.
    pub send_elapsed: Time,
    /// Time that acknowledging them took.
    pub ack_elapsed: Time,
    /// Bytes that the connection had delivered when the segment was sent.
    pub prior_delivered: u64,
    /// When the last of those was delivered.
    pub prior_time: Time,
    /// Bytes considered lost since the segment was sent.
    pub lost: u64,
    /// Bytes of which a mark was echoed since the segment was sent.
    pub marked: u64,
    /// Bytes in flight right after the segment was sent, with it.
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
        self.delivered as f64 / self.interval.secs()
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

/// An ACK: for data that was not acknowledged before, or a duplicate.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ack<'a> {
    /// Next byte the receiver expects.
    pub ack: u64,
    /// Newly acknowledged bytes; 0 for a duplicate ACK.
    pub acked: u64,
    /// Newly delivered bytes: acknowledged or selectively reported for the first time.
    pub delivered: u64,
    /// Bytes that the reports of this ACK show to be lost. Each loss, also one that a recovery infers or a timeout implies, is
    /// reported to [`Control::on_loss`](crate::Control::on_loss).
    pub lost: u64,
    /// Bytes of the newly delivered ones of which a mark is echoed.
    pub marked: u64,
    /// Round-trip time of the newest segment covered, if it was sent exactly once and not reported before.
    pub rtt: Option<Time>,
    /// Queueing time within that round-trip time, if routers were asked for it.
    pub queueing: Option<Queueing>,
    /// The delivery rate, if this ACK gives a sample of it and the algorithm uses them.
    pub rate: Option<&'a RateSample>,
    /// Bytes in flight after the ACK and the losses that it shows; [`Context::in_flight`] is the state before.
    pub in_flight: f64,
    /// True if a round trip begins: data is acknowledged that was sent after the last round began.
    pub is_round_start: bool,
    /// True if the congestion window limits the sender: it was full within the last window of data, or in slow start more
    /// than half of it was in use.
    pub is_cwnd_limited: bool,
    /// True while a fast recovery goes on: the window does not grow.
    pub in_recovery: bool,
    /// True if the ACK echoes congestion experienced (ECE).
    pub is_ecn_echo: bool,
}

impl Ack<'_> {
    /// The receiver expects the byte `ack`, and `acked` bytes are new: delivered by nothing but this, after which nothing is in
    /// flight, to a sender whose window limits it.
    #[inline]
    pub fn new(ack: u64, acked: u64) -> Self {
        Ack {
            ack,
            acked,
            delivered: acked,
            lost: 0,
            marked: 0,
            rtt: None,
            queueing: None,
            rate: None,
            in_flight: 0.0,
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
    with_rtt => rtt: Option<Time>,
    with_queueing => queueing: Option<Queueing>,
    with_rate => rate: Option<&'a RateSample>,
    with_in_flight => in_flight: f64,
    with_round_start => is_round_start: bool,
    with_cwnd_limited => is_cwnd_limited: bool,
    with_recovery => in_recovery: bool,
    with_ecn_echo => is_ecn_echo: bool,
} }

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SentSegment {
    /// First byte.
    pub seq: u64,
    /// Payload, in bytes.
    pub bytes: u32,
    /// True if it was sent before.
    pub is_retransmission: bool,
}

impl SentSegment {
    /// `bytes` from the byte `seq` on, sent for the first time.
    #[inline]
    pub fn new(seq: u64, bytes: u32) -> Self {
        SentSegment { seq, bytes, is_retransmission: false }
    }
}

setters! { SentSegment { with_retransmission => is_retransmission: bool, } }

/// A segment that is considered lost, with what was known when it was last sent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LostSegment {
    /// First byte.
    pub seq: u64,
    /// Payload, in bytes.
    pub bytes: u32,
    /// When it was last sent.
    pub sent_at: Time,
    /// Bytes that the connection had delivered then.
    pub delivered: u64,
    /// Bytes that were considered lost then.
    pub lost: u64,
    /// Bytes in flight right after it was sent, with it.
    pub tx_in_flight: f64,
    /// True if the application limited the sender then.
    pub is_app_limited: bool,
    /// True if it was a retransmission.
    pub is_retransmission: bool,
}

impl LostSegment {
    /// `bytes` from the byte `seq` on, sent once at `sent_at`.
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

/// What kind of congestion was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Duplicate ACKs; recovery goes on from the reduced window.
    FastRetransmit,
    /// A router marked a packet; at most once in a window of data (RFC 3168 §6.1.2).
    EcnEcho,
    /// Duplicate ACKs, answered by starting again from the loss window (Tahoe).
    Restart,
    /// The retransmission timer expired.
    Timeout,
}

impl Signal {
    /// True if the connection starts again from the loss window.
    #[inline]
    pub fn restarts(self) -> bool {
        matches!(self, Signal::Restart | Signal::Timeout)
    }
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Congestion {
    /// What was seen.
    pub signal: Signal,
    /// True if the lost segment had been sent more than once already.
    pub retransmitted_before: bool,
}

impl Congestion {
    /// A signal that no retransmission has preceded.
    #[inline]
    pub fn new(signal: Signal) -> Self {
        Congestion { signal, retransmitted_before: false }
    }
}

setters! { Congestion { with_retransmitted_before => retransmitted_before: bool, } }

/// The end of a fast recovery.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryExit {
    /// What an environment that does not deflate leaves in the window, in bytes; below zero what it took from the window for
    /// good.
    pub kept_inflation: f64,
}

impl RecoveryExit {
    /// A recovery that leaves so many bytes of its inflation in the window.
    #[inline]
    pub fn new(kept_inflation: f64) -> Self {
        RecoveryExit { kept_inflation }
    }
}

/// A reaction to congestion that proved to be spurious.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Undo {
    /// The signal that was no sign of congestion.
    pub signal: Signal,
    /// Window before the reaction, in bytes.
    pub cwnd: f64,
    /// Slow-start threshold before the reaction, in bytes, possibly infinite.
    pub ssthresh: f64,
}

impl Undo {
    /// The reaction to `signal` is taken back, before which window and threshold were these.
    pub fn new(signal: Signal, cwnd: f64, ssthresh: f64) -> Self {
        Undo { signal, cwnd, ssthresh }
    }
}

/// A connection that sends again after a pause.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Restart {
    /// Time since it last sent.
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
