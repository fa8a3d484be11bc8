//! Packet contents. A packet and its slot take one cache line of 64 bytes; its fields are whole words, so that it
//! moves as a few vectors.

use dumbbell_net::Packet;
use dumbbell_tcp::{AckSegment, DataSegment, SackBlocks};
use dumbbell_units::{Ecn, Time};

/// Content of a packet between end points, depending on the kind of the packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Payload {
    /// First byte of a segment, or next byte expected.
    number: u64,
    /// Queueing time echoed by an acknowledgement.
    queueing_echo: Time,
    /// Length of a segment, or index of the SACK blocks of an acknowledgement.
    detail: u32,
    /// Flags, and above them the number of a segment's flow, since its connection may end before the packet arrives.
    flags: u32,
}

const SYN: u32 = 1;
const RETRANSMISSION: u32 = 2;
/// CWR in a segment, ECE in an acknowledgement.
const ECN: u32 = 4;
/// In a datagram: an impairment has made it.
const COPY: u32 = 1;
/// Bits of the flags.
const FLAGS: u32 = 3;

/// No slot: the acknowledgement has no SACK blocks.
const NO_REPORTS: u32 = u32::MAX;

impl Payload {
    /// A segment of a flow, encoded.
    #[inline]
    pub(super) fn of_segment(flow: u32, segment: &DataSegment) -> Self {
        let flags = u32::from(segment.is_syn) * SYN
            + u32::from(segment.is_retransmission) * RETRANSMISSION
            + u32::from(segment.is_cwr) * ECN;
        let flags = flow << FLAGS | flags;
        Payload { number: segment.seq, queueing_echo: Time::ZERO, detail: segment.len, flags }
    }

    /// The payload of a copy of a datagram.
    pub(super) fn of_copy() -> Self {
        Payload { flags: COPY, ..Payload::default() }
    }

    /// True if a datagram is a copy, whose bytes are not new.
    pub(super) fn is_copy(&self) -> bool {
        self.flags & COPY != 0
    }

    /// The flow of a data packet.
    #[inline]
    pub(super) fn flow(&self) -> u32 {
        self.flags >> FLAGS
    }

    /// The segment in a data packet that arrives with this codepoint.
    #[inline]
    pub(super) fn segment(&self, ecn: Ecn) -> DataSegment {
        DataSegment {
            seq: self.number,
            len: self.detail,
            is_retransmission: self.flags & RETRANSMISSION != 0,
            is_syn: self.flags & SYN != 0,
            ecn,
            is_cwr: self.flags & ECN != 0,
        }
    }
}

/// The SACK blocks of acknowledgements in flight; most have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl Reports {
    /// Encodes an acknowledgement. The time it echoes becomes the time stamp of its packet.
    #[inline]
    pub(super) fn carry(&mut self, ack: &AckSegment) -> Payload {
        let detail = if ack.sack.is_empty() { NO_REPORTS } else { self.keep(ack.sack) };
        let flags = u32::from(ack.is_syn) * SYN + u32::from(ack.is_ece) * ECN;
        Payload { number: ack.ack, queueing_echo: ack.queueing_echo, detail, flags }
    }

    fn keep(&mut self, blocks: SackBlocks) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.blocks[index as usize] = blocks;
                index
            }
            None => {
                self.blocks.push(blocks);
                (self.blocks.len() - 1) as u32
            }
        }
    }

    /// The payload of a copy of an acknowledgement, with SACK blocks of its own.
    pub(super) fn copy(&mut self, payload: &Payload) -> Payload {
        if payload.detail == NO_REPORTS {
            return *payload;
        }
        Payload { detail: self.keep(self.blocks[payload.detail as usize]), ..*payload }
    }

    /// The acknowledgement in a packet that has arrived.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet<Payload>) -> AckSegment {
        AckSegment {
            ack: packet.payload.number,
            timestamp_echo: packet.timestamp,
            sack: self.release(&packet.payload),
            queueing_echo: packet.payload.queueing_echo,
            is_syn: packet.payload.flags & SYN != 0,
            is_ece: packet.payload.flags & ECN != 0,
        }
    }

    /// Frees the SACK blocks of an acknowledgement that is no longer in flight.
    #[inline]
    pub(super) fn release(&mut self, payload: &Payload) -> SackBlocks {
        if payload.detail == NO_REPORTS {
            return SackBlocks::default();
        }
        self.free.push(payload.detail);
        self.blocks[payload.detail as usize]
    }
}

const _: () = assert!(size_of::<Packet<Payload>>() <= 60 - 4);
