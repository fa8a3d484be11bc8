//! Datagram sources, one file each. A source defines only sizes and times. It is independent of the network, so the
//! same named stream gives the same pattern regardless of other traffic.

pub mod cbr;
pub mod frames;
pub mod media;
pub mod onoff;
pub mod ping;
pub mod poisson;
pub mod video;

use dumbbell_units::{Bytes, Ecn, Rate, Stream, Time, choice};

choice! {
    /// ECN codepoint that datagrams carry. Their source does not respond to marks.
    pub enum Codepoint {
        /// Not ECN-capable.
        NotEct = "not-ect",
        /// ECN-capable, as in RFC 3168.
        Ect0 = "ect0",
        /// ECN-capable, the identifier of L4S.
        Ect1 = "ect1",
    }
}

impl From<Codepoint> for Ecn {
    fn from(codepoint: Codepoint) -> Ecn {
        match codepoint {
            Codepoint::NotEct => Ecn::NotEct,
            Codepoint::Ect0 => Ecn::Ect0,
            Codepoint::Ect1 => Ecn::Ect1,
        }
    }
}

/// Bytes sent at once, divided into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Time since the source started, no earlier than that of the previous emission.
    pub after_start: Time,
    /// Bytes on the wire, above 0.
    pub bytes: u64,
    /// Maximum packet size on the wire, in bytes; the last packet may be smaller.
    pub packet: u32,
}

impl Emission {
    /// The sizes of its packets on the wire, in bytes.
    pub fn sizes(self) -> impl Iterator<Item = u32> {
        let largest = u64::from(self.packet);
        (0..self.bytes.div_ceil(largest))
            .map(move |number| (self.bytes - number * largest).min(largest) as u32)
    }
}

/// What the receiver of a datagram source reports to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Packets received since the last report.
    pub received: u64,
    /// Packets missed since the last report.
    pub lost: u64,
    /// Time since the last report.
    pub interval: Time,
    /// Mean one-way delay of the packets received.
    pub delay: Time,
}

/// What the packets of a source have in common.
#[derive(Clone, Copy, Debug)]
pub struct Packets {
    /// Maximum size on the wire.
    pub size: Bytes,
    /// ECN codepoint.
    pub ecn: Codepoint,
    /// The rate at which the source spaces single packets of this size; `None` if it does not.
    pub rate: Option<Rate>,
}

/// Parameters of a datagram source.
pub trait Datagrams {
    /// State between emissions.
    type State;

    /// The state at the start.
    fn start(&self, random: &mut Stream) -> Self::State;

    /// What its packets have in common.
    fn packets(&self) -> Packets;

    /// Maximum number of packets in one emission.
    fn largest_emission(&self) -> u64 {
        1
    }

    /// The next emission; `None` if there are no more.
    fn next(&self, state: &mut Self::State, random: &mut Stream) -> Option<Emission>;

    /// Time between two reports of the receiver, and their size on the wire; `None` for an unresponsive source.
    fn reports(&self) -> Option<(Time, Bytes)> {
        None
    }

    /// True if the receiver answers each packet with another, which shows the round-trip time.
    fn echoes(&self) -> bool {
        false
    }

    /// A report has arrived.
    fn on_report(&self, _state: &mut Self::State, _report: &Report) {}
}

/// Number of packets for `bytes` bytes.
fn packet_count(bytes: f64, packet: Bytes) -> u64 {
    (bytes / packet.0 as f64).ceil() as u64
}
