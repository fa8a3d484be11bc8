//! The congestion controls, one file each, and the registry that names them.

use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ExternalControl, GrowWhen, LostSegment, ProbeInfo,
    RecoveryExit, Restart, Sample, SenderState, SentSegment, Setup, Undo, UnusedWindow,
};
use dumbbell_units::spec;
use dumbbell_units::{Ecn, Value, tagged};

macro_rules! registry {
    ($( $name:literal => $module:ident::$Type:ident, )+) => {
        $(
            #[doc = concat!("The algorithm `", $name, "`.")]
            pub mod $module;
        )+

        tagged! {
            /// A congestion control with its parameters.
            pub enum AlgorithmSpec by "name" {
                $( #[doc = "A registered algorithm."] $Type(<$module::$Type as CongestionControl>::Params) = $name, )+
            }
        }

        impl AlgorithmSpec {
            /// Why the parameters contradict each other: the field and what is accepted.
            pub fn contradiction(&self) -> Option<(&'static str, &'static str)> {
                match self {
                    $( AlgorithmSpec::$Type(params) => <$module::$Type>::contradiction(params), )+
                }
            }

            /// See [`CongestionControl::RECOVERY`].
            pub fn recovery(&self) -> Option<&'static str> {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::RECOVERY, )+ }
            }

            /// See [`CongestionControl::MECHANISMS`].
            pub fn mechanisms(&self) -> &'static str {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::MECHANISMS, )+ }
            }

            /// See [`CongestionControl::ECN_FEEDBACK`].
            pub fn ecn_feedback(&self) -> Option<&'static str> {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::ECN_FEEDBACK, )+ }
            }

            /// See [`CongestionControl::ASKS_QUEUEING`].
            pub fn asks_queueing(&self) -> bool {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::ASKS_QUEUEING, )+ }
            }

            /// See [`CongestionControl::OWNED_MECHANISMS`].
            pub fn owned_mechanisms(&self) -> &'static str {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::OWNED_MECHANISMS, )+ }
            }

            /// See [`CongestionControl::TAKES_SLOW_START`].
            pub fn takes_slow_start(&self) -> bool {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::TAKES_SLOW_START, )+ }
            }

            /// See [`CongestionControl::PROBES`].
            pub fn probes(&self) -> &'static [ProbeInfo] {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::PROBES, )+ }
            }

            /// The probes of each algorithm of the registry, in order.
            pub const PROBES: &'static [&'static [ProbeInfo]] =
                &[$( <$module::$Type as CongestionControl>::PROBES ),+];

            /// Catalogue entries: name, summary, source and parameters of every algorithm.
            pub fn algorithms() -> Value {
                Value::Array(vec![$(
                    spec::sourced_entry::<<$module::$Type as CongestionControl>::Params>(
                        $name,
                        <$module::$Type>::SUMMARY,
                        <$module::$Type>::SOURCE,
                    )
                ),+])
            }
        }

        #[derive(Debug)]
        enum Held {
            $( $Type($module::$Type), )+
            External(Box<dyn ExternalControl>),
        }

        impl Clone for Held {
            fn clone(&self) -> Self {
                match self {
                    $( Held::$Type(control) => Held::$Type(control.clone()), )+
                    Held::External(control) => Held::External(control.fork()),
                }
            }
        }

        impl Held {
            fn new(spec: &AlgorithmSpec, setup: &Setup) -> Self {
                match spec {
                    $( AlgorithmSpec::$Type(params) => Held::$Type(<$module::$Type>::new(params, setup)), )+
                }
            }

            fn probes(&self) -> &[ProbeInfo] {
                match self {
                    $( Held::$Type(_) => <$module::$Type as CongestionControl>::PROBES, )+
                    Held::External(control) => control.probes(),
                }
            }
        }

        /// Evaluates an expression on the control, whatever its type.
        macro_rules! dispatch {
            ($held:expr, $control:ident => $action:expr) => {
                match $held {
                    $( Held::$Type($control) => $action, )+
                    Held::External($control) => $action,
                }
            };
        }
    };
}

registry! {
    "reno" => reno::Reno,
    "vegas" => vegas::Vegas,
    "vegasl" => vegasl::VegasLinux,
    "newvegas" => newvegas::NewVegas,
    "vegasa" => vegasa::VegasA,
    "nsvegas" => nsvegas::NsVegas,
    "code" => code::Code,
    "westwood" => westwood::Westwood,
    "westwoodl" => westwoodl::WestwoodLinux,
    "westwoodp" => westwoodp::WestwoodPlus,
    "rovegas" => rovegas::RoVegas,
    "cubic" => cubic::Cubic,
    "aimd" => aimd::Aimd,
    "scalable" => scalable::Scalable,
    "highspeed" => highspeed::HighSpeed,
    "htcp" => htcp::Htcp,
    "bic" => bic::Bic,
    "illinois" => illinois::Illinois,
    "yeah" => yeah::Yeah,
    "veno" => veno::Veno,
    "hybla" => hybla::Hybla,
    "compound" => compound::Compound,
    "bbr" => bbr::Bbr,
    "bbr3" => bbr3::Bbr3,
    "dctcp" => dctcp::Dctcp,
    "prague" => prague::Prague,
    "ledbat" => ledbat::Ledbat,
    "ledbatpp" => ledbatpp::LedbatPp,
    "copa" => copa::Copa,
}

/// The congestion control of one connection, with the rules that hold for every algorithm.
#[derive(Clone, Debug)]
pub struct Algorithm {
    held: Held,
    /// False if the window may grow although it does not limit the sender.
    is_growth_limited: bool,
    answers: Answers,
}

/// What the control answers. Window and threshold are apart, so that they are not copied as one vector from where one of
/// them was just stored: such a load waits for the store.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Answers {
    /// The window after the last event.
    cwnd: f64,
    /// The pacing rate after the last event or segment.
    pacing_rate: Option<f64>,
    /// The threshold after the last event.
    ssthresh: f64,
}

/// Passes an event to the control and reads its window, threshold and pacing rate.
macro_rules! notify {
    ($algorithm:ident, $control:ident => $call:expr) => {
        dispatch!(&mut $algorithm.held, $control => {
            $call;
            $algorithm.answers.cwnd = $control.cwnd();
            $algorithm.answers.ssthresh = $control.ssthresh();
            $algorithm.answers.pacing_rate = $control.pacing_rate();
        })
    };
}

impl Algorithm {
    /// An algorithm of the registry at the start of a connection.
    pub fn new(spec: &AlgorithmSpec, setup: &Setup) -> Self {
        Algorithm::holding(Held::new(spec, setup), setup)
    }

    /// An algorithm from outside the registry at the start of a connection.
    pub fn external(control: Box<dyn ExternalControl>, setup: &Setup) -> Self {
        Algorithm::holding(Held::External(control), setup)
    }

    fn holding(held: Held, setup: &Setup) -> Self {
        let grows_unused = dispatch!(&held, control => control.is_model_based() || control.grows_unused());
        let is_growth_limited = setup.rules.grow_when == GrowWhen::CwndLimited && !grows_unused;
        let (cwnd, ssthresh) = dispatch!(&held, control => (control.cwnd(), control.ssthresh()));
        let pacing_rate = dispatch!(&held, control => control.pacing_rate());
        Algorithm { held, is_growth_limited, answers: Answers { cwnd, pacing_rate, ssthresh } }
    }

    /// See [`Control::cwnd`].
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.answers.cwnd
    }

    /// See [`Control::ssthresh`].
    #[inline]
    pub fn ssthresh(&self) -> f64 {
        self.answers.ssthresh
    }

    /// See [`Control::pacing_rate`].
    #[inline]
    pub fn pacing_rate(&self) -> Option<f64> {
        self.answers.pacing_rate
    }

    /// See [`Control::send_quantum`].
    #[inline]
    pub fn send_quantum(&self) -> Option<f64> {
        dispatch!(&self.held, control => control.send_quantum())
    }

    /// See [`Control::ecn_codepoint`].
    #[inline]
    pub fn ecn_codepoint(&self) -> Ecn {
        dispatch!(&self.held, control => control.ecn_codepoint())
    }

    /// See [`Control::uses_rate_samples`].
    #[inline]
    pub fn uses_rate_samples(&self) -> bool {
        dispatch!(&self.held, control => control.uses_rate_samples())
    }

    /// See [`Control::reacts_to_marks`].
    #[inline]
    pub fn reacts_to_marks(&self) -> bool {
        dispatch!(&self.held, control => control.reacts_to_marks())
    }

    /// See [`Control::is_model_based`].
    #[inline]
    pub fn is_model_based(&self) -> bool {
        dispatch!(&self.held, control => control.is_model_based())
    }

    /// See [`Control::grows_unused`].
    pub fn grows_unused(&self) -> bool {
        dispatch!(&self.held, control => control.grows_unused())
    }

    /// See [`Control::on_ack`]. If the rules say so, a window that does not limit the sender does not grow here.
    #[inline(always)]
    pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if self.is_growth_limited && !ack.is_cwnd_limited {
            let (context, ack) = (*context, *ack);
            self.on_ack_of_unused_window(&context, &ack);
        } else {
            notify!(self, control => {
                let (context, ack) = (*context, *ack);
                control.on_ack(&context, &ack)
            });
        }
    }

    #[cold]
    fn on_ack_of_unused_window(&mut self, context: &Context, ack: &Ack) {
        let growth_limit = context.growth_limit.min(self.cwnd());
        let context = &context.with_growth_limit(growth_limit);
        notify!(self, control => control.on_ack(context, ack));
    }

    /// See [`Control::on_congestion`].
    #[inline]
    pub fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        notify!(self, control => control.on_congestion(context, congestion));
    }

    /// See [`Control::on_duplicate_ack`]. The arguments are built only for algorithms that use them.
    #[inline]
    pub fn on_duplicate_ack<'a>(&mut self, arguments: impl FnOnce() -> (Context, Ack<'a>)) {
        notify!(self, control => {
            let (context, ack) = arguments();
            control.on_duplicate_ack(&context, &ack)
        });
    }

    /// See [`Control::on_sample`]. The context is built only for algorithms that use it.
    #[inline]
    pub fn on_sample(&mut self, context: impl FnOnce() -> Context, sample: &Sample) {
        notify!(self, control => control.on_sample(&context(), sample));
    }

    /// See [`Control::on_open`].
    pub fn on_open(&mut self, context: &Context) {
        notify!(self, control => control.on_open(context));
    }

    /// See [`Control::on_reduced`].
    pub fn on_reduced(&mut self, context: &Context) {
        notify!(self, control => control.on_reduced(context));
    }

    /// See [`Control::on_state`]. The context is built only for algorithms that use it.
    #[inline]
    pub fn on_state(&mut self, context: impl FnOnce() -> Context, state: SenderState) {
        notify!(self, control => control.on_state(&context(), state));
    }

    /// See [`Control::on_loss`].
    #[inline]
    pub fn on_loss(&mut self, context: &Context, lost: &LostSegment) {
        notify!(self, control => control.on_loss(context, lost));
    }

    /// See [`Control::on_recovery_enter`].
    #[inline]
    pub fn on_recovery_enter(&mut self, context: &Context) {
        notify!(self, control => control.on_recovery_enter(context));
    }

    /// See [`Control::on_initial_window`].
    pub fn on_initial_window(&mut self, cwnd: f64) {
        notify!(self, control => control.on_initial_window(cwnd));
    }

    /// See [`Control::on_repeated_timeout`].
    pub fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        notify!(self, control => control.on_repeated_timeout(context, congestion));
    }

    /// See [`Control::on_recovery_exit`].
    #[inline]
    pub fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        notify!(self, control => control.on_recovery_exit(context, exit));
    }

    /// See [`Control::on_undo`].
    #[inline]
    pub fn on_undo(&mut self, context: &Context, undo: &Undo) {
        notify!(self, control => control.on_undo(context, undo));
    }

    /// See [`Control::on_restart`].
    #[inline]
    pub fn on_restart(&mut self, context: &Context, restart: &Restart) {
        notify!(self, control => control.on_restart(context, restart));
    }

    /// See [`Control::on_unused_window`].
    pub fn on_unused_window(&mut self, context: &Context, unused: &UnusedWindow) -> bool {
        let is_taken;
        notify!(self, control => is_taken = control.on_unused_window(context, unused));
        is_taken
    }

    /// See [`Control::on_sent`]. The arguments are built only for algorithms that use them.
    #[inline]
    pub fn on_sent(&mut self, arguments: impl FnOnce() -> (Context, SentSegment)) {
        dispatch!(&mut self.held, control => {
            let (context, segment) = arguments();
            control.on_sent(&context, &segment);
            self.answers.pacing_rate = control.pacing_rate();
            debug_assert_eq!(self.answers.cwnd, control.cwnd(), "a segment that leaves changes no window");
        });
    }

    /// The algorithm's probes, in the order of [`probe`](Self::probe).
    pub fn probes(&self) -> &[ProbeInfo] {
        self.held.probes()
    }

    /// See [`Control::probe`].
    pub fn probe(&self, index: usize) -> Option<f64> {
        dispatch!(&self.held, control => control.probe(index))
    }
}
