//! What a recovery sees of its connection, and what it may do with it.

use super::cause::Cause;
use super::connection::Connection;
use super::duplicates::{DUPLICATE_THRESHOLD, Duplicates};
use super::timers::{TimerKind, Timers};
use super::trace::TcpEventKind;
use crate::clock::HostClock;
use crate::scoreboard::Scoreboard;
use crate::segment::DataSegment;
use dumbbell_cc::{Algorithm, Congestion, RecoveryExit, SenderState, Signal, Undo};
use dumbbell_units::Time;
use dumbbell_units::math::real;

/// The oldest segment, considered lost.
pub(super) struct LostHead {
    /// Time of its last transmission.
    pub(super) sent_at: Time,
    /// It had been sent more than once.
    pub(super) retransmitted_before: bool,
    /// Congestion window when the loss was detected, in bytes.
    cwnd: f64,
}

/// A connection at a moment, as far as its recovery may reach. It reads the sequence numbers and the congestion control,
/// owns the duplicate ACKs and the scoreboard, and acts by the methods below.
pub(super) struct Access<'a> {
    connection: &'a mut Connection,
    now: Time,
}

impl Connection {
    /// The connection at this moment, for its recovery.
    #[inline(always)]
    pub(super) fn access(&mut self, now: Time) -> Access<'_> {
        Access { connection: self, now }
    }
}

/// What a recovery sees.
impl Access<'_> {
    /// The time.
    #[inline]
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Payload of a full segment, in bytes.
    #[inline]
    pub(super) fn mss(&self) -> u32 {
        self.connection.mss
    }

    /// Oldest unacknowledged byte.
    #[inline]
    pub(super) fn snd_una(&self) -> u64 {
        self.connection.snd_una
    }

    /// First byte never sent.
    #[inline]
    pub(super) fn snd_max(&self) -> u64 {
        self.connection.snd_max
    }

    /// Bytes sent and not acknowledged.
    #[inline]
    pub(super) fn flight_size(&self) -> u64 {
        self.connection.snd_max - self.connection.snd_una
    }

    /// Index of the next segment to send on the scoreboard; its length if that is a new one.
    pub(super) fn next_index(&self) -> usize {
        self.connection.next_index
    }

    /// Payload of the next new segment, in bytes; 0 if there is none to send now.
    pub(super) fn unsent_segment(&self) -> u32 {
        self.connection.unsent_segment()
    }

    /// Bytes sent since the connection began, including retransmissions, as the scoreboard counts segments.
    pub(super) fn sent_counted(&self) -> u64 {
        let stats = &self.connection.stats;
        self.connection.scoreboard.counted(stats.segments_sent, stats.bytes_sent)
    }

    /// Segments retransmitted since the connection began.
    pub(super) fn segments_retransmitted(&self) -> u64 {
        self.connection.stats.segments_retransmitted
    }

    /// A fast recovery is in progress.
    #[inline]
    pub(super) fn in_recovery(&self) -> bool {
        self.connection.in_recovery
    }

    /// The window falls in proportion to what is delivered, because of a mark.
    #[inline]
    pub(super) fn in_cwr(&self) -> bool {
        self.connection.phases.cwr
    }

    /// The reduction for a mark begins or ends.
    pub(super) fn set_in_cwr(&mut self, in_cwr: bool) {
        self.connection.phases.cwr = in_cwr;
    }

    /// The retransmission timeout with its back-off.
    pub(super) fn timeout(&self) -> Time {
        self.connection.retransmission.timeout()
    }

    /// What was lost at a timeout is being repaired.
    #[inline]
    pub(super) fn in_loss(&self) -> bool {
        self.connection.phases.loss
    }

    /// The repair after a timeout begins or ends.
    pub(super) fn set_in_loss(&mut self, in_loss: bool) {
        self.connection.phases.loss = in_loss;
    }

    /// Congestion window with its inflation, in bytes.
    #[inline]
    pub(super) fn cwnd(&self) -> f64 {
        self.connection.cwnd()
    }

    /// The congestion control.
    #[inline]
    pub(super) fn congestion(&self) -> &Algorithm {
        &self.connection.congestion
    }

    /// Smoothed round-trip time in seconds, infinite before the first sample.
    #[inline]
    pub(super) fn srtt_or_infinity(&self) -> f64 {
        self.connection.retransmission.srtt_or_infinity()
    }

    /// The time that a timestamp sent at `at` tells.
    pub(super) fn stamped(&self, at: Time) -> Time {
        self.connection.retransmission.stamped(at)
    }

    /// The clock of the host.
    pub(super) fn clock(&self) -> HostClock {
        self.connection.retransmission.clock()
    }
}

/// What it owns together with the connection.
impl Access<'_> {
    /// The duplicate ACKs.
    #[inline]
    pub(super) fn duplicates(&self) -> &Duplicates {
        &self.connection.duplicates
    }

    /// The duplicate ACKs, to change them.
    #[inline]
    pub(super) fn duplicates_mut(&mut self) -> &mut Duplicates {
        &mut self.connection.duplicates
    }

    /// The outstanding segments.
    #[inline]
    pub(super) fn scoreboard(&self) -> &Scoreboard {
        &self.connection.scoreboard
    }

    /// The outstanding segments, to change them.
    #[inline]
    pub(super) fn scoreboard_mut(&mut self) -> &mut Scoreboard {
        &mut self.connection.scoreboard
    }

    /// The timers.
    #[inline]
    pub(super) fn timers(&mut self) -> &mut Timers {
        &mut self.connection.timers
    }

    /// By how much timers are later because of the pacer, in Linux.
    #[inline]
    pub(super) fn pacing_delay(&self) -> Option<Time> {
        self.connection.pacing_delay(self.now)
    }

    /// Starts the timer of the timeout or of a probe, which expires at `at` whatever the timeout is, or in Linux later by the
    /// wait of the pacer.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, kind: TimerKind, mut at: Time) {
        if let Some(delay) = self.pacing_delay() {
            at += delay;
        }
        self.connection.timers.set(kind, at);
        self.connection.retransmission.note_wait(at, at.since(self.now), kind == TimerKind::Probe);
    }
}

/// What it sends.
impl Access<'_> {
    /// The segment at an index of the scoreboard, again.
    #[inline(always)]
    pub(super) fn send_again(&mut self, index: usize) -> DataSegment {
        self.connection.send_again(index, self.now)
    }

    /// A new segment, whatever the window allows.
    #[inline(always)]
    pub(super) fn send_new(&mut self, len: u32) -> DataSegment {
        self.connection.send_new(len, self.now)
    }

    /// The next segment that the window allows: data sent before, then new data.
    #[inline(always)]
    pub(super) fn poll_window(&mut self) -> Option<DataSegment> {
        self.connection.poll_window(self.now)
    }

    /// New data, limited by the receive window alone; `None` if there is none or it is not allowed.
    pub(super) fn poll_new(&mut self) -> Option<DataSegment> {
        let len = self.unsent_segment();
        if len == 0 {
            return self.pause(false);
        }
        if real(self.flight_size()) + f64::from(len) > self.connection.window.max {
            self.connection.stats.receive_window_limited += 1;
            self.connection.wait_for_window(self.now);
            return self.pause(true);
        }
        Some(self.send_new(len))
    }

    /// Nothing can be sent now, whether there is data or not.
    #[inline]
    pub(super) fn pause(&mut self, has_data: bool) -> Option<DataSegment> {
        self.connection.pause(has_data)
    }

    /// No more segments are sent on the current event.
    pub(super) fn exhaust_burst(&mut self) {
        self.connection.burst.exhaust();
    }

    /// The oldest segment is sent next, for this reason.
    pub(super) fn resend_head(&mut self, cause: Cause) {
        self.connection.resend.head = Some(cause);
    }

    /// Everything outstanding is sent again from the oldest segment on.
    pub(super) fn go_back(&mut self, cause: Cause) {
        self.connection.go_back(cause);
    }

    /// Starts or restarts the retransmission timer.
    pub(super) fn restart_retransmission_timer(&mut self) {
        self.connection.restart_retransmission_timer(self.now);
    }

    /// Stops timing a segment.
    pub(super) fn stop_timing(&mut self) {
        self.connection.retransmission.stop_timing();
    }

    /// Doubles the retransmission timeout.
    pub(super) fn back_off(&mut self) {
        self.connection.retransmission.back_off();
    }
}

/// What it reports to the congestion control.
impl Access<'_> {
    /// Reports each segment newly considered lost, before the congestion itself.
    pub(super) fn announce_losses(&mut self) {
        self.connection.announce_losses(self.now);
    }

    /// Reports the state by the rules of Linux to the congestion control.
    pub(super) fn announce_state(&mut self, state: SenderState) {
        self.connection.announce_state(self.now, state);
    }

    /// Reports that the window has fallen to the threshold.
    pub(super) fn announce_reduced(&mut self) {
        let context = self.connection.context(self.now);
        self.connection.congestion.on_reduced(&context);
    }

    /// Counts the oldest segment as lost.
    pub(super) fn count_head_lost(&mut self) {
        self.connection.scoreboard.count_lost(0);
        self.announce_losses();
    }

    /// Reports a loss. The bytes in flight exclude those sent by limited transmit.
    pub(super) fn reduce(&mut self, signal: Signal, retransmitted_before: bool) {
        self.connection.reduce(self.now, signal, retransmitted_before);
    }

    /// The oldest segment is considered lost before its timeout; `None` if nothing is outstanding.
    pub(super) fn begin_fast_retransmit(&mut self) -> Option<LostHead> {
        let head = *self.connection.scoreboard.head()?;
        self.count_head_lost();
        self.connection.stats.fast_retransmits += 1;
        let (sent_at, retransmitted_before) = (head.sent_at, head.transmissions > 1);
        Some(LostHead { sent_at, retransmitted_before, cwnd: self.congestion().cwnd() })
    }

    /// The window is reduced, and the oldest segment is about to be retransmitted.
    pub(super) fn end_fast_retransmit(&mut self, head: &LostHead) {
        if !head.retransmitted_before {
            self.duplicates_mut().raise_to_threshold();
        }
        self.end_early_retransmit(head.cwnd);
    }

    /// The same for a loss that no duplicate ACKs show. The window before it was `cwnd`.
    fn end_early_retransmit(&mut self, cwnd: f64) {
        self.stop_timing();
        self.restart_retransmission_timer();
        self.connection.note(self.now, TcpEventKind::FastRetransmit, cwnd);
    }

    /// Segments are considered lost because of the time of their transmissions: the window is reduced, and a recovery
    /// begins.
    pub(super) fn react_to_loss_by_time(&mut self, retransmitted_before: bool) {
        let cwnd = self.congestion().cwnd();
        self.connection.stats.fast_retransmits += 1;
        self.reduce(Signal::FastRetransmit, retransmitted_before);
        self.end_early_retransmit(cwnd);
        self.enter_recovery();
    }

    /// A recovery begins that does not reduce the window again.
    pub(super) fn recover_reduced(&mut self) {
        let cwnd = self.congestion().cwnd();
        self.connection.stats.fast_retransmits += 1;
        self.end_early_retransmit(cwnd);
        self.enter_recovery();
    }

    /// A recovery begins, unless one is in progress.
    pub(super) fn enter_recovery(&mut self) {
        let connection = &mut *self.connection;
        if !connection.in_recovery {
            let context = connection.context(self.now);
            let cwnd_before = connection.congestion.cwnd();
            connection.congestion.on_recovery_enter(&context);
            connection.note(self.now, TcpEventKind::RecoveryEnter, cwnd_before);
        }
        connection.in_recovery = true;
    }

    /// A duplicate ACK arrives outside recoveries. True if it shows a loss: it is the third, and data retransmitted up to
    /// `recover` has not caused it [RFC 6582 §3.2 step 2].
    pub(super) fn shows_loss(&mut self, recover: Option<u64>) -> bool {
        if !self.duplicates().reach_threshold() {
            self.grant_limited_transmit();
            return false;
        }
        recover.is_none_or(|recover| self.snd_una() > recover)
    }

    /// A recovery based on reports begins: the window is reduced, not inflated, and no hole is repaired yet. False if
    /// nothing is outstanding.
    pub(super) fn enter_sack_recovery(&mut self) -> bool {
        let Some(head) = self.begin_fast_retransmit() else { return false };
        let cause = if self.duplicates().reach_threshold() { Cause::DuplicateAcks } else { Cause::Sack };
        self.duplicates_mut().inflation = 0.0;
        self.reduce(Signal::FastRetransmit, head.retransmitted_before);
        self.end_fast_retransmit(&head);
        self.enter_recovery();
        self.resend_head(cause);
        self.scoreboard_mut().begin_recovery();
        true
    }

    /// A recovery ends. The inflation that it leaves in the window is `kept`, in bytes.
    pub(super) fn leave_recovery(&mut self, kept: f64) {
        let connection = &mut *self.connection;
        let context = connection.context(self.now);
        let cwnd_before = connection.congestion.cwnd();
        connection.congestion.on_recovery_exit(&context, &RecoveryExit::new(kept));
        connection.in_recovery = false;
        connection.note(self.now, TcpEventKind::RecoveryExit, cwnd_before);
    }

    /// The reaction to losses of data up to `until` was spurious: the congestion control restores its window, unless a
    /// mark has reduced it since.
    pub(super) fn undo(&mut self, undo: &Undo, until: u64) {
        let connection = &mut *self.connection;
        if connection.ecn.reduced_to() <= until {
            let context = connection.context(self.now);
            let cwnd_before = connection.congestion.cwnd();
            connection.congestion.on_undo(&context, undo);
            connection.note(self.now, TcpEventKind::Undo, cwnd_before);
        }
    }

    /// The retransmission timer expired with this many bytes in flight: the window is reduced, and the recovery ends.
    pub(super) fn reduce_at_timeout(&mut self, flight_size: u64) {
        self.scoreboard_mut().count_all_lost();
        self.announce_losses();
        self.react_to_timeout(flight_size);
    }

    /// The same after the losses were announced.
    pub(super) fn react_to_timeout(&mut self, flight_size: u64) {
        let loss_window = self.connection.loss_window;
        self.react_to_timeout_with(flight_size, loss_window, true);
    }

    /// The same with this window after it, in bytes. The threshold is kept if it was reduced in this window of data.
    ///
    /// Without reports, the bytes in flight are all that a recovery has sent, most of which may have arrived. At most the
    /// window counts, for which the equation of RFC 5681 §3.1 is an upper limit; and while the timer sends the same segment
    /// again, the window before, so that the threshold remains.
    pub(super) fn react_to_timeout_with(
        &mut self,
        flight_size: u64,
        loss_window: f64,
        reduces_threshold: bool,
    ) {
        let connection = &mut *self.connection;
        connection.ecn.on_reduction(connection.snd_max);
        let retransmitted_before = connection.scoreboard.head().is_some_and(|head| head.transmissions > 1);
        let mut context = connection.context(self.now);
        context.flight_size = (flight_size as f64).min(connection.opening.window_before());
        context.in_flight = connection.scoreboard.in_network(connection.next_index) as f64;
        context.loss_window = loss_window;
        let congestion = Congestion::new(Signal::Timeout).with_retransmitted_before(retransmitted_before);
        if reduces_threshold {
            connection.congestion.on_congestion(&context, &congestion);
        } else {
            connection.congestion.on_repeated_timeout(&context, &congestion);
        }
        connection.in_recovery = false;
        connection.phases.cwr = false;
        connection.duplicates.inflation = 0.0;
        connection.duplicates.forget_limited_bytes();
    }

    /// Unless a timeout also reduces the inflation of a recovery, the window that is reduced excludes the inflation and
    /// the segments granted by limited transmit. Bytes `deflated` by partial ACKs remain deducted.
    pub(super) fn exclude_inflation(&mut self, deflated: f64) {
        if !(self.in_recovery() && self.connection.duplicates.are_reduced) {
            self.duplicates_mut().inflation = -deflated;
        }
    }

    /// The ACK that began a recovery inflates the window by the segments that have left the network according to
    /// duplicate ACKs [RFC 5681 §3.2 step 3]: three, or their actual number.
    pub(super) fn inflate_at_entry(&mut self, by_count: bool) {
        let segments = if by_count { self.duplicates().count } else { DUPLICATE_THRESHOLD };
        self.duplicates_mut().inflation = f64::from(segments) * f64::from(self.mss());
    }

    /// Before the third duplicate ACK, limited transmit grants a segment.
    pub(super) fn grant_limited_transmit(&mut self) {
        let mss = f64::from(self.mss());
        self.duplicates_mut().grant_limited_transmit(mss);
    }
}
