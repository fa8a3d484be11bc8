//! When the receiver of Linux acknowledges [linux6 tcp_input.c, tcp_output.c, tcp_timer.c].
//!
//! More than one full segment is acknowledged at once if the window advances (`__tcp_ack_snd_check`), and so is every
//! segment of a number that begins with the connection, after what has arrived before, after a long pause, and while the
//! window grows (`tcp_enter_quickack_mode`). The delay of others follows the gaps between segments
//! (`tcp_event_data_recv`, `tcp_send_delayed_ack`). From the fourth on, acknowledgements of data out of order wait for a
//! millisecond or a twentieth of the round-trip time, so that some become one (`tcp_comp_sack_delay_ns`). The application
//! reads at once, and then acknowledges what is not full (`tcp_cleanup_rbuf`).
//!
//! Where it departs: a segment has PSH if and only if it is not full. No connection is interactive, because the receiver
//! sends no data. Data is not dropped for want of memory, nor because its timestamp is old.

mod blocks;
mod held;

use super::growth::Growth;
use crate::clock::{HostClock, Ticks};
use crate::config::{DelayForm, DelayedAck, DelayedAckParams, TcpParams};
use crate::ranges::RangeSet;
use crate::rtt::TimerSpec;
use crate::segment::{DataSegment, SackBlocks};
use blocks::Blocks;
use dumbbell_units::Time;
use held::{Held, Part, Unread};

/// Tick of the clock if the timers of the connection have none.
const TICK: Time = Time(4_000_000);
/// Timeout before a round-trip time is known, and the least part of it beyond the round-trip time.
const TIMEOUT: Time = Time(1_000_000_000);
const MARGIN: Time = Time(200_000_000);
/// Longest delay of an acknowledgement (`TCP_DELACK_MAX`), and that of one that no segment with PSH asks for.
const LONGEST: Time = Time(200_000_000);
const LONGEST_WITHOUT_PSH: Time = Time(500_000_000);
/// Segments beyond which a receiver that waits for more waits for its timer alone.
const MOST_SEGMENTS: u64 = 1 << 32;
/// Segments acknowledged at once after a mark.
const QUICK_AFTER_MARK: u64 = 2;
/// Largest payload that a path without a known size carries (`TCP_MSS_DEFAULT`), and the header of such a segment.
const DEFAULT_SEGMENT: u64 = 536;
const HEADER: u64 = 20;
const TIMESTAMPS: u64 = 12;
/// Acknowledgements of data out of order that are sent at once (`TCP_FASTRETRANS_THRESH`), and those that are compressed
/// before one is (`tcp_comp_sack_nr`).
const DUPLICATES: u64 = 3;
const MOST_COMPRESSED: u64 = 44;
/// How long they wait at most (`tcp_comp_sack_delay_ns`), and what the timer takes longer (`tcp_comp_sack_slack_ns`).
const COMPRESSION: Time = Time(1_000_000);
const SLACK: Time = Time(100_000);

/// What a segment says of congestion.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marked {
    /// It is the first one that is marked since the sender has reduced its window, or not ECN-capable after others that
    /// were.
    pub(super) is_news: bool,
    /// It is to be acknowledged at once.
    pub(super) is_urgent: bool,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Linux {
    clock: Ticks,
    /// The last tick that was asked for, and the time of the next.
    tick: (u64, Time),
    /// Shortest and longest delay, that of all, and that of one that no segment with PSH asks for, in ticks.
    least: u64,
    most: u64,
    longest: u64,
    longest_without_psh: u64,
    /// Full segments that are not acknowledged at once, at most.
    waits_for: u64,
    /// Most segments that are acknowledged at once, and whether they begin again.
    most_quick: u64,
    again: bool,
    has_sack: bool,
    reports_duplicates: bool,
    mss: u64,
    header: u64,
    /// Smoothed round-trip time in ticks and in eighths of a microsecond, and the timeout in ticks.
    srtt: Option<(u64, u64)>,
    rto: u64,
    /// Arrival of the last request for a connection, until data follows, and the delay of that request.
    opened: Time,
    request_delay: Time,
    /// Delay (`ato`), and when the last data in order arrived, in ticks.
    ato: u64,
    last: u64,
    /// Segments left of those that are acknowledged at once.
    quick: u64,
    /// Something is to be acknowledged, at once, or as soon as the application has read it.
    is_scheduled: bool,
    is_now: bool,
    is_pushed: bool,
    /// The application has made room that is to be told.
    is_room: bool,
    /// Tick up to which an acknowledgement is delayed, and when the timer expires, which no acknowledgement stops.
    timer: Option<u64>,
    timer_due: Time,
    /// The size of segments, and that of the last one if it was smaller.
    rcv_mss: u64,
    last_size: u64,
    /// Acknowledgements of data out of order since `duplicates_of`, those that wait, and for how long.
    duplicates: u64,
    duplicates_of: u64,
    compressed: u64,
    compressed_until: Time,
    /// What has been acknowledged, and the window that was told with it.
    acknowledged: u64,
    window: u64,
    growth: Option<Growth>,
    /// Data out of order, data that the application has not read, and the memory of both, in bytes.
    held: Held,
    unread: Unread,
    memory: u64,
    /// First byte that the application has not read.
    read: u64,
    /// The application reads only when it is said to, and data beyond the window is dropped.
    is_alone: bool,
    /// Data is held out of order.
    is_beyond: bool,
    blocks: Blocks,
    /// Data that arrived twice, which the next acknowledgement reports.
    duplicate: Option<(u64, u64)>,
}

impl Linux {
    /// That of a receiver without data; `None` if it acknowledges otherwise.
    pub(super) fn new(params: &TcpParams, clock: HostClock) -> Option<Box<Linux>> {
        let DelayedAck::On(delayed) = &params.delayed_ack else { return None };
        let &DelayedAckParams { form: DelayForm::Linux, segments, timer, quick, .. } = delayed else {
            return None;
        };
        let tick = match &params.timer {
            TimerSpec::Linux(linux) if linux.tick.0 > 0 => linux.tick,
            _ => TICK,
        };
        let ticks = |time: Time| time.0.div_ceil(tick.0);
        let mss = params.mss.0;
        let growth = delayed.quick_growing.then(|| Growth::new(clock, mss));
        let buffer = params.receive_buffer.bytes(mss as u32).min(2e18) as u64;
        Some(Box::new(Linux {
            clock: clock.ticking(tick),
            tick: (0, Time::ZERO),
            least: ticks(timer),
            // Less than the least timeout by a tick.
            most: ticks(LONGEST).saturating_sub(1).max(1),
            longest: ticks(LONGEST),
            longest_without_psh: ticks(LONGEST_WITHOUT_PSH),
            waits_for: (segments - 1).min(MOST_SEGMENTS),
            most_quick: quick,
            again: delayed.quick_again,
            has_sack: params.recovery.properties().uses_sack,
            reports_duplicates: params.recovery.reports_duplicates(),
            mss,
            header: HEADER + if params.timestamps { TIMESTAMPS } else { 0 },
            srtt: None,
            rto: ticks(TIMEOUT),
            opened: Time::NEVER,
            request_delay: Time::ZERO,
            ato: 0,
            last: 0,
            quick: 0,
            is_scheduled: false,
            is_now: false,
            is_pushed: false,
            is_room: false,
            timer: None,
            timer_due: Time::NEVER,
            rcv_mss: mss.min(DEFAULT_SEGMENT),
            last_size: 0,
            duplicates: 0,
            duplicates_of: 0,
            compressed: 0,
            compressed_until: Time::NEVER,
            acknowledged: 0,
            window: if delayed.quick_growing { crate::config::first_window(mss) } else { buffer },
            growth,
            held: Held::default(),
            unread: Unread::default(),
            memory: 0,
            read: 0,
            is_alone: false,
            is_beyond: false,
            blocks: Blocks::default(),
            duplicate: None,
        }))
    }

    /// A connection is requested.
    pub(super) fn on_open(&mut self, now: Time, sent: Time) {
        (self.opened, self.request_delay) = (now, now.since(sent));
    }

    /// The handshake has ended. It gives the receiver its only round-trip time: the variation begins with twice of it.
    pub(super) fn on_established(&mut self, now: Time) {
        if self.opened == Time::NEVER {
            return;
        }
        let rtt = now.since(std::mem::replace(&mut self.opened, Time::NEVER));
        let ticks = |time: Time| time.0.div_ceil(self.clock.period().0);
        self.srtt = Some((ticks(rtt), rtt.0 / 1000 * 8));
        self.rto = ticks(rtt + Time(2 * rtt.0).max(MARGIN));
        self.last = self.clock.count(now);
        if let Some(growth) = &mut self.growth {
            growth.on_established(now, rtt);
        }
    }

    /// The first data, sent at this time, ends a handshake that has not ended.
    fn on_first_data(&mut self, now: Time, sent: Time) {
        let (opened, ended) = (self.opened, (sent + self.request_delay).min(now));
        self.on_established(ended);
        if let Some(growth) = &mut self.growth {
            growth.on_established(ended, sent.since(opened));
        }
    }

    /// True if something waits for its acknowledgement.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_scheduled || self.is_room
    }

    /// When the next timer of an acknowledgement expires; [`Time::NEVER`] if none is pending.
    pub(super) fn next_deadline(&self, now: Time) -> Time {
        if self.is_room {
            return now;
        }
        let is_delayed = self.timer.is_some() || self.compressed > 0;
        self.compressed_until.min(if is_delayed { self.timer_due } else { Time::NEVER })
    }

    /// True if a delayed acknowledgement precedes that of a segment with another mark.
    pub(super) fn precedes_mark(&self) -> bool {
        self.timer.is_some()
    }

    /// True if acknowledgements echo the timestamp of a segment from now on: it continues what was acknowledged
    /// (RFC 7323 §4.3).
    pub(super) fn is_echoed(&self, segment: &DataSegment) -> bool {
        segment.seq <= self.acknowledged && segment.seq + u64::from(segment.len) >= self.acknowledged
    }

    /// A segment arrives: the blocks of the acknowledgement that leaves at once, if one does.
    pub(super) fn on_segment(
        &mut self,
        (now, sent): (Time, Time),
        segment: &DataSegment,
        marked: Marked,
        next: &mut u64,
        beyond: &mut RangeSet,
    ) -> Option<SackBlocks> {
        if self.opened < Time::NEVER {
            self.on_first_data(now, sent);
        }
        let (seq, bytes) = (segment.seq, u64::from(segment.len));
        let end = seq.saturating_add(bytes);
        if bytes == 0 || end < self.acknowledged {
            if bytes > 0 {
                self.begin_again();
                self.duplicate = Some((seq, end.min(*next)));
            }
            return Some(self.send(*next));
        }
        let edge = self.acknowledged + self.window;
        let is_dropped = self.is_alone && self.growth.is_some() && seq >= edge.max(*next);
        if is_dropped && seq > edge.max(*next) {
            return Some(self.send(*next));
        }
        if bytes >= self.rcv_mss
            && let Some(growth) = &mut self.growth
        {
            growth.sample(now, sent);
        }
        self.is_now |= marked.is_urgent;
        self.duplicate = (end <= *next).then_some((seq, end));
        if end <= *next || is_dropped {
            self.begin_again();
            self.is_scheduled = true;
            return self.check(now, *next);
        }
        if seq > *next {
            return self.on_out_of_order(now, (seq, end), marked, *next, beyond);
        }
        if seq < *next {
            self.duplicate = Some((seq, *next));
        }
        *next = end;
        self.on_in_order(now, seq.max(self.read), bytes, marked, (next, beyond));
        let sent = self.check(now, *next);
        if self.is_alone {
            return sent;
        }
        match sent {
            None => self.on_read(now, *next, u64::MAX),
            Some(_) => {
                self.is_room = self.tells_after_reading(now, *next, u64::MAX);
                sent
            }
        }
    }

    /// Data in order from `start`, and what it joins.
    fn on_in_order(
        &mut self,
        now: Time,
        start: u64,
        bytes: u64,
        marked: Marked,
        (next, beyond): (&mut u64, &mut RangeSet),
    ) {
        let part = Part::new(start, *next);
        self.memory += part.memory;
        self.memory -= self.unread.push(part);
        self.on_data(now, *next, bytes, marked);
        if beyond.is_empty() {
            return;
        }
        let end = *next;
        if let Some((start, filled)) = beyond.first()
            && start <= end
        {
            *next = end.max(filled);
        }
        beyond.remove_below(*next);
        let mut tail = end;
        for part in self.held.release(*next) {
            self.memory -= if part.end > tail { self.unread.push(part) } else { part.memory };
            tail = tail.max(part.end);
        }
        self.is_beyond = !beyond.is_empty();
        self.is_now |= !self.is_beyond;
        self.blocks.remove_below(*next, !self.is_beyond);
    }

    /// The delay and the window after data in order (`tcp_event_data_recv`).
    fn on_data(&mut self, now: Time, end: u64, bytes: u64, marked: Marked) {
        self.is_scheduled = true;
        self.measure(bytes);
        let tick = self.tick(now);
        let gap = tick.saturating_sub(self.last);
        if self.ato == 0 {
            self.add_quick(self.most_quick);
            self.ato = self.least;
        } else if gap <= self.least / 2 {
            self.ato = self.ato / 2 + self.least / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.rto).min(self.longest);
        } else if gap > self.rto && self.again {
            self.add_quick(self.most_quick);
        }
        self.last = tick;
        if marked.is_news {
            self.begin_quick(QUICK_AFTER_MARK);
        }
        let edge = self.acknowledged + self.window;
        let Some(growth) = &mut self.growth else { return };
        growth.on_data(now, end, edge);
        if growth.grow_in_order(bytes, self.rcv_mss, self.memory) {
            // As in the kernel, which sets a bit.
            self.quick |= 1;
        }
    }

    /// Data out of order (`tcp_data_queue_ofo`).
    fn on_out_of_order(
        &mut self,
        now: Time,
        (seq, end): (u64, u64),
        marked: Marked,
        next: u64,
        beyond: &mut RangeSet,
    ) -> Option<SackBlocks> {
        if marked.is_news {
            self.begin_quick(QUICK_AFTER_MARK);
        }
        self.measure(end - seq);
        self.is_scheduled = true;
        let mut is_new = false;
        beyond.insert(seq, end, |_, _| is_new = true);
        self.is_beyond = true;
        let inserted = is_new.then(|| self.held.insert(seq, end));
        if inserted.is_none() {
            self.duplicate = Some((seq, end));
        }
        if let Some(inserted) = inserted.filter(|inserted| inserted.is_shared) {
            self.memory += inserted.taken;
            self.grow(end - seq);
        }
        let mut sent = None;
        if self.has_sack {
            if self.compressed > 0 && self.blocks.ends_compression(seq, end) {
                // What has ended the compression is acknowledged with what follows.
                sent = Some(self.send(next));
            }
            self.blocks.insert(seq, end);
        }
        if let Some(inserted) = inserted.filter(|inserted| !inserted.is_shared) {
            self.grow(end - seq);
            self.memory = self.memory + inserted.taken - inserted.released;
        }
        sent.or_else(|| self.check(now, next))
    }

    /// The window grows with data out of order, unless duplicate acknowledgements have to repeat it.
    fn grow(&mut self, bytes: u64) {
        if self.has_sack
            && let Some(growth) = &mut self.growth
            && growth.grow(bytes, self.rcv_mss, self.memory)
        {
            self.quick |= 1;
        }
    }

    /// The peer knows the window, and the application reads only when it is said to.
    pub(super) fn stand_alone(&mut self) {
        self.is_alone = true;
    }

    /// The application reads up to so many bytes. Returns the blocks of the acknowledgement that it sends, if it does.
    pub(super) fn on_read(&mut self, now: Time, next: u64, most: u64) -> Option<SackBlocks> {
        self.tells_after_reading(now, next, most).then(|| self.send(next))
    }

    /// True if the application, which reads up to so many bytes, acknowledges them (`tcp_cleanup_rbuf`).
    fn tells_after_reading(&mut self, now: Time, next: u64, most: u64) -> bool {
        let begin = self.read;
        while let Some((end, memory)) = self.unread.pop(self.read, most - (self.read - begin)) {
            let bytes = end - self.read;
            self.read = end;
            if let Some(growth) = &mut self.growth {
                growth.on_read(now, bytes, next - end);
            }
            self.memory -= memory;
        }
        let is_much = next - self.acknowledged > self.waits_for * self.rcv_mss;
        let has_read = self.read > begin;
        if self.is_scheduled && (is_much || self.is_pushed && has_read && self.memory == 0) {
            return true;
        }
        let left = (self.acknowledged + self.window).saturating_sub(next);
        has_read && self.growth.as_ref().is_some_and(|growth| growth.tells(left, self.rcv_mss, self.memory))
    }

    /// The size of segments (`tcp_measure_rcv_mss`).
    fn measure(&mut self, bytes: u64) {
        let last = std::mem::take(&mut self.last_size);
        if bytes >= self.rcv_mss {
            self.is_pushed |= bytes < self.mss;
            if bytes != self.rcv_mss
                && let Some(growth) = &mut self.growth
            {
                growth.on_size(bytes);
            }
            self.rcv_mss = bytes.min(self.mss);
            return;
        }
        if bytes + self.header >= DEFAULT_SEGMENT + HEADER {
            self.last_size = bytes;
            if bytes == last {
                self.rcv_mss = bytes;
                return;
            }
        }
        self.is_pushed = true;
    }

    /// Segments are acknowledged at once: a number that follows from the window, at most `most`.
    fn add_quick(&mut self, most: u64) {
        let of_window = self.window / (2 * self.rcv_mss);
        let count = if of_window == 0 { 2 } else { of_window };
        self.quick = self.quick.max(count.min(most));
    }

    fn begin_quick(&mut self, most: u64) {
        self.add_quick(most.min(self.most_quick));
        self.ato = self.least;
    }

    /// They begin again after what has arrived before.
    fn begin_again(&mut self) {
        if self.again {
            self.begin_quick(self.most_quick);
        }
    }

    /// Ticks up to now. The time of the next is known, so that most segments need no division.
    #[inline]
    fn tick(&mut self, now: Time) -> u64 {
        if now >= self.tick.1 {
            self.tick = self.clock.count_and_next(now);
        }
        self.tick.0
    }

    /// Acknowledges what is scheduled, or delays that (`__tcp_ack_snd_check`).
    fn check(&mut self, now: Time, next: u64) -> Option<SackBlocks> {
        let is_much = next - self.acknowledged > self.waits_for * self.rcv_mss;
        let advances = is_much && (self.read == next || self.window_advances());
        if advances || self.quick > 0 || self.is_now {
            return Some(self.send(next));
        }
        if !self.is_beyond {
            return self.delay(now, next);
        }
        if !self.has_sack || self.compressed >= MOST_COMPRESSED {
            return Some(self.send(next));
        }
        if self.duplicates_of != next {
            (self.duplicates_of, self.duplicates) = (next, 0);
        }
        if self.duplicates < DUPLICATES {
            self.duplicates += 1;
            return Some(self.send(next));
        }
        self.compress(now);
        None
    }

    /// True if the window that would be told is not smaller than the last one.
    fn window_advances(&mut self) -> bool {
        let Some(growth) = &self.growth else { return true };
        let (window, is_short) = growth.select(self.rcv_mss, self.memory);
        if is_short {
            self.quick = 0;
        }
        window >= self.window
    }

    /// An acknowledgement of data out of order waits for a twentieth of the round-trip time.
    fn compress(&mut self, now: Time) {
        self.compressed += 1;
        if self.timer_due <= now {
            self.timer_due = Time::NEVER;
        }
        if self.compressed_until < Time::NEVER {
            return;
        }
        let measured = self.growth.as_ref().map_or(0, Growth::rtt_eighths);
        let rtt = self.srtt.map_or(measured, |(_, eighths)| eighths.min(measured));
        let wait = Time(rtt * 125 / 20).min(COMPRESSION);
        self.compressed_until = now + wait + SLACK;
    }

    /// Delays an acknowledgement, or sends it if one that is delayed is due soon (`tcp_send_delayed_ack`).
    fn delay(&mut self, now: Time, next: u64) -> Option<SackBlocks> {
        let mut wait = self.ato;
        if wait > self.least {
            let most = if self.is_pushed { self.longest } else { self.longest_without_psh };
            let most = self.srtt.map_or(most, |(ticks, _)| most.min(ticks.max(self.least)));
            wait = wait.min(most);
        }
        wait = wait.min(self.most);
        let tick = self.tick(now);
        let until = tick + wait;
        match self.timer {
            Some(earlier) if earlier <= tick + wait / 4 => return Some(self.send(next)),
            Some(earlier) if earlier <= until => {}
            _ => {
                self.timer = Some(until);
                self.timer_due = self.clock.wheel(now, Time(wait * self.clock.period().0), false);
            }
        }
        self.is_scheduled = true;
        None
    }

    /// An acknowledgement is due.
    pub(super) fn on_deadline(&mut self, now: Time, next: u64) -> SackBlocks {
        let is_delayed = self.compressed == 0 && !self.is_room && self.timer.is_some();
        if is_delayed && self.timer_due <= now {
            self.ato = (2 * self.ato).min(self.rto).min(self.longest);
        }
        self.send(next)
    }

    /// An acknowledgement of everything below `next` leaves: its blocks.
    fn send(&mut self, next: u64) -> SackBlocks {
        let left = (self.acknowledged + self.window).saturating_sub(next);
        if let Some(growth) = &self.growth {
            let (window, is_short) = growth.told(left, self.rcv_mss, self.memory);
            self.window = window;
            if is_short {
                self.quick = 0;
            }
        }
        self.acknowledged = next;
        if self.quick > 0 {
            self.quick -= u64::from(self.is_scheduled);
            if self.quick == 0 {
                self.ato = self.least;
            }
        }
        (self.is_scheduled, self.is_now, self.is_pushed, self.is_room) = (false, false, false, false);
        self.timer = None;
        (self.compressed, self.compressed_until) = (0, Time::NEVER);
        self.report(next)
    }

    /// The blocks of an acknowledgement.
    pub(super) fn report(&mut self, next: u64) -> SackBlocks {
        let mut sack = SackBlocks::default();
        if let Some((start, end)) = self.duplicate.take().filter(|_| self.reports_duplicates) {
            sack.push_duplicate(next, start, u32::try_from(end - start).unwrap_or(u32::MAX));
        }
        for &(start, end) in self.blocks.known() {
            let of = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
            sack.push(of(start - next), of(end - start));
        }
        sack
    }
}

#[cfg(test)]
mod tests;
