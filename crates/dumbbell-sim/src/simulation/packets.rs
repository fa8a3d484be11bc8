//! Packets: entering links, leaving links, drops, delivery.

use super::payload::Payload;
use super::{Connection, Drop, Simulation};
use crate::in_flight::Arrived;
use crate::network::After;
use crate::trace::Measure;
use dumbbell_net::{DropReason, Link, Offer, Packet, PacketKind};
use dumbbell_tcp::AckSegment;
use dumbbell_units::{Ecn, Time};

/// With more connections than this, the data of a connection has left the caches since its last packet.
const CACHED_CONNECTIONS: usize = 4000;
/// How many packets ahead a merge point prefetches.
const PREFETCH_DISTANCE: usize = 3;

/// The token of a packet at a scheduled link.
fn token_of(hop: u32, place: u32) -> u64 {
    u64::from(hop) << 32 | u64::from(place)
}

/// The hop at which a scheduled link holds a packet, and its slot.
pub(super) fn hop_and_place(token: u64) -> (u32, u32) {
    ((token >> 32) as u32, token as u32)
}

impl Simulation<'_> {
    #[inline]
    pub(super) fn on_arrival(&mut self, link: u32) {
        let Some((place, next)) = self.in_flight.land(link) else {
            self.events.postpone_arrival(None);
            return;
        };
        self.events.postpone_arrival(next.map(|next| next.at));
        if let Some(next) = next
            && self.connections.len() > CACHED_CONNECTIONS
        {
            self.prefetch(next.place, next.owner, |connection| connection.sender.prefetch());
        }
        let packet = self.in_flight.take(place);
        self.deliver(packet);
    }

    pub(super) fn on_merge(&mut self, link: u32) {
        let Some(number) = self.in_flight.merge_point(link) else { return };
        if self.in_flight.begin_merge(number, self.now) {
            self.merge_arrived(number);
            self.in_flight.end_merge(&mut self.events, number);
        }
    }

    #[inline(never)]
    pub(super) fn on_departure(&mut self, link: u32) {
        if let Some(number) = self.in_flight.merge_point(link) {
            self.depart(number);
        }
    }

    /// Merges arrivals from other links at a link, up to the current event.
    fn merge_arrived(&mut self, number: u32) {
        if self.is_scheduled(self.in_flight.link(number)) {
            self.enqueue_arrived(number);
            self.depart(number);
            return;
        }
        while let Some(arrived) = self.next_arrived(number) {
            let packet = self.in_flight.take(arrived.place);
            self.forward(arrived.at, arrived.hop + 1, packet);
        }
    }

    /// Enqueues arrivals from other links at a scheduled link, up to the current event; the slot is the token.
    #[inline(never)]
    fn enqueue_arrived(&mut self, number: u32) {
        while let Some(arrived) = self.next_arrived(number) {
            let hop = arrived.hop + 1;
            if let Link::Scheduled(link) = &mut self.links[self.hops[hop as usize].link as usize] {
                link.enqueue(arrived.at, token_of(hop, arrived.place), self.in_flight.packet(arrived.place));
            }
        }
    }

    /// The next packet that has arrived at a merge point before the current event.
    #[inline(always)]
    fn next_arrived(&mut self, number: u32) -> Option<Arrived> {
        let arrived = self.in_flight.next_arrived(number, self.now, self.current_link)?;
        if self.connections.len() > CACHED_CONNECTIONS
            && let Some((place, owner)) = self.in_flight.pending(number, PREFETCH_DISTANCE)
        {
            self.prefetch(place, owner, |connection| connection.receiver.prefetch());
        }
        Some(arrived)
    }

    #[inline]
    fn is_scheduled(&self, link: u32) -> bool {
        matches!(self.links[link as usize], Link::Scheduled(_))
    }

    /// Forwards packets that have departed from a scheduled link by now, and counts its drops.
    #[inline(never)]
    fn depart(&mut self, number: u32) {
        let index = self.in_flight.link(number);
        while let Link::Scheduled(link) = &mut self.links[index as usize] {
            let Some(departed) = link.poll_departure(self.now) else {
                let next = link.next_departure();
                self.in_flight.schedule_departure(&mut self.events, number, next);
                self.take_drops(index);
                return;
            };
            if let Some(next) = link.next_token() {
                self.in_flight.prefetch(hop_and_place(next).1);
            }
            let (hop, place) = hop_and_place(departed.token);
            let mut packet = self.in_flight.take(place);
            // Most packets leave unchanged, and an unmodified packet is copied faster.
            if packet.ecn != departed.ecn {
                packet.ecn = departed.ecn;
            }
            if departed.waited > Time::ZERO {
                packet.queueing += departed.waited;
            }
            self.continue_from(departed.arrives, hop, packet);
        }
    }

    /// Counts what a scheduled link has dropped.
    fn take_drops(&mut self, index: u32) {
        while let Link::Scheduled(link) = &mut self.links[index as usize]
            && let Some(dropped) = link.poll_drop()
        {
            let packet = self.in_flight.take(hop_and_place(dropped.token).1);
            let is_impaired = dropped.reason == DropReason::Impairment;
            self.on_drop(dropped.at, index, &packet, is_impaired.then_some(dropped.data_seen));
        }
    }

    /// Prefetches a packet that is handled soon, and the data of its connection.
    #[inline(never)]
    fn prefetch(&self, place: u32, owner: u32, of_connection: impl Fn(&Connection)) {
        self.in_flight.prefetch(place);
        // The owner of a datagram is a flow; the prefetch is then useless but harmless.
        self.connections.get(owner as usize).inspect(|connection| of_connection(connection));
    }

    /// Merges arrivals at all links, up to the current event.
    pub(super) fn merge_all_arrived(&mut self) {
        (0..self.in_flight.merge_points()).for_each(|number| self.merge_arrived(number));
    }

    /// A host sends a packet on the path that begins with this hop.
    #[inline]
    pub(super) fn send(&mut self, begin: u32, packet: Packet<Payload>) {
        match self.in_flight.merge_point(self.hops[begin as usize].link) {
            Some(number) => self.send_after_others(number, begin, packet),
            None => self.forward(self.now, begin, packet),
        }
    }

    /// The same if the first link is also fed by other links.
    #[inline(never)]
    fn send_after_others(&mut self, number: u32, begin: u32, packet: Packet<Payload>) {
        self.merge_arrived(number);
        self.forward(self.now, begin, packet);
        if self.is_scheduled(self.in_flight.link(number)) {
            self.depart(number);
        }
    }

    /// A packet enters a link and all following links in its chain. If a receiver answers ahead of the clock, the
    /// answer continues instead. A scheduled link keeps the packet until it departs.
    #[inline]
    fn forward(&mut self, mut at: Time, mut number: u32, mut packet: Packet<Payload>) {
        loop {
            let hop = self.hops[number as usize];
            let offer = match &mut self.links[hop.link as usize] {
                Link::Fifo(link) => link.offer(at, &mut packet),
                Link::Scheduled(link) => {
                    let token = token_of(number, self.in_flight.put(&packet));
                    link.enqueue(at, token, &packet);
                    return;
                }
            };
            match offer {
                Offer::Arrives(arrival) if hop.after == After::Chained => {
                    number += 1;
                    at = arrival;
                    continue;
                }
                Offer::Arrives(arrival)
                    if hop.after == After::Receiver && arrival <= self.scenario.duration =>
                {
                    if let Some(begin) = self.answer(arrival, &mut packet) {
                        number = begin;
                        at = arrival;
                        continue;
                    }
                }
                Offer::Arrives(arrival) => {
                    self.in_flight.launch(&mut self.events, (number, hop), arrival, &packet);
                }
                Offer::Dropped(reason) => {
                    let is_impaired = reason == DropReason::Impairment;
                    let data_seen = is_impaired.then(|| self.data_seen(hop.link));
                    self.on_drop(at, hop.link, &packet, data_seen);
                }
            }
            return;
        }
    }

    /// A packet has left the scheduled link of a hop, of this number, and reaches its far end at `arrival`.
    fn continue_from(&mut self, arrival: Time, number: u32, packet: Packet<Payload>) {
        let hop = self.hops[number as usize];
        if hop.after == After::Chained {
            self.forward(arrival, number + 1, packet);
        } else {
            self.in_flight.launch(&mut self.events, (number, hop), arrival, &packet);
        }
    }

    /// Number of the last data packet that reached the impairments of a FIFO link.
    #[cold]
    fn data_seen(&self, link: u32) -> u64 {
        match &self.links[link as usize] {
            Link::Fifo(link) => link.data_seen(),
            Link::Scheduled(_) => 0,
        }
    }

    /// A packet reaches its receiver at a future time. See [`receive`](Self::receive).
    #[inline]
    fn answer(&mut self, at: Time, packet: &mut Packet<Payload>) -> Option<u32> {
        let owner = packet.owner;
        let connection = &self.connections[owner as usize];
        let due = connection.receiver.next_deadline();
        if due < at && connection.generation == packet.generation {
            self.acknowledge_late(due, owner);
        }
        let begin = self.receive(at, packet);
        if begin.is_none() {
            self.arm(owner);
        }
        begin
    }

    /// A delayed acknowledgement is due before the next segment arrives.
    #[inline(never)]
    fn acknowledge_late(&mut self, due: Time, owner: u32) {
        if let Some(ack) = self.connections[owner as usize].receiver.on_deadline(due) {
            self.note_at(due, 4 << 32 | u64::from(owner), 0);
            let (begin, packet) = self.packet_of(owner, &ack);
            self.forward(due, begin, packet);
        }
    }

    /// A link drops a packet at `at`. Each link reports its drops in order of time, but one may be ahead of the clock
    /// and another behind it. `data_seen` counts the data packets that the link's impairments have seen, if one of them
    /// drops the packet.
    #[cold]
    fn on_drop(&mut self, at: Time, link: u32, packet: &Packet<Payload>, data_seen: Option<u64>) {
        if at <= self.scenario.duration {
            self.record_drop(at, link, data_seen.filter(|_| packet.kind.is_data()));
        }
        let (flow, is_segment) = match packet.kind {
            PacketKind::Syn => (Some(packet.payload.flow()), false),
            PacketKind::Data => {
                if self.hot_flows[packet.payload.flow() as usize].is_traced {
                    self.record_loss(at, packet);
                }
                (Some(packet.payload.flow()), true)
            }
            PacketKind::Datagram => (Some(packet.owner), true),
            PacketKind::Ack => {
                self.reports.release(&packet.payload);
                (None, false)
            }
        };
        let drop = Drop { at, flow, is_segment };
        if at <= self.horizon() { self.count_drop(&drop) } else { self.unsettled_drops.push(drop) }
    }

    /// `lost` is the number of a data packet that an impairment lost.
    fn record_drop(&mut self, at: Time, link: u32, lost: Option<u64>) {
        for &probe in &self.link_probes[link as usize] {
            let recording = &mut self.recordings[probe as usize];
            if recording.quantity.is(Measure::Drops) {
                let dropped = recording.last().unwrap_or(0.0) + 1.0;
                recording.record(at, Some(dropped));
            } else if recording.quantity.is(Measure::Losses)
                && let Some(lost) = lost
            {
                recording.record(at, Some(lost as f64));
            }
        }
    }

    fn count_drop(&mut self, drop: &Drop) {
        self.conservation.dropped += 1;
        self.measured_drops += u64::from(self.window.contains(drop.at));
        if let Some(flow) = drop.flow {
            let state = &mut self.flows[flow as usize];
            state.packets_dropped += 1;
            if self.window.contains(drop.at) {
                state.segments_lost += u64::from(drop.is_segment);
            }
        }
    }

    /// Counts deferred drops up to now.
    pub(super) fn settle_counts(&mut self) {
        let now = self.now;
        let due: Vec<Drop> = self.unsettled_drops.extract_if(.., |drop| drop.at <= now).collect();
        due.iter().for_each(|drop| self.count_drop(drop));
        self.links.iter_mut().for_each(|link| link.settle(now));
    }

    #[inline]
    pub(super) fn deliver(&mut self, mut packet: Packet<Payload>) {
        match packet.kind {
            PacketKind::Data | PacketKind::Syn => {
                if let Some(begin) = self.receive(self.now, &mut packet) {
                    self.send(begin, packet);
                } else {
                    self.arm(packet.owner);
                }
            }
            PacketKind::Ack => {
                self.conservation.delivered += 1;
                let ack = self.reports.take(&packet);
                self.note(2 << 32 | u64::from(packet.owner), ack.ack);
                let connection = &mut self.connections[packet.owner as usize];
                if connection.generation == packet.generation && connection.is_open {
                    connection.sender.on_ack(self.now, &ack, packet.queueing);
                    self.pump(packet.owner);
                }
            }
            PacketKind::Datagram => {
                self.conservation.delivered += 1;
                self.hot_flows[packet.owner as usize].undelivered -= 1;
                self.note(3 << 32 | u64::from(packet.owner), u64::from(packet.size));
                self.count_delivered(self.now, packet.owner, u64::from(packet.size), packet.timestamp);
            }
        }
    }

    /// A segment reaches its receiver. If the receiver immediately sends an acknowledgement, the packet is reused for
    /// it, and the first hop of its path is returned.
    #[inline]
    fn receive(&mut self, at: Time, packet: &mut Packet<Payload>) -> Option<u32> {
        let segment = packet.payload.segment(packet.ecn);
        self.conservation.delivered += 1;
        self.hot_flows[packet.payload.flow() as usize].undelivered -= 1;
        self.note_at(at, 1 << 32 | u64::from(packet.owner), segment.seq);
        let connection = &mut self.connections[packet.owner as usize];
        if connection.generation != packet.generation || !connection.is_open {
            return None;
        }
        let before = connection.receiver.rcv_nxt();
        let ack = connection.receiver.on_segment(at, &segment, packet.timestamp, packet.queueing);
        let delivered = connection.receiver.rcv_nxt() - before;
        let flow = connection.flow;
        self.count_delivered(at, flow, delivered, packet.timestamp);
        ack.map(|ack| self.put_acknowledgement(packet, flow, &ack))
    }

    /// New bytes have reached the application of a flow, with a packet that left at `sent`.
    #[inline]
    fn count_delivered(&mut self, at: Time, flow: u32, bytes: u64, sent: Time) {
        let is_measured = self.window.contains(at);
        let hot = &mut self.hot_flows[flow as usize];
        if is_measured {
            hot.bytes_delivered += bytes;
            hot.last_delivery = at;
        }
        if hot.is_followed {
            self.follow_delivery(flow, bytes, sent, is_measured);
        }
    }

    #[cold]
    fn follow_delivery(&mut self, flow: u32, bytes: u64, sent: Time, is_measured: bool) {
        if is_measured {
            self.bridge_pauses(flow, sent);
        }
        let hot = &mut self.hot_flows[flow as usize];
        if hot.is_traced {
            hot.delivered += bytes;
            let delivered = hot.delivered as f64;
            self.record(flow, Measure::Delivered, Some(delivered));
        }
    }

    /// The packet of an acknowledgement, and the first hop of its path.
    pub(super) fn packet_of(&mut self, owner: u32, ack: &AckSegment) -> (u32, Packet<Payload>) {
        let Connection { flow, generation, label, .. } = self.connections[owner as usize];
        let mut packet = Packet {
            size: 0,
            owner,
            generation,
            kind: PacketKind::Ack,
            ecn: Ecn::NotEct,
            flow: label,
            timestamp: Time::ZERO,
            queueing: Time::ZERO,
            payload: Payload::default(),
        };
        (self.put_acknowledgement(&mut packet, flow, ack), packet)
    }

    /// Puts an acknowledgement into a packet of the same connection, and returns the first hop of its path. Acknowledgements are not
    /// ECN-capable (RFC 3168 §6.1.4).
    #[inline]
    fn put_acknowledgement(&mut self, packet: &mut Packet<Payload>, flow: u32, ack: &AckSegment) -> u32 {
        self.conservation.sent += 1;
        let hot = &self.hot_flows[flow as usize];
        packet.size = hot.sizes.acknowledgement(&ack.sack);
        packet.kind = PacketKind::Ack;
        packet.ecn = Ecn::NotEct;
        // The reverse path is a separate flow.
        packet.flow = !packet.flow;
        packet.timestamp = ack.timestamp_echo;
        packet.queueing = Time::ZERO;
        packet.payload = self.reports.carry(ack);
        hot.begins.1
    }
}
