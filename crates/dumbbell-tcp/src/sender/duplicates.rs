//! Duplicate ACKs: their count, and the inflation of the window.

use super::cause::Cause;

/// Duplicate ACKs that signal a loss [RFC 5681 §3.2].
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

/// The duplicate ACKs since new data was last acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Duplicates {
    /// Their number.
    pub(super) count: u32,
    /// Bytes they add to the congestion window; below zero if a recovery has permanently reduced the window.
    pub(super) inflation: f64,
    /// True if the first two release one segment each [RFC 3042 §2].
    limited_transmit: bool,
    /// New bytes sent by limited transmit.
    limited_bytes: u64,
    /// True if the first two stop the sender.
    stop_sender: bool,
    /// A timeout also reduces the inflation of the window.
    pub(super) are_reduced: bool,
}

impl Duplicates {
    pub(super) fn new(limited_transmit: bool, stop_sender: bool, are_reduced: bool) -> Self {
        Duplicates { count: 0, inflation: 0.0, limited_transmit, limited_bytes: 0, stop_sender, are_reduced }
    }

    /// True if currently only retransmissions are sent.
    #[inline]
    pub(super) fn stop_sender(&self) -> bool {
        self.stop_sender && (1..DUPLICATE_THRESHOLD).contains(&self.count)
    }

    /// True if the last one was the third.
    pub(super) fn reach_threshold(&self) -> bool {
        self.count == DUPLICATE_THRESHOLD
    }

    /// Why they cause a retransmission: their number, or else the fine timeout.
    pub(super) fn cause(&self) -> Cause {
        if self.reach_threshold() { Cause::DuplicateAcks } else { Cause::FineTimeout }
    }

    /// Before the third, limited transmit grants one segment for each; nothing more if the count continues after a
    /// timeout.
    pub(super) fn grant_limited_transmit(&mut self, mss: f64) {
        if self.limited_transmit && self.count < DUPLICATE_THRESHOLD {
            self.inflation = (self.inflation + mss).min(f64::from(self.count) * mss);
        }
    }

    /// True if the bytes granted by limited transmit are not part of the window.
    pub(super) fn has_limited_transmit(&self) -> bool {
        self.limited_transmit
    }

    /// A new segment of `len` bytes was sent outside a recovery.
    pub(super) fn on_new_segment(&mut self, len: u32) {
        if self.count > 0 && self.limited_transmit {
            self.limited_bytes += u64::from(len);
        }
    }

    /// New bytes sent by limited transmit; they do not count as in flight at the loss [RFC 5681 §3.2 step 2].
    pub(super) fn limited_bytes(&self) -> u64 {
        self.limited_bytes
    }

    /// Clears the bytes sent by limited transmit.
    pub(super) fn forget_limited_bytes(&mut self) {
        self.limited_bytes = 0;
    }

    /// A recovery has begun: the count is at least the threshold, whatever the cause.
    pub(super) fn raise_to_threshold(&mut self) {
        self.count = self.count.max(DUPLICATE_THRESHOLD);
    }

    /// New data was acknowledged: no duplicates, no inflation.
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.inflation = 0.0;
        self.limited_bytes = 0;
    }
}
