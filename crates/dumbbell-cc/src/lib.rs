//! Congestion control decides how much data may be outstanding, and how fast it is sent. It never sends, sets no timer
//! and sees no packet.
//!
//! An algorithm is one file, or folder, in `algorithms/` and one line of the registry there. The parser of scenarios, the
//! catalogue, the JSON Schema and the conformance tests iterate over the registry. Windows are `f64` bytes so that an
//! algorithm may grow by fractions of a segment; whole-byte growth, as in BSD, is exact in them.
//!
//! [`Control`] is the run-time part of an algorithm. It is object-safe, so that an algorithm may come from outside the
//! registry as an [`ExternalControl`]. [`CongestionControl`] adds the declarations of the registry. The sender has an
//! [`Algorithm`], which is either of the two and applies the rules that hold for all.

pub mod algorithms;
pub mod bandwidth;
pub mod boundary;
pub mod conformance;
pub mod delay;
pub mod delivery;
pub mod external;
mod linux;
pub mod mechanisms;
pub mod model;
#[cfg(test)]
mod periodic_loss;
pub mod probes;
pub mod rules;
pub mod setup;
pub mod slow_start;
pub mod toolbox;
pub mod window;

pub use algorithms::{Algorithm, AlgorithmSpec};
pub use boundary::{
    Ack, Congestion, Context, LostSegment, Queueing, RateSample, RecoveryExit, Restart, Sample, SenderState,
    SentSegment, Signal, Undo, UnusedWindow,
};
pub use external::{External, ExternalControl, ExternalFactory, ExternalHost, ExternalSpec, Hook};
pub use linux::Form;
pub use mechanisms::Mechanisms;
pub use probes::ProbeInfo;
pub use rules::{GrowPer, GrowWhen, Growth, ReductionBase, WindowRules, WindowValidation};
pub use setup::{Reports, Setup};
pub use slow_start::SlowStartSpec;
pub use window::Window;

use dumbbell_units::Ecn;
use dumbbell_units::spec::Params;

/// The run-time part of a congestion control.
///
/// Required: [`cwnd`](Self::cwnd), [`on_ack`](Self::on_ack), [`on_congestion`](Self::on_congestion). The rest is optional.
/// An algorithm that keeps a [`Window`] in a field names it with [`window_in!`], which implements `cwnd` and `ssthresh`;
/// the end of a recovery, an undo, an idle period and an unused window then change that field by default.
pub trait Control {
    /// Required: the congestion window in bytes, at least one segment. Read after each event except
    /// transmissions.
    fn cwnd(&self) -> f64;

    /// Optional: the slow-start threshold in bytes, possibly infinite.
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    /// Optional: the window that the events without a method of the algorithm change; `None` if they change nothing.
    fn window(&mut self) -> Option<&mut Window> {
        None
    }

    /// Optional: pacing rate in bytes per second of payload; `None` if the algorithm does not pace.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Optional: bytes sent together, followed by their space at that rate; `None` for segments one by one.
    fn send_quantum(&self) -> Option<f64> {
        None
    }

    /// Optional: the codepoint of data segments if both ends support ECN.
    fn ecn_codepoint(&self) -> Ecn {
        Ecn::Ect0
    }

    /// Optional: true if ACKs must carry delivery-rate samples, which the sender otherwise does not keep. Constant
    /// during a connection.
    fn uses_rate_samples(&self) -> bool {
        false
    }

    /// Optional: true if the algorithm reacts to the marks of each ACK by itself, in [`on_ack`](Self::on_ack) and
    /// [`on_duplicate_ack`](Self::on_duplicate_ack) from [`Ack::marked`]. With exact feedback (`ecn` of the connection is
    /// "dctcp" or "accurate"), the sender then reports no [`Signal::EcnEcho`], and an ACK with a mark is not
    /// [in recovery](Ack::in_recovery) for that reason. Classic feedback is not exact: there, the signal is reported to
    /// every algorithm, at most once per window of data. Constant during a connection.
    fn reacts_to_marks(&self) -> bool {
        false
    }

    /// Optional: true if the window follows from a model of the path instead of growing with acknowledgements. The
    /// algorithm then also sets it during a recovery, and the rules of growth do not apply.
    fn is_model_based(&self) -> bool {
        false
    }

    /// Optional: true if the window also grows while it does not limit the sender, whatever the rules say. Constant during a
    /// connection.
    fn grows_unused(&self) -> bool {
        false
    }

    /// Required: new data was acknowledged. Called before the sender moves `snd_una`.
    fn on_ack(&mut self, context: &Context, ack: &Ack);

    /// Required: a congestion event occurred. Afterwards `cwnd` is the window of the recovery, without the sender's
    /// inflation.
    fn on_congestion(&mut self, context: &Context, congestion: &Congestion);

    /// Optional: the connection begins with this window in bytes, because requests for it were lost. By default, it becomes
    /// the [`window`](Self::window).
    fn on_initial_window(&mut self, cwnd: f64) {
        if let Some(window) = self.window() {
            window.cwnd = cwnd;
        }
    }

    /// Optional: the retransmission timer expired in a window of data whose threshold is reduced already. By default, the
    /// window becomes that after a timeout and the threshold remains; for an algorithm without a
    /// [`window`](Self::window), it is another [congestion event](Self::on_congestion).
    fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        match self.window() {
            Some(window) => window.cwnd = context.loss_window,
            None => self.on_congestion(context, congestion),
        }
    }

    /// Optional: a duplicate ACK arrived, which may report data as delivered.
    fn on_duplicate_ack(&mut self, _context: &Context, _ack: &Ack) {}

    /// Optional: an acknowledgement arrived while data was outstanding, also in a recovery and with a report alone. Called
    /// under the rules of Linux (`pkts_acked`), before the recovery and [`on_ack`](Self::on_ack) take the acknowledgement.
    /// A sender in a recovery keeps its window, whatever the threshold becomes.
    fn on_sample(&mut self, _context: &Context, _sample: &Sample) {}

    /// Optional: the connection is open, and its handshake gave the first round-trip time. Called under the rules of Linux
    /// (`init`).
    fn on_open(&mut self, _context: &Context) {}

    /// Optional: the sender enters this state; Loss with every timeout. Called under the rules of Linux (`set_state`), after
    /// the reaction to what leads there, and before [`on_ack`](Self::on_ack) takes an acknowledgement that does.
    fn on_state(&mut self, _context: &Context, _state: SenderState) {}

    /// Optional: the window has fallen to the threshold, in a recovery or by a mark, and the state is Open. Called under the
    /// rules of Linux (`CA_EVENT_COMPLETE_CWR`), also if the reaction is undone with its last acknowledgement.
    fn on_reduced(&mut self, _context: &Context) {}

    /// Optional: a segment is considered lost. Called for each, before the reaction to the loss.
    fn on_loss(&mut self, _context: &Context, _lost: &LostSegment) {}

    /// Optional: a fast recovery began, after the reaction to its cause.
    fn on_recovery_enter(&mut self, _context: &Context) {}

    /// Optional: a fast recovery ended. By default, see [`Window::on_recovery_exit`].
    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        if let Some(window) = self.window() {
            window.on_recovery_exit(context, exit);
        }
    }

    /// Optional: a reaction was spurious and is undone. By default, see [`Window::on_undo`].
    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        if let Some(window) = self.window() {
            window.on_undo(undo);
        }
    }

    /// Optional: the connection was idle for a retransmission timeout and is about to send. By default, see
    /// [`Window::on_restart`].
    fn on_restart(&mut self, _context: &Context, _restart: &Restart) {
        if let Some(window) = self.window() {
            window.on_restart();
        }
    }

    /// Optional: the window is not used, and the rules of window validation reduce it. The threshold remembers three
    /// quarters of it, see [`WindowRules::remembered`]. False if the algorithm keeps its window; an idle connection then
    /// [restarts](Self::on_restart). By default, see [`Window::on_unused`].
    fn on_unused_window(&mut self, context: &Context, unused: &UnusedWindow) -> bool {
        self.window().is_some_and(|window| window.on_unused(context, unused))
    }

    /// Optional: a segment is about to be sent; it is not in flight yet. It changes neither window nor threshold.
    fn on_sent(&mut self, _context: &Context, _sent: &SentSegment) {}

    /// Optional: the value of the probe at this index of the declaration, in its unit; `None` if it has none yet.
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
    /// Description, in one sentence.
    const SUMMARY: &'static str;
    /// Source, as a citation.
    const SOURCE: &'static str;
    /// The recovery of a variant with its name; `None` for the environment's.
    const RECOVERY: Option<&'static str> = None;
    /// The letters of the mechanisms that a variant with its name enables.
    const MECHANISMS: &'static str = "";
    /// The ECN feedback of a variant with its name; `None` for the environment's.
    const ECN_FEEDBACK: Option<&'static str> = None;
    /// True if a variant with its name requests queueing times from routers.
    const ASKS_QUEUEING: bool = false;
    /// The letters of the mechanisms that its own file implements, among [`Mechanisms::OF_WINDOWS`].
    const OWNED_MECHANISMS: &'static str = "";
    /// True if it uses the slow start selected by the rules; other algorithms have their own.
    const TAKES_SLOW_START: bool = false;
    /// Its probes, in the order of [`Control::probe`].
    const PROBES: &'static [ProbeInfo] = &[];

    /// Required: the state at the start of a connection.
    fn new(params: &Self::Params, setup: &Setup) -> Self;

    /// Why these parameters contradict each other: the field and what is accepted.
    fn contradiction(_params: &Self::Params) -> Option<(&'static str, &'static str)> {
        None
    }
}
