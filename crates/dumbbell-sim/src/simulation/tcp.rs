//! What the connections of a run do: opening, sending, timers, and closing.

use super::connections::Connection;
use super::payload::Payload;
use super::probes::Tracer;
use super::{BURST, Simulation, TCP_OF_DATAGRAMS};
use crate::events::{Event, Noted};
use crate::forwarding::Forwarding;
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
        let Connection { flow, bursts, .. } = self.connections[owner];
        let is_watched = self.journal.is_some() || self.capture.is_some() || bursts;
        // Whoever else watches changes no event.
        let mut left = if bursts { BURST } else { u32::MAX };
        loop {
            if is_watched && !self.watch_sender(owner, &mut left) {
                break;
            }
            let segment = self.connections[owner].sender.poll_transmit(self.network.now);
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
        if self.flows.hot(flow).is_traced {
            self.record_flow(owner, flow);
        }
        self.arm(owner);
        let connection = &self.connections[owner];
        if !connection.writes_on && connection.sender.is_complete() {
            self.on_all_acknowledged(owner);
        }
    }

    /// Asks a sender for more segments in another event of this instant.
    #[cold]
    fn continue_burst(&mut self, owner: u32) {
        let connection = &mut self.connections[owner];
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
        if let Some(capture) = &mut self.capture {
            capture.see_sender(self.network.now, owner, &self.connections[owner]);
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
    fn send_segment(&mut self, owner: u32, flow: u32, segment: DataSegment) {
        let is_measured = self.window.contains(self.network.now);
        let hot = self.flows.hot_mut(flow);
        let begin = hot.begins.0;
        let Connection { generation, label, .. } = self.connections[owner];
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
        self.ledger.count_sent();
        hot.count_sent(packet.size, is_measured);
        if hot.is_traced && !segment.is_syn {
            self.record_segment(owner, flow, segment);
        }
        if let Some(capture) = &self.capture {
            capture.note_echo(&mut packet);
        }
        self.send(begin, packet);
    }

    /// Keeps the events of a connection's deadlines pending.
    #[inline]
    pub(super) fn arm(&mut self, owner: u32) {
        self.connections[owner].arm(owner, &mut self.network);
    }

    /// True if the sender has continued a burst.
    #[inline(never)]
    pub(super) fn on_deadline(&mut self, owner: u32) -> bool {
        let connection = &mut self.connections[owner];
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
            self.fingerprint.note(self.network.now, Noted::DelayedAck, owner, 0);
            let (begin, packet) = self.packet_of(owner, &ack);
            self.send(begin, packet);
        }
        if sender_due {
            self.fingerprint.note(self.network.now, Noted::SenderDeadline, owner, 0);
            self.on_sender_deadline(owner);
        } else if has_more {
            self.pump(owner);
        } else {
            self.arm(owner);
        }
        has_more
    }

    pub(super) fn on_sender_deadline(&mut self, owner: u32) {
        let connection = &self.connections[owner];
        if connection.tracer.is_some() && connection.sender.next_timer() <= self.network.now {
            // What was lost by now is recorded before the timeout that repairs it.
            self.merge_all_arrived();
        }
        if self.journal.is_some() {
            self.begin_deadline(owner);
        }
        self.connections[owner].sender.on_deadline(self.network.now);
        if self.journal.is_some() {
            self.end_deadline(owner);
        }
        if self.connections[owner].sender.has_given_up() {
            self.give_up(owner);
        }
        self.pump(owner);
    }

    /// The sender of a connection has given up. Its receiver is not informed: packets in flight still arrive and are
    /// answered, so the connection keeps its slot.
    fn give_up(&mut self, owner: u32) {
        let connection = &mut self.connections[owner];
        connection.stop_writing();
        self.flows[connection.flow].totals.connections_given_up += 1;
        self.give_up_transfer(owner);
    }

    /// Opens a connection of a flow to send `bytes`, unlimited data for [`u64::MAX`]. Its application may write more.
    pub(super) fn open(&mut self, flow: u32, bytes: u64, writes_on: bool) -> u32 {
        let params = self.tcp(flow);
        let sender = self.new_sender(flow, bytes, writes_on);
        let slot = self.connections.take_slot();
        if slot.is_some() {
            // Packets that have arrived by now belong to the previous connection in the slot.
            self.merge_all_arrived();
        }
        let (label, number) = self.flows[flow].count_opened();
        let bursts = sender.max_window() > f64::from(BURST) * f64::from(sender.mss());
        let receiver = Receiver::new(params, self.flows[flow].clocks.1);
        let mut connection = Connection::new((flow, label), sender, receiver);
        connection.writes_on = writes_on;
        connection.bursts = bursts;
        connection.tracer = self.keeps_events(flow).then(|| Box::new(Tracer::new(number)));
        self.flows.hot_mut(flow).sizes = params.wire_sizes();
        let owner = self.connections.place(slot, connection);
        if let Some(capture) = &mut self.capture {
            capture.see_opened(owner, &self.connections[owner], number);
        }
        owner
    }

    /// The sender of a new connection, with what its application has written so far.
    fn new_sender(&mut self, flow: u32, bytes: u64, writes_on: bool) -> Sender {
        let state = &mut self.flows[flow];
        let (random, clock) = (state.control_random.fork(), state.clocks.0);
        let mut sender = Sender::new(self.tcp(flow), clock, self.network.now, random);
        sender.write(bytes);
        if !writes_on {
            sender.finish();
        }
        if self.keeps_events(flow) {
            sender.keep_events();
        }
        if self.probes.sample_rates(flow) {
            sender.sample_rate(self.network.now);
        }
        sender
    }

    pub(super) fn close(&mut self, owner: u32) {
        self.count_connection(owner);
        self.connections.close(owner);
        let Connection { flow, ref sender, .. } = self.connections[owner];
        if let SourceSpec::Transfer(transfer) = &self.scenario.flows[flow as usize].source
            && sender.snd_una() >= transfer.size.0
        {
            self.flows.complete(flow, self.scenario, self.network.now);
        }
    }

    /// Adds the counters of a connection to those of its flow.
    pub(super) fn count_connection(&mut self, owner: u32) {
        let connection = &self.connections[owner];
        self.flows[connection.flow].totals.add(connection.sender.stats());
    }

    #[inline(never)]
    pub(super) fn on_write(&mut self, owner: u32) {
        let connection = &mut self.connections[owner];
        let next = connection.writer.as_ref().and_then(|writer| writer.next);
        let due = next.filter(|&(at, _)| at == self.network.now && connection.is_open);
        let Some((_, bytes)) = due else { return };
        self.fingerprint.note(self.network.now, Noted::Write, owner, bytes);
        let connection = &mut self.connections[owner];
        connection.sender.write(bytes);
        self.schedule_write(owner);
        self.pump(owner);
    }

    pub(super) fn schedule_write(&mut self, owner: u32) {
        let has_stopped = self.flows[self.connections[owner].flow].has_stopped;
        let connection = &mut self.connections[owner];
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
