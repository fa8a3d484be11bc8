//! Sources that send datagrams.

use super::SourceSpec;
use crate::datagrams::{Datagrams, Emission, Report, cbr, frames, media, onoff, poisson, video};
use dumbbell_units::{Bytes, Ecn, Rate, Stream, Time};

macro_rules! sources {
    ($( $Variant:ident => $Params:ty, )+) => {
        /// The state of a datagram source.
        #[derive(Clone, Debug)]
        pub enum DatagramState {
            $( #[doc = "The state of the source of this name."] $Variant(<$Params as Datagrams>::State), )+
        }

        impl SourceSpec {
            /// The state at the start; `None` for sources that need TCP.
            pub fn start_datagrams(&self, random: &mut Stream) -> Option<DatagramState> {
                match self {
                    $( SourceSpec::$Variant(source) => Some(DatagramState::$Variant(source.start(random))), )+
                    _ => None,
                }
            }

            /// The next emission; `None` if there are no more.
            pub fn next_datagrams(&self, state: &mut DatagramState, random: &mut Stream) -> Option<Emission> {
                match (self, state) {
                    $( (SourceSpec::$Variant(source), DatagramState::$Variant(state)) => source.next(state, random), )+
                    _ => None,
                }
            }

            /// See [`Datagrams::reports`].
            pub fn reports(&self) -> Option<(Time, Bytes)> {
                match self {
                    $( SourceSpec::$Variant(source) => source.reports(), )+
                    _ => None,
                }
            }

            /// See [`Datagrams::on_report`].
            pub fn on_report(&self, state: &mut DatagramState, report: &Report) {
                match (self, state) {
                    $( (SourceSpec::$Variant(source), DatagramState::$Variant(state)) => {
                        source.on_report(state, report);
                    } )+
                    _ => {}
                }
            }

            /// See [`Datagrams::spacing`].
            pub fn spacing(&self) -> Option<(Rate, Bytes)> {
                match self {
                    $( SourceSpec::$Variant(source) => source.spacing(), )+
                    _ => None,
                }
            }

            /// See [`Datagrams::packet`]; `None` for sources that need TCP.
            pub fn packet(&self) -> Option<Bytes> {
                match self {
                    $( SourceSpec::$Variant(source) => Some(source.packet()), )+
                    _ => None,
                }
            }

            /// See [`Datagrams::ecn`]; not ECN-capable for sources that need TCP.
            pub fn ecn(&self) -> Ecn {
                match self {
                    $( SourceSpec::$Variant(source) => source.ecn().into(), )+
                    _ => Ecn::NotEct,
                }
            }

            /// See [`Datagrams::largest_emission`]; 1 for sources that need TCP.
            pub fn largest_emission(&self) -> u64 {
                match self {
                    $( SourceSpec::$Variant(source) => source.largest_emission(), )+
                    _ => 1,
                }
            }

            /// True for sources that send datagrams and need no TCP.
            pub fn is_datagram(&self) -> bool {
                matches!(self, $( SourceSpec::$Variant(_) )|+)
            }
        }
    };
}

sources! {
    ConstantRate => cbr::ConstantRate,
    Poisson => poisson::Poisson,
    OnOff => onoff::OnOff,
    Video => video::Video,
    Frames => frames::Frames,
    Media => media::Media,
}
