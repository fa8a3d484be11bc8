//! Recovery from a scoreboard of selective acknowledgements [RFC 6675 §5].

use super::fast::burst_limit;
use super::prr::Reduction;
use super::{LossRecovery, NewAck, Start};
use crate::config::recovery::SackRules;
use crate::segment::DataSegment;
use crate::sender::access::Access;
use dumbbell_units::Time;

/// The state of the recovery.
#[derive(Clone, Debug)]
pub struct Rfc6675 {
    rules: SackRules,
    recover: Option<u64>,
    reduction: Reduction,
}

impl Rfc6675 {
    /// A recovery without a burst limit and without rescue retransmissions.
    pub(super) fn without_rescue() -> Self {
        let rules = SackRules { rescue: false, ..SackRules::default() };
        Rfc6675 { rules, recover: None, reduction: Reduction::default() }
    }

    /// While the pipe has room, or one segment must be sent: repairs lost holes, then sends new data, then holes not
    /// known to be lost, then the newest segment once, and if one must be sent the oldest [RFC 6675 §4, NextSeg; §5
    /// step C].
    pub(super) fn poll_recovery(&self, connection: &mut Access<'_>, must_send: bool) -> Option<DataSegment> {
        let pipe = connection.scoreboard().pipe() + u64::from(connection.mss());
        if pipe as f64 > connection.cwnd() && !must_send {
            return connection.pause(true);
        }
        if let Some(index) = connection.scoreboard_mut().next_lost() {
            return Some(connection.send_again(index));
        }
        if connection.next_index() == connection.scoreboard().len()
            && let Some(segment) = connection.poll_new()
        {
            return Some(segment);
        }
        let mut index = connection.scoreboard_mut().next_unreported();
        if index.is_none() && self.rules.rescue {
            index = connection.scoreboard_mut().rescue();
        }
        let index = index.or(must_send.then_some(0))?;
        Some(connection.send_again(index))
    }
}

impl LossRecovery for Rfc6675 {
    type Rules = SackRules;

    fn new(rules: &SackRules, _start: &Start) -> Self {
        Rfc6675 { rules: rules.clone(), recover: None, reduction: Reduction::default() }
    }

    fn burst_limit(&self) -> u64 {
        burst_limit(self.rules.max_burst)
    }

    fn deflated(&self) -> f64 {
        -self.reduction.excess()
    }

    fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
        if connection.in_recovery() {
            if self.rules.prr {
                self.reduction.on_ack(connection, false);
            }
            return;
        }
        if !connection.duplicates().reach_threshold() && !connection.scoreboard().is_head_lost() {
            connection.grant_limited_transmit();
            return;
        }
        if self.recover.is_some_and(|recover| connection.snd_una() < recover) {
            return;
        }
        let prior = connection.congestion().cwnd();
        if !connection.enter_sack_recovery() {
            return;
        }
        self.recover = Some(connection.snd_max());
        if self.rules.prr {
            self.reduction = Reduction::begin(connection, prior);
        }
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, ack: u64) -> NewAck {
        if connection.in_recovery() {
            if self.recover.is_some_and(|recover| ack < recover) {
                return NewAck::PARTIAL;
            }
            self.reduction.end(connection);
            connection.leave_recovery(0.0);
        }
        connection.duplicates_mut().clear();
        NewAck::FULL
    }

    fn on_acknowledged(&mut self, connection: &mut Access<'_>, _acked: u64, _rtt: Option<Time>) {
        connection.duplicates_mut().count = 0;
        if self.rules.prr {
            self.reduction.on_ack(connection, true);
        }
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        if self.rules.prr && connection.in_recovery() {
            self.reduction.end(connection);
        }
        connection.exclude_inflation(0.0);
        // Reported data has left the network, and may be many windows if a retransmission was lost.
        connection.reduce_at_timeout(connection.scoreboard().unreported());
        self.recover = Some(connection.snd_max());
        connection.duplicates_mut().count = 0;
    }

    fn poll(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        self.poll_recovery(connection, false)
    }
}
