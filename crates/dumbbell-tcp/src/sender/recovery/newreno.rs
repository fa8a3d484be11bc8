//! NewReno: a fast recovery that repairs one hole per round trip, at each partial ACK [RFC 6582 §3.2].

use super::fast::burst_limit;
use super::{LossRecovery, NewAck, Start, TimerRule};
use crate::config::recovery::{Deflation, NewRenoRules, PartialAck};
use crate::sender::access::Access;
use crate::sender::cause::Cause;
use dumbbell_cc::Signal;
use dumbbell_units::Time;

/// The state of NewReno's recovery.
#[derive(Clone, Debug)]
pub struct NewReno {
    rules: NewRenoRules,
    inflates_by_count: bool,
    recover: Option<u64>,
    saw_partial_ack: bool,
    /// Bytes deducted from the window by partial ACKs until the recovery ends: part of the inflation, below zero.
    deflated: f64,
}

impl NewReno {
    /// A partial ACK of `acked` bytes deducts what left the network from the inflation, less the retransmitted segment.
    fn deflate(&mut self, connection: &mut Access<'_>, acked: u64) {
        let mss = f64::from(connection.mss());
        let cwnd = connection.congestion().cwnd();
        let inflation = connection.duplicates().inflation;
        connection.duplicates_mut().inflation = match self.rules.deflation {
            Deflation::Partial => {
                let credit = if acked >= u64::from(connection.mss()) { mss } else { 0.0 };
                (inflation - acked as f64 + credit).max(mss - cwnd)
            }
            Deflation::Full => 0.0,
            Deflation::Lasting => {
                let excess = acked as f64 - (inflation + self.deflated);
                if excess < 0.0 {
                    inflation - acked as f64 + mss
                } else {
                    self.deflated = (self.deflated + excess).min(cwnd - mss);
                    mss - self.deflated
                }
            }
        };
    }
}

impl LossRecovery for NewReno {
    type Rules = NewRenoRules;

    fn new(rules: &NewRenoRules, start: &Start) -> Self {
        NewReno {
            rules: rules.clone(),
            inflates_by_count: start.mechanisms.quarter_cut,
            recover: None,
            saw_partial_ack: false,
            deflated: 0.0,
        }
    }

    fn burst_limit(&self) -> u64 {
        burst_limit(self.rules.max_burst)
    }

    fn deflated(&self) -> f64 {
        self.deflated
    }

    fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
        let mss = f64::from(connection.mss());
        if connection.in_recovery() {
            connection.duplicates_mut().inflation += mss;
            return;
        }
        if !connection.shows_loss(self.recover) {
            return;
        }
        let Some(head) = connection.begin_fast_retransmit() else { return };
        connection.duplicates_mut().inflation = 0.0;
        connection.reduce(Signal::FastRetransmit, head.retransmitted_before);
        connection.inflate_at_entry(self.inflates_by_count);
        self.recover = Some(connection.snd_max());
        self.saw_partial_ack = false;
        connection.end_fast_retransmit(&head);
        connection.enter_recovery();
        connection.resend_head(Cause::DuplicateAcks);
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, ack: u64) -> NewAck {
        if connection.in_recovery() {
            if self.recover.is_some_and(|recover| ack < recover) {
                let is_impatient = self.rules.partial_ack == PartialAck::Impatient && self.saw_partial_ack;
                let timer = if is_impatient { TimerRule::GoOn } else { TimerRule::Restart };
                return NewAck { timer, ..NewAck::PARTIAL };
            }
            connection.leave_recovery(-std::mem::take(&mut self.deflated));
        }
        connection.duplicates_mut().clear();
        NewAck::FULL
    }

    fn on_acknowledged(&mut self, connection: &mut Access<'_>, acked: u64, _rtt: Option<Time>) {
        self.saw_partial_ack = true;
        connection.duplicates_mut().count = 0;
        self.deflate(connection, acked);
        connection.count_head_lost();
        connection.resend_head(Cause::PartialAck);
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        connection.exclude_inflation(self.deflated);
        connection.reduce_at_timeout(connection.flight_size());
        self.deflated = 0.0;
        self.recover = Some(connection.snd_max());
        connection.duplicates_mut().count = 0;
    }
}
