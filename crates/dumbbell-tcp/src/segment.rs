//! Segments exchanged by sender and receiver.

use dumbbell_units::{Ecn, Time};

/// A data segment sent to the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSegment {
    /// First byte.
    pub seq: u64,
    /// Payload, in bytes; 0 for a connection request.
    pub len: u32,
    /// True if these bytes were sent before.
    pub is_retransmission: bool,
    /// True for a connection request, which carries no data.
    pub is_syn: bool,
    /// ECN codepoint: as sent, or as it arrives.
    pub ecn: Ecn,
    /// The sender has reduced its window (CWR) [RFC 3168 §6.1.2].
    pub is_cwr: bool,
}

impl DataSegment {
    /// `len` bytes starting at `seq`, sent for the first time by a transport without ECN.
    pub fn new(seq: u64, len: u32) -> Self {
        DataSegment { seq, len, is_retransmission: false, is_syn: false, ecn: Ecn::NotEct, is_cwr: false }
    }
}

/// Up to three ranges of data above the cumulative acknowledgement, newest first [RFC 2018 §4]. The first may report data
/// that arrived twice instead [RFC 2883 §4].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 3],
    // One word with the next, so that the struct is two vectors that do not overlap.
    count: u32,
    /// 1 if the first range arrived twice.
    duplicates: u32,
}

impl SackBlocks {
    /// Adds the range that starts `offset` bytes above the acknowledgement; a fourth range is dropped.
    #[inline(always)]
    pub fn push(&mut self, offset: u32, len: u32) {
        // Without an index, so that the blocks need not be in memory.
        match self.count {
            0 => self.blocks[0] = (offset, len),
            1 => self.blocks[1] = (offset, len),
            2 => self.blocks[2] = (offset, len),
            _ => return,
        }
        self.count += 1;
    }

    /// Sets the range of data that arrived twice, before any other is added. It may be below the acknowledgement; a range
    /// that is 2 GB away is dropped.
    pub fn push_duplicate(&mut self, ack: u64, start: u64, len: u32) {
        let Ok(offset) = i32::try_from(start.wrapping_sub(ack).cast_signed()) else { return };
        if self.count == 0 {
            self.blocks[0] = (offset.cast_unsigned(), len);
            (self.count, self.duplicates) = (1, 1);
        }
    }

    /// The range that arrived twice, if one is reported.
    pub fn duplicate(&self, ack: u64) -> Option<(u64, u64)> {
        let (offset, len) = self.blocks[0];
        let start = ack.wrapping_add_signed(i64::from(offset.cast_signed()));
        (self.duplicates > 0).then_some((start, start.saturating_add(u64::from(len))))
    }

    /// The ranges above the cumulative acknowledgement, in sequence numbers.
    pub fn ranges(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[self.duplicates as usize..self.count as usize].iter().map(move |&(offset, len)| {
            let start = ack.saturating_add(u64::from(offset));
            (start, start.saturating_add(u64::from(len)))
        })
    }

    /// The same blocks with the ranges in the order of their bytes.
    #[must_use]
    pub fn ascending(mut self) -> SackBlocks {
        self.blocks[self.duplicates as usize..self.count as usize].sort_unstable();
        self
    }

    /// Number of ranges, with the one that arrived twice.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// True if there is no range.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// An acknowledgement sent to the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckSegment {
    /// Next byte the receiver expects.
    pub ack: u64,
    /// Time at which the segment that caused this ACK was sent.
    pub timestamp_echo: Time,
    /// Ranges of data received above `ack`.
    pub sack: SackBlocks,
    /// Queueing time of the newest acknowledged segment [chan2004 §3.1], or [`Time::NEVER`]; see
    /// [`queueing`](Self::queueing).
    pub queueing_echo: Time,
    /// True for the answer to a connection request.
    pub is_syn: bool,
    /// Congestion experienced was received (ECE): with classic feedback, and no report of a window reduction since
    /// [RFC 3168 §6.1.3]; with that of DCTCP, by all data that this ACK acknowledges first [RFC 8257 §3.2].
    pub is_ece: bool,
    /// With accurate feedback, marked data packets received since the connection began, modulo 2^16.
    pub ce_packets: u16,
    /// With accurate feedback, payload of these packets in bytes, modulo 2^32.
    pub ce_bytes: u32,
}

impl AckSegment {
    /// A plain acknowledgement of all data below `ack`.
    pub fn of(ack: u64) -> Self {
        AckSegment {
            ack,
            timestamp_echo: Time::ZERO,
            sack: SackBlocks::default(),
            queueing_echo: Time::NEVER,
            is_syn: false,
            is_ece: false,
            ce_packets: 0,
            ce_bytes: 0,
        }
    }

    /// Queueing time of the newest acknowledged segment, if it requested it and caused this acknowledgement.
    pub fn queueing(&self) -> Option<Time> {
        (self.queueing_echo != Time::NEVER).then_some(self.queueing_echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_range_may_be_data_that_arrived_twice() {
        let mut blocks = SackBlocks::default();
        assert_eq!(blocks.duplicate(5000), None);
        blocks.push_duplicate(5000, 3000, 1000);
        blocks.push(1000, 500);
        assert_eq!((blocks.duplicate(5000), blocks.len()), (Some((3000, 4000)), 2));
        assert_eq!(blocks.ranges(5000).collect::<Vec<_>>(), [(6000, 6500)]);
        blocks.push(200, 300);
        assert_eq!(blocks.ascending().ranges(5000).collect::<Vec<_>>(), [(5200, 5500), (6000, 6500)]);
        assert_eq!(blocks.ascending().duplicate(5000), Some((3000, 4000)));
        // Too far away to be said.
        let mut blocks = SackBlocks::default();
        blocks.push_duplicate(1 << 40, 0, 1000);
        assert!(blocks.is_empty());
    }
}
