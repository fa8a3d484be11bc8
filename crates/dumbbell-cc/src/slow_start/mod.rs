//! Slow start: how a window grows below its threshold, and when it leaves slow start before a loss. One file each, and
//! the registry that names them; growth above the threshold belongs to the algorithm.

use crate::{Ack, Congestion, Context};
use dumbbell_units::spec::{self, Params};
use dumbbell_units::{Time, Value, tagged};

/// The effect of an acknowledgement below the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// The window grows by this many bytes.
    Grow(f64),
    /// The window grows by this many bytes, and slow start ends there.
    Leave(f64),
}

/// A slow start.
///
/// Required: [`Params`](Self::Params), [`SUMMARY`](Self::SUMMARY), [`SOURCE`](Self::SOURCE), [`new`](Self::new),
/// [`on_ack`](Self::on_ack). The rest is optional.
pub trait SlowStart: Clone + Sized {
    /// Parameters a scenario may give.
    type Params: Params;
    /// What it is, in one sentence.
    const SUMMARY: &'static str;
    /// Where it is described, as a citation.
    const SOURCE: &'static str;

    /// Required: the state at the start of a connection.
    fn new(params: &Self::Params, now: Time) -> Self;

    /// Required: new data was acknowledged outside a recovery while the window was below its threshold. The standard
    /// growth is `growth`, in bytes: a segment for the ACK, or for each segment that it delivers, up to the threshold.
    fn on_ack(&mut self, growth: f64, context: &Context, ack: &Ack) -> Step;

    /// Optional: a round-trip time was measured, see [`Control::on_sample`](crate::Control::on_sample). `window` is that of
    /// the sender, in bytes, also in a recovery; `is_below` if it is below the threshold. True if slow start ends there.
    fn on_sample(&mut self, _rtt: Time, _window: f64, _is_below: bool, _context: &Context) -> bool {
        false
    }

    /// Optional: a congestion event occurred, in slow start or above it.
    fn on_congestion(&mut self, _context: &Context, _congestion: &Congestion) {}
}

macro_rules! registry {
    ($( $name:literal => $module:ident::$Type:ident($Params:ident), )+) => {
        $(
            #[doc = concat!("The slow start `", $name, "`.")]
            pub mod $module;
        )+

        tagged! {
            /// A slow start with its parameters.
            pub enum SlowStartSpec by "name" {
                $( #[doc = "A registered slow start."] $Type($module::$Params) = $name, )+
            }
        }

        // Rules are passed by value.
        $( impl Copy for $module::$Params {} )+
        impl Copy for SlowStartSpec {}

        impl SlowStartSpec {
            /// Catalogue entries: name, summary, source and parameters of every slow start.
            pub fn slow_starts() -> Value {
                Value::Array(vec![$(
                    spec::sourced_entry::<<$module::$Type as SlowStart>::Params>(
                        $name,
                        <$module::$Type>::SUMMARY,
                        <$module::$Type>::SOURCE,
                    )
                ),+])
            }
        }

        /// The state of one connection's slow start.
        #[derive(Clone, Debug)]
        pub enum SlowStarter {
            $( #[doc = "A registered slow start."] $Type($module::$Type), )+
        }

        impl SlowStarter {
            /// The slow start of a connection that starts at `now`.
            pub fn new(spec: &SlowStartSpec, now: Time) -> Self {
                match spec {
                    $( SlowStartSpec::$Type(params) => SlowStarter::$Type(<$module::$Type>::new(params, now)), )+
                }
            }

            /// See [`SlowStart::on_ack`].
            #[inline]
            pub fn on_ack(&mut self, growth: f64, context: &Context, ack: &Ack) -> Step {
                match self { $(
                    SlowStarter::$Type(state) => {
                        let (context, ack) = (*context, *ack);
                        state.on_ack(growth, &context, &ack)
                    }
                )+ }
            }

            /// See [`SlowStart::on_sample`].
            #[inline]
            pub fn on_sample(&mut self, rtt: Time, window: f64, is_below: bool, context: &Context) -> bool {
                match self { $( SlowStarter::$Type(state) => state.on_sample(rtt, window, is_below, context), )+ }
            }

            /// See [`SlowStart::on_congestion`].
            #[inline]
            pub fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
                match self { $( SlowStarter::$Type(state) => state.on_congestion(context, congestion), )+ }
            }
        }
    };
}

registry! {
    "standard" => standard::Standard(StandardParams),
    "hystartpp" => hystartpp::HyStart(HyStartParams),
    "hystart" => hystart::ClassicHyStart(ClassicHyStartParams),
}

impl Default for SlowStartSpec {
    fn default() -> Self {
        SlowStartSpec::Standard(standard::StandardParams::default())
    }
}
