//! Packets at hosts: drops, delivery, and answers. See [`forwarding`](crate::forwarding) for packets on links.

use super::Simulation;
use super::connections::Connection;
use super::ledger::Drop;
use super::payload::Payload;
use crate::events::{Event, Noted};
use crate::forwarding::{Forwarding, LinkDrop, Network};
use crate::network::After;
use crate::quantity::Measure;
use dumbbell_net::{Link, Packet, PacketKind};
use dumbbell_tcp::AckSegment;
use dumbbell_units::{Ecn, Time};

impl Forwarding<Payload> for Simulation<'_> {
    #[inline(always)]
    fn network(&self) -> &Network<Payload> {
        &self.network
    }

    #[inline(always)]
    fn network_mut(&mut self) -> &mut Network<Payload> {
        &mut self.network
    }

    #[cold]
    fn on_drop(&mut self, packet: &Packet<Payload>, drop: &LinkDrop) {
        let &LinkDrop { at, link, data_seen, .. } = drop;
        if at <= self.scenario.duration {
            self.probes.record_drop(at, link, data_seen.filter(|_| packet.kind.is_data()));
        }
        let (flow, is_segment) = match packet.kind {
            PacketKind::Syn => (Some(packet.payload.flow()), false),
            PacketKind::Data => {
                if self.flows.hot(packet.payload.flow()).is_traced {
                    self.record_loss(at, packet);
                }
                (Some(packet.payload.flow()), true)
            }
            PacketKind::Datagram => (Some(packet.owner), true),
            PacketKind::Ack => {
                self.reports.release(&packet.payload);
                (None, false)
            }
            PacketKind::Report if self.is_echo(packet) => (Some(packet.owner), true),
            PacketKind::Report => (None, false),
            PacketKind::CarriedData | PacketKind::CarriedControl => self.drop_carried(packet),
        };
        self.ledger.enter(Drop { at, flow, is_segment }, self.horizon(), self.window);
    }

    #[cold]
    fn on_duplicate(&mut self, packet: &Packet<Payload>) -> Packet<Payload> {
        self.ledger.count_duplicated();
        let mut copy = *packet;
        match packet.kind {
            PacketKind::Data | PacketKind::Syn => {
                self.flows.hot_mut(packet.payload.flow()).undelivered += 1;
            }
            PacketKind::Report if !self.is_echo(packet) => {}
            PacketKind::Datagram | PacketKind::Report => {
                self.flows.hot_mut(packet.owner).undelivered += 1;
                copy.payload = packet.payload.copied();
            }
            PacketKind::Ack => copy.payload = self.reports.copy(&packet.payload),
            PacketKind::CarriedData | PacketKind::CarriedControl => self.copy_carried(packet),
        }
        copy
    }

    #[inline(always)]
    fn observes_links(&self) -> bool {
        self.capture.is_some()
    }

    #[cold]
    fn on_entering(&mut self, link: u32, at: Time, packet: &Packet<Payload>) {
        if let Some(capture) = &mut self.capture {
            let carried = self.stacks.carried(packet);
            capture.see_entering(link, at, (packet, carried), &mut self.reports);
        }
    }

    #[inline(always)]
    fn answers_at(&self, at: Time) -> bool {
        at <= self.scenario.duration
    }

    #[inline]
    fn answer(&mut self, at: Time, packet: &mut Packet<Payload>) -> Option<u32> {
        let owner = packet.owner;
        if let Some(capture) = &mut self.capture {
            capture.see_arrived(at, (packet, None), &self.reports);
        }
        if self.connections[owner].receiver.is_delaying() {
            self.acknowledge_waiting(at, packet);
        }
        let begin = self.receive(at, packet);
        if begin.is_none() || self.connections[owner].receiver.is_delaying() {
            self.arm(owner);
        }
        begin
    }

    #[inline(always)]
    fn prefetches(&self) -> bool {
        self.connections.are_many()
    }

    #[inline(never)]
    fn prefetch(&self, slot: u32, hop: u32, owner: u32) {
        self.network.in_flight.prefetch(slot);
        self.prefetch_link(hop + 2);
        let leads_to_receiver =
            self.network.hops.get(hop as usize + 2).is_some_and(|hop| hop.after == After::Receiver);
        // The owner of a datagram is a flow; the prefetch is then useless but harmless.
        if leads_to_receiver {
            self.connections.prefetch_receiver(owner);
        }
    }
}

impl Simulation<'_> {
    /// Packets arrive at the host at the far end of a link: the oldest one, or all that are due if the link does not keep
    /// them in order. They are delivered in one place, so that this is compiled into the event loop.
    #[inline]
    pub(super) fn on_arrival(&mut self, link: u32, is_ordered: bool) {
        let number = if is_ordered { None } else { self.begin_unordered(link) };
        let mut next = if is_ordered { self.take_oldest(link) } else { self.next_unordered(number) };
        while let Some(slot) = next {
            if self.capture.is_some() {
                self.see_delivered(slot);
            }
            let packet = self.network.in_flight.take(slot);
            self.deliver(packet);
            next = if is_ordered { None } else { self.next_unordered(number) };
        }
    }

    /// A packet that is stored in a slot arrives at its host now.
    #[cold]
    #[inline(never)]
    fn see_delivered(&mut self, slot: u32) {
        if let Some(capture) = &mut self.capture {
            let packet = self.network.in_flight.packet(slot);
            capture.see_arrived(self.network.now, (packet, self.stacks.carried(packet)), &self.reports);
        }
    }

    /// The slot of the oldest packet on a link.
    #[inline]
    fn take_oldest(&mut self, link: u32) -> Option<u32> {
        let Some((slot, next)) = self.network.in_flight.pop(link) else {
            self.network.events.postpone_arrival(None);
            return None;
        };
        let packet = self.network.in_flight.packet(slot);
        let owner = packet.owner;
        if self.prefetches() {
            self.reports.prefetch(&packet.payload);
        }
        self.network.events.postpone_arrival(next);
        self.prefetch_next(owner);
        Some(slot)
    }

    /// Prefetches what the next event needs, unless it concerns the same connection as the current one.
    #[inline(always)]
    pub(super) fn prefetch_next(&self, current: u32) {
        if self.connections.are_many() {
            self.prefetch_next_event(current);
        }
    }

    // Not inlined: a run with few connections does not need it.
    #[inline(never)]
    fn prefetch_next_event(&self, current: u32) {
        let owner = match self.network.events.peek() {
            Some((_, Event::Arrival(link))) => {
                let Some((slot, owner)) = self.network.in_flight.oldest(link) else { return };
                self.network.in_flight.prefetch(slot);
                owner
            }
            Some((_, Event::Deadline(owner))) => owner,
            _ => return,
        };
        if owner != current {
            self.connections.prefetch(owner);
        }
    }

    /// Prefetches the link of a hop. After the last hop of a route, it is that of another one, which does no harm.
    #[inline]
    fn prefetch_link(&self, hop: u32) {
        if let Some(hop) = self.network.hops.get(hop as usize)
            && let Some(Link::Fifo(link)) = self.network.links.get(hop.link as usize)
        {
            link.prefetch();
        }
    }

    /// Begins the event of a link that does not keep packets in order; `None` if the event is obsolete.
    fn begin_unordered(&mut self, link: u32) -> Option<u32> {
        self.network.events.pop_other();
        self.network.in_flight.begin_unordered(link, self.network.now)
    }

    /// The slot of the next packet that is due on such a link, by the number of the link.
    fn next_unordered(&mut self, number: Option<u32>) -> Option<u32> {
        let network = &mut self.network;
        network.in_flight.next_unordered(&mut network.events, number?, network.now)
    }

    /// A segment arrives at a receiver that answers ahead of the clock while an acknowledgement is delayed, which is due
    /// before or forced out by the segment.
    #[inline(never)]
    fn acknowledge_waiting(&mut self, at: Time, packet: &Packet<Payload>) {
        let connection = &self.connections[packet.owner];
        let due = connection.receiver.next_deadline();
        if due < at && connection.generation == packet.generation {
            self.acknowledge_late(due, packet.owner);
        }
        if let Some((begin, early)) = self.acknowledge_before(at, packet) {
            self.forward(at, begin, early);
        }
    }

    /// A delayed acknowledgement is due before the next segment arrives.
    fn acknowledge_late(&mut self, due: Time, owner: u32) {
        if let Some(ack) = self.connections[owner].receiver.on_deadline(due) {
            self.fingerprint.note(due, Noted::DelayedAck, owner, 0);
            let (begin, packet) = self.packet_of(owner, &ack);
            self.forward(due, begin, packet);
        }
    }

    /// Counts deferred drops up to now.
    pub(super) fn settle_counts(&mut self) {
        let now = self.network.now;
        self.ledger.settle(now, self.window);
        self.network.links.iter_mut().for_each(|link| link.settle(now));
    }

    #[inline(always)]
    fn deliver_segment(&mut self, mut packet: Packet<Payload>) {
        let owner = packet.owner;
        if self.connections[owner].receiver.is_delaying()
            && let Some((begin, early)) = self.acknowledge_before(self.network.now, &packet)
        {
            self.send(begin, early);
        }
        let begin = self.receive(self.network.now, &mut packet);
        if begin.is_none() || self.connections[owner].receiver.is_delaying() {
            self.arm(owner);
        }
        if let Some(begin) = begin {
            self.send(begin, packet);
        }
    }

    #[inline]
    pub(super) fn deliver(&mut self, packet: Packet<Payload>) {
        match packet.kind {
            PacketKind::Data | PacketKind::Syn => self.deliver_segment(packet),
            PacketKind::Ack => {
                self.ledger.count_delivered();
                let window = self.reports.window(&packet.payload);
                let ack = self.reports.take(&packet);
                self.fingerprint.note(self.network.now, Noted::Ack, packet.owner, ack.ack);
                let connection = &mut self.connections[packet.owner];
                if connection.takes(&packet) {
                    if self.journal.is_some() {
                        self.begin_step(packet.owner);
                    }
                    let connection = &mut self.connections[packet.owner];
                    match window {
                        None => connection.sender.on_ack(self.network.now, &ack, packet.queueing),
                        Some(edge) => {
                            let now = self.network.now;
                            connection.sender.on_ack_with_window(now, &ack, packet.queueing, edge);
                        }
                    }
                    if self.journal.is_some() {
                        self.end_ack(packet.owner, &ack);
                    }
                    self.pump(packet.owner);
                }
            }
            PacketKind::Datagram => {
                self.ledger.count_delivered();
                self.flows.hot_mut(packet.owner).undelivered -= 1;
                self.fingerprint.note(
                    self.network.now,
                    Noted::Datagram,
                    packet.owner,
                    u64::from(packet.size),
                );
                let new = if packet.payload.is_copy() { 0 } else { u64::from(packet.size) };
                self.count_delivered(self.network.now, packet.owner, new, &packet);
                if self.flows.hot(packet.owner).has_reports && !packet.payload.is_copy() {
                    self.note_datagram(&packet);
                }
            }
            PacketKind::Report => {
                self.ledger.count_delivered();
                self.fingerprint.note(self.network.now, Noted::Report, packet.owner, u64::from(packet.size));
                self.on_report(&packet);
            }
            PacketKind::CarriedData | PacketKind::CarriedControl => self.deliver_carried(&packet),
        }
    }

    /// The acknowledgement of earlier data that the arrival of a segment forces out, and the first hop of its path.
    #[inline(never)]
    fn acknowledge_before(&mut self, at: Time, packet: &Packet<Payload>) -> Option<(u32, Packet<Payload>)> {
        let connection = &mut self.connections[packet.owner];
        if packet.kind == PacketKind::Syn || !connection.takes(packet) {
            return None;
        }
        let ack = connection.receiver.acknowledge_before(packet.ecn)?;
        self.fingerprint.note(at, Noted::DelayedAck, packet.owner, ack.ack);
        Some(self.packet_of(packet.owner, &ack))
    }

    /// A segment reaches its receiver. If the receiver immediately sends an acknowledgement, the packet is reused for
    /// it, and the first hop of its path is returned.
    #[inline]
    fn receive(&mut self, at: Time, packet: &mut Packet<Payload>) -> Option<u32> {
        let segment = packet.payload.segment(packet.ecn);
        self.ledger.count_delivered();
        self.flows.hot_mut(packet.payload.flow()).undelivered -= 1;
        self.fingerprint.note(at, Noted::Segment, packet.owner, segment.seq);
        let connection = &mut self.connections[packet.owner];
        if !connection.takes(packet) {
            return None;
        }
        let before = connection.receiver.rcv_nxt();
        let ack = connection.receiver.on_segment(at, &segment, packet.timestamp, packet.queueing);
        let delivered = connection.receiver.rcv_nxt() - before;
        let flow = connection.flow;
        self.count_delivered(at, flow, delivered, packet);
        ack.map(|ack| self.put_acknowledgement(packet, flow, &ack))
    }

    /// A packet has reached the receiver of a flow, and new bytes its application.
    #[inline]
    pub(super) fn count_delivered(&mut self, at: Time, flow: u32, bytes: u64, packet: &Packet<Payload>) {
        let is_measured = self.window.contains(at);
        let hot = self.flows.hot_mut(flow);
        if is_measured {
            hot.bytes_delivered += bytes;
            hot.last_delivery = at;
        }
        if hot.is_followed {
            self.follow_delivery(at, flow, bytes, packet);
        }
    }

    #[cold]
    fn follow_delivery(&mut self, at: Time, flow: u32, bytes: u64, packet: &Packet<Payload>) {
        let sent = packet.timestamp;
        if self.window.contains(at) {
            if packet.kind != PacketKind::Syn {
                self.probes.add_delay(flow, at.since(sent));
            }
            self.flows[flow].bridge_pauses(sent);
        }
        if self.reports.keeps_windows() && matches!(packet.kind, PacketKind::Data | PacketKind::Syn) {
            let segment = packet.payload.segment(packet.ecn);
            self.connections[packet.owner].receiver.read(at, &segment, sent);
        }
        if let Some(messages) = &mut self.flows[flow].messages {
            messages.on_delivered(packet.flow, bytes, at);
        }
        let hot = self.flows.hot_mut(flow);
        if hot.is_traced {
            hot.delivered += bytes;
            let delivered = hot.delivered as f64;
            self.probes.record(flow, Measure::Delivered, self.network.now, delivered);
        }
    }

    /// The packet of an acknowledgement, and the first hop of its path.
    #[inline(never)]
    pub(super) fn packet_of(&mut self, owner: u32, ack: &AckSegment) -> (u32, Packet<Payload>) {
        let Connection { flow, generation, label, .. } = self.connections[owner];
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

    /// Lets an acknowledgement that is sent now tell the receive window, if that is not constant.
    #[cold]
    #[inline(never)]
    fn tell_window(&mut self, packet: &Packet<Payload>) {
        if let Some(edge) = self.connections[packet.owner].receiver.tell_window(self.network.now) {
            self.reports.note_window(&packet.payload, edge);
            self.arm(packet.owner);
        }
    }

    /// Puts an acknowledgement into a packet of the same connection, and returns the first hop of its path. Acknowledgements are not
    /// ECN-capable (RFC 3168 §6.1.4).
    #[inline(always)]
    fn put_acknowledgement(&mut self, packet: &mut Packet<Payload>, flow: u32, ack: &AckSegment) -> u32 {
        self.ledger.count_sent();
        let hot = self.flows.hot(flow);
        packet.size = hot.sizes.acknowledgement(&ack.sack);
        packet.kind = PacketKind::Ack;
        packet.ecn = Ecn::NotEct;
        // The reverse path is a separate flow.
        packet.flow = !packet.flow;
        packet.timestamp = ack.timestamp_echo;
        packet.queueing = Time::ZERO;
        let begin = hot.begins.1;
        packet.payload = self.reports.carry(ack);
        if self.reports.keeps_windows() {
            self.tell_window(packet);
        }
        begin
    }
}
