//! The sending end: which segment goes next, and when.
//!
//! The sender is told of acknowledgements, expired deadlines and data written by the application,
//! and is asked for segments until it has none. Loss recovery is one of four; the mechanisms C,
//! D, E, G, H and J of Vegas are switches of the same code, so that with all of them off nothing
//! but Reno is left.

use crate::config::{PartialAck, Pipe, Recovery, TcpParams};
use crate::fine::FineTimeout;
use crate::outstanding::{Outstanding, Sent};
use crate::rtt::{HostClock, RttEstimator};
use crate::segment::{AckSegment, DataSegment};
use dumbbell_cc::{Ack, Algorithm, Congestion, Context, Halving, Mechanisms, Queueing, Setup, Signal};
use dumbbell_units::{Time, prefetch};

/// Duplicate ACKs that signal a loss [RFC 5681 §3.2].
const DUPLICATE_THRESHOLD: u32 = 3;
/// Segments that mechanism H sends back to back.
const BURST_LIMIT: u64 = 3;

/// What a sender has counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStats {
    /// Data segments sent, first and repeated transmissions.
    pub segments_sent: u64,
    /// Payload bytes sent, first and repeated.
    pub bytes_sent: u64,
    /// Segments sent again.
    pub segments_retransmitted: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Expiries of the coarse retransmission timer.
    pub timeouts: u64,
    /// Of these, the ones that repaired the initial slow start.
    pub first_slow_start_timeouts: u64,
    /// Fast retransmissions, by duplicate ACKs or by the fine timeout on them.
    pub fast_retransmits: u64,
    /// Sum of round-trip times of segments sent once, in seconds.
    pub rtt_sum: f64,
    /// Number of those round-trip times.
    pub rtt_count: u64,
    /// Smallest of them, in seconds.
    pub rtt_min: f64,
    /// Sum over fast retransmits of the time to the next new segment, in smoothed RTTs.
    pub recovery_wait_sum: f64,
    /// Number of those waits.
    pub recovery_wait_count: u64,
    /// Sum over recoveries of the window afterwards over the window before.
    pub window_kept_sum: f64,
    /// Number of those recoveries.
    pub window_kept_count: u64,
    /// Times the receive window, not the congestion window, stopped the sender.
    pub receive_window_limited: u64,
}

/// The last reason to cut the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastCut {
    None,
    DuplicateAcks,
    Timeout,
}

/// Where the opening handshake stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    MustSend,
    Waiting,
    Open,
}

/// The parameters a sender asks for often.
#[derive(Clone, Copy, Debug)]
struct Switches {
    recovery: Recovery,
    partial_ack: PartialAck,
    partial_deflation: bool,
    lasting_deflation: bool,
    retransmit_once: bool,
    timeout_keeps_duplicates: bool,
    pipe: Pipe,
    halving: Halving,
    mechanisms: Mechanisms,
    timestamps: bool,
    limited_transmit: bool,
    deflation_fix: bool,
    careful: bool,
    check_both: bool,
    faults_of_ns2: bool,
    idle_restart: bool,
    recovery_burst: u64,
    rescue: bool,
    uses_fine_timeout: bool,
}

/// One connection's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    congestion: Algorithm,
    switches: Switches,
    mss: u32,
    max_window: f64,
    loss_window: f64,

    snd_una: u64,
    snd_nxt: u64,
    snd_max: u64,
    /// Index of `snd_nxt` among the outstanding segments.
    next_index: usize,
    /// Bytes the application has written; `u64::MAX` without end.
    written: u64,
    outstanding: Outstanding,

    duplicates: u32,
    inflation: f64,
    /// What partial ACKs have taken from the window for good, in bytes: part of `inflation`, below zero.
    deflated: f64,
    /// Bytes in the network as a recovery with SACK counts them; a surplus of ACKs counts below zero.
    counted_pipe: i64,
    /// Duplicate ACKs mean nothing between a timeout and the first new ACK.
    is_deaf: bool,
    /// New bytes that limited transmit sent on the present duplicate ACKs.
    limited_bytes: u64,
    in_recovery: bool,
    recover: Option<u64>,
    saw_partial_ack: bool,
    last_cut: LastCut,
    resend_head: bool,
    /// The next segment of a recovery goes whatever is in the network.
    is_eager: bool,

    estimator: RttEstimator,
    retransmit_deadline: Time,
    /// The one segment being timed: its end and when it was sent.
    timed: Option<(u64, Time)>,
    opening: Opening,
    opened_at: Time,
    given_up: bool,
    last_sent: Time,

    fine: FineTimeout,
    last_reduction: Option<Time>,
    /// Window of the last cut by duplicate ACKs, in bytes; 0 after a timeout.
    cut_window: f64,
    checks_left: u32,
    burst_sent: u64,
    /// Spike suppression: end and start of the round being measured, and spacing of segments.
    pace_round: (u64, Time),
    pace_per_byte: f64,
    pace_until: Time,
    /// `pace_until` while a segment waits for it, else never.
    pace_deadline: Time,

    initial_slow_start_end: Option<u64>,
    retransmitted_at: Option<Time>,
    window_before: f64,
    stats: SenderStats,
}

impl Sender {
    /// A sender whose connection starts at `now`.
    pub fn new(params: &TcpParams, clock: HostClock, now: Time) -> Self {
        let mss = params.mss.0 as u32;
        let mechanisms = params.mechanisms;
        let two_segments = 2.0 * f64::from(mss);
        let (initial_window, loss_window) = if mechanisms.window_of_two {
            (two_segments, two_segments)
        } else {
            (params.initial_window.bytes(mss), params.loss_window.bytes(mss))
        };
        let setup = Setup {
            now,
            mss: f64::from(mss),
            initial_window,
            initial_ssthresh: params.initial_ssthresh.bytes(mss),
            rules: params.window_rules(),
            mechanisms,
        };
        Sender {
            congestion: Algorithm::new(&params.congestion, &setup),
            switches: Switches {
                recovery: params.recovery,
                partial_ack: params.partial_ack,
                partial_deflation: params.partial_deflation,
                lasting_deflation: params.lasting_deflation,
                retransmit_once: params.retransmit_once,
                timeout_keeps_duplicates: params.timeout_keeps_duplicates,
                pipe: params.pipe,
                halving: params.halving,
                mechanisms,
                timestamps: params.timestamps,
                limited_transmit: params.limited_transmit,
                deflation_fix: params.deflation_fix,
                careful: params.careful,
                check_both: params.check_both,
                faults_of_ns2: params.faults_of_ns2,
                idle_restart: params.idle_restart,
                recovery_burst: params.recovery_burst,
                rescue: params.rescue,
                uses_fine_timeout: mechanisms.fine_retransmit || mechanisms.check_after_retransmit,
            },
            mss,
            max_window: params.receive_buffer.bytes(mss).min(params.send_buffer.bytes(mss)),
            loss_window,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            next_index: 0,
            written: 0,
            outstanding: Outstanding::default(),
            duplicates: 0,
            inflation: 0.0,
            deflated: 0.0,
            counted_pipe: 0,
            is_deaf: false,
            limited_bytes: 0,
            in_recovery: false,
            recover: None,
            saw_partial_ack: false,
            last_cut: LastCut::None,
            resend_head: false,
            is_eager: false,
            estimator: RttEstimator::new(&params.timer, clock),
            retransmit_deadline: Time::NEVER,
            timed: None,
            opening: if params.handshake { Opening::MustSend } else { Opening::Open },
            opened_at: now,
            given_up: false,
            last_sent: now,
            fine: FineTimeout::default(),
            // What ns-2 sends first it has sent at no later a time than that of the last cut.
            last_reduction: params.faults_of_ns2.then_some(now),
            cut_window: 0.0,
            checks_left: 0,
            burst_sent: 0,
            pace_round: (0, now),
            pace_per_byte: 0.0,
            pace_until: Time::ZERO,
            pace_deadline: Time::NEVER,
            initial_slow_start_end: None,
            retransmitted_at: None,
            window_before: 0.0,
            stats: SenderStats { rtt_min: f64::INFINITY, ..SenderStats::default() },
        }
    }

    /// Asks for what an acknowledgement needs to be brought into the cache.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.congestion);
        prefetch(&self.switches);
        prefetch(&self.snd_una);
        prefetch(&self.next_index);
        prefetch(&self.outstanding);
        prefetch(&self.inflation);
        prefetch(&self.estimator);
        prefetch(&self.retransmit_deadline);
        prefetch(&self.timed);
        prefetch(&self.pace_per_byte);
        prefetch(&self.initial_slow_start_end);
        prefetch(&self.stats);
        prefetch(&self.stats.rtt_sum);
        prefetch(&self.mss);
        prefetch(&self.in_recovery);
    }

    /// The application writes `bytes` more; `u64::MAX` for data without end.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// The application writes nothing more.
    pub fn close(&mut self) {
        self.written = self.written.min(self.snd_max);
    }

    /// What has been counted so far.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// True once everything written has been acknowledged.
    pub fn is_complete(&self) -> bool {
        self.snd_una >= self.written
    }

    /// True once the connection was given up after too many timeouts in a row.
    pub fn has_given_up(&self) -> bool {
        self.given_up
    }

    /// Oldest unacknowledged byte.
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Next byte to send.
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// First byte never sent.
    pub fn snd_max(&self) -> u64 {
        self.snd_max
    }

    /// Payload of a full segment, in bytes.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// The congestion control.
    pub fn congestion(&self) -> &Algorithm {
        &self.congestion
    }

    /// Congestion window with its inflation, in bytes.
    pub fn cwnd(&self) -> f64 {
        self.congestion.cwnd() + self.inflation
    }

    /// Congestion window without inflation, in bytes.
    pub fn cwnd_base(&self) -> f64 {
        self.congestion.cwnd() - self.deflated
    }

    /// Bytes between `snd_una` and `snd_nxt`; less than what was sent while data goes again after a timeout.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Smoothed round-trip time of the retransmission timer, in seconds.
    pub fn srtt(&self) -> Option<f64> {
        self.estimator.srtt()
    }

    /// Retransmission timeout with its back-off.
    pub fn rto(&self) -> Time {
        self.estimator.timeout()
    }

    /// First byte sent after the initial slow start ended, once it has.
    pub fn initial_slow_start_end(&self) -> Option<u64> {
        self.initial_slow_start_end
    }

    /// When the sender wants to be told the time; [`Time::NEVER`] if it waits for nothing.
    pub fn next_deadline(&self) -> Time {
        self.retransmit_deadline.min(self.pace_deadline)
    }

    fn context(&self, now: Time) -> Context {
        Context {
            now,
            mss: f64::from(self.mss),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            flight_size: (self.snd_max - self.snd_una) as f64,
            inflation: self.inflation,
            max_window: self.max_window,
            loss_window: self.loss_window,
        }
    }

    /// An acknowledgement arrived that has waited so long on its way, as far as routers say.
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment, waited: Time) {
        self.burst_sent = 0;
        if ack.is_syn {
            self.on_open(now);
            return;
        }
        if self.opening != Opening::Open || ack.ack > self.snd_max {
            return;
        }
        let is_duplicate = ack.ack == self.snd_una && !self.outstanding.is_empty();
        if self.switches.recovery == Recovery::Sack {
            if is_duplicate && self.is_deaf {
                return;
            }
            let mut has_news = false;
            for (start, end) in ack.sack.ranges(ack.ack) {
                has_news |= self.outstanding.report(start, end);
            }
            if is_duplicate && !has_news && !self.in_recovery {
                // Only what reports new data is a duplicate acknowledgement [RFC 6675 §2].
                return;
            }
        }
        if ack.ack > self.snd_una {
            self.on_new_ack(now, ack, waited);
        } else if is_duplicate {
            self.on_duplicate_ack(now);
        } else {
            self.duplicates = 0;
        }
    }

    fn on_open(&mut self, now: Time) {
        if self.opening == Opening::Waiting {
            self.opening = Opening::Open;
            self.retransmit_deadline = Time::NEVER;
            if self.stats.timeouts == 0 {
                self.estimator.sample(self.opened_at, now);
            }
        }
    }

    fn on_duplicate_ack(&mut self, now: Time) {
        let context = self.context(now);
        self.duplicates += 1;
        self.congestion.on_duplicate_ack(&context);
        let mss = f64::from(self.mss);
        if self.in_recovery {
            match self.switches.recovery {
                Recovery::Sack => {
                    self.counted_pipe -= i64::from(self.mss);
                    return;
                }
                Recovery::NewReno => {
                    self.inflation += mss;
                    return;
                }
                Recovery::Tahoe | Recovery::Reno => {}
            }
        }
        let fine_expired = self.switches.mechanisms.fine_retransmit
            && self.outstanding.head().is_some_and(|head| self.fine.has_expired(head.sent_at, now));
        let sack_says_lost = self.switches.recovery == Recovery::Sack
            && !self.counts_pipe()
            && self.outstanding.is_head_lost();
        if self.duplicates == DUPLICATE_THRESHOLD || fine_expired || sack_says_lost {
            if self.may_retransmit_fast() {
                self.retransmit_fast(now);
            }
        } else if self.duplicates > DUPLICATE_THRESHOLD && (self.in_recovery || self.switches.faults_of_ns2) {
            self.inflation += mss;
        } else if self.switches.limited_transmit && self.duplicates < DUPLICATE_THRESHOLD {
            // One segment each, also where the count of duplicates outlives a timeout.
            self.inflation = (self.inflation + mss).min(f64::from(self.duplicates) * mss);
        }
    }

    /// False for duplicate ACKs that stem from data sent again [RFC 6582 §3.2 step 2].
    fn may_retransmit_fast(&self) -> bool {
        let Some(recover) = self.recover else { return true };
        match self.switches.recovery {
            Recovery::NewReno => self.snd_una > recover,
            Recovery::Sack if self.counts_pipe() => self.snd_una > recover,
            Recovery::Sack => self.snd_una >= recover,
            Recovery::Tahoe => !self.switches.careful || self.snd_una > recover,
            Recovery::Reno if self.switches.retransmit_once => self.snd_una > recover,
            Recovery::Reno => {
                !self.switches.careful || self.snd_una > recover || self.last_cut != LastCut::Timeout
            }
        }
    }

    /// True if recoveries with SACK count what is in the network.
    fn counts_pipe(&self) -> bool {
        self.switches.pipe == Pipe::Counted
    }

    fn retransmit_fast(&mut self, now: Time) {
        let Some(&Sent { sent_at, transmissions, .. }) = self.outstanding.head() else { return };
        let mechanisms = self.switches.mechanisms;
        let retransmitted_before = transmissions > 1;
        self.end_initial_slow_start();
        self.stats.fast_retransmits += 1;
        if mechanisms.check_after_retransmit {
            let unacknowledged = self.next_index as u32 + u32::from(self.switches.faults_of_ns2);
            self.checks_left = 2.min(unacknowledged);
        }
        self.fine.on_retransmission(retransmitted_before);
        if self.switches.recovery != Recovery::Reno {
            // Limited transmit's allowance ends where recovery begins.
            self.inflation = 0.0;
        }
        if !self.in_recovery {
            self.window_before = self.congestion.cwnd();
        }
        // A retransmission leaves after the cut that caused it, though the clock shows the same.
        let cut = !mechanisms.one_reduction
            || self.last_reduction.is_none_or(|reduced| {
                reduced < sent_at || reduced == sent_at && !self.switches.faults_of_ns2
            });
        if cut {
            if self.switches.limited_transmit && !self.in_recovery {
                self.inflation = 0.0;
            }
            let signal = match self.switches.recovery {
                Recovery::Tahoe => Signal::Restart,
                _ => Signal::FastRetransmit,
            };
            let mut context = self.context(now);
            context.flight_size -= self.limited_bytes as f64;
            let pipe = self.outstanding.in_network(self.next_index) as f64;
            self.congestion.on_congestion(&context, &Congestion { signal, retransmitted_before, pipe });
            self.last_reduction = Some(now);
            self.cut_window = self.congestion.cwnd();
            let credit = if mechanisms.quarter_cut { self.duplicates } else { DUPLICATE_THRESHOLD };
            self.inflation = f64::from(credit) * f64::from(self.mss);
        }
        self.last_cut = LastCut::DuplicateAcks;
        self.recover = Some(self.snd_max);
        self.timed = None;
        if self.switches.faults_of_ns2 {
            self.estimator.back_off();
        }
        self.retransmit_deadline = self.estimator.deadline(now);
        if !retransmitted_before {
            self.duplicates = self.duplicates.max(DUPLICATE_THRESHOLD);
        }
        match self.switches.recovery {
            Recovery::Tahoe => {
                self.inflation = 0.0;
                self.go_back();
            }
            Recovery::Sack => {
                self.inflation = 0.0;
                self.in_recovery = true;
                self.outstanding.begin_recovery();
                self.resend_head = true;
                if self.counts_pipe() {
                    let left = u64::from(DUPLICATE_THRESHOLD) * u64::from(self.mss);
                    self.counted_pipe = (self.snd_max - self.snd_una) as i64 - left as i64;
                    // Until the next ACK there is nothing but the first hole.
                    self.burst_sent = u64::MAX;
                }
            }
            Recovery::Reno | Recovery::NewReno => {
                self.in_recovery = true;
                self.saw_partial_ack = false;
                self.resend_head = true;
                self.retransmitted_at = Some(now);
            }
        }
    }

    fn on_new_ack(&mut self, now: Time, ack: &AckSegment, waited: Time) {
        let duplicates = self.duplicates;
        let is_partial = self.in_recovery
            && matches!(self.switches.recovery, Recovery::NewReno | Recovery::Sack)
            && self.recover.is_some_and(|recover| ack.ack < recover);
        let mut in_recovery = is_partial;
        if is_partial {
            self.counted_pipe -= 2 * i64::from(self.mss);
        } else {
            if self.switches.recovery == Recovery::Sack && self.counts_pipe() {
                // The window does not grow with the ACK that ends a recovery, which leaves no trace.
                in_recovery = self.in_recovery;
                self.recover = self.recover.filter(|_| !self.in_recovery);
                self.is_deaf = false;
            }
            self.leave_recovery(now, duplicates);
        }
        let context = self.context(now);
        let acked = ack.ack - self.snd_una;

        let (newest, removed) = self.outstanding.acknowledge(ack.ack);
        self.next_index = self.next_index.saturating_sub(removed);
        self.snd_una = ack.ack;
        self.snd_nxt = self.snd_nxt.max(ack.ack);
        let rtt = newest
            .filter(|sent| sent.transmissions == 1 && !sent.is_sacked())
            .map(|sent| now.since(sent.sent_at));
        self.measure(now, ack, rtt);
        if !is_partial && self.counts_pipe() && self.outstanding.has_sacked() {
            self.outstanding.forget_reports();
        }

        let queueing = ack.queueing().map(|forward| Queueing { forward, backward: waited });
        self.congestion.on_ack(&context, &Ack { ack: ack.ack, acked, rtt, queueing, in_recovery });
        if self.initial_slow_start_end.is_none() && self.congestion.cwnd() >= self.congestion.ssthresh() {
            self.end_initial_slow_start();
        }
        if let Some(rtt) = rtt
            && self.switches.uses_fine_timeout
        {
            self.fine.sample(rtt);
        }

        let restart_timer = !(is_partial
            && self.switches.partial_ack == PartialAck::Impatient
            && self.switches.recovery == Recovery::NewReno
            && self.saw_partial_ack);
        let is_stalled = self.switches.faults_of_ns2 && self.unsent_segment() > 0;
        if self.outstanding.is_empty() && !is_stalled {
            self.retransmit_deadline = Time::NEVER;
        } else if restart_timer {
            self.retransmit_deadline = self.estimator.deadline(now);
        }
        if is_partial {
            self.on_partial_ack(acked);
        }
        self.check_after_retransmission(now);
        if self.switches.mechanisms.spike_suppression {
            self.measure_rate(now, rtt);
        }
    }

    fn leave_recovery(&mut self, now: Time, duplicates: u32) {
        if self.in_recovery || self.switches.faults_of_ns2 {
            let deflated = std::mem::take(&mut self.deflated);
            let kept = if self.switches.faults_of_ns2 {
                self.kept_by_ns2(duplicates)
            } else if self.switches.deflation_fix || duplicates > DUPLICATE_THRESHOLD {
                -deflated
            } else {
                self.inflation
            };
            let context = self.context(now);
            self.congestion.on_recovery_exit(&context, kept);
            self.in_recovery = false;
            if self.window_before > 0.0 {
                self.stats.window_kept_sum += self.congestion.cwnd() / self.window_before;
                self.stats.window_kept_count += 1;
                self.window_before = 0.0;
            }
        }
        self.inflation = 0.0;
        self.limited_bytes = 0;
        self.duplicates = 0;
        self.is_eager = false;
    }

    /// What ns-2's Vegas leaves in its one window, which holds the inflation: beyond three duplicate ACKs it goes back to
    /// the window of the last cut, which is none after a timeout.
    fn kept_by_ns2(&self, duplicates: u32) -> f64 {
        if duplicates > DUPLICATE_THRESHOLD && self.cwnd() > self.cut_window {
            self.cut_window - self.congestion.cwnd()
        } else {
            self.inflation
        }
    }

    fn measure(&mut self, now: Time, ack: &AckSegment, rtt: Option<Time>) {
        if let Some(rtt) = rtt {
            let rtt = rtt.secs();
            self.stats.rtt_sum += rtt;
            self.stats.rtt_count += 1;
            self.stats.rtt_min = self.stats.rtt_min.min(rtt);
        }
        if self.switches.timestamps {
            self.estimator.sample(ack.timestamp_echo, now);
        } else if let Some((end, sent)) = self.timed
            && ack.ack >= end
        {
            self.estimator.sample(sent, now);
            self.timed = None;
        }
    }

    /// A hole was repaired and another shows: send the next one, and take what left the network
    /// out of the inflation, less the segment sent again [RFC 6582 §3.2 step 3].
    fn on_partial_ack(&mut self, acked: u64) {
        self.saw_partial_ack = true;
        self.duplicates = 0;
        if self.switches.recovery == Recovery::NewReno {
            let mss = f64::from(self.mss);
            self.inflation = if self.switches.lasting_deflation {
                let inflation = self.inflation + self.deflated;
                let excess = acked as f64 - inflation;
                if excess < 0.0 {
                    self.inflation - acked as f64 + mss
                } else {
                    self.deflated = (self.deflated + excess).min(self.congestion.cwnd() - mss);
                    mss - self.deflated
                }
            } else if self.switches.partial_deflation {
                let credit = if acked >= u64::from(self.mss) { mss } else { 0.0 };
                let floor = mss - self.congestion.cwnd();
                (self.inflation - acked as f64 + credit).max(floor)
            } else {
                0.0
            };
            self.resend_head = true;
        }
        self.is_eager = self.switches.pipe == Pipe::Eager && !self.outstanding.is_head_resent();
    }

    /// Mechanism D [brakmo1995 §3.1].
    fn check_after_retransmission(&mut self, now: Time) {
        if self.checks_left == 0 {
            return;
        }
        self.checks_left -= 1;
        let expired = self
            .outstanding
            .head()
            .map_or(self.switches.faults_of_ns2, |head| self.fine.has_expired(head.sent_at, now));
        if expired {
            self.resend_head = true;
            if !self.switches.faults_of_ns2 {
                self.timed = None;
            }
            self.duplicates = DUPLICATE_THRESHOLD;
            self.in_recovery = true;
        } else if !self.switches.check_both {
            self.checks_left = 0;
        }
    }

    /// Mechanism J: once a round, the rate of that round bounds the next one to its double.
    fn measure_rate(&mut self, now: Time, rtt: Option<Time>) {
        let (round_end, round_start) = self.pace_round;
        if self.snd_una >= round_end {
            let bytes = self.snd_nxt.saturating_sub(round_end) as f64;
            let elapsed = now.since(round_start);
            let elapsed = rtt.map_or(elapsed, |rtt| rtt.min(elapsed)).secs();
            if bytes > 0.0 && elapsed > 0.0 {
                self.pace_per_byte = elapsed / (2.0 * bytes);
            }
            self.pace_round = (self.snd_nxt, now);
        }
    }

    fn end_initial_slow_start(&mut self) {
        if self.initial_slow_start_end.is_none() {
            self.initial_slow_start_end = Some(self.snd_max);
        }
    }

    fn go_back(&mut self) {
        self.snd_nxt = self.snd_una;
        self.next_index = 0;
        self.resend_head = false;
        self.is_eager = false;
    }

    /// Time has reached [`next_deadline`](Self::next_deadline).
    pub fn on_deadline(&mut self, now: Time) {
        self.burst_sent = 0;
        if now < self.retransmit_deadline {
            return;
        }
        self.stats.timeouts += 1;
        if !self.estimator.back_off() {
            self.given_up = true;
            self.retransmit_deadline = Time::NEVER;
            return;
        }
        if self.opening != Opening::Open {
            self.opening = Opening::MustSend;
            self.retransmit_deadline = Time::NEVER;
            return;
        }
        self.end_initial_slow_start();
        if self.initial_slow_start_end.is_some_and(|end| self.snd_una < end) {
            self.stats.first_slow_start_timeouts += 1;
        }
        let retransmitted_before = self.outstanding.head().is_some_and(|head| head.transmissions > 1);
        let halves_inflation = self.in_recovery && self.switches.halving != Halving::RealWindow;
        if !halves_inflation && !self.switches.faults_of_ns2 {
            // Limited transmit's allowance is no part of the window that is halved, and in ns-2 no inflation is, which
            // in BSD cannot be told from the window.
            self.inflation = -self.deflated;
        }
        let mut context = self.context(now);
        if self.switches.recovery == Recovery::Sack {
            // What is reported has left the network, and may be many windows where a retransmission was lost.
            context.flight_size = self.outstanding.unreported() as f64;
        }
        let signal = Signal::Timeout;
        let pipe = self.outstanding.in_network(self.next_index) as f64;
        self.congestion.on_congestion(&context, &Congestion { signal, retransmitted_before, pipe });
        self.last_cut = LastCut::Timeout;
        self.last_reduction = Some(now);
        self.cut_window = 0.0;
        self.recover = Some(self.snd_max);
        self.in_recovery = false;
        self.inflation = 0.0;
        self.deflated = 0.0;
        self.is_deaf = self.counts_pipe();
        self.limited_bytes = 0;
        // Where duplicates keep a sender from sending, a timeout has to forget them.
        if !self.switches.timeout_keeps_duplicates || self.switches.faults_of_ns2 {
            self.duplicates = 0;
        }
        if !self.switches.faults_of_ns2 {
            self.checks_left = 0;
        }
        self.pace_until = Time::ZERO;
        self.timed = None;
        self.retransmitted_at = None;
        if self.outstanding.has_sacked() {
            self.outstanding.forget_reports();
        }
        self.go_back();
        self.retransmit_deadline = self.estimator.deadline(now);
    }

    /// The next segment to send at `now`, if any. Ask until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<DataSegment> {
        if self.given_up {
            return None;
        }
        if self.opening != Opening::Open {
            return self.poll_open(now);
        }
        if self.resend_head {
            self.resend_head = false;
            if !self.outstanding.is_empty() {
                return Some(self.send_again(0, now));
            }
            let len = self.unsent_segment();
            if self.switches.faults_of_ns2 && len > 0 {
                let segment = self.send_new(len, now);
                self.go_back();
                return Some(segment);
            }
        }
        // What has come is not waited for any more, whatever keeps the sender from sending.
        self.pace_deadline = Time::NEVER;
        if self.switches.faults_of_ns2 && (1..DUPLICATE_THRESHOLD).contains(&self.duplicates) {
            return None;
        }
        let mut bound = if self.switches.mechanisms.burst_limit { BURST_LIMIT } else { u64::MAX };
        if self.in_recovery && self.switches.recovery_burst > 0 {
            bound = bound.min(self.switches.recovery_burst);
        }
        if self.burst_sent >= bound {
            return None;
        }
        if self.switches.mechanisms.spike_suppression && now < self.pace_until {
            self.pace_deadline = self.pace_until;
            return None;
        }
        let segment = if self.in_recovery && self.switches.recovery == Recovery::Sack {
            self.poll_sack_recovery(now)
        } else {
            self.poll_window(now)
        }?;
        self.burst_sent += 1;
        if self.pace_per_byte > 0.0 {
            let spacing = Time::from_secs(f64::from(segment.len) * self.pace_per_byte);
            self.pace_until = now + spacing;
        }
        Some(segment)
    }

    fn poll_open(&mut self, now: Time) -> Option<DataSegment> {
        if self.opening == Opening::Waiting {
            return None;
        }
        self.opening = Opening::Waiting;
        self.opened_at = now;
        self.retransmit_deadline = self.estimator.deadline(now);
        Some(DataSegment { seq: 0, len: 0, is_retransmission: self.stats.timeouts > 0, is_syn: true })
    }

    fn poll_window(&mut self, now: Time) -> Option<DataSegment> {
        if self.switches.recovery == Recovery::Sack && !self.counts_pipe() {
            while self.outstanding.get(self.next_index).is_some_and(Sent::is_sacked) {
                self.snd_nxt = self.outstanding.get(self.next_index).map_or(self.snd_nxt, Sent::end);
                self.next_index += 1;
            }
        }
        let again = self.outstanding.get(self.next_index).map(|sent| sent.len);
        let len = match again {
            Some(len) => len,
            None => self.unsent_segment(),
        };
        if len == 0 {
            return None;
        }
        if self.switches.idle_restart
            && self.outstanding.is_empty()
            && self.snd_max > 0
            && now.since(self.last_sent) >= self.estimator.timeout()
        {
            let context = self.context(now);
            self.congestion.on_restart(&context);
        }
        let needed = (self.snd_nxt - self.snd_una) as f64 + f64::from(len);
        if needed > self.cwnd().min(self.max_window) {
            self.stats.receive_window_limited += u64::from(self.max_window <= self.cwnd());
            return None;
        }
        match again {
            Some(_) => {
                let segment = self.send_again(self.next_index, now);
                self.next_index += 1;
                self.snd_nxt = segment.seq + u64::from(segment.len);
                Some(segment)
            }
            None => Some(self.send_new(len, now)),
        }
    }

    /// [RFC 6675 §5 step C]: while the pipe leaves room, repair lost holes, then send new data,
    /// then holes not known to be lost, then the newest segment once.
    fn poll_sack_recovery(&mut self, now: Time) -> Option<DataSegment> {
        if self.counts_pipe() {
            return self.poll_counted_recovery(now);
        }
        let has_room = (self.outstanding.pipe() + u64::from(self.mss)) as f64 <= self.congestion.cwnd();
        if !has_room && !self.is_eager {
            return None;
        }
        self.is_eager = false;
        if let Some(index) = self.outstanding.next_lost() {
            return Some(self.send_again(index, now));
        }
        let len = self.unsent_segment();
        if len > 0 && self.next_index == self.outstanding.len() {
            if (self.snd_max - self.snd_una) as f64 + f64::from(len) <= self.max_window {
                return Some(self.send_new(len, now));
            }
            self.stats.receive_window_limited += 1;
        }
        let mut index = self.outstanding.next_unreported();
        if index.is_none() && self.switches.rescue {
            index = self.outstanding.rescue();
        }
        let index = index?;
        Some(self.send_again(index, now))
    }

    /// Payload of the next new segment, in bytes; 0 without data to send.
    fn unsent_segment(&self) -> u32 {
        (self.written - self.snd_max.min(self.written)).min(u64::from(self.mss)) as u32
    }

    /// [fall1996 §4]: while fewer segments than the window are counted in the network, repair holes below the highest
    /// report, then send new data.
    fn poll_counted_recovery(&mut self, now: Time) -> Option<DataSegment> {
        if (self.counted_pipe + i64::from(self.mss)) as f64 > self.congestion.cwnd() {
            return None;
        }
        let segment = match self.outstanding.next_unreported() {
            Some(index) => self.send_again(index, now),
            None => {
                let len = self.unsent_segment();
                if len == 0 {
                    return None;
                }
                if (self.snd_max - self.snd_una) as f64 + f64::from(len) > self.max_window {
                    self.stats.receive_window_limited += 1;
                    return None;
                }
                self.send_new(len, now)
            }
        };
        self.counted_pipe += i64::from(segment.len);
        Some(segment)
    }

    // What these return is put together where it is used, in registers.

    #[inline]
    fn send_new(&mut self, len: u32, now: Time) -> DataSegment {
        let seq = self.snd_max;
        self.note_new(seq, len, now);
        DataSegment { seq, len, is_retransmission: false, is_syn: false }
    }

    #[inline]
    fn send_again(&mut self, index: usize, now: Time) -> DataSegment {
        let (seq, len) = self.note_again(index, now);
        DataSegment { seq, len, is_retransmission: true, is_syn: false }
    }

    fn note_new(&mut self, seq: u64, len: u32, now: Time) {
        if self.switches.limited_transmit && self.duplicates > 0 && !self.in_recovery {
            self.limited_bytes += u64::from(len);
        }
        self.outstanding.push(seq, len, now);
        self.snd_max += u64::from(len);
        self.snd_nxt = self.snd_max;
        self.next_index = self.outstanding.len();
        if self.timed.is_none() && !self.switches.timestamps {
            self.timed = Some((self.snd_max, now));
        }
        if let Some(retransmitted_at) = self.retransmitted_at.take()
            && self.stats.rtt_count > 0
        {
            let rtt = self.stats.rtt_sum / self.stats.rtt_count as f64;
            self.stats.recovery_wait_sum += now.since(retransmitted_at).secs() / rtt;
            self.stats.recovery_wait_count += 1;
        }
        self.note_sent(len, now);
    }

    fn note_again(&mut self, index: usize, now: Time) -> (u64, u32) {
        self.outstanding.mark_resent(index, now);
        let (seq, len) = self.outstanding.get(index).map_or((self.snd_una, 0), |s| (s.seq, s.len));
        let is_timed = self.timed.is_some_and(|(end, _)| end == seq + u64::from(len));
        // ns-2 goes on timing it, and stops only where a recovery begins or the timer expires.
        if is_timed && !self.switches.faults_of_ns2 && !self.counts_pipe() {
            self.timed = None;
        }
        self.stats.segments_retransmitted += 1;
        self.stats.bytes_retransmitted += u64::from(len);
        self.note_sent(len, now);
        (seq, len)
    }

    fn note_sent(&mut self, len: u32, now: Time) {
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += u64::from(len);
        self.last_sent = now;
        if self.retransmit_deadline == Time::NEVER {
            self.retransmit_deadline = self.estimator.deadline(now);
        }
        let context = self.context(now);
        self.congestion.on_sent(&context, len);
    }
}
