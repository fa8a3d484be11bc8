//! What the expiry of a timer does.

use super::Sender;
use super::opening::Phase;
use super::timers::TimerKind;
use dumbbell_units::Time;

impl Sender {
    /// Time has reached [`next_deadline`](Self::next_deadline).
    pub fn on_deadline(&mut self, now: Time) {
        self.connection.burst.begin();
        for kind in [TimerKind::Reordering, TimerKind::Probe] {
            if self.connection.timers.has_expired(kind, now) {
                self.connection.timers.stop(kind);
                self.recovery.on_timer(&mut self.connection, kind, now);
            }
        }
        if self.connection.timers.has_expired(TimerKind::Retransmission, now) {
            self.on_retransmission_timeout(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Time) {
        let Sender { connection, recovery } = self;
        connection.stats.timeouts += 1;
        connection.retransmission.back_off();
        if connection.opening.on_timeout() {
            connection.timers.stop_all();
            return;
        }
        if connection.opening.phase != Phase::Open {
            connection.opening.phase = Phase::MustOpen;
            connection.timers.stop(TimerKind::Retransmission);
            return;
        }
        connection.episodes.end_initial_slow_start(connection.snd_max);
        connection.episodes.on_timeout(connection.snd_una, &mut connection.stats);
        recovery.on_timeout(connection, now);
        connection.pacer.release();
        connection.retransmission.stop_timing();
        if connection.scoreboard.has_sacked() {
            connection.scoreboard.clear_sacked();
        }
        connection.go_back();
        connection.restart_retransmission_timer(now);
        connection.take_pacing_rate();
    }
}
