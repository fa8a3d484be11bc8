//! Recording of the events of a connection.

use super::connection::Connection;
use super::trace::{TcpEvent, TcpEventKind};
use dumbbell_units::Time;

impl Connection {
    /// An event that leaves the state of the connection unchanged.
    pub(super) fn event(&self, now: Time, kind: TcpEventKind, cwnd_before: f64) -> TcpEvent {
        TcpEvent {
            at: now,
            kind,
            cwnd_before,
            cwnd: self.congestion.cwnd(),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            rtt_mean: self.stats.rtt_mean(),
        }
    }

    /// Records an event, before which the window was `cwnd_before`.
    pub(super) fn note(&mut self, now: Time, kind: TcpEventKind, cwnd_before: f64) {
        if self.trace.is_none() {
            return;
        }
        let event = self.event(now, kind, cwnd_before);
        let is_below_threshold = event.cwnd < self.congestion.ssthresh();
        let Some(trace) = &mut self.trace else { return };
        match kind {
            TcpEventKind::FastRetransmit => {
                if trace.in_slow_start {
                    trace.events.push(TcpEvent {
                        kind: TcpEventKind::SlowStartExit,
                        cwnd: cwnd_before,
                        ..event
                    });
                }
                trace.in_slow_start = is_below_threshold;
            }
            TcpEventKind::Timeout | TcpEventKind::IdleRestart => trace.in_slow_start = true,
            _ => {}
        }
        trace.events.push(event);
    }

    /// The congestion control has processed an acknowledgement, which may end slow start.
    #[cold]
    pub(super) fn note_acknowledged(&mut self, now: Time, cwnd_before: f64) {
        let has_reached_threshold = self.congestion.cwnd() >= self.congestion.ssthresh();
        if let Some(trace) = &mut self.trace
            && trace.in_slow_start
            && has_reached_threshold
        {
            trace.in_slow_start = false;
            self.note(now, TcpEventKind::SlowStartExit, cwnd_before);
        }
    }
}
