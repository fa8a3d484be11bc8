//! Reno's recovery with mechanisms C, D and E of Vegas as ns-2's code has them, faults included:
//! * D considers a segment late that was never sent, and sends it twice; it continues after a timeout.
//! * A retransmitted segment is still timed, and a fast retransmission backs the coarse timer off.
//! * The loss of a retransmission, or of data sent at the very start, does not reduce the window.
//! * Every duplicate beyond the third inflates the window, in a recovery or not. After more than three, the window
//!   returns to that of the last reduction, regardless of its growth since, and to none after a timeout; only then
//!   slow start ends.
//! * A timeout halves the window including its inflation; the first two duplicates stop the sender.

use super::fast::LastCut;
use super::fine::{CheckRule, FineChecks};
use super::{LossRecovery, NewAck, Start, TimerRule};
use crate::config::recovery::Ns2VegasRules;
use crate::segment::DataSegment;
use crate::sender::access::Access;
use crate::sender::cause::Cause;
use crate::sender::duplicates::DUPLICATE_THRESHOLD;
use dumbbell_cc::Signal;
use dumbbell_units::Time;

/// The state of the recovery.
#[derive(Clone, Debug)]
pub struct Ns2Vegas {
    checks: FineChecks,
    inflates_by_count: bool,
    recover: Option<u64>,
    last_cut: LastCut,
    /// Window after the last reduction on duplicate ACKs, in bytes; 0 after a timeout.
    cut_window: f64,
}

impl Ns2Vegas {
    fn may_retransmit(&self, connection: &Access<'_>) -> bool {
        self.recover.is_none_or(|recover| connection.snd_una() > recover) || self.last_cut != LastCut::Timeout
    }

    fn retransmit(&mut self, connection: &mut Access<'_>) {
        let Some(head) = connection.begin_fast_retransmit() else { return };
        let cause = connection.duplicates().cause();
        self.checks.on_fast_retransmit(&head, connection.next_index() as u32 + 1);
        if self.checks.may_reduce(|reduced| reduced < head.sent_at) {
            if connection.duplicates().has_limited_transmit() && !connection.in_recovery() {
                connection.duplicates_mut().inflation = 0.0;
            }
            connection.reduce(Signal::FastRetransmit, head.retransmitted_before);
            self.checks.on_reduction(connection.now());
            self.cut_window = connection.congestion().cwnd();
            connection.inflate_at_entry(self.inflates_by_count);
        }
        self.last_cut = LastCut::DuplicateAcks;
        self.recover = Some(connection.snd_max());
        connection.back_off();
        connection.end_fast_retransmit(&head);
        connection.enter_recovery();
        connection.resend_head(cause);
    }

    /// The rest of the single window, which includes the inflation: after more than three duplicate ACKs it returns to
    /// the window of the last reduction, which is none after a timeout.
    fn kept(&self, connection: &Access<'_>) -> f64 {
        if connection.duplicates().count > DUPLICATE_THRESHOLD && connection.cwnd() > self.cut_window {
            self.cut_window - connection.congestion().cwnd()
        } else {
            connection.duplicates().inflation
        }
    }
}

impl LossRecovery for Ns2Vegas {
    type Rules = Ns2VegasRules;

    fn new(rules: &Ns2VegasRules, start: &Start) -> Self {
        let rule = CheckRule { both: rules.check_both, again: false };
        let mut checks = FineChecks::new(start.mechanisms, rule);
        // Data sent first is sent no later than the last reduction.
        checks.on_reduction(start.now);
        Ns2Vegas {
            checks,
            inflates_by_count: start.mechanisms.quarter_cut,
            recover: None,
            last_cut: LastCut::None,
            cut_window: 0.0,
        }
    }

    fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
        if connection.duplicates().reach_threshold() || self.checks.is_head_late(connection) {
            if self.may_retransmit(connection) {
                self.retransmit(connection);
            }
        } else if connection.duplicates().count > DUPLICATE_THRESHOLD {
            connection.duplicates_mut().inflation += f64::from(connection.mss());
        } else {
            connection.grant_limited_transmit();
        }
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, _ack: u64) -> NewAck {
        connection.leave_recovery(self.kept(connection));
        connection.duplicates_mut().clear();
        let is_stalled = connection.unsent_segment() > 0;
        let timer = if is_stalled { TimerRule::RestartAlways } else { TimerRule::Restart };
        NewAck { timer, follows_up: true, ..NewAck::FULL }
    }

    fn on_acknowledged(&mut self, connection: &mut Access<'_>, _acked: u64, rtt: Option<Time>) {
        self.checks.on_sample(rtt);
        if self.checks.check(|checks| checks.has_head_expired(connection).unwrap_or(true)) {
            connection.duplicates_mut().count = DUPLICATE_THRESHOLD;
            connection.count_head_lost();
            connection.enter_recovery();
            connection.resend_head(Cause::FineTimeout);
        }
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        connection.reduce_at_timeout(connection.flight_size());
        self.last_cut = LastCut::Timeout;
        self.recover = Some(connection.snd_max());
        self.checks.on_reduction(connection.now());
        self.cut_window = 0.0;
        connection.duplicates_mut().count = 0;
    }

    fn poll_head(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        if !connection.scoreboard().is_empty() {
            return Some(connection.send_again(0));
        }
        let len = connection.unsent_segment();
        (len > 0).then(|| {
            let segment = connection.send_new(len);
            connection.go_back(Cause::FineTimeout);
            segment
        })
    }
}
