//! Steps shared by the fast recoveries.

use super::super::connection::Connection;
use super::super::observation::Cause;
use super::super::trace::TcpEventKind;
use dumbbell_cc::{Congestion, RecoveryExit, Signal};
use dumbbell_units::Time;

/// The oldest segment, considered lost.
pub(super) struct LostHead {
    /// Time of its last transmission.
    pub(super) sent_at: Time,
    /// It had been sent more than once.
    pub(super) retransmitted_before: bool,
    /// Congestion window when the loss was detected, in bytes.
    cwnd: f64,
}

/// The last reason to reduce the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastCut {
    None,
    DuplicateAcks,
    Timeout,
}

/// Maximum number of segments per event during recovery; 0 for no limit.
pub(super) fn burst_limit(max_burst: u64) -> u64 {
    if max_burst == 0 { u64::MAX } else { max_burst }
}

impl Connection {
    /// The oldest segment is considered lost before its timeout; `None` if nothing is outstanding.
    pub(super) fn begin_fast_retransmit(&mut self, now: Time) -> Option<LostHead> {
        let head = *self.scoreboard.head()?;
        self.count_head_lost(now);
        self.stats.fast_retransmits += 1;
        let (sent_at, retransmitted_before) = (head.sent_at, head.transmissions > 1);
        Some(LostHead { sent_at, retransmitted_before, cwnd: self.congestion.cwnd() })
    }

    /// The window is reduced, and the oldest segment is about to be retransmitted.
    pub(super) fn end_fast_retransmit(&mut self, now: Time, head: &LostHead) {
        self.retransmission.stop_timing();
        self.restart_retransmission_timer(now);
        if !head.retransmitted_before {
            self.duplicates.raise_to_threshold();
        }
        self.note(now, TcpEventKind::FastRetransmit, head.cwnd);
    }

    /// A recovery begins or begins again: the oldest segment is retransmitted at once, for this reason.
    pub(super) fn enter_recovery(&mut self, now: Time, cause: Cause) {
        if !self.in_recovery {
            let context = self.context(now);
            let cwnd_before = self.congestion.cwnd();
            self.congestion.on_recovery_enter(&context);
            self.note(now, TcpEventKind::RecoveryEnter, cwnd_before);
        }
        self.in_recovery = true;
        self.resend.head = Some(cause);
    }

    /// A recovery based on reports begins: the window is reduced, not inflated, and no hole is repaired yet. False if
    /// nothing is outstanding.
    pub(super) fn enter_sack_recovery(&mut self, now: Time) -> bool {
        let Some(head) = self.begin_fast_retransmit(now) else { return false };
        let cause = if self.duplicates.reach_threshold() { Cause::DuplicateAcks } else { Cause::Sack };
        self.duplicates.inflation = 0.0;
        self.reduce(now, Signal::FastRetransmit, head.retransmitted_before);
        self.end_fast_retransmit(now, &head);
        self.enter_recovery(now, cause);
        self.scoreboard.begin_recovery();
        true
    }

    /// A recovery ends. The inflation that it leaves in the window is `kept`, in bytes.
    pub(super) fn leave_recovery(&mut self, now: Time, kept: f64) {
        let context = self.context(now);
        let cwnd_before = self.congestion.cwnd();
        self.congestion.on_recovery_exit(&context, &RecoveryExit::new(kept));
        self.in_recovery = false;
        self.note(now, TcpEventKind::RecoveryExit, cwnd_before);
    }

    /// Unless a timeout also reduces the inflation of a recovery, the window that is reduced excludes the inflation and
    /// the segments granted by limited transmit. Bytes `deflated` by partial ACKs remain deducted.
    pub(super) fn exclude_inflation(&mut self, deflated: f64) {
        if !(self.in_recovery && self.reduces_inflation) {
            self.duplicates.inflation = -deflated;
        }
    }

    /// The retransmission timer expired with this many bytes in flight: the window is reduced, and the recovery ends.
    pub(super) fn reduce_at_timeout(&mut self, now: Time, flight_size: u64) {
        self.scoreboard.count_all_lost();
        self.announce_losses(now);
        self.react_to_timeout(now, flight_size);
    }

    /// The same after the losses were announced.
    pub(super) fn react_to_timeout(&mut self, now: Time, flight_size: u64) {
        self.ecn.on_reduction(self.snd_max);
        let retransmitted_before = self.scoreboard.head().is_some_and(|head| head.transmissions > 1);
        let mut context = self.context(now);
        context.flight_size = flight_size as f64;
        context.in_flight = self.scoreboard.in_network(self.next_index) as f64;
        let congestion = Congestion::new(Signal::Timeout).with_retransmitted_before(retransmitted_before);
        self.congestion.on_congestion(&context, &congestion);
        self.in_recovery = false;
        self.duplicates.inflation = 0.0;
        self.duplicates.forget_limited_bytes();
    }

    /// The ACK that began a recovery inflates the window by the segments that have left the network according to
    /// duplicate ACKs [RFC 5681 §3.2 step 3]: three, or their actual number.
    pub(super) fn inflate_at_entry(&mut self, by_count: bool) {
        let segments =
            if by_count { self.duplicates.count } else { super::super::duplicates::DUPLICATE_THRESHOLD };
        self.duplicates.inflation = f64::from(segments) * f64::from(self.mss);
    }
}
