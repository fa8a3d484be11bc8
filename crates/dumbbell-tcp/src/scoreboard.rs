//! The segments between `snd_una` and the highest byte sent, and the scoreboard of selective
//! acknowledgements over them [RFC 6675 §3-4].
//!
//! Segments keep the boundaries they were first sent with. Every operation is amortized constant time per segment, so
//! that windows of ten thousand segments stay cheap: newly acknowledged parts are visited once, and the edge below
//! which holes count as lost only rises, as does the pointer to the next hole to repair.

mod by_time;
mod rate;
mod sent;

use crate::ranges::RangeSet;
use by_time::Resent;
use dumbbell_cc::{LostSegment, RateSample};
use dumbbell_units::{Time, prefetch, prefetch_ends};
use rate::DeliveryRate;
use sent::{EVER_REPORTED, EXAMINED, LOST, LOST_EARLY, PROBED, RESENT, SACKED};
use std::collections::VecDeque;

pub use by_time::{Deliveries, Echo};
pub use sent::Sent;

/// Ranges that an ACK reports at most.
const MAX_RANGES: usize = 3;

/// The outstanding segments and their state.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    ring: VecDeque<Sent>,
    sacked: RangeSet,
    /// The ranges of the last ACK in their places, and what was in the place before the current one. An ACK repeats most
    /// ranges of the one before, in the same places or moved by one.
    reported: [(u64, u64); MAX_RANGES],
    moved: (u64, u64),
    /// Index after that of the segment reported last, which is often reported next.
    after_reported: usize,
    /// Holes below this byte are marked lost.
    lost_edge: u64,
    /// No segment from this byte on is marked lost.
    lost_end: u64,
    /// All holes below this byte have been repaired in this recovery, except those `lost_again`.
    repaired_to: u64,
    /// First bytes of segments lost below that byte, in ascending order; some may have been repaired since.
    lost_again: VecDeque<u64>,
    pipe: u64,
    /// Bytes that a segment counts as, at least.
    least: u32,
    rescued: bool,
    /// Bytes delivered since the connection began, by an acknowledgement or a report.
    delivered: u64,
    /// Bytes by which what was delivered counts as more.
    excess: u64,
    /// Bytes considered lost since the connection began.
    lost: u64,
    /// Losses not yet reported to the congestion control.
    news: VecDeque<LostSegment>,
    /// State of delivery-rate samples, if requested.
    rate: Option<Box<DeliveryRate>>,
    /// State of the loss detection by time, if requested; otherwise, losses are detected by what is reported above.
    by_time: Option<Box<Deliveries>>,
}

/// Segments removed by an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Removed {
    count: usize,
    /// Bytes that they contributed to the pipe.
    in_pipe: u64,
    /// Bytes that were not reported before, and by how much they count as more.
    undelivered: u64,
    excess: u64,
    /// When the newest one was sent, if its acknowledgement gives a round-trip time.
    timed: Option<Time>,
}

/// Removes the segments that end at or below `ack`, and calls `tell` for each.
#[inline(always)]
fn remove_below(ring: &mut VecDeque<Sent>, ack: u64, least: u32, mut tell: impl FnMut(&Sent)) -> Removed {
    let mut removed = Removed::default();
    while let Some(head) = ring.front()
        && head.end() <= ack
    {
        removed.count += 1;
        removed.in_pipe += head.in_pipe(least);
        removed.undelivered += head.undelivered();
        removed.excess += head.excess(least);
        removed.timed = head.is_timed_by_acknowledgement().then_some(head.sent_at);
        tell(head);
        ring.pop_front();
    }
    removed
}

/// Index of the segment that contains `seq`, or of the first after it.
fn index_of(ring: &VecDeque<Sent>, seq: u64) -> usize {
    let Some(head) = ring.front().filter(|head| head.end() <= seq) else { return 0 };
    // Nearly all segments have the same size, so the guess is nearly always right.
    let guess = ((seq - head.seq) / u64::from(head.len.max(1))) as usize;
    match ring.get(guess) {
        Some(sent) if sent.seq <= seq && seq < sent.end() => guess,
        _ => ring.partition_point(|sent| sent.end() <= seq),
    }
}

impl Scoreboard {
    /// Prefetches what an acknowledgement or a new segment needs.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_ends(&self.ring);
        let reported = self.ring.get(self.after_reported);
        reported.inspect(|sent| prefetch(*sent));
        if let Some(rate) = &self.rate {
            rate.prefetch(self.after_reported);
        }
        if let Some(by_time) = &self.by_time {
            prefetch(&**by_time);
            prefetch(&by_time.examined);
        }
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// True if nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// The segment at an index counted from the oldest.
    pub fn get(&self, index: usize) -> Option<&Sent> {
        self.ring.get(index)
    }

    /// The oldest segment.
    pub fn head(&self) -> Option<&Sent> {
        self.ring.front()
    }

    /// Bytes estimated to be in the network during a recovery with SACK.
    pub fn pipe(&self) -> u64 {
        self.pipe
    }

    /// True if any data above the cumulative acknowledgement was reported.
    pub fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Bytes of the segments without a report.
    pub fn unreported(&self) -> u64 {
        self.ring.iter().filter(|sent| !sent.is_sacked()).map(|sent| u64::from(sent.len)).sum()
    }

    /// Bytes in flight of the `count` oldest segments: all except those reported, and those lost and not
    /// retransmitted. Unlike in [`pipe`](Self::pipe), a segment counts once even if it was retransmitted without
    /// being lost.
    pub fn in_network(&self, count: usize) -> u64 {
        let is_there =
            |sent: &&Sent| sent.flags & (SACKED | LOST) == 0 || sent.flags & (SACKED | RESENT) == RESENT;
        self.ring.iter().take(count).filter(is_there).map(|sent| u64::from(sent.len)).sum()
    }

    /// Enables delivery-rate samples.
    pub fn sample_rate(&mut self, now: Time) {
        self.rate = Some(Box::new(DeliveryRate::new(now)));
    }

    /// Detects losses by time instead of by reports above them.
    pub fn detect_by_time(&mut self) {
        self.by_time = Some(Box::default());
    }

    /// What time shows to be lost is not examined again, even if the reaction is undone. The ranges of a report are taken
    /// in the order of their bytes, so that the round-trip time is that of the highest (`tcp_sacktag_write_queue`).
    pub fn examine_once(&mut self) {
        if let Some(by_time) = &mut self.by_time {
            by_time.examines_once = true;
        }
    }

    /// True if the ranges of a report are taken in the order of their bytes, not in that of the report.
    pub fn takes_ranges_in_order(&self) -> bool {
        self.by_time.as_ref().is_some_and(|by_time| by_time.examines_once)
    }

    /// Every segment counts as one of this size at least, as it does in a window of whole segments.
    pub fn count_whole(&mut self, segment: u32) {
        self.least = segment;
        self.pipe = self.recount();
    }

    /// Bytes that these segments count as, which have this payload.
    pub fn counted(&self, segments: u64, payload: u64) -> u64 {
        if self.least == 0 { payload } else { segments * u64::from(self.least) }
    }

    /// The pipe, counted anew.
    fn recount(&self) -> u64 {
        self.ring.iter().map(|sent| sent.in_pipe(self.least)).sum()
    }

    /// What deliveries say, to change it.
    pub(crate) fn deliveries_mut(&mut self) -> Option<&mut Deliveries> {
        self.by_time.as_deref_mut()
    }

    /// Data that arrived twice counts as delivered once more, as in `tcp_dsack_seen`.
    pub fn count_duplicate(&mut self, bytes: u64) {
        self.delivered += bytes;
        if let Some(rate) = &mut self.rate {
            rate.count_duplicate(bytes);
        }
    }

    /// A range arrived twice. What of it was retransmitted and is reported already was delivered out of order, as in
    /// `tcp_sacktag_one`.
    pub fn on_duplicate_of_reported(&mut self, (start, end): (u64, u64)) {
        let is_meant = |sent: &&Sent| sent.end() <= end && sent.is_sacked() && sent.transmissions > 1;
        let first = self.ring.range(self.index_of(start)..).take_while(|sent| sent.seq < end).find(is_meant);
        if let (Some(by_time), Some(sent)) = (&mut self.by_time, first) {
            by_time.on_late(sent.seq);
        }
    }

    /// True if losses are detected by time.
    #[inline]
    pub fn detects_by_time(&self) -> bool {
        self.by_time.is_some()
    }

    /// What deliveries say about the order and the time of transmissions, if losses are detected by time.
    pub fn deliveries(&self) -> Option<&Deliveries> {
        self.by_time.as_deref()
    }

    /// The handshake took this long, or timestamps show this round-trip time.
    pub fn on_measured(&mut self, rtt: Time) {
        if let Some(by_time) = &mut self.by_time {
            by_time.on_measured(rtt);
        }
    }

    /// An ACK arrived, which echoes this time if there are timestamps.
    #[inline]
    pub fn begin_ack(&mut self, echo: Option<Echo>) {
        if let Some(by_time) = &mut self.by_time {
            by_time.begin_ack(echo);
        }
    }

    /// Samples of the delivery rate have the times of Linux.
    pub fn sample_in_micros(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.count_micros();
        }
    }

    /// True if delivery rates are sampled, whoever it is for.
    pub fn samples_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// True if what is sent now counts as limited by the application; `None` if the congestion control gets no samples of
    /// the delivery rate.
    #[inline]
    pub fn is_app_limited(&self) -> Option<bool> {
        self.rate.as_ref().and_then(|rate| rate.is_app_limited())
    }

    /// The application limits the sender.
    #[inline]
    pub fn on_app_limited(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(self.pipe);
        }
    }

    /// Marks of this many bytes were echoed since the connection began.
    #[inline]
    pub fn on_marked(&mut self, marked: u64) {
        if let Some(rate) = &mut self.rate {
            rate.on_marked(marked);
        }
    }

    /// Samples delivery rates for others than the congestion control, which does not get them.
    pub fn observe_rate(&mut self, now: Time) {
        self.rate = Some(Box::new(DeliveryRate::observed(now)));
    }

    /// The delivery-rate sample of the current ACK, whoever it is for.
    pub fn latest_rate(&self) -> Option<&RateSample> {
        self.rate.as_ref().and_then(|rate| rate.latest())
    }

    /// The delivery-rate sample of the current ACK. Its interval is at least the minimum round-trip time.
    #[inline]
    pub fn take_rate_sample(&mut self, rtt: Option<Time>, min_rtt: f64) {
        if let Some(rate) = &mut self.rate {
            rate.take_sample(rtt, min_rtt);
        }
    }

    /// The last sample, if any.
    #[inline]
    pub fn rate_sample(&self) -> Option<&RateSample> {
        self.rate.as_ref().and_then(|rate| rate.sample())
    }

    /// Bytes delivered since the connection began, cumulatively or selectively acknowledged, each once.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// What these bytes count as.
    pub fn delivered_counted(&self) -> u64 {
        self.delivered + self.excess
    }

    /// Bytes considered lost since the connection began; lost retransmissions count again.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Appends a segment sent for the first time.
    pub fn push(&mut self, seq: u64, len: u32, now: Time) {
        self.ring.push_back(Sent::new(seq, len, now));
        self.pipe += u64::from(len.max(self.least));
        if let Some(rate) = &mut self.rate {
            rate.on_sent(now, self.pipe);
        }
    }

    /// Records a retransmission of the segment at `index`.
    pub fn mark_resent(&mut self, index: usize, now: Time) {
        if let Some(sent) = self.ring.get_mut(index) {
            self.pipe -= sent.in_pipe(self.least);
            sent.flags = sent.flags & !(EXAMINED | PROBED) | RESENT;
            sent.sent_at = now;
            sent.transmissions = sent.transmissions.saturating_add(1);
            self.pipe += sent.in_pipe(self.least);
            if let Some(rate) = &mut self.rate {
                rate.on_resent(index, now, self.pipe);
            }
            if let Some(by_time) = &mut self.by_time {
                by_time.resent.push_back(Resent { end: sent.end(), sent_at: now });
            }
        }
    }

    /// The last retransmission of the segment at `index` does not count as in the network (`tcp_send_loss_probe`).
    pub fn mark_probed(&mut self, index: usize) {
        if let Some(sent) = self.ring.get_mut(index) {
            self.pipe -= sent.in_pipe(self.least);
            sent.flags |= PROBED;
            self.pipe += sent.in_pipe(self.least);
        }
    }

    /// Marks the segment at `index`, or its retransmission, as lost, wherever it is: a recovery retransmits it.
    pub fn mark_lost(&mut self, index: usize) {
        if let Some(sent) = self.ring.get_mut(index).filter(|sent| !sent.is_sacked()) {
            self.pipe -= sent.in_pipe(self.least);
            sent.flags = sent.flags & !(RESENT | PROBED) | LOST;
            self.pipe += sent.in_pipe(self.least);
            if sent.seq < self.repaired_to {
                let at = self.lost_again.partition_point(|&seq| seq < sent.seq);
                if self.lost_again.get(at) != Some(&sent.seq) {
                    self.lost_again.insert(at, sent.seq);
                }
            }
            self.lost_end = self.lost_end.max(sent.end());
            self.count_lost(index);
        }
    }

    /// Counts the last transmission of the segment at `index` as lost, unless already counted. The pipe is unchanged:
    /// a recovery without a scoreboard does its own accounting.
    pub fn count_lost(&mut self, index: usize) {
        let Some(sent) = self.ring.get_mut(index).filter(|sent| !sent.is_sacked()) else { return };
        sent.flags |= LOST_EARLY;
        if sent.losses < sent.transmissions {
            sent.losses = sent.transmissions;
            self.note_loss(index);
        }
    }

    /// Counts all unreported data as lost, at a timeout. Later retransmissions may be lost again.
    pub fn count_all_lost(&mut self) {
        for index in 0..self.ring.len() {
            self.count_lost(index);
            self.ring[index].flags &= !LOST_EARLY;
        }
    }

    fn note_loss(&mut self, index: usize) {
        let sent = &self.ring[index];
        self.lost += u64::from(sent.len);
        let mut lost =
            LostSegment::new(sent.seq, sent.len, sent.sent_at).with_retransmission(sent.transmissions > 1);
        if let Some(rate) = &mut self.rate {
            lost = rate.on_lost(index, lost);
        }
        self.news.push_back(lost);
    }

    /// The next loss not yet reported.
    pub fn take_loss(&mut self) -> Option<LostSegment> {
        self.news.pop_front()
    }

    /// Removes data below `ack`, acknowledged at `now`. Returns when the newest segment removed completely was sent, if
    /// its acknowledgement gives a round-trip time, and the number of such segments.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, now: Time) -> (Option<Time>, usize) {
        let removed = if self.rate.is_none() && self.by_time.is_none() {
            remove_below(&mut self.ring, ack, self.least, |_| {})
        } else {
            self.deliver_below(ack, now)
        };
        self.pipe -= removed.in_pipe;
        self.delivered += removed.undelivered;
        self.excess += removed.excess;
        if self.ring.front().is_some_and(|head| head.seq < ack) {
            self.acknowledge_in_part(ack, now);
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
            self.after_reported = self.after_reported.saturating_sub(removed.count);
        }
        (removed.timed, removed.count)
    }

    /// Removes the segments below `ack`, and tells samples and the loss detection by time of them.
    // Not inlined: the loop without them is short.
    #[inline(never)]
    fn deliver_below(&mut self, ack: u64, now: Time) -> Removed {
        let (rate, by_time) = (&mut self.rate, &mut self.by_time);
        remove_below(&mut self.ring, ack, self.least, |sent| {
            if let Some(rate) = rate {
                rate.on_acknowledged(sent.undelivered(), now);
            }
            if let Some(by_time) = by_time {
                by_time.on_acknowledged(sent, sent.flags & EVER_REPORTED == 0, now);
            }
        })
    }

    /// The beginning of the oldest segment is acknowledged.
    #[cold]
    fn acknowledge_in_part(&mut self, ack: u64, now: Time) {
        let Some(head) = self.ring.front_mut() else { return };
        self.pipe -= head.in_pipe(self.least);
        let acked = (ack - head.seq) as u32;
        if head.flags & EVER_REPORTED == 0 {
            self.delivered += u64::from(acked);
            if let Some(rate) = &mut self.rate {
                rate.on_partly_delivered(u64::from(acked), now);
            }
        }
        head.len -= acked;
        head.seq = ack;
        self.pipe += head.in_pipe(self.least);
    }

    /// Index of the segment that contains `seq`, or of the first after it.
    fn index_of(&self, seq: u64) -> usize {
        index_of(&self.ring, seq)
    }

    /// Records a reported range, the `number`th of an ACK counted from 0. Segments covered in part stay outstanding. True
    /// if any of it is new.
    pub fn report(&mut self, number: usize, start: u64, end: u64, now: Time) -> bool {
        let mut is_news = false;
        if !self.is_known(number, (start, end)) {
            let (from, until) = match (self.ring.front(), self.ring.back()) {
                (Some(head), Some(tail)) => (start.max(head.seq), end.min(tail.end())),
                _ => (start, start),
            };
            let Scoreboard {
                sacked,
                ring,
                after_reported,
                pipe,
                delivered,
                excess,
                rate,
                by_time,
                least,
                ..
            } = self;
            sacked.insert(from, until, |low, high| {
                is_news = true;
                let mut index = *after_reported;
                if ring.get(index).is_none_or(|sent| sent.seq != low) {
                    index = index_of(ring, low);
                }
                while let Some(sent) = ring.get_mut(index).filter(|sent| sent.end() <= high) {
                    if sent.seq >= low {
                        *pipe -= sent.in_pipe(*least);
                        *delivered += sent.undelivered();
                        *excess += sent.excess(*least);
                        if let Some(rate) = rate {
                            rate.on_delivered(index, sent.undelivered(), now);
                        }
                        if let Some(by_time) = by_time {
                            by_time.on_reported(sent, sent.flags & EVER_REPORTED == 0, now);
                        }
                        sent.flags |= SACKED | EVER_REPORTED;
                        *after_reported = index + 1;
                    }
                    index += 1;
                }
            });
            if until < end {
                // Not all of it has been sent. Later, it may be news again.
                self.reported = Default::default();
            }
        }
        if self.by_time.is_none() {
            self.raise_lost_edge();
        }
        is_news
    }

    /// True if the ACK before reported this range in the same place or the one before, where it is most often. Notes it
    /// for the next ACK.
    #[inline]
    fn is_known(&mut self, number: usize, range: (u64, u64)) -> bool {
        let Some(known) = self.reported.get_mut(number) else { return false };
        let before = std::mem::replace(known, range);
        let moved = std::mem::replace(&mut self.moved, before);
        before == range || number > 0 && moved == range
    }

    /// A hole is lost once three ranges, or more than two segments' bytes, are reported above it
    /// [RFC 6675 §4, IsLost].
    fn raise_lost_edge(&mut self) {
        let Some(head) = self.ring.front() else { return };
        let two_segments = 2 * u64::from(head.len.max(self.ring.back().map_or(0, |tail| tail.len)));
        let mut bytes = 0;
        let mut edge = 0;
        for (count, (start, end)) in self.sacked.descending().enumerate() {
            bytes += end - start;
            if bytes > two_segments || count == 2 {
                edge = start;
                break;
            }
        }
        if edge <= self.lost_edge {
            return;
        }
        for index in self.index_of(self.lost_edge.max(head.seq))..self.ring.len() {
            let sent = &mut self.ring[index];
            if sent.seq >= edge {
                break;
            }
            let is_news = sent.flags & (SACKED | LOST | LOST_EARLY) == 0 && sent.losses < sent.transmissions;
            self.pipe -= sent.in_pipe(self.least);
            sent.flags |= LOST;
            self.pipe += sent.in_pipe(self.least);
            if is_news {
                sent.losses = sent.transmissions;
                self.note_loss(index);
            }
        }
        self.lost_edge = edge;
        self.lost_end = self.lost_end.max(edge);
    }

    /// True if something may have been sent before the newest delivery and is neither delivered nor lost. Nearly always
    /// there is nothing.
    #[inline]
    pub fn awaits_older(&mut self) -> bool {
        let Some(by_time) = &mut self.by_time else { return false };
        let Some(newest) = by_time.newest() else { return false };
        let mut first_out = self.ring.get(by_time.examined);
        while first_out.is_some_and(|sent| !sent.is_first_out()) {
            by_time.examined += 1;
            first_out = self.ring.get(by_time.examined);
        }
        first_out.is_some_and(|sent| (sent.sent_at, sent.end()) < newest)
            || by_time.resent.front().is_some_and(|first| first.sent_at <= newest.0)
    }

    /// Marks as lost what was sent before the newest delivery and has been out for its round-trip time and a reordering
    /// window. Returns when the rest of it will be, unless it is delivered; [`Time::NEVER`] if there is no rest.
    pub fn detect_losses(&mut self, now: Time, reordering_window: Time) -> Time {
        let Some(mut by_time) = self.by_time.take() else { return Time::NEVER };
        let mut latest = Time::ZERO;
        if let Some(newest) = by_time.newest() {
            let wait = by_time.rtt() + reordering_window;
            let mark = if by_time.examines_once { EXAMINED } else { 0 };
            self.examine_first_transmissions(&mut by_time.examined, newest, wait, now, &mut latest, mark);
            by_time.is_resent_lost |=
                self.examine_retransmissions(&mut by_time.resent, newest, wait, now, &mut latest);
        }
        self.by_time = Some(by_time);
        if latest == Time::ZERO { Time::NEVER } else { latest }
    }

    fn examine_first_transmissions(
        &mut self,
        examined: &mut usize,
        newest: (Time, u64),
        wait: Time,
        now: Time,
        latest: &mut Time,
        mark: u8,
    ) {
        while let Some(sent) = self.ring.get(*examined) {
            let end = sent.end();
            if sent.is_first_out() {
                if (sent.sent_at, end) >= newest {
                    return;
                }
                if sent.sent_at + wait > now {
                    // The last one sent before the newest delivery has the same fate later: at the top of a hole.
                    *latest = (sent.sent_at + wait).max(*latest);
                    let holes = self.sacked.descending().map(|(start, _)| start).filter(|start| *start > end);
                    for start in holes {
                        let top = self.index_of(start).checked_sub(1).and_then(|top| self.ring.get(top));
                        let is_waiting =
                            |top: &&Sent| top.is_first_out() && (top.sent_at, top.end()) < newest;
                        if let Some(top) = top.filter(is_waiting) {
                            *latest = (top.sent_at + wait).max(*latest);
                            return;
                        }
                    }
                    return;
                }
                self.mark_lost(*examined);
                self.ring[*examined].flags |= mark;
            }
            *examined += 1;
        }
    }

    /// The same for retransmissions. True if any of them is lost.
    fn examine_retransmissions(
        &mut self,
        resent: &mut VecDeque<Resent>,
        newest: (Time, u64),
        wait: Time,
        now: Time,
        latest: &mut Time,
    ) -> bool {
        let mut is_any_lost = false;
        while let Some(&Resent { end, sent_at }) = resent.front()
            && sent_at <= newest.0
        {
            let index = self.index_of(end - 1);
            if self.is_out(index, end, sent_at) {
                if (sent_at, end) >= newest {
                    break;
                }
                if sent_at + wait > now {
                    let last = resent.partition_point(|other| (other.sent_at, other.end) < newest);
                    let last = last.checked_sub(1).and_then(|last| resent.get(last));
                    *latest = (last.map_or(sent_at, |last| last.sent_at) + wait).max(*latest);
                    break;
                }
                self.mark_lost(index);
                is_any_lost = true;
            }
            resent.pop_front();
        }
        is_any_lost
    }

    /// True if the segment at an index ends there and its last transmission, a repetition at `sent_at`, may be in the
    /// network.
    fn is_out(&self, index: usize, end: u64, sent_at: Time) -> bool {
        self.ring.get(index).is_some_and(|sent| {
            sent.end() == end && sent.sent_at == sent_at && sent.flags & (SACKED | RESENT) == RESENT
        })
    }

    /// Retransmissions that may be in the network: their number, and when the first was sent.
    pub fn retransmissions_out(&self) -> (u64, Time) {
        let Some(by_time) = &self.by_time else { return (0, Time::NEVER) };
        let is_out = |resent: &&Resent| {
            let index = self.index_of(resent.end - 1);
            self.is_out(index, resent.end, resent.sent_at) && self.ring[index].flags & PROBED == 0
        };
        let mut out = by_time.resent.iter().filter(is_out);
        let first = out.next().map_or(Time::NEVER, |resent| resent.sent_at);
        (u64::from(first != Time::NEVER) + out.count() as u64, first)
    }

    /// Marks as lost the oldest segment, and all others if `all`, or else those out for the round-trip time of the newest
    /// delivery and a reordering window, at a timeout [RFC 8985 §6.3].
    pub fn lose_at_timeout(&mut self, now: Time, reordering_window: Time, all: bool) {
        let rtt = self.by_time.as_ref().map_or(Time::ZERO, |by_time| by_time.rtt());
        for index in 0..self.ring.len() {
            if index == 0 || all || self.ring[index].sent_at + rtt + reordering_window <= now {
                self.mark_lost(index);
            }
        }
    }

    /// Takes back that outstanding segments are lost: the reaction was spurious. What was counted remains counted.
    pub fn unmark_lost(&mut self) {
        for sent in &mut self.ring {
            sent.flags &= !(LOST | LOST_EARLY);
        }
        self.lost_end = 0;
        self.pipe = self.recount();
        if let Some(by_time) = &mut self.by_time {
            by_time.examined = 0;
        }
    }

    /// True if any outstanding segment counts as lost, retransmitted or not.
    pub fn has_lost(&self) -> bool {
        let below = self.ring.iter().take_while(|sent| sent.seq < self.lost_end);
        below.into_iter().any(|sent| sent.flags & (LOST | SACKED) == LOST)
    }

    /// Segments reported, lost whether retransmitted or not, and retransmitted, of those outstanding.
    pub fn counts(&self) -> (u64, u64, u64) {
        let count = |mask: u8, flags: u8| {
            let matching = self.ring.iter().filter(|sent| sent.flags & mask == flags).count();
            matching as u64
        };
        (count(SACKED, SACKED), count(SACKED | LOST, LOST), count(SACKED | RESENT | PROBED, RESENT))
    }

    /// True if the oldest segment counts as lost.
    pub fn is_head_lost(&self) -> bool {
        self.ring.front().is_some_and(|head| head.flags & LOST != 0 && !head.is_sacked())
    }

    /// True if the oldest segment was retransmitted in this recovery.
    pub fn is_head_resent(&self) -> bool {
        self.ring.front().is_some_and(|head| head.flags & RESENT != 0)
    }

    /// Starts a recovery: no hole has been repaired in it yet.
    pub fn begin_recovery(&mut self) {
        let mut pipe = 0;
        for sent in &mut self.ring {
            sent.flags &= !(RESENT | PROBED);
            pipe += sent.in_pipe(self.least);
        }
        self.pipe = pipe;
        self.repaired_to = self.ring.front().map_or(0, |head| head.seq);
        self.lost_again.clear();
        self.rescued = false;
    }

    /// Index of the next lost hole not yet retransmitted in this recovery [RFC 6675 §4, NextSeg rule 1]. For holes
    /// that are not lost, see [`next_unreported`](Self::next_unreported).
    pub fn next_lost(&mut self) -> Option<usize> {
        let mut found = self.next_hole(self.lost_end)?;
        while self.ring[found].flags & (SACKED | LOST | RESENT) != LOST {
            found += 1;
            if self.ring.get(found).is_none_or(|sent| sent.seq >= self.lost_end) {
                return None;
            }
        }
        Some(found)
    }

    /// Index of the next hole below the highest report, lost or not [RFC 6675 §4, rule 3].
    pub fn next_unreported(&mut self) -> Option<usize> {
        self.next_hole(self.sacked.highest())
    }

    fn next_hole(&mut self, below: u64) -> Option<usize> {
        while let Some(&seq) = self.lost_again.front() {
            let index = self.index_of(seq);
            if let Some(sent) = self.ring.get(index).filter(|sent| sent.is_hole()) {
                return (sent.seq < below).then_some(index);
            }
            self.lost_again.pop_front();
        }
        if self.repaired_to >= below {
            return None;
        }
        let from = self.index_of(self.repaired_to);
        for (offset, sent) in self.ring.range(from..).enumerate() {
            if sent.seq >= below {
                break;
            }
            if sent.is_hole() {
                self.repaired_to = sent.seq;
                return Some(from + offset);
            }
        }
        self.repaired_to = below;
        None
    }

    /// Index of the newest segment without a report, once per recovery [RFC 6675 §4, rule 4].
    pub fn rescue(&mut self) -> Option<usize> {
        if self.rescued {
            return None;
        }
        let newest = self.ring.back()?;
        if newest.is_sacked() || newest.flags & RESENT != 0 {
            return None;
        }
        self.rescued = true;
        Some(self.ring.len() - 1)
    }

    /// Clears all reports after a timeout [RFC 2018 §8], so that everything is retransmitted.
    pub fn clear_sacked(&mut self) {
        for sent in &mut self.ring {
            sent.flags &= EVER_REPORTED;
        }
        self.sacked.clear();
        self.reported = Default::default();
        self.moved = Default::default();
        self.lost_edge = 0;
        self.lost_end = 0;
        self.repaired_to = 0;
        self.lost_again.clear();
        if let Some(by_time) = &mut self.by_time {
            by_time.on_cleared();
        }
        self.pipe = self.recount();
    }
}

#[cfg(test)]
mod tests;
