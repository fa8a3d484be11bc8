//! Packets on links.

use dumbbell_units::{Ecn, Time};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A TCP segment with data on its way to the receiver.
    Data,
    /// A SYN. It carries no data.
    Syn,
    /// An acknowledgement on its way to the sender.
    Ack,
    /// A datagram of an unresponsive source.
    Datagram,
}

impl PacketKind {
    /// True if the packet carries data and counts for forced drops and recorded losses.
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
    /// Distinguishes successive connections in the same slot.
    pub generation: u16,
    /// What it carries.
    pub kind: PacketKind,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Flow identifier for queues that distinguish flows: a hash of connection and direction.
    pub flow: u32,
    /// When it was sent; for an acknowledgement, when the acknowledged data was sent.
    pub timestamp: Time,
    /// Queueing time at nodes that stamp packets.
    pub queueing: Time,
    /// What the end points put into it.
    pub payload: P,
}

impl<P> Packet<P> {
    /// A datagram of this size on the wire, without a flow.
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
