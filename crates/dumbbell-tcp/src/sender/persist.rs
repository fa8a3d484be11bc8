//! Probes of a closed receive window [RFC 9293 §3.8.6.1].
//!
//! While data waits and none is outstanding, the retransmission timer has nothing to do, and times probes instead, as in
//! BSD and Linux: after a timeout, then after twice as long each time. A probe repeats no data: its last byte is
//! acknowledged already, so that the answer tells the window. If the window has room for a part of a segment, this part is
//! sent instead.

use super::Sender;
use super::cause::Cause;
use super::connection::Connection;
use super::timers::TimerKind;
use crate::segment::{AckSegment, DataSegment};
use dumbbell_units::Time;

/// Longest time between two probes [RFC 1122 §4.2.2.17].
const LONGEST_PAUSE: Time = Time(60_000_000_000);

impl Sender {
    /// An acknowledgement arrived which tells that the receive window ends at `edge`; see [`on_ack`](Self::on_ack).
    pub fn on_ack_with_window(&mut self, now: Time, ack: &AckSegment, waited: Time, edge: u64) {
        self.connection.window.hear(edge, ack.ack > self.connection.snd_una);
        self.on_ack(now, ack, waited);
        let connection = &mut self.connection;
        if connection.window.apply(connection.snd_una) {
            connection.timers.stop(TimerKind::Retransmission);
        }
    }
}

impl Connection {
    /// The receive window allows no segment. If nothing is outstanding, nothing else would tell when it does.
    #[cold]
    pub(super) fn wait_for_window(&mut self, now: Time) {
        let is_idle = self.scoreboard.is_empty();
        let Some(told) = self.window.told.as_mut().filter(|told| is_idle && !told.is_probing) else { return };
        told.is_probing = true;
        let pause = self.retransmission.timeout().0.saturating_mul(1 << told.probes.min(16));
        self.timers.set(TimerKind::Retransmission, now + Time(pause).min(LONGEST_PAUSE));
    }

    /// The retransmission timer has expired. True if it has timed a probe, which is sent next.
    pub(super) fn probes_window(&mut self) -> bool {
        let Some(told) = self.window.told.as_mut().filter(|told| told.is_probing) else { return false };
        (told.is_probing, told.is_due) = (false, true);
        told.probes += 1;
        self.timers.stop(TimerKind::Retransmission);
        self.resend.head = Some(Cause::Timeout);
        true
    }

    /// The probe of the window that is due, if one is.
    #[inline]
    pub(super) fn poll_window_probe(&mut self, now: Time) -> Option<DataSegment> {
        let is_due = self.window.told.as_mut().is_some_and(|told| std::mem::take(&mut told.is_due));
        is_due.then(|| self.send_window_probe(now))
    }

    #[cold]
    fn send_window_probe(&mut self, now: Time) -> DataSegment {
        self.resend.head = None;
        let len = self.unsent_segment().min(self.window.max as u32);
        if len > 0 {
            return self.send_new(len, now);
        }
        self.stats.segments_sent += 1;
        self.wait_for_window(now);
        DataSegment::new(self.snd_una.saturating_sub(1), 0)
    }
}
