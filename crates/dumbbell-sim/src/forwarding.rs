//! Forwarding: packets enter links, wait, leave, merge with others, and continue to the next hop.
//!
//! Two owners of a network forward packets with the code in this file: the event loop
//! ([`simulation`](crate::simulation)), whose hosts run TCP, and [`Paths`](crate::Paths), whose packets come from
//! outside. Both are known at compile time, so sharing costs the event loop nothing.

use crate::events::EventQueue;
use crate::in_flight::{Arrived, InFlight};
use crate::network::{After, Hop, Names, Routes};
use crate::scenario::Scenario;
use dumbbell_net::{DropReason, Link, LinkSpec, Offer, Packet, ScheduledLink};
use dumbbell_units::{Interval, Stream, Time};

/// How many packets ahead a merge point prefetches.
const PREFETCH_DISTANCE: usize = 3;

/// The token of a packet at a scheduled link.
fn token_of(hop: u32, slot: u32) -> u64 {
    u64::from(hop) << 32 | u64::from(slot)
}

/// The hop at which a scheduled link holds a packet, and its slot.
fn hop_and_slot(token: u64) -> (u32, u32) {
    ((token >> 32) as u32, token as u32)
}

/// Links with their packets, and what is pending there.
#[derive(Clone, Debug)]
pub struct Network<P> {
    /// Time of the current event.
    pub now: Time,
    /// The link at whose end the current event happens; larger than any link index for other kinds of events.
    pub current_link: u32,
    /// Pending events.
    pub events: EventQueue,
    /// The hops of all routes.
    pub hops: Vec<Hop>,
    /// The links, in the order of the scenario.
    pub links: Vec<Link>,
    /// Packets between links, and between links and hosts.
    pub in_flight: InFlight<P>,
}

impl<P: Copy> Network<P> {
    /// The idle links of a scenario. `hops` must be set before a packet is sent.
    pub fn new(scenario: &Scenario, routes: &Routes, (seed, run): (u64, u64)) -> Self {
        let window = Interval { from: scenario.measure_from, until: scenario.measure_until() };
        let nodes = Names::new(scenario.node_names());
        let specs: Vec<_> =
            scenario.links.iter().map(|link| link.realized(scenario.duration, (seed, run))).collect();
        let link = |spec: &LinkSpec| {
            let mut link = Link::new(spec, Stream::new(seed, run, &format!("link:{}", spec.name)), window);
            if nodes.index(&spec.from).is_some_and(|node| scenario.nodes[node].0.aqt) {
                link.stamp_queueing();
            }
            link
        };
        Network {
            now: Time::ZERO,
            current_link: u32::MAX,
            events: EventQueue::default(),
            hops: Vec::new(),
            links: specs.iter().map(|spec| link(spec)).collect(),
            in_flight: InFlight::new(routes, specs.iter().map(|spec| &**spec)),
        }
    }

    /// The scheduled links, which hold their packets.
    fn scheduled_links(&self) -> impl Iterator<Item = &ScheduledLink> {
        self.links.iter().filter_map(|link| match link {
            Link::Fifo(_) => None,
            Link::Scheduled(link) => Some(&**link),
        })
    }

    /// Number of packets on links and in flight.
    pub fn packet_count(&self) -> usize {
        self.in_flight.count() + self.scheduled_links().map(ScheduledLink::packets).sum::<usize>()
    }

    /// The packets on links and in flight, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<P>> {
        let on_links = self.scheduled_links().flat_map(ScheduledLink::tokens);
        let on_links = on_links.map(|token| self.in_flight.packet(hop_and_slot(token).1));
        self.in_flight.packets().chain(on_links)
    }

    /// Number of the last data packet that reached the impairments of a FIFO link.
    #[cold]
    fn data_seen(&self, link: u32) -> u64 {
        match &self.links[link as usize] {
            Link::Fifo(link) => link.data_seen(),
            Link::Scheduled(_) => 0,
        }
    }
}

/// A drop of a packet by a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkDrop {
    /// Time of the drop. Each link reports its drops in order of time, but one may be ahead of the clock and another
    /// behind it.
    pub at: Time,
    /// Index of the link.
    pub link: u32,
    /// Its reason.
    pub reason: DropReason,
    /// For a loss by an impairment: the number of data packets that the impairments of the link have seen.
    pub data_seen: Option<u64>,
}

/// The owner of a network. The provided methods forward packets; the others say what happens at hosts.
pub trait Forwarding<P: Copy> {
    /// The network.
    fn network(&self) -> &Network<P>;

    /// The network.
    fn network_mut(&mut self) -> &mut Network<P>;

    /// A link drops a packet.
    fn on_drop(&mut self, packet: &Packet<P>, drop: &LinkDrop);

    /// An impairment has copied a packet, which now exists twice. Returns the copy.
    fn on_duplicate(&mut self, packet: &Packet<P>) -> Packet<P>;

    /// True if a receiver that may answer ahead of the clock answers at `at`.
    fn answers_at(&self, at: Time) -> bool;

    /// A packet reaches, at a future time, a receiver that answers ahead of the clock. If the receiver answers
    /// immediately, the packet is reused for the answer, and the first hop of its path is returned.
    fn answer(&mut self, at: Time, packet: &mut Packet<P>) -> Option<u32>;

    /// True if there are so many end points that data of an end point should be prefetched.
    fn prefetches(&self) -> bool;

    /// Prefetches a packet in `slot` that is handled soon, the link that follows the merge point after this hop, and the
    /// data of its owner.
    fn prefetch(&self, slot: u32, hop: u32, owner: u32);

    /// True if packets that enter links are observed. The links of an owner that overrides this or one of the next two
    /// methods are [observed](Link::observe).
    #[inline(always)]
    fn observes_links(&self) -> bool {
        false
    }

    /// If so: a packet is about to enter a link at `at`.
    fn on_entering(&mut self, _link: u32, _at: Time, _packet: &Packet<P>) {}

    /// An observed FIFO link has decided about a packet that entered at `at`.
    #[inline(always)]
    fn on_offered(&mut self, _link: u32, _at: Time, _packet: &Packet<P>, _offer: &Offer) {}

    /// A packet has entered a scheduled link at `at`.
    #[inline(always)]
    fn on_enqueued(&mut self, _link: u32, _at: Time, _packet: &Packet<P>) {}

    /// A packet has departed from a scheduled link at `at`.
    #[inline(always)]
    fn on_departed(&mut self, _link: u32, _at: Time, _packet: &Packet<P>) {}

    /// The event of a link with a merge point.
    fn on_merge(&mut self, link: u32) {
        let network = self.network_mut();
        let Some(number) = network.in_flight.merge_point(link) else { return };
        if network.in_flight.begin_merge(number, network.now) {
            self.merge_arrived(number);
            let network = self.network_mut();
            network.in_flight.end_merge(&mut network.events, number);
        }
    }

    /// The event of a scheduled link without propagation delay.
    #[inline(never)]
    fn on_departure(&mut self, link: u32) {
        if let Some(number) = self.network().in_flight.merge_point(link) {
            self.depart(number);
        }
    }

    /// Merges arrivals from other links at a link, up to the current event.
    fn merge_arrived(&mut self, number: u32) {
        if self.is_scheduled(self.network().in_flight.link(number)) {
            self.enqueue_arrived(number);
            self.depart(number);
            return;
        }
        while let Some(arrived) = self.next_arrived(number) {
            let packet = self.network_mut().in_flight.take(arrived.slot);
            self.forward(arrived.at, arrived.hop + 1, packet);
        }
    }

    /// Enqueues arrivals from other links at a scheduled link, up to the current event; the slot is the token.
    #[inline(never)]
    fn enqueue_arrived(&mut self, number: u32) {
        while let Some(arrived) = self.next_arrived(number) {
            let hop = arrived.hop + 1;
            let index = self.network().hops[hop as usize].link;
            if self.observes_links() {
                let packet = *self.network().in_flight.packet(arrived.slot);
                self.on_entering(index, arrived.at, &packet);
            }
            let network = self.network_mut();
            if let Link::Scheduled(link) = &mut network.links[index as usize] {
                let packet = network.in_flight.packet(arrived.slot);
                link.enqueue(arrived.at, token_of(hop, arrived.slot), packet);
                let packet = *packet;
                self.on_enqueued(index, arrived.at, &packet);
            }
        }
    }

    /// The next packet that has arrived at a merge point before the current event.
    #[inline(always)]
    fn next_arrived(&mut self, number: u32) -> Option<Arrived> {
        let network = self.network_mut();
        let arrived = network.in_flight.next_arrived(number, network.now, network.current_link)?;
        if self.prefetches()
            && let Some((slot, hop, owner)) = self.network().in_flight.pending(number, PREFETCH_DISTANCE)
        {
            self.prefetch(slot, hop, owner);
        }
        Some(arrived)
    }

    /// True if a link is a scheduled link.
    #[inline]
    fn is_scheduled(&self, link: u32) -> bool {
        matches!(self.network().links[link as usize], Link::Scheduled(_))
    }

    /// Forwards packets that have departed from a scheduled link by now, and reports its drops.
    #[inline(never)]
    fn depart(&mut self, number: u32) {
        let index = self.network().in_flight.link(number);
        loop {
            let network = self.network_mut();
            let Link::Scheduled(link) = &mut network.links[index as usize] else { return };
            let Some(departed) = link.poll_departure(network.now) else {
                let next = link.next_departure();
                network.in_flight.schedule_departure(&mut network.events, number, next);
                self.take_drops(index);
                return;
            };
            if let Some(next) = link.next_token() {
                network.in_flight.prefetch(hop_and_slot(next).1);
            }
            let (hop, slot) = hop_and_slot(departed.token);
            let mut packet = network.in_flight.take(slot);
            // Most packets leave unchanged, and an unmodified packet is copied faster.
            if packet.ecn != departed.ecn {
                packet.ecn = departed.ecn;
            }
            if departed.waited > Time::ZERO {
                packet.queueing += departed.waited;
            }
            self.on_departed(index, departed.departs, &packet);
            if departed.arrives_again < Time::NEVER {
                self.arrive_twice([departed.arrives, departed.arrives_again], hop, &packet);
            } else {
                self.continue_from(departed.arrives, hop, packet);
            }
        }
    }

    /// Reports what a scheduled link has dropped.
    fn take_drops(&mut self, index: u32) {
        loop {
            let network = self.network_mut();
            let Link::Scheduled(link) = &mut network.links[index as usize] else { return };
            let Some(dropped) = link.poll_drop() else { return };
            let packet = network.in_flight.take(hop_and_slot(dropped.token).1);
            let (at, reason) = (dropped.at, dropped.reason);
            let data_seen = (reason == DropReason::Impairment).then_some(dropped.data_seen);
            self.on_drop(&packet, &LinkDrop { at, link: index, reason, data_seen });
        }
    }

    /// Merges arrivals at all links, up to the current event.
    fn merge_all_arrived(&mut self) {
        (0..self.network().in_flight.merge_points()).for_each(|number| self.merge_arrived(number));
    }

    /// A host sends a packet on the path that begins with this hop.
    #[inline]
    fn send(&mut self, begin: u32, packet: Packet<P>) {
        let network = self.network();
        match network.in_flight.merge_point(network.hops[begin as usize].link) {
            Some(number) => self.send_after_others(number, begin, packet),
            None => self.forward(network.now, begin, packet),
        }
    }

    /// The same if the first link is also fed by other links.
    #[inline(never)]
    fn send_after_others(&mut self, number: u32, begin: u32, packet: Packet<P>) {
        self.merge_arrived(number);
        self.forward(self.network().now, begin, packet);
        if self.is_scheduled(self.network().in_flight.link(number)) {
            self.depart(number);
        }
    }

    /// A packet enters a link and all following links in its chain. If a receiver answers ahead of the clock, the
    /// answer continues instead. A scheduled link keeps the packet until it departs.
    #[inline]
    fn forward(&mut self, mut at: Time, mut number: u32, mut packet: Packet<P>) {
        loop {
            let network = self.network_mut();
            let hop = network.hops[number as usize];
            let arrival = match network.links[hop.link as usize].offer_plain(at, packet.size) {
                Some(arrival) => arrival,
                None => match self.offer(at, number, &mut packet) {
                    Some(arrival) => arrival,
                    None => return,
                },
            };
            match hop.after {
                After::Chained => {
                    number += 1;
                    at = arrival;
                    continue;
                }
                After::Receiver if self.answers_at(arrival) => {
                    if let Some(begin) = self.answer(arrival, &mut packet) {
                        number = begin;
                        at = arrival;
                        continue;
                    }
                }
                _ => {
                    let network = self.network_mut();
                    network.in_flight.push(&mut network.events, (number, hop), arrival, &packet);
                }
            }
            return;
        }
    }

    /// A packet enters the link of a hop, not by the fast path. Returns its arrival if it continues from there.
    #[inline(never)]
    fn offer(&mut self, at: Time, number: u32, packet: &mut Packet<P>) -> Option<Time> {
        let index = self.network().hops[number as usize].link;
        if self.observes_links() {
            self.on_entering(index, at, packet);
        }
        let network = self.network_mut();
        let offer = match &mut network.links[index as usize] {
            Link::Fifo(link) => link.offer(at, packet),
            Link::Scheduled(link) => {
                let token = token_of(number, network.in_flight.put(packet));
                link.enqueue(at, token, packet);
                self.on_enqueued(index, at, packet);
                return None;
            }
        };
        self.on_offered(index, at, packet, &offer);
        match offer {
            Offer::Arrives(arrival) => return Some(arrival),
            Offer::ArrivesTwice => {
                if let Link::Fifo(link) = &self.network().links[index as usize] {
                    self.arrive_twice(link.both_arrivals(), number, packet);
                }
            }
            Offer::Dropped(reason) => {
                let is_impaired = reason == DropReason::Impairment;
                let data_seen = is_impaired.then(|| self.network().data_seen(index));
                self.on_drop(packet, &LinkDrop { at, link: index, reason, data_seen });
            }
        }
        None
    }

    /// A packet and its copy have left the link of a hop, which does not keep order and hence is not chained.
    #[cold]
    fn arrive_twice(&mut self, arrivals: [Time; 2], number: u32, packet: &Packet<P>) {
        let packets = [*packet, self.on_duplicate(packet)];
        let network = self.network_mut();
        let hop = network.hops[number as usize];
        for (at, packet) in arrivals.into_iter().zip(&packets) {
            network.in_flight.push(&mut network.events, (number, hop), at, packet);
        }
    }

    /// A packet has left the scheduled link of a hop, of this number, and reaches its far end at `arrival`.
    fn continue_from(&mut self, arrival: Time, number: u32, packet: Packet<P>) {
        let network = self.network_mut();
        let hop = network.hops[number as usize];
        if hop.after == After::Chained {
            self.forward(arrival, number + 1, packet);
        } else {
            network.in_flight.push(&mut network.events, (number, hop), arrival, &packet);
        }
    }
}
