//! What travels on a link.

use dumbbell_units::{Ecn, Time};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A TCP segment with data on its way to the receiver.
    Data,
    /// The segment that opens a TCP connection. It carries no data.
    Syn,
    /// An acknowledgement on its way to the sender.
    Ack,
    /// A datagram of an unresponsive source.
    Datagram,
}

impl PacketKind {
    /// True if the packet carries data, so that forced drops and recorded losses count it.
    #[inline]
    pub fn is_data(self) -> bool {
        matches!(self, PacketKind::Data | PacketKind::Datagram)
    }
}

/// A packet, moved by value. `P` is what the end points put into it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<P> {
    /// Size on the wire, in bytes.
    pub size: u32,
    /// Connection, or flow for a datagram.
    pub owner: u32,
    /// Tells connections apart that used the same slot one after the other.
    pub generation: u16,
    /// What it carries.
    pub kind: PacketKind,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Whose packet it is, for queues that tell flows apart: a hash of its connection and direction.
    pub flow: u32,
    /// When it was sent; of an acknowledgement, when what it answers was.
    pub timestamp: Time,
    /// Time it has waited at nodes that stamp it.
    pub queueing: Time,
    /// What the end points put into it.
    pub payload: P,
}

impl<P> Packet<P> {
    /// A datagram of so many bytes on the wire, of no flow in particular.
    pub fn of_size(size: u32, payload: P) -> Self {
        Packet {
            size,
            owner: 0,
            generation: 0,
            kind: PacketKind::Datagram,
            ecn: Ecn::NotEct,
            flow: 0,
            timestamp: Time::ZERO,
            queueing: Time::ZERO,
            payload,
        }
    }
}
