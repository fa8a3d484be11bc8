//! The state machine of Linux around the detection of losses by time: `tcp_fastretrans_alert` and what it calls, with the
//! timers of `tcp_set_xmit_timer` [linux6 tcp_input.c, tcp_recovery.c, tcp_output.c].
//!
//! Its states are those of the kernel. *Open* and *Disorder* are the absence of the others. In *CWR*, a mark reduces the
//! window in proportion to what is delivered; a loss then begins a *Recovery* that goes on with this reduction. *Loss*
//! follows a timeout.
//!
//! * A late original that a partial ACK acknowledges is reordering, and undoes the recovery unless retransmissions are in
//!   the network: then nothing is marked or retransmitted with that ACK.
//! * What time has shown to be lost is not examined again after an undo, until it is retransmitted.
//! * The degree of reordering is kept. Above three segments, the window also grows with reports.
//! * A retransmission lost after a timeout begins a recovery.
//! * There is one timer: reordering and probes take the place of the timeout, which then counts from the last transmission
//!   of the oldest segment. The timer of reordering ends with an ACK that looks for no losses.
//!
//! Where it departs: reneging is not considered.

use super::{Rack, ReorderingWindow};
use crate::config::recovery::RackRules;
use crate::scoreboard::Deliveries;
use crate::sender::access::Access;
use crate::sender::recovery::DeliveredBy;
use crate::sender::recovery::prr::Reduction;
use crate::sender::recovery::undo::{Finding, ForwardRecovery, Reaction};
use crate::sender::timers::TimerKind;
use dumbbell_cc::{SenderState, Signal};
use dumbbell_units::Time;

/// Degree of reordering without any, and the largest (`tcp_reordering`, `tcp_max_reordering`), in segments.
const REORDERING: u64 = 3;
const MAX_REORDERING: u64 = 300;

/// What the state machine keeps beyond the recovery.
#[derive(Clone, Debug)]
pub(super) struct StateMachine {
    /// Degree of reordering, in segments.
    reordering: u64,
    /// How often it was seen.
    seen: u64,
    /// A recovery has ended with this ACK.
    pub(super) has_left: bool,
    /// Nothing is retransmitted with this ACK.
    pub(super) holds_back: bool,
    /// Losses were looked for with this ACK.
    has_marked: bool,
    /// Bytes lost before this ACK.
    lost_before: u64,
    /// The state is Disorder, or was another one than Open with the last ACK.
    is_disordered: bool,
    /// Time of the first retransmission since the state was Open and nothing retransmitted was outstanding
    /// (`retrans_stamp`).
    first_resent: Time,
    /// When the acknowledgement arrived after which new data is sent to see whether a timeout was spurious.
    probes_at: Time,
    /// The state that the congestion control was told last.
    told: SenderState,
}

impl StateMachine {
    pub(super) fn new() -> Self {
        StateMachine {
            reordering: REORDERING,
            seen: 0,
            has_left: false,
            holds_back: false,
            has_marked: false,
            lost_before: 0,
            is_disordered: false,
            first_resent: Time::NEVER,
            probes_at: Time::ZERO,
            told: SenderState::Open,
        }
    }

    /// The state of the kernel.
    fn state(&self, connection: &Access<'_>) -> SenderState {
        match () {
            () if connection.in_recovery() => SenderState::Recovery,
            () if connection.in_loss() => SenderState::Loss,
            () if connection.in_cwr() => SenderState::Cwr,
            () if self.is_disordered => SenderState::Disorder,
            () => SenderState::Open,
        }
    }

    /// Tells the congestion control of a state (`tcp_set_ca_state`).
    pub(super) fn tell(&mut self, connection: &mut Access<'_>, state: SenderState) {
        self.told = state;
        connection.announce_state(state);
    }

    /// The same if it is another one.
    fn tell_change(&mut self, connection: &mut Access<'_>) {
        let state = self.state(connection);
        if state != self.told {
            self.tell(connection, state);
        }
    }

    /// A segment was retransmitted, other than by a probe.
    pub(super) fn on_resent(&mut self, now: Time) {
        self.first_resent = self.first_resent.min(now);
    }

    /// Forgets the first retransmission if nothing retransmitted is outstanding (`tcp_any_retrans_done`).
    fn forget_resent(&mut self, connection: &Access<'_>) {
        if self.first_resent < Time::NEVER && !has_resent(connection) {
            self.first_resent = Time::NEVER;
        }
    }

    /// The degree of reordering in segments, and how often it was seen.
    pub(super) fn reordering(&self) -> (u64, u64) {
        (self.reordering, self.seen)
    }

    /// True in the state Disorder.
    pub(super) fn is_disordered(&self) -> bool {
        self.is_disordered
    }

    /// An ACK was processed. Open becomes Disorder with an ACK that acknowledges nothing new or reports something, and any
    /// other state is left for Disorder as long as something is reported, lost or retransmitted (`tcp_ack_is_dubious`,
    /// `tcp_try_keep_open`).
    fn see_to_disorder(&mut self, connection: &Access<'_>, is_advance: bool) {
        let is_other = connection.in_recovery() || connection.in_loss() || connection.in_cwr();
        if !connection.in_recovery() && !connection.in_loss() {
            self.forget_resent(connection);
        }
        let board = connection.scoreboard();
        if is_other || !self.is_disordered && is_advance && !board.has_sacked() {
            self.is_disordered = is_other;
            return;
        }
        self.is_disordered = board.has_sacked() || board.has_lost() || has_resent(connection);
    }

    /// True if the window also grows with reports (`tcp_may_raise_cwnd`).
    pub(super) fn grows_on_reports(&self) -> bool {
        self.reordering > REORDERING
    }

    /// Data from this byte on was delivered out of order (`tcp_check_sack_reordering`).
    fn note_reordering(&mut self, connection: &mut Access<'_>, from: u64) {
        let Some(deliveries) = connection.scoreboard_mut().deliveries_mut() else { return };
        let highest = deliveries.highest();
        if from >= highest {
            return;
        }
        deliveries.set_reordering_seen();
        self.seen += 1;
        let degree = (highest - from).div_ceil(u64::from(connection.mss()));
        self.reordering = self.reordering.max(degree.min(MAX_REORDERING));
    }
}

/// The reordering window of Linux (`tcp_rack_update_reo_wnd`).
impl ReorderingWindow {
    /// Something was delivered that was sent at this time. A duplicate counts with it, unless it was sent before the last
    /// one counted.
    fn on_delivered(&mut self, rules: &RackRules, sent_at: Time, now: Time) {
        self.is_duplicate_due &= sent_at >= self.counted_at;
        if std::mem::take(&mut self.is_duplicate_due) {
            self.widen(rules);
            self.counted_at = now;
        } else if self.persist == 0 {
            self.multiple = 1;
        }
    }

    /// A recovery has ended that was not undone.
    fn on_recovery_repaired(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }
}

/// True if a retransmission may be in the network, or the oldest segment was retransmitted.
fn has_resent(connection: &Access<'_>) -> bool {
    let board = connection.scoreboard();
    board.retransmissions_out().0 > 0 || board.head().is_some_and(|head| head.transmissions > 1)
}

/// What an ACK has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Losses are looked for.
    GoOn,
    /// Nothing more is marked or begun with this ACK.
    Stop,
}

impl Rack {
    /// An ACK, or a report, after the scoreboard has recorded it: `tcp_ack` from `tcp_process_tlp_ack` on.
    #[inline(never)]
    pub(super) fn on_ack_of_linux(&mut self, connection: &mut Access<'_>, by: DeliveredBy) {
        let is_advance = by == DeliveredBy::NewData;
        self.machine.holds_back = false;
        self.machine.has_marked = false;
        self.machine.lost_before = connection.scoreboard().lost();
        self.reduction.begin_ack(self.machine.lost_before);
        if let Some(sent_at) =
            connection.scoreboard().deliveries().and_then(|deliveries| deliveries.newest_now())
        {
            self.window.on_delivered(&self.rules, sent_at, connection.now());
        }
        let delivered = connection.scoreboard().delivered_counted().saturating_sub(self.seen);
        self.seen = connection.scoreboard().delivered_counted();
        if let Some(from) = connection.scoreboard().deliveries().and_then(|deliveries| deliveries.reordered())
        {
            self.machine.note_reordering(connection, from);
        }
        if self.probe.on_ack(connection, !is_advance) && !connection.in_recovery() && !connection.in_loss() {
            connection.reduce(Signal::FastRetransmit, false);
            connection.set_in_cwr(false);
            self.machine.tell(connection, SenderState::Cwr);
            connection.announce_reduced();
            self.machine.tell(connection, SenderState::Open);
        }
        let was_armed =
            [TimerKind::Reordering, TimerKind::Probe].map(|kind| connection.timers().is_set(kind));
        let mut begins = false;
        let step = self.look_back_of_linux(connection, is_advance);
        self.tell_of_end(connection);
        if step == Step::GoOn {
            begins = self.detect_of_linux(connection, delivered, is_advance);
        }
        let reduces = connection.in_recovery() || connection.in_cwr();
        if reduces && !begins && self.reduces(connection) {
            self.reduction.on_ack(connection, is_advance);
        }
        self.machine.see_to_disorder(connection, is_advance);
        self.machine.tell_change(connection);
        self.set_timers(connection, is_advance, was_armed.contains(&true));
        self.machine.has_left = false;
    }

    /// Tells the congestion control that a reaction has ended: the state is Open, whatever follows.
    fn tell_of_end(&mut self, connection: &mut Access<'_>) {
        let is_other = connection.in_recovery() || connection.in_loss() || connection.in_cwr();
        let was_other = !matches!(self.machine.told, SenderState::Open | SenderState::Disorder);
        let is_complete = self.machine.has_left || self.machine.told == SenderState::Cwr;
        if was_other && !is_other {
            self.machine.tell(connection, SenderState::Open);
            if is_complete {
                connection.announce_reduced();
            }
        }
    }

    /// Undoes what proves spurious, and ends what is repaired.
    fn look_back_of_linux(&mut self, connection: &mut Access<'_>, is_advance: bool) -> Step {
        let is_late = is_advance && self.is_late(connection);
        let is_explained = self.reaction.as_ref().is_some_and(|reaction| reaction.is_explained());
        if connection.in_recovery() && !is_advance && connection.snd_una() >= self.recover {
            // The end of a recovery that goes on from CWR is that of CWR, and may be acknowledged from the start.
            self.leave(connection);
            self.machine.has_left = true;
        }
        if connection.in_loss() {
            self.look_back_at_timeout(connection, is_advance, is_late || is_explained);
        } else if connection.in_recovery() {
            if is_late {
                let from = self.una_before;
                self.machine.note_reordering(connection, from);
                if connection.scoreboard().retransmissions_out().0 > 0 {
                    self.machine.holds_back = true;
                    return Step::Stop;
                }
                self.machine.forget_resent(connection);
                self.undo_of_linux(connection, true);
            } else if is_explained {
                self.undo_by_duplicates(connection);
            }
        } else if self.machine.has_left {
            if is_late || is_explained {
                self.undo_of_linux(connection, false);
            } else {
                self.window.on_recovery_repaired();
            }
        } else if !connection.in_cwr() && is_explained {
            self.undo_by_duplicates(connection);
        }
        if connection.in_cwr() && connection.snd_una() > self.recover {
            self.reduction.end(connection);
            connection.set_in_cwr(false);
        }
        Step::GoOn
    }

    /// True if an ACK of new data echoes a time before the first retransmission (`tcp_packet_delayed`).
    fn is_late(&self, connection: &Access<'_>) -> bool {
        let first = self.machine.first_resent;
        let echo = connection.scoreboard().deliveries().and_then(|deliveries| deliveries.echo());
        self.rules.undo
            && self.reaction.is_some()
            && (first == Time::NEVER || echo.is_some_and(|echo| echo < first))
    }

    /// `tcp_process_loss`.
    fn look_back_at_timeout(&mut self, connection: &mut Access<'_>, is_advance: bool, may_undo: bool) {
        let is_recovered = connection.snd_una() >= self.recover;
        if is_advance && may_undo {
            self.undo_of_linux(connection, !is_recovered);
        } else {
            let original =
                connection.scoreboard().deliveries().map_or(u64::MAX, |deliveries| deliveries.original());
            let has_new = self.forward != ForwardRecovery::Idle && connection.unsent_segment() > 0;
            let is_partial = is_advance && !is_recovered;
            let finding = self.forward.on_ack(self.rules.frto, original <= self.recover, is_partial, has_new);
            self.machine.probes_at = connection.now();
            if finding == Finding::IsSpurious {
                self.undo_of_linux(connection, true);
            }
        }
        if connection.in_loss() && is_recovered {
            connection.set_in_loss(false);
            self.forward = ForwardRecovery::Idle;
            self.window.on_recovery_repaired();
        }
    }

    /// True if new data is sent to see whether a timeout was spurious: with the acknowledgement that lets it. When the pacer
    /// lets segments leave later, what is lost comes first (`tcp_tsq_write`); if it has held back the new data as well, the
    /// timeout was not spurious (`tcp_xmit_recovery`).
    pub(super) fn probes_with_new_data(&mut self, connection: &Access<'_>) -> bool {
        if connection.now() == self.machine.probes_at || connection.congestion().pacing_rate().is_none() {
            return true;
        }
        if connection.snd_max() <= self.recover {
            self.forward = ForwardRecovery::Idle;
        }
        false
    }

    /// Everything that was retransmitted arrived twice (`tcp_try_undo_dsack`).
    fn undo_by_duplicates(&mut self, connection: &mut Access<'_>) {
        self.window.persist = self.rules.reo_wnd_persist.min(self.window.persist + 1);
        self.undo_of_linux(connection, false);
    }

    /// `tcp_undo_cwnd_reduction`; what is lost remains so unless `unmarks`.
    fn undo_of_linux(&mut self, connection: &mut Access<'_>, unmarks: bool) {
        if connection.in_recovery() {
            self.leave(connection);
        }
        connection.set_in_loss(false);
        self.has_expired = false;
        self.must_send = false;
        self.forward = ForwardRecovery::Idle;
        if unmarks {
            connection.scoreboard_mut().unmark_lost();
        }
        connection.scoreboard_mut().deliveries_mut().into_iter().for_each(Deliveries::set_advanced);
        if let Some(reaction) = self.reaction.take()
            && !reaction.keeps_window
        {
            connection.undo(&reaction.undo, reaction.until);
        }
    }

    /// Marks what is lost, and begins a recovery if anything is. True if one begins.
    fn detect_of_linux(&mut self, connection: &mut Access<'_>, delivered: u64, is_advance: bool) -> bool {
        if connection.scoreboard_mut().deliveries_mut().is_some_and(Deliveries::take_advanced) {
            self.mark_lost(connection);
            self.machine.has_marked = true;
        }
        let is_resent_lost =
            connection.scoreboard_mut().deliveries_mut().is_some_and(Deliveries::take_resent_lost);
        let begins = !connection.in_recovery()
            && if connection.in_loss() { is_resent_lost } else { connection.scoreboard().has_lost() };
        if begins {
            self.enter_of_linux(connection, delivered, is_advance);
        }
        begins
    }

    /// `tcp_enter_recovery`, with the first step of the reduction.
    fn enter_of_linux(&mut self, connection: &mut Access<'_>, delivered: u64, is_advance: bool) {
        let Some(head) = connection.scoreboard().head() else { return };
        let retransmitted_before = head.transmissions > 1;
        self.note_with_probe(connection, Signal::FastRetransmit);
        self.probe.cancel();
        connection.timers().stop(TimerKind::Probe);
        connection.set_in_loss(false);
        self.forward = ForwardRecovery::Idle;
        self.must_send = !connection.congestion().is_model_based();
        if connection.in_cwr() {
            // The reduction goes on, and an undo does not restore what a mark has reduced.
            connection.set_in_cwr(false);
            // A segment that the reduction has let out takes the place of the first retransmission.
            self.must_send = self.reduces(connection) && !self.reduction.has_sent(connection);
            self.keep_window_at_undo();
            connection.recover_reduced();
            if self.reduces(connection) {
                self.reduction.go_on(connection, delivered, is_advance);
            }
            return;
        }
        let prior = self.prior(connection, delivered);
        connection.duplicates_mut().inflation = 0.0;
        connection.react_to_loss_by_time(retransmitted_before);
        self.recover = connection.snd_max();
        if self.reduces(connection) {
            let counters = (delivered, self.machine.lost_before);
            self.reduction = Reduction::begin_linux(connection, self.rules.prr, prior, counters, is_advance);
        }
    }

    /// A mark: the reduction begins unless one is in progress, and what is in progress is not undone (`tcp_enter_cwr`). False
    /// if the window must be reduced at once.
    #[inline(never)]
    pub(super) fn on_mark_of_linux(
        &mut self,
        connection: &mut Access<'_>,
        delivered: u64,
        is_advance: bool,
    ) -> bool {
        self.keep_window_at_undo();
        if connection.in_recovery() || connection.in_loss() || connection.in_cwr() {
            return true;
        }
        if !self.reduces(connection) && !connection.congestion().is_model_based() {
            return false;
        }
        let prior = self.prior(connection, delivered);
        self.reaction = None;
        connection.reduce(Signal::EcnEcho, false);
        connection.set_in_cwr(true);
        self.recover = connection.snd_max();
        self.probe.cancel();
        if self.reduces(connection) {
            let counters = (delivered, connection.scoreboard().lost());
            self.reduction = Reduction::begin_linux(connection, self.rules.prr, prior, counters, is_advance);
        }
        self.machine.tell_change(connection);
        true
    }

    fn keep_window_at_undo(&mut self) {
        if let Some(reaction) = &mut self.reaction {
            reaction.keeps_window = true;
        }
    }

    /// `tcp_rack_reo_timeout`.
    #[inline(never)]
    pub(super) fn on_reordering_timer_of_linux(&mut self, connection: &mut Access<'_>) {
        let before = connection.scoreboard().pipe();
        self.machine.holds_back = false;
        self.machine.lost_before = connection.scoreboard().lost();
        self.mark_lost(connection);
        if connection.scoreboard().pipe() != before && !connection.in_recovery() {
            let segment = u64::from(connection.mss());
            self.enter_of_linux(connection, segment, false);
            self.machine.tell_change(connection);
        }
        if !connection.scoreboard().is_empty() {
            self.restart_from_head(connection);
        }
    }

    /// The timeout counts from the last transmission of the oldest segment (`tcp_rto_delta_us`).
    fn restart_from_head(&self, connection: &mut Access<'_>) {
        let Some(head) = connection.scoreboard().head() else { return };
        let at = (head.sent_at + connection.timeout()).max(connection.now() + self.rules.reo_timer_slack);
        connection.set_timer(TimerKind::Retransmission, at);
    }

    /// `tcp_set_xmit_timer`, unless the reordering timer was set with this ACK. One that was set before ends.
    fn set_timers(&mut self, connection: &mut Access<'_>, is_advance: bool, was_armed: bool) {
        if connection.scoreboard().is_empty() {
            connection.timers().stop(TimerKind::Probe);
            return;
        }
        let restarts = is_advance || self.reports_newer_than_head(connection);
        if connection.timers().is_set(TimerKind::Reordering) {
            if self.machine.has_marked || !restarts {
                connection.timers().stop(TimerKind::Probe);
                self.restart_from_head(connection);
                return;
            }
            connection.timers().stop(TimerKind::Reordering);
        }
        if !restarts {
            return;
        }
        if self.wants_probe(connection) {
            connection.restart_retransmission_timer();
            self.set_probe(connection, true);
        } else if was_armed {
            connection.timers().stop(TimerKind::Probe);
            self.restart_from_head(connection);
        } else {
            connection.restart_retransmission_timer();
        }
    }

    /// True if this ACK reports data that was sent before the oldest segment was last sent.
    fn reports_newer_than_head(&self, connection: &Access<'_>) -> bool {
        let reported =
            connection.scoreboard().deliveries().and_then(|deliveries| deliveries.lowest_reported());
        let head = connection.scoreboard().head();
        reported.is_some_and(|sent_at| head.is_some_and(|head| sent_at < head.sent_at))
    }

    /// True if a probe may be armed: in the states Open and CWR (`tcp_schedule_loss_probe`).
    pub(super) fn wants_probe(&self, connection: &Access<'_>) -> bool {
        self.rules.tlp
            && !connection.in_recovery()
            && !connection.in_loss()
            && (connection.in_cwr() || !self.machine.is_disordered)
    }

    /// New data was sent: a pending probe is armed again, not after the timeout of the oldest segment unless that has passed.
    /// In CWR, it takes the place of the timer of reordering.
    #[inline(never)]
    pub(super) fn arm_probe_after_new_data(&mut self, connection: &mut Access<'_>) {
        if !self.wants_probe(connection) {
            if connection.timers().is_set(TimerKind::Probe) {
                connection.timers().stop(TimerKind::Probe);
                self.restart_from_head(connection);
            }
            return;
        }
        connection.timers().stop(TimerKind::Reordering);
        let Some(head) = connection.scoreboard().head() else { return };
        let (now, latest) = (connection.now(), head.sent_at + connection.timeout());
        let probe = now + self.probe_timeout(connection);
        let probe = if latest > now { probe.min(latest) } else { probe };
        connection.set_timer(TimerKind::Probe, probe);
        let due = connection.timers().deadline(TimerKind::Probe);
        if connection.timers().deadline(TimerKind::Retransmission) <= due {
            // The probe takes the place of the timeout.
            connection.set_timer(TimerKind::Retransmission, probe);
        }
    }

    /// The timer of a probe expired. True if one is sent; otherwise, one is out already.
    pub(super) fn probe_is_due(&self, connection: &mut Access<'_>) -> bool {
        if self.probe.is_answered() {
            return true;
        }
        self.restart_from_head(connection);
        false
    }

    /// A timeout: the threshold is reduced unless it was in this window of data (`tcp_enter_loss`).
    #[inline(never)]
    pub(super) fn on_timeout_of_linux(&mut self, connection: &mut Access<'_>) {
        self.lower_reordering(connection);
        let has_expired = std::mem::replace(&mut self.has_expired, true);
        let (loss_window, reduces) = self.timeout_of_linux(connection, has_expired);
        if reduces {
            self.note_with_probe(connection, Signal::Timeout);
        }
        connection.react_to_timeout_with(connection.scoreboard().unreported(), loss_window, reduces);
    }

    /// Notes a reaction, and expects that a probe in the network arrives twice as well (`tcp_init_undo`).
    fn note_with_probe(&mut self, connection: &Access<'_>, signal: Signal) {
        self.note_reaction(connection, signal, false);
        if self.probe.is_repetition_out() {
            self.reaction.iter_mut().for_each(Reaction::expect_probe);
        }
    }

    /// The rules by which a timeout reduces the window (`tcp_enter_loss`): the window after it, in bytes, and whether the
    /// threshold is reduced.
    pub(super) fn timeout_of_linux(&self, connection: &Access<'_>, has_expired: bool) -> (f64, bool) {
        let pipe = connection.scoreboard().pipe() as f64;
        let is_reduced =
            connection.in_recovery() || connection.in_cwr() || connection.in_loss() && has_expired;
        (pipe + f64::from(connection.mss()), !(is_reduced && self.recover > connection.snd_una()))
    }

    /// A timeout in a state without repairs shows that the degree of reordering was too large.
    pub(super) fn lower_reordering(&mut self, connection: &Access<'_>) {
        let is_calm = !connection.in_recovery() && !connection.in_loss() && !connection.in_cwr();
        let reported = connection.scoreboard().deliveries().map_or(0, |deliveries| deliveries.reported());
        if is_calm && reported >= REORDERING {
            self.machine.reordering = self.machine.reordering.min(REORDERING);
        }
    }

    /// A range arrived twice (`tcp_check_dsack`): it widens the reordering window, counts as delivered, and may explain a
    /// retransmission.
    #[inline(never)]
    pub(super) fn on_duplicate_of_linux(&mut self, connection: &mut Access<'_>, range: (u64, u64)) {
        let mss = u64::from(connection.mss());
        let segments = range.1.saturating_sub(range.0).div_ceil(mss).max(1);
        self.duplicates += segments;
        if self.duplicates > connection.segments_retransmitted() {
            return;
        }
        let is_probe = self.probe.on_duplicate_report(range);
        let is_reordering_seen =
            connection.scoreboard().deliveries().is_some_and(|deliveries| deliveries.is_reordering_seen());
        self.window.is_duplicate_due |= is_reordering_seen && !is_probe;
        connection.scoreboard_mut().count_duplicate(segments * mss);
        connection.scoreboard_mut().on_duplicate_of_reported(range);
        if self.rules.undo
            && let Some(reaction) = &mut self.reaction
        {
            (0..segments).for_each(|_| reaction.explain(range));
        }
    }
}

/// True if these rules are those of Linux.
pub(super) fn is_linux(rules: &RackRules) -> bool {
    rules.form == crate::config::recovery::RackForm::Linux
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_widens_the_window_with_the_next_delivery_of_something_sent_since_the_last_one_counted() {
        let rules = RackRules { reo_wnd_mult_max: 255, ..RackRules::default() };
        let mut window = ReorderingWindow::new();
        let mut deliver = |is_duplicate, sent_at, now| {
            window.is_duplicate_due |= is_duplicate;
            window.on_delivered(&rules, Time(sent_at), Time(now));
            window.multiple
        };
        assert_eq!((deliver(false, 0, 10), deliver(true, 5, 20)), (1, 2));
        // Sent before 20, when one was counted: the duplicate is forgotten.
        assert_eq!((deliver(true, 19, 30), deliver(false, 20, 31)), (2, 2));
        assert_eq!(deliver(true, 20, 40), 3);
        (0..rules.reo_wnd_persist).for_each(|_| window.on_recovery_repaired());
        window.on_delivered(&rules, Time(50), Time(60));
        assert_eq!(window.multiple, 1);
    }
}
