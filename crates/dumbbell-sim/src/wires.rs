//! Packets between links: on their way to hosts, and to links that several links feed.
//!
//! What arrives at a link shows at its far end no sooner than its propagation delay later. So a link that several others feed
//! need not look at each packet when it arrives: it merges what has arrived, in the order of arrival, a propagation delay
//! after the first of it, and many packets cost one event. Who wants to know sooner what became of a packet asks for it: a
//! host that sends on such a link itself, a timeout that counts losses, the end of the run.
//!
//! A departure from a scheduled link shows as late: its merge point handles arrivals and departures with one event, one
//! nanosecond earlier than the delay, so that what departs is under way before it has to arrive. A scheduled link without
//! delay has an event for each departure, before all else of that instant.

use crate::events::{Event, EventQueue};
use crate::network::{After, Hop, Routes};
use dumbbell_net::flight::{Line, Next};
use dumbbell_net::{Flights, LinkSpec, Packet};
use dumbbell_units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A packet on its way to a merge point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    at: Time,
    /// The link it comes from: of two that arrive at once the one from the first link is first.
    feeder: u32,
    /// Of two from one link the first is first.
    serial: u32,
    place: u32,
    /// The hop it comes from.
    hop: u32,
    owner: u32,
}

/// A packet that has arrived at a merge point.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// When it arrived.
    pub at: Time,
    /// The hop it comes from.
    pub hop: u32,
    /// Where it is, for [`Wires::take`].
    pub place: u32,
}

/// The near end of a link that several links feed.
#[derive(Clone, Debug)]
struct MergePoint {
    link: u32,
    /// Packets in the order of their arrivals, which is nearly the one in which they set off.
    pending: VecDeque<Pending>,
    /// Those that would have had to overtake too many others.
    overflow: BinaryHeap<Reverse<Pending>>,
    /// How many packets have set off.
    serial: u32,
    /// How long what has arrived may wait to be merged.
    lookahead: Time,
    /// Time of the pending event.
    due: Time,
    /// The link delays nothing: departures need events of their own.
    has_no_delay: bool,
    /// Time of the pending departure, on such a link.
    departure: Time,
}

/// Most packets that one overtakes in the list; one that would overtake more goes to the overflow.
const MAX_OVERTAKEN: usize = 16;

impl MergePoint {
    fn new(link: u32, lookahead: Time, has_no_delay: bool) -> Self {
        MergePoint {
            link,
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
    fn push(&mut self, at: Time, feeder: u32, (place, owner): (u32, u32), hop: u32) {
        let new = Pending { at, feeder, serial: self.serial, place, hop, owner };
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

    /// Removes the first.
    #[inline(always)]
    fn pop(&mut self, first: &Pending) {
        if self.pending.front() == Some(first) {
            self.pending.pop_front();
        } else {
            self.overflow.pop();
        }
    }

    fn len(&self) -> usize {
        self.pending.len() + self.overflow.len()
    }
}

/// All packets in flight.
#[derive(Clone, Debug)]
pub struct Wires<P> {
    flights: Flights<P>,
    /// Packets on each link towards the host at its end.
    to_hosts: Vec<Line>,
    merge_points: Vec<MergePoint>,
    /// The number of the merge point of each link that has one.
    merge_point_of: Vec<Option<u32>>,
}

impl<P: Copy> Wires<P> {
    /// The wires of a network on which nothing flies.
    pub fn new(routes: &Routes, links: &[LinkSpec]) -> Self {
        let mut merge_point_of = vec![None; links.len()];
        for (number, &link) in routes.merge_points.iter().enumerate() {
            merge_point_of[link as usize] = Some(number as u32);
        }
        let point = |&link: &u32| {
            let spec = &links[link as usize];
            let earlier = u64::from(spec.queue.is_scheduled());
            let delay = spec.least_delay();
            MergePoint::new(link, Time(delay.0.saturating_sub(earlier)), delay == Time::ZERO)
        };
        Wires {
            flights: Flights::default(),
            to_hosts: vec![Line::default(); links.len()],
            merge_points: routes.merge_points.iter().map(point).collect(),
            merge_point_of,
        }
    }

    /// Packets on their way.
    pub fn in_flight(&self) -> usize {
        let to_hosts: usize = self.to_hosts.iter().map(Line::len).sum();
        to_hosts + self.merge_points.iter().map(MergePoint::len).sum::<usize>()
    }

    /// The packets on their way, in no stated order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<P>> {
        let to_hosts = self.to_hosts.iter().flat_map(|line| self.flights.line(line));
        let pending = |point: &'_ MergePoint| {
            let overflow = point.overflow.iter().map(|Reverse(late)| late);
            point.pending.iter().chain(overflow).map(|pending| pending.place).collect::<Vec<_>>()
        };
        let to_links = self.merge_points.iter().flat_map(pending).map(|place| self.flights.packet(place));
        to_hosts.chain(to_links)
    }

    /// A packet leaves the link of a hop, of this number, and arrives at what follows at `at`, no earlier than the one before
    /// it from this link.
    #[inline(always)]
    pub fn launch(
        &mut self,
        events: &mut EventQueue,
        (number, hop): (u32, Hop),
        at: Time,
        packet: &Packet<P>,
    ) {
        let place = self.flights.put(packet);
        if let After::Merge(point) = hop.after {
            let point = &mut self.merge_points[point as usize];
            point.push(at, hop.link, (place, packet.owner), number);
            point.schedule(events, at);
        } else {
            let line = &mut self.to_hosts[hop.link as usize];
            let is_first = line.is_empty();
            self.flights.append(line, at, place);
            if is_first {
                events.push(at, Event::Arrival(hop.link));
            }
        }
    }

    /// The oldest packet on a link arrives at the host there. Says where it is, and what comes next.
    #[inline]
    pub fn land(&mut self, link: u32) -> Option<(u32, Option<Next>)> {
        self.flights.land(&mut self.to_hosts[link as usize])
    }

    /// Asks for a packet to be brought into the cache.
    #[inline]
    pub fn prefetch(&self, place: u32) {
        self.flights.prefetch(place);
    }

    /// One of the next packets at a merge point: where it is, and whose.
    #[inline]
    pub fn pending(&self, number: u32, ahead: usize) -> Option<(u32, u32)> {
        self.merge_points[number as usize].pending.get(ahead).map(|pending| (pending.place, pending.owner))
    }

    /// Puts a packet somewhere for a link that holds packets itself.
    #[inline]
    pub fn put(&mut self, packet: &Packet<P>) -> u32 {
        self.flights.put(packet)
    }

    /// The packet that was put somewhere.
    pub fn packet(&self, place: u32) -> &Packet<P> {
        self.flights.packet(place)
    }

    /// Takes a packet that has arrived from where it is.
    #[inline]
    pub fn take(&mut self, place: u32) -> Packet<P> {
        self.flights.leave(place);
        *self.flights.packet(place)
    }

    /// The number of a link's merge point, if it has one.
    #[inline]
    pub fn merge_point(&self, link: u32) -> Option<u32> {
        self.merge_point_of[link as usize]
    }

    /// The link of a merge point.
    #[inline]
    pub fn link(&self, number: u32) -> u32 {
        self.merge_points[number as usize].link
    }

    /// How many merge points there are.
    pub fn merge_points(&self) -> u32 {
        self.merge_points.len() as u32
    }

    /// The next packet that has arrived at a merge point by `now`. Of those that arrive now, the ones from links up to `feeder`
    /// have arrived.
    #[inline(always)]
    pub fn next_arrived(&mut self, number: u32, now: Time, feeder: u32) -> Option<Arrived> {
        let point = &mut self.merge_points[number as usize];
        let first = point.first()?;
        if first.at > now || first.at == now && first.feeder > feeder {
            return None;
        }
        point.pop(&first);
        Some(Arrived { at: first.at, hop: first.hop, place: first.place })
    }

    /// True if an event of a merge point is the one that counts.
    #[inline]
    pub fn begin_merge(&mut self, number: u32, now: Time) -> bool {
        let point = &mut self.merge_points[number as usize];
        let is_due = point.due == now;
        if is_due {
            point.due = Time::NEVER;
        }
        is_due
    }

    /// Schedules the next event of a merge point, if a packet is still to arrive there.
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
    /// Something arrives at `at`.
    #[inline]
    fn schedule(&mut self, events: &mut EventQueue, at: Time) {
        let latest = at + self.lookahead;
        if latest < self.due {
            self.due = latest;
            events.push(latest, Event::Merge(self.link));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_net::PacketKind;
    use dumbbell_units::{Ecn, Stream};

    fn packet(owner: u32) -> Packet<()> {
        Packet {
            size: 1000,
            owner,
            generation: 0,
            kind: PacketKind::Data,
            ecn: Ecn::NotEct,
            flow: 0,
            timestamp: Time::ZERO,
            queueing: Time::ZERO,
            payload: (),
        }
    }

    /// Wires of so many links that feed link 0, which delays packets by 100 ns.
    fn wires(feeders: u32) -> Wires<()> {
        let routes = Routes { merge_points: vec![0], ..Routes::default() };
        let link = LinkSpec { delay: Time(100), ..LinkSpec::default() };
        Wires::new(&routes, &vec![link; feeders as usize + 1])
    }

    fn from(link: u32) -> Hop {
        Hop { link, after: After::Merge(0) }
    }

    #[test]
    fn packets_are_merged_by_time_then_link_then_age() {
        let mut random = Stream::new(1, 0, "merge");
        let mut draw = move |below: f64| (random.uniform() * below) as u64;
        let mut wires = wires(8);
        let mut events = EventQueue::default();
        let mut expected = Vec::new();
        let mut latest = [0; 9];
        for number in 0..2000 {
            // The eighth link has a long way: what it sends is passed by more than a packet may pass.
            let feeder = 1 + draw(8.0) as u32;
            let way = if feeder == 8 { 400 } else { 20 + draw(5.0) };
            let at = (u64::from(number) / 4 + way).max(latest[feeder as usize]);
            latest[feeder as usize] = at;
            wires.launch(&mut events, (0, from(feeder)), Time(at), &packet(number));
            expected.push((at, feeder, number));
        }
        assert!(!wires.merge_points[0].overflow.is_empty());
        assert_eq!(wires.in_flight(), 2000);
        expected.sort_unstable();
        let taken: Vec<_> = std::iter::from_fn(|| wires.next_arrived(0, Time::NEVER, u32::MAX))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|arrived| (arrived.at.0, wires.take(arrived.place).owner))
            .collect();
        assert_eq!(taken, expected.iter().map(|&(at, _, number)| (at, number)).collect::<Vec<_>>());
        assert_eq!(wires.in_flight(), 0);
    }

    #[test]
    fn what_arrives_now_is_merged_up_to_a_link() {
        let mut wires = wires(3);
        let mut events = EventQueue::default();
        for feeder in [3, 1, 2] {
            wires.launch(&mut events, (0, from(feeder)), Time(5), &packet(feeder));
        }
        let mut owner = |now, feeder| {
            let arrived = wires.next_arrived(0, Time(now), feeder)?;
            Some(wires.take(arrived.place).owner)
        };
        assert_eq!(
            (owner(4, u32::MAX), owner(5, 2), owner(5, 2), owner(5, 2)),
            (None, Some(1), Some(2), None)
        );
        assert_eq!((owner(6, 0), owner(6, 0)), (Some(3), None));
    }

    #[test]
    fn a_merge_point_is_due_a_delay_after_its_first_arrival() {
        let mut wires = wires(2);
        let mut events = EventQueue::default();
        wires.launch(&mut events, (0, from(1)), Time(50), &packet(1));
        wires.launch(&mut events, (0, from(1)), Time(60), &packet(2));
        assert_eq!(events.peek(), Some((Time(150), Event::Merge(0))));
        // One that comes sooner is due sooner, and the event of before counts no more.
        wires.launch(&mut events, (0, from(2)), Time(10), &packet(3));
        assert_eq!(events.peek(), Some((Time(110), Event::Merge(0))));
        events.pop_other();
        assert!(wires.begin_merge(0, Time(110)));
        while wires.next_arrived(0, Time(55), u32::MAX).is_some() {}
        wires.end_merge(&mut events, 0);
        assert_eq!(events.peek(), Some((Time(150), Event::Merge(0))));
        events.pop_other();
        assert_eq!(events.peek(), Some((Time(160), Event::Merge(0))));
        assert!(!wires.begin_merge(0, Time(150)));
        assert!(wires.begin_merge(0, Time(160)));
    }
}
