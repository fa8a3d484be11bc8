//! Congestion control decides how much may be outstanding, and how fast it leaves, and nothing else: it never sends,
//! never sets a timer and never sees a packet.
//!
//! An algorithm is one file in `algorithms/` and one line of the registry there. The parser of
//! scenarios, the catalogue, the JSON Schema and the conformance tests walk the registry.
//! Windows are `f64` bytes so that an algorithm may grow by fractions of a segment; whole-byte
//! growth, as in BSD, is exact in them.
//!
//! [`Control`] is what happens while a connection lives, and is object-safe: an algorithm may come from outside the registry
//! as an [`ExternalControl`]. [`CongestionControl`] adds what the registry declares of an algorithm. The sender holds an
//! [`Algorithm`], which is either, and which applies the rules that hold for all.

pub mod algorithms;
pub mod bandwidth;
pub mod boundary;
pub mod delay;
pub mod mechanisms;
pub mod probes;
pub mod slow_start;
pub mod toolbox;

pub use algorithms::{Algorithm, AlgorithmSpec};
pub use boundary::{
    Ack, Congestion, Context, LostSegment, Queueing, RateSample, RecoveryExit, Restart, SentSegment, Setup,
    Signal, Undo,
};
pub use mechanisms::Mechanisms;
pub use probes::ProbeInfo;
pub use slow_start::SlowStartSpec;
pub use toolbox::{GrowWhen, Growth, ReductionBase, WindowRules};

use dumbbell_units::spec::{self, ParamInfo, Params};
use dumbbell_units::{Ecn, Value};

/// The run-time part of a congestion control.
///
/// Required: [`cwnd`](Self::cwnd), [`on_ack`](Self::on_ack), [`on_congestion`](Self::on_congestion). The rest is optional.
pub trait Control {
    /// Required: the congestion window in bytes, at least one segment. Read after each event except
    /// transmissions.
    fn cwnd(&self) -> f64;

    /// Optional: the slow-start threshold in bytes, possibly infinite.
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    /// Optional: bytes per second at which segments leave, payload only; `None` leaves it to the sender.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Optional: bytes that leave back to back at that rate; `None` leaves it to the sender.
    fn send_quantum(&self) -> Option<f64> {
        None
    }

    /// Optional: the codepoint of data segments, where both ends echo marks.
    fn ecn_codepoint(&self) -> Ecn {
        Ecn::Ect0
    }

    /// Optional: true if ACKs shall carry samples of the delivery rate, which the sender keeps for nobody else. The same for the
    /// whole connection.
    fn uses_rate_samples(&self) -> bool {
        false
    }

    /// Optional: true if the window follows from a model of the path instead of growing by acknowledgements. It is then the
    /// algorithm's in a recovery too, and is exempt from the rules of growth.
    fn is_model_based(&self) -> bool {
        false
    }

    /// Required: new data was acknowledged. Called before the sender moves `snd_una`.
    fn on_ack(&mut self, context: &Context, ack: &Ack);

    /// Required: congestion was seen. Afterwards `cwnd` is the window of the recovery, without
    /// the sender's inflation.
    fn on_congestion(&mut self, context: &Context, congestion: &Congestion);

    /// Optional: a duplicate ACK arrived, which may report data as delivered.
    fn on_duplicate_ack(&mut self, _context: &Context, _ack: &Ack) {}

    /// Optional: a segment is considered lost. Called for each, before the reaction to the loss.
    fn on_loss(&mut self, _context: &Context, _lost: &LostSegment) {}

    /// Optional: a fast recovery began; the reaction to its cause came before.
    fn on_recovery_enter(&mut self, _context: &Context) {}

    /// Optional: a fast recovery ended.
    fn on_recovery_exit(&mut self, _context: &Context, _exit: &RecoveryExit) {}

    /// Optional: a reaction proved spurious and is taken back.
    fn on_undo(&mut self, _context: &Context, _undo: &Undo) {}

    /// Optional: the connection was idle for a retransmission timeout and is about to send.
    fn on_restart(&mut self, _context: &Context, _restart: &Restart) {}

    /// Optional: a segment is about to leave; it is not in flight yet. Neither window nor threshold change with it.
    fn on_sent(&mut self, _context: &Context, _sent: &SentSegment) {}

    /// Optional: the value of the probe at this place of the declaration, in its unit; `None` while it has none.
    fn probe(&self, _index: usize) -> Option<f64> {
        None
    }
}

/// A congestion control of the registry.
///
/// Required besides [`Control`]: [`Params`](Self::Params), [`SUMMARY`](Self::SUMMARY), [`SOURCE`](Self::SOURCE) and
/// [`new`](Self::new). The rest is optional.
pub trait CongestionControl: Control + Clone + Sized {
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
    /// The feedback of ECN marks that a variant of its name brings; `None` leaves the environment's.
    const ECN_FEEDBACK: Option<&'static str> = None;
    /// True if a variant of its name asks routers for the queueing time of its packets.
    const ASKS_QUEUEING: bool = false;
    /// The letters of the mechanisms that its own file carries out, among
    /// [`Mechanisms::OF_WINDOWS`].
    const OWNED_MECHANISMS: &'static str = "";
    /// True if it takes the slow start that the rules name; others have their own.
    const TAKES_SLOW_START: bool = false;
    /// What it shows to probes, in the order of [`Control::probe`].
    const PROBES: &'static [ProbeInfo] = &[];

    /// Required: the state at the start of a connection.
    fn new(params: &Self::Params, setup: &Setup) -> Self;

    /// Why these parameters contradict each other: the field and what is accepted.
    fn contradiction(_params: &Self::Params) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// A congestion control from outside the registry.
pub trait ExternalControl: Control + std::fmt::Debug + Send + Sync {
    /// Required: a copy that goes its own way from here on.
    fn fork(&self) -> Box<dyn ExternalControl>;

    /// Optional: what it shows to probes, in the order of [`Control::probe`].
    fn probes(&self) -> &'static [ProbeInfo] {
        &[]
    }
}

/// A catalogue entry with the source of what it names.
fn sourced_entry(name: &str, summary: &str, source: &str, infos: &[ParamInfo]) -> Value {
    let mut entry = spec::entry(name, summary, infos);
    if let Value::Object(members) = &mut entry {
        members.insert("source".into(), Value::from(source));
    }
    entry
}
