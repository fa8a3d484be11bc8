//! What is observed of recoveries, for statistics.

use super::SenderStats;
use dumbbell_units::Time;

/// The recovery under way, as observed.
#[derive(Clone, Debug, Default)]
pub(super) struct Episodes {
    /// First byte sent after the initial slow start ended, once it has.
    initial_slow_start_end: Option<u64>,
    retransmitted_at: Option<Time>,
    window_before: f64,
}

impl Episodes {
    /// See [`Sender::initial_slow_start_end`](super::Sender::initial_slow_start_end).
    pub(super) fn initial_slow_start_end(&self) -> Option<u64> {
        self.initial_slow_start_end
    }

    /// True until the initial slow start has ended.
    #[inline]
    pub(super) fn in_initial_slow_start(&self) -> bool {
        self.initial_slow_start_end.is_none()
    }

    /// The initial slow start is over, if it was not before.
    pub(super) fn end_initial_slow_start(&mut self, snd_max: u64) {
        self.initial_slow_start_end.get_or_insert(snd_max);
    }

    /// A recovery begins with this window, in bytes.
    pub(super) fn on_entry(&mut self, cwnd: f64) {
        self.window_before = cwnd;
    }

    /// A fast retransmission goes out.
    pub(super) fn on_fast_retransmit(&mut self, now: Time) {
        self.retransmitted_at = Some(now);
    }

    /// A new segment was sent.
    #[inline]
    pub(super) fn on_new_segment(&mut self, now: Time, stats: &mut SenderStats) {
        if self.retransmitted_at.is_some() {
            self.on_new_segment_after_retransmission(now, stats);
        }
    }

    #[cold]
    fn on_new_segment_after_retransmission(&mut self, now: Time, stats: &mut SenderStats) {
        if let Some(retransmitted_at) = self.retransmitted_at.take()
            && stats.rtt_count > 0
        {
            let rtt = stats.rtt_sum / stats.rtt_count as f64;
            stats.recovery_wait_sum += now.since(retransmitted_at).secs() / rtt;
            stats.recovery_wait_count += 1;
        }
    }

    /// A recovery ended with this window, in bytes.
    pub(super) fn on_exit(&mut self, cwnd: f64, stats: &mut SenderStats) {
        if self.window_before > 0.0 {
            stats.window_kept_sum += cwnd / self.window_before;
            stats.window_kept_count += 1;
            self.window_before = 0.0;
        }
    }

    /// The timer expired.
    pub(super) fn on_timeout(&mut self, snd_una: u64, stats: &mut SenderStats) {
        if self.initial_slow_start_end.is_some_and(|end| snd_una < end) {
            stats.first_slow_start_timeouts += 1;
        }
        self.retransmitted_at = None;
    }
}
