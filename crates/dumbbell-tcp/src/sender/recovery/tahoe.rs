//! Tahoe: three duplicate ACKs restart from the loss window, like a timeout [jacobson1988 §3].

use super::{LossRecovery, NewAck, Start};
use crate::config::recovery::TahoeRules;
use crate::sender::connection::Connection;
use crate::sender::observation::Cause;
use dumbbell_cc::Signal;
use dumbbell_units::Time;

/// The state of Tahoe's recovery.
#[derive(Clone, Debug)]
pub struct Tahoe {
    rules: TahoeRules,
    recover: Option<u64>,
}

impl LossRecovery for Tahoe {
    type Rules = TahoeRules;

    fn new(rules: &TahoeRules, _start: &Start) -> Self {
        Tahoe { rules: rules.clone(), recover: None }
    }

    fn on_duplicate_ack(&mut self, connection: &mut Connection, now: Time) {
        if !connection.duplicates.reach_threshold() {
            connection.duplicates.grant_limited_transmit(f64::from(connection.mss));
            return;
        }
        let stems_from_resent =
            self.rules.careful_variant && self.recover.is_some_and(|recover| connection.snd_una <= recover);
        if stems_from_resent {
            return;
        }
        let Some(head) = connection.begin_fast_retransmit(now) else { return };
        connection.duplicates.inflation = 0.0;
        connection.reduce(now, Signal::Restart, head.retransmitted_before);
        self.recover = Some(connection.snd_max);
        connection.end_fast_retransmit(now, &head);
        connection.go_back(Cause::DuplicateAcks);
    }

    fn on_new_ack(&mut self, connection: &mut Connection, _now: Time, _ack: u64) -> NewAck {
        connection.duplicates.clear();
        NewAck::FULL
    }

    fn on_timeout(&mut self, connection: &mut Connection, now: Time) {
        connection.exclude_inflation(0.0);
        connection.reduce_at_timeout(now, connection.snd_max - connection.snd_una);
        self.recover = Some(connection.snd_max);
        if !self.rules.timeout_keeps_duplicates {
            connection.duplicates.count = 0;
        }
    }
}
