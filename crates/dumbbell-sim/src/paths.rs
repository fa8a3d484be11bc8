//! The links of a scenario without its TCP: packets come from outside, cross the topology, and leave at its hosts.
//!
//! Links, queues, impairments, schedules, merging and rerouting are those of the simulation, in the same code
//! (`forwarding`). Whoever holds a clock drives them: a packet enters with [`Paths::enter`], something happens at
//! [`Paths::next_deadline`], and [`Paths::poll`] returns what has arrived by then. The payload of a packet is anything
//! that can be copied, such as the number of a buffer.
//!
//! ```
//! use dumbbell_net::Packet;
//! use dumbbell_sim::paths::{Direction, Paths};
//! use dumbbell_sim::Scenario;
//! use dumbbell_units::Time;
//!
//! let scenario = Scenario::from_toml(
//!     r#"
//!     duration = "60 s"
//!     nodes = ["a", "b"]
//!     links = [
//!         { name = "there", from = "a", to = "b", rate = "8 Mbit/s", delay = "5 ms" },
//!         { name = "back", from = "b", to = "a", rate = "8 Mbit/s", delay = "5 ms" },
//!     ]
//!     flows = [{ name = "f", from = "a", to = "b", tcp = "reno" }]
//!     "#,
//! )?;
//! let mut paths = Paths::new(&scenario, 1, 0)?;
//!
//! // 1000 bytes at 8 Mbit/s take 1 ms; propagation takes another 5 ms.
//! paths.enter(Time::ZERO, 0, Direction::Forward, &Packet::of_size(1000, "a frame"));
//! assert_eq!(paths.next_deadline(), Time(6_000_000));
//! let delivery = paths.poll(Time(6_100_000)).expect("a packet");
//! assert_eq!((delivery.at, delivery.packet.payload), (Time(6_000_000), "a frame"));
//! # Ok::<(), dumbbell_units::spec::SpecError>(())
//! ```
//!
//! # Late drivers
//!
//! A driver in real time is late. Three rules keep that from bending rates:
//!
//! * A late poll changes no time. Every transmission ends when it ends, and [`Delivery::at`] says when the packet was
//!   due.
//! * A packet enters at the time stated to [`Paths::enter`], even if later times have been polled, as long as nothing
//!   later has happened: no event was handled, no packet entered, and [`Paths::settle`] was not called at a later time.
//!   Otherwise it enters at the time of the latest of these. `enter` returns the time of entry, so that the driver can
//!   count the difference.
//! * Links that several links feed take in arrivals up to one propagation delay late, as in the simulation. Their drops
//!   are reported that late, with their own times.

use crate::events::Event;
use crate::forwarding::{Forwarding, LinkDrop, Network};
use crate::network::{NOWHERE, NewRoute, Routes};
use crate::outcome::Conservation;
use crate::scenario::Scenario;
use dumbbell_net::waits::Waits;
use dumbbell_net::{BacklogChange, LinkStats};
use dumbbell_net::{DropReason, Link, Offer, Packet};
use dumbbell_units::Time;
use dumbbell_units::spec::SpecError;
use std::collections::VecDeque;

/// Direction of a packet on the paths of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the sender of the flow to its receiver.
    Forward,
    /// Back.
    Reverse,
}

/// A packet that has arrived at the end of its path.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<P> {
    /// Time of arrival, no later than that of the poll.
    pub at: Time,
    /// Index of its flow in the scenario.
    pub flow: u32,
    /// Its direction.
    pub direction: Direction,
    /// The packet, with the ECN codepoint and the queueing time that the links gave it.
    pub packet: Packet<P>,
}

/// A packet that a link has dropped.
#[derive(Clone, Copy, Debug)]
pub struct Loss<P> {
    /// Time of the drop. A FIFO link that loses a packet by an impairment states the time of its entry.
    pub at: Time,
    /// Index of the link in the scenario.
    pub link: u32,
    /// Its reason.
    pub reason: DropReason,
    /// Index of the packet's flow in the scenario.
    pub flow: u32,
    /// Its direction.
    pub direction: Direction,
    /// The packet.
    pub packet: Packet<P>,
}

/// What happens to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// It enters.
    Enters,
    /// Its transmission ends, and it goes on.
    Departs,
    /// The link drops it; an impairment does at the end of the transmission.
    Dropped(DropReason),
}

/// One step of a packet at a link, for records of backlogs by flow.
///
/// A packet enters a link and then either departs or is dropped. The events of one link are not in order of time: a
/// FIFO link states the departure, which is in the future, together with the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// Time of the step.
    pub at: Time,
    /// Index of the link in the scenario.
    pub link: u32,
    /// Index of the packet's flow in the scenario.
    pub flow: u32,
    /// Its direction.
    pub direction: Direction,
    /// Its size on the wire, in bytes.
    pub size: u32,
    /// The step.
    pub crossing: Crossing,
}

/// The owner of a packet: its flow and direction.
fn owner_of(flow: u32, direction: Direction) -> u32 {
    flow << 1 | u32::from(direction == Direction::Reverse)
}

/// The flow and direction of a packet.
fn flow_of(owner: u32) -> (u32, Direction) {
    (owner >> 1, if owner & 1 == 0 { Direction::Forward } else { Direction::Reverse })
}

/// The network, and what has happened there that the driver does not know yet.
#[derive(Clone, Debug)]
struct Carrier<P> {
    network: Network<P>,
    delivered: VecDeque<Delivery<P>>,
    lost: VecDeque<Loss<P>>,
    /// Steps at links, if they are watched.
    link_events: Option<VecDeque<LinkEvent>>,
    conservation: Conservation,
}

impl<P: Copy> Carrier<P> {
    fn note(&mut self, at: Time, link: u32, packet: &Packet<P>, crossing: Crossing) {
        if let Some(events) = &mut self.link_events {
            let (flow, direction) = flow_of(packet.owner);
            events.push_back(LinkEvent { at, link, flow, direction, size: packet.size, crossing });
        }
    }

    /// A packet reaches the end of its path.
    fn deliver(&mut self, at: Time, slot: u32) {
        let packet = self.network.in_flight.take(slot);
        let (flow, direction) = flow_of(packet.owner);
        self.conservation.delivered += 1;
        self.delivered.push_back(Delivery { at, flow, direction, packet });
    }

    /// Packets arrive over a link that does not keep them in order.
    fn on_unordered(&mut self, link: u32) {
        let now = self.network.now;
        let Some(number) = self.network.in_flight.begin_unordered(link, now) else { return };
        let next =
            |network: &mut Network<P>| network.in_flight.next_unordered(&mut network.events, number, now);
        while let Some(slot) = next(&mut self.network) {
            self.deliver(now, slot);
        }
    }

    /// Handles the next event.
    fn handle(&mut self, at: Time, event: Event) {
        self.network.now = at;
        self.network.current_link = u32::MAX;
        match event {
            Event::Arrival(link) => {
                let arrived = self.network.in_flight.pop(link);
                self.network.events.postpone_arrival(arrived.and_then(|(_, next)| next));
                if let Some((slot, _)) = arrived {
                    self.deliver(at, slot);
                }
            }
            other => {
                self.network.events.pop_other();
                match other {
                    Event::Departure(link) => self.on_departure(link),
                    Event::Unordered(link) => self.on_unordered(link),
                    Event::Merge(link) => self.on_merge(link),
                    // These belong to hosts, which are outside.
                    Event::Arrival(_)
                    | Event::Deadline(_)
                    | Event::Write(_)
                    | Event::Flow(_)
                    | Event::Stack(_)
                    | Event::CarriedWrite(_) => {}
                }
            }
        }
    }

    /// Handles the next event up to `now`; false if there is none.
    fn step(&mut self, now: Time) -> bool {
        let next = self.network.events.peek().filter(|&(at, _)| at <= now);
        next.inspect(|&(at, event)| self.handle(at, event)).is_some()
    }
}

impl<P: Copy> Forwarding<P> for Carrier<P> {
    fn network(&self) -> &Network<P> {
        &self.network
    }

    fn network_mut(&mut self) -> &mut Network<P> {
        &mut self.network
    }

    fn on_drop(&mut self, packet: &Packet<P>, drop: &LinkDrop) {
        let &LinkDrop { at, link, reason, .. } = drop;
        let (flow, direction) = flow_of(packet.owner);
        self.conservation.dropped += 1;
        self.lost.push_back(Loss { at, link, reason, flow, direction, packet: *packet });
        if self.is_scheduled(link) {
            self.note(at, link, packet, Crossing::Dropped(reason));
        }
    }

    fn on_duplicate(&mut self, packet: &Packet<P>) -> Packet<P> {
        self.conservation.duplicated += 1;
        *packet
    }

    /// Receivers are outside and answer when they do.
    fn answers_at(&self, _at: Time) -> bool {
        false
    }

    fn answer(&mut self, _at: Time, _packet: &mut Packet<P>) -> Option<u32> {
        None
    }

    fn prefetches(&self) -> bool {
        false
    }

    fn prefetch(&self, _slot: u32, _hop: u32, _owner: u32) {}

    fn on_offered(&mut self, index: u32, at: Time, packet: &Packet<P>, offer: &Offer) {
        let now = self.network.now;
        let Link::Fifo(link) = &mut self.network.links[index as usize] else { return };
        // Counting is deferred, and the link would keep all packets since the beginning.
        link.settle(now);
        let departs = link.last_departure();
        self.note(at, index, packet, Crossing::Enters);
        match *offer {
            Offer::Arrives(_) | Offer::ArrivesTwice => self.note(departs, index, packet, Crossing::Departs),
            Offer::Dropped(DropReason::Impairment) => {
                self.note(departs, index, packet, Crossing::Dropped(DropReason::Impairment));
            }
            Offer::Dropped(reason) => self.note(at, index, packet, Crossing::Dropped(reason)),
        }
    }

    fn on_enqueued(&mut self, link: u32, at: Time, packet: &Packet<P>) {
        self.note(at, link, packet, Crossing::Enters);
    }

    fn on_departed(&mut self, link: u32, at: Time, packet: &Packet<P>) {
        self.note(at, link, packet, Crossing::Departs);
    }
}

/// The paths of a scenario's flows over its links, driven by whoever holds the clock. See the [module](self).
#[derive(Clone, Debug)]
pub struct Paths<P> {
    carrier: Carrier<P>,
    /// First hops of each flow's forward and reverse paths.
    begins: Vec<(u32, u32)>,
    /// Future route changes, the next one last.
    reroutes: Vec<NewRoute>,
}

impl<P: Copy> Paths<P> {
    /// The idle links of a scenario. Random losses and queues draw what they draw in a run of the same seed and run
    /// number. Counters cover the measurement window of the scenario.
    ///
    /// # Errors
    ///
    /// A flow has no path. The error names the field, its value and what is accepted.
    pub fn new(scenario: &Scenario, seed: u64, run: u64) -> Result<Self, SpecError> {
        let routes = Routes::new(scenario)?;
        let mut network = Network::new(scenario, &routes, (seed, run));
        // The end of a run in real time is not known: counters must be right whenever they are read.
        network.links.iter_mut().for_each(|link| link.expect_early_end(Time::ZERO));
        network.hops = routes.hops;
        let carrier = Carrier {
            network,
            delivered: VecDeque::new(),
            lost: VecDeque::new(),
            link_events: None,
            conservation: Conservation::default(),
        };
        Ok(Paths { carrier, begins: routes.begins, reroutes: routes.reroutes })
    }

    /// A packet of a flow enters the first link of its path at `at`, or at the time of the latest event, whichever is
    /// later. Returns the time of entry; `None` if the flow has no path in this direction, as a flow of datagrams
    /// without a stated `reverse_path`.
    ///
    /// `flow` is the index of the flow in the scenario. The packet's `owner` is set. Its `flow` is what queues
    /// distinguish flows by: equal for packets of one connection and direction.
    pub fn enter(&mut self, at: Time, flow: u32, direction: Direction, packet: &Packet<P>) -> Option<Time> {
        while self.carrier.step(at) {}
        let network = &mut self.carrier.network;
        let at = at.max(network.now);
        while let Some(change) = self.reroutes.pop_if(|change| change.at <= at) {
            self.begins[change.flow as usize] = change.begins;
        }
        let &(forward, reverse) = self.begins.get(flow as usize)?;
        let begin = if direction == Direction::Forward { forward } else { reverse };
        if begin == NOWHERE {
            return None;
        }
        network.now = at;
        network.current_link = u32::MAX;
        self.carrier.conservation.sent += 1;
        self.carrier.send(begin, Packet { owner: owner_of(flow, direction), ..*packet });
        Some(at)
    }

    /// Time of the next poll; [`Time::NEVER`] if no packet is on its way. The poll may return nothing: links also need
    /// it to take in arrivals.
    pub fn next_deadline(&self) -> Time {
        let event = self.carrier.network.events.peek().map_or(Time::NEVER, |(at, _)| at);
        self.carrier.delivered.front().map_or(event, |delivery| delivery.at.min(event))
    }

    /// The next packet that has arrived at the end of its path by `now`, in order of arrival.
    pub fn poll(&mut self, now: Time) -> Option<Delivery<P>> {
        while self.carrier.delivered.is_empty() && self.carrier.step(now) {}
        self.carrier.delivered.front().filter(|delivery| delivery.at <= now)?;
        self.carrier.delivered.pop_front()
    }

    /// The next packet that a link has dropped. Drops are in order of time for each link, but not across links.
    pub fn poll_loss(&mut self) -> Option<Loss<P>> {
        self.carrier.lost.pop_front()
    }

    /// Records what happens at links from now on, for [`poll_link_event`](Self::poll_link_event).
    pub fn watch_links(&mut self) {
        self.carrier.link_events.get_or_insert_default();
    }

    /// The next step of a packet at a link, if links are watched.
    pub fn poll_link_event(&mut self) -> Option<LinkEvent> {
        self.carrier.link_events.as_mut()?.pop_front()
    }

    /// Handles everything up to `now`, including arrivals at links that would be taken in later. Counters and backlogs
    /// are then those of `now`, and no packet enters before `now` any more.
    pub fn settle(&mut self, now: Time) {
        while self.carrier.step(now) {}
        let network = &mut self.carrier.network;
        network.now = network.now.max(now);
        network.current_link = u32::MAX;
        let now = network.now;
        self.carrier.merge_all_arrived();
        self.carrier.network.links.iter_mut().for_each(|link| link.settle(now));
    }

    /// The run ends at `end`, up to which everything is handled and counted.
    pub fn end(&mut self, end: Time) {
        self.settle(end);
        self.carrier.network.links.iter_mut().for_each(|link| link.end(end));
    }

    /// Counters of a link, given by its index in the scenario, up to the latest [`settle`](Self::settle) or
    /// [`end`](Self::end).
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn stats(&self, link: u32) -> &LinkStats {
        self.carrier.network.links[link as usize].stats()
    }

    /// The distribution of queueing times of a link, if it records it.
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn waits(&self, link: u32) -> Option<&Waits> {
        self.carrier.network.links[link as usize].waits()
    }

    /// Records changes of a link's backlog for [`take_backlog`](Self::take_backlog), which the driver must call now and
    /// then, because they are kept until taken.
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn trace_backlog(&mut self, link: u32) {
        self.carrier.network.links[link as usize].records_mut().trace_backlog();
    }

    /// Changes of a link's backlog up to the latest [`settle`](Self::settle) or event, if they are traced.
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn take_backlog(&mut self, link: u32) -> Vec<BacklogChange> {
        let network = &mut self.carrier.network;
        network.links[link as usize].take_changes(network.now)
    }

    /// Packets so far: entered, delivered, dropped, and in flight.
    pub fn conservation(&self) -> Conservation {
        let in_flight = self.carrier.network.packet_count() as u64;
        Conservation { in_flight, ..self.carrier.conservation }
    }
}
