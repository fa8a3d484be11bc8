//! Sources of datagrams, one file each. A source only defines what it emits and when. It knows no network, so the
//! same named stream gives the same pattern whatever else uses the link.

pub mod cbr;
pub mod frames;
pub mod onoff;
pub mod poisson;
pub mod video;

use crate::source::SourceSpec;
use dumbbell_units::{Bytes, Rate, Stream, Time};

/// Bytes that are sent at once, cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Time since the source started, no earlier than that of the previous emission.
    pub after_start: Time,
    /// Bytes on the wire, above 0.
    pub bytes: u64,
    /// Largest packet on the wire, in bytes; the last one may be smaller.
    pub packet: u32,
}

/// A source of datagrams: its parameters.
pub trait Datagrams {
    /// State between emissions.
    type State;

    /// The state at the start.
    fn start(&self, random: &mut Stream) -> Self::State;

    /// Rate and packet size of a source that spaces single packets accordingly; `None` for others.
    fn spacing(&self) -> Option<(Rate, Bytes)>;

    /// Its largest packet on the wire.
    fn packet(&self) -> Bytes;

    /// Largest number of packets in one emission.
    fn largest_emission(&self) -> u64;

    /// The next emission; `None` once there is none.
    fn next(&self, state: &mut Self::State, random: &mut Stream) -> Option<Emission>;
}

/// Number of packets for this many bytes.
fn packets(bytes: f64, packet: Bytes) -> u64 {
    (bytes / packet.0 as f64).ceil() as u64
}

macro_rules! sources {
    ($( $Variant:ident => $Params:ty, )+) => {
        /// The state of a source of datagrams.
        #[derive(Clone, Debug)]
        pub enum DatagramState {
            $( #[doc = "What the source of this name remembers."] $Variant(<$Params as Datagrams>::State), )+
        }

        impl SourceSpec {
            /// The state at the start; `None` for sources that need TCP.
            pub fn start_datagrams(&self, random: &mut Stream) -> Option<DatagramState> {
                match self {
                    $( SourceSpec::$Variant(source) => Some(DatagramState::$Variant(source.start(random))), )+
                    _ => None,
                }
            }

            /// The next emission; `None` once there is none.
            pub fn next_datagrams(&self, state: &mut DatagramState, random: &mut Stream) -> Option<Emission> {
                match (self, state) {
                    $( (SourceSpec::$Variant(source), DatagramState::$Variant(state)) => source.next(state, random), )+
                    _ => None,
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
}
