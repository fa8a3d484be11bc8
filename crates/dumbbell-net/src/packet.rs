//! What travels on a link.

use dumbbell_units::Time;

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
    /// When it was sent; of an acknowledgement, when what it answers was.
    pub timestamp: Time,
    /// Time it has waited at nodes that stamp it.
    pub queueing: Time,
    /// What the end points put into it.
    pub payload: P,
}
