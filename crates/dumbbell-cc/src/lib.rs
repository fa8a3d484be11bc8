//! Congestion control decides how much may be outstanding, and nothing else: it never sends,
//! never sets a timer and never sees a packet.
//!
//! An algorithm is one file in `algorithms/` and one line of the registry there. The parser of
//! scenarios, the catalogue, the JSON Schema and the conformance tests walk the registry.
//! Windows are `f64` bytes so that an algorithm may grow by fractions of a segment; whole-byte
//! growth, as in BSD, is exact in them.

pub mod algorithms;
pub mod bandwidth;
pub mod delay;
pub mod mechanisms;
pub mod toolbox;

pub use algorithms::{Algorithm, AlgorithmSpec};
pub use mechanisms::Mechanisms;
pub use toolbox::{Growth, Halving, WindowRules};

use dumbbell_units::Time;
use dumbbell_units::spec::Params;

/// What an algorithm learns when its connection starts.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Time of the start.
    pub now: Time,
    /// Payload of a full segment, in bytes, above 0.
    pub mss: f64,
    /// First window, in bytes, at least one segment.
    pub initial_window: f64,
    /// First slow-start threshold, in bytes, possibly infinite.
    pub initial_ssthresh: f64,
    /// How the environment grows and halves windows.
    pub rules: WindowRules,
    /// The switches of TCP Vegas; an algorithm reads those it owns.
    pub mechanisms: Mechanisms,
}

/// The connection as an algorithm may see it, before the event at hand changes it.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Time of the event.
    pub now: Time,
    /// Payload of a full segment, in bytes.
    pub mss: f64,
    /// Oldest unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send; behind the highest sent while data is sent again after a timeout.
    pub snd_nxt: u64,
    /// Bytes sent and not known to have arrived.
    pub flight_size: f64,
    /// What the sender adds to the window while duplicate ACKs arrive, in bytes.
    pub inflation: f64,
    /// Receive window and send buffer, whichever is smaller, in bytes.
    pub max_window: f64,
    /// Window to restart from after a timeout, in bytes.
    pub loss_window: f64,
}

/// Time that routers say packets have waited in queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// The newest segment acknowledged, on its way to the receiver.
    pub forward: Time,
    /// The ACK, on its way back.
    pub backward: Time,
}

/// An ACK for data that was not acknowledged before.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Next byte the receiver expects.
    pub ack: u64,
    /// Newly acknowledged bytes, above 0.
    pub acked: u64,
    /// Round-trip time of the newest segment covered, if that was sent exactly once and no report has told of it before.
    pub rtt: Option<Time>,
    /// Queueing time within that round-trip time, if routers were asked for it.
    pub queueing: Option<Queueing>,
    /// True while a fast recovery goes on: the window does not grow.
    pub in_recovery: bool,
}

/// What kind of congestion was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Duplicate ACKs; recovery goes on from the reduced window.
    FastRetransmit,
    /// Duplicate ACKs, answered by starting again from the loss window (Tahoe).
    Restart,
    /// The retransmission timer expired.
    Timeout,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// What was seen.
    pub signal: Signal,
    /// True if the lost segment had been sent more than once already.
    pub retransmitted_before: bool,
    /// Bytes in the network by a scoreboard, of what was sent since the last timeout: each segment once, but none that is
    /// reported, or lost and not sent again. Without selective acknowledgements nothing is known to be either.
    pub pipe: f64,
}

/// What an algorithm shows to probes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probe {
    /// Smallest round-trip time it believes in, in seconds.
    pub base_rtt: Option<f64>,
    /// Difference of expected and actual rate times the base RTT, in segments.
    pub vegas_diff: Option<f64>,
    /// Lower of the two thresholds of that difference, where they move, in segments.
    pub alpha: Option<f64>,
    /// Bandwidth it believes to be available, in bytes per second.
    pub bandwidth: Option<f64>,
}

/// A congestion control.
///
/// Required: [`new`](Self::new), [`cwnd`](Self::cwnd), [`ssthresh`](Self::ssthresh),
/// [`on_ack`](Self::on_ack), [`on_congestion`](Self::on_congestion). The rest is optional.
pub trait CongestionControl: Sized {
    /// Parameters a scenario may give.
    type Params: Params;
    /// What it is, in one sentence.
    const SUMMARY: &'static str;
    /// Where it is described, as a citation.
    const SOURCE: &'static str;
    /// The recovery that a variant of its name brings; `None` leaves the environment's.
    const RECOVERY: Option<&'static str> = None;
    /// The letters of the mechanisms that a variant of its name switches on.
    const MECHANISMS: &'static str = "";
    /// True if a variant of its name asks routers for the queueing time of its packets.
    const ASKS_QUEUEING: bool = false;
    /// The letters of the mechanisms that its own file carries out, among
    /// [`Mechanisms::OF_WINDOWS`].
    const OWNED_MECHANISMS: &'static str = "";

    /// Required: the state at the start of a connection.
    fn new(params: &Self::Params, setup: &Setup) -> Self;

    /// Why these parameters contradict each other: the field and what is accepted.
    fn contradiction(_params: &Self::Params) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Required: the congestion window in bytes, at least one segment.
    fn cwnd(&self) -> f64;

    /// Required: the slow-start threshold in bytes, possibly infinite.
    fn ssthresh(&self) -> f64;

    /// Required: new data was acknowledged. Called before the sender moves `snd_una`.
    fn on_ack(&mut self, context: &Context, ack: &Ack);

    /// Required: congestion was seen. Afterwards `cwnd` is the window of the recovery, without
    /// the sender's inflation.
    fn on_congestion(&mut self, context: &Context, congestion: &Congestion);

    /// Optional: a duplicate ACK arrived.
    fn on_duplicate_ack(&mut self, _context: &Context) {}

    /// Optional: a fast recovery ended. `kept_inflation` is what an environment without the
    /// deflation fix leaves in the window, in bytes; below zero what it took from it for good.
    fn on_recovery_exit(&mut self, _context: &Context, _kept_inflation: f64) {}

    /// Optional: a reaction proved spurious and is taken back.
    fn on_undo(&mut self, _context: &Context) {}

    /// Optional: the connection was idle for a retransmission timeout.
    fn on_restart(&mut self, _context: &Context) {}

    /// Optional: a segment was sent.
    fn on_sent(&mut self, _context: &Context, _bytes: u32) {}

    /// Optional: what to show to probes.
    fn probe(&self) -> Probe {
        Probe::default()
    }
}
