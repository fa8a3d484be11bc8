//! The sources of flows: start, stop, restart, and their traffic.

use super::Simulation;
use super::connections::Writer;
use super::payload::Payload;
use crate::events::{Event, Noted};
use crate::forwarding::Forwarding;
use dumbbell_net::tcplib::Conversation;
use dumbbell_net::{Packet, PacketKind, SourceSpec};
use dumbbell_units::Time;

impl Simulation<'_> {
    #[inline(never)]
    pub(super) fn on_flow(&mut self, flow: u32) {
        let (spec, now) = (&self.scenario.flows[flow as usize], self.network.now);
        let state = &mut self.flows[flow];
        if state.work.as_ref().is_some_and(|work| !work.is_due(now)) {
            // Another action of the workload has become due.
            return;
        }
        self.fingerprint.note(now, Noted::Flow, flow, 0);
        if state.has_stopped {
            let restart = &spec.restarts[state.restarts];
            let last_delivery = self.flows.hot(flow).last_delivery;
            self.flows[flow].restart(restart, last_delivery, self.window, now);
        } else if state.stop.is_some_and(|stop| now >= stop) {
            self.stop_flow(flow);
            let restart = spec.restarts.get(self.flows[flow].restarts);
            self.stop_work(flow, restart.map(|restart| restart.start));
            if let Some(restart) = restart {
                self.network.events.push(restart.start, Event::Flow(flow));
            }
            return;
        }
        let is_start = !std::mem::replace(&mut self.flows[flow].has_started, true);
        let mut next = None;
        match &spec.source {
            SourceSpec::Greedy(_) => self.begin(flow, u64::MAX),
            SourceSpec::Transfer(transfer) => self.begin(flow, transfer.size.0),
            SourceSpec::Tcplib(tcplib) => {
                let Some(mut random) = self.flows[flow].random.take() else { return };
                if !is_start {
                    self.converse(flow, tcplib.conversation(now, &mut random));
                }
                next = Some(now + tcplib.next_gap(&mut random));
                self.flows[flow].random = Some(random);
            }
            source if source.is_workload() => {
                self.on_work(flow, is_start);
                if let Some(number) = self.stacks.of(flow) {
                    self.pump_stack(number);
                }
                return;
            }
            _ => next = self.send_datagrams(flow, is_start),
        }
        match (next, self.flows[flow].stop) {
            (Some(at), Some(stop)) => self.network.events.push(at.min(stop), Event::Flow(flow)),
            (Some(at), None) => self.network.events.push(at, Event::Flow(flow)),
            (None, Some(stop)) => self.network.events.push(stop, Event::Flow(flow)),
            (None, None) => {}
        }
    }

    /// A conversation begins on a connection of its own.
    fn converse(&mut self, flow: u32, conversation: Conversation) {
        if let Some(number) = self.stacks.of(flow) {
            self.converse_carried(flow, number, conversation);
            return;
        }
        let Conversation { first_write, telnet } = conversation;
        let owner = self.open(flow, first_write, telnet.is_some());
        self.connections[owner].writer = telnet.map(|telnet| Box::new(Writer { telnet, next: None }));
        if self.connections[owner].writes_on {
            self.schedule_write(owner);
        }
        self.pump(owner);
    }

    fn stop_flow(&mut self, flow: u32) {
        self.flows[flow].has_stopped = true;
        if let Some(number) = self.stacks.of(flow) {
            self.stop_carried(flow, number);
        }
        for owner in self.connections.of_flow(flow) {
            let connection = &mut self.connections[owner];
            connection.sender.close();
            connection.stop_writing();
            if connection.sender.is_complete() {
                self.close(owner);
            }
        }
    }

    /// Sends the current emission of a datagram source, or writes it on the connection of its flow. Returns the time of
    /// the next one.
    fn send_datagrams(&mut self, flow: u32, is_start: bool) -> Option<Time> {
        let source = &self.scenario.flows[flow as usize].source;
        let state = &mut self.flows[flow];
        let mut random = state.random.take()?;
        if is_start {
            state.datagrams =
                source.start_datagrams(&mut random).map(|datagrams| Box::new((datagrams, None)));
        }
        let began = state.runs_since;
        let mut taken = state.datagrams.take()?;
        let (datagrams, pending) = &mut *taken;
        let mut messages = self.begin_messages(flow);
        let is_measured = self.window.contains(self.network.now);
        let next = loop {
            let emission = pending.take().or_else(|| source.next_datagrams(datagrams, &mut random));
            let Some(emission) = emission else { break None };
            let at = began + emission.after_start;
            if at > self.network.now {
                *pending = Some(emission);
                break Some(at);
            }
            match &mut messages {
                Some(messages) => messages.take(emission.bytes, self.network.now, is_measured),
                None => emission.sizes().for_each(|size| self.send_datagram(flow, size)),
            }
        };
        let state = &mut self.flows[flow];
        state.datagrams = Some(taken);
        state.random = Some(random);
        if let Some(messages) = messages {
            self.write_messages(flow, messages, next.is_none());
        }
        next
    }

    fn send_datagram(&mut self, flow: u32, size: u32) {
        let is_measured = self.window.contains(self.network.now);
        let state = &mut self.flows[flow];
        state.totals.segments_sent += 1;
        let (label, number) = (state.label, state.totals.segments_sent);
        let hot = self.flows.hot_mut(flow);
        hot.count_sent(size, is_measured);
        let begin = hot.begins.0;
        self.ledger.count_sent();
        let packet = Packet {
            size,
            owner: flow,
            generation: 0,
            kind: PacketKind::Datagram,
            ecn: self.scenario.flows[flow as usize].source.ecn(),
            flow: label,
            timestamp: self.network.now,
            queueing: Time::ZERO,
            payload: Payload::of_datagram(number),
        };
        self.send(begin, packet);
    }
}
