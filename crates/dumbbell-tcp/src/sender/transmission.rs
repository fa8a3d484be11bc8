//! Which segment goes next, and what is noted of it.

use super::limits::Pause;
use super::{BURST_LIMIT, DUPLICATE_THRESHOLD, Phase, Sender};
use crate::config::Recovery;
use crate::outstanding::Sent;
use crate::segment::DataSegment;
use dumbbell_cc::{Restart, SentSegment};
use dumbbell_units::Time;

impl Sender {
    /// The next segment to send at `now`, if any. Ask until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<DataSegment> {
        if self.phase != Phase::Open {
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
        self.pace.stop_waiting();
        if self.switches.faults_of_ns2 && (1..DUPLICATE_THRESHOLD).contains(&self.duplicates) {
            return None;
        }
        let mut bound = if self.switches.mechanisms.burst_limit { BURST_LIMIT } else { u64::MAX };
        if self.in_recovery && self.switches.recovery_burst > 0 {
            bound = bound.min(self.switches.recovery_burst);
        }
        if self.burst_sent >= bound {
            return self.pause(Pause::Other);
        }
        if self.switches.mechanisms.spike_suppression && self.pace.holds(now) {
            return self.pause(Pause::Other);
        }
        let segment = if self.in_recovery && self.switches.recovery == Recovery::Sack {
            self.poll_sack_recovery(now)
        } else {
            self.poll_window(now)
        }?;
        self.burst_sent += 1;
        self.pace.on_sent(segment.len, now);
        Some(segment)
    }

    fn poll_open(&mut self, now: Time) -> Option<DataSegment> {
        if self.phase != Phase::MustOpen {
            return None;
        }
        self.phase = Phase::Opening;
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
            return self.pause(self.pause_without_data());
        }
        if self.switches.idle_restart
            && self.outstanding.is_empty()
            && self.snd_max > 0
            && now.since(self.last_sent) >= self.estimator.timeout()
        {
            let context = self.context(now);
            let restart = Restart::new(now.since(self.last_sent), self.estimator.timeout());
            self.congestion.on_restart(&context, &restart);
        }
        let needed = (self.snd_nxt - self.snd_una) as f64 + f64::from(len);
        if needed > self.cwnd().min(self.max_window) {
            let is_receiver = self.max_window <= self.cwnd();
            self.stats.receive_window_limited += u64::from(is_receiver);
            return self.pause(if is_receiver { Pause::Other } else { Pause::CongestionWindow });
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
            return self.pause(Pause::CongestionWindow);
        }
        let is_eager = std::mem::take(&mut self.is_eager);
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
        match index.or(is_eager.then_some(0)) {
            Some(index) => Some(self.send_again(index, now)),
            None if len == 0 => self.pause(self.pause_without_data()),
            None => self.pause(Pause::Other),
        }
    }

    /// [fall1996 §4]: while fewer segments than the window are counted in the network, repair holes below the highest
    /// report, then send new data.
    fn poll_counted_recovery(&mut self, now: Time) -> Option<DataSegment> {
        if (self.counted_pipe + i64::from(self.mss)) as f64 > self.congestion.cwnd() {
            return self.pause(Pause::CongestionWindow);
        }
        let segment = match self.outstanding.next_unreported() {
            Some(index) => self.send_again(index, now),
            None => {
                let len = self.unsent_segment();
                if len == 0 {
                    return self.pause(self.pause_without_data());
                }
                if (self.snd_max - self.snd_una) as f64 + f64::from(len) > self.max_window {
                    self.stats.receive_window_limited += 1;
                    return self.pause(Pause::Other);
                }
                self.send_new(len, now)
            }
        };
        self.counted_pipe += i64::from(segment.len);
        Some(segment)
    }

    /// Why there is nothing to send where the application has written no more: a window that it has filled limits too.
    fn pause_without_data(&self) -> Pause {
        let is_full = (self.snd_nxt - self.snd_una) as f64 + f64::from(self.mss) > self.cwnd();
        if is_full { Pause::CongestionWindow } else { Pause::Application }
    }

    /// Nothing to send now, for this reason.
    #[inline]
    fn pause<T>(&mut self, reason: Pause) -> Option<T> {
        self.limits.on_pause(reason, self.snd_una, self.snd_nxt);
        None
    }

    // What these two return is put together where it is used, in registers.

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
        self.note_sent(SentSegment::new(seq, len), now);
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
        self.note_sent(SentSegment::new(seq, len).with_retransmission(true), now);
        (seq, len)
    }

    fn note_sent(&mut self, sent: SentSegment, now: Time) {
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += u64::from(sent.bytes);
        self.last_sent = now;
        if self.retransmit_deadline == Time::NEVER {
            self.retransmit_deadline = self.estimator.deadline(now);
        }
        let context = self.context(now);
        self.congestion.on_sent(|| context, &sent);
    }
}
