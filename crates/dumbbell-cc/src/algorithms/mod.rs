//! Every congestion control, one file each, and the registry that names them.

use crate::{Ack, Congestion, CongestionControl, Context, Probe, Setup};
use dumbbell_units::spec::{self, Params};
use dumbbell_units::{Value, tagged};

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
            /// The registered names, in order.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The algorithm `name` with its default parameters.
            pub fn named(name: &str) -> Option<AlgorithmSpec> {
                match name {
                    $( $name => Some(AlgorithmSpec::$Type(Default::default())), )+
                    _ => None,
                }
            }

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

            /// See [`CongestionControl::ASKS_QUEUEING`].
            pub fn asks_queueing(&self) -> bool {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::ASKS_QUEUEING, )+ }
            }

            /// See [`CongestionControl::OWNED_MECHANISMS`].
            pub fn owned_mechanisms(&self) -> &'static str {
                match self { $( AlgorithmSpec::$Type(_) => <$module::$Type>::OWNED_MECHANISMS, )+ }
            }

            /// Catalogue entries: name, summary, source and parameters of every algorithm.
            pub fn algorithms() -> Value {
                Value::Array(vec![$({
                    let mut entry = spec::entry(
                        $name,
                        <$module::$Type>::SUMMARY,
                        &<<$module::$Type as CongestionControl>::Params as Params>::infos(),
                    );
                    if let Value::Object(members) = &mut entry {
                        members.insert("source".into(), Value::from(<$module::$Type>::SOURCE));
                    }
                    entry
                }),+])
            }
        }

        /// The state of one connection's congestion control.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $( #[doc = "A registered algorithm."] $Type($module::$Type), )+
        }

        impl Algorithm {
            /// The state at the start of a connection.
            pub fn new(spec: &AlgorithmSpec, setup: &Setup) -> Self {
                match spec {
                    $( AlgorithmSpec::$Type(params) => {
                        Algorithm::$Type(<$module::$Type>::new(params, setup))
                    } )+
                }
            }
        }

        impl Algorithm {
            /// See [`CongestionControl::cwnd`].
            #[inline]
            pub fn cwnd(&self) -> f64 {
                match self { $( Algorithm::$Type(algorithm) => algorithm.cwnd(), )+ }
            }

            /// See [`CongestionControl::ssthresh`].
            #[inline]
            pub fn ssthresh(&self) -> f64 {
                match self { $( Algorithm::$Type(algorithm) => algorithm.ssthresh(), )+ }
            }

            /// See [`CongestionControl::probe`].
            #[inline]
            pub fn probe(&self) -> Probe {
                match self { $( Algorithm::$Type(algorithm) => algorithm.probe(), )+ }
            }

            /// See [`CongestionControl::on_ack`].
            #[inline]
            pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
                match self { $( Algorithm::$Type(algorithm) => algorithm.on_ack(context, ack), )+ }
            }

            /// See [`CongestionControl::on_congestion`].
            #[inline]
            pub fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
                match self { $( Algorithm::$Type(algorithm) => algorithm.on_congestion(context, congestion), )+ }
            }

            /// See [`CongestionControl::on_duplicate_ack`].
            #[inline]
            pub fn on_duplicate_ack(&mut self, context: &Context) {
                match self { $( Algorithm::$Type(algorithm) => algorithm.on_duplicate_ack(context), )+ }
            }

            /// See [`CongestionControl::on_recovery_exit`].
            #[inline]
            pub fn on_recovery_exit(&mut self, context: &Context, kept_inflation: f64) {
                match self { $( Algorithm::$Type(algorithm) => algorithm.on_recovery_exit(context, kept_inflation), )+ }
            }

            /// See [`CongestionControl::on_undo`].
            #[inline]
            pub fn on_undo(&mut self, context: &Context) {
                match self { $( Algorithm::$Type(algorithm) => algorithm.on_undo(context), )+ }
            }

            /// See [`CongestionControl::on_restart`].
            #[inline]
            pub fn on_restart(&mut self, context: &Context) {
                match self { $( Algorithm::$Type(algorithm) => algorithm.on_restart(context), )+ }
            }

            /// See [`CongestionControl::on_sent`].
            #[inline]
            pub fn on_sent(&mut self, context: &Context, bytes: u32) {
                match self { $( Algorithm::$Type(algorithm) => algorithm.on_sent(context, bytes), )+ }
            }
        }
    };
}

registry! {
    "reno" => reno::Reno,
    "vegas" => vegas::Vegas,
    "newvegas" => newvegas::NewVegas,
    "vegasa" => vegasa::VegasA,
    "nsvegas" => nsvegas::NsVegas,
    "code" => code::Code,
    "westwood" => westwood::Westwood,
    "westwoodp" => westwoodp::WestwoodPlus,
    "rovegas" => rovegas::RoVegas,
}
