//! The event loop: plain components in vectors, packets moved by value, and one place where
//! everything that happens is dispatched.

use crate::events::{Event, EventQueue};
use crate::network::{END, Names, NewRoute, Routes};
use crate::outcome::{Conservation, FlowOutcome, LinkOutcome, Outcome};
use crate::scenario::{FlowSpec, Scenario, Start, TickPhase};
use crate::trace::{Quantity, Recording};
use dumbbell_net::tcplib::Telnet;
use dumbbell_net::{DatagramState, Emission, Link, Offer, Packet, PacketKind, SourceSpec};
use dumbbell_tcp::{AckSegment, DataSegment, HostClock, Receiver, Sender, TcpParams};
use dumbbell_units::{Stream, Time};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a packet carries between end points.
#[derive(Clone, Copy, Debug)]
enum Payload {
    Data(DataSegment),
    Ack(AckSegment),
    Nothing,
}

/// One TCP connection with both its ends.
#[derive(Clone, Debug)]
struct Connection {
    flow: u32,
    generation: u16,
    is_open: bool,
    /// The application may write again.
    writes_on: bool,
    sender: Sender,
    receiver: Receiver,
    /// Time of the pending deadline event, if any.
    deadline_at: Time,
    telnet: Option<Telnet>,
    /// The pending write: when, and how many bytes.
    next_write: Option<(Time, u64)>,
    /// First bytes of segments lost on the way and not yet repaired.
    lost: Vec<u64>,
}

/// A packet that a chained link will have dropped, once its time has come.
#[derive(Clone, Copy, Debug)]
struct Drop {
    at: Time,
    link: u32,
    by_queue: bool,
    packet: Packet<Payload>,
}

/// What a flow has counted beyond its connections' senders.
#[derive(Clone, Debug, Default)]
struct FlowState {
    random: Option<Stream>,
    /// Of a source of datagrams: its state, and what it emits next.
    datagrams: Option<(DatagramState, Option<Emission>)>,
    started_at: Time,
    /// The present start, which is a later one after restarts, and the stop that ends it.
    runs_since: Time,
    stop: Option<Time>,
    /// How many restarts have begun.
    restarts: usize,
    has_started: bool,
    has_stopped: bool,
    completed_at: Option<Time>,
    last_delivery: Time,
    bytes_delivered: u64,
    /// Those of the whole run, counted for probes only.
    delivered: u64,
    bytes_on_wire: u64,
    totals: FlowOutcome,
    rtt_sum: f64,
    rtt_count: u64,
    rtt_min: f64,
    recovery_wait: (f64, u64),
    window_kept: (f64, u64),
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    now: Time,
    window: (Time, Time),
    events: EventQueue,
    event_count: u64,
    fingerprint: u64,
    hops: Vec<u32>,
    begins: Vec<(u32, u32)>,
    reroutes: Vec<NewRoute>,
    /// Time of the next change of a path.
    next_reroute: Time,
    sole_feeder: Vec<Option<u32>>,
    links: Vec<Link<Payload>>,
    flows: Vec<FlowState>,
    clocks: Vec<(HostClock, HostClock)>,
    connections: Vec<Connection>,
    free: Vec<u32>,
    conservation: Conservation,
    /// Drops on chained links that are still to come.
    future_drops: Vec<Drop>,
    to_complete: usize,
    recordings: Vec<Recording>,
    /// Recordings of each flow and of each link.
    flow_probes: Vec<Vec<u32>>,
    link_probes: Vec<Vec<u32>>,
}

/// Runs a scenario once. The scenario must come from one of its checked constructors.
pub fn run(scenario: &Scenario, seed: u64, run: u64) -> Outcome {
    let never = AtomicBool::new(false);
    let mut simulation = Simulation::new(scenario, seed, run);
    simulation.run(&never);
    simulation.finish(seed, run)
}

/// Like [`run`], but gives up soon after `stop` becomes true.
pub fn run_unless(stop: &AtomicBool, scenario: &Scenario, seed: u64, run: u64) -> Option<Outcome> {
    let mut simulation = Simulation::new(scenario, seed, run);
    simulation.run(stop);
    (!stop.load(Ordering::Relaxed)).then(|| simulation.finish(seed, run))
}

/// Events between two looks at the stop flag, a power of two.
const EVENTS_PER_LOOK: u64 = 1 << 14;

impl<'a> Simulation<'a> {
    fn new(scenario: &'a Scenario, seed: u64, run: u64) -> Self {
        let routes = Routes::new(scenario).unwrap_or_default();
        let window = (scenario.measure_from, scenario.measure_until());
        let mut simulation = Simulation {
            scenario,
            now: Time::ZERO,
            window,
            events: EventQueue::default(),
            event_count: 0,
            fingerprint: 0xcbf2_9ce4_8422_2325,
            hops: routes.hops,
            begins: routes.begins,
            next_reroute: routes.reroutes.last().map_or(Time::NEVER, |change| change.at),
            reroutes: routes.reroutes,
            sole_feeder: routes.sole_feeder,
            links: Vec::with_capacity(scenario.links.len()),
            flows: Vec::with_capacity(scenario.flows.len()),
            clocks: Vec::with_capacity(scenario.flows.len()),
            connections: Vec::new(),
            free: Vec::new(),
            conservation: Conservation::default(),
            future_drops: Vec::new(),
            to_complete: scenario.stop_when_complete.len(),
            recordings: Vec::new(),
            flow_probes: vec![Vec::new(); scenario.flows.len()],
            link_probes: vec![Vec::new(); scenario.links.len()],
        };
        simulation.add_probes();
        let nodes = Names::new(scenario.node_names());
        for (index, link) in scenario.links.iter().enumerate() {
            let random = Stream::new(seed, run, &format!("link:{}", link.name));
            let traced = simulation.link_probes[index]
                .iter()
                .any(|&probe| simulation.recordings[probe as usize].quantity == Quantity::Backlog);
            let mut built = Link::new(link, random, window);
            if traced {
                built.trace_backlog();
            }
            if nodes.index(&link.from).is_some_and(|node| scenario.nodes[node].0.aqt) {
                built.stamp_queueing();
            }
            simulation.links.push(built);
        }
        for (index, flow) in scenario.flows.iter().enumerate() {
            simulation.add_flow(index as u32, flow, &nodes, (seed, run));
        }
        simulation
    }

    fn add_probes(&mut self) {
        for probe in &self.scenario.probes {
            let chosen = |names: &[String], name: &str| names.iter().any(|n| n == "*" || n == name);
            for &quantity in &probe.quantities {
                let (names, wanted, probes) = if quantity.is_of_link() {
                    (self.scenario.link_names(), &probe.links, &mut self.link_probes)
                } else {
                    (self.scenario.flow_names(), &probe.flows, &mut self.flow_probes)
                };
                for (index, name) in names.iter().enumerate() {
                    if chosen(wanted, name) {
                        probes[index].push(self.recordings.len() as u32);
                        self.recordings.push(Recording::new(name, quantity, probe));
                    }
                }
            }
        }
    }

    fn add_flow(&mut self, index: u32, flow: &FlowSpec, nodes: &Names<'_>, (seed, run): (u64, u64)) {
        let stream = |part: &str| Stream::new(seed, run, &format!("flow:{}:{part}", flow.name));
        let started_at = match flow.start {
            Start::At(at) => at,
            Start::Uniform(from, to) => {
                Time::from_secs(stream("start").uniform_between(from.secs(), to.secs()))
            }
        };
        let clock = |name: &str| {
            let phase = nodes.index(name).map(|node| self.scenario.nodes[node].0.tick_phase);
            host_clock(phase.unwrap_or_default(), || Stream::new(seed, run, &format!("node:{name}")))
        };
        self.clocks.push((clock(&flow.from), clock(&flow.to)));
        self.flows.push(FlowState {
            random: Some(stream("traffic")),
            started_at,
            runs_since: started_at,
            stop: flow.stop,
            rtt_min: f64::INFINITY,
            ..FlowState::default()
        });
        self.events.push(started_at, Event::Flow(index));
    }

    fn run(&mut self, stop: &AtomicBool) {
        while let Some((at, event)) = self.events.peek() {
            if at > self.scenario.duration {
                break;
            }
            self.now = at;
            self.event_count += 1;
            if at >= self.next_reroute {
                self.reroute();
            }
            if self.event_count.is_multiple_of(EVENTS_PER_LOOK) && stop.load(Ordering::Relaxed) {
                return;
            }
            match event {
                Event::Arrival(link) => self.on_arrival(link),
                Event::Deadline(connection) => {
                    self.events.pop();
                    self.on_deadline(connection);
                }
                Event::Write(connection) => {
                    self.events.pop();
                    self.on_write(connection);
                }
                Event::Flow(flow) => {
                    self.events.pop();
                    self.on_flow(flow);
                }
            }
            if self.to_complete == 0 && !self.scenario.stop_when_complete.is_empty() {
                return;
            }
        }
        self.now = self.scenario.duration;
    }

    /// Packets sent from now on take the new paths.
    #[cold]
    fn reroute(&mut self) {
        while let Some(change) = self.reroutes.pop_if(|change| change.at <= self.now) {
            self.begins[change.flow as usize] = change.begins;
        }
        self.next_reroute = self.reroutes.last().map_or(Time::NEVER, |change| change.at);
    }

    #[inline]
    fn note(&mut self, what: u64, detail: u64) {
        let mixed = self.fingerprint ^ self.now.0.rotate_left(20) ^ what.rotate_left(48) ^ detail;
        self.fingerprint = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn is_measured(&self) -> bool {
        self.now >= self.window.0 && self.now < self.window.1
    }

    // Packets.

    #[inline]
    fn on_arrival(&mut self, link: u32) {
        let Some((mut packet, next)) = self.links[link as usize].land() else {
            self.events.pop();
            return;
        };
        match next {
            Some(at) => self.events.postpone_first(at),
            None => self.events.pop(),
        }
        if self.hops[packet.hop as usize + 1] == END {
            self.deliver(packet);
        } else {
            packet.hop += 1;
            self.forward(packet);
        }
    }

    /// Puts a packet on its present link, and on every following link that only this one feeds.
    #[inline]
    fn forward(&mut self, mut packet: Packet<Payload>) {
        let mut at = self.now;
        loop {
            let index = self.hops[packet.hop as usize];
            let link = &mut self.links[index as usize];
            match link.offer(at, &mut packet) {
                Offer::Arrives(arrival) => {
                    let next = self.hops[packet.hop as usize + 1];
                    if next != END && self.sole_feeder[next as usize] == Some(index) {
                        packet.hop += 1;
                        at = arrival;
                        continue;
                    }
                    if link.launch(arrival, packet) {
                        self.events.push(arrival, Event::Arrival(index));
                    }
                }
                offer @ (Offer::DroppedByQueue | Offer::DroppedByImpairment) => {
                    let drop = Drop { at, link: index, by_queue: offer == Offer::DroppedByQueue, packet };
                    if at > self.now { self.future_drops.push(drop) } else { self.on_drop(&drop) }
                }
            }
            return;
        }
    }

    /// Counts the drops on chained links whose time has come.
    fn count_drops(&mut self) {
        if self.future_drops.is_empty() {
            return;
        }
        let due: Vec<Drop> = self.future_drops.extract_if(.., |drop| drop.at <= self.now).collect();
        for drop in due {
            self.on_drop(&drop);
        }
    }

    #[cold]
    fn on_drop(&mut self, drop: &Drop) {
        let Drop { at, link, packet, .. } = drop;
        self.conservation.dropped += 1;
        for &probe in &self.link_probes[*link as usize] {
            let recording = &mut self.recordings[probe as usize];
            if recording.quantity == Quantity::Drops {
                let dropped = recording.last().unwrap_or(0.0) + 1.0;
                recording.record(*at, Some(dropped));
            }
        }
        match packet.payload {
            Payload::Data(segment) => {
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
            Payload::Nothing => self.flows[packet.owner as usize].totals.segments_lost += 1,
            Payload::Ack(_) => {}
        }
    }

    #[inline]
    fn deliver(&mut self, packet: Packet<Payload>) {
        self.conservation.delivered += 1;
        match packet.payload {
            Payload::Data(segment) => {
                self.note(1 << 32 | u64::from(packet.owner), segment.seq);
                self.on_data(&packet, &segment);
            }
            Payload::Ack(ack) => {
                self.note(2 << 32 | u64::from(packet.owner), ack.ack);
                let connection = &mut self.connections[packet.owner as usize];
                if connection.generation == packet.generation && connection.is_open {
                    connection.sender.on_ack(self.now, &ack, packet.queueing);
                    self.pump(packet.owner);
                }
            }
            Payload::Nothing => {
                self.note(3 << 32 | u64::from(packet.owner), u64::from(packet.size));
                self.count_delivered(packet.owner, u64::from(packet.size));
            }
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet<Payload>, segment: &DataSegment) {
        let connection = &mut self.connections[packet.owner as usize];
        if connection.generation != packet.generation || !connection.is_open {
            return;
        }
        let before = connection.receiver.rcv_nxt();
        let ack = connection.receiver.on_segment(self.now, segment, packet.sent_at);
        let delivered = connection.receiver.rcv_nxt() - before;
        let flow = connection.flow;
        self.count_delivered(flow, delivered);
        match ack {
            Some(mut ack) => {
                // Of an ACK for a filled hole the newest segment came earlier, with another queueing time.
                if self.tcp(flow).aqt && ack.ack == segment.seq + u64::from(segment.len) {
                    ack.queueing_echo = packet.queueing;
                }
                self.send_ack(packet.owner, ack);
            }
            None => self.arm(packet.owner),
        }
    }

    /// New bytes have reached the application of a flow.
    #[inline]
    fn count_delivered(&mut self, flow: u32, bytes: u64) {
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
    fn send_ack(&mut self, owner: u32, ack: AckSegment) {
        let connection = &self.connections[owner as usize];
        let size = self.tcp(connection.flow).acknowledgement_size();
        let packet = Packet {
            size,
            hop: self.begins[connection.flow as usize].1,
            owner,
            generation: connection.generation,
            kind: PacketKind::Ack,
            sent_at: self.now,
            queueing: Time::ZERO,
            payload: Payload::Ack(ack),
        };
        self.conservation.sent += 1;
        self.forward(packet);
    }

    // Connections.

    fn tcp(&self, flow: u32) -> &'a TcpParams {
        let tcp = self.scenario.flows[flow as usize].tcp.as_ref();
        tcp.map_or(&TCP_OF_DATAGRAMS, |tcp| &tcp.0)
    }

    /// Sends whatever the sender has, then sees to its deadline, its end, and its probes.
    #[inline]
    fn pump(&mut self, owner: u32) {
        let index = owner as usize;
        let flow = self.connections[index].flow;
        while let Some(segment) = self.connections[index].sender.poll_transmit(self.now) {
            self.send_segment(owner, flow, segment);
        }
        if !self.flow_probes[flow as usize].is_empty() {
            self.record_flow(owner, flow);
        }
        self.arm(owner);
        let connection = &self.connections[index];
        if !connection.writes_on && connection.sender.is_complete() || connection.sender.has_given_up() {
            self.close(owner);
        }
    }

    #[inline]
    fn send_segment(&mut self, owner: u32, flow: u32, segment: DataSegment) {
        let packet = Packet {
            size: self.tcp(flow).segment_size(segment.len),
            hop: self.begins[flow as usize].0,
            owner,
            generation: self.connections[owner as usize].generation,
            kind: PacketKind::Data,
            sent_at: self.now,
            queueing: Time::ZERO,
            payload: Payload::Data(segment),
        };
        self.conservation.sent += 1;
        if self.is_measured() {
            self.flows[flow as usize].bytes_on_wire += u64::from(packet.size);
        }
        if !self.flow_probes[flow as usize].is_empty() {
            self.record(flow, Quantity::SeqSent, Some(segment.seq as f64));
        }
        self.forward(packet);
    }

    /// Keeps one deadline event pending, no later than the earliest deadline.
    #[inline]
    fn arm(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        let wanted = connection.sender.next_deadline().min(connection.receiver.next_deadline());
        if wanted < connection.deadline_at {
            let at = wanted.max(self.now);
            connection.deadline_at = at;
            self.events.push(at, Event::Deadline(owner));
        }
    }

    fn on_deadline(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        if connection.deadline_at != self.now || !connection.is_open {
            return;
        }
        connection.deadline_at = Time::NEVER;
        let sender_due = connection.sender.next_deadline() <= self.now;
        let receiver_due = connection.receiver.next_deadline() <= self.now;
        if receiver_due && let Some(ack) = connection.receiver.on_deadline(self.now) {
            self.note(4 << 32 | u64::from(owner), 0);
            self.send_ack(owner, ack);
        }
        if sender_due {
            self.note(5 << 32 | u64::from(owner), 0);
            self.on_sender_deadline(owner);
        } else {
            self.arm(owner);
        }
    }

    fn on_sender_deadline(&mut self, owner: u32) {
        self.count_drops();
        let connection = &mut self.connections[owner as usize];
        let timeouts = connection.sender.stats().timeouts;
        connection.sender.on_deadline(self.now);
        if connection.sender.stats().timeouts > timeouts {
            let una = connection.sender.snd_una();
            let lost = connection.lost.iter().filter(|&&seq| seq >= una).count();
            connection.lost.clear();
            let totals = &mut self.flows[connection.flow as usize].totals;
            totals.timeouts_any_loss += u64::from(lost >= 1);
            totals.timeouts_multiple_loss += u64::from(lost >= 2);
        }
        self.pump(owner);
    }

    fn open(&mut self, flow: u32, bytes: u64, telnet: Option<Telnet>) -> u32 {
        let params = self.tcp(flow);
        let (from, to) = self.clocks[flow as usize];
        let mut sender = Sender::new(params, from, self.now);
        sender.write(bytes);
        let slot = self.free.pop();
        let generation = slot.map_or(0, |slot| self.connections[slot as usize].generation.wrapping_add(1));
        let connection = Connection {
            flow,
            generation,
            is_open: true,
            writes_on: telnet.is_some() || bytes == u64::MAX,
            sender,
            receiver: Receiver::new(params, to),
            deadline_at: Time::NEVER,
            telnet,
            next_write: None,
            lost: Vec::new(),
        };
        self.flows[flow as usize].totals.connections += 1;
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

    fn close(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        connection.is_open = false;
        let flow = connection.flow;
        let acknowledged = connection.sender.snd_una();
        self.count_connection(owner);
        self.free.push(owner);
        if let SourceSpec::Transfer(transfer) = &self.scenario.flows[flow as usize].source
            && acknowledged >= transfer.size.0
        {
            self.flows[flow as usize].completed_at = Some(self.now);
            if self.scenario.stop_when_complete.contains(&self.scenario.flows[flow as usize].name) {
                self.to_complete -= 1;
            }
        }
    }

    fn count_connection(&mut self, owner: u32) {
        let connection = &self.connections[owner as usize];
        let stats = connection.sender.stats();
        let state = &mut self.flows[connection.flow as usize];
        let totals = &mut state.totals;
        totals.segments_sent += stats.segments_sent;
        totals.segments_retransmitted += stats.segments_retransmitted;
        totals.bytes_retransmitted += stats.bytes_retransmitted;
        totals.timeouts += stats.timeouts;
        totals.fast_retransmits += stats.fast_retransmits;
        totals.first_slow_start_timeouts += stats.first_slow_start_timeouts;
        totals.receive_window_limited += stats.receive_window_limited;
        state.rtt_sum += stats.rtt_sum;
        state.rtt_count += stats.rtt_count;
        state.rtt_min = state.rtt_min.min(stats.rtt_min);
        state.recovery_wait.0 += stats.recovery_wait_sum;
        state.recovery_wait.1 += stats.recovery_wait_count;
        state.window_kept.0 += stats.window_kept_sum;
        state.window_kept.1 += stats.window_kept_count;
    }

    fn on_write(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        let due = connection.next_write.filter(|&(at, _)| at == self.now && connection.is_open);
        let Some((_, bytes)) = due else { return };
        self.note(6 << 32 | u64::from(owner), bytes);
        let connection = &mut self.connections[owner as usize];
        connection.sender.write(bytes);
        self.schedule_write(owner);
        self.pump(owner);
    }

    fn schedule_write(&mut self, owner: u32) {
        let has_stopped = self.flows[self.connections[owner as usize].flow as usize].has_stopped;
        let connection = &mut self.connections[owner as usize];
        let next = connection.telnet.as_mut().and_then(|telnet| telnet.next_write(self.now));
        connection.next_write = next.filter(|_| !has_stopped);
        match connection.next_write {
            Some((at, _)) => self.events.push(at, Event::Write(owner)),
            None => connection.writes_on = false,
        }
    }

    // Flows.

    fn on_flow(&mut self, flow: u32) {
        let index = flow as usize;
        let spec = &self.scenario.flows[index];
        self.note(7 << 32 | u64::from(flow), 0);
        if self.flows[index].has_stopped {
            self.restart(index);
        } else if self.flows[index].stop.is_some_and(|stop| self.now >= stop) {
            self.stop_flow(flow);
            if let Some(restart) = spec.restarts.get(self.flows[index].restarts) {
                self.events.push(restart.start, Event::Flow(flow));
            }
            return;
        }
        let is_start = !self.flows[index].has_started;
        self.flows[index].has_started = true;
        let mut next = None;
        match &spec.source {
            SourceSpec::Greedy(_) => {
                let owner = self.open(flow, u64::MAX, None);
                self.pump(owner);
            }
            SourceSpec::Transfer(transfer) => {
                let owner = self.open(flow, transfer.size.0, None);
                self.pump(owner);
            }
            SourceSpec::Tcplib(tcplib) => {
                let Some(mut random) = self.flows[index].random.take() else { return };
                if !is_start {
                    let conversation = tcplib.conversation(self.now, &mut random);
                    let owner = self.open(flow, conversation.first_write, conversation.telnet);
                    if self.connections[owner as usize].writes_on {
                        self.schedule_write(owner);
                    }
                    self.pump(owner);
                }
                next = Some(self.now + tcplib.next_gap(&mut random));
                self.flows[index].random = Some(random);
            }
            _ => next = self.send_datagrams(flow, is_start),
        }
        match (next, self.flows[index].stop) {
            (Some(at), Some(stop)) => self.events.push(at.min(stop), Event::Flow(flow)),
            (Some(at), None) => self.events.push(at, Event::Flow(flow)),
            (None, Some(stop)) => self.events.push(stop, Event::Flow(flow)),
            (None, None) => {}
        }
    }

    /// A flow that has stopped starts again.
    fn restart(&mut self, index: usize) {
        let state = &mut self.flows[index];
        let restart = &self.scenario.flows[index].restarts[state.restarts];
        state.restarts += 1;
        state.runs_since = self.now;
        state.stop = restart.stop;
        state.has_started = false;
        state.has_stopped = false;
    }

    fn stop_flow(&mut self, flow: u32) {
        self.flows[flow as usize].has_stopped = true;
        for owner in 0..self.connections.len() as u32 {
            let connection = &mut self.connections[owner as usize];
            if connection.flow == flow && connection.is_open {
                connection.sender.close();
                connection.writes_on = false;
                connection.next_write = None;
                if connection.sender.is_complete() {
                    self.close(owner);
                }
            }
        }
    }

    /// Sends what a source of datagrams emits now. Returns when it emits next.
    fn send_datagrams(&mut self, flow: u32, is_start: bool) -> Option<Time> {
        let source = &self.scenario.flows[flow as usize].source;
        let state = &mut self.flows[flow as usize];
        let mut random = state.random.take()?;
        if is_start {
            state.datagrams = source.start_datagrams(&mut random).map(|datagrams| (datagrams, None));
        }
        let began = state.runs_since;
        let (mut datagrams, mut pending) = state.datagrams.take()?;
        let next = loop {
            match pending {
                None => pending = source.next_datagrams(&mut datagrams, &mut random),
                Some(emission) if began + emission.after_start <= self.now => {
                    self.send_emission(flow, emission);
                    pending = None;
                    continue;
                }
                Some(emission) => break Some(began + emission.after_start),
            }
            if pending.is_none() {
                break None;
            }
        };
        let state = &mut self.flows[flow as usize];
        state.datagrams = Some((datagrams, pending));
        state.random = Some(random);
        next
    }

    fn send_emission(&mut self, flow: u32, emission: Emission) {
        let mut left = emission.bytes;
        while left > 0 {
            let size = left.min(u64::from(emission.packet)) as u32;
            left -= u64::from(size);
            self.send_datagram(flow, size);
        }
    }

    fn send_datagram(&mut self, flow: u32, size: u32) {
        let measured = self.is_measured();
        let state = &mut self.flows[flow as usize];
        state.totals.segments_sent += 1;
        if measured {
            state.bytes_on_wire += u64::from(size);
        }
        self.conservation.sent += 1;
        self.forward(Packet {
            size,
            hop: self.begins[flow as usize].0,
            owner: flow,
            generation: 0,
            kind: PacketKind::Datagram,
            sent_at: self.now,
            queueing: Time::ZERO,
            payload: Payload::Nothing,
        });
    }

    // Probes.

    fn record(&mut self, flow: u32, quantity: Quantity, value: Option<f64>) {
        for &probe in &self.flow_probes[flow as usize] {
            let recording = &mut self.recordings[probe as usize];
            if recording.quantity == quantity {
                recording.record(self.now, value);
            }
        }
    }

    #[cold]
    fn record_flow(&mut self, owner: u32, flow: u32) {
        let sender = &self.connections[owner as usize].sender;
        let mss = f64::from(sender.mss());
        let probe = sender.congestion().probe();
        let ssthresh = sender.congestion().ssthresh();
        let values = [
            (Quantity::Cwnd, Some(sender.cwnd() / mss)),
            (Quantity::Ssthresh, ssthresh.is_finite().then_some(ssthresh / mss)),
            (Quantity::FlightSize, Some(sender.flight_size() as f64 / mss)),
            (Quantity::Srtt, sender.srtt()),
            (Quantity::Rto, Some(sender.rto().secs())),
            (Quantity::BaseRtt, probe.base_rtt),
            (Quantity::VegasDiff, probe.vegas_diff),
            (Quantity::Alpha, probe.alpha),
            (Quantity::Bandwidth, probe.bandwidth.map(|bandwidth| bandwidth * 8.0)),
            (Quantity::SeqAcked, Some(sender.snd_una() as f64)),
        ];
        for (quantity, value) in values {
            self.record(flow, quantity, value);
        }
    }

    // The end.

    fn finish(mut self, seed: u64, run: u64) -> Outcome {
        for owner in 0..self.connections.len() as u32 {
            if self.connections[owner as usize].is_open {
                self.count_connection(owner);
            }
        }
        self.count_drops();
        for drop in std::mem::take(&mut self.future_drops) {
            self.conservation.in_flight += 1;
            self.links[drop.link as usize].forget_drop(drop.by_queue);
        }
        self.conservation.in_flight += self.links.iter().map(|link| link.in_flight() as u64).sum::<u64>();
        debug_assert!(self.conservation.holds(), "{:?}", self.conservation);
        self.finish_recordings();
        for link in &mut self.links {
            link.end(self.now);
        }
        let flows = (0..self.flows.len()).map(|index| self.flow_outcome(index)).collect();
        let links = (0..self.links.len()).map(|index| self.link_outcome(index)).collect();
        Outcome {
            scenario: self.scenario.name.clone(),
            seed,
            run,
            fingerprint: self.fingerprint,
            simulated_s: self.now.secs(),
            events: self.event_count,
            flows,
            links,
            conservation: self.conservation,
            recordings: self.recordings,
        }
    }

    fn finish_recordings(&mut self) {
        for (link, probes) in self.link_probes.iter().enumerate() {
            let changes = self.links[link].take_changes(self.now);
            for &probe in probes {
                let recording = &mut self.recordings[probe as usize];
                if recording.quantity == Quantity::Backlog {
                    for change in changes.iter().filter(|change| change.at <= self.now) {
                        recording.record(change.at, Some(change.waiting as f64));
                    }
                }
            }
        }
        for recording in &mut self.recordings {
            recording.finish(self.now);
        }
    }

    fn flow_outcome(&self, index: usize) -> FlowOutcome {
        let spec = &self.scenario.flows[index];
        let state = &self.flows[index];
        let active = self.active_time(spec, state);
        let rate = |bytes: u64| if active > 0.0 { bytes as f64 * 8.0 / active } else { 0.0 };
        let mean = |(sum, count): (f64, u64)| (count > 0).then(|| sum / count as f64);
        FlowOutcome {
            name: spec.name.clone(),
            goodput_bps: rate(state.bytes_delivered),
            throughput_bps: rate(state.bytes_on_wire),
            bytes_delivered: state.bytes_delivered,
            completion_s: state.completed_at.map(|at| at.since(state.started_at).secs()),
            start_s: state.started_at.secs(),
            rtt_mean_s: mean((state.rtt_sum, state.rtt_count)),
            rtt_min_s: state.rtt_min.is_finite().then_some(state.rtt_min),
            recovery_wait_rtts: mean(state.recovery_wait),
            cwnd_after_recovery: mean(state.window_kept),
            ..state.totals.clone()
        }
    }

    /// Time within the measurement window that the flow was active, in seconds. What it sent before it stopped may
    /// arrive later; that counts.
    fn active_time(&self, spec: &FlowSpec, state: &FlowState) -> f64 {
        let end = [self.window.1, self.now].into_iter().chain(state.completed_at).min().unwrap_or(self.now);
        let first = (state.started_at, spec.stop);
        let intervals = std::iter::once(first).chain(spec.restarts.iter().map(|r| (r.start, r.stop)));
        let length = intervals.clone().count();
        let spans = intervals.enumerate().map(|(number, (start, stop))| {
            let is_last = number + 1 == length;
            let stop = stop.map_or(end, |stop| if is_last { stop.max(state.last_delivery) } else { stop });
            stop.min(end).since(start.max(self.window.0)).0
        });
        Time(spans.sum()).secs()
    }

    fn link_outcome(&self, index: usize) -> LinkOutcome {
        let stats = self.links[index].stats();
        let window = self.window.1.min(self.now).since(self.window.0).0.max(1) as f64;
        LinkOutcome {
            name: self.scenario.links[index].name.clone(),
            utilization: stats.busy as f64 / window,
            drops_queue: stats.drops_queue,
            drops_impairment: stats.drops_impairment,
            packets: stats.packets,
            backlog_mean_packets: stats.waited as f64 / window,
            backlog_max_packets: stats.backlog_max as u64,
        }
    }
}

/// Flows of datagrams have no TCP; nothing reads these parameters.
static TCP_OF_DATAGRAMS: std::sync::LazyLock<TcpParams> = std::sync::LazyLock::new(TcpParams::default);

/// The clock of a host. A host's phase is drawn from its own stream, once for all its flows.
fn host_clock(phase: TickPhase, random: impl Fn() -> Stream) -> HostClock {
    match phase {
        TickPhase::Random => HostClock::Fraction(random().uniform()),
        TickPhase::At(at) => HostClock::At(at),
    }
}
