//! Reno: fast retransmit and a fast recovery that ends with the first new ACK [RFC 2001 §4], including Vegas's
//! mechanisms C, D and E.

use super::fast::{LastCut, burst_limit};
use super::fine::{CheckRule, FineChecks};
use super::{LossRecovery, NewAck, Start};
use crate::config::recovery::RenoRules;
use crate::sender::access::Access;
use crate::sender::cause::Cause;
use crate::sender::duplicates::DUPLICATE_THRESHOLD;
use dumbbell_cc::Signal;
use dumbbell_units::Time;

/// The state of Reno's recovery.
#[derive(Clone, Debug)]
pub struct Reno {
    rules: RenoRules,
    checks: FineChecks,
    inflates_by_count: bool,
    recover: Option<u64>,
    last_cut: LastCut,
    /// The current ACK covers retransmitted data and gives the fine timeout no round-trip time.
    is_untimed: bool,
}

impl Reno {
    /// False if duplicate ACKs may be caused by retransmitted data.
    fn may_retransmit(&self, connection: &Access<'_>) -> bool {
        let Some(recover) = self.recover else { return true };
        if connection.snd_una() > recover {
            return true;
        }
        let stems_from_resent = self.rules.careful_variant && self.last_cut == LastCut::Timeout;
        !self.rules.retransmit_once && !stems_from_resent
    }

    fn retransmit(&mut self, connection: &mut Access<'_>) {
        let Some(head) = connection.begin_fast_retransmit() else { return };
        let cause = connection.duplicates().cause();
        self.checks.on_fast_retransmit(&head, connection.next_index() as u32);
        // A retransmission is sent after the reduction that caused it, at the same instant of the clock.
        if self.checks.may_reduce(|reduced| reduced <= head.sent_at) {
            if connection.duplicates().has_limited_transmit() && !connection.in_recovery() {
                connection.duplicates_mut().inflation = 0.0;
            }
            connection.reduce(Signal::FastRetransmit, head.retransmitted_before);
            self.checks.on_reduction(connection.now());
            connection.inflate_at_entry(self.inflates_by_count);
        }
        self.last_cut = LastCut::DuplicateAcks;
        self.recover = Some(connection.snd_max());
        connection.end_fast_retransmit(&head);
        connection.enter_recovery();
        connection.resend_head(cause);
    }
}

impl LossRecovery for Reno {
    type Rules = RenoRules;

    fn new(rules: &RenoRules, start: &Start) -> Self {
        let rule = CheckRule { both: rules.check_both, again: rules.check_again };
        Reno {
            rules: rules.clone(),
            checks: FineChecks::new(start.mechanisms, rule),
            inflates_by_count: start.mechanisms.quarter_cut,
            recover: None,
            last_cut: LastCut::None,
            is_untimed: false,
        }
    }

    fn burst_limit(&self) -> u64 {
        burst_limit(self.rules.max_burst)
    }

    fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
        if connection.duplicates().reach_threshold() || self.checks.is_head_late(connection) {
            if self.may_retransmit(connection) {
                self.retransmit(connection);
            }
        } else if connection.duplicates().count > DUPLICATE_THRESHOLD && connection.in_recovery() {
            connection.duplicates_mut().inflation += f64::from(connection.mss());
        } else {
            connection.grant_limited_transmit();
        }
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, _ack: u64) -> NewAck {
        if connection.in_recovery() {
            let is_deflated = self.rules.deflation_fix || connection.duplicates().count > DUPLICATE_THRESHOLD;
            let kept = if is_deflated { 0.0 } else { connection.duplicates().inflation };
            connection.leave_recovery(kept);
        }
        connection.duplicates_mut().clear();
        self.is_untimed = !self.rules.time_repairs
            && connection.scoreboard().head().is_some_and(|head| head.transmissions > 1);
        NewAck { follows_up: self.checks.time_segments(), ..NewAck::FULL }
    }

    fn on_acknowledged(&mut self, connection: &mut Access<'_>, _acked: u64, rtt: Option<Time>) {
        self.checks.on_sample(rtt.filter(|_| !self.is_untimed));
        if self.checks.check(|checks| checks.has_head_expired(connection).unwrap_or(false)) {
            connection.stop_timing();
            connection.duplicates_mut().count = DUPLICATE_THRESHOLD;
            connection.count_head_lost();
            connection.enter_recovery();
            connection.resend_head(Cause::FineTimeout);
        }
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        connection.exclude_inflation(0.0);
        connection.reduce_at_timeout(connection.flight_size());
        self.last_cut = LastCut::Timeout;
        self.recover = Some(connection.snd_max());
        self.checks.on_reduction(connection.now());
        self.checks.stop();
        connection.duplicates_mut().count = 0;
    }
}
