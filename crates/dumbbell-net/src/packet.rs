//! Packets on links.

use dumbbell_units::{Ecn, Time};

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A TCP segment with data on its way to the receiver.
    Data,
    /// A SYN. It carries no data.
    Syn,
    /// An acknowledgement on its way to the sender.
    Ack,
    /// A datagram of a source without TCP.
    Datagram,
    /// A report of the receiver of such a source on its way to the sender.
    Report,
    /// A packet with data from a stack that is not ours.
    CarriedData,
    /// A packet without data from such a stack, such as an acknowledgement or a part of a handshake.
    CarriedControl,
}

impl PacketKind {
    /// True if the packet carries data, so that it counts for forced and recorded losses.
    #[inline]
    pub fn is_data(self) -> bool {
        matches!(self, PacketKind::Data | PacketKind::Datagram | PacketKind::CarriedData)
    }
}

/// A packet, moved by value. `P` is the type of its payload.
#[derive(Clone, Copy, Debug)]
pub struct Packet<P> {
    /// Size on the wire, in bytes.
    pub size: u32,
    /// Index of the connection, or of the flow for a datagram, a report and a packet of a stack that is not ours.
    pub owner: u32,
    /// Distinguishes successive connections in the same slot.
    pub generation: u16,
    /// Its kind.
    pub kind: PacketKind,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Flow identifier for queues that distinguish flows: a hash of connection and direction.
    pub flow: u32,
    /// Time at which it was sent; for an acknowledgement, the time at which the acknowledged data was sent.
    pub timestamp: Time,
    /// Queueing time at nodes that stamp packets.
    pub queueing: Time,
    /// Payload, which only the end points use.
    pub payload: P,
}

impl<P> Packet<P> {
    /// A datagram of `size` bytes on the wire that belongs to no flow.
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
