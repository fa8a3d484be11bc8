//! What a capture contains besides segments.

use std::fmt;

/// A packet or block that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its number in the capture, from 1. A block of pcapng that is no packet has the number of the packet after it.
    pub packet: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "packet {}: {}", self.packet, self.reason)
    }
}

/// Packets of a capture by what they are, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All packets, read or not.
    pub packets: u64,
    /// TCP segments that were read.
    pub tcp: u64,
    /// UDP datagrams.
    pub udp: u64,
    /// Neither, such as ARP or ICMP, or of an interface whose link type is not read.
    pub other: u64,
    /// Fragments of IP packets. The first one of a segment is read as a segment with the data that it has; the others
    /// are only counted.
    pub fragments: u64,
    /// Packets and blocks that could not be read, or whose headers the capture has cut.
    pub damaged: u64,
    /// The first of these.
    pub first_damage: Option<Damage>,
    /// 1 if the capture ends within a packet, as when its writer was killed.
    pub cut_tail: u64,
    /// Where reading ended before the end of the capture, in bytes after decompression: what follows is no packet.
    pub unread_from: Option<u64>,
    /// Packets that are older than the one before them in the file.
    pub backwards: u64,
    /// Packets without a time (simple packet blocks of pcapng), which get that of the packet before them.
    pub untimed: u64,
}

impl Counts {
    /// Counts a packet or block that could not be read.
    pub(crate) fn damage(&mut self, packet: u64, reason: &'static str) {
        self.damaged += 1;
        self.first_damage.get_or_insert(Damage { packet, reason });
    }
}
