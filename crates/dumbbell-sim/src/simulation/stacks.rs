//! Flows carried by stacks that are not ours; see [`transport`](crate::transport).

use super::Simulation;
use super::connections::Writer;
use super::counts::Counts;
use super::payload::Payload;
use super::work::Task;
use crate::events::{Event, Noted};
use crate::forwarding::Forwarding;
use crate::journal::{CarriedJournal, CarriedKind, Place};
use crate::scenario::Scenario;
use crate::transport::{Carried, End, Log, Shown, Stack, StackEvent, Started, Transmit, TransportHost};
use dumbbell_net::tcplib::Conversation;
use dumbbell_net::{Packet, PacketKind, SourceSpec};
use dumbbell_units::random::words_hash;
use dumbbell_units::{Ecn, Stream, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// Times that a stack may be woken at one instant without sending anything.
const MOST_WAKES: u32 = 100_000;
/// A flow of ours.
const OURS: u32 = u32::MAX;

/// A stack, and its pending event.
#[derive(Debug)]
struct Running {
    /// `None` after a failure. The lock is never taken: it lets threads share a run that they do not use.
    stack: Option<Mutex<Box<dyn Stack>>>,
    due: Time,
    /// Wakes at this instant without a packet.
    wakes: (Time, u32),
}

impl Running {
    fn get(&mut self) -> Option<&mut Box<dyn Stack>> {
        self.stack.as_mut().map(|stack| stack.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A connection of a stack.
#[derive(Clone, Debug)]
pub(super) struct CarriedConnection {
    pub flow: u32,
    /// Number of the connection within the flow.
    pub number: u64,
    /// Identifies its packets in queues; packets of the reverse path have the complement.
    label: u32,
    is_open: bool,
    /// The source of the flow will write more.
    writes_on: bool,
    /// The application of a self-driven conversation.
    writer: Option<Box<Writer>>,
    /// The transfer of a workload in progress.
    pub task: Option<Box<Task>>,
}

/// The bytes of a packet, and how many copies of it are in the network.
#[derive(Clone, Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    hash: u64,
    copies: u32,
}

/// What a capture shows of a packet of a stack.
#[derive(Clone, Debug)]
pub(super) struct CarriedPacket {
    /// Number of its connection within the flow.
    pub connection: u64,
    pub bytes: Arc<[u8]>,
}

/// All stacks of a run.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    all: Vec<Running>,
    /// The stack of each flow; empty if all flows are ours.
    of_flow: Vec<u32>,
    connections: Vec<CarriedConnection>,
    /// The open connections of each flow.
    open: Vec<Vec<u32>>,
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    /// Traced or watched flows to which something has happened at this instant.
    touched: Vec<u32>,
    /// Why the run cannot go on.
    failure: Option<String>,
}

/// Stacks cannot be copied. Runs that have some are neither shared nor forked; a copy would say that it has failed.
impl Clone for Stacks {
    fn clone(&self) -> Self {
        let failure =
            (!self.all.is_empty()).then(|| "a run with a transport that is not ours was copied".into());
        Stacks { failure, ..Stacks::default() }
    }
}

impl Stacks {
    /// Starts the stacks of a scenario. `streams` gives the randomness of a flow by its name.
    pub(super) fn new(scenario: &Scenario, streams: impl Fn(&str) -> Stream) -> Self {
        let mut stacks = Stacks::default();
        let mut hosts: Vec<(Arc<dyn TransportHost>, Vec<Carried<'_>>)> = Vec::new();
        for (flow, spec) in (0_u32..).zip(&scenario.flows) {
            let Some(transport) = &spec.transport else { continue };
            let Some(host) = transport.host() else {
                stacks.failure =
                    Some(format!("flow \"{}\": its transport is not bound to a host", spec.name));
                return stacks;
            };
            let random = streams(&spec.name);
            let carried = Carried { flow, name: &spec.name, spec: &transport.spec, random };
            match hosts.iter_mut().find(|(known, _)| known.name() == host.name()) {
                Some((_, flows)) => flows.push(carried),
                None => hosts.push((Arc::clone(host), vec![carried])),
            }
        }
        if !hosts.is_empty() {
            stacks.of_flow = vec![OURS; scenario.flows.len()];
            stacks.open = vec![Vec::new(); scenario.flows.len()];
        }
        for (host, flows) in hosts {
            match host.start(flows) {
                Ok(started) => started.into_iter().for_each(|started| stacks.add(started)),
                Err(why) => stacks.failure = Some(why),
            }
        }
        stacks
    }

    fn add(&mut self, Started { stack, flows }: Started) {
        for flow in flows {
            if let Some(of_flow) = self.of_flow.get_mut(flow as usize) {
                *of_flow = self.all.len() as u32;
            }
        }
        self.all.push(Running { stack: Some(Mutex::new(stack)), due: Time::NEVER, wakes: (Time::ZERO, 0) });
    }

    /// The number of the stack that carries a flow; `None` for a flow of ours.
    #[inline]
    pub(super) fn of(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).copied().filter(|&stack| stack != OURS)
    }

    /// Why the run cannot go on, if it cannot.
    pub(super) fn failure(&self) -> Option<&String> {
        self.failure.as_ref()
    }

    /// What a capture shows of a packet, if it is one of a stack.
    #[cold]
    pub(super) fn carried(&self, packet: &Packet<Payload>) -> Option<CarriedPacket> {
        if !matches!(packet.kind, PacketKind::CarriedData | PacketKind::CarriedControl) {
            return None;
        }
        let buffer = self.buffers.get(packet.payload.buffer() as usize)?;
        let known = self.connections.get(packet.payload.connection() as usize);
        let bytes = buffer.bytes.as_slice().into();
        Some(CarriedPacket { connection: known.map_or(0, |known| known.number), bytes })
    }

    /// Takes the new lines of all key logs.
    pub(super) fn take_keys(&mut self) -> String {
        self.all.iter_mut().filter_map(Running::get).map(|stack| stack.take_log(Log::Keys)).collect()
    }

    /// A connection that a stack carries.
    pub(super) fn connection_mut(&mut self, connection: u32) -> &mut CarriedConnection {
        &mut self.connections[connection as usize]
    }

    fn stack(&mut self, number: u32) -> Option<&mut Box<dyn Stack>> {
        self.all.get_mut(number as usize)?.get()
    }

    /// What a connection shows.
    fn shown(&mut self, now: Time, connection: u32) -> Option<Shown> {
        let number = self.of(self.connections[connection as usize].flow)?;
        self.stack(number).map(|stack| stack.shown(now, connection))
    }

    /// Adds what open connections show to the counters of their flows.
    pub(super) fn add_shown(&mut self, now: Time, mut add: impl FnMut(u32, &Shown)) {
        for connection in self.open.concat() {
            if let Some(shown) = self.shown(now, connection) {
                add(self.connections[connection as usize].flow, &shown);
            }
        }
    }

    /// The open connection of a flow on which its source writes.
    fn written(&self, flow: u32) -> Option<u32> {
        let mut open = self.open[flow as usize].iter();
        open.find(|&&known| self.connections[known as usize].writes_on).copied()
    }

    /// The open connections of a flow.
    fn open_of(&self, flow: u32) -> Vec<u32> {
        self.open[flow as usize].clone()
    }

    /// A connection of a flow opens. Returns its number.
    fn enter(&mut self, connection: CarriedConnection) -> u32 {
        let id = self.connections.len() as u32;
        self.open[connection.flow as usize].push(id);
        self.connections.push(connection);
        id
    }

    /// A connection is over.
    fn leave(&mut self, connection: u32) {
        let known = &mut self.connections[connection as usize];
        known.is_open = false;
        self.open[known.flow as usize].retain(|&open| open != connection);
    }

    /// An empty buffer.
    fn take_buffer(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Buffer::default());
            self.buffers.len() as u32 - 1
        })
    }

    /// One copy of a packet has left the network.
    fn release(&mut self, buffer: u32) {
        let copies = &mut self.buffers[buffer as usize].copies;
        *copies = copies.saturating_sub(1);
        if *copies == 0 {
            self.free.push(buffer);
        }
    }
}

impl Counts {
    /// Adds what a connection of a stack shows.
    pub(super) fn add_shown(&mut self, shown: &Shown) {
        let lacks = &mut self.lacks;
        lacks.fast_retransmits = true;
        lacks.receive_window_limited = true;
        let add = |count: &mut u64, lacks: &mut bool, shown: Option<u64>| {
            *count += shown.unwrap_or_default();
            *lacks |= shown.is_none();
        };
        let retransmitted = shown.segments_retransmitted;
        add(&mut self.segments_retransmitted, &mut lacks.segments_retransmitted, retransmitted);
        add(&mut self.bytes_retransmitted, &mut lacks.bytes_retransmitted, shown.bytes_retransmitted);
        add(&mut self.timeouts, &mut lacks.timeouts, shown.timeouts);
        self.rtt_min = shown.min_rtt.map_or(self.rtt_min, |min| self.rtt_min.min(min));
    }
}

impl Simulation<'_> {
    /// The application of a flow begins: unlimited data, or a transfer.
    pub(super) fn begin(&mut self, flow: u32, bytes: u64) {
        if let Some(number) = self.stacks.of(flow) {
            self.open_carried(flow, bytes, false);
            self.pump_stack(number);
        } else {
            let owner = self.open(flow, bytes, bytes == u64::MAX);
            self.pump(owner);
        }
    }

    /// Opens a connection over the stack of a flow. The stack has to be pumped afterwards.
    pub(super) fn open_carried(&mut self, flow: u32, bytes: u64, is_kept: bool) -> u32 {
        let (label, number) = self.flows[flow].count_opened();
        let opened = CarriedConnection {
            flow,
            number,
            label,
            is_open: true,
            writes_on: false,
            writer: None,
            task: None,
        };
        let connection = self.stacks.enter(opened);
        self.with_stack(flow, |stack, now| stack.open(now, flow, connection, bytes, is_kept));
        connection
    }

    /// Writes more on a connection that is kept. The stack has to be pumped afterwards.
    pub(super) fn write_carried(&mut self, connection: u32, bytes: u64) {
        let flow = self.stacks.connections[connection as usize].flow;
        self.with_stack(flow, |stack, now| stack.write(now, connection, bytes));
    }

    /// Writes no more on a connection. The stack has to be pumped afterwards.
    pub(super) fn close_carried(&mut self, connection: u32) {
        let known = &mut self.stacks.connections[connection as usize];
        known.writes_on = false;
        let flow = known.flow;
        self.with_stack(flow, |stack, now| stack.close(now, connection));
    }

    /// The source of a flow, which would send datagrams without a stack, writes this many bytes on its one connection;
    /// they may be its last. The connection opens with the first of them. Returns the label of its packets if it has
    /// opened.
    pub(super) fn write_source(&mut self, flow: u32, number: u32, bytes: u64, is_last: bool) -> Option<u32> {
        let mut label = None;
        match self.stacks.written(flow) {
            Some(connection) if bytes > 0 => self.write_carried(connection, bytes),
            None if bytes > 0 => {
                let connection = self.open_carried(flow, bytes, true);
                let opened = self.stacks.connection_mut(connection);
                opened.writes_on = true;
                label = Some(opened.label);
            }
            _ => {}
        }
        if is_last {
            self.close_source(flow);
        }
        self.pump_stack(number);
        label
    }

    /// The bytes acknowledged on that connection, if it is open; 0 unless somebody wants to know.
    pub(super) fn acknowledged_of_source(&mut self, flow: u32, is_wanted: bool) -> Option<u64> {
        let connection = self.stacks.written(flow)?;
        let shown = is_wanted.then(|| self.stacks.shown(self.network.now, connection));
        Some(shown.flatten().map_or(0, |shown| shown.acknowledged))
    }

    /// A source writes no more on the connections of its flow.
    fn close_source(&mut self, flow: u32) {
        for connection in self.stacks.open_of(flow) {
            self.close_carried(connection);
        }
    }

    /// A conversation begins on a connection of its own.
    pub(super) fn converse_carried(&mut self, flow: u32, number: u32, conversation: Conversation) {
        let Conversation { first_write, telnet } = conversation;
        let connection = self.open_carried(flow, first_write, telnet.is_some());
        if let Some(telnet) = telnet {
            let known = self.stacks.connection_mut(connection);
            known.writes_on = true;
            known.writer = Some(Box::new(Writer { telnet, next: None }));
            self.schedule_carried_write(connection);
        }
        self.pump_stack(number);
    }

    /// The application of a conversation plans its next write, or ends.
    fn schedule_carried_write(&mut self, connection: u32) {
        let now = self.network.now;
        let Some(writer) = &mut self.stacks.connection_mut(connection).writer else { return };
        writer.next = writer.telnet.next_write(now);
        match writer.next {
            Some((at, _)) => self.network.events.push(at, Event::CarriedWrite(connection)),
            None => self.close_carried(connection),
        }
    }

    /// The event of an application: that of a conversation writes, unless it has stopped.
    #[inline(never)]
    pub(super) fn on_carried_write(&mut self, connection: u32) {
        self.network.events.pop_other();
        let known = &self.stacks.connections[connection as usize];
        let (flow, is_open) = (known.flow, known.is_open && known.writes_on);
        let next = known.writer.as_ref().and_then(|writer| writer.next);
        let (Some(number), Some((_, bytes)), true) = (self.stacks.of(flow), next, is_open) else { return };
        self.fingerprint.note(self.network.now, Noted::Write, connection, bytes);
        self.write_carried(connection, bytes);
        self.schedule_carried_write(connection);
        self.pump_stack(number);
    }

    fn with_stack(&mut self, flow: u32, act: impl FnOnce(&mut Box<dyn Stack>, Time)) {
        let now = self.network.now;
        if let Some(number) = self.stacks.of(flow)
            && let Some(stack) = self.stacks.stack(number)
        {
            act(stack, now);
        }
    }

    /// The application of a carried flow stops.
    pub(super) fn stop_carried(&mut self, flow: u32, number: u32) {
        self.close_source(flow);
        self.pump_stack(number);
    }

    /// The event of a stack.
    #[inline(never)]
    pub(super) fn on_stack_deadline(&mut self, number: u32) {
        let now = self.network.now;
        self.network.events.pop_other();
        let running = &mut self.stacks.all[number as usize];
        if running.due != now {
            return;
        }
        running.due = Time::NEVER;
        let Some(stack) = running.get() else { return };
        if stack.next_deadline() <= now {
            stack.on_deadline(now);
        }
        self.note_wake(number);
        self.pump_stack(number);
    }

    /// Sends what a stack has to send, carries out what has happened to its connections, and records what they show.
    pub(super) fn pump_stack(&mut self, number: u32) {
        let mut has_sent = self.drain_stack(number);
        while let Some(flow) = self.stacks.touched.pop() {
            self.record_carried(flow);
            if self.stacks.touched.is_empty() {
                has_sent |= self.drain_stack(number);
            }
        }
        self.arm_stack(number, has_sent);
    }

    /// True if the stack has sent something.
    fn drain_stack(&mut self, number: u32) -> bool {
        let now = self.network.now;
        let mut has_sent = false;
        loop {
            let slot = self.stacks.take_buffer();
            let mut bytes = std::mem::take(&mut self.stacks.buffers[slot as usize].bytes);
            let Some(stack) = self.stacks.stack(number) else { return has_sent };
            if let Some(transmit) = stack.poll_transmit(now, &mut bytes) {
                let buffer = &mut self.stacks.buffers[slot as usize];
                *buffer = Buffer { hash: words_hash(&bytes), bytes, copies: 1 };
                self.send_carried(&transmit, slot);
                has_sent = true;
                continue;
            }
            let event = stack.poll_event();
            self.stacks.buffers[slot as usize].bytes = bytes;
            self.stacks.free.push(slot);
            match event {
                Some(event) => self.on_stack_event(event),
                None => return has_sent,
            }
        }
    }

    /// Something has happened to a flow.
    fn touch(&mut self, flow: u32) {
        let is_watched = self.flows.hot(flow).is_traced || self.watches_senders();
        if is_watched && !self.stacks.touched.contains(&flow) {
            self.stacks.touched.push(flow);
        }
    }

    /// Keeps the event of a stack's deadline pending.
    fn arm_stack(&mut self, number: u32, has_sent: bool) {
        let now = self.network.now;
        let running = &mut self.stacks.all[number as usize];
        let Some(stack) = running.get() else { return };
        if let Some(why) = stack.failure() {
            running.stack = None;
            self.stacks.failure.get_or_insert(why);
            return;
        }
        let next = stack.next_deadline().max(now);
        running.wakes = match running.wakes {
            (at, wakes) if at == now && next == now && !has_sent => (now, wakes + 1),
            _ => (now, 0),
        };
        if running.wakes.1 > MOST_WAKES {
            self.stacks.failure.get_or_insert(format!("a stack wants to be woken at {now} for ever"));
        } else if next < running.due {
            running.due = next;
            self.network.events.push(next, Event::Stack(number));
        }
    }

    fn send_carried(&mut self, transmit: &Transmit, buffer: u32) {
        let &Transmit { flow, from, size, ecn, is_data, connection } = transmit;
        let now = self.network.now;
        let is_measured = self.window.contains(now);
        let is_forward = from == End::Sender;
        if is_forward {
            self.flows[flow].totals.segments_sent += u64::from(is_data);
            self.flows.hot_mut(flow).count_sent(size, is_measured);
        }
        self.ledger.count_sent();
        self.touch(flow);
        if is_forward {
            self.note_carried(flow, connection, |journal, number| journal.on_packet(number, size, is_data));
        }
        let hash = self.stacks.buffers[buffer as usize].hash;
        self.fingerprint.note(now, Noted::CarriedSent, flow, hash ^ u64::from(is_forward));
        let label = self.stacks.connections.get(connection as usize).map_or(flow, |known| known.label);
        let begins = self.flows.hot(flow).begins;
        let packet = Packet {
            size,
            owner: flow,
            generation: 0,
            kind: if is_data { PacketKind::CarriedData } else { PacketKind::CarriedControl },
            ecn,
            flow: if is_forward { label } else { !label },
            timestamp: now,
            queueing: Time::ZERO,
            payload: Payload::of_carried((connection, buffer), from.other()),
        };
        self.send(if is_forward { begins.0 } else { begins.1 }, packet);
    }

    /// A packet of a stack is dropped. Returns its flow if it was on its way to the receiver, and whether it has data.
    #[cold]
    pub(super) fn drop_carried(&mut self, packet: &Packet<Payload>) -> (Option<u32>, bool) {
        self.stacks.release(packet.payload.buffer());
        let is_forward = packet.payload.to() == End::Receiver;
        (is_forward.then_some(packet.owner), is_forward && packet.kind.is_data())
    }

    /// A packet of a stack is duplicated.
    #[cold]
    pub(super) fn copy_carried(&mut self, packet: &Packet<Payload>) {
        self.stacks.buffers[packet.payload.buffer() as usize].copies += 1;
        if packet.payload.to() == End::Receiver {
            self.flows.hot_mut(packet.owner).undelivered += 1;
        }
    }

    /// A packet arrives at a stack.
    #[inline(never)]
    pub(super) fn deliver_carried(&mut self, packet: &Packet<Payload>) {
        let (now, flow, to) = (self.network.now, packet.owner, packet.payload.to());
        self.ledger.count_delivered();
        if to == End::Receiver {
            self.flows.hot_mut(flow).undelivered -= 1;
        }
        let slot = packet.payload.buffer();
        let (hash, ce) = (self.stacks.buffers[slot as usize].hash, u64::from(packet.ecn == Ecn::Ce));
        self.fingerprint.note(now, Noted::Carried, flow, hash.wrapping_add(ce));
        let Some(number) = self.stacks.of(flow) else { return };
        let bytes = std::mem::take(&mut self.stacks.buffers[slot as usize].bytes);
        let delivered = match self.stacks.stack(number) {
            Some(stack) => stack.on_datagram(now, flow, to, packet.ecn, &bytes),
            None => 0,
        };
        self.stacks.buffers[slot as usize].bytes = bytes;
        self.stacks.release(slot);
        if to == End::Receiver {
            self.count_delivered(now, flow, delivered, packet);
        } else {
            let connection = packet.payload.connection();
            self.note_carried(flow, connection, CarriedJournal::on_arrival);
        }
        self.touch(flow);
        self.pump_stack(number);
    }

    /// Lets the journal of a flow note something about a connection, if there is one.
    fn note_carried(&mut self, flow: u32, connection: u32, note: impl FnOnce(&mut CarriedJournal, u64)) {
        if let Some(journal) = &mut self.journal
            && let Some(journal) = journal.of_carried(flow, self.network.now)
            && let Some(known) = self.stacks.connections.get(connection as usize)
        {
            note(journal, known.number);
        }
    }

    /// A stack was woken: it may have changed a flow that has a journal without sending anything.
    fn note_wake(&mut self, number: u32) {
        let now = self.network.now;
        if let Some(journal) = &mut self.journal
            && let flow = journal.flow()
            && self.stacks.of(flow) == Some(number)
            && let Some(journal) = journal.of_carried(flow, now)
        {
            journal.on_wake(now);
            self.touch(flow);
        }
    }

    /// A connection of a flow that may have a journal has reached its end.
    fn note_end(&mut self, connection: u32, kind: CarriedKind) {
        let (flow, now) = (self.stacks.connections[connection as usize].flow, self.network.now);
        if !self.journal.as_ref().is_some_and(|journal| journal.covers(flow, now)) {
            return;
        }
        if let Some(shown) = self.stacks.shown(now, connection) {
            self.note_carried(flow, connection, |journal, number| {
                let place = Place { at: now, connection: number };
                journal.on_state(place, &shown);
                journal.on_end(place, kind, &shown);
            });
        }
    }

    /// True if a capture watches the states of senders.
    fn watches_senders(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.watches_senders())
    }

    /// Records what the connections of a traced or watched flow show.
    #[cold]
    fn record_carried(&mut self, flow: u32) {
        let now = self.network.now;
        let is_journaled = self.journal.as_ref().is_some_and(|journal| journal.covers(flow, now));
        if !is_journaled && !self.probes.shows_senders(flow) && !self.watches_senders() {
            return;
        }
        for connection in self.stacks.open_of(flow) {
            let Some(shown) = self.stacks.shown(now, connection) else { continue };
            self.probes.record_shown(flow, now, &shown);
            self.note_carried(flow, connection, |journal, number| {
                journal.on_state(Place { at: now, connection: number }, &shown);
            });
            if let Some(capture) = &mut self.capture {
                let number = self.stacks.connections[connection as usize].number;
                capture.see_shown(now, (flow, number), &shown);
            }
        }
    }

    fn on_stack_event(&mut self, event: StackEvent) {
        match event {
            StackEvent::Acknowledged { connection } => self.on_carried_acknowledged(connection),
            StackEvent::GivenUp { connection } => self.on_carried_given_up(connection),
        }
    }

    /// All that was written on a connection has been acknowledged.
    fn on_carried_acknowledged(&mut self, connection: u32) {
        let known = &mut self.stacks.connections[connection as usize];
        if !known.is_open || known.writes_on {
            return;
        }
        let flow = known.flow;
        self.note_end(connection, CarriedKind::Completed);
        let Some(task) = self.stacks.connections[connection as usize].task.take() else {
            self.release_carried(connection);
            if matches!(self.scenario.flows[flow as usize].source, SourceSpec::Transfer(_)) {
                self.flows.complete(flow, self.scenario, self.network.now);
            }
            return;
        };
        let counters = self.counters_of_carried(connection);
        let is_kept = self.keeps(flow, &task);
        self.end_transfer(flow, &task, counters, true);
        if !is_kept {
            self.close_kept(connection);
        }
        self.tell_end(flow, &task, true);
    }

    fn on_carried_given_up(&mut self, connection: u32) {
        let known = &mut self.stacks.connections[connection as usize];
        if !known.is_open {
            return;
        }
        let (flow, task) = (known.flow, known.task.take());
        self.note_end(connection, CarriedKind::GivenUp);
        self.flows[flow].totals.connections_given_up += 1;
        let counters = self.counters_of_carried(connection);
        self.release_carried(connection);
        if let Some(task) = task {
            self.give_up_task(flow, &task, counters);
        }
    }

    /// Segments retransmitted and timeouts of a connection so far, as far as its stack shows them.
    pub(super) fn counters_of_carried(&mut self, connection: u32) -> (u64, u64) {
        let shown = self.stacks.shown(self.network.now, connection).unwrap_or_default();
        (shown.segments_retransmitted.unwrap_or_default(), shown.timeouts.unwrap_or_default())
    }

    /// A workload closes a connection that it has kept, and on which everything was acknowledged.
    pub(super) fn close_kept(&mut self, connection: u32) {
        self.close_carried(connection);
        self.release_carried(connection);
    }

    /// A connection is over: its counters become those of its flow.
    fn release_carried(&mut self, connection: u32) {
        let flow = self.stacks.connections[connection as usize].flow;
        if let Some(shown) = self.stacks.shown(self.network.now, connection) {
            self.flows[flow].totals.add_shown(&shown);
        }
        self.stacks.leave(connection);
        self.with_stack(flow, |stack, now| stack.release(now, connection));
    }

    /// Ends the transfers that are in progress at the end, and counts what open connections show.
    pub(super) fn end_carried(&mut self) {
        for connection in self.stacks.open.concat() {
            let known = &mut self.stacks.connections[connection as usize];
            let flow = known.flow;
            if let Some(task) = known.task.take() {
                let counters = self.counters_of_carried(connection);
                self.end_transfer(flow, &task, counters, false);
            }
        }
        let (now, flows) = (self.network.now, &mut self.flows);
        self.stacks.add_shown(now, |flow, shown| flows[flow].totals.add_shown(shown));
    }
}
