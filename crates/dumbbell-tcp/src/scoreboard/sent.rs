//! A segment on the scoreboard.

use dumbbell_units::Time;

/// Reported, and not cleared since.
pub(super) const SACKED: u8 = 1;
/// Considered lost.
pub(super) const LOST: u8 = 2;
/// Retransmitted in this recovery.
pub(super) const RESENT: u8 = 4;
/// Selectively acknowledged at some time, even if reports were cleared since.
pub(super) const EVER_REPORTED: u8 = 8;
/// Counted as lost before enough data above it was reported.
pub(super) const LOST_EARLY: u8 = 16;

/// Considered lost by its time, and not to be examined again until it is retransmitted.
pub(super) const EXAMINED: u8 = 32;
/// Retransmitted as a probe that does not count as in the network.
pub(super) const PROBED: u8 = 64;

/// One segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First byte.
    pub seq: u64,
    /// Time of the last transmission.
    pub sent_at: Time,
    /// Payload in bytes.
    pub len: u32,
    /// Number of transmissions, at least 1; saturates.
    pub transmissions: u8,
    /// Number of transmissions considered lost.
    pub(super) losses: u8,
    pub(super) flags: u8,
}

impl Sent {
    /// A segment sent for the first time.
    pub(super) fn new(seq: u64, len: u32, now: Time) -> Self {
        Sent { seq, sent_at: now, len, transmissions: 1, losses: 0, flags: 0 }
    }

    /// First byte after the segment.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    /// True if the receiver reported it.
    pub fn is_sacked(&self) -> bool {
        self.flags & SACKED != 0
    }

    /// True if its acknowledgement gives a round-trip time sample: it was sent once and never reported.
    pub fn is_timed_by_acknowledgement(&self) -> bool {
        self.transmissions == 1 && self.flags & EVER_REPORTED == 0
    }

    /// Bytes not yet reported.
    pub(super) fn undelivered(&self) -> u64 {
        if self.flags & EVER_REPORTED == 0 { u64::from(self.len) } else { 0 }
    }

    /// Bytes by which its delivery counts as more, if a segment counts as `least` bytes at least.
    pub(super) fn excess(&self, least: u32) -> u64 {
        if self.flags & EVER_REPORTED == 0 { u64::from(least.saturating_sub(self.len)) } else { 0 }
    }

    /// True if its first transmission is neither reported nor lost.
    pub(super) fn is_first_out(&self) -> bool {
        self.transmissions == 1 && self.flags & (SACKED | LOST | EXAMINED) == 0
    }

    /// True if it was neither reported nor retransmitted in this recovery.
    pub(super) fn is_hole(&self) -> bool {
        self.flags & (SACKED | RESENT) == 0
    }

    /// Bytes it contributes to the pipe: once unless reported or lost, plus once if retransmitted. A segment counts as
    /// `least` bytes at least.
    pub(super) fn in_pipe(&self, least: u32) -> u64 {
        if self.is_sacked() {
            return 0;
        }
        let copies = u64::from(self.flags & LOST == 0) + u64::from(self.flags & (RESENT | PROBED) == RESENT);
        copies * u64::from(self.len.max(least))
    }
}
