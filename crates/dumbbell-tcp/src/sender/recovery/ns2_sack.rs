//! The recovery of ns-2's Sack1 [fall1996 §4]. It counts the segments in the network instead of reading them from the
//! scoreboard: from the third duplicate ACK on, each ACK removes one, a partial ACK two, and each transmission adds
//! one. Every unreported segment below the highest report is a hole. Between a timeout and the first new ACK it ignores
//! duplicate ACKs. It continues to time a retransmitted segment, and the ACK that ends a recovery does not grow the
//! window.

use super::{LossRecovery, NewAck, Start};
use crate::config::recovery::Ns2SackRules;
use crate::segment::DataSegment;
use crate::sender::access::Access;
use crate::sender::duplicates::DUPLICATE_THRESHOLD;
use dumbbell_units::Time;

/// The state of the recovery.
#[derive(Clone, Debug)]
pub struct Ns2Sack {
    recover: Option<u64>,
    /// Bytes in the network; a surplus of ACKs makes it negative.
    pipe: i64,
    ignores_duplicates: bool,
}

impl LossRecovery for Ns2Sack {
    type Rules = Ns2SackRules;

    fn new(_rules: &Ns2SackRules, _start: &Start) -> Self {
        Ns2Sack { recover: None, pipe: 0, ignores_duplicates: false }
    }

    fn ignores_duplicates(&self) -> bool {
        self.ignores_duplicates
    }

    fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
        if connection.in_recovery() {
            self.pipe -= i64::from(connection.mss());
            return;
        }
        if !connection.shows_loss(self.recover) || !connection.enter_sack_recovery() {
            return;
        }
        self.recover = Some(connection.snd_max());
        let left = i64::from(DUPLICATE_THRESHOLD) * i64::from(connection.mss());
        self.pipe = connection.flight_size() as i64 - left;
        // Until the next ACK, only the first hole is repaired.
        connection.exhaust_burst();
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, ack: u64) -> NewAck {
        let was_in_recovery = connection.in_recovery();
        if was_in_recovery {
            if self.recover.is_some_and(|recover| ack < recover) {
                self.pipe -= 2 * i64::from(connection.mss());
                return NewAck::PARTIAL;
            }
            // A completed recovery leaves no state.
            self.recover = None;
            connection.leave_recovery(0.0);
        }
        self.ignores_duplicates = false;
        connection.duplicates_mut().clear();
        NewAck { in_recovery: was_in_recovery, clears_reports: true, ..NewAck::FULL }
    }

    fn on_acknowledged(&mut self, connection: &mut Access<'_>, _acked: u64, _rtt: Option<Time>) {
        connection.duplicates_mut().count = 0;
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        connection.exclude_inflation(0.0);
        connection.reduce_at_timeout(connection.scoreboard().unreported());
        self.recover = Some(connection.snd_max());
        self.ignores_duplicates = true;
        connection.duplicates_mut().count = 0;
    }

    /// While fewer segments are counted in the network than the window allows, repairs holes below the highest report,
    /// then sends new data.
    fn poll(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        if (self.pipe + i64::from(connection.mss())) as f64 > connection.congestion().cwnd() {
            return connection.pause(true);
        }
        let segment = match connection.scoreboard_mut().next_unreported() {
            Some(index) => connection.send_again(index),
            None => connection.poll_new()?,
        };
        self.pipe += i64::from(segment.len);
        Some(segment)
    }
}
