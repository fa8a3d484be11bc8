//! Packets in flight: to hosts, and to links that several links feed.
//!
//! An arrival at a link has no effect at its far end until the link's propagation delay has passed. A link that several
//! links feed therefore does not handle each packet when it arrives. One event, a propagation delay after the first
//! arrival, merges all packets that have arrived by then, in order of arrival. Whatever needs the result earlier
//! requests the merge: a host that sends on such a link itself, a timeout (which counts losses), and the end of the
//! run.
//!
//! A departure from a scheduled link has no earlier effect either. Its merge point handles arrivals and departures with
//! one event, one nanosecond before the delay has passed, so that a departed packet is in flight before it has to
//! arrive. A scheduled link without delay has an event for each departure, before all other events of that instant.
//!
//! Packets in flight to a host are in order, except on links that do not keep it: these sort their packets as merge
//! points do, with an event at each arrival.

use crate::events::{Event, EventQueue};
use crate::network::{After, Hop, Routes};
use dumbbell_net::flight::FlightQueue;
use dumbbell_net::{Flights, LinkSpec, Packet};
use dumbbell_units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A packet in flight to a merge point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    at: Time,
    /// The link it comes from. Simultaneous arrivals are ordered by link.
    feeder: u32,
    /// Orders simultaneous arrivals from one link.
    serial: u32,
    slot: u32,
    /// The hop it comes from.
    hop: u32,
    owner: u32,
}

/// A packet that has arrived at a merge point.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Arrival time.
    pub at: Time,
    /// The hop it comes from.
    pub hop: u32,
    /// Its slot, for [`InFlight::take`].
    pub slot: u32,
}

/// Merges the packets that enter a link from several links, or sorts those that leave a link that does not keep order.
#[derive(Clone, Debug)]
struct MergePoint {
    link: u32,
    /// Its event.
    event: Event,
    /// Packets in order of arrival, which is nearly the order in which they are enqueued.
    pending: VecDeque<Pending>,
    /// Packets that would have to overtake more than [`MAX_OVERTAKEN`] others.
    overflow: BinaryHeap<Reverse<Pending>>,
    /// Number of packets enqueued so far.
    serial: u32,
    /// Longest time from an arrival to its merge.
    lookahead: Time,
    /// Time of the pending event.
    due: Time,
    /// The link has no propagation delay, so departures need their own events.
    has_no_delay: bool,
    /// Time of the pending departure on such a link.
    departure: Time,
}

/// Maximum number of packets that one packet overtakes in the list.
const MAX_OVERTAKEN: usize = 16;

impl MergePoint {
    fn new(link: u32, event: Event, lookahead: Time, has_no_delay: bool) -> Self {
        MergePoint {
            link,
            event,
            pending: VecDeque::new(),
            overflow: BinaryHeap::new(),
            serial: 0,
            lookahead,
            due: Time::NEVER,
            has_no_delay,
            departure: Time::NEVER,
        }
    }

    #[inline(always)]
    fn push(&mut self, at: Time, feeder: u32, (slot, owner): (u32, u32), hop: u32) {
        let new = Pending { at, feeder, serial: self.serial, slot, hop, owner };
        self.serial = self.serial.wrapping_add(1);
        match self.pending.back() {
            Some(last) if *last > new => self.push_before(new),
            _ => self.pending.push_back(new),
        }
    }

    fn push_before(&mut self, new: Pending) {
        let later = self.pending.iter().rev().take(MAX_OVERTAKEN).take_while(|other| **other > new).count();
        if later < MAX_OVERTAKEN {
            self.pending.insert(self.pending.len() - later, new);
        } else {
            self.overflow.push(Reverse(new));
        }
    }

    #[inline]
    fn first(&self) -> Option<Pending> {
        let first = self.pending.front().copied();
        match (first, self.overflow.peek()) {
            (first, None) => first,
            (Some(first), Some(Reverse(late))) => Some(first.min(*late)),
            (None, Some(Reverse(late))) => Some(*late),
        }
    }

    /// Dequeues the first packet.
    #[inline(always)]
    fn pop(&mut self, first: &Pending) {
        if self.overflow.is_empty() || self.pending.front() == Some(first) {
            self.pending.pop_front();
        } else {
            self.overflow.pop();
        }
    }

    fn len(&self) -> usize {
        self.pending.len() + self.overflow.len()
    }
}

/// Packets in flight on all links.
#[derive(Clone, Debug)]
pub struct InFlight<P> {
    flights: Flights<P>,
    /// Packets on each link that leads to a host.
    to_hosts: Vec<FlightQueue>,
    merge_points: Vec<MergePoint>,
    /// The index of each link's merge point, if it has one.
    merge_point_of: Vec<Option<u32>>,
    /// Packets that links deliver to hosts without keeping their order.
    unordered: Vec<MergePoint>,
}

impl<P: Copy> InFlight<P> {
    /// A network without packets in flight.
    pub fn new<'a>(routes: &Routes, links: impl Iterator<Item = &'a LinkSpec>) -> Self {
        let links: Vec<&LinkSpec> = links.collect();
        let mut merge_point_of = vec![None; links.len()];
        for (number, &link) in routes.merge_points.iter().enumerate() {
            merge_point_of[link as usize] = Some(number as u32);
        }
        let point = |&link: &u32| {
            let spec = links[link as usize];
            let earlier = u64::from(spec.is_scheduled());
            let delay = spec.min_delay();
            let lookahead = Time(delay.0.saturating_sub(earlier));
            MergePoint::new(link, Event::Merge(link), lookahead, delay == Time::ZERO)
        };
        let unordered = |&link: &u32| MergePoint::new(link, Event::Unordered(link), Time::ZERO, true);
        InFlight {
            flights: Flights::default(),
            to_hosts: vec![FlightQueue::default(); links.len()],
            merge_points: routes.merge_points.iter().map(point).collect(),
            merge_point_of,
            unordered: routes.unordered.iter().map(unordered).collect(),
        }
    }

    /// All merge points, those of unordered links included.
    fn points(&self) -> impl Iterator<Item = &MergePoint> {
        self.merge_points.iter().chain(&self.unordered)
    }

    /// Number of packets in flight.
    pub fn count(&self) -> usize {
        let to_hosts: usize = self.to_hosts.iter().map(FlightQueue::len).sum();
        to_hosts + self.points().map(MergePoint::len).sum::<usize>()
    }

    /// Largest number of packets in flight or in queues at one time so far.
    #[inline]
    pub fn most(&self) -> u64 {
        self.flights.most()
    }

    /// The packets in flight, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<P>> {
        let to_hosts = self.to_hosts.iter().flat_map(|queue| self.flights.packets(queue));
        let pending = |point: &'_ MergePoint| {
            let overflow = point.overflow.iter().map(|Reverse(late)| late);
            point.pending.iter().chain(overflow).map(|pending| pending.slot).collect::<Vec<_>>()
        };
        let to_links = self.points().flat_map(pending).map(|slot| self.flights.packet(slot));
        to_hosts.chain(to_links)
    }

    /// A packet leaves the link of hop `number` and arrives at the next hop at `at`, no earlier than the packet before
    /// it from this link if that leads to a host and keeps packets in order.
    #[inline(always)]
    pub fn push(&mut self, events: &mut EventQueue, (number, hop): (u32, Hop), at: Time, packet: &Packet<P>) {
        let slot = self.flights.put(packet);
        if let After::Merge(point) = hop.after {
            let point = &mut self.merge_points[point as usize];
            point.push(at, hop.link, (slot, packet.owner), number);
            point.schedule(events, at);
        } else if let After::Unordered(point) = hop.after {
            let point = &mut self.unordered[point as usize];
            point.push(at, hop.link, (slot, packet.owner), number);
            point.schedule(events, at);
        } else {
            let queue = &mut self.to_hosts[hop.link as usize];
            let is_first = queue.is_empty();
            self.flights.push(queue, at, slot, packet.owner);
            if is_first {
                events.push(at, Event::Arrival(hop.link));
            }
        }
    }

    /// The oldest packet on a link arrives at its host. Returns its slot, and when the next one arrives.
    #[inline]
    pub fn pop(&mut self, link: u32) -> Option<(u32, Option<Time>)> {
        self.flights.pop(&mut self.to_hosts[link as usize])
    }

    /// The slot of the oldest packet on a link that leads to a host, and most likely its owner.
    #[inline]
    pub fn oldest(&self, link: u32) -> Option<(u32, u32)> {
        self.flights.first(&self.to_hosts[link as usize])
    }

    /// Prefetches a packet.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        self.flights.prefetch(slot);
    }

    /// The slot, the hop it comes from and the owner of a packet pending at a merge point, `ahead` positions behind the first.
    #[inline]
    pub fn pending(&self, number: u32, ahead: usize) -> Option<(u32, u32, u32)> {
        let pending = self.merge_points[number as usize].pending.get(ahead);
        pending.map(|pending| (pending.slot, pending.hop, pending.owner))
    }

    /// Stores a packet for a link that holds packets itself. Returns its slot.
    #[inline]
    pub fn put(&mut self, packet: &Packet<P>) -> u32 {
        self.flights.put(packet)
    }

    /// The packet in a slot.
    pub fn packet(&self, slot: u32) -> &Packet<P> {
        self.flights.packet(slot)
    }

    /// Takes an arrived packet out of its slot.
    #[inline]
    pub fn take(&mut self, slot: u32) -> Packet<P> {
        self.flights.release(slot);
        *self.flights.packet(slot)
    }

    /// The index of a link's merge point, if it has one.
    #[inline]
    pub fn merge_point(&self, link: u32) -> Option<u32> {
        self.merge_point_of[link as usize]
    }

    /// The link of a merge point.
    #[inline]
    pub fn link(&self, number: u32) -> u32 {
        self.merge_points[number as usize].link
    }

    /// The longest time from the arrival of a packet at a link to its handling.
    pub fn longest_lookahead(&self) -> Time {
        self.merge_points.iter().map(|point| point.lookahead).max().unwrap_or_default()
    }

    /// Number of merge points.
    pub fn merge_points(&self) -> u32 {
        self.merge_points.len() as u32
    }

    /// Dequeues the next packet that has arrived at a merge point by `now`. Of arrivals at `now` itself, only those
    /// from links up to `feeder` count.
    #[inline(always)]
    pub fn next_arrived(&mut self, number: u32, now: Time, feeder: u32) -> Option<Arrived> {
        let point = &mut self.merge_points[number as usize];
        let first = point.first()?;
        if first.at > now || first.at == now && first.feeder > feeder {
            return None;
        }
        point.pop(&first);
        Some(Arrived { at: first.at, hop: first.hop, slot: first.slot })
    }

    /// Begins the event of a link that does not keep order. Returns its index among these; `None` if the event is
    /// obsolete.
    pub fn begin_unordered(&mut self, link: u32, now: Time) -> Option<u32> {
        let number = self.unordered.binary_search_by_key(&link, |point| point.link).ok()?;
        self.unordered[number].begin(now).then_some(number as u32)
    }

    /// The slot of the next packet that has arrived over such a link by `now`. Without one, the event ends: the next
    /// arrival is scheduled.
    pub fn next_unordered(&mut self, events: &mut EventQueue, number: u32, now: Time) -> Option<u32> {
        let point = &mut self.unordered[number as usize];
        let first = point.first()?;
        if first.at > now {
            point.schedule(events, first.at);
            return None;
        }
        point.pop(&first);
        Some(first.slot)
    }

    /// True if an event of a merge point is current, not obsolete.
    #[inline]
    pub fn begin_merge(&mut self, number: u32, now: Time) -> bool {
        self.merge_points[number as usize].begin(now)
    }

    /// Schedules the next event of a merge point if packets are pending there.
    #[inline]
    pub fn end_merge(&mut self, events: &mut EventQueue, number: u32) {
        let point = &mut self.merge_points[number as usize];
        if let Some(first) = point.first() {
            point.schedule(events, first.at);
        }
    }

    /// The next departure from a scheduled link is at `at`.
    #[inline]
    pub fn schedule_departure(&mut self, events: &mut EventQueue, number: u32, at: Time) {
        let point = &mut self.merge_points[number as usize];
        if at == Time::NEVER {
            return;
        }
        if !point.has_no_delay {
            point.schedule(events, at);
        } else if at != point.departure {
            point.departure = at;
            events.push(at, Event::Departure(point.link));
        }
    }
}

impl MergePoint {
    /// Schedules an event for an arrival at `at`, unless one is due early enough.
    #[inline]
    fn schedule(&mut self, events: &mut EventQueue, at: Time) {
        let latest = at + self.lookahead;
        if latest < self.due {
            self.due = latest;
            events.push(latest, self.event);
        }
    }

    /// True if an event is current, not obsolete.
    #[inline]
    fn begin(&mut self, now: Time) -> bool {
        let is_due = self.due == now;
        if is_due {
            self.due = Time::NEVER;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Stream;

    fn packet(owner: u32) -> Packet<()> {
        Packet { owner, ..Packet::of_size(1000, ()) }
    }

    /// `feeders` links that feed link 0, whose delay is 100 ns.
    fn merging(feeders: u32) -> InFlight<()> {
        let routes = Routes { merge_points: vec![0], ..Routes::default() };
        let link = LinkSpec { delay: Time(100), ..LinkSpec::default() };
        InFlight::new(&routes, std::iter::repeat_n(&link, feeders as usize + 1))
    }

    fn from(link: u32) -> Hop {
        Hop { link, after: After::Merge(0) }
    }

    #[test]
    fn packets_are_merged_by_time_then_link_then_order_of_sending() {
        let mut random = Stream::new(1, 0, "merge");
        let mut draw = move |below: f64| (random.uniform() * below) as u64;
        let mut in_flight = merging(8);
        let mut events = EventQueue::default();
        let mut expected = Vec::new();
        let mut latest = [0; 9];
        for number in 0..2000 {
            // The eighth link has a long delay: its packets are overtaken by more than the list allows.
            let feeder = 1 + draw(8.0) as u32;
            let delay = if feeder == 8 { 400 } else { 20 + draw(5.0) };
            let at = (u64::from(number) / 4 + delay).max(latest[feeder as usize]);
            latest[feeder as usize] = at;
            in_flight.push(&mut events, (0, from(feeder)), Time(at), &packet(number));
            expected.push((at, feeder, number));
        }
        assert!(!in_flight.merge_points[0].overflow.is_empty());
        assert_eq!(in_flight.count(), 2000);
        expected.sort_unstable();
        let taken: Vec<_> = std::iter::from_fn(|| in_flight.next_arrived(0, Time::NEVER, u32::MAX))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|arrived| (arrived.at.0, in_flight.take(arrived.slot).owner))
            .collect();
        assert_eq!(taken, expected.iter().map(|&(at, _, number)| (at, number)).collect::<Vec<_>>());
        assert_eq!(in_flight.count(), 0);
    }

    #[test]
    fn simultaneous_arrivals_are_merged_up_to_the_given_link() {
        let mut in_flight = merging(3);
        let mut events = EventQueue::default();
        for feeder in [3, 1, 2] {
            in_flight.push(&mut events, (0, from(feeder)), Time(5), &packet(feeder));
        }
        let mut owner = |now, feeder| {
            let arrived = in_flight.next_arrived(0, Time(now), feeder)?;
            Some(in_flight.take(arrived.slot).owner)
        };
        assert_eq!(
            (owner(4, u32::MAX), owner(5, 2), owner(5, 2), owner(5, 2)),
            (None, Some(1), Some(2), None)
        );
        assert_eq!((owner(6, 0), owner(6, 0)), (Some(3), None));
    }

    #[test]
    fn a_merge_is_due_one_propagation_delay_after_the_first_arrival() {
        let mut in_flight = merging(2);
        let mut events = EventQueue::default();
        in_flight.push(&mut events, (0, from(1)), Time(50), &packet(1));
        in_flight.push(&mut events, (0, from(1)), Time(60), &packet(2));
        assert_eq!(events.peek(), Some((Time(150), Event::Merge(0))));
        // An earlier arrival makes the merge due earlier and the previous event obsolete.
        in_flight.push(&mut events, (0, from(2)), Time(10), &packet(3));
        assert_eq!(events.peek(), Some((Time(110), Event::Merge(0))));
        events.pop_other();
        assert!(in_flight.begin_merge(0, Time(110)));
        while in_flight.next_arrived(0, Time(55), u32::MAX).is_some() {}
        in_flight.end_merge(&mut events, 0);
        assert_eq!(events.peek(), Some((Time(150), Event::Merge(0))));
        events.pop_other();
        assert_eq!(events.peek(), Some((Time(160), Event::Merge(0))));
        assert!(!in_flight.begin_merge(0, Time(150)));
        assert!(in_flight.begin_merge(0, Time(160)));
    }
}
