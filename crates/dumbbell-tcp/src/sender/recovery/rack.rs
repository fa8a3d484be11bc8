//! Detection of losses by time, and tail loss probes: RACK-TLP [RFC 8985], with proportional rate reduction [RFC 9937].
//!
//! A segment is lost if one sent later was delivered, and a round-trip time and a reordering window have passed. So lost
//! retransmissions are found as well. The window grows if the receiver reports segments that were retransmitted
//! needlessly. Two round-trip times after the last segment, a probe shows whether the last segments are lost. A timeout
//! marks what is old enough.
//!
//! A reaction that proves spurious is undone: the congestion control restores its window, and nothing counts as lost.
//!
//! What may be sent follows from the data in the network, in a recovery and outside: a report releases a new segment
//! (limited transmit), unless limited transmit is off.
//!
//! Where it departs: a retransmission lost in a recovery does not reduce the window again, as in Linux. The minimum
//! round-trip time is that of the whole connection. A spurious timeout restores the window, as in Linux, where RFC 4015
//! would also adapt the timer. A probe that is sent while the pacer waits is paced too. Reneging is
//! not considered.

mod linux;

use super::probe::{ProbeTimes, TailProbe};
use super::prr::Reduction;
use super::undo::{Finding, ForwardRecovery, Reaction};
use super::{DeliveredBy, LossRecovery, NewAck, Start, TimerRule};
use crate::config::recovery::{Frto, PrrBase, PrrBound, RackRules};
use crate::scoreboard::Deliveries;
use crate::segment::DataSegment;
use crate::sender::access::Access;
use crate::sender::cause::Cause;
use crate::sender::timers::TimerKind;
use dumbbell_cc::{SenderState, Signal, WindowRules};
use dumbbell_units::Time;
use dumbbell_units::math::real;
use linux::{StateMachine, is_linux};

/// The reordering window [RFC 8985 §6.2 step 4].
#[derive(Clone, Copy, Debug)]
struct ReorderingWindow {
    /// Quarters of the minimum round-trip time.
    multiple: u64,
    /// Recoveries until the multiple is 1 again.
    persist: u64,
    /// First byte not sent when a duplicate was last counted.
    round_end: Option<u64>,
    /// In Linux, a duplicate was reported and is not counted yet, and when one was last counted.
    is_duplicate_due: bool,
    counted_at: Time,
}

impl ReorderingWindow {
    fn new() -> Self {
        ReorderingWindow {
            multiple: 1,
            persist: 0,
            round_end: None,
            is_duplicate_due: false,
            counted_at: Time::ZERO,
        }
    }

    /// A duplicate was reported: one more quarter, once per round trip.
    fn on_duplicate(&mut self, rules: &RackRules, snd_una: u64, snd_max: u64) {
        if self.round_end.is_some_and(|end| snd_una < end) {
            return;
        }
        self.round_end = Some(snd_max);
        self.widen(rules);
    }

    fn widen(&mut self, rules: &RackRules) {
        let most = if rules.reo_wnd_mult_max == 0 { u64::MAX } else { rules.reo_wnd_mult_max };
        self.multiple = self.multiple.saturating_add(1).min(most);
        self.persist = rules.reo_wnd_persist;
    }

    /// A recovery ended.
    fn on_recovery_exit(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiple = 1;
        }
    }

    /// The window: none until reordering is seen, in a recovery or above enough reports.
    fn length(&self, rules: &RackRules, deliveries: &Deliveries, in_recovery: bool, srtt: f64) -> Time {
        let has_enough = rules.dup_thresh > 0 && deliveries.reported() >= rules.dup_thresh;
        if !deliveries.is_reordering_seen() && (in_recovery || has_enough) {
            return Time::ZERO;
        }
        let length = Time((deliveries.min_rtt().0 / 4).saturating_mul(self.multiple));
        if srtt.is_finite() { length.min(Time::from_secs(srtt)) } else { length }
    }
}

/// The state of the recovery.
#[derive(Clone, Debug)]
pub struct Rack {
    rules: RackRules,
    probe_times: ProbeTimes,
    window: ReorderingWindow,
    /// First byte not sent at the beginning of the recovery, or at the timeout.
    recover: u64,
    /// A timeout has expired since data was last acknowledged.
    has_expired: bool,
    /// The next segment is sent whatever is in the network.
    must_send: bool,
    reduction: Reduction,
    /// Bytes delivered up to the last ACK.
    seen: u64,
    /// A recovery has ended, and later losses may begin another.
    has_ended: bool,
    probe: TailProbe,
    /// The last reaction, as long as it may be undone.
    reaction: Option<Reaction>,
    forward: ForwardRecovery,
    /// Oldest byte outstanding before this ACK.
    una_before: u64,
    /// Segments that arrived twice.
    duplicates: u64,
    /// The state machine of Linux.
    machine: StateMachine,
}

impl Rack {
    fn reordering_window(&self, connection: &Access<'_>) -> Time {
        let srtt = connection.srtt_or_infinity();
        connection.scoreboard().deliveries().map_or(Time::ZERO, |deliveries| {
            self.window.length(
                &self.rules,
                deliveries,
                connection.in_recovery() || connection.in_loss(),
                srtt,
            )
        })
    }

    /// Marks what is lost by now, and sets the timer for what may be. A recovery begins unless one is in progress.
    /// `delivered` bytes were delivered by the event.
    fn detect(&mut self, connection: &mut Access<'_>, delivered: u64) -> bool {
        let has_news = self.mark_lost(connection);
        let has_ended = std::mem::take(&mut self.has_ended);
        let is_loss = has_news || has_ended && connection.scoreboard().has_lost();
        let begins = is_loss && !connection.in_recovery() && !connection.in_loss();
        if begins {
            self.enter(connection, delivered);
        }
        begins
    }

    /// Marks what is lost by now, and sets the timer for what may be. True if anything is.
    #[inline(always)]
    fn mark_lost(&mut self, connection: &mut Access<'_>) -> bool {
        let before = connection.scoreboard().lost();
        let now = connection.now();
        let mut next = Time::NEVER;
        if connection.scoreboard_mut().awaits_older() {
            let window = self.reordering_window(connection);
            next = connection.scoreboard_mut().detect_losses(now, window);
        }
        if next == Time::NEVER {
            connection.timers().stop(TimerKind::Reordering);
        } else {
            let at = next + self.rules.reo_timer_slack;
            let tick = self.rules.reo_timer_tick;
            let at = if tick.0 == 0 { at } else { connection.clock().ticking(tick).expiry(now, at) };
            connection.timers().set(TimerKind::Reordering, at);
        }
        let has_news = connection.scoreboard().lost() != before;
        if has_news {
            connection.announce_losses();
        }
        has_news
    }

    fn enter(&mut self, connection: &mut Access<'_>, delivered: u64) {
        let Some(head) = connection.scoreboard().head() else { return };
        let retransmitted_before = head.transmissions > 1;
        let prior = self.prior(connection, delivered);
        self.probe.cancel();
        connection.timers().stop(TimerKind::Probe);
        connection.duplicates_mut().inflation = 0.0;
        self.note_reaction(connection, Signal::FastRetransmit, false);
        connection.react_to_loss_by_time(retransmitted_before);
        self.recover = connection.snd_max();
        self.must_send = true;
        if self.reduces(connection) {
            self.reduction = Reduction::begin_with(connection, self.rules.prr, prior, delivered);
        }
    }

    /// A reaction begins, or goes on with a timeout: what it changes may have to be undone.
    fn note_reaction(&mut self, connection: &Access<'_>, signal: Signal, goes_on: bool) {
        let state = match &self.reaction {
            Some(reaction) if goes_on => (reaction.undo.cwnd, reaction.undo.ssthresh),
            // What came before was undone or is repaired, unless an earlier cause is not known to be spurious.
            _ if goes_on => return,
            _ => (connection.congestion().cwnd(), self.remembered(connection)),
        };
        self.reaction =
            (self.rules.undo || self.rules.frto != Frto::Off && signal == Signal::Timeout).then(|| {
                let range = (connection.snd_una(), connection.snd_max());
                let (count, first) = connection.scoreboard().retransmissions_out();
                Reaction::new(signal, state, range, (count, connection.stamped(first)))
            });
    }

    /// The threshold that an undo restores: in Linux, that of a window that was in use (`tcp_current_ssthresh`).
    fn remembered(&self, connection: &Access<'_>) -> f64 {
        let (cwnd, ssthresh) = (connection.congestion().cwnd(), connection.congestion().ssthresh());
        if !is_linux(&self.rules) || connection.in_recovery() || connection.in_cwr() {
            return ssthresh;
        }
        WindowRules::remembered_segments(cwnd, ssthresh, f64::from(connection.mss()))
    }

    /// The last reaction was spurious. Nothing remains lost, and the congestion control restores its window, unless a mark
    /// has reduced it since.
    fn undo(&mut self, connection: &mut Access<'_>) {
        let Some(reaction) = self.reaction.take() else { return };
        if connection.in_recovery() {
            self.leave(connection);
        }
        connection.set_in_loss(false);
        self.must_send = false;
        self.has_ended = false;
        self.forward = ForwardRecovery::Idle;
        connection.scoreboard_mut().unmark_lost();
        connection.undo(&reaction.undo, reaction.until);
    }

    /// Looks for evidence that the last reaction was spurious.
    fn look_back(&mut self, connection: &mut Access<'_>, is_advance: bool) {
        let Some(deliveries) = connection.scoreboard().deliveries() else { return };
        let is_echo_older = self.rules.undo
            && is_advance
            && self.reaction.as_mut().is_some_and(|reaction| reaction.on_ack(deliveries));
        let is_original = deliveries.original() <= self.recover;
        let has_new = self.forward != ForwardRecovery::Idle && connection.unsent_segment() > 0;
        let is_partial = is_advance && connection.in_loss();
        let finding = self.forward.on_ack(self.rules.frto, is_original, is_partial, has_new);
        if is_echo_older || finding == Finding::IsSpurious {
            self.undo(connection);
        }
    }

    /// True if the window is reduced in proportion. A window by a model is not.
    fn reduces(&self, connection: &Access<'_>) -> bool {
        self.rules.prr != PrrBound::Off && !connection.congestion().is_model_based()
    }

    /// What the reduction compares with what is delivered, in bytes.
    fn prior(&self, connection: &Access<'_>, delivered: u64) -> f64 {
        let flight = connection.flight_size();
        let prior = match (self.rules.prr_base, self.rules.prr) {
            (PrrBase::Window, _) => connection.congestion().cwnd(),
            (PrrBase::Flight, PrrBound::Rfc9937 | PrrBound::Off) => {
                let reported = flight - connection.scoreboard().unreported().min(flight);
                (flight - reported + delivered) as f64
            }
            (PrrBase::Flight, PrrBound::SlowStart | PrrBound::Conservative) => {
                flight.saturating_sub(connection.duplicates().limited_bytes()) as f64
            }
        };
        prior.max(f64::from(connection.mss()))
    }

    #[cold]
    fn leave(&mut self, connection: &mut Access<'_>) {
        self.reduction.end(connection);
        connection.leave_recovery(0.0);
        if !is_linux(&self.rules) {
            self.window.on_recovery_exit();
        }
        self.has_ended = true;
    }

    /// Starts the timer of a probe after new data or progress [RFC 8985 §7.2]: not in a recovery, not above reports, and
    /// only one at a time.
    #[inline(always)]
    fn arm_probe(&mut self, connection: &mut Access<'_>) {
        let is_wanted = self.rules.tlp
            && !connection.in_recovery()
            && !connection.in_loss()
            && self.probe.is_answered()
            && !connection.scoreboard().is_empty()
            && !connection.scoreboard().has_sacked();
        self.set_probe(connection, is_wanted);
    }

    /// The same if it is wanted.
    #[inline(always)]
    fn set_probe(&mut self, connection: &mut Access<'_>, is_wanted: bool) {
        if !is_wanted {
            connection.timers().stop(TimerKind::Probe);
            return;
        }
        let mut latest = connection.timers().deadline(TimerKind::Retransmission);
        if let Some(delay) = connection.pacing_delay() {
            latest = latest - delay;
        }
        let at = (connection.now() + self.probe_timeout(connection)).min(latest);
        connection.set_timer(TimerKind::Probe, at);
    }

    /// Time until a probe of what is outstanding.
    #[inline(always)]
    fn probe_timeout(&mut self, connection: &Access<'_>) -> Time {
        let is_single = connection.scoreboard().len() == 1;
        self.probe_times.timeout(connection.srtt_or_infinity(), is_single)
    }

    /// A new segment, or the last one again.
    fn send_probe(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        self.probe.is_due = false;
        let segment = match connection.poll_new() {
            Some(segment) => segment,
            None => {
                let last = connection.scoreboard().len().checked_sub(1)?;
                let before = connection.sent_counted();
                let segment = connection.send_again(last);
                if is_linux(&self.rules) {
                    connection.scoreboard_mut().mark_probed(last);
                    self.reduction.leave_out(connection.sent_counted() - before);
                }
                segment
            }
        };
        self.probe.on_sent(connection.snd_max(), segment.is_retransmission);
        connection.restart_retransmission_timer();
        Some(segment)
    }

    /// True if the data in the network leaves room for a segment.
    fn has_room(&self, connection: &Access<'_>) -> bool {
        let is_by_pipe = connection.in_recovery()
            || connection.in_loss()
            || connection.duplicates().has_limited_transmit();
        let in_network = if is_by_pipe { connection.scoreboard().pipe() } else { connection.flight_size() };
        real(in_network + u64::from(connection.mss())) <= connection.cwnd()
    }
}

impl LossRecovery for Rack {
    type Rules = RackRules;

    fn new(rules: &RackRules, _start: &Start) -> Self {
        Rack {
            rules: rules.clone(),
            probe_times: ProbeTimes::new(rules.pto_slack, rules.max_ack_delay),
            window: ReorderingWindow::new(),
            recover: 0,
            has_expired: false,
            must_send: false,
            reduction: Reduction::default(),
            seen: 0,
            has_ended: false,
            probe: TailProbe::default(),
            reaction: None,
            forward: ForwardRecovery::Idle,
            una_before: 0,
            duplicates: 0,
            machine: StateMachine::new(),
        }
    }

    fn deflated(&self) -> f64 {
        -self.reduction.excess()
    }

    fn on_duplicate_report(&mut self, connection: &mut Access<'_>, range: (u64, u64)) {
        if is_linux(&self.rules) {
            self.on_duplicate_of_linux(connection, range);
            return;
        }
        let is_probe = self.probe.on_duplicate_report(range);
        let is_reordering_seen =
            connection.scoreboard().deliveries().is_some_and(|deliveries| deliveries.is_reordering_seen());
        if !self.rules.dsack_after_reordering || is_reordering_seen && !is_probe {
            self.window.on_duplicate(&self.rules, connection.snd_una(), connection.snd_max());
        }
        let is_undone = self.rules.undo
            && !is_probe
            && self.reaction.as_mut().is_some_and(|reaction| reaction.on_duplicate_report(range));
        if is_undone {
            self.undo(connection);
        }
    }

    fn on_mark(&mut self, connection: &mut Access<'_>, delivered: u64, is_advance: bool) -> bool {
        is_linux(&self.rules) && self.on_mark_of_linux(connection, delivered, is_advance)
    }

    fn is_disordered(&self) -> Option<bool> {
        is_linux(&self.rules).then(|| self.machine.is_disordered())
    }

    fn reordering(&self) -> (u64, u64) {
        self.machine.reordering()
    }

    fn grows_on_reports(&self) -> bool {
        is_linux(&self.rules) && self.machine.grows_on_reports()
    }

    fn on_delivered(&mut self, connection: &mut Access<'_>, by: DeliveredBy) {
        if is_linux(&self.rules) {
            self.on_ack_of_linux(connection, by);
            return;
        }
        let is_advance = by == DeliveredBy::NewData;
        if connection.in_loss() && connection.snd_una() >= self.recover {
            connection.set_in_loss(false);
            self.forward = ForwardRecovery::Idle;
            self.window.on_recovery_exit();
            self.has_ended = true;
        }
        self.look_back(connection, is_advance);
        if self.probe.on_ack(connection, !is_advance) && !connection.in_recovery() && !connection.in_loss() {
            connection.reduce(Signal::FastRetransmit, false);
        }
        let delivered = connection.scoreboard().delivered_counted().saturating_sub(self.seen);
        self.seen = connection.scoreboard().delivered_counted();
        let begins = self.detect(connection, delivered);
        if connection.in_recovery() && !begins && self.reduces(connection) {
            self.reduction.on_ack(connection, is_advance);
        }
        match by {
            DeliveredBy::NewData => self.arm_probe(connection),
            DeliveredBy::Duplicate => connection.timers().stop(TimerKind::Probe),
            DeliveredBy::Other => {}
        }
    }

    fn on_new_ack(&mut self, connection: &mut Access<'_>, ack: u64) -> NewAck {
        connection.duplicates_mut().count = 0;
        self.has_expired = false;
        self.una_before = connection.snd_una();
        // Linux sets its timer when it knows what is lost.
        let timer = if is_linux(&self.rules) { TimerRule::GoOn } else { TimerRule::Restart };
        let answer = NewAck { timer, ..NewAck::FULL };
        if connection.in_recovery() {
            if ack < self.recover {
                return answer;
            }
            self.leave(connection);
            self.machine.has_left = true;
        }
        if connection.in_cwr() {
            connection.duplicates_mut().forget_limited_bytes();
        } else {
            connection.duplicates_mut().clear();
        }
        answer
    }

    fn on_timeout(&mut self, connection: &mut Access<'_>) {
        let window = self.reordering_window(connection);
        let now = connection.now();
        connection.scoreboard_mut().lose_at_timeout(now, window, self.rules.rto_marks_all);
        connection.announce_losses();
        if connection.in_recovery() || connection.in_cwr() {
            self.reduction.end(connection);
        }
        connection.duplicates_mut().inflation = 0.0;
        connection.duplicates_mut().count = 0;
        self.forward = ForwardRecovery::begin(
            self.rules.frto,
            connection.in_recovery(),
            connection.in_loss(),
            !self.has_expired,
        );
        if is_linux(&self.rules) {
            self.on_timeout_of_linux(connection);
        } else
        // While the segment that the timer has sent again is not acknowledged, the threshold is kept [RFC 5681 §3.1]. The
        // window is that after a timeout already.
        if !std::mem::replace(&mut self.has_expired, true) {
            self.note_reaction(connection, Signal::Timeout, connection.in_recovery() || connection.in_loss());
            connection.react_to_timeout(connection.scoreboard().unreported());
        }
        self.probe.cancel();
        connection.timers().stop(TimerKind::Probe);
        connection.timers().stop(TimerKind::Reordering);
        self.recover = connection.snd_max();
        connection.set_in_loss(true);
        if is_linux(&self.rules) {
            self.machine.tell(connection, SenderState::Loss);
        }
        self.must_send = true;
    }

    fn on_timer(&mut self, connection: &mut Access<'_>, kind: TimerKind) {
        match kind {
            TimerKind::Reordering if is_linux(&self.rules) => self.on_reordering_timer_of_linux(connection),
            TimerKind::Reordering => {
                self.detect(connection, 0);
            }
            TimerKind::Probe if is_linux(&self.rules) && !self.probe_is_due(connection) => {}
            TimerKind::Probe => {
                self.probe.is_due = true;
                // The probe may have to wait for the pacer: the timeout begins again with it.
                connection.restart_retransmission_timer();
            }
            TimerKind::Retransmission | TimerKind::Pacing => {}
        }
    }

    fn cause(&self, _in_recovery: bool, in_loss: bool) -> Option<Cause> {
        Some(match (self.probe.is_due, in_loss) {
            (true, _) => Cause::TailProbe,
            (false, true) => Cause::Timeout,
            (false, false) => Cause::Rack,
        })
    }

    fn poll(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        if self.probe.is_due {
            return self.send_probe(connection);
        }
        if !connection.in_recovery() && !connection.in_loss() && !connection.scoreboard().has_sacked() {
            let segment = connection.poll_window()?;
            if is_linux(&self.rules) {
                self.arm_probe_after_new_data(connection);
            } else {
                self.arm_probe(connection);
            }
            return Some(segment);
        }
        let probes = matches!(self.forward, ForwardRecovery::Probing(_))
            && (!is_linux(&self.rules) || self.probes_with_new_data(connection));
        if let ForwardRecovery::Probing(rest) = &mut self.forward
            && probes
        {
            *rest = rest.checked_sub(1)?;
            return connection.poll_new();
        }
        let must_wait = self.forward == ForwardRecovery::Waiting || !self.has_room(connection);
        if must_wait && !self.must_send {
            return connection.pause(true);
        }
        let lost = if self.machine.holds_back { None } else { connection.scoreboard_mut().next_lost() };
        let segment = match lost {
            Some(index) => {
                let now = connection.stamped(connection.now());
                self.machine.on_resent(now);
                if let Some(reaction) = &mut self.reaction {
                    reaction.on_resent(now);
                }
                let segment = connection.send_again(index);
                if index == 0 && is_linux(&self.rules) && !connection.timers().is_set(TimerKind::Reordering) {
                    connection.restart_retransmission_timer();
                }
                segment
            }
            None => {
                let segment = connection.poll_new()?;
                if is_linux(&self.rules) && connection.in_cwr() {
                    self.arm_probe_after_new_data(connection);
                }
                segment
            }
        };
        self.must_send = false;
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::{Echo, Scoreboard};

    const MS: u64 = 1_000_000;

    /// A scoreboard on which a segment is reported 40 ms after it was sent, `out_of_order` after a later one.
    fn reported(segments: u64, is_out_of_order: bool) -> Scoreboard {
        let mut scoreboard = Scoreboard::default();
        scoreboard.detect_by_time();
        (0..10).for_each(|n| scoreboard.push(n * 100, 100, Time::ZERO));
        scoreboard.begin_ack(None);
        if is_out_of_order {
            scoreboard.report(0, 900, 1000, Time(40 * MS));
            scoreboard.begin_ack(None);
        }
        scoreboard.report(0, 100, 100 + 100 * segments, Time(40 * MS));
        scoreboard
    }

    #[test]
    fn the_handshake_bounds_the_reordering_window() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.detect_by_time();
        scoreboard.on_measured(Time(20 * MS));
        scoreboard.push(0, 100, Time::ZERO);
        scoreboard.begin_ack(None);
        scoreboard.report(0, 0, 100, Time(28 * MS));
        // A quarter of 20 ms, not of 28 ms.
        let deliveries = scoreboard.deliveries().unwrap();
        let length = ReorderingWindow::new().length(&RackRules::default(), deliveries, false, 0.05);
        assert_eq!(length, Time(5 * MS));
    }

    #[test]
    fn nothing_waits_above_three_reports_or_in_a_recovery_until_reordering_is_seen() {
        let length = |scoreboard: &Scoreboard, in_recovery| {
            let deliveries = scoreboard.deliveries().unwrap();
            ReorderingWindow::new().length(&RackRules::default(), deliveries, in_recovery, 0.05).0 / MS
        };
        // A quarter of 40 ms, unless three segments are reported.
        let (two, three) = (reported(2, false), reported(3, false));
        assert_eq!((length(&two, false), length(&two, true), length(&three, false)), (10, 0, 0));
        let seen = reported(3, true);
        assert_eq!((length(&seen, false), length(&seen, true)), (10, 10));
        let rules = RackRules { dup_thresh: 0, ..RackRules::default() };
        assert_eq!(
            ReorderingWindow::new().length(&rules, three.deliveries().unwrap(), false, 0.05).0 / MS,
            10
        );
    }

    #[test]
    fn a_duplicate_per_round_trip_widens_the_window_and_sixteen_recoveries_without_one_restore_it() {
        let (rules, scoreboard) = (RackRules::default(), reported(3, true));
        let mut window = ReorderingWindow::new();
        let length = |window: &ReorderingWindow| {
            window.length(&rules, scoreboard.deliveries().unwrap(), false, 0.05).0 / MS
        };
        // The second one is of the same round trip.
        window.on_duplicate(&rules, 0, 1000);
        window.on_duplicate(&rules, 500, 1500);
        assert_eq!(length(&window), 20);
        window.on_duplicate(&rules, 1000, 2000);
        assert_eq!(length(&window), 30);
        for end in 3..9 {
            window.on_duplicate(&rules, 1000 * (end - 1), 1000 * end);
        }
        // At most the smoothed round-trip time, here 50 ms of 9 * 10 ms.
        assert_eq!(length(&window), 50);
        (0..15).for_each(|_| window.on_recovery_exit());
        assert_eq!(length(&window), 50);
        window.on_recovery_exit();
        assert_eq!(length(&window), 10);
        // A limit of the multiple.
        let rules = RackRules { reo_wnd_mult_max: 2, ..rules.clone() };
        (9..12).for_each(|end| window.on_duplicate(&rules, 1000 * (end - 1), 1000 * end));
        assert_eq!(length(&window), 20);
    }

    #[test]
    fn what_was_sent_before_the_newest_delivery_is_lost_after_its_round_trip_time_and_the_window() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.detect_by_time();
        (0..10).for_each(|n| scoreboard.push(n * 100, 100, Time(n * MS)));
        // The sixth segment, sent at 5 ms, is reported at 45 ms; then the third.
        scoreboard.begin_ack(None);
        scoreboard.report(0, 500, 600, Time(45 * MS));
        // With a window of 10 ms, the first is lost at 0 + 40 + 10 ms and the fifth at 54 ms: the timer waits for that.
        assert_eq!(scoreboard.detect_losses(Time(45 * MS), Time(10 * MS)), Time(54 * MS));
        assert_eq!(scoreboard.lost(), 0);
        scoreboard.report(0, 200, 300, Time(46 * MS));
        // That delivery took 44 ms, but it is not the newest: 0 to 4 ms + 44 ms + 10 ms.
        assert_eq!(scoreboard.detect_losses(Time(55 * MS), Time(10 * MS)), Time(58 * MS));
        assert_eq!(scoreboard.lost(), 200);
        assert_eq!(scoreboard.detect_losses(Time(58 * MS), Time(10 * MS)), Time::NEVER);
        assert_eq!((scoreboard.lost(), scoreboard.pipe()), (400, 400));
        // The first is sent again at 60 ms. A segment sent at 61 ms is delivered 40 ms later: the retransmission is lost.
        scoreboard.mark_resent(0, Time(60 * MS));
        scoreboard.push(1000, 100, Time(61 * MS));
        assert_eq!(scoreboard.next_lost(), Some(1));
        scoreboard.begin_ack(None);
        scoreboard.report(0, 1000, 1100, Time(101 * MS));
        assert_eq!(scoreboard.detect_losses(Time(101 * MS), Time::ZERO), Time::NEVER);
        assert_eq!((scoreboard.next_lost(), scoreboard.lost()), (Some(0), 400 + 400 + 100));
    }

    #[test]
    fn a_timeout_loses_the_oldest_segment_and_what_is_old_enough() {
        for (all, lost) in [(false, 300), (true, 400)] {
            let mut scoreboard = Scoreboard::default();
            scoreboard.detect_by_time();
            (0..5).for_each(|n| scoreboard.push(n * 100, 100, Time(100 * n * MS)));
            scoreboard.begin_ack(None);
            scoreboard.report(0, 300, 400, Time(340 * MS));
            // With a round-trip time of 40 ms and a window of 10 ms, those sent at 0, 100 and 200 ms are old at 440 ms, and
            // the one sent at 400 ms is not.
            scoreboard.lose_at_timeout(Time(440 * MS), Time(10 * MS), all);
            assert_eq!(scoreboard.lost(), lost);
        }
    }

    #[test]
    fn the_echo_tells_which_transmission_arrived() {
        let newest = |echo| {
            let mut scoreboard = Scoreboard::default();
            scoreboard.detect_by_time();
            (0..2).for_each(|n| scoreboard.push(n * 100, 100, Time::ZERO));
            scoreboard.begin_ack(None);
            scoreboard.report(0, 100, 200, Time(40 * MS));
            scoreboard.mark_resent(0, Time(50 * MS));
            scoreboard.begin_ack(echo);
            scoreboard.acknowledge(200, Time(95 * MS));
            scoreboard.deliveries().unwrap().newest()
        };
        // The retransmission of 50 ms, or the original. Without timestamps, 45 ms are not less than the minimum of 40.
        assert_eq!(newest(Some(Echo::exact(Time(50 * MS)))), Some((Time(50 * MS), 100)));
        assert_eq!(newest(Some(Echo::exact(Time::ZERO))), Some((Time::ZERO, 200)));
        assert_eq!(newest(None), Some((Time(50 * MS), 100)));
    }
}
