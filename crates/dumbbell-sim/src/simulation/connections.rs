//! TCP connections: opening, sending, timers, closing, and counters.

use super::events::Tracer;
use super::payload::Payload;
use super::{BURST, Connection, NONE, Simulation, TCP_OF_DATAGRAMS, Writer};
use crate::events::{Event, Noted};
use crate::forwarding::Forwarding;
use dumbbell_net::tcplib::Telnet;
use dumbbell_net::{Packet, PacketKind, SourceSpec};
use dumbbell_tcp::{DataSegment, Receiver, Sender, TcpParams};
use dumbbell_units::Time;

impl<'a> Simulation<'a> {
    pub(super) fn tcp(&self, flow: u32) -> &'a TcpParams {
        let tcp = self.scenario.flows[flow as usize].tcp.as_ref();
        tcp.map_or(&TCP_OF_DATAGRAMS, |tcp| &tcp.0)
    }

    /// Sends all available segments, up to a burst in one event, then updates deadline, completion and probes.
    #[inline]
    pub(super) fn pump(&mut self, owner: u32) {
        let index = owner as usize;
        let flow = self.connections[index].flow;
        let bursts = self.connections[index].bursts;
        let is_watched = self.journal.is_some() || self.capture.is_some() || bursts;
        // Whoever else watches changes no event.
        let mut left = if bursts { BURST } else { u32::MAX };
        loop {
            if is_watched && !self.watch_sender(owner, &mut left) {
                break;
            }
            let segment = self.connections[index].sender.poll_transmit(self.network.now);
            let Some(segment) = segment else { break };
            if is_watched {
                self.watch_segment(owner, segment);
            }
            self.send_segment(owner, flow, segment);
        }
        if is_watched {
            self.end_sending(owner);
            if left == 0 {
                self.continue_burst(owner);
            }
        }
        if self.hot_flows[flow as usize].is_traced {
            self.record_flow(owner, flow);
        }
        self.arm(owner);
        let connection = &self.connections[index];
        if !connection.writes_on && connection.sender.is_complete() {
            self.on_all_acknowledged(owner);
        }
    }

    /// Asks a sender for more segments in another event of this instant.
    #[cold]
    fn continue_burst(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        connection.has_more = true;
        connection.release_at = self.network.now;
        self.network.events.push(self.network.now, Event::Deadline(owner));
    }

    /// A sender is about to be asked for a segment. False if it has sent a burst.
    #[cold]
    fn watch_sender(&mut self, owner: u32, left: &mut u32) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if self.journal.is_some() {
            self.begin_step(owner);
        }
        if self.capture.is_some() {
            self.see_sender(owner);
        }
        true
    }

    /// It has given one.
    #[cold]
    fn watch_segment(&mut self, owner: u32, segment: DataSegment) {
        if self.journal.is_some() {
            self.note_segment(owner, segment);
        }
    }

    #[inline]
    pub(super) fn send_segment(&mut self, owner: u32, flow: u32, segment: DataSegment) {
        let is_measured = self.window.contains(self.network.now);
        let hot = &mut self.hot_flows[flow as usize];
        let begin = hot.begins.0;
        let Connection { generation, label, .. } = self.connections[owner as usize];
        let mut packet = Packet {
            size: hot.sizes.segment(segment.len),
            owner,
            generation,
            kind: if segment.is_syn { PacketKind::Syn } else { PacketKind::Data },
            ecn: segment.ecn,
            flow: label,
            timestamp: self.network.now,
            queueing: Time::ZERO,
            payload: Payload::of_segment(flow, &segment),
        };
        self.conservation.sent += 1;
        hot.undelivered += 1;
        if is_measured {
            hot.bytes_on_wire += u64::from(packet.size);
        }
        if hot.is_traced && !segment.is_syn {
            self.record_segment(owner, flow, segment);
        }
        if self.capture.is_some() {
            self.note_echo(&mut packet);
        }
        self.send(begin, packet);
    }

    /// Keeps a deadline event pending, no later than the earliest deadline, and another one for the pacer.
    #[inline]
    pub(super) fn arm(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        if !connection.is_open {
            return;
        }
        let wanted = connection.sender.next_timer().min(connection.receiver.next_deadline());
        if wanted < connection.deadline_at {
            let at = wanted.max(self.network.now);
            connection.deadline_at = at;
            self.network.events.push(at, Event::Deadline(owner));
        }
        let release = connection.sender.next_release();
        if release < connection.release_at {
            let at = release.max(self.network.now);
            connection.release_at = at;
            self.network.events.push(at, Event::Deadline(owner));
        }
    }

    /// True if the sender has continued a burst.
    #[inline(never)]
    pub(super) fn on_deadline(&mut self, owner: u32) -> bool {
        let connection = &mut self.connections[owner as usize];
        let (is_deadline, is_release) =
            (connection.deadline_at == self.network.now, connection.release_at == self.network.now);
        if !is_deadline && !is_release || !connection.is_open {
            return false;
        }
        if is_deadline {
            connection.deadline_at = Time::NEVER;
        }
        if is_release {
            connection.release_at = Time::NEVER;
        }
        let has_more = std::mem::take(&mut connection.has_more);
        let sender_due = connection.sender.next_deadline() <= self.network.now;
        let receiver_due = connection.receiver.next_deadline() <= self.network.now;
        if receiver_due && let Some(ack) = connection.receiver.on_deadline(self.network.now) {
            self.note(Noted::DelayedAck.of(owner), 0);
            let (begin, packet) = self.packet_of(owner, &ack);
            self.send(begin, packet);
        }
        if sender_due {
            self.note(Noted::SenderDeadline.of(owner), 0);
            self.on_sender_deadline(owner);
        } else if has_more {
            self.pump(owner);
        } else {
            self.arm(owner);
        }
        has_more
    }

    pub(super) fn on_sender_deadline(&mut self, owner: u32) {
        let connection = &self.connections[owner as usize];
        if connection.tracer.is_some() && connection.sender.next_timer() <= self.network.now {
            // What was lost by now is recorded before the timeout that repairs it.
            self.merge_all_arrived();
        }
        if self.journal.is_some() {
            self.begin_deadline(owner);
        }
        self.connections[owner as usize].sender.on_deadline(self.network.now);
        if self.journal.is_some() {
            self.end_deadline(owner);
        }
        if self.connections[owner as usize].sender.has_given_up() {
            self.give_up(owner);
        }
        self.pump(owner);
    }

    /// The sender of a connection has given up. Its receiver is not informed: packets in flight still arrive and are
    /// answered, so the connection keeps its slot.
    fn give_up(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        connection.writes_on = false;
        connection.writer = None;
        self.flows[connection.flow as usize].totals.connections_given_up += 1;
        self.give_up_transfer(owner);
    }

    /// Opens a connection of a flow to send `bytes`; all that its application writes for [`u64::MAX`].
    pub(super) fn open(&mut self, flow: u32, bytes: u64, telnet: Option<Telnet>) -> u32 {
        let params = self.tcp(flow);
        let writes_on = telnet.is_some() || bytes == u64::MAX;
        let sender = self.new_sender(flow, bytes, writes_on);
        let slot = self.take_slot();
        let generation = slot.map_or(0, |slot| self.connections[slot as usize].generation.wrapping_add(1));
        let (label, number) = self.count_opened(flow);
        let bursts = sender.max_window() > f64::from(BURST) * f64::from(sender.mss());
        let connection = Connection {
            flow,
            neighbours: (NONE, NONE),
            generation,
            label,
            is_open: true,
            writes_on,
            bursts,
            has_more: false,
            sender,
            receiver: Receiver::new(params, self.clocks[flow as usize].1),
            deadline_at: Time::NEVER,
            release_at: Time::NEVER,
            task: None,
            rtts_measured: 0,
            writer: telnet.map(|telnet| Box::new(Writer { telnet, next: None })),
            tracer: self.keeps_events(flow).then(|| Box::new(Tracer::new(number))),
        };
        self.hot_flows[flow as usize].sizes = params.wire_sizes();
        let owner = self.place(slot, connection);
        self.link_to_flow(owner);
        if self.capture.is_some() {
            self.see_opened(owner);
        }
        owner
    }

    /// The sender of a new connection, with what its application has written so far.
    fn new_sender(&mut self, flow: u32, bytes: u64, writes_on: bool) -> Sender {
        let random = self.flows[flow as usize].control_random.fork();
        let mut sender = Sender::new(self.tcp(flow), self.clocks[flow as usize].0, self.network.now, random);
        sender.write(bytes);
        if !writes_on {
            sender.finish();
        }
        if self.keeps_events(flow) {
            sender.keep_events();
        }
        sender
    }

    /// A slot that a connection has left, if there is one.
    fn take_slot(&mut self) -> Option<u32> {
        let slot = self.free.pop()?;
        // Packets that have arrived by now belong to the previous connection in the slot.
        self.merge_all_arrived();
        Some(slot)
    }

    /// Counts a new connection of a flow. Returns what identifies its packets in queues, and its number.
    fn count_opened(&mut self, flow: u32) -> (u32, u64) {
        let state = &mut self.flows[flow as usize];
        // Queues treat each connection of a flow as a separate flow.
        let label = state.label.wrapping_add((state.totals.connections as u32).wrapping_mul(0x9e37_79b9));
        state.totals.connections += 1;
        (label, state.totals.connections)
    }

    /// Puts a connection into a slot, or else into a new one. Returns its slot.
    fn place(&mut self, slot: Option<u32>, connection: Connection) -> u32 {
        match slot {
            Some(slot) => {
                self.connections[slot as usize] = connection;
                slot
            }
            None => {
                self.connections.push(connection);
                (self.connections.len() - 1) as u32
            }
        }
    }

    /// Adds an open connection to the list of its flow.
    fn link_to_flow(&mut self, owner: u32) {
        let newest = &mut self.flows[self.connections[owner as usize].flow as usize].newest;
        let before = std::mem::replace(newest, owner);
        self.connections[owner as usize].neighbours = (before, NONE);
        if before != NONE {
            self.connections[before as usize].neighbours.1 = owner;
        }
    }

    /// Removes a closed connection from the list of its flow.
    fn unlink_from_flow(&mut self, owner: u32) {
        let Connection { flow, neighbours: (before, after), .. } = self.connections[owner as usize];
        match after {
            NONE => self.flows[flow as usize].newest = before,
            after => self.connections[after as usize].neighbours.0 = before,
        }
        if before != NONE {
            self.connections[before as usize].neighbours.1 = after;
        }
    }

    /// The open connections of a flow, in the order of their slots.
    pub(super) fn open_connections(&self, flow: u32) -> Vec<u32> {
        let mut owners = Vec::new();
        let mut owner = self.flows[flow as usize].newest;
        while owner != NONE {
            owners.push(owner);
            owner = self.connections[owner as usize].neighbours.0;
        }
        owners.sort_unstable();
        owners
    }

    pub(super) fn close(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        connection.is_open = false;
        let flow = connection.flow;
        let acknowledged = connection.sender.snd_una();
        self.count_connection(owner);
        self.unlink_from_flow(owner);
        self.free.push(owner);
        if let SourceSpec::Transfer(transfer) = &self.scenario.flows[flow as usize].source
            && acknowledged >= transfer.size.0
        {
            self.complete(flow);
        }
    }

    pub(super) fn count_connection(&mut self, owner: u32) {
        let connection = &self.connections[owner as usize];
        self.flows[connection.flow as usize].totals.add(connection.sender.stats());
    }

    #[inline(never)]
    pub(super) fn on_write(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        let next = connection.writer.as_ref().and_then(|writer| writer.next);
        let due = next.filter(|&(at, _)| at == self.network.now && connection.is_open);
        let Some((_, bytes)) = due else { return };
        self.note(Noted::Write.of(owner), bytes);
        let connection = &mut self.connections[owner as usize];
        connection.sender.write(bytes);
        self.schedule_write(owner);
        self.pump(owner);
    }

    pub(super) fn schedule_write(&mut self, owner: u32) {
        let has_stopped = self.flows[self.connections[owner as usize].flow as usize].has_stopped;
        let connection = &mut self.connections[owner as usize];
        let Some(writer) = &mut connection.writer else { return };
        writer.next = writer.telnet.next_write(self.network.now).filter(|_| !has_stopped);
        match writer.next {
            Some((at, _)) => self.network.events.push(at, Event::Write(owner)),
            None => {
                connection.writes_on = false;
                connection.sender.finish();
            }
        }
    }
}
