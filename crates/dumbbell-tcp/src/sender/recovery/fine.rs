//! Mechanisms C, D and E of Vegas [brakmo1995 §3.1]: the fine timeout on duplicate ACKs, the checks after a
//! retransmission, and one window reduction per loss episode.

use crate::fine::FineTimeout;
use crate::sender::access::{Access, LostHead};
use dumbbell_cc::Mechanisms;
use dumbbell_units::Time;

/// New ACKs after a retransmission that mechanism D checks.
const CHECKS: u32 = 2;

/// Which new ACKs mechanism D checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckRule {
    /// The second one even if the first check found nothing.
    pub(super) both: bool,
    /// Those after a retransmission by mechanism D itself.
    pub(super) again: bool,
}

/// The state of the three mechanisms.
#[derive(Clone, Debug)]
pub(super) struct FineChecks {
    retransmits: bool,
    checks: bool,
    one_reduction: bool,
    rule: CheckRule,
    timeout: FineTimeout,
    last_reduction: Option<Time>,
    checks_left: u32,
}

impl FineChecks {
    pub(super) fn new(mechanisms: Mechanisms, rule: CheckRule) -> Self {
        FineChecks {
            retransmits: mechanisms.fine_retransmit,
            checks: mechanisms.check_after_retransmit,
            one_reduction: mechanisms.one_reduction,
            rule,
            timeout: FineTimeout::default(),
            last_reduction: None,
            checks_left: 0,
        }
    }

    /// True if C or D is on, which need round-trip times.
    pub(super) fn time_segments(&self) -> bool {
        self.retransmits || self.checks
    }

    /// Mechanism C: the oldest segment has waited for the fine timeout.
    pub(super) fn is_head_late(&self, connection: &Access<'_>) -> bool {
        self.retransmits && self.has_head_expired(connection).unwrap_or(false)
    }

    /// Whether the oldest segment has waited for the fine timeout; `None` if nothing is outstanding.
    pub(super) fn has_head_expired(&self, connection: &Access<'_>) -> Option<bool> {
        let head = connection.scoreboard().head()?;
        Some(self.timeout.has_expired(head.sent_at, connection.now()))
    }

    /// Mechanism E: true if the window may be reduced again. `is_news` decides whether the loss is a new one, given the
    /// time of the last reduction.
    pub(super) fn may_reduce(&self, is_news: impl Fn(Time) -> bool) -> bool {
        !self.one_reduction || self.last_reduction.is_none_or(is_news)
    }

    /// The window was reduced.
    pub(super) fn on_reduction(&mut self, now: Time) {
        self.last_reduction = Some(now);
    }

    /// A segment is retransmitted on duplicate ACKs, with this many segments unacknowledged.
    pub(super) fn on_fast_retransmit(&mut self, head: &LostHead, unacknowledged: u32) {
        if self.checks {
            self.checks_left = CHECKS.min(unacknowledged);
        }
        self.timeout.on_retransmission(head.retransmitted_before);
    }

    /// A new ACK arrived, with or without a round-trip time.
    #[inline]
    pub(super) fn on_sample(&mut self, rtt: Option<Time>) {
        if let Some(rtt) = rtt
            && self.time_segments()
        {
            self.timeout.sample(rtt);
        }
    }

    /// Mechanism D: a new ACK arrived. True if it is checked and the oldest segment has expired.
    #[inline]
    pub(super) fn check(&mut self, has_expired: impl Fn(&Self) -> bool) -> bool {
        if self.checks_left == 0 {
            return false;
        }
        self.checks_left -= 1;
        let expired = has_expired(self);
        if expired && self.rule.again {
            self.checks_left = CHECKS;
        } else if !expired && !self.rule.both {
            self.checks_left = 0;
        }
        expired
    }

    /// No further ACK is checked.
    pub(super) fn stop(&mut self) {
        self.checks_left = 0;
    }
}
