//! Duplicate ACKs: how many have come, and what they add to the window meanwhile.

/// Duplicate ACKs that signal a loss [RFC 5681 §3.2].
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

/// The duplicate ACKs since new data was last acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Duplicates {
    /// How many have come.
    pub(super) count: u32,
    /// What they add to the congestion window, in bytes; below zero what a recovery has taken from it for good.
    pub(super) inflation: f64,
    /// True if the first two release a segment each [RFC 3042 §2].
    limited_transmit: bool,
    /// New bytes that limited transmit has sent on them.
    limited_bytes: u64,
    /// True if the first two stop the sender.
    stop_sender: bool,
}

impl Duplicates {
    pub(super) fn new(limited_transmit: bool, stop_sender: bool) -> Self {
        Duplicates { count: 0, inflation: 0.0, limited_transmit, limited_bytes: 0, stop_sender }
    }

    /// True if nothing is sent at present but what repairs a loss.
    #[inline]
    pub(super) fn stop_sender(&self) -> bool {
        self.stop_sender && (1..DUPLICATE_THRESHOLD).contains(&self.count)
    }

    /// True if the one that has just come is the third.
    pub(super) fn reach_threshold(&self) -> bool {
        self.count == DUPLICATE_THRESHOLD
    }

    /// Before the third, limited transmit grants a segment for each. It grants no more where the count outlives a timeout.
    pub(super) fn grant_limited_transmit(&mut self, mss: f64) {
        if self.limited_transmit && self.count < DUPLICATE_THRESHOLD {
            self.inflation = (self.inflation + mss).min(f64::from(self.count) * mss);
        }
    }

    /// True if what limited transmit has granted is no part of the window.
    pub(super) fn has_limited_transmit(&self) -> bool {
        self.limited_transmit
    }

    /// A new segment of `len` bytes left outside of a recovery.
    pub(super) fn on_new_segment(&mut self, len: u32) {
        if self.count > 0 && self.limited_transmit {
            self.limited_bytes += u64::from(len);
        }
    }

    /// New bytes that limited transmit has sent: they are no part of what is in flight at the loss [RFC 5681 §3.2 step 2].
    pub(super) fn limited_bytes(&self) -> u64 {
        self.limited_bytes
    }

    /// Limited transmit's bytes count no more.
    pub(super) fn forget_limited_bytes(&mut self) {
        self.limited_bytes = 0;
    }

    /// A recovery has begun: the count is at least the threshold, whatever started it.
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
