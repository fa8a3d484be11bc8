//! Sources of datagrams, one file each. A source only says what it emits and when; it knows no
//! network, so the same named stream gives the same pattern whoever shares the link.

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
    /// Time since the source started, no earlier than that of the emission before.
    pub after_start: Time,
    /// Bytes on the wire, above 0.
    pub bytes: u64,
    /// Largest packet on the wire, in bytes; the last one may be smaller.
    pub packet: u32,
}

/// A source of datagrams: its parameters.
pub trait Datagrams {
    /// What it remembers between emissions.
    type State;

    /// The state at the start.
    fn start(&self, random: &mut Stream) -> Self::State;

    /// The next emission; `None` once there is none.
    fn next(&self, state: &mut Self::State, random: &mut Stream) -> Option<Emission>;
}

macro_rules! sources {
    ($( $Variant:ident => $Params:ty, )+) => {
        /// The state of a source of datagrams.
        #[derive(Clone, Debug)]
        pub enum DatagramState {
            $( #[doc = "That of the source of the same name."] $Variant(<$Params as Datagrams>::State), )+
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

impl SourceSpec {
    /// Most packets that a source sends at once.
    pub fn largest_emission(&self) -> u64 {
        let packets = |bytes: f64, packet: Bytes| (bytes / packet.0 as f64).ceil() as u64;
        match self {
            SourceSpec::Video(video) => packets(video.mean_frame() * video.largest, video.packet),
            SourceSpec::Frames(frames) => {
                let largest = frames.sizes.iter().map(|size| size.0).max().unwrap_or_default();
                packets(largest as f64, frames.packet)
            }
            _ => 1,
        }
    }

    /// Rate and packet of a source that spaces single packets by them.
    pub fn spacing(&self) -> Option<(Rate, Bytes)> {
        match self {
            SourceSpec::ConstantRate(source) => Some((source.rate, source.packet)),
            SourceSpec::Poisson(source) => Some((source.rate, source.packet)),
            SourceSpec::OnOff(source) => Some((source.rate, source.packet)),
            _ => None,
        }
    }
}
