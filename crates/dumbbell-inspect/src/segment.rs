//! A TCP segment as a capture shows it.

use dumbbell_units::{Ecn, Time};
use std::net::SocketAddr;

/// Ranges of selective acknowledgements that fit the options of a segment [RFC 2018 §3].
pub const MAX_SACK: usize = 4;

/// The flags of a segment that are read [RFC 9293 §3.1, RFC 3168 §6.1].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the flag of its name")]
pub struct Flags {
    pub syn: bool,
    pub ack: bool,
    pub fin: bool,
    pub rst: bool,
    pub psh: bool,
    pub urg: bool,
    pub ece: bool,
    pub cwr: bool,
    pub ae: bool,
}

/// The options of a segment that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest segment that its sender receives, in bytes of data [RFC 9293 §3.7.1].
    pub mss: Option<u16>,
    /// Shift of the windows that follow, at most 14 [RFC 7323 §2.3].
    pub scale: Option<u8>,
    /// Its sender understands selective acknowledgements [RFC 2018 §2].
    pub sack_permitted: bool,
    /// Clock of its sender, and the clock of its receiver as echoed [RFC 7323 §3.2].
    pub timestamps: Option<(u32, u32)>,
    /// Ranges that were received beyond the acknowledgement, each by its first byte and the byte after its last one; the
    /// first may be a duplicate [RFC 2883].
    pub sack: [(u32, u32); MAX_SACK],
    /// How many of them there are.
    pub sack_count: u8,
}

/// One TCP segment, where and when it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Time since 1970.
    pub at: Time,
    /// Where the capture saw it, by position: an interface of a pcapng file, or of the header that Linux writes for all
    /// interfaces (SLL2). Zero where a capture has only one.
    pub interface: u32,
    /// Who sent it.
    pub from: SocketAddr,
    /// Who is to receive it.
    pub to: SocketAddr,
    /// Number of its first byte, or of its SYN.
    pub seq: u32,
    /// The next byte that its sender expects. It has a meaning only with the flag.
    pub ack: u32,
    /// Its flags.
    pub flags: Flags,
    /// The window in the header, not yet scaled.
    pub window: u16,
    /// Bytes of data by the headers, also of a packet that the capture has cut.
    pub payload: u32,
    /// Its options. Those that the capture has cut off are missing.
    pub options: Options,
    /// ECN codepoint of its packet.
    pub ecn: Ecn,
    /// Identification of its packet; `None` with IPv6. It tells a retransmission from a packet captured twice.
    pub identification: Option<u16>,
    /// Time to live, or hop limit.
    pub hops: u8,
}
