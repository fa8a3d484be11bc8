//! Flows: start, stop, restart, and the traffic of their sources.

use super::Simulation;
use super::payload::Payload;
use crate::events::{Event, Noted};
use crate::forwarding::Forwarding;
use dumbbell_net::{Emission, Packet, PacketKind, SourceSpec};
use dumbbell_units::Time;

impl Simulation<'_> {
    #[inline(never)]
    pub(super) fn on_flow(&mut self, flow: u32) {
        let index = flow as usize;
        if self.is_obsolete(index) {
            return;
        }
        let spec = &self.scenario.flows[index];
        self.note(Noted::Flow.of(flow), 0);
        if self.flows[index].has_stopped {
            self.restart(index);
        } else if self.flows[index].stop.is_some_and(|stop| self.network.now >= stop) {
            self.stop_flow(flow);
            let restart = spec.restarts.get(self.flows[index].restarts);
            self.stop_work(flow, restart.map(|restart| restart.start));
            if let Some(restart) = restart {
                self.network.events.push(restart.start, Event::Flow(flow));
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
                    let conversation = tcplib.conversation(self.network.now, &mut random);
                    let owner = self.open(flow, conversation.first_write, conversation.telnet);
                    if self.connections[owner as usize].writes_on {
                        self.schedule_write(owner);
                    }
                    self.pump(owner);
                }
                next = Some(self.network.now + tcplib.next_gap(&mut random));
                self.flows[index].random = Some(random);
            }
            source if source.is_workload() => {
                self.on_work(flow, is_start);
                return;
            }
            _ => next = self.send_datagrams(flow, is_start),
        }
        match (next, self.flows[index].stop) {
            (Some(at), Some(stop)) => self.network.events.push(at.min(stop), Event::Flow(flow)),
            (Some(at), None) => self.network.events.push(at, Event::Flow(flow)),
            (None, Some(stop)) => self.network.events.push(stop, Event::Flow(flow)),
            (None, None) => {}
        }
    }

    /// Restarts a stopped flow.
    pub(super) fn restart(&mut self, index: usize) {
        let active = self.present_activity(index);
        let pause = self.window.overlap(self.activity_end(index), self.network.now);
        let state = &mut self.flows[index];
        state.active_before += active;
        state.pauses.push((self.network.now, pause));
        let restart = &self.scenario.flows[index].restarts[state.restarts];
        state.restarts += 1;
        state.runs_since = self.network.now;
        state.stop = restart.stop;
        state.has_started = false;
        state.has_stopped = false;
    }

    /// A packet sent before a restart arrives after it: the flow was active during the pause.
    pub(super) fn bridge_pauses(&mut self, flow: u32, sent: Time) {
        let state = &mut self.flows[flow as usize];
        while let Some((_, pause)) = state.pauses.pop_if(|(restart, _)| *restart > sent) {
            state.active_before += pause;
        }
    }

    pub(super) fn stop_flow(&mut self, flow: u32) {
        self.flows[flow as usize].has_stopped = true;
        for owner in self.open_connections(flow) {
            let connection = &mut self.connections[owner as usize];
            connection.sender.close();
            connection.writes_on = false;
            connection.writer = None;
            if connection.sender.is_complete() {
                self.close(owner);
            }
        }
    }

    /// Sends the current emission of a datagram source. Returns the time of the next one.
    pub(super) fn send_datagrams(&mut self, flow: u32, is_start: bool) -> Option<Time> {
        let source = &self.scenario.flows[flow as usize].source;
        let state = &mut self.flows[flow as usize];
        let mut random = state.random.take()?;
        if is_start {
            state.datagrams =
                source.start_datagrams(&mut random).map(|datagrams| Box::new((datagrams, None)));
        }
        let began = state.runs_since;
        let mut taken = state.datagrams.take()?;
        let (datagrams, pending) = &mut *taken;
        let next = loop {
            let emission = pending.take().or_else(|| source.next_datagrams(datagrams, &mut random));
            let Some(emission) = emission else { break None };
            let at = began + emission.after_start;
            if at > self.network.now {
                *pending = Some(emission);
                break Some(at);
            }
            self.send_emission(flow, emission);
        };
        let state = &mut self.flows[flow as usize];
        state.datagrams = Some(taken);
        state.random = Some(random);
        next
    }

    pub(super) fn send_emission(&mut self, flow: u32, emission: Emission) {
        let mut left = emission.bytes;
        while left > 0 {
            let size = left.min(u64::from(emission.packet)) as u32;
            left -= u64::from(size);
            self.send_datagram(flow, size);
        }
    }

    pub(super) fn send_datagram(&mut self, flow: u32, size: u32) {
        let is_measured = self.window.contains(self.network.now);
        let state = &mut self.flows[flow as usize];
        state.totals.segments_sent += 1;
        let (label, number) = (state.label, state.totals.segments_sent);
        let hot = &mut self.hot_flows[flow as usize];
        hot.undelivered += 1;
        if is_measured {
            hot.bytes_on_wire += u64::from(size);
        }
        self.conservation.sent += 1;
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
        self.send(self.hot_flows[flow as usize].begins.0, packet);
    }
}
