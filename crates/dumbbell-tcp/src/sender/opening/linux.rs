//! Lost connection requests and giving up in Linux [linux6 tcp_timer.c, tcp_input.c, tcp_metrics.c].

use super::{Opening, Phase};
use dumbbell_units::Time;

/// Timeouts of a request that do not double the next (`tcp_syn_linear_timeouts`), and those that do (`tcp_syn_retries`).
const LINEAR_TIMEOUTS: u32 = 4;
const RETRIES: u32 = 6;
/// For this long data is retransmitted: fifteen timeouts (`tcp_retries2`) that begin with 200 ms and are at most 120 s
/// (`tcp_model_timeout`).
const LONGEST: Time = Time(924_600_000_000);
/// Timeout of the first data if the handshake gives no round-trip time (`TCP_TIMEOUT_FALLBACK`; RFC 6298 §5.7).
pub(in crate::sender) const FALLBACK_TIMEOUT: Time = Time(3_000_000_000);

impl Opening {
    /// `tcp_write_timeout`, after this timeout was counted.
    pub(super) fn gives_up_in_linux(&self, now: Time) -> bool {
        if self.phase == Phase::Open {
            return self.timeouts_in_a_row > 1 && now.since(self.first_timeout_at) >= LONGEST;
        }
        self.timeouts_in_a_row > LINEAR_TIMEOUTS + RETRIES
    }

    /// `tcp_retransmit_timer`, after this timeout was counted.
    pub(super) fn backs_off_in_linux(&self) -> bool {
        self.phase == Phase::Open || self.timeouts_in_a_row > LINEAR_TIMEOUTS
    }

    /// True if the answer to the request, which echoes this time, leaves an initial window of one segment: it was repeated
    /// more than once, and the first one was lost (`tcp_init_transfer`).
    pub(in crate::sender) fn leaves_one_segment(&self, timeouts: u64, echo: Option<Time>) -> bool {
        timeouts > 1 && echo != Some(self.first_requested_at)
    }
}
