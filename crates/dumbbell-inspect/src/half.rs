//! One direction of a connection: its data, and the acknowledgements of it.

use crate::echoes::Echoes;
use crate::late::{Held, Late};
use crate::order::Order;
use crate::outstanding::{Delivered, Newly, Outstanding, Sent};
use crate::repair::{Circumstances, Kind, Repair};
use crate::rounds::{Rounds, State, Tail};
use crate::rtt::Rtt;
use crate::segment::{MAX_SACK, Segment};
use crate::sequence::Numbers;
use crate::series::{AckRow, SegmentRow, Series};
use dumbbell_units::{Ecn, Time};

/// Without a sample, a segment that fills a hole within this time was overtaken rather than sent again; so Wireshark does.
const REORDERED_WITHIN: Time = Time(3_000_000);

/// Bytes of options that a segment of data has at most.
const MOST_OPTIONS: u32 = 40;

/// Ranges sent again whose fate is watched: a duplicate may be reported later.
const WATCHED: usize = 64;

/// Counts of one direction. All are of data segments unless stated.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "`rows` says what each is, for users")]
pub struct Counts {
    pub segments: u64,
    pub bytes_with_headers: u64,
    pub payload: u64,
    pub retransmitted: u64,
    pub bytes_retransmitted: u64,
    pub fast: u64,
    pub probe: u64,
    pub timeout: u64,
    pub other: u64,
    pub spurious: u64,
    pub out_of_order: u64,
    pub bytes_missing: u64,
    pub largest: u32,
    pub ce_marks: u64,
    pub keep_alives: u64,
    pub window_probes: u64,
    /// Of the receiver's segments.
    pub acks: u64,
    pub duplicate_acks: u64,
    pub dsacks: u64,
    pub zero_windows: u64,
    pub ece: u64,
    pub window_full: u64,
}

/// A range that was sent again, until an acknowledgement or a duplicate tells whether that was needed.
#[derive(Clone, Copy, Debug)]
struct Again {
    start: i64,
    end: i64,
    row: usize,
}

/// What the sender knows of its receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    snd_una: i64,
    window: Option<u64>,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub struct Half {
    numbers: Option<Numbers>,
    /// The numbers begin with a SYN that was seen.
    has_syn: bool,
    /// The first byte that is not acknowledged, and the byte after the last one sent.
    snd_una: i64,
    snd_max: i64,
    /// The end of the data, if a FIN told.
    fin: Option<i64>,
    outstanding: Outstanding,
    /// Window of the receiver, in bytes; unknown without a handshake.
    window: Option<u64>,
    /// The window in the last segment of the receiver, not scaled.
    said_window: Option<u16>,
    /// Acknowledgements on their way to the sender; the last that has reached it; no further segment fits its window.
    late: Late,
    heard: Heard,
    is_full: bool,
    duplicates: u64,
    delivered: Delivered,
    last_sent: Option<Time>,
    /// When the segment with the highest number was seen first.
    advanced: Time,
    order: Order,
    /// Round-trip time of the handshake, between both ends wherever it was seen.
    handshake: Option<Time>,
    last_heard: Option<Time>,
    again: std::collections::VecDeque<Again>,
    /// When the first segment of data was seen, and the last event that moved data.
    pub begun: Option<Time>,
    /// When the last data was sent or acknowledged.
    pub moved: Time,
    /// Largest payload that both ends allow, in bytes.
    pub mss: Option<u16>,
    /// Both ends use selective acknowledgements.
    pub has_sack: bool,
    /// Repairs of losses.
    pub repair: Repair,
    /// What limited it.
    pub rounds: Rounds,
    /// Its round-trip times, from data to acknowledgements.
    pub rtt: Rtt,
    /// Its round-trip times, from acknowledgements to data.
    pub echoes: Echoes,
    /// Its counts.
    pub counts: Counts,
    /// Each of its segments and acknowledgements, where they are kept.
    pub series: Option<Series>,
}

impl Half {
    /// Bytes that were acknowledged in order.
    pub fn acknowledged(&self) -> u64 {
        let end = self.fin.map_or(self.snd_una, |fin| self.snd_una.min(fin));
        end.max(0) as u64
    }

    /// The SYN of its sender.
    pub fn on_syn(&mut self, seq: u32) {
        self.numbers = Some(Numbers::beginning_at(seq.wrapping_add(1)));
        self.has_syn = true;
    }

    /// Its data follows a SYN with this number.
    pub fn begins_with_syn(&self, seq: u32) -> bool {
        self.numbers.is_some_and(|numbers| numbers.begins_at(seq.wrapping_add(1)))
    }

    /// The handshake lasted from one instant to another, and a part of it passed between the capture and the sender.
    pub fn on_handshake(&mut self, start: Time, end: Time, part: Time) {
        self.handshake = Some(end - start);
        self.late.on_handshake(part, end - start);
        self.rounds.on_handshake(start, end);
    }

    /// A segment of its sender.
    pub fn on_segment(&mut self, segment: &Segment, header: u32) {
        let first = segment.seq.wrapping_add(u32::from(segment.flags.syn));
        let numbers = *self.numbers.get_or_insert_with(|| Numbers::beginning_at(first));
        let start = numbers.offset(first);
        let end = start.saturating_add(i64::from(segment.payload));
        if segment.flags.fin {
            self.fin = Some(end);
        }
        if self.is_probe_of_receiver(segment, start) || segment.payload == 0 {
            return;
        }
        self.begun.get_or_insert(segment.at);
        self.moved = segment.at;
        let echoed = segment.options.timestamps.and_then(|(_, echo)| self.echoes.on_data(segment.at, echo));
        echoed.into_iter().for_each(|rtt| self.late.on_echo(rtt));
        if let (Some(series), Some(rtt)) = (&mut self.series, echoed) {
            series.echoes.push((segment.at, rtt));
        }
        self.follow_acks(segment.at);
        let was_empty = self.heard.snd_una >= self.snd_max;
        let kind = self.kind_of(segment, start, end);
        self.order.on_segment(segment);
        self.count(segment, kind, header);
        let row = self.counts.segments as usize - 1;
        if let Some(series) = &mut self.series {
            let (at, bytes) = (segment.at, segment.payload);
            let clock = segment.options.timestamps.map(|(clock, _)| clock);
            series.segment(SegmentRow { at, offset: start, bytes, kind, spurious: false, clock });
        }
        self.send(segment, (start, end), kind, row);
        let tail = self.tail(segment);
        let state = self.state(segment.at);
        self.counts.window_full += u64::from(state.is_window_full && !self.is_full);
        self.is_full = state.is_window_full;
        self.rounds.on_data(&state, was_empty, tail);
    }

    /// A segment is full if its data and options fill the MSS [RFC 9293 §3.7.1].
    fn tail(&self, segment: &Segment) -> Tail {
        let full = self.mss.map_or(self.counts.largest, |mss| u32::from(mss).saturating_sub(MOST_OPTIONS));
        if segment.payload < full {
            Tail::Short
        } else if segment.flags.psh {
            Tail::Ended
        } else {
            Tail::Open
        }
    }

    /// Linux and others ask the receiver for a sign of life with a byte that it has, or with none.
    fn is_probe_of_receiver(&mut self, segment: &Segment, start: i64) -> bool {
        let is_empty = segment.payload <= 1 && !(segment.flags.syn || segment.flags.fin || segment.flags.rst);
        let is_window_closed = self.window == Some(0);
        let is_known = start == self.snd_una - 1 && self.snd_max == self.snd_una && self.last_sent.is_some();
        if is_empty && is_window_closed && (is_known || (segment.payload == 1 && start == self.snd_max)) {
            self.counts.window_probes += 1;
            return is_known;
        }
        if is_empty && is_known {
            self.counts.keep_alives += 1;
            return true;
        }
        false
    }

    fn kind_of(&mut self, segment: &Segment, start: i64, end: i64) -> Kind {
        if self.last_sent.is_none() && !self.has_syn {
            // The capture begins in mid-stream: nothing before is outstanding.
            self.snd_una = self.snd_una.max(start);
            self.heard.snd_una = self.heard.snd_una.max(start);
            self.snd_max = self.snd_max.max(start);
        }
        if start >= self.snd_max {
            return Kind::New;
        }
        let silence = segment.at - self.last_sent.max(self.last_heard).unwrap_or(segment.at);
        let is_hole = end > self.snd_una && self.outstanding.seen(start, end) == 0;
        if is_hole && self.is_overtaken(segment, silence) {
            return Kind::OutOfOrder;
        }
        self.repair.on_retransmission(&Circumstances {
            bytes: (start, end),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            highest_sacked: self.outstanding.highest_sacked(),
            duplicates: self.duplicates,
            has_sack: self.has_sack,
            silence,
            resent_ago: self.outstanding.resent_at(start).map(|at| segment.at - at),
            srtt: self.round_trip(),
        })
    }

    /// A segment that fills a hole was sent before the one with the highest number, and was overtaken. Clocks and numbers
    /// of packets tell; without them, it comes less than a round trip after it, while no loss is being repaired.
    fn is_overtaken(&self, segment: &Segment, silence: Time) -> bool {
        self.order.is_older(segment).unwrap_or_else(|| {
            let is_repair = self.repair.is_active() || self.duplicates >= 3;
            let within = self.handshake.unwrap_or(REORDERED_WITHIN);
            !is_repair && segment.at - self.advanced < within && silence < within
        })
    }

    /// The round-trip time between both ends as far as it is known: from the capture to the receiver and back, and from the
    /// capture to the sender and back. Nearer to the sender, its waiting would count with the latter, but for the least.
    fn round_trip(&self) -> Option<Time> {
        let (ahead, back) = (self.rtt.srtt, &self.echoes.rtt);
        let is_near_receiver = back.least > self.rtt.least;
        let behind = if is_near_receiver { back.srtt } else { back.least };
        let parts = ahead.map(|ahead| ahead + behind.unwrap_or_default());
        parts.max(self.handshake)
    }

    fn count(&mut self, segment: &Segment, kind: Kind, header: u32) {
        let counts = &mut self.counts;
        counts.segments += 1;
        counts.payload += u64::from(segment.payload);
        counts.bytes_with_headers += u64::from(segment.payload) + u64::from(header);
        counts.largest = counts.largest.max(segment.payload);
        counts.ce_marks += u64::from(segment.ecn == Ecn::Ce);
        match kind {
            Kind::New => return,
            Kind::OutOfOrder => {
                counts.out_of_order += 1;
                return;
            }
            Kind::Fast => counts.fast += 1,
            Kind::Probe => counts.probe += 1,
            Kind::Timeout => counts.timeout += 1,
            Kind::Other => counts.other += 1,
        }
        counts.retransmitted += 1;
        counts.bytes_retransmitted += u64::from(segment.payload);
    }

    fn send(&mut self, segment: &Segment, (start, end): (i64, i64), kind: Kind, row: usize) {
        if self.snd_una >= self.snd_max {
            // A flight begins: the interval of the next sample does, too.
            self.delivered.at = segment.at;
            self.delivered.sent_at = segment.at;
        }
        if end > self.snd_una {
            self.outstanding.send(Sent {
                start: start.max(self.snd_una),
                end,
                at: segment.at,
                clock: segment.options.timestamps.map(|(clock, _)| clock),
                is_resent: !matches!(kind, Kind::New | Kind::OutOfOrder),
                is_sacked: false,
                delivered: self.delivered,
                row,
            });
        } else {
            // What it carries was acknowledged before.
            self.mark_spurious(row);
        }
        if !matches!(kind, Kind::New | Kind::OutOfOrder) && end > self.snd_una {
            if self.again.len() == WATCHED {
                self.again.pop_front();
            }
            self.again.push_back(Again { start, end, row });
        }
        if end > self.snd_max {
            self.snd_max = end;
            self.advanced = segment.at;
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.advance(end);
        }
        self.last_sent = Some(segment.at);
    }

    fn mark_spurious(&mut self, row: usize) {
        self.counts.spurious += 1;
        if let Some(series) = &mut self.series {
            series.mark_spurious(row);
        }
    }

    /// The sender hears the acknowledgements that reach it until an instant.
    fn follow_acks(&mut self, until: Time) {
        while let Some(held) = self.late.next(until, self.rtt.least) {
            let is_new = held.snd_una > self.heard.snd_una;
            self.heard = Heard { snd_una: self.heard.snd_una.max(held.snd_una), window: held.window };
            let state = self.state(held.at);
            self.is_full = state.is_window_full;
            self.rounds.on_ack(&state, is_new);
        }
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        self.follow_acks(Time::NEVER);
        self.rounds.finish(self.moved);
    }

    fn state(&self, at: Time) -> State {
        let in_flight = (self.snd_max - self.heard.snd_una).max(0) as u64;
        State {
            at,
            bytes: (self.heard.snd_una, self.snd_max),
            is_repairing: self.repair.is_active(),
            is_window_full: self.is_window_full(in_flight),
            srtt: self.round_trip(),
        }
    }

    fn is_window_full(&self, in_flight: u64) -> bool {
        self.heard
            .window
            .is_some_and(|window| in_flight > 0 && in_flight + u64::from(self.mss.unwrap_or(1)) > window)
    }

    /// A segment of the receiver with an acknowledgement. `scale` is the shift of its window, if it is known.
    pub fn on_ack(&mut self, segment: &Segment, scale: Option<u8>) {
        let is_first = self.numbers.is_none();
        let numbers = *self.numbers.get_or_insert_with(|| Numbers::beginning_at(segment.ack));
        let acked = numbers.offset(segment.ack);
        self.counts.acks += 1;
        if let Some((clock, _)) = segment.options.timestamps {
            self.echoes.on_ack(segment.at, clock);
        }
        self.counts.ece += u64::from(segment.flags.ece && !segment.flags.syn);
        let is_plain = !(segment.flags.syn || segment.flags.fin || segment.flags.rst);
        self.counts.zero_windows += u64::from(segment.window == 0 && is_plain);
        let is_duplicate = self.is_duplicate(segment, acked, is_plain);
        if is_duplicate {
            self.duplicates += 1;
            self.counts.duplicate_acks += 1;
        }
        self.said_window = Some(segment.window);
        let shift = if segment.flags.syn { Some(0) } else { scale };
        self.window = shift.map(|shift| u64::from(segment.window) << shift);

        let mut newly = self.outstanding.acknowledge(acked);
        self.on_unseen(acked, newly.covered, is_first);
        let (sacked, has_duplicate) = self.ranges(segment, acked, &numbers);
        self.outstanding.report(sacked, &mut newly);
        if acked > self.snd_una {
            self.is_eifel(segment, &newly);
            self.again.retain(|again| again.end > acked || again.start >= acked.saturating_sub(1 << 20));
            self.snd_una = acked;
            self.duplicates = 0;
            self.moved = segment.at;
            self.repair.on_ack(acked);
        }
        self.late.hold(Held { at: segment.at, snd_una: self.snd_una, window: self.window });
        self.follow_acks(segment.at);
        let rtt = self.sample(segment.at, &newly);
        let rate = self.deliver(segment.at, &newly);
        self.last_heard = Some(segment.at);
        if let Some(series) = &mut self.series {
            let in_flight = (self.snd_max - self.snd_una).max(0) as u64;
            series.ack(AckRow {
                at: segment.at,
                acked,
                sacked: self.outstanding.sacked(),
                window: self.window,
                rtt,
                flight: in_flight.saturating_sub(self.outstanding.sacked()),
                delivered: self.delivered.bytes,
                rate,
                is_duplicate,
                has_dsack: has_duplicate,
                has_ece: segment.flags.ece,
            });
        }
    }

    /// A duplicate acknowledgement [RFC 5681 §2]: no data, the same number and window, while data is outstanding.
    fn is_duplicate(&self, segment: &Segment, acked: i64, is_plain: bool) -> bool {
        is_plain
            && segment.payload == 0
            && segment.window != 0
            && self.said_window == Some(segment.window)
            && acked == self.snd_una
            && self.snd_max > self.snd_una
    }

    /// Counts bytes that are acknowledged and that the capture lacks; `covered` were seen.
    fn on_unseen(&mut self, acked: i64, covered: u64, is_first: bool) {
        // Without a SYN, the first acknowledgement can be of what was sent before the capture began.
        if self.last_sent.is_some() && !is_first {
            // A FIN counts as one byte, also one that was not seen.
            let end = self.fin.map_or(acked, |fin| acked.min(fin));
            self.counts.bytes_missing += ((end - self.snd_una).max(0) as u64).saturating_sub(covered);
        }
        self.snd_max = self.snd_max.max(acked);
        if let Some(numbers) = &mut self.numbers {
            numbers.advance(acked);
        }
    }

    /// The ranges beyond the acknowledgement that a segment reports, and whether it reports a duplicate [RFC 2883 §4].
    fn ranges(&mut self, segment: &Segment, acked: i64, numbers: &Numbers) -> ([(i64, i64); MAX_SACK], bool) {
        let mut ranges = [(0, 0); MAX_SACK];
        let mut has_duplicate = false;
        let count = usize::from(segment.options.sack_count).min(MAX_SACK);
        for (place, range) in ranges.iter_mut().enumerate().take(count) {
            let (start, end) = segment.options.sack[place];
            let (start, end) = (numbers.offset(start), numbers.offset(end));
            let is_duplicate = place == 0
                && (start < acked
                    || (count > 1 && {
                        let (outer_start, outer_end) = segment.options.sack[1];
                        start >= numbers.offset(outer_start) && end <= numbers.offset(outer_end)
                    }));
            if is_duplicate {
                has_duplicate = true;
                self.counts.dsacks += 1;
                self.on_dsack(start, end);
            } else if start < end && start >= acked && end <= self.snd_max {
                *range = (start, end);
            }
        }
        (ranges, has_duplicate)
    }

    fn on_dsack(&mut self, start: i64, end: i64) {
        if let Some(place) = self.again.iter().position(|again| again.start < end && start < again.end)
            && let Some(again) = self.again.remove(place)
        {
            self.mark_spurious(again.row);
        }
    }

    /// The first acknowledgement of a range that was sent again echoes an older clock: the first transmission arrived
    /// [RFC 3522 §3.2].
    fn is_eifel(&mut self, segment: &Segment, newly: &Newly) {
        let Some(first) = newly.first_resent else { return };
        if let (Some(sent), Some((_, echo))) = (first.clock, segment.options.timestamps)
            && (echo.wrapping_sub(sent) as i32) < 0
            && let Some(place) =
                self.again.iter().position(|again| again.row == first.row && again.start <= first.start)
        {
            let again = self.again.remove(place);
            self.mark_spurious(again.map_or(first.row, |again| again.row));
        }
    }

    /// The round-trip time of the segment that was sent last among those that are reported, if it was sent once
    /// [RFC 6298 §3].
    fn sample(&mut self, at: Time, newly: &Newly) -> Option<Time> {
        let latest = newly.latest.filter(|latest| !latest.is_resent)?;
        let sample = at - latest.at;
        self.rtt.add(sample);
        Some(sample)
    }

    /// The delivery rate since the segment that was sent last among those that are reported, in bit/s: what was delivered
    /// over the longer of the intervals in which it was sent and reported [draft-ietf-ccwg-bbr §4.1.1].
    fn deliver(&mut self, at: Time, newly: &Newly) -> Option<f64> {
        let latest = newly.latest?;
        self.delivered.bytes += newly.bytes;
        self.delivered.at = at;
        self.delivered.sent_at = latest.at;
        let sending = latest.at - latest.delivered.sent_at;
        let interval = sending.max(at - latest.delivered.at);
        let bytes = self.delivered.bytes - latest.delivered.bytes;
        (interval > Time::ZERO).then(|| bytes as f64 * 8.0 / interval.secs())
    }

    /// Gives back the memory that only an open connection needs.
    pub fn close(&mut self) {
        self.outstanding.clear();
        self.again = std::collections::VecDeque::new();
    }
}
