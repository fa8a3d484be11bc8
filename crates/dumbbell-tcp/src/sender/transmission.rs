//! Which segment is sent next: the SYN, the retransmission of a detected loss, or what the recovery allows.

use super::Sender;
use super::connection::Connection;
use super::opening::Phase;
use super::pacer::Urgency;
use super::timers::TimerKind;
use crate::segment::DataSegment;
use dumbbell_units::Time;

impl Sender {
    /// The next segment to send at `now`, if any. Poll until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<DataSegment> {
        let Sender { connection, recovery } = self;
        if connection.opening.phase != Phase::Open {
            return connection.poll_open(now);
        }
        if connection.resend.head.is_some() {
            if let Some(probe) = connection.poll_window_probe(now) {
                return Some(probe);
            }
            if connection.is_paced(now, Urgency::Retransmission) {
                return None;
            }
            connection.resend.head = None;
            if let Some(segment) = recovery.poll_head(&mut connection.access(now)) {
                connection.pacer.on_sent(segment.len, now, Urgency::Retransmission);
                return Some(segment);
            }
        }
        // The pacing deadline is over, whatever else stops the sender.
        connection.timers.stop(TimerKind::Pacing);
        if connection.duplicates.stop_sender() {
            return None;
        }
        let mut limit = connection.burst.limit;
        if connection.in_recovery {
            limit = limit.min(recovery.burst_limit());
        }
        if connection.burst.sent >= limit || connection.is_paced(now, Urgency::Regular) {
            return connection.pause(true);
        }
        let segment = if connection.in_recovery || connection.scoreboard.detects_by_time() {
            recovery.poll(&mut connection.access(now))?
        } else {
            if connection.scoreboard.has_sacked() && recovery.properties().keeps_scoreboard {
                connection.skip_sacked();
            }
            connection.poll_window(now)?
        };
        connection.burst.sent += 1;
        connection.pacer.on_sent(segment.len, now, Urgency::Regular);
        Some(segment)
    }
}

impl Connection {
    fn poll_open(&mut self, now: Time) -> Option<DataSegment> {
        if self.opening.phase != Phase::MustOpen {
            return None;
        }
        self.opening.phase = Phase::Opening;
        self.opening.on_request(now);
        self.restart_retransmission_timer(now);
        let is_retransmission = self.stats.timeouts > 0;
        Some(DataSegment { is_retransmission, is_syn: true, ..DataSegment::new(0, 0) })
    }
}
