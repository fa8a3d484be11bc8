//! The receiver: reassembly, immediate or delayed acknowledgements, SACK blocks.

mod growth;
mod linux;
mod reading;

use crate::clock::HostClock;
use crate::config::{DelayedAck, EcnMode, TcpParams};
use crate::ranges::RangeSet;
use crate::segment::{AckSegment, DataSegment, SackBlocks};
use dumbbell_units::{Ecn, Time, prefetch};
use linux::{Linux, Marked};
use reading::Reader;

/// Marks after which an acknowledgement is not delayed [RFC 9768 §3.2.2.5.1].
const URGENT_MARKS: u64 = 2;

/// Marked data packets, counted for accurate feedback.
///
/// The counts are exact. On the wire, they take three bits and an option, whose size is not counted here.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    /// Their number, modulo 2^16.
    packets: u16,
    /// Their payload in bytes, modulo 2^32.
    bytes: u32,
    /// Their number since the last acknowledgement.
    waiting: u64,
    /// The last data packet was marked.
    is_last_marked: bool,
    /// The last data packet was the first marked one after others, or there are too many to delay the acknowledgement.
    are_urgent: bool,
}

impl Marks {
    fn count(&mut self, segment: &DataSegment) {
        let is_marked = segment.ecn == Ecn::Ce;
        if is_marked {
            self.packets = self.packets.wrapping_add(1);
            self.bytes = self.bytes.wrapping_add(segment.len);
            self.waiting += 1;
        }
        self.are_urgent = is_marked && (!self.is_last_marked || self.waiting >= URGENT_MARKS);
        self.is_last_marked = is_marked;
    }
}

/// The receiver of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    rcv_nxt: u64,
    out_of_order: RangeSet,
    /// The ranges that changed last, newest first, and below `rcv_nxt` what is none; one more than is reported, because
    /// two may be the same.
    recent: [(u64, u64); 4],
    uses_sack: bool,
    reports_duplicates: bool,
    ecn: EcnMode,
    /// What is echoed: with classic feedback, a mark until the sender reports a window reduction [RFC 3168 §6.1.3]; with
    /// that of DCTCP, the mark of the last segment [RFC 8257 §3.2].
    is_marked: bool,
    marks: Marks,
    /// A segment was ECN-capable.
    has_seen_ect: bool,
    delayed_ack: DelayedAck,
    clock: HostClock,
    /// Segments in order left of those that are acknowledged at once.
    quick: u64,
    /// When Linux acknowledges.
    linux: Option<Box<Linux>>,
    waiting_segments: u64,
    waiting_echo: Time,
    echoes_queueing: bool,
    /// Queueing time of the segment that arrived last, if it was the next one expected.
    newest_queueing: Time,
    deadline: Time,
    /// How the application reads, if that changes the window.
    reader: Option<Box<Reader>>,
}

impl Receiver {
    /// A receiver without data.
    pub fn new(params: &TcpParams, clock: HostClock) -> Self {
        Receiver {
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            recent: [(0, 0); 4],
            uses_sack: params.recovery.properties().uses_sack,
            reports_duplicates: params.recovery.reports_duplicates(),
            ecn: params.ecn,
            is_marked: false,
            marks: Marks::default(),
            has_seen_ect: false,
            delayed_ack: params.delayed_ack.clone(),
            clock,
            quick: if let DelayedAck::On(delayed) = &params.delayed_ack { delayed.quick } else { 0 },
            linux: Linux::new(params, clock),
            waiting_segments: 0,
            waiting_echo: Time::ZERO,
            echoes_queueing: params.aqt,
            newest_queueing: Time::NEVER,
            deadline: Time::NEVER,
            reader: Reader::new(params, clock),
        }
    }

    /// Prefetches what a segment needs.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.rcv_nxt);
        prefetch(&self.out_of_order);
        prefetch(&self.deadline);
        prefetch(&self.uses_sack);
    }

    /// Next byte expected; everything below has been delivered in order.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// True if data waits for its acknowledgement.
    #[inline]
    pub fn is_delaying(&self) -> bool {
        self.waiting_segments > 0
    }

    /// When a delayed acknowledgement, or one that tells the window, is due; [`Time::NEVER`] if none is pending.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.deadline
    }

    /// A segment that was sent at `sent` has been taken in: the application reads on.
    pub fn read(&mut self, now: Time, segment: &DataSegment, sent: Time) {
        match &mut self.reader {
            Some(reader) if segment.is_syn => reader.on_open(now, sent),
            Some(reader) => reader.on_segment(now, sent, u64::from(segment.len), self.rcv_nxt),
            None => {}
        }
    }

    /// The first byte after the receive window, which the acknowledgement that is sent now tells, if the window is not
    /// constant.
    pub fn tell_window(&mut self, now: Time) -> Option<u64> {
        let reader = self.reader.as_mut()?;
        self.deadline = self.deadline.min(reader.tell(now));
        Some(reader.edge())
    }

    /// A segment sent at `sent` arrived; `waited` is the queueing time that routers report. Returns the
    /// acknowledgement to send now, if any.
    pub fn on_segment(
        &mut self,
        now: Time,
        segment: &DataSegment,
        sent: Time,
        waited: Time,
    ) -> Option<AckSegment> {
        self.newest_queueing = Time::NEVER;
        if segment.is_syn {
            if let Some(linux) = &mut self.linux {
                linux.on_open(now, sent);
                self.waiting_echo = sent;
            }
            return Some(AckSegment { is_syn: true, ..self.acknowledge(sent) });
        }
        let was_marked = self.is_marked;
        match self.ecn {
            EcnMode::Off => {}
            EcnMode::Classic => {
                self.is_marked &= !segment.is_cwr;
                self.is_marked |= segment.ecn == Ecn::Ce;
            }
            EcnMode::Dctcp => self.is_marked = segment.ecn == Ecn::Ce,
            EcnMode::Accurate => self.marks.count(segment),
        }
        if self.linux.is_some() {
            let marked = self.marked(segment, was_marked);
            return self.on_segment_of_linux((now, sent), segment, waited, marked);
        }
        let end = segment.seq.saturating_add(u64::from(segment.len));
        if end <= self.rcv_nxt {
            return Some(self.acknowledge_again(segment, sent));
        }
        if segment.seq > self.rcv_nxt {
            let mut is_new = false;
            let range = self.out_of_order.insert(segment.seq, end, |_, _| is_new = true);
            self.note_recent(range);
            if self.reports_duplicates && !is_new {
                return Some(self.acknowledge_again(segment, sent));
            }
        } else {
            self.rcv_nxt = end;
            if self.out_of_order.is_empty() {
                if self.echoes_queueing {
                    self.newest_queueing = waited;
                }
                return self.in_order(now, sent);
            }
            if let Some((start, filled)) = self.out_of_order.first()
                && start <= end
            {
                self.rcv_nxt = end.max(filled);
            }
            self.out_of_order.remove_below(self.rcv_nxt);
        }
        Some(self.acknowledge_with(SackBlocks::default(), sent))
    }

    /// The handshake has ended; otherwise, it ends with the first data.
    pub fn on_established(&mut self, now: Time) {
        if let Some(linux) = &mut self.linux {
            linux.on_established(now);
        }
    }

    /// Its peer is no sender of ours: for Linux, the peer knows the window that grows, so that data beyond is dropped, and the
    /// application reads only when [`on_read`](Self::on_read) is called.
    pub fn stand_alone(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.stand_alone();
        }
    }

    /// The application reads up to so many bytes. Returns the acknowledgement that it sends, if it does.
    pub fn on_read(&mut self, now: Time, most: u64) -> Option<AckSegment> {
        let sack = self.linux.as_mut()?.on_read(now, self.rcv_nxt, most)?;
        let ack = self.answer(sack, self.waiting_echo);
        self.follow_linux(now);
        Some(ack)
    }

    /// Waits as long as Linux does.
    fn follow_linux(&mut self, now: Time) {
        if let Some(linux) = &self.linux {
            self.waiting_segments = u64::from(linux.is_waiting());
            self.deadline = linux.next_deadline(now);
        }
    }

    /// What the marks of a segment mean to Linux (`__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`, `dctcp_ece_ack_update`).
    fn marked(&mut self, segment: &DataSegment, was_marked: bool) -> Marked {
        let is_first = segment.ecn == Ecn::Ce && (!was_marked || segment.is_cwr);
        let is_unmarkable = segment.ecn == Ecn::NotEct && self.has_seen_ect;
        self.has_seen_ect |= segment.ecn != Ecn::NotEct;
        match self.ecn {
            EcnMode::Off => Marked::default(),
            EcnMode::Classic => Marked { is_news: is_first || is_unmarkable, is_urgent: segment.is_cwr },
            EcnMode::Dctcp => Marked { is_news: is_unmarkable, is_urgent: self.is_marked != was_marked },
            EcnMode::Accurate => Marked { is_news: is_unmarkable, is_urgent: self.marks.are_urgent },
        }
    }

    /// A segment arrives, and Linux acknowledges it or what was sent before.
    #[inline(never)]
    fn on_segment_of_linux(
        &mut self,
        (now, sent): (Time, Time),
        segment: &DataSegment,
        waited: Time,
        marked: Marked,
    ) -> Option<AckSegment> {
        let linux = self.linux.as_mut()?;
        if linux.is_echoed(segment) {
            self.waiting_echo = sent;
        }
        if self.echoes_queueing && segment.seq == self.rcv_nxt && self.out_of_order.is_empty() {
            self.newest_queueing = waited;
        }
        let beyond = &mut self.out_of_order;
        let sack = linux.on_segment((now, sent), segment, marked, &mut self.rcv_nxt, beyond);
        let ack = sack.map(|sack| self.answer(sack, self.waiting_echo));
        self.follow_linux(now);
        ack
    }

    /// The acknowledgement of earlier data that must precede the arrival of a segment with this codepoint: with the
    /// feedback of DCTCP, if its mark differs from that of data whose acknowledgement is delayed [RFC 8257 §3.2].
    #[inline]
    pub fn acknowledge_before(&mut self, ecn: Ecn) -> Option<AckSegment> {
        if self.ecn != EcnMode::Dctcp || self.waiting_segments == 0 || (ecn == Ecn::Ce) == self.is_marked {
            return None;
        }
        if let Some(linux) = &mut self.linux {
            // It does not end the delay.
            let (is_first, deadline) = (linux.precedes_mark(), self.deadline);
            let sack = is_first.then(|| linux.report(self.rcv_nxt))?;
            let ack = self.answer(sack, self.waiting_echo);
            (self.waiting_segments, self.deadline) = (1, deadline);
            return Some(ack);
        }
        Some(self.acknowledge(self.waiting_echo))
    }

    #[inline]
    fn in_order(&mut self, now: Time, sent: Time) -> Option<AckSegment> {
        let echo = if matches!(self.delayed_ack, DelayedAck::Off) { sent } else { self.delay(now, sent)? };
        Some(self.answer(SackBlocks::default(), echo))
    }

    /// The time that the acknowledgement of a segment echoes; `None` if it is delayed.
    #[inline(never)]
    fn delay(&mut self, now: Time, sent: Time) -> Option<Time> {
        let DelayedAck::On(params) = &self.delayed_ack else { return Some(sent) };
        if self.marks.are_urgent {
            return Some(if self.waiting_segments == 0 { sent } else { self.waiting_echo });
        }
        if self.quick > 0 {
            self.quick -= 1;
            return Some(sent);
        }
        if self.waiting_segments == 0 {
            self.waiting_echo = sent;
            self.deadline = if params.on_tick {
                self.clock.ticking(params.timer).after(now, 1)
            } else {
                now + params.timer
            };
        }
        self.waiting_segments += 1;
        (self.waiting_segments >= params.segments).then_some(self.waiting_echo)
    }

    /// The delayed acknowledgement that is due.
    pub fn on_deadline(&mut self, now: Time) -> Option<AckSegment> {
        if now < self.deadline {
            return None;
        }
        if let Some(linux) = &mut self.linux {
            let sack = linux.on_deadline(now, self.rcv_nxt);
            return Some(self.answer(sack, self.waiting_echo));
        }
        Some(self.acknowledge(self.waiting_echo))
    }

    /// The acknowledgement of a segment that has arrived before, which reports it if asked to [RFC 2883 §4].
    #[inline(never)]
    fn acknowledge_again(&mut self, segment: &DataSegment, echo: Time) -> AckSegment {
        let mut sack = SackBlocks::default();
        // A probe of the window has no data.
        if self.reports_duplicates && segment.len > 0 {
            sack.push_duplicate(self.rcv_nxt, segment.seq, segment.len);
        }
        self.acknowledge_with(sack, echo)
    }

    #[inline(never)]
    fn acknowledge(&mut self, echo: Time) -> AckSegment {
        self.acknowledge_with(SackBlocks::default(), echo)
    }

    /// The acknowledgement with these blocks and those of the ranges that changed last.
    // Inlined, so that the blocks stay in registers until they are stored in their place.
    #[inline(always)]
    fn acknowledge_with(&mut self, mut sack: SackBlocks, echo: Time) -> AckSegment {
        if self.uses_sack && !self.out_of_order.is_empty() {
            let mut reported = [(0, 0); 4];
            let mut count = 0;
            for &range in &self.recent {
                let (start, end) = (range.0.max(self.rcv_nxt), range.1);
                if end <= self.rcv_nxt || reported[..count].contains(&range) {
                    continue;
                }
                let offset = u32::try_from(start - self.rcv_nxt).unwrap_or(u32::MAX);
                sack.push(offset, u32::try_from(end - start).unwrap_or(u32::MAX));
                reported[count] = range;
                count += 1;
                if count == 3 {
                    break;
                }
            }
            if sack.duplicate(self.rcv_nxt).is_none() {
                self.recent = reported;
            }
        }
        self.answer(sack, echo)
    }

    #[inline(always)]
    fn answer(&mut self, sack: SackBlocks, echo: Time) -> AckSegment {
        self.waiting_segments = 0;
        self.marks.waiting = 0;
        self.deadline = Time::NEVER;
        AckSegment {
            ack: self.rcv_nxt,
            timestamp_echo: echo,
            sack,
            queueing_echo: self.newest_queueing,
            is_syn: false,
            is_ece: self.is_marked,
            ce_packets: self.marks.packets,
            ce_bytes: self.marks.bytes,
        }
    }

    /// A range has changed: it comes first, and replaces those merged into it.
    fn note_recent(&mut self, range: (u64, u64)) {
        let merged = |other: (u64, u64)| if range.0 <= other.0 && other.1 <= range.1 { range } else { other };
        let [first, second, third, _] = self.recent;
        self.recent = [range, merged(first), merged(second), merged(third)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecoverySpec;
    use crate::config::DelayedAckParams;
    use crate::config::Rules;
    use crate::config::recovery::RackRules;

    fn data(seq: u64, len: u32) -> DataSegment {
        DataSegment::new(seq, len)
    }

    fn receiver(params: TcpParams) -> Receiver {
        Receiver::new(&params, HostClock::Fraction(0.0))
    }

    #[test]
    fn segments_above_and_into_holes_are_acknowledged_immediately() {
        let mut receiver = receiver(Rules::Classic.defaults());
        let mut ack = |seq| receiver.on_segment(Time(0), &data(seq, 100), Time(0), Time::ZERO).unwrap().ack;
        assert_eq!([ack(0), ack(200), ack(300), ack(100), ack(100)], [100, 100, 100, 400, 400]);
    }

    #[test]
    fn a_receiver_delays_from_the_first_segment_of_a_pair_to_the_second() {
        let delayed_ack = DelayedAck::On(DelayedAckParams::default());
        let mut receiver = receiver(TcpParams { delayed_ack, ..Rules::Classic.defaults() });
        assert!(!receiver.is_delaying());
        let mut is_delaying_after = |seq| {
            receiver.on_segment(Time(0), &data(seq, 100), Time(0), Time::ZERO);
            receiver.is_delaying()
        };
        assert_eq!([0, 100, 200].map(&mut is_delaying_after), [true, false, true]);
    }

    #[test]
    fn sack_blocks_report_the_newest_range_first() {
        let params =
            TcpParams { recovery: RecoverySpec::Rfc6675(Default::default()), ..Rules::Classic.defaults() };
        let mut receiver = receiver(params);
        let mut blocks = |seq| {
            let ack = receiver.on_segment(Time(0), &data(seq, 100), Time(0), Time::ZERO).unwrap();
            ack.sack.ranges(ack.ack).collect::<Vec<_>>()
        };
        assert_eq!(blocks(0), []);
        assert_eq!(blocks(200), [(200, 300)]);
        assert_eq!(blocks(400), [(400, 500), (200, 300)]);
        assert_eq!(blocks(600), [(600, 700), (400, 500), (200, 300)]);
        assert_eq!(blocks(300), [(200, 500), (600, 700)]);
        assert_eq!(blocks(100), [(600, 700)]);
        assert_eq!(blocks(800), [(800, 900), (600, 700)]);
        assert_eq!(blocks(1000), [(1000, 1100), (800, 900), (600, 700)]);
        // A growing range pushes none of the others out, however often it grows.
        for end in [1200, 1300, 1400] {
            assert_eq!(blocks(end - 100), [(1000, end), (800, 900), (600, 700)]);
        }
    }

    #[test]
    fn what_arrives_twice_is_reported_once_if_asked() {
        let ask = |is_asked| {
            let rules = RackRules { dsack: is_asked, ..RackRules::default() };
            let recovery = RecoverySpec::Rack(rules);
            let mut receiver = receiver(TcpParams { recovery, ..Rules::Classic.defaults() });
            move |seq| {
                let ack = receiver.on_segment(Time(0), &data(seq, 100), Time(0), Time::ZERO).unwrap();
                (ack.ack, ack.sack.duplicate(ack.ack), ack.sack.ranges(ack.ack).collect::<Vec<_>>())
            }
        };
        let mut arrive = ask(true);
        assert_eq!(arrive(0), (100, None, vec![]));
        assert_eq!(arrive(0), (100, Some((0, 100)), vec![]));
        assert_eq!(arrive(200), (100, None, vec![(200, 300)]));
        assert_eq!(arrive(300), (100, None, vec![(200, 400)]));
        assert_eq!(arrive(300), (100, Some((300, 400)), vec![(200, 400)]));
        assert_eq!(arrive(100), (400, None, vec![]));
        assert_eq!(arrive(200), (400, Some((200, 300)), vec![]));
        // Three ranges in all.
        [500, 700, 900].into_iter().for_each(|seq| drop(arrive(seq)));
        assert_eq!(arrive(0), (400, Some((0, 100)), vec![(900, 1000), (700, 800)]));
        assert_eq!(arrive(1100).2, [(1100, 1200), (900, 1000), (700, 800)]);
        assert_eq!(ask(false)(0), (100, None, vec![]));
    }

    #[test]
    fn the_report_of_a_duplicate_forgets_no_range_that_it_leaves_out() {
        let recovery = RecoverySpec::Rack(RackRules { dsack: true, ..RackRules::default() });
        let mut receiver = receiver(TcpParams { recovery, ..Rules::Classic.defaults() });
        let mut blocks = |seq| {
            let ack = receiver.on_segment(Time(0), &data(seq, 100), Time(0), Time::ZERO).unwrap();
            (ack.sack.duplicate(ack.ack), ack.sack.ranges(ack.ack).collect::<Vec<_>>())
        };
        [0, 200, 400, 600, 800].into_iter().for_each(|seq| drop(blocks(seq)));
        // The oldest of four ranges arrives again, and is then acknowledged: the other three are left.
        assert_eq!(blocks(200), (Some((200, 300)), vec![(200, 300), (800, 900)]));
        assert_eq!(blocks(100), (None, vec![(800, 900), (600, 700), (400, 500)]));
    }

    #[test]
    fn a_delayed_acknowledgement_waits_for_the_second_segment_or_the_timer() {
        let on = DelayedAckParams { timer: Time(200), ..DelayedAckParams::default() };
        let params = TcpParams { delayed_ack: DelayedAck::On(on), ..Rules::Classic.defaults() };
        let mut receiver = receiver(params);
        assert_eq!(receiver.on_segment(Time(5), &data(0, 100), Time(1), Time::ZERO), None);
        assert_eq!(receiver.next_deadline(), Time(205));
        let ack = receiver.on_segment(Time(6), &data(100, 100), Time(2), Time::ZERO).unwrap();
        assert_eq!((ack.ack, ack.timestamp_echo), (200, Time(1)));
        assert_eq!(receiver.next_deadline(), Time::NEVER);
        assert_eq!(receiver.on_segment(Time(7), &data(200, 100), Time(3), Time::ZERO), None);
        assert_eq!(receiver.on_deadline(Time(206)), None);
        assert_eq!(receiver.on_deadline(Time(207)).unwrap().ack, 300);
        assert!(receiver.on_segment(Time(8), &data(400, 100), Time(4), Time::ZERO).is_some());
    }

    #[test]
    fn the_first_segments_may_be_acknowledged_at_once() {
        let on = DelayedAckParams { timer: Time(200), quick: 3, ..DelayedAckParams::default() };
        let params = TcpParams { delayed_ack: DelayedAck::On(on), ..Rules::Classic.defaults() };
        let mut receiver = receiver(params);
        let mut ack =
            |seq| receiver.on_segment(Time(5), &data(seq, 100), Time(1), Time::ZERO).map(|ack| ack.ack);
        // Three segments in order are acknowledged at once, and every second one after them. Those above and into a hole
        // do not count.
        assert_eq!([ack(0), ack(200), ack(100), ack(300)], [Some(100), Some(100), Some(300), Some(400)]);
        assert_eq!([ack(400), ack(500), ack(600), ack(700)], [Some(500), None, Some(700), None]);
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_reports_a_window_reduction() {
        let mut receiver = receiver(TcpParams { ecn: EcnMode::Classic, ..Rules::Classic.defaults() });
        let mut echoes = |seq, ecn, is_cwr| {
            let segment = DataSegment { ecn, is_cwr, ..data(seq, 100) };
            receiver.on_segment(Time(0), &segment, Time(0), Time::ZERO).unwrap().is_ece
        };
        assert!(!echoes(0, Ecn::Ect0, false));
        assert!(echoes(100, Ecn::Ce, false) && echoes(200, Ecn::Ect0, false));
        assert!(!echoes(300, Ecn::Ect0, true));
        // A segment can report the reduction and be marked itself.
        assert!(echoes(400, Ecn::Ce, true));
    }

    /// A receiver that delays the acknowledgements of up to four segments.
    fn delaying(ecn: EcnMode) -> Receiver {
        let on = DelayedAckParams { segments: 4, timer: Time(200), ..DelayedAckParams::default() };
        receiver(TcpParams { ecn, delayed_ack: DelayedAck::On(on), ..Rules::Classic.defaults() })
    }

    #[test]
    fn a_change_of_the_mark_acknowledges_the_data_before_it() {
        let mut receiver = delaying(EcnMode::Dctcp);
        let mut arrive = |seq, ecn| {
            let early = receiver.acknowledge_before(ecn);
            let segment = DataSegment { ecn, ..data(seq, 100) };
            let ack = receiver.on_segment(Time(5), &segment, Time(seq), Time::ZERO);
            [early, ack].map(|ack| ack.map(|ack| (ack.ack, ack.is_ece, ack.timestamp_echo.0)))
        };
        // Two unmarked segments, then marked ones: the two are acknowledged without an echo, the next four with it.
        assert_eq!(arrive(0, Ecn::Ect0), [None, None]);
        assert_eq!(arrive(100, Ecn::Ect0), [None, None]);
        assert_eq!(arrive(200, Ecn::Ce), [Some((200, false, 0)), None]);
        assert_eq!((arrive(300, Ecn::Ce), arrive(400, Ecn::Ce)), ([None, None], [None, None]));
        assert_eq!(arrive(500, Ecn::Ce), [None, Some((600, true, 200))]);
        // No data waits: the change needs no acknowledgement of its own.
        assert_eq!(arrive(600, Ecn::Ect0), [None, None]);
        // A marked segment above a hole: one acknowledgement for the data before it, one for itself.
        assert_eq!(arrive(800, Ecn::Ce), [Some((700, false, 600)), Some((700, true, 800))]);
        // Other feedback forces nothing.
        let mut classic = delaying(EcnMode::Classic);
        assert_eq!(classic.on_segment(Time(5), &data(0, 100), Time(0), Time::ZERO), None);
        assert_eq!(classic.acknowledge_before(Ecn::Ce), None);
    }

    #[test]
    fn marks_are_counted_and_the_first_and_every_second_are_acknowledged_at_once() {
        let mut receiver = delaying(EcnMode::Accurate);
        let mut arrive = |seq, ecn| {
            let segment = DataSegment { ecn, ..data(seq, 100) };
            assert_eq!(receiver.acknowledge_before(ecn), None);
            let ack = receiver.on_segment(Time(5), &segment, Time(seq), Time::ZERO);
            ack.map(|ack| (ack.ack, ack.ce_packets, ack.ce_bytes, ack.timestamp_echo.0))
        };
        assert_eq!((arrive(0, Ecn::Ect1), arrive(100, Ecn::Ect1)), (None, None));
        // The first mark after others does not wait; then every second does not.
        assert_eq!(arrive(200, Ecn::Ce), Some((300, 1, 100, 0)));
        assert_eq!((arrive(300, Ecn::Ce), arrive(400, Ecn::Ce)), (None, Some((500, 3, 300, 300))));
        assert_eq!((arrive(500, Ecn::Ce), arrive(600, Ecn::Ect1)), (None, None));
        assert_eq!((arrive(700, Ecn::Ce), arrive(800, Ecn::Ect1)), (Some((800, 5, 500, 500)), None));
        // What arrives twice counts twice.
        assert_eq!(arrive(0, Ecn::Ce), Some((900, 6, 600, 0)));
    }

    #[test]
    fn the_echo_belongs_to_the_newest_acknowledged_segment() {
        let on = DelayedAckParams { timer: Time(200), ..DelayedAckParams::default() };
        let params = TcpParams { aqt: true, delayed_ack: DelayedAck::On(on), ..Rules::Classic.defaults() };
        let mut receiver = receiver(params);
        let mut echo = |now, seq, waited| {
            let ack = receiver.on_segment(Time(now), &data(seq, 100), Time(1), Time(waited));
            ack.map(|ack| ack.queueing())
        };
        assert_eq!(echo(5, 0, 10), None);
        // The second of two segments is the newest. A segment above a hole and the one that fills the hole are not
        // echoed.
        assert_eq!(echo(6, 100, 20), Some(Some(Time(20))));
        assert_eq!((echo(7, 300, 30), echo(8, 200, 40)), (Some(None), Some(None)));
        assert_eq!(echo(9, 400, 50), None);
        assert_eq!(receiver.on_deadline(Time(300)).unwrap().queueing(), Some(Time(50)));
    }
}
