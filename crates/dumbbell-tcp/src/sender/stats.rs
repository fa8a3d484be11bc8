//! Counters of a sender.

use dumbbell_units::math::least;

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStats {
    /// Data segments sent, including retransmissions.
    pub segments_sent: u64,
    /// Payload bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// Segments retransmitted.
    pub segments_retransmitted: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Expirations of the coarse retransmission timer.
    pub timeouts: u64,
    /// Fast retransmissions, on duplicate ACKs or on the fine timeout.
    pub fast_retransmits: u64,
    /// Sum of the round-trip times of segments sent once and not selectively acknowledged before, in seconds.
    pub rtt_sum: f64,
    /// Number of those round-trip times.
    pub rtt_count: u64,
    /// Minimum of them, in seconds.
    pub rtt_min: f64,
    /// The latest of them, in seconds.
    pub rtt_latest: f64,
    /// Number of times that the receive window, not the congestion window, stopped the sender.
    pub receive_window_limited: u64,
}

impl SenderStats {
    /// Mean round-trip time, in seconds; `None` without samples.
    pub(super) fn rtt_mean(&self) -> Option<f64> {
        (self.rtt_count > 0).then(|| self.rtt_sum / self.rtt_count as f64)
    }

    /// Adds a round-trip time, in seconds.
    #[inline]
    pub(super) fn on_rtt(&mut self, rtt: f64) {
        self.rtt_sum += rtt;
        self.rtt_count += 1;
        self.rtt_min = least(rtt, self.rtt_min);
        self.rtt_latest = rtt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_times_have_a_mean_once_there_are_some() {
        let mut stats = SenderStats { rtt_min: f64::INFINITY, ..SenderStats::default() };
        assert_eq!(stats.rtt_mean(), None);
        [0.5, 0.25].into_iter().for_each(|rtt| stats.on_rtt(rtt));
        assert_eq!((stats.rtt_mean(), stats.rtt_min, stats.rtt_latest), (Some(0.375), 0.25, 0.25));
    }
}
