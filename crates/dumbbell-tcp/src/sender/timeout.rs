//! Expired timers.

use super::Sender;
use super::cause::Cause;
use super::connection::Connection;
use super::opening::Phase;
use super::timers::TimerKind;
use super::trace::TcpEventKind;
use dumbbell_units::Time;

impl Sender {
    /// The [`next_deadline`](Self::next_deadline) has been reached.
    pub fn on_deadline(&mut self, now: Time) {
        self.connection.burst.begin();
        self.connection.limits.begin(false);
        for kind in [TimerKind::Reordering, TimerKind::Probe] {
            if self.connection.timers.has_expired(kind, now)
                && !(kind == TimerKind::Probe && self.connection.waits_for_wheel(kind, now))
            {
                self.connection.limits.begin(true);
                self.connection.timers.stop(kind);
                self.recovery.on_timer(&mut self.connection.access(now), kind);
            }
        }
        let kind = TimerKind::Retransmission;
        if self.connection.timers.has_expired(kind, now) && !self.connection.waits_for_wheel(kind, now) {
            self.connection.limits.begin(true);
            self.on_retransmission_timeout(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Time) {
        let kind = TimerKind::Retransmission;
        if self.connection.probes_window() {
            return;
        }
        let Sender { connection, recovery } = self;
        connection.stats.timeouts += 1;
        let cwnd_before = connection.congestion.cwnd();
        let gives_up = connection.opening.on_timeout(now, cwnd_before);
        if connection.opening.backs_off() {
            connection.retransmission.back_off();
        }
        if gives_up {
            connection.note(now, TcpEventKind::Timeout, cwnd_before);
            connection.note(now, TcpEventKind::GiveUp, cwnd_before);
            connection.timers.stop_all();
            return;
        }
        if connection.opening.phase != Phase::Open {
            connection.note(now, TcpEventKind::Timeout, cwnd_before);
            connection.opening.phase = Phase::MustOpen;
            connection.timers.stop(TimerKind::Retransmission);
            return;
        }
        recovery.on_timeout(&mut connection.access(now));
        connection.note(now, TcpEventKind::Timeout, cwnd_before);
        connection.pacer.release();
        connection.retransmission.stop_timing();
        if !connection.scoreboard.detects_by_time() {
            if connection.scoreboard.has_sacked() {
                connection.scoreboard.clear_sacked();
            }
            connection.go_back(Cause::Timeout);
        }
        connection.timers.set(kind, connection.retransmission.deadline(now));
        connection.take_pacing_rate();
    }
}

impl Connection {
    /// True if an expired timer goes on until its wheel turns.
    fn waits_for_wheel(&mut self, kind: TimerKind, now: Time) -> bool {
        let due = self.timers.deadline(kind);
        let later = self.retransmission.expires_later(due, kind == TimerKind::Probe).filter(|at| *at > now);
        if let Some(at) = later {
            self.timers.set(kind, at);
        }
        later.is_some()
    }
}
