//! How an acknowledgement is processed, step by step.

use super::Sender;
use super::connection::Connection;
use super::ecn::Marks;
use super::opening::Phase;
use super::recovery::TimerRule;
use super::timers::TimerKind;
use crate::segment::AckSegment;
use dumbbell_cc::{Ack, Queueing, Signal};
use dumbbell_units::Time;
use dumbbell_units::math::real;

impl Sender {
    /// An acknowledgement arrived. `waited` is the queueing time that routers report for it.
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment, waited: Time) {
        self.take_ack(now, ack, waited);
        self.connection.take_pacing_rate();
    }

    fn take_ack(&mut self, now: Time, ack: &AckSegment, waited: Time) {
        let connection = &mut self.connection;
        connection.burst.begin();
        if ack.is_syn {
            connection.on_open(now);
            return;
        }
        if connection.opening.phase != Phase::Open || ack.ack > connection.snd_max {
            return;
        }
        let before = (connection.scoreboard.delivered(), connection.scoreboard.lost());
        if connection.scoreboard.detects_by_time() {
            let echo = connection.retransmission.has_timestamps().then_some(ack.timestamp_echo);
            connection.scoreboard.begin_ack(echo);
        }
        let is_plain = ack.ack > connection.snd_una && ack.sack.is_empty();
        if is_plain || self.take_reports(now, ack, before) {
            self.on_new_ack(now, ack, waited, before);
        }
    }

    /// Records what an acknowledgement reports, and processes one that acknowledges no new data. True if it does.
    // Not inlined: most acknowledgements report nothing, and their processing is faster without this code between.
    #[inline(never)]
    fn take_reports(&mut self, now: Time, ack: &AckSegment, before: (u64, u64)) -> bool {
        let Sender { connection, recovery } = self;
        let is_duplicate = ack.ack == connection.snd_una && !connection.scoreboard.is_empty();
        if connection.scoreboard.detects_by_time()
            && let Some(range) = ack.sack.duplicate(ack.ack)
        {
            recovery.on_duplicate_report(connection, now, range);
        }
        if (is_duplicate || !ack.sack.is_empty()) && recovery.properties().uses_sack {
            if is_duplicate && recovery.ignores_duplicates() {
                return false;
            }
            let mut has_news = false;
            for (number, (start, end)) in ack.sack.ranges(ack.ack).enumerate() {
                has_news |= connection.scoreboard.report(number, start, end, now);
            }
            connection.announce_losses(now);
            if is_duplicate && !has_news && !connection.in_recovery {
                // Only an ACK that reports new data is a duplicate acknowledgement [RFC 6675 §2].
                if connection.scoreboard.detects_by_time() {
                    recovery.on_delivered(connection, now, None);
                }
                return false;
            }
        }
        if ack.ack > connection.snd_una {
            return true;
        }
        if is_duplicate {
            if connection.scoreboard.detects_by_time() {
                recovery.on_delivered(connection, now, None);
            }
            connection.announce_duplicate(now, ack, before);
            connection.duplicates.count += 1;
            recovery.on_duplicate_ack(connection, now);
        } else {
            connection.duplicates.count = 0;
            if connection.scoreboard.detects_by_time() && ack.ack == connection.snd_una {
                recovery.on_delivered(connection, now, None);
            }
        }
        false
    }

    /// `before` is what was delivered and lost before the ACK, in bytes.
    // Inlined, so that the ACK is built in registers where it is used.
    #[inline(always)]
    fn on_new_ack(&mut self, now: Time, ack: &AckSegment, waited: Time, before: (u64, u64)) {
        let Sender { connection, recovery } = self;
        let mut news = recovery.on_new_ack(connection, now, ack.ack);
        let context = connection.context(now);
        let acked = ack.ack - connection.snd_una;
        let is_cwnd_limited = connection.limits.is_cwnd_limited(&connection.congestion)
            && !connection.idle.validation.is_unused();
        let rtt = connection.acknowledge(now, ack);
        if connection.scoreboard.detects_by_time() {
            recovery.on_delivered(connection, now, Some(&mut news));
        }
        let is_round_start = connection.rounds.on_ack(ack.ack, connection.snd_nxt);
        if is_round_start && connection.idle.validation.is_on() {
            connection.validate_round(now);
        }
        let delivered = connection.scoreboard.delivered() - before.0;
        let mut marks = Marks::default();
        let mut is_signal = false;
        if connection.ecn.is_on() {
            marks = connection.ecn.on_ack(ack, acked, delivered, connection.mss);
            is_signal = connection.ecn.is_signal(ack.ack, &marks);
            connection.scoreboard.on_marked(connection.ecn.marked());
        }
        connection.scoreboard.take_rate_sample(rtt, connection.stats.rtt_min);
        if connection.scoreboard.has_sacked() && recovery.clears_sacked(news) {
            connection.scoreboard.clear_sacked();
        }
        // If a recovery has already reduced the window, a mark of the same window of data is no new signal.
        if is_signal && !connection.in_recovery {
            connection.reduce(now, Signal::EcnEcho, false);
        }
        let queueing = ack.queueing().map(|forward| Queueing { forward, backward: waited });
        let event = Ack::new(ack.ack, acked)
            .with_rtt(rtt)
            .with_queueing(queueing)
            .with_delivered(delivered)
            .with_lost(connection.scoreboard.lost() - before.1)
            .with_rate(connection.scoreboard.rate_sample())
            .with_in_flight(real(connection.scoreboard.pipe()))
            .with_round_start(is_round_start)
            .with_cwnd_limited(is_cwnd_limited)
            .with_marked(marks.bytes)
            .with_marked_packets(marks.packets)
            .with_ecn_echo(marks.is_echo)
            // Nor does the window grow with an ACK that echoes a mark [RFC 3168 §6.1.2].
            .with_recovery(news.in_recovery || connection.ecn.stops_growth(&marks));
        let traced_cwnd = connection.trace.is_some().then(|| connection.congestion.cwnd());
        connection.congestion.on_ack(&context, &event);
        if let Some(cwnd_before) = traced_cwnd {
            connection.note_acknowledged(now, cwnd_before);
        }
        connection.see_to_timer(now, news.timer);
        if news.follows_up {
            recovery.on_acknowledged(connection, now, news, acked, rtt);
        }
        connection.pacer.on_ack(now, rtt, connection.snd_una, connection.snd_nxt);
    }
}

impl Connection {
    fn on_open(&mut self, now: Time) {
        if self.opening.phase == Phase::Opening {
            self.opening.phase = Phase::Open;
            self.opening.on_progress();
            self.timers.stop(TimerKind::Retransmission);
            if self.stats.timeouts == 0 {
                self.retransmission.on_open(self.opening.requested_at, now);
                self.scoreboard.on_handshake(now.since(self.opening.requested_at));
            }
        }
    }

    /// Removes acknowledged data. Returns the round-trip time of the newest segment if it was sent once and not
    /// selectively acknowledged before, and otherwise by timestamps if the timer has a unit for them.
    fn acknowledge(&mut self, now: Time, ack: &AckSegment) -> Option<Time> {
        let (sent, removed) = self.scoreboard.acknowledge(ack.ack, now);
        self.next_index = self.next_index.saturating_sub(removed);
        self.snd_una = ack.ack;
        self.opening.on_progress();
        self.snd_nxt = self.snd_nxt.max(ack.ack);
        let rtt = sent.map(|sent| now.since(sent));
        if let Some(rtt) = rtt {
            self.stats.on_rtt(rtt.secs());
        }
        self.retransmission.on_ack(now, ack.ack, ack.timestamp_echo, self.snd_nxt);
        rtt.or_else(|| self.retransmission.by_timestamps(ack.timestamp_echo, now))
    }

    fn see_to_timer(&mut self, now: Time, rule: TimerRule) {
        if self.scoreboard.is_empty() && rule != TimerRule::RestartAlways {
            self.timers.stop(TimerKind::Retransmission);
        } else if rule != TimerRule::GoOn {
            self.restart_retransmission_timer(now);
        }
    }
}
