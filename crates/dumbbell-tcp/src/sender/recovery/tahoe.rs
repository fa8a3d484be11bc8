//! Tahoe: three duplicate ACKs restart from the loss window, like a timeout [jacobson1988 §3].

use super::{LossRecovery, NewAck, Start};
use crate::config::recovery::TahoeRules;
use crate::sender::access::Access;
use crate::sender::cause::Cause;
use dumbbell_cc::Signal;

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

    fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
        if !connection.shows_loss(self.recover.filter(|_| self.rules.careful_variant)) {
            return;
        }
        let Some(head) = connection.begin_fast_retransmit() else { return };
        connection.duplicates_mut().inflation = 0.0;
        connection.reduce(Signal::Restart, head.retransmitted_before);
        self.recover = Some(connection.snd_max());
        connection.end_fast_retransmit(&head);
        connection.go_back(Cause::DuplicateAcks);
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, _ack: u64) -> NewAck {
        connection.duplicates_mut().clear();
        NewAck::FULL
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        connection.exclude_inflation(0.0);
        connection.reduce_at_timeout(connection.flight_size());
        self.recover = Some(connection.snd_max());
        if !self.rules.timeout_keeps_duplicates {
            connection.duplicates_mut().count = 0;
        }
    }
}
