//! What an acknowledgement does: samples, duplicates, recoveries and their ends.

use super::{DUPLICATE_THRESHOLD, LastCut, Phase, Sender};
use crate::config::{PartialAck, Pipe, Recovery};
use crate::outstanding::Sent;
use crate::segment::AckSegment;
use dumbbell_cc::{Ack, Congestion, Queueing, RecoveryExit, Signal};
use dumbbell_units::Time;

impl Sender {
    /// An acknowledgement arrived that has waited so long on its way, as far as routers say.
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment, waited: Time) {
        self.burst_sent = 0;
        if ack.is_syn {
            self.on_open(now);
            return;
        }
        if self.phase != Phase::Open || ack.ack > self.snd_max {
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
        if self.phase == Phase::Opening {
            self.phase = Phase::Open;
            self.timeouts_in_a_row = 0;
            self.retransmit_deadline = Time::NEVER;
            if self.stats.timeouts == 0 {
                self.estimator.sample(self.opened_at, now);
            }
        }
    }

    fn on_duplicate_ack(&mut self, now: Time) {
        let context = self.context(now);
        self.duplicates += 1;
        self.congestion.on_duplicate_ack(&context, &Ack::new(self.snd_una, 0));
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
            context.in_flight = self.outstanding.in_network(self.next_index) as f64;
            let congestion = Congestion::new(signal).with_retransmitted_before(retransmitted_before);
            self.congestion.on_congestion(&context, &congestion);
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
        if !self.in_recovery && self.switches.recovery != Recovery::Tahoe {
            let context = self.context(now);
            self.congestion.on_recovery_enter(&context);
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
        let is_cwnd_limited = self.limits.is_cwnd_limited(self.congestion.cwnd(), self.congestion.ssthresh());

        let (newest, removed) = self.outstanding.acknowledge(ack.ack);
        self.next_index = self.next_index.saturating_sub(removed);
        self.snd_una = ack.ack;
        self.timeouts_in_a_row = 0;
        self.snd_nxt = self.snd_nxt.max(ack.ack);
        let rtt = newest.filter(Sent::is_timed_by_acknowledgement).map(|sent| now.since(sent.sent_at));
        self.measure(now, ack, rtt);
        if !is_partial && self.counts_pipe() && self.outstanding.has_sacked() {
            self.outstanding.forget_reports();
        }

        let queueing = ack.queueing().map(|forward| Queueing { forward, backward: waited });
        let news = Ack::new(ack.ack, acked)
            .with_rtt(rtt)
            .with_queueing(queueing)
            .with_in_flight((self.snd_max - self.snd_una) as f64)
            .with_cwnd_limited(is_cwnd_limited)
            .with_recovery(in_recovery);
        self.congestion.on_ack(&context, &news);
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
            self.pace.measure(now, rtt, self.snd_una, self.snd_nxt);
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
            self.congestion.on_recovery_exit(&context, &RecoveryExit::new(kept));
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
}
