//! How an acknowledgement is processed, step by step.

use super::Sender;
use super::connection::{Before, Connection};
use super::ecn::Marks;
use super::opening::{FALLBACK_TIMEOUT, Phase};
use super::recovery::{DeliveredBy, TimerRule};
use super::timers::TimerKind;
use crate::segment::AckSegment;
use dumbbell_cc::{Ack, Queueing, Sample, Signal};
use dumbbell_units::Time;
use dumbbell_units::math::real;

impl Sender {
    /// An acknowledgement arrived. `waited` is the queueing time that routers report for it.
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment, waited: Time) {
        self.take_ack(now, ack, waited);
        self.connection.take_pacing_rate();
    }

    #[inline(never)]
    fn take_ack(&mut self, now: Time, ack: &AckSegment, waited: Time) {
        let connection = &mut self.connection;
        connection.burst.begin();
        connection.limits.begin(false);
        if ack.is_syn {
            connection.on_open(now, ack.timestamp_echo);
            return;
        }
        if connection.opening.phase != Phase::Open || ack.ack > connection.snd_max {
            return;
        }
        let before = Before {
            delivered: connection.scoreboard.delivered(),
            lost: connection.scoreboard.lost(),
            in_flight: connection.scoreboard.pipe(),
        };
        if connection.scoreboard.detects_by_time() {
            connection.scoreboard.begin_ack(connection.retransmission.echo(ack.timestamp_echo));
        }
        let is_plain = ack.ack > connection.snd_una && ack.sack.is_empty();
        if is_plain || self.take_reports(now, ack, before) {
            self.on_new_ack(now, ack, waited, before);
        }
    }

    /// Records what an acknowledgement reports, and processes one that acknowledges no new data. True if it does.
    ///
    /// The effects are in this order: the recovery learns what arrived twice, the scoreboard records the reports, and new
    /// losses are announced. A recovery that detects losses by time examines the scoreboard. A duplicate is then announced
    /// to the congestion control and counted, and a recovery that counts duplicates acts.
    // Not inlined: most acknowledgements report nothing, and their processing is faster without this code between.
    #[inline(never)]
    fn take_reports(&mut self, now: Time, ack: &AckSegment, before: Before) -> bool {
        let Sender { connection, recovery } = self;
        let by_time = connection.scoreboard.detects_by_time();
        let repeats = ack.ack == connection.snd_una
            && !connection.scoreboard.is_empty()
            && !connection.window.has_moved();
        let mut rtt = None;
        if by_time && let Some(range) = ack.sack.duplicate(ack.ack) {
            recovery.on_duplicate_report(&mut connection.access(now), range);
        }
        let mut is_duplicate = repeats;
        let mut has_news = false;
        if (repeats || !ack.sack.is_empty()) && recovery.properties().uses_sack {
            if repeats && recovery.ignores_duplicates() {
                return false;
            }
            let in_order = connection.scoreboard.takes_ranges_in_order();
            let reports = if in_order { ack.sack.ascending() } else { ack.sack };
            for (number, (start, end)) in reports.ranges(ack.ack).enumerate() {
                has_news |= connection.scoreboard.report(number, start, end, now);
            }
            connection.announce_losses(now);
            if repeats {
                rtt = connection.sample_reports(now, ack);
            }
            // Only an ACK that reports new data is a duplicate acknowledgement [RFC 6675 §2].
            is_duplicate &= has_news || connection.in_recovery;
        }
        if ack.ack > connection.snd_una {
            return true;
        }
        if by_time && ack.ack == connection.snd_una {
            let by = if is_duplicate { DeliveredBy::Duplicate } else { DeliveredBy::Other };
            recovery.on_delivered(&mut connection.access(now), by);
        }
        // Linux tells a model of every acknowledgement while data is outstanding (`tcp_cong_control`).
        let is_told = is_duplicate
            || repeats && recovery.is_disordered().is_some() && connection.congestion.is_model_based();
        if is_told {
            let mut is_taken = false;
            if is_duplicate && by_time && connection.ecn.signals(ack.is_ece) {
                let delivered = connection.scoreboard.delivered() - before.delivered;
                is_taken = recovery.on_mark(&mut connection.access(now), delivered, false);
            }
            let grows = is_duplicate
                && recovery.grows_on_reports()
                && !connection.in_recovery
                && !connection.phases.cwr
                && has_news
                && !connection.congestion.is_model_based();
            connection.announce_duplicate(now, ack, before, rtt, grows);
            if is_taken {
                connection.ecn.take_signal();
            }
            connection.duplicates.count += u32::from(is_duplicate);
            if is_duplicate && !by_time {
                recovery.on_duplicate_ack(&mut connection.access(now));
            }
        } else if !repeats {
            connection.duplicates.count = 0;
        }
        false
    }

    /// Processes an acknowledgement of new data.
    ///
    /// The order of the effects is part of the results:
    /// 1. The recovery, before any other component; one that is complete ends.
    /// 2. The context of the congestion control is that of this moment.
    /// 3. The scoreboard, the round-trip time, and the retransmission timer.
    /// 4. A recovery that detects losses by time, which may reduce the window and begin another recovery. After it, whether
    ///    the window that remains limits the sender.
    /// 5. The round trip, with the validation of the window; the marks, the sample of the delivery rate, the reports; the
    ///    reduction by a mark.
    /// 6. The congestion control.
    /// 7. A recovery that follows the ACK up, and the pacer.
    // Inlined, so that the ACK is built in registers where it is used.
    #[inline(always)]
    fn on_new_ack(&mut self, now: Time, ack: &AckSegment, waited: Time, before: Before) {
        let Sender { connection, recovery } = self;
        let news = recovery.on_new_ack(&mut connection.access(now), ack.ack);
        let context = connection.context(now);
        let acked = ack.ack - connection.snd_una;
        let rtt = connection.acknowledge(now, ack);
        connection.see_to_timer(now, news.timer);
        let mut in_recovery = news.in_recovery;
        if connection.scoreboard.detects_by_time() {
            recovery.on_delivered(&mut connection.access(now), DeliveredBy::NewData);
            in_recovery = connection.in_recovery;
        }
        let is_cwnd_limited = connection.uses_window();
        let is_round_start = connection.begin_round(now, ack.ack);
        let delivered = connection.scoreboard.delivered() - before.delivered;
        let (marks, is_signal) = connection.take_marks(ack, acked, delivered);
        connection.take_rate_sample(rtt);
        if connection.scoreboard.has_sacked() && news.clears_reports {
            connection.scoreboard.clear_sacked();
        }
        // If a recovery has already reduced the window, a mark of the same window of data is no new signal.
        let is_taken = connection.ecn.stops_growth(&marks)
            && recovery.on_mark(&mut connection.access(now), delivered, true);
        if is_signal && !is_taken && !connection.in_recovery {
            connection.reduce(now, Signal::EcnEcho, false);
        }
        in_recovery |= connection.phases.cwr;
        let event = Ack::new(ack.ack, acked)
            .with_rtt(rtt)
            .with_queueing(ack.queueing().map(|forward| Queueing { forward, backward: waited }))
            .with_delivered(delivered)
            .with_lost(connection.scoreboard.lost() - before.lost)
            .with_rate(connection.scoreboard.rate_sample())
            .with_in_flight(real(connection.scoreboard.pipe()))
            .with_prior_in_flight(real(before.in_flight))
            .with_round_start(is_round_start)
            .with_cwnd_limited(is_cwnd_limited)
            .with_marked(marks.bytes)
            .with_marked_packets(marks.packets)
            .with_ecn_echo(marks.is_echo)
            // Nor does the window grow with an ACK that echoes a mark [RFC 3168 §6.1.2].
            .with_recovery(in_recovery || connection.ecn.stops_growth(&marks));
        let traced_cwnd = connection.trace.is_some().then(|| connection.congestion.cwnd());
        connection.congestion.on_ack(&context, &event);
        if !in_recovery {
            connection.idle.validation.on_growth(now);
        }
        if let Some(cwnd_before) = traced_cwnd {
            connection.note_acknowledged(now, cwnd_before);
        }
        if news.follows_up {
            recovery.on_acknowledged(&mut connection.access(now), acked, rtt);
        }
        connection.pacer.on_ack(now, rtt, connection.snd_una, connection.snd_nxt);
    }
}

/// True if an ACK reports nothing and echoes no mark.
fn is_plain(ack: &AckSegment) -> bool {
    ack.sack.is_empty() && !ack.is_ece
}

impl Connection {
    fn on_open(&mut self, now: Time, echo: Time) {
        if self.opening.phase == Phase::Opening {
            self.opening.phase = Phase::Open;
            self.opening.on_progress();
            self.idle.validation.on_growth(now);
            self.timers.stop(TimerKind::Retransmission);
            if self.stats.timeouts == 0 {
                self.retransmission.on_open(self.opening.requested_at, now);
                self.scoreboard.on_measured(now.since(self.opening.requested_at));
            } else if self.opening.is_linux() {
                self.on_late_open(now, echo);
            }
            if self.opening.is_linux() {
                let context = self.context(now);
                self.congestion.on_open(&context);
            }
        }
    }

    /// A repeated request is answered, by the rules of Linux.
    #[cold]
    fn on_late_open(&mut self, now: Time, echo: Time) {
        match self.retransmission.by_timestamps(echo, now) {
            Some(rtt) => {
                // Whole units of timestamps may be longer than the run so far; only the difference counts.
                self.retransmission.on_open(Time::ZERO, rtt);
                self.scoreboard.on_measured(rtt);
            }
            None => self.retransmission.fall_back(FALLBACK_TIMEOUT),
        }
        let echo = self.retransmission.has_timestamps().then_some(echo);
        if self.opening.leaves_one_segment(self.stats.timeouts, echo) {
            self.congestion.on_initial_window(f64::from(self.mss));
        }
    }

    /// Removes acknowledged data. Returns the round-trip time of the newest segment if it was sent once and not
    /// selectively acknowledged before, and otherwise by timestamps if the timer has a unit for them.
    fn acknowledge(&mut self, now: Time, ack: &AckSegment) -> Option<Time> {
        let acked = ack.ack - self.snd_una;
        let (sent, removed) = self.scoreboard.acknowledge(ack.ack, now);
        self.next_index = self.next_index.saturating_sub(removed);
        self.snd_una = ack.ack;
        self.opening.on_progress();
        self.snd_nxt = self.snd_nxt.max(ack.ack);
        let rtt = sent.map(|sent| now.since(sent));
        if let Some(rtt) = rtt {
            self.stats.on_rtt(rtt.secs());
        }
        if self.retransmission.samples_deliveries() {
            let sample = Sample::default().with_segments(removed as u64).with_acked(acked);
            return self.sample_deliveries(now, Some(ack.timestamp_echo), sample.with_plain(is_plain(ack)));
        }
        self.retransmission.on_ack(now, ack.ack, ack.timestamp_echo, self.snd_nxt);
        rtt.or_else(|| self.retransmission.by_timestamps(ack.timestamp_echo, now))
    }

    /// Takes the round-trip time of what an ACK delivers, by the rules of Linux (`tcp_ack_update_rtt`): for the timeout that
    /// of the first segment, and returned for the congestion control that of the last. If something retransmitted is
    /// acknowledged, the echo counts for both.
    #[inline(never)]
    fn sample_deliveries(&mut self, now: Time, echo: Option<Time>, sample: Sample) -> Option<Time> {
        let timed = self.scoreboard.deliveries().and_then(|deliveries| deliveries.timed());
        let by_echo = || self.retransmission.by_timestamps(echo?, now);
        let rtts = match timed {
            Some((first, last)) => Some((now.since(first), now.since(last))),
            None => by_echo().map(|rtt| {
                self.scoreboard.on_measured(rtt);
                (rtt, rtt)
            }),
        };
        if let Some((first, _)) = rtts {
            self.retransmission.sample(now, first, self.snd_una, self.snd_nxt);
        }
        let rtt = rtts.map(|(_, last)| last);
        self.announce_sample(now, &sample.with_rtt(rtt));
        rtt
    }

    /// The same for an ACK that only reports.
    fn sample_reports(&mut self, now: Time, ack: &AckSegment) -> Option<Time> {
        let sample = Sample::default().with_plain(is_plain(ack));
        self.retransmission.samples_deliveries().then(|| self.sample_deliveries(now, None, sample)).flatten()
    }

    /// True if the congestion window limits the sender and may grow.
    #[inline(always)]
    fn uses_window(&self) -> bool {
        self.limits.is_cwnd_limited(&self.congestion) && !self.idle.validation.is_unused()
    }

    /// True if a round trip begins with the acknowledgement of data up to `ack`; what was used in the last one may then
    /// change the window.
    #[inline(always)]
    fn begin_round(&mut self, now: Time, ack: u64) -> bool {
        let begins = self.rounds.on_ack(ack, self.snd_nxt);
        if begins && self.idle.validation.is_on() {
            self.validate_round(now);
        }
        begins
    }

    /// The marks of an ACK, and whether they are a congestion signal.
    #[inline(always)]
    fn take_marks(&mut self, ack: &AckSegment, acked: u64, delivered: u64) -> (Marks, bool) {
        if !self.ecn.is_on() {
            return (Marks::default(), false);
        }
        let marks = self.ecn.on_ack(ack, acked, delivered, self.mss);
        let is_signal = self.ecn.is_signal(ack.ack, &marks);
        self.scoreboard.on_marked(self.ecn.marked());
        (marks, is_signal)
    }

    /// The effect of acknowledged data on the retransmission timer.
    #[inline]
    fn see_to_timer(&mut self, now: Time, rule: TimerRule) {
        if self.scoreboard.is_empty() && rule != TimerRule::RestartAlways {
            self.timers.stop(TimerKind::Retransmission);
        } else if rule != TimerRule::GoOn {
            self.restart_retransmission_timer(now);
        }
    }
}
