//! ns-3's classic recovery with selective acknowledgements [ns3]: that of RFC 6675 without its rescue retransmission.
//! But a partial acknowledgement before a segment that was not retransmitted in this recovery releases one segment
//! regardless of the pipe: the first lost one, else new data, else the oldest one.

use super::rfc6675::Rfc6675;
use super::{LossRecovery, NewAck, Start};
use crate::config::recovery::Ns3SackRules;
use crate::segment::DataSegment;
use crate::sender::access::Access;
use dumbbell_units::Time;

/// The state of ns-3's recovery.
#[derive(Clone, Debug)]
pub struct Ns3Sack {
    scoreboard: Rfc6675,
    /// The next segment of the recovery is sent regardless of the data in the network.
    must_send: bool,
}

impl LossRecovery for Ns3Sack {
    type Rules = Ns3SackRules;

    fn new(_rules: &Ns3SackRules, _start: &Start) -> Self {
        Ns3Sack { scoreboard: Rfc6675::without_rescue(), must_send: false }
    }

    fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
        self.scoreboard.on_duplicate_ack(connection);
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, ack: u64) -> NewAck {
        let ack = self.scoreboard.on_new_ack(connection, ack);
        self.must_send &= ack.follows_up;
        ack
    }

    fn on_acknowledged(&mut self, connection: &mut Access<'_>, acked: u64, rtt: Option<Time>) {
        self.scoreboard.on_acknowledged(connection, acked, rtt);
        self.must_send = !connection.scoreboard().is_head_resent();
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        self.scoreboard.on_timeout(connection);
        self.must_send = false;
    }

    fn poll(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        let must_send = std::mem::take(&mut self.must_send);
        self.scoreboard.poll_recovery(connection, must_send)
    }
}
