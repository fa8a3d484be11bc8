//! A first-in, first-out link, which decides at arrival.
//!
//! The departure time of a packet is known when it enters, so the link needs no event except the arrival of its
//! oldest packet in flight. Simultaneous departures precede arrivals: a packet that enters when the transmission of
//! another ends does not find that packet in the queue.
//!
//! Rate and delay may change at given times. Since the times are known in advance, every departure time is known too,
//! even if a transmission spans a change. Packets stay in order when the delay decreases.
//!
//! Packets may be offered ahead of the clock. Counters depend only on the times of the packets and on the measurement
//! window, which includes both of its ends: a packet that enters at or before the end counts, no matter when it was
//! computed. If the run may end early, a packet that leaves after the earliest possible end is counted only after it has
//! left ([`FifoLink::settle`]), because the end is not known in advance.

use crate::impairment::{Impairments, Passed};
use crate::link_spec::LinkSpec;
use crate::link_stats::{BacklogChange, DropReason, LinkStats};
use crate::packet::Packet;
use crate::queues::droptail::DropTail;
use crate::queues::{Admission, Arrival, QueueSpec, Reason, Service, Setup, Verdict};
use crate::transmitter::Transmitter;
use crate::waits::{Records, Waits};
use dumbbell_units::{Ecn, Interval, Stream, Time, prefetch};
use std::collections::VecDeque;

/// The outcome for a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It arrives at the far end at this time.
    Arrives(Time),
    /// It arrives twice, at [`FifoLink::both_arrivals`].
    ArrivesTwice,
    /// It was dropped.
    Dropped(DropReason),
}

/// How a packet passed a link.
#[derive(Clone, Copy, Debug)]
struct Passage {
    /// Time of entry.
    at: Time,
    /// Beginning and end of its transmission; both are the time of entry if the queue dropped it.
    begins: Time,
    ends: Time,
    /// Packets waiting behind the one in service after its entry.
    waiting: usize,
    /// It was marked.
    is_marked: bool,
    fate: Fate,
}

/// The fate of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Sent,
    /// An impairment copied it.
    SentTwice,
    /// The queue dropped it.
    Dropped(Reason),
    /// An impairment lost it after its transmission.
    Lost,
}

/// Departure time and size of a packet.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Time,
    size: u32,
}

/// No packet is in service.
const NO_DEPARTURE: Departure = Departure { at: Time::NEVER, size: 0 };

/// One first-in, first-out link of a running simulation.
///
/// Every packet crosses several links, so a link is kept to four cache lines; rarely used state is boxed.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct FifoLink {
    queue: DropTail,
    /// Departure time of the packet admitted last.
    busy_until: Time,
    transmitter: Transmitter,
    /// The packet in service, or [`NO_DEPARTURE`].
    in_service: Departure,
    /// Packets waiting behind it, and their bytes.
    waiting: VecDeque<Departure>,
    waiting_bytes: u64,
    /// The measurement window up to where it is known to be part of the run. A packet that enters and leaves within it
    /// is counted at once.
    known_window: Interval,
    stats: LinkStats,
    counting: Box<Counting>,
    /// If `None`, packets take the fast path.
    extras: Option<Box<Extras>>,
}

/// What is needed to count packets that do not pass the link within the known window.
#[derive(Clone, Debug)]
struct Counting {
    /// The measurement window.
    window: Interval,
    /// Packets waiting when it begins.
    backlog_at_start: u32,
    /// The run does not end before.
    earliest_end: Time,
    /// Passages that end later, in order. They are not counted yet.
    unsettled: VecDeque<Passage>,
}

/// State of links that have more than a drop-tail queue and a transmitter of constant rate and delay.
#[derive(Clone, Debug, Default)]
struct Extras {
    /// A discipline other than drop-tail, and its random stream.
    discipline: Option<(Admission, Stream)>,
    /// Packets are stamped with their queueing time.
    stamps: bool,
    impairments: Option<Impairments>,
    /// Arrivals of the last packet that arrives twice.
    both_arrivals: [Time; 2],
    records: Records,
}

const _: () = assert!(size_of::<FifoLink>() <= 4 * 64);

impl FifoLink {
    /// An idle link. Counters cover only `window`.
    pub fn new(spec: &LinkSpec, random: Stream, window: Interval) -> Self {
        let (queue, discipline) = match &spec.queue {
            QueueSpec::DropTail(queue) => (queue.clone(), None),
            other => {
                let admission = other.start_admission(&Setup { rate: spec.rate });
                (DropTail::default(), admission.map(|admission| (admission, random.clone().fork())))
            }
        };
        let transmitter = Transmitter::new(spec);
        let impairments = Impairments::new(&spec.impairments, &spec.outages, random);
        let waits = spec.wait_percentiles.then(|| Waits::new(false));
        let is_plain =
            discipline.is_none() && impairments.is_none() && waits.is_none() && transmitter.is_steady();
        let extras = Extras { discipline, impairments, records: Records::of(waits), ..Extras::default() };
        FifoLink {
            queue,
            busy_until: Time::ZERO,
            transmitter,
            in_service: NO_DEPARTURE,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            known_window: window,
            stats: LinkStats::default(),
            counting: Box::new(Counting {
                window,
                backlog_at_start: 0,
                earliest_end: Time::NEVER,
                unsettled: VecDeque::new(),
            }),
            extras: (!is_plain).then(|| Box::new(extras)),
        }
    }

    /// Prefetches what the fast path needs.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.queue);
        prefetch(&self.transmitter);
        prefetch(&self.stats);
        prefetch(&self.known_window);
        prefetch(&self.extras);
    }

    /// What it records, if it records anything.
    pub fn records(&self) -> Option<&Records> {
        self.extras.as_ref().map(|extras| &extras.records)
    }

    /// What it records. No packet takes the fast path from now on.
    pub fn records_mut(&mut self) -> &mut Records {
        &mut self.extras.get_or_insert_default().records
    }

    /// The run may end before the window does, but not before `earliest`. The counting of what leaves later is deferred
    /// to [`settle`](Self::settle).
    pub fn expect_early_end(&mut self, earliest: Time) {
        self.counting.earliest_end = earliest;
        self.known_window.until = self.counting.window.until.min(earliest);
    }

    /// Lets no packet take the fast path.
    pub fn observe(&mut self) {
        self.extras.get_or_insert_default();
    }

    /// Adds the queueing time at this link to every packet.
    pub fn stamp_queueing(&mut self) {
        self.extras.get_or_insert_default().stamps = true;
    }

    /// Departure time of the packet admitted last, which is the end of its transmission.
    #[inline]
    pub fn last_departure(&self) -> Time {
        self.busy_until
    }

    /// Ordinal of the last data packet that reached the impairments, counted from 1 as for forced losses.
    pub fn data_seen(&self) -> u64 {
        let impairments = self.extras.as_ref().and_then(|extras| extras.impairments.as_ref());
        impairments.map_or(0, Impairments::data_seen)
    }

    /// When the packet offered last and its copy arrive, if it arrives twice.
    pub fn both_arrivals(&self) -> [Time; 2] {
        self.extras.as_ref().map_or([Time::NEVER; 2], |extras| extras.both_arrivals)
    }

    /// The counters.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Changes of the backlog up to `now`, if a probe requests them.
    pub fn take_changes(&mut self, now: Time) -> Vec<BacklogChange> {
        let Some(mut extras) = self.extras.take() else { return Vec::new() };
        self.depart(now, |at, waiting| extras.records.note_backlog(at, waiting));
        let changes = extras.records.take_changes();
        self.extras = Some(extras);
        changes
    }

    /// A packet enters at `at`, no earlier than the previous one.
    #[inline]
    pub fn offer<P>(&mut self, at: Time, packet: &mut Packet<P>) -> Offer {
        if let Some(arrival) = self.offer_plain(at, packet.size) {
            return Offer::Arrives(arrival);
        }
        self.offer_slow(at, packet)
    }

    /// The fast path: a drop-tail queue with room and a transmitter of constant rate and delay, nothing else. Returns the
    /// arrival at the far end, or `None` if [`offer`](Self::offer) has more to do.
    #[inline(always)]
    pub fn offer_plain(&mut self, at: Time, size: u32) -> Option<Time> {
        if self.extras.is_some() {
            return None;
        }
        if self.busy_until <= at {
            if self.busy_until < at {
                self.transmitter.reset();
            }
            if !self.waiting.is_empty() {
                self.waiting.clear();
                self.waiting_bytes = 0;
            }
            let ends = at + self.transmitter.serialization(size);
            self.admit(at, ends, size);
            self.count_sent(at, at, ends, 0);
            return Some(ends + self.transmitter.delay());
        }
        self.depart(at, |_, _| {});
        if !self.has_room(size) {
            return None;
        }
        let begins = self.busy_until;
        let ends = begins + self.transmitter.serialization(size);
        self.admit(at, ends, size);
        self.count_sent(at, begins, ends, self.waiting.len());
        Some(ends + self.transmitter.delay())
    }

    /// The general path: other queue disciplines, queueing-time stamps, changes, impairments, probes, and runs that may
    /// end early; or a full queue.
    #[inline(never)]
    fn offer_slow<P>(&mut self, at: Time, packet: &mut Packet<P>) -> Offer {
        let Some(mut extras) = self.extras.take() else {
            let fate = Fate::Dropped(Reason::NoRoom);
            let passage = Passage { at, begins: at, ends: at, waiting: 0, is_marked: false, fate };
            self.count_or_defer(&passage);
            return Offer::Dropped(DropReason::Queue(Reason::NoRoom));
        };
        self.depart(at, |at, waiting| extras.records.note_backlog(at, waiting));
        let (offer, passage) = self.pass(&mut extras, at, packet);
        if let Some(samples) = &mut extras.records.samples {
            samples.note(at, passage.begins, passage.is_marked, passage.is_admitted());
        }
        if self.count_or_defer(&passage) {
            extras.count_wait(&passage, self.counting.window);
        }
        self.extras = Some(extras);
        offer
    }

    /// Transmits or drops a packet.
    fn pass<P>(&mut self, extras: &mut Extras, at: Time, packet: &mut Packet<P>) -> (Offer, Passage) {
        let verdict = self.judge(&mut extras.discipline, at, packet);
        if let Verdict::Drop(reason) = verdict {
            let (waiting, fate) = (self.waiting.len(), Fate::Dropped(reason));
            let passage = Passage { at, begins: at, ends: at, waiting, is_marked: false, fate };
            return (Offer::Dropped(DropReason::Queue(reason)), passage);
        }
        let is_marked = verdict == Verdict::Mark;
        if is_marked {
            packet.ecn = Ecn::Ce;
        }
        if self.busy_until < at {
            self.transmitter.reset();
        }
        let begins = self.busy_until.max(at);
        let (ends, service) = self.transmitter.serve(begins, packet.size);
        if extras.stamps {
            packet.queueing += ends.since(at).since(service);
        }
        self.admit(at, ends, packet.size);
        extras.records.note_backlog(at, self.waiting.len());
        let passed = match &mut extras.impairments {
            None => Passed::UNHARMED,
            Some(impairments) => impairments.pass(ends, packet.size, packet.kind.is_data()),
        };
        let (offer, fate) = match passed {
            Passed { first: None, .. } => (Offer::Dropped(DropReason::Impairment), Fate::Lost),
            Passed { first: Some(delay), second: None } => {
                (Offer::Arrives(self.transmitter.arrival(ends) + delay), Fate::Sent)
            }
            Passed { first: Some(delay), second: Some(other) } => {
                let arrival = self.transmitter.arrival(ends);
                extras.both_arrivals = [arrival + delay, arrival + other];
                (Offer::ArrivesTwice, Fate::SentTwice)
            }
        };
        (offer, Passage { at, begins, ends, waiting: self.waiting.len(), is_marked, fate })
    }

    /// True if a drop-tail queue has room for a packet behind the one in service.
    #[inline]
    fn has_room(&self, size: u32) -> bool {
        self.queue.admits(size, (self.waiting.len(), self.waiting_bytes), Some(self.in_service.size))
    }

    /// The decision of the queue discipline about a packet.
    fn judge<P>(
        &self,
        discipline: &mut Option<(Admission, Stream)>,
        at: Time,
        packet: &Packet<P>,
    ) -> Verdict {
        let is_idle = self.busy_until <= at;
        let Some((admission, random)) = discipline else {
            let is_admitted = is_idle || self.has_room(packet.size);
            return if is_admitted { Verdict::Enqueue } else { Verdict::Drop(Reason::NoRoom) };
        };
        let service =
            if is_idle { Service::IdleSince(self.busy_until) } else { Service::Busy(self.in_service.size) };
        let waiting = (self.waiting.len(), self.waiting_bytes);
        let arrival = Arrival { at, size: packet.size, flow: packet.flow, ecn: packet.ecn, waiting, service };
        admission.admit(&arrival, random)
    }

    /// Admits a packet that enters at `at` and leaves at `ends`.
    #[inline]
    fn admit(&mut self, at: Time, ends: Time, size: u32) {
        let packet = Departure { at: ends, size };
        if self.busy_until <= at {
            self.in_service = packet;
        } else {
            self.waiting.push_back(packet);
            self.waiting_bytes += u64::from(size);
        }
        self.busy_until = ends;
    }

    /// Counts a passage, unless the run may end before the passage does. True if it was counted.
    #[inline(never)]
    fn count_or_defer(&mut self, passage: &Passage) -> bool {
        let is_final = passage.ends <= self.counting.earliest_end;
        if is_final {
            self.count(passage);
        } else {
            self.counting.unsettled.push_back(*passage);
        }
        is_final
    }

    fn count(&mut self, passage: &Passage) {
        let &Passage { at, begins, ends, waiting, is_marked, fate } = passage;
        let is_within = self.counting.window.contains(at);
        self.stats.marks += u64::from(is_marked && is_within);
        match fate {
            Fate::Sent | Fate::SentTwice => {
                if fate == Fate::SentTwice {
                    self.stats.count_duplicate(is_within);
                }
                if is_within && ends <= self.counting.window.until {
                    self.count_whole(at, begins, ends, waiting);
                } else {
                    self.count_entered(at, None);
                    self.count_time_within_window(at, begins, ends, waiting);
                }
            }
            Fate::Dropped(reason) => self.count_entered(at, Some(DropReason::Queue(reason))),
            Fate::Lost => {
                self.count_entered(at, Some(DropReason::Impairment));
                self.count_time_within_window(at, begins, ends, waiting);
            }
        }
    }

    /// Counts an entering packet, and its drop if there is one.
    fn count_entered(&mut self, at: Time, dropped: Option<DropReason>) {
        if self.counting.window.contains(at) {
            self.stats.packets += 1;
            if let Some(reason) = dropped {
                self.stats.count_drop(reason);
            }
        }
    }

    /// Counts a packet of the fast path, at once if it enters and leaves within the known window.
    #[inline]
    fn count_sent(&mut self, at: Time, begins: Time, ends: Time, waiting: usize) {
        if at >= self.known_window.from && ends <= self.known_window.until {
            self.count_whole(at, begins, ends, waiting);
        } else {
            self.count_or_defer(&Passage { at, begins, ends, waiting, is_marked: false, fate: Fate::Sent });
        }
    }

    /// Counts a packet that enters and leaves within the window, its queueing and transmission time, and the backlog it
    /// found.
    #[inline]
    fn count_whole(&mut self, at: Time, begins: Time, ends: Time, waiting: usize) {
        self.stats.packets += 1;
        self.stats.busy += ends.0 - begins.0;
        if begins > at {
            self.stats.waited += u128::from(begins.0 - at.0);
            self.stats.backlog_max = self.stats.backlog_max.max(waiting as u32);
        }
    }

    /// Counts the part of a packet's queueing and transmission time that lies within the window.
    fn count_time_within_window(&mut self, at: Time, begins: Time, ends: Time, waiting: usize) {
        let window = self.counting.window;
        self.stats.busy += window.overlap(begins, ends).0;
        self.stats.waited += u128::from(window.overlap(at, begins).0);
        let mut backlog = 0;
        if window.contains(at) {
            backlog = waiting as u32;
        } else if at < window.from && begins > window.from && window.from <= window.until {
            self.counting.backlog_at_start += 1;
            backlog = self.counting.backlog_at_start;
        }
        self.stats.backlog_max = self.stats.backlog_max.max(backlog);
    }

    /// Counts packets that have left by `now`, which is no later than the end of the run.
    pub fn settle(&mut self, now: Time) {
        self.expect_early_end(now.max(self.counting.earliest_end));
        while let Some(passage) =
            self.counting.unsettled.front().copied().filter(|passage| passage.ends <= now)
        {
            self.counting.unsettled.pop_front();
            self.count_deferred(&passage);
        }
    }

    /// The run ends at `end`: counts packets that have entered by then, and their times up to the end.
    pub fn end(&mut self, end: Time) {
        self.counting.window.until = self.counting.window.until.min(end);
        self.expect_early_end(Time::NEVER);
        for passage in std::mem::take(&mut self.counting.unsettled) {
            if passage.at <= end {
                self.count_deferred(&passage);
            }
        }
    }

    fn count_deferred(&mut self, passage: &Passage) {
        self.count(passage);
        if let Some(extras) = &mut self.extras {
            extras.count_wait(passage, self.counting.window);
        }
    }

    /// Removes packets that depart by `at`. Calls `note` for each, with its departure time and the number of packets
    /// still waiting.
    #[inline]
    fn depart(&mut self, at: Time, mut note: impl FnMut(Time, usize)) {
        while self.in_service.at <= at {
            let departed = self.in_service.at;
            let Some(next) = self.waiting.pop_front() else {
                self.in_service = NO_DEPARTURE;
                note(departed, 0);
                return;
            };
            self.waiting_bytes -= u64::from(next.size);
            self.in_service = next;
            note(departed, self.waiting.len());
        }
    }
}

impl Passage {
    /// True unless the queue dropped the packet.
    fn is_admitted(&self) -> bool {
        !matches!(self.fate, Fate::Dropped(_))
    }
}

impl Extras {
    /// Counts the queueing time of a packet whose transmission begins within the window.
    fn count_wait(&mut self, passage: &Passage, window: Interval) {
        if let Some(waits) = &mut self.records.waits
            && passage.is_admitted()
            && window.contains(passage.begins)
        {
            waits.add(0, passage.begins.since(passage.at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::LinkChange;
    use crate::packet::PacketKind;
    use dumbbell_units::{Limit, Rate};

    const ALWAYS: Interval = Interval { from: Time::ZERO, until: Time::NEVER };

    fn spec(rate: u64, limit: Limit) -> LinkSpec {
        LinkSpec {
            name: "l".into(),
            rate: Rate(rate),
            delay: Time(1000),
            queue: QueueSpec::DropTail(DropTail { limit, counts_service: false }),
            ..LinkSpec::default()
        }
    }

    fn link(rate: u64, limit: Limit) -> FifoLink {
        let mut link = FifoLink::new(&spec(rate, limit), Stream::new(1, 0, "l"), ALWAYS);
        link.records_mut().trace_backlog();
        link
    }

    fn packet(size: u32) -> Packet<()> {
        Packet { kind: PacketKind::Data, ..Packet::of_size(size, ()) }
    }

    #[test]
    fn a_packet_waits_for_those_ahead_of_it() {
        // 1000 bytes at 8 Mbit/s take 1 ms.
        let mut link = link(8_000_000, Limit::Packets(1));
        assert_eq!(link.offer(Time(0), &mut packet(1000)), Offer::Arrives(Time(1_001_000)));
        assert_eq!(link.offer(Time(0), &mut packet(1000)), Offer::Arrives(Time(2_001_000)));
        assert_eq!(link.offer(Time(0), &mut packet(1000)), Offer::Dropped(DropReason::Queue(Reason::NoRoom)));
        assert_eq!(link.offer(Time(1_000_000), &mut packet(1000)), Offer::Arrives(Time(3_001_000)));
        assert_eq!((link.stats().waited, link.stats().busy), (2_000_000, 3_000_000));
        assert_eq!((link.stats().packets, link.stats().drops_queue, link.stats().backlog_max), (4, 1, 1));
    }

    /// Counters of a link with room for one packet. Packets take 1 ms each and enter at 0, 0, 0, 1 and 4 ms.
    /// The run may end from `earliest` on, and ends at `end`.
    fn counted(window: Interval, early: Option<(Time, Time)>) -> LinkStats {
        let mut link = FifoLink::new(&spec(8_000_000, Limit::Packets(1)), Stream::new(1, 0, "l"), window);
        if let Some((earliest, _)) = early {
            link.expect_early_end(earliest);
        }
        for (number, at) in [0, 0, 0, 1_000_000, 4_000_000].into_iter().enumerate() {
            link.offer(Time(at), &mut packet(1000));
            if number == 3 {
                link.settle(Time(1_200_000));
            }
        }
        early.into_iter().for_each(|(_, end)| link.end(end));
        *link.stats()
    }

    #[test]
    fn counters_of_an_early_end_equal_those_of_a_window_that_ends_there() {
        // Transmitted from 0 to 1 ms, 1 to 2 ms, dropped, 2 to 3 ms, 4 to 5 ms.
        for end in [1_200_000, 1_500_000, 2_000_000, 3_999_999, 4_000_000, 4_500_000, 9_000_000].map(Time) {
            let known = counted(Interval { from: Time::ZERO, until: end }, None);
            for earliest in [0, 500_000, 1_200_000].map(Time) {
                let early = counted(ALWAYS, Some((earliest, end)));
                assert_eq!(format!("{known:?}"), format!("{early:?}"), "{earliest} to {end}");
            }
        }
        let stats = counted(ALWAYS, Some((Time::ZERO, Time(1_500_000))));
        // The second packet waits 1 ms and is sent for 0.5 ms; the fourth enters at 1 ms and waits for 0.5 ms.
        assert_eq!((stats.packets, stats.drops_queue, stats.backlog_max), (4, 1, 1));
        assert_eq!((stats.waited, stats.busy), (1_500_000, 1_500_000));
    }

    #[test]
    fn the_maximum_backlog_includes_packets_waiting_when_the_window_begins() {
        let window = Interval { from: Time(500_000), until: Time(3_000_000) };
        let mut link = FifoLink::new(&spec(8_000_000, Limit::Unlimited), Stream::new(1, 0, "l"), window);
        let _ = [0; 4].map(|at| link.offer(Time(at), &mut packet(1000)));
        // Three wait at 0.5 ms: until 1, 2 and 3 ms.
        assert_eq!(link.stats().backlog_max, 3);
        assert_eq!((link.stats().packets, link.stats().waited), (0, 500_000 + 1_500_000 + 2_500_000));
        // At 1 ms, when the transmission of the second begins, two wait and one more enters.
        let window = Interval { from: Time(1_000_000), until: Time(3_000_000) };
        let mut link = FifoLink::new(&spec(8_000_000, Limit::Unlimited), Stream::new(1, 0, "l"), window);
        let _ = [0; 4].map(|at| link.offer(Time(at), &mut packet(1000)));
        assert_eq!(link.stats().backlog_max, 2);
        link.offer(Time(1_000_000), &mut packet(1000));
        assert_eq!((link.stats().backlog_max, link.stats().packets), (3, 1));
    }

    #[test]
    fn fractions_of_a_nanosecond_add_up_over_a_busy_period() {
        // 1 byte at 3 bit/s takes 8/3 s, so three packets take exactly 8 s.
        let mut link = link(3, Limit::Unlimited);
        let mut last = Offer::Dropped(DropReason::Queue(Reason::NoRoom));
        for _ in 0..3 {
            last = link.offer(Time(0), &mut packet(1));
        }
        assert_eq!(last, Offer::Arrives(Time(8_000_001_000)));
    }

    #[test]
    fn the_backlog_is_traced_at_arrivals_and_departures() {
        let mut link = link(8_000_000, Limit::Unlimited);
        link.offer(Time(0), &mut packet(1000));
        link.offer(Time(0), &mut packet(1000));
        let changes = link.take_changes(Time(5_000_000));
        let seen: Vec<_> = changes.iter().map(|change| (change.at.0, change.waiting)).collect();
        assert_eq!(seen, [(0, 0), (0, 1), (1_000_000, 0), (2_000_000, 0)]);
    }

    fn changing(changes: Vec<LinkChange>) -> FifoLink {
        let spec = LinkSpec { rate: Rate(8_000_000), delay: Time(5_000_000), changes, ..LinkSpec::default() };
        FifoLink::new(&spec, Stream::new(1, 0, "l"), ALWAYS)
    }

    #[test]
    fn a_rate_change_applies_to_a_packet_in_transmission() {
        // 1000 bytes at 8 Mbit/s take 1 ms. At 1.5 ms the rate decreases to 2 Mbit/s: the second packet has 500 bytes
        // left, which take 2 ms, and the third takes 4 ms.
        let change = LinkChange { at: Time(1_500_000), rate: Some(Rate(2_000_000)), delay: None };
        let mut link = changing(vec![change]);
        let mut arrival = || link.offer(Time(0), &mut packet(1000));
        assert_eq!(arrival(), Offer::Arrives(Time(6_000_000)));
        assert_eq!(arrival(), Offer::Arrives(Time(8_500_000)));
        assert_eq!(arrival(), Offer::Arrives(Time(12_500_000)));
    }

    #[test]
    fn packets_stay_in_order_when_the_delay_decreases() {
        let change = LinkChange { at: Time(2_000_000), rate: None, delay: Some(Time(1_000_000)) };
        let mut link = changing(vec![change]);
        // The first ends at 1 ms and takes 5 ms; the second ends at 2 ms and would take 1 ms.
        assert_eq!(link.offer(Time(0), &mut packet(1000)), Offer::Arrives(Time(6_000_000)));
        assert_eq!(link.offer(Time(0), &mut packet(1000)), Offer::Arrives(Time(6_000_000)));
        assert_eq!(link.offer(Time(9_000_000), &mut packet(1000)), Offer::Arrives(Time(11_000_000)));
    }

    #[test]
    fn time_on_the_link_minus_the_stamp_is_the_same_for_every_packet() {
        // 1 byte at 3 bit/s takes 8/3 s: transmissions end at 2666666666, 5333333333 and 8000000000 ns. Time on the
        // link in excess of 2666666666 ns is queueing.
        let mut link = link(3, Limit::Unlimited);
        link.stamp_queueing();
        let stamps: Vec<u64> = (0..3)
            .map(|_| {
                let mut packet = packet(1);
                link.offer(Time(0), &mut packet);
                packet.queueing.0
            })
            .collect();
        assert_eq!(stamps, [0, 2_666_666_667, 5_333_333_334]);
    }

    #[test]
    fn a_change_to_the_same_values_has_no_effect() {
        // 1500 bytes at 7 Mbit/s take 12e9/7 ns, so every packet carries over a fraction of a nanosecond.
        let arrivals = |changes: Vec<LinkChange>| {
            let spec = LinkSpec { rate: Rate(7_000_000), changes, ..LinkSpec::default() };
            let mut link = FifoLink::new(&spec, Stream::new(1, 0, "l"), ALWAYS);
            link.stamp_queueing();
            let one = |_| {
                let mut packet: Packet<()> = packet(1500);
                (link.offer(Time(0), &mut packet), packet.queueing)
            };
            (0..50).map(one).collect::<Vec<_>>()
        };
        let same = |at| LinkChange { at: Time(at), rate: Some(Rate(7_000_000)), delay: Some(Time::ZERO) };
        assert_eq!(arrivals(vec![same(1_234_567), same(9_876_543), same(60_000_000)]), arrivals(Vec::new()));
    }

    #[test]
    fn queueing_time_ends_when_a_transmission_that_spans_a_change_begins() {
        // As above: the first packet takes 1 ms, and the halves of the second take 0.5 ms and 2 ms.
        let change = LinkChange { at: Time(1_500_000), rate: Some(Rate(2_000_000)), delay: None };
        let mut link = changing(vec![change]);
        link.stamp_queueing();
        let stamps = [0, 1, 2].map(|_| {
            let mut packet = packet(1000);
            link.offer(Time(0), &mut packet);
            packet.queueing.0
        });
        assert_eq!(stamps, [0, 1_000_000, 3_500_000]);
    }
}
