//! Packets: onto links, off links, dropped, delivered.

use super::payload::Payload;
use super::{Drop, Simulation};
use crate::network::After;
use crate::trace::Quantity;
use dumbbell_net::{Offer, Packet, PacketKind};
use dumbbell_tcp::{AckSegment, DataSegment};
use dumbbell_units::Time;

impl Simulation<'_> {
    #[inline]
    pub(super) fn on_arrival(&mut self, link: u32) {
        let Some((packet, next)) = self.wires.land(link) else {
            self.events.postpone_arrival(None);
            return;
        };
        self.events.postpone_arrival(next);
        self.deliver(packet);
    }

    pub(super) fn on_intake(&mut self, link: u32) {
        let Some(number) = self.wires.intake(link) else { return };
        if self.wires.begin_intake(number, self.now) {
            self.take_in(number);
            self.wires.end_intake(&mut self.events, number);
        }
    }

    /// A link takes in what has arrived from other links before the present event.
    fn take_in(&mut self, number: u32) {
        while let Some((at, mut packet)) = self.wires.take_in(number, self.now, self.here) {
            packet.hop += 1;
            self.forward(at, packet);
        }
    }

    /// All links take in what has arrived from others before the present event.
    pub(super) fn settle(&mut self) {
        (0..self.wires.intakes()).for_each(|number| self.take_in(number));
    }

    /// A host sends a packet.
    #[inline]
    pub(super) fn send(&mut self, packet: Packet<Payload>) {
        if let Some(number) = self.wires.intake(self.hops[packet.hop as usize]) {
            self.take_in(number);
        }
        self.forward(self.now, packet);
    }

    /// A packet enters its present link, and every following link that only this one feeds.
    #[inline]
    fn forward(&mut self, mut at: Time, mut packet: Packet<Payload>) {
        loop {
            let index = self.hops[packet.hop as usize];
            match self.links[index as usize].offer(at, &mut packet) {
                Offer::Arrives(arrival) => {
                    let after = self.after[packet.hop as usize];
                    if after == After::Chained {
                        packet.hop += 1;
                        at = arrival;
                        continue;
                    }
                    self.wires.launch(&mut self.events, index, after, arrival, packet);
                }
                offer @ (Offer::DroppedByQueue | Offer::DroppedByImpairment) => {
                    let drop = Drop { at, link: index, by_queue: offer == Offer::DroppedByQueue, packet };
                    if at > self.now { self.future_drops.push(drop) } else { self.on_drop(&drop) }
                }
            }
            return;
        }
    }

    /// Counts the drops of the past that are not yet known, and those on chained links whose time has come.
    pub(super) fn count_drops(&mut self) {
        self.settle();
        if self.future_drops.is_empty() {
            return;
        }
        let due: Vec<Drop> = self.future_drops.extract_if(.., |drop| drop.at <= self.now).collect();
        for drop in due {
            self.on_drop(&drop);
        }
    }

    #[cold]
    pub(super) fn on_drop(&mut self, drop: &Drop) {
        let Drop { at, link, packet, .. } = drop;
        self.conservation.dropped += 1;
        for &probe in &self.link_probes[*link as usize] {
            let recording = &mut self.recordings[probe as usize];
            if recording.quantity == Quantity::Drops {
                let dropped = recording.last().unwrap_or(0.0) + 1.0;
                recording.record(*at, Some(dropped));
            }
        }
        match packet.kind {
            PacketKind::Data => {
                let segment = packet.payload.segment();
                let connection = &mut self.connections[packet.owner as usize];
                if connection.generation != packet.generation || segment.is_syn {
                    return;
                }
                let totals = &mut self.flows[connection.flow as usize].totals;
                totals.segments_lost += 1;
                let sender = &connection.sender;
                let early = |end: u64| segment.seq < end;
                if sender.initial_slow_start_end().is_none_or(early) {
                    totals.first_slow_start_losses += 1;
                }
                let repaired = sender.snd_una();
                connection.lost.retain(|&seq| seq >= repaired);
                if !connection.lost.contains(&segment.seq) && connection.lost.len() < 4096 {
                    connection.lost.push(segment.seq);
                }
            }
            PacketKind::Datagram => self.flows[packet.owner as usize].totals.segments_lost += 1,
            PacketKind::Ack => {
                self.reports.release(&packet.payload);
            }
        }
    }

    #[inline]
    pub(super) fn deliver(&mut self, packet: Packet<Payload>) {
        self.conservation.delivered += 1;
        match packet.kind {
            PacketKind::Data => {
                let segment = packet.payload.segment();
                self.note(1 << 32 | u64::from(packet.owner), segment.seq);
                self.on_data(&packet, &segment);
            }
            PacketKind::Ack => {
                let ack = self.reports.take(&packet);
                self.note(2 << 32 | u64::from(packet.owner), ack.ack);
                let connection = &mut self.connections[packet.owner as usize];
                if connection.generation == packet.generation && connection.is_open {
                    connection.sender.on_ack(self.now, &ack, packet.queueing);
                    self.pump(packet.owner);
                }
            }
            PacketKind::Datagram => {
                self.note(3 << 32 | u64::from(packet.owner), u64::from(packet.size));
                self.count_delivered(packet.owner, u64::from(packet.size));
            }
        }
    }

    #[inline]
    pub(super) fn on_data(&mut self, packet: &Packet<Payload>, segment: &DataSegment) {
        let connection = &mut self.connections[packet.owner as usize];
        if connection.generation != packet.generation || !connection.is_open {
            return;
        }
        let before = connection.receiver.rcv_nxt();
        let ack = connection.receiver.on_segment(self.now, segment, packet.timestamp, packet.queueing);
        let delivered = connection.receiver.rcv_nxt() - before;
        let flow = connection.flow;
        self.count_delivered(flow, delivered);
        match ack {
            Some(ack) => self.send_ack(packet.owner, ack),
            None => self.arm(packet.owner),
        }
    }

    /// New bytes have reached the application of a flow.
    #[inline]
    pub(super) fn count_delivered(&mut self, flow: u32, bytes: u64) {
        let state = &mut self.flows[flow as usize];
        if self.now >= self.window.0 && self.now < self.window.1 {
            state.bytes_delivered += bytes;
            state.last_delivery = self.now;
        }
        if !self.flow_probes[flow as usize].is_empty() {
            state.delivered += bytes;
            let delivered = state.delivered as f64;
            self.record(flow, Quantity::Delivered, Some(delivered));
        }
    }

    #[inline]
    pub(super) fn send_ack(&mut self, owner: u32, ack: AckSegment) {
        let connection = &self.connections[owner as usize];
        let size = self.tcp(connection.flow).acknowledgement_size(&ack.sack);
        let packet = Packet {
            size,
            hop: self.begins[connection.flow as usize].1,
            owner,
            generation: connection.generation,
            kind: PacketKind::Ack,
            timestamp: ack.timestamp_echo,
            queueing: Time::ZERO,
            payload: self.reports.carry(&ack),
        };
        self.conservation.sent += 1;
        self.send(packet);
    }
}
