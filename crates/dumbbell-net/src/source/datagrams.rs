//! Sources that send datagrams.

use super::SourceSpec;
use crate::datagrams::{
    Datagrams, Emission, Packets, Report, cbr, frames, media, onoff, ping, poisson, video,
};
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

            /// See [`Datagrams::echoes`].
            pub fn echoes(&self) -> bool {
                match self {
                    $( SourceSpec::$Variant(source) => source.echoes(), )+
                    _ => false,
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

            /// See [`Datagrams::packets`]; `None` for sources that need TCP.
            pub fn packets(&self) -> Option<Packets> {
                match self {
                    $( SourceSpec::$Variant(source) => Some(source.packets()), )+
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
        }
    };
}

impl SourceSpec {
    /// True for sources that send datagrams and need no TCP.
    pub fn is_datagram(&self) -> bool {
        self.packets().is_some()
    }

    /// Maximum packet size on the wire; `None` for sources that need TCP.
    pub fn packet(&self) -> Option<Bytes> {
        self.packets().map(|packets| packets.size)
    }

    /// ECN codepoint of the packets; not ECN-capable for sources that need TCP.
    pub fn ecn(&self) -> Ecn {
        self.packets().map_or(Ecn::NotEct, |packets| packets.ecn.into())
    }

    /// Rate and packet size of a source that sends single packets spaced at this rate; `None` for others.
    pub fn spacing(&self) -> Option<(Rate, Bytes)> {
        let packets = self.packets()?;
        Some((packets.rate?, packets.size))
    }
}

sources! {
    ConstantRate => cbr::ConstantRate,
    Poisson => poisson::Poisson,
    OnOff => onoff::OnOff,
    Video => video::Video,
    Frames => frames::Frames,
    Media => media::Media,
    Ping => ping::Ping,
}
