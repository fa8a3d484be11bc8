//! What a sender counts.

use dumbbell_units::math::least;

/// What a sender has counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStats {
    /// Data segments sent, first and repeated transmissions.
    pub segments_sent: u64,
    /// Payload bytes sent, first and repeated.
    pub bytes_sent: u64,
    /// Segments sent again.
    pub segments_retransmitted: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Expiries of the coarse retransmission timer.
    pub timeouts: u64,
    /// Of these, the ones that repaired the initial slow start.
    pub first_slow_start_timeouts: u64,
    /// Fast retransmissions, by duplicate ACKs or by the fine timeout on them.
    pub fast_retransmits: u64,
    /// Sum of round-trip times of segments sent once that no report has told of before, in seconds.
    pub rtt_sum: f64,
    /// Number of those round-trip times.
    pub rtt_count: u64,
    /// Smallest of them, in seconds.
    pub rtt_min: f64,
    /// Sum over fast retransmits of the time to the next new segment, in smoothed RTTs.
    pub recovery_wait_sum: f64,
    /// Number of those waits.
    pub recovery_wait_count: u64,
    /// Sum over recoveries of the window afterwards over the window before.
    pub window_kept_sum: f64,
    /// Number of those recoveries.
    pub window_kept_count: u64,
    /// Times the receive window, not the congestion window, stopped the sender.
    pub receive_window_limited: u64,
}

impl SenderStats {
    /// A round-trip time, in seconds.
    #[inline]
    pub(super) fn on_rtt(&mut self, rtt: f64) {
        self.rtt_sum += rtt;
        self.rtt_count += 1;
        self.rtt_min = least(rtt, self.rtt_min);
    }
}
