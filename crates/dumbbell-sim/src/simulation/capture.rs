//! Collects packets at nodes and states of senders for a tap, see [`capture`](crate::capture).
//!
//! Packets are handled ahead of the clock and behind it, so sightings wait until no earlier one can follow: a merge point
//! handles an arrival at most one propagation delay late. Those that wait are about packets in flight, so they need as much
//! memory as these.

use super::connections::Connection;
use super::payload::{Payload, Reports};
use super::stacks::CarriedPacket;
use crate::capture::{Content, Seen, SeenPacket, SenderState, Sighting, Tap, Watch};
use crate::network::Names;
use crate::scenario::Scenario;
use crate::transport::{End, Shown};
use dumbbell_net::{Packet, PacketKind};
use dumbbell_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// Later connections in a slot after which no packet of a connection is left.
const REMEMBERED: u16 = 1 << 12;

/// A sighting that waits, in order of time and of becoming known.
#[derive(Clone, Debug)]
struct Waiting(Sighting, u64);

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.at, self.1).cmp(&(other.0.at, other.1))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

/// A connection whose packets may be under way.
#[derive(Clone, Copy, Debug)]
struct Known {
    flow: u32,
    number: u64,
    /// When the latest acknowledgement that has reached the sender was sent.
    echo: Option<Time>,
}

/// What is watched, and what was seen.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    is_watched: Vec<bool>,
    watches_senders: bool,
    /// The node that each link leaves.
    begins: Vec<u32>,
    /// The nodes of each flow.
    ends: Vec<(u32, u32)>,
    /// Connections by slot and generation.
    connections: BTreeMap<(u32, u16), Known>,
    /// What connections of stacks showed last, by flow and number.
    shown: BTreeMap<(u32, u64), Shown>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    serial: u64,
}

impl Capture {
    pub(super) fn new(scenario: &Scenario, watch: Watch) -> Self {
        let nodes = Names::new(scenario.node_names());
        let index = |name: &str| nodes.index(name).map_or(u32::MAX, |node| node as u32);
        let mut is_watched = vec![false; scenario.nodes.len()];
        for node in watch.nodes {
            if let Some(is_watched) = is_watched.get_mut(node) {
                *is_watched = true;
            }
        }
        Capture {
            is_watched,
            watches_senders: watch.senders,
            begins: scenario.links.iter().map(|link| index(&link.from)).collect(),
            ends: scenario.flows.iter().map(|flow| (index(&flow.from), index(&flow.to))).collect(),
            connections: BTreeMap::new(),
            shown: BTreeMap::new(),
            waiting: BinaryHeap::new(),
            serial: 0,
        }
    }

    fn push(&mut self, sighting: Sighting) {
        self.waiting.push(Reverse(Waiting(sighting, self.serial)));
        self.serial += 1;
    }

    /// The earliest sighting, if it is before `end`.
    fn pop_before(&mut self, end: Time) -> Option<Sighting> {
        self.waiting.peek().filter(|Reverse(first)| first.0.at < end)?;
        self.waiting.pop().map(|Reverse(Waiting(sighting, _))| sighting)
    }

    /// The flow of a packet, and the number of its connection. `None` for a packet of a forgotten connection.
    fn identity(&self, packet: &Packet<Payload>, carried: Option<&CarriedPacket>) -> Option<(u32, u64)> {
        if let Some(carried) = carried {
            return Some((packet.owner, carried.connection));
        }
        if matches!(packet.kind, PacketKind::Datagram | PacketKind::Report) {
            return Some((packet.owner, 0));
        }
        let known = self.connections.get(&(packet.owner, packet.generation))?;
        Some((known.flow, known.number))
    }

    /// A connection was opened in a slot, as the flow's connection of this number.
    #[cold]
    #[inline(never)]
    pub(super) fn see_opened(&mut self, owner: u32, connection: &Connection, number: u64) {
        let &Connection { flow, generation, .. } = connection;
        self.connections.remove(&(owner, generation.wrapping_sub(REMEMBERED)));
        self.connections.insert((owner, generation), Known { flow, number, echo: None });
    }

    /// A segment is sent: it carries what its timestamps say.
    #[cold]
    #[inline(never)]
    pub(super) fn note_echo(&self, packet: &mut Packet<Payload>) {
        let known = self.connections.get(&(packet.owner, packet.generation));
        packet.payload.note_echo(known.and_then(|known| known.echo));
    }

    /// A packet enters a link at `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn see_entering(
        &mut self,
        link: u32,
        at: Time,
        (packet, carried): (&Packet<Payload>, Option<CarriedPacket>),
        reports: &mut Reports,
    ) {
        let Some(identity) = self.identity(packet, carried.as_ref()) else { return };
        if packet.kind == PacketKind::Ack {
            reports.note_sent(&packet.payload, at);
        }
        self.see((at, self.begins[link as usize]), identity, (packet, carried), reports);
    }

    /// A packet arrives at the host to which it is addressed.
    #[cold]
    #[inline(never)]
    pub(super) fn see_arrived(
        &mut self,
        at: Time,
        (packet, carried): (&Packet<Payload>, Option<CarriedPacket>),
        reports: &Reports,
    ) {
        let Some((flow, number)) = self.identity(packet, carried.as_ref()) else { return };
        let (from, to) = self.ends[flow as usize];
        let is_back = match carried {
            Some(_) => packet.payload.to() == End::Sender,
            None => matches!(packet.kind, PacketKind::Ack | PacketKind::Report),
        };
        if packet.kind == PacketKind::Ack
            && let Some(known) = self.connections.get_mut(&(packet.owner, packet.generation))
        {
            known.echo = known.echo.max(Some(reports.sent(&packet.payload)));
        }
        self.see((at, if is_back { from } else { to }), (flow, number), (packet, carried), reports);
    }

    /// A packet is at a node.
    fn see(
        &mut self,
        (at, node): (Time, u32),
        (flow, connection): (u32, u64),
        (packet, carried): (&Packet<Payload>, Option<CarriedPacket>),
        reports: &Reports,
    ) {
        let is_at_sender = node == self.ends[flow as usize].0;
        let is_of_sender = is_at_sender && self.watches_senders && connection > 0;
        if !is_of_sender && !self.is_watched.get(node as usize).is_some_and(|&is_watched| is_watched) {
            return;
        }
        let payload = &packet.payload;
        let (sent, echo, content) = match packet.kind {
            PacketKind::Data | PacketKind::Syn => {
                (packet.timestamp, payload.echo(), Content::Segment(payload.segment(packet.ecn)))
            }
            PacketKind::Ack => {
                (reports.sent(payload), Some(packet.timestamp), Content::Ack(reports.read(packet)))
            }
            PacketKind::Datagram => (packet.timestamp, None, Content::Datagram),
            PacketKind::Report => (packet.timestamp, None, Content::Report(payload.report())),
            PacketKind::CarriedData | PacketKind::CarriedControl => {
                let bytes = carried.map(|carried| carried.bytes).unwrap_or_default();
                (packet.timestamp, None, Content::Carried { to: payload.to(), bytes })
            }
        };
        let seen = Seen::Packet(SeenPacket { size: packet.size, ecn: packet.ecn, sent, echo, content });
        self.push(Sighting { at, node, is_at_sender, flow, connection, seen });
    }

    /// The sender of a connection has changed, or is about to send.
    #[cold]
    #[inline(never)]
    pub(super) fn see_sender(&mut self, at: Time, owner: u32, connection: &Connection) {
        let Connection { flow, generation, sender, .. } = connection;
        let Some(known) = self.connections.get(&(owner, *generation)) else { return };
        if self.watches_senders {
            let (node, connection) = (self.ends[*flow as usize].0, known.number);
            let seen = Seen::Sender(SenderState::of(sender));
            self.push(Sighting { at, node, is_at_sender: true, flow: *flow, connection, seen });
        }
    }

    /// True if the states of senders are reported.
    pub(super) fn watches_senders(&self) -> bool {
        self.watches_senders
    }

    /// A connection of a stack shows this after something has happened to its flow.
    #[cold]
    pub(super) fn see_shown(&mut self, at: Time, (flow, connection): (u32, u64), shown: &Shown) {
        if self.watches_senders && self.shown.insert((flow, connection), *shown) != Some(*shown) {
            let (node, seen) = (self.ends[flow as usize].0, Seen::Shown(*shown));
            self.push(Sighting { at, node, is_at_sender: true, flow, connection, seen });
        }
    }

    /// Reports what was seen before `end`. Nothing that is seen later may precede it.
    pub(super) fn report_before(&mut self, end: Time, tap: &dyn Tap) {
        tap.take(&mut std::iter::from_fn(|| self.pop_before(end)));
    }
}
