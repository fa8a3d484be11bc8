//! The recovery of ns-2's Sack1 [fall1996 §4]. It counts the segments in the network instead of reading them from the
//! scoreboard: from the third duplicate ACK on, each ACK removes one, a partial ACK two, and each transmission adds
//! one. Every unreported segment below the highest report is a hole. Between a timeout and the first new ACK it ignores
//! duplicate ACKs. It continues to time a retransmitted segment, and the ACK that ends a recovery does not grow the
//! window.

use super::{LossRecovery, NewAck, Start};
use crate::config::recovery::Ns2SackRules;
use crate::segment::DataSegment;
use crate::sender::connection::Connection;
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

impl Ns2Sack {
    /// While fewer segments are counted in the network than the window allows, repairs holes below the highest report,
    /// then sends new data.
    fn poll_recovery(&mut self, connection: &mut Connection, now: Time) -> Option<DataSegment> {
        if (self.pipe + i64::from(connection.mss)) as f64 > connection.congestion.cwnd() {
            return connection.pause(true);
        }
        let segment = match connection.scoreboard.next_unreported() {
            Some(index) => connection.send_again(index, now),
            None => connection.poll_new_in_recovery(now)?,
        };
        self.pipe += i64::from(segment.len);
        Some(segment)
    }
}

impl LossRecovery for Ns2Sack {
    type Rules = Ns2SackRules;

    fn new(_rules: &Ns2SackRules, _start: &Start) -> Self {
        Ns2Sack { recover: None, pipe: 0, ignores_duplicates: false }
    }

    fn ignores_duplicates(&self) -> bool {
        self.ignores_duplicates
    }

    fn on_duplicate_ack(&mut self, connection: &mut Connection, now: Time) {
        if connection.in_recovery {
            self.pipe -= i64::from(connection.mss);
            return;
        }
        if !connection.duplicates.reach_threshold() {
            connection.duplicates.grant_limited_transmit(f64::from(connection.mss));
            return;
        }
        if self.recover.is_some_and(|recover| connection.snd_una <= recover) {
            return;
        }
        if !connection.enter_sack_recovery(now) {
            return;
        }
        self.recover = Some(connection.snd_max);
        let left = i64::from(DUPLICATE_THRESHOLD) * i64::from(connection.mss);
        self.pipe = (connection.snd_max - connection.snd_una) as i64 - left;
        // Until the next ACK, only the first hole is repaired.
        connection.burst.exhaust();
    }

    fn on_new_ack(&mut self, connection: &mut Connection, now: Time, ack: u64) -> NewAck {
        let was_in_recovery = connection.in_recovery;
        if was_in_recovery {
            if self.recover.is_some_and(|recover| ack < recover) {
                self.pipe -= 2 * i64::from(connection.mss);
                return NewAck::PARTIAL;
            }
            // A completed recovery leaves no state.
            self.recover = None;
            connection.leave_recovery(now, 0.0);
        }
        self.ignores_duplicates = false;
        connection.duplicates.clear();
        NewAck { in_recovery: was_in_recovery, ..NewAck::FULL }
    }

    fn clears_sacked(&self, ack: NewAck) -> bool {
        !ack.is_partial
    }

    fn on_acknowledged(
        &mut self,
        connection: &mut Connection,
        _now: Time,
        ack: NewAck,
        _acked: u64,
        _rtt: Option<Time>,
    ) {
        if ack.is_partial {
            connection.duplicates.count = 0;
        }
    }

    fn on_timeout(&mut self, connection: &mut Connection, now: Time) {
        connection.exclude_inflation(0.0);
        connection.reduce_at_timeout(now, connection.scoreboard.unreported());
        self.recover = Some(connection.snd_max);
        self.ignores_duplicates = true;
        connection.duplicates.count = 0;
    }

    fn poll(&mut self, connection: &mut Connection, now: Time) -> Option<DataSegment> {
        self.poll_recovery(connection, now)
    }
}
