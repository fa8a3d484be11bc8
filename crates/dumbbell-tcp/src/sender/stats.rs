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
    /// Fast retransmissions, by duplicate ACKs or by the fine timeout on them.
    pub fast_retransmits: u64,
    /// Sum of the round-trip times of segments sent once and not reported before, in seconds.
    pub rtt_sum: f64,
    /// Number of those round-trip times.
    pub rtt_count: u64,
    /// Smallest of them, in seconds.
    pub rtt_min: f64,
    /// Times the receive window, not the congestion window, stopped the sender.
    pub receive_window_limited: u64,
}

impl SenderStats {
    /// Mean of the round-trip times, in seconds; `None` without any.
    pub(super) fn rtt_mean(&self) -> Option<f64> {
        (self.rtt_count > 0).then(|| self.rtt_sum / self.rtt_count as f64)
    }

    /// A round-trip time, in seconds.
    #[inline]
    pub(super) fn on_rtt(&mut self, rtt: f64) {
        self.rtt_sum += rtt;
        self.rtt_count += 1;
        self.rtt_min = least(rtt, self.rtt_min);
    }
}
