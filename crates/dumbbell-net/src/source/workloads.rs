//! Sources that are workloads over TCP.

use super::SourceSpec;
use crate::workloads::{Ended, Playback, Turn, Workload, incast, streaming, transfers, web};
use dumbbell_units::{Interval, Time};

macro_rules! workloads {
    ($( $Variant:ident => $Params:ty, )+) => {
        /// The state of a workload.
        #[derive(Clone, Debug)]
        pub enum WorkloadState {
            $( #[doc = "The state of the workload of this name."] $Variant(<$Params as Workload>::State), )+
        }

        /// Evaluates an expression on a workload and its own state, whatever its type.
        macro_rules! with_state {
            ($of:expr, $source:ident, $own:ident => $action:expr, else $other:expr) => {
                match $of {
                    $( (SourceSpec::$Variant($source), WorkloadState::$Variant($own)) => $action, )+
                    _ => $other,
                }
            };
        }

        impl SourceSpec {
            /// True for workloads.
            pub fn is_workload(&self) -> bool {
                matches!(self, $( SourceSpec::$Variant(_) )|+)
            }

            /// What a transfer and a group of transfers of the workload are called; see [`Workload`].
            pub fn transfer_names(&self) -> Option<(&'static str, Option<&'static str>)> {
                match self {
                    $( SourceSpec::$Variant(_) => {
                        Some((<$Params as Workload>::TRANSFER, <$Params as Workload>::GROUP))
                    } )+
                    _ => None,
                }
            }

            /// The state at the start; `None` for other sources.
            pub fn start_workload(&self, turn: &mut Turn<'_>, window: Interval) -> Option<WorkloadState> {
                match self {
                    $( SourceSpec::$Variant(source) => {
                        Some(WorkloadState::$Variant(source.start(turn, window)))
                    } )+
                    _ => None,
                }
            }

            /// See [`Workload::next`].
            pub fn next_action(&self, state: &WorkloadState) -> Time {
                with_state!((self, state), source, own => source.next(own), else Time::NEVER)
            }

            /// See [`Workload::on_time`].
            pub fn on_time(&self, state: &mut WorkloadState, turn: &mut Turn<'_>) {
                with_state!((self, state), source, own => source.on_time(own, turn), else ())
            }

            /// See [`Workload::on_end`].
            pub fn on_transfer_end(&self, state: &mut WorkloadState, ended: &Ended, turn: &mut Turn<'_>) {
                with_state!((self, state), source, own => source.on_end(own, ended, turn), else ())
            }

            /// See [`Workload::is_finished`].
            pub fn is_finished(&self, state: &WorkloadState) -> bool {
                with_state!((self, state), source, own => source.is_finished(own), else false)
            }

            /// See [`Workload::is_finite`]; true for a single transfer as well.
            pub fn is_finite(&self) -> bool {
                match self {
                    $( SourceSpec::$Variant(source) => source.is_finite(), )+
                    other => matches!(other, SourceSpec::Transfer(_)),
                }
            }

            /// See [`Workload::playback`].
            pub fn playback(&self, state: &WorkloadState, now: Time) -> Option<Playback> {
                with_state!((self, state), source, own => source.playback(own, now), else None)
            }

            /// See [`Workload::contradiction`].
            pub fn contradiction(&self) -> Option<(String, String)> {
                match self {
                    $( SourceSpec::$Variant(source) => source.contradiction(), )+
                    _ => None,
                }
            }
        }
    };
}

workloads! {
    Transfers => transfers::Transfers,
    Web => web::Web,
    Streaming => streaming::Streaming,
    Incast => incast::Incast,
}
