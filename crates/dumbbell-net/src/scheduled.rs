//! A link that decides at departure: its queue discipline holds the packets and selects the next one to transmit.
//!
//! A link with delivery opportunities is scheduled with any discipline. One that decides at arrival then sees a
//! first-in, first-out queue whose first packet counts as the one in service, since it waits for its opportunity as it
//! would for the end of its transmission.
//!
//! A link of Wi-Fi is scheduled with any discipline, too. Packets of an aggregate have left the queue; none of them counts
//! as the one in service.
//!
//! The driver passes the time to [`ScheduledLink::enqueue`] and [`ScheduledLink::poll_departure`]. Each transmission
//! ends on time, no matter how late the poll is, and simultaneous departures precede arrivals. Arrivals must therefore
//! be enqueued in order of time, and a poll at `now` means that no more packets arrive before `now`.
//!
//! Counters depend on the times of events, not on the times of polls.

use crate::impairment::{Impairments, Passed};
use crate::link_spec::LinkSpec;
use crate::link_stats::{DropReason, LinkStats};
use crate::opportunities::Opportunities;
use crate::packet::Packet;
use crate::queues::{Admission, Arrival, Backlog, Fifo, Queued, Scheduler, Service, Setup, Slot};
use crate::transmitter::Transmitter;
use crate::waits::{Records, Waits};
use crate::wifi::{Outcome, Phase, Wifi};
use dumbbell_units::{Ecn, Interval, Stream, Time};
use std::collections::VecDeque;

/// The queues of a link.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a link has one of them, in place")]
enum Queues {
    /// Those of a discipline that decides at departure.
    Scheduled(Scheduler),
    /// A first-in, first-out queue with a discipline that decides at arrival.
    Fifo(Admission, Fifo),
}

impl Queues {
    /// A packet arrives. `service` is the state of the transmitter.
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued,
        service: Service,
        backlog: &mut Backlog,
        random: &mut Stream,
    ) {
        match self {
            Queues::Scheduled(scheduler) => scheduler.enqueue(now, packet, backlog, random),
            Queues::Fifo(admission, queue) => admit(admission, queue, packet, service, backlog, random),
        }
    }

    /// The packet to send next.
    #[inline]
    fn dequeue(&mut self, now: Time, backlog: &mut Backlog, random: &mut Stream) -> Option<Slot> {
        match self {
            Queues::Scheduled(scheduler) => scheduler.dequeue(now, backlog, random),
            Queues::Fifo(_, queue) => backlog.pop(queue),
        }
    }

    /// The time at which a packet may be sent, after a call of `dequeue` that returned none although some are left.
    fn ready(&self) -> Time {
        match self {
            Queues::Scheduled(scheduler) => scheduler.ready(),
            Queues::Fifo(..) => Time::NEVER,
        }
    }

    /// Number of the queue of the packet dequeued last, for disciplines that report by queue.
    fn last_queue(&self) -> usize {
        match self {
            Queues::Scheduled(scheduler) => scheduler.last_queue(),
            Queues::Fifo(..) => 0,
        }
    }
}

/// A discipline decides about an arriving packet. Without a packet in service, the first one of the queue counts as such.
fn admit(
    admission: &mut Admission,
    queue: &mut Fifo,
    packet: Queued,
    service: Service,
    backlog: &mut Backlog,
    random: &mut Stream,
) {
    let mut arrival = Arrival {
        at: packet.entered,
        size: packet.size,
        flow: packet.flow,
        ecn: packet.ecn,
        waiting: (queue.packets(), queue.bytes()),
        service,
    };
    if let (Service::IdleSince(_), Some(first)) = (service, backlog.first(queue)) {
        arrival.service = Service::Busy(first.size);
        arrival.waiting = (queue.packets() - 1, queue.bytes() - u64::from(first.size));
    }
    backlog.take(admission.admit(&arrival, random), packet, queue);
}

/// The packet in transmission.
#[derive(Clone, Copy, Debug)]
struct InService {
    slot: Slot,
    begins: Time,
    /// Service time in whole nanoseconds; the rest of its time on the link is waiting.
    service: Time,
}

/// A packet that has been transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Token of the owner.
    pub token: u64,
    /// End of its transmission.
    pub departs: Time,
    /// Arrival time at the far end.
    pub arrives: Time,
    /// Arrival time of its copy, if it arrives twice; [`Time::NEVER`] otherwise.
    pub arrives_again: Time,
    /// Its ECN codepoint, which this link may have changed to a mark.
    pub ecn: Ecn,
    /// Queueing time, if the link stamps packets; zero otherwise.
    pub waited: Time,
}

/// A packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Token of the owner.
    pub token: u64,
    /// Time of the drop.
    pub at: Time,
    /// Its reason.
    pub reason: DropReason,
    /// Ordinal of the last data packet that had reached the impairments, counted from 1 as for forced losses.
    pub data_seen: u64,
}

/// One scheduled link of a running simulation.
#[derive(Clone, Debug)]
pub struct ScheduledLink {
    queues: Queues,
    backlog: Backlog,
    in_service: Option<InService>,
    /// Departure time of the packet in service; [`Time::NEVER`] if there is none.
    departure: Time,
    /// End of the last transmission.
    idle_since: Time,
    transmitter: Transmitter,
    departed: VecDeque<Departed>,
    dropped: VecDeque<Dropped>,
    window: Interval,
    stats: LinkStats,
    /// Time of the last backlog change, and the backlog since then, in packets.
    last_change: (Time, usize),
    /// Random stream of the queue discipline.
    queue_random: Stream,
    extras: Option<Box<Extras>>,
    /// Delivery opportunities, if the link has them in place of a rate.
    opportunities: Option<Box<Opportunities>>,
    /// Aggregates, if the link is one of Wi-Fi.
    wifi: Option<Box<Wifi>>,
}

/// State of links that have more than a queue discipline.
#[derive(Clone, Debug, Default)]
struct Extras {
    /// Packets are stamped with their queueing time.
    stamps: bool,
    impairments: Option<Impairments>,
    records: Records,
}

impl ScheduledLink {
    /// An idle link; `None` if it decides at arrival. Counters cover only `window`.
    pub fn new(spec: &LinkSpec, random: &Stream, window: Interval) -> Option<Self> {
        let mut queue_random = random.clone().fork();
        let setup = Setup { rate: spec.rate };
        let outages = &spec.outages;
        let opportunities =
            spec.opportunities.as_ref().map(|spec| Box::new(Opportunities::new(spec, outages)));
        let queues = match spec.queue.start_scheduler(&setup, &mut queue_random) {
            Some(scheduler) => Queues::Scheduled(scheduler),
            None if opportunities.is_none() && spec.wifi.is_none() => return None,
            None => Queues::Fifo(spec.queue.start_admission(&setup)?, Fifo::default()),
        };
        let wifi = spec.wifi.as_ref().map(|wifi| Box::new(Wifi::new(wifi, queue_random.clone().fork())));
        let impairments = match &wifi {
            // Its losses are numbered as well.
            Some(_) => Some(Impairments::possibly_none(&spec.impairments, outages, random.clone())),
            None => Impairments::new(&spec.impairments, outages, random.clone()),
        };
        let waits = spec.wait_percentiles.then(|| Waits::new(spec.queue.is_dual()));
        let has_extras = impairments.is_some() || waits.is_some();
        let records = Records::of(waits);
        let extras = has_extras.then(|| Extras { impairments, records, ..Extras::default() });
        Some(ScheduledLink {
            queues,
            backlog: Backlog::default(),
            in_service: None,
            departure: Time::NEVER,
            idle_since: Time::ZERO,
            transmitter: Transmitter::new(spec),
            departed: VecDeque::new(),
            dropped: VecDeque::new(),
            window,
            stats: LinkStats::default(),
            last_change: (Time::ZERO, 0),
            queue_random,
            extras: extras.map(Box::new),
            opportunities,
            wifi,
        })
    }

    /// What it records, if it records anything.
    pub fn records(&self) -> Option<&Records> {
        self.extras.as_ref().map(|extras| &extras.records)
    }

    /// What it records.
    pub fn records_mut(&mut self) -> &mut Records {
        &mut self.extras.get_or_insert_default().records
    }

    /// Reports the queueing time of every packet.
    pub fn stamp_queueing(&mut self) {
        self.extras.get_or_insert_default().stamps = true;
    }

    /// The counters.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Number of packets on the link: waiting, in service, or departed or dropped but not yet polled.
    pub fn packets(&self) -> usize {
        let in_service = usize::from(self.in_service.is_some());
        let aggregated = self.wifi.as_ref().map_or(0, |wifi| wifi.packets());
        self.backlog.packets() + in_service + aggregated + self.departed.len() + self.dropped.len()
    }

    /// Tokens of these packets, in unspecified order.
    pub fn tokens(&self) -> impl Iterator<Item = u64> + '_ {
        let waiting = self.backlog.waiting().map(|packet| packet.token);
        let in_service = self.in_service.iter().map(|service| self.backlog.packet(service.slot).token);
        let slots = self.wifi.iter().flat_map(|wifi| wifi.slots());
        let aggregated = slots.map(|slot| self.backlog.packet(slot).token);
        let departed = self.departed.iter().map(|departed| departed.token);
        waiting
            .chain(in_service)
            .chain(aggregated)
            .chain(departed)
            .chain(self.dropped.iter().map(|dropped| dropped.token))
    }

    /// A packet enters at `now`, no earlier than the previous one. `token` identifies it for its owner.
    #[inline]
    pub fn enqueue<P>(&mut self, now: Time, token: u64, packet: &Packet<P>) {
        self.advance(now);
        let packet = Queued::new(token, now, packet);
        self.stats.packets += u64::from(self.window.contains(now));
        let service = self.service();
        self.queues.enqueue(now, packet, service, &mut self.backlog, &mut self.queue_random);
        self.collect(now);
        if self.in_service.is_none() {
            self.begin(now);
        } else {
            self.note_backlog(now);
        }
    }

    /// State of the transmitter. A packet is in service on Wi-Fi from its first transmission until it is delivered or given
    /// up.
    #[inline]
    fn service(&self) -> Service {
        let aggregated = || self.wifi.as_ref().and_then(|wifi| wifi.slots().next());
        match self.in_service.map(|service| service.slot).or_else(aggregated) {
            Some(slot) => Service::Busy(self.backlog.packet(slot).size),
            None => Service::IdleSince(self.idle_since),
        }
    }

    /// Departure time of the packet in service, or time of the next opportunity that is used; [`Time::NEVER`] if there
    /// is no packet.
    #[inline]
    pub fn next_departure(&self) -> Time {
        self.departure
    }

    /// The next departure up to `now`.
    #[inline]
    pub fn poll_departure(&mut self, now: Time) -> Option<Departed> {
        if let Some(departed) = self.departed.pop_front() {
            return Some(departed);
        }
        while self.is_due(now) {
            if let Some(departed) = self.depart().or_else(|| self.departed.pop_front()) {
                return Some(departed);
            }
        }
        None
    }

    /// Token of the packet that the next poll returns, if it has departed or is in service; for prefetching.
    #[inline]
    pub fn next_token(&self) -> Option<u64> {
        match self.departed.front() {
            Some(departed) => Some(departed.token),
            None => self.in_service.map(|service| self.backlog.packet(service.slot).token),
        }
    }

    /// The next dropped packet, in order of time.
    #[inline]
    pub fn poll_drop(&mut self) -> Option<Dropped> {
        self.dropped.pop_front()
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.departure <= now && (self.in_service.is_some() || self.departure < Time::NEVER)
    }

    /// Processes everything up to `now`.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        while self.is_due(now) {
            if let Some(departed) = self.depart() {
                self.departed.push_back(departed);
            }
        }
    }

    /// A transmission ends, and the next one begins. `None` if an impairment lost the packet.
    #[inline]
    fn depart(&mut self) -> Option<Departed> {
        let ends = std::mem::replace(&mut self.departure, Time::NEVER);
        if self.opportunities.is_some() {
            return self.use_opportunity(ends);
        }
        if self.wifi.is_some() {
            self.use_medium(ends);
            return None;
        }
        let Some(service) = self.in_service.take() else {
            // A shaper has held its packets until now.
            self.begin(ends);
            return None;
        };
        let departed = self.finish(service, ends);
        self.begin(ends);
        departed
    }

    /// An opportunity carries a packet or a part of one. `None` if no packet departs.
    #[inline(never)]
    fn use_opportunity(&mut self, at: Time) -> Option<Departed> {
        if let Some(opportunities) = &mut self.opportunities
            && let Some(until) = opportunities.down_until(at)
        {
            self.departure = opportunities.skip(Time(until.0 - 1));
            return None;
        }
        let mut is_held = false;
        if self.in_service.is_none() {
            let next = self.queues.dequeue(at, &mut self.backlog, &mut self.queue_random);
            self.collect(at);
            is_held = next.is_none();
            if let Some(slot) = next {
                let Queued { entered, .. } = *self.backlog.packet(slot);
                self.count_wait(entered, at);
                self.note_wait(entered, at);
                self.in_service = Some(InService { slot, begins: at, service: Time::ZERO });
            }
            let size = next.map(|slot| self.backlog.packet(slot).size);
            if let (Some(opportunities), Some(size)) = (&mut self.opportunities, size) {
                opportunities.take(size);
            }
        }
        let mut departed = None;
        if let (Some(opportunities), Some(service)) = (&mut self.opportunities, self.in_service) {
            opportunities.begin();
            if opportunities.send(self.window.contains(at)) {
                self.in_service = None;
                self.transmitter.catch_up(at);
                departed = self.finish(InService { begins: at, ..service }, at);
            }
        }
        if let Some(opportunities) = &mut self.opportunities
            && (self.in_service.is_some() || self.backlog.packets() > 0)
        {
            // A shaper that holds its packets leaves the rest of the opportunity unused.
            self.departure = if is_held { opportunities.skip(at) } else { opportunities.continues(at) };
        }
        self.note_backlog(at);
        departed
    }

    /// A station of Wi-Fi gets the medium, or its aggregate ends. Departures are collected.
    #[inline(never)]
    fn use_medium(&mut self, at: Time) {
        let Some(mut wifi) = self.wifi.take() else { return };
        self.transmitter.catch_up(at);
        let rate = self.transmitter.rate();
        if wifi.phase == Phase::Contention {
            let mut air_time = wifi.begin(rate);
            while wifi.has_room(air_time)
                && let Some(slot) = self.queues.dequeue(at, &mut self.backlog, &mut self.queue_random)
            {
                let Queued { entered, size, .. } = *self.backlog.packet(slot);
                self.count_wait(entered, at);
                air_time += wifi.add(slot, size, rate);
            }
            self.collect(at);
            self.departure = wifi.end(at, air_time);
        } else {
            self.stats.busy += self.window.overlap(wifi.began(), at).0;
            wifi.finish(at, rate);
            while let Some(outcome) = wifi.next_outcome() {
                match outcome {
                    Outcome::Delivered(slot) => {
                        let departed = self.finish(InService { slot, begins: at, service: Time::ZERO }, at);
                        self.departed.extend(departed);
                    }
                    Outcome::GivenUp(slot) => {
                        let packet = self.backlog.release(slot);
                        self.drop(packet.token, at, DropReason::Impairment);
                    }
                }
            }
            self.idle_since = at;
            if wifi.packets() > 0 || self.backlog.packets() > 0 {
                self.departure = wifi.contend(at);
            }
        }
        self.wifi = Some(wifi);
        self.note_backlog(at);
    }

    /// A transmission ends.
    #[inline]
    fn finish(&mut self, in_service: InService, ends: Time) -> Option<Departed> {
        let InService { slot, begins, service } = in_service;
        let packet = self.backlog.release(slot);
        self.idle_since = ends;
        self.stats.busy += self.window.overlap(begins, ends).0;
        let mut waited = Time::ZERO;
        let mut passed = Passed::UNHARMED;
        if let Some(extras) = &mut self.extras {
            if let Some(impairments) = &mut extras.impairments {
                passed = impairments.pass(ends, packet.size, packet.is_data);
            }
            if extras.stamps {
                waited = ends.since(packet.entered).since(service);
            }
        }
        let Some(delay) = passed.first else {
            self.drop(packet.token, ends, DropReason::Impairment);
            return None;
        };
        let arrival = self.transmitter.arrival(ends);
        let arrives_again = passed.second.map_or(Time::NEVER, |delay| arrival + delay);
        self.stats.count_duplicate(passed.second.is_some() && self.window.contains(ends));
        let Queued { token, ecn, .. } = packet;
        Some(Departed { token, departs: ends, arrives: arrival + delay, arrives_again, ecn, waited })
    }

    /// The transmitter is idle at `at`: the next transmission begins if a packet is waiting.
    #[inline]
    fn begin(&mut self, at: Time) {
        if let Some(opportunities) = &mut self.opportunities {
            if self.departure == Time::NEVER && self.backlog.packets() > 0 {
                self.departure = opportunities.skip(at);
            }
            self.note_backlog(at);
            return;
        }
        if let Some(wifi) = &mut self.wifi {
            if wifi.phase == Phase::Idle && self.departure == Time::NEVER && self.backlog.packets() > 0 {
                self.departure = wifi.contend(at);
            }
            self.note_backlog(at);
            return;
        }
        let next = self.queues.dequeue(at, &mut self.backlog, &mut self.queue_random);
        self.collect(at);
        if let Some(slot) = next {
            let Queued { entered, size, .. } = *self.backlog.packet(slot);
            self.count_wait(entered, at);
            self.note_wait(entered, at);
            if self.idle_since < at {
                self.transmitter.reset();
            }
            let (ends, service) = self.transmitter.serve(at, size);
            self.in_service = Some(InService { slot, begins: at, service });
            self.departure = ends;
        } else if self.backlog.packets() > 0 {
            self.departure = self.queues.ready().max(at + Time(1));
        }
        self.note_backlog(at);
    }

    /// Collects the drops and marks of the discipline.
    #[inline]
    fn collect(&mut self, at: Time) {
        if self.backlog.has_uncollected() {
            self.collect_drops_and_marks(at);
        }
    }

    #[cold]
    fn collect_drops_and_marks(&mut self, at: Time) {
        let mut backlog = std::mem::take(&mut self.backlog);
        let (dropped, marks) = backlog.take_uncollected();
        for (packet, reason) in dropped {
            self.count_wait(packet.entered, at);
            self.drop(packet.token, at, DropReason::Queue(reason));
        }
        if self.window.contains(at) {
            self.stats.marks += marks;
        }
        if let Some(extras) = &mut self.extras
            && let Some(samples) = &mut extras.records.samples
        {
            samples.marks.extend((0..marks).map(|_| at));
        }
        self.backlog = backlog;
    }

    fn drop(&mut self, token: u64, at: Time, reason: DropReason) {
        if self.window.contains(at) {
            self.stats.count_drop(reason);
        }
        let impairments = self.extras.as_ref().and_then(|extras| extras.impairments.as_ref());
        let data_seen = impairments.map_or(0, Impairments::data_seen);
        self.dropped.push_back(Dropped { token, at, reason, data_seen });
    }

    /// A packet has waited from `entered` until `at`.
    #[inline]
    fn count_wait(&mut self, entered: Time, at: Time) {
        self.stats.waited += u128::from(self.window.overlap(entered, at).0);
    }

    /// The transmission of a packet that entered at `entered` begins, for distributions and probes.
    #[inline]
    fn note_wait(&mut self, entered: Time, at: Time) {
        let Some(extras) = &mut self.extras else { return };
        if let Some(waits) = &mut extras.records.waits
            && self.window.contains(at)
        {
            waits.add(self.queues.last_queue(), at.since(entered));
        }
        if let Some(samples) = &mut extras.records.samples {
            samples.note_wait(entered, at);
        }
    }

    /// Records a change of the backlog at `at`.
    #[inline]
    fn note_backlog(&mut self, at: Time) {
        let waiting = self.backlog.packets();
        let (since, before) = self.last_change;
        if since < self.window.from && at > self.window.from {
            self.stats.backlog_max = self.stats.backlog_max.max(before as u32);
        }
        if self.window.contains(at) {
            self.stats.backlog_max = self.stats.backlog_max.max(waiting as u32);
        }
        self.last_change = (at, waiting);
        if let Some(extras) = &mut self.extras {
            extras.records.note_backlog(at, waiting);
        }
    }

    /// The run ends at `end`, to which the link has been advanced: counts queueing and transmission in progress.
    pub fn end(&mut self, end: Time) {
        self.advance(end);
        let window = Interval { until: self.window.until.min(end), ..self.window };
        if let Some(opportunities) = &self.opportunities {
            self.stats.busy = opportunities.busy_time(window).0;
        } else if let Some(service) = self.in_service {
            self.stats.busy += window.overlap(service.begins, self.departure).0;
        }
        if let Some(wifi) = &self.wifi
            && wifi.phase == Phase::Aggregate
        {
            self.stats.busy += window.overlap(wifi.began(), self.departure).0;
        }
        for packet in self.backlog.waiting() {
            self.stats.waited += u128::from(window.overlap(packet.entered, end).0);
        }
        if self.last_change.0 < window.from && window.from <= window.until {
            self.stats.backlog_max = self.stats.backlog_max.max(self.last_change.1 as u32);
        }
    }
}
