//! A guest as a [`Stack`]: both ends of the connections of one or several flows.
//!
//! Connections are distinguished by the ports of their senders.

use crate::agent::{Answer, Command};
use crate::connection::Connection;
use crate::frames::{self, Segment};
use crate::guest::{Guest, RECEIVER, SENDER, Start};
use crate::machine::{Machine, Settings};
use dumbbell_sim::transport::{End, Shown, Stack, StackEvent, Transmit};
use dumbbell_units::{Ecn, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Ports of senders: from this one on. Those of receivers begin there too.
const FIRST_PORT: u16 = 1024;

/// Number of ports of senders.
const PORTS: u32 = 65_536 - FIRST_PORT as u32;

/// A running guest. See the [module](self).
#[derive(Debug)]
pub struct Linux {
    machine: Machine,
    /// Congestion control of each flow.
    congestion: BTreeMap<u32, String>,
    connections: BTreeMap<u32, Connection>,
    /// Connections by the ports of their senders.
    by_port: BTreeMap<u16, u32>,
    /// Congestion controls of receivers, by their ports.
    listening: Vec<String>,
    opened: u32,
    sent: VecDeque<(Transmit, Vec<u8>)>,
    events: VecDeque<StackEvent>,
    /// What a connection has shown since the guest ran last.
    shown: BTreeMap<u32, Answer>,
}

impl Linux {
    /// Starts a guest for these flows, each with its congestion control.
    ///
    /// # Errors
    ///
    /// It could not be started or set up.
    pub fn start(
        start: &Start<'_>,
        settings: &Settings<'_>,
        congestion: BTreeMap<u32, String>,
    ) -> Result<Self, String> {
        let needed: BTreeSet<&str> = congestion.values().map(String::as_str).collect();
        Ok(Linux {
            machine: Machine::start(start, settings, &needed)?,
            congestion,
            connections: BTreeMap::new(),
            by_port: BTreeMap::new(),
            listening: Vec::new(),
            opened: 0,
            sent: VecDeque::new(),
            events: VecDeque::new(),
            shown: BTreeMap::new(),
        })
    }

    /// The guest, for tests.
    pub fn guest(&self) -> &Guest {
        self.machine.guest()
    }

    /// A packet leaves a host; `None` if it belongs to no connection.
    fn on_frame(&mut self, from: End, frame: &[u8]) -> Option<(Transmit, Vec<u8>)> {
        let packet = frames::packet_in(frame)?;
        let segment = Segment::parse(packet)?;
        let port = if from == End::Sender { segment.source } else { segment.destination };
        let connection = self.connections.get_mut(self.by_port.get(&port)?)?;
        if from == End::Sender {
            connection.on_sent(&segment);
        }
        let transmit = Transmit {
            flow: connection.flow,
            from,
            size: packet.len() as u32,
            ecn: segment.ecn,
            is_data: segment.data > 0,
            connection: connection.number,
        };
        Some((transmit, packet.to_vec()))
    }

    /// The guest does something at this time.
    fn at(&mut self, now: Time, act: impl FnOnce(&mut Machine) -> Result<(), String>) {
        self.shown.clear();
        self.machine.at(now, act);
        while let Some((device, frame)) = self.machine.poll_frame() {
            let from = if device == SENDER { End::Sender } else { End::Receiver };
            let packet = self.on_frame(from, &frame);
            self.sent.extend(packet);
        }
        while let Some(answer) = self.machine.poll_answer() {
            if let (b'G', Some(&connection)) = (answer.kind, self.by_port.get(&answer.port)) {
                self.events.push_back(StackEvent::GivenUp { connection });
            }
        }
    }

    /// Asks the agent about a connection.
    fn ask(&mut self, now: Time, connection: u32) -> Option<Answer> {
        if let Some(known) = self.shown.get(&connection) {
            return Some(known.clone());
        }
        let ports = (self.port_of(connection), 0);
        let mut answer = None;
        self.at(now, |machine| {
            machine.command(&Command { kind: b'S', ports, ..Command::default() })?;
            answer = Some(machine.await_answer(b'S')?);
            Ok(())
        });
        self.shown.extend(answer.clone().map(|answer| (connection, answer)));
        answer
    }

    /// Bytes that the receiver of a connection has read, for tests.
    pub fn read(&mut self, now: Time, connection: u32) -> u64 {
        self.ask(now, connection).map_or(0, |answer| answer.number)
    }

    fn port_of(&self, connection: u32) -> u16 {
        self.connections.get(&connection).map_or(0, |connection| connection.port)
    }

    /// Port of the receivers that have a congestion control.
    fn listening_port(&mut self, congestion: &str) -> u16 {
        let known = self.listening.iter().position(|known| known == congestion);
        let place = known.unwrap_or_else(|| {
            self.listening.push(congestion.to_owned());
            self.listening.len() - 1
        });
        FIRST_PORT + place as u16
    }

    fn tell_if_acknowledged(&mut self, connection: u32) {
        if let Some(found) = self.connections.get_mut(&connection).filter(|found| found.is_news()) {
            found.is_told = true;
            self.events.push_back(StackEvent::Acknowledged { connection });
        }
    }
}

impl Stack for Linux {
    fn open(&mut self, now: Time, flow: u32, connection: u32, bytes: u64, is_kept: bool) {
        let congestion = self.congestion.get(&flow).cloned().unwrap_or_default();
        let from = FIRST_PORT + (self.opened % PORTS) as u16;
        self.opened += 1;
        let to = self.listening_port(&congestion);
        if let Some(before) = self.by_port.insert(from, connection) {
            self.connections.remove(&before);
        }
        self.connections.insert(connection, Connection::new(flow, connection, from, bytes));
        let text = [congestion.as_bytes(), b"\0"].concat();
        self.at(now, |machine| {
            machine.command(&Command {
                kind: b'O',
                detail: is_kept.into(),
                ports: (from, to),
                number: bytes,
                text: &text,
            })
        });
    }

    fn write(&mut self, now: Time, connection: u32, bytes: u64) {
        let Some(found) = self.connections.get_mut(&connection) else { return };
        found.written = found.written.saturating_add(bytes);
        found.is_told = false;
        let ports = (found.port, 0);
        self.at(now, |machine| {
            machine.command(&Command { kind: b'W', ports, number: bytes, ..Command::default() })
        });
    }

    fn close(&mut self, now: Time, connection: u32) {
        let ports = (self.port_of(connection), 0);
        self.at(now, |machine| machine.command(&Command { kind: b'C', ports, ..Command::default() }));
    }

    fn on_datagram(&mut self, now: Time, _flow: u32, to: End, ecn: Ecn, bytes: &[u8]) -> u64 {
        let (device, Some(segment)) =
            (if to == End::Sender { SENDER } else { RECEIVER }, Segment::parse(bytes))
        else {
            return 0;
        };
        let mut frame = Vec::with_capacity(bytes.len() + frames::ETHERNET);
        frames::begin_ip(&mut frame, self.machine.guest().mac(device));
        frame.extend(bytes);
        frames::set_ecn(&mut frame[frames::ETHERNET..], ecn);
        self.at(now, |machine| machine.deliver(device, &frame));
        let port = if to == End::Sender { segment.destination } else { segment.source };
        let Some(&connection) = self.by_port.get(&port) else { return 0 };
        let Some(found) = self.connections.get_mut(&connection) else { return 0 };
        if to == End::Receiver {
            return found.on_data(&segment);
        }
        found.on_ack(&segment);
        self.tell_if_acknowledged(connection);
        0
    }

    fn next_deadline(&self) -> Time {
        self.machine.next_deadline()
    }

    /// What a connection shows changes with a packet or an event. A kernel that was asked may only want to become idle
    /// again; to ask it once more for that would go on for ever.
    fn on_deadline(&mut self, now: Time) {
        let shown = std::mem::take(&mut self.shown);
        let before = (self.sent.len(), self.events.len());
        self.at(now, Machine::run);
        if (self.sent.len(), self.events.len()) == before {
            self.shown = shown;
        }
    }

    fn poll_transmit(&mut self, _now: Time, bytes: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, packet) = self.sent.pop_front()?;
        *bytes = packet;
        Some(transmit)
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        self.events.pop_front()
    }

    fn shown(&mut self, now: Time, connection: u32) -> Shown {
        let shown = self.ask(now, connection).map_or_else(Shown::default, |answer| answer.shown());
        let (acknowledged, delivered) = self
            .connections
            .get(&connection)
            .map_or((0, 0), |found| (found.acknowledged(), found.delivered()));
        Shown { acknowledged, delivered, ..shown }
    }

    fn failure(&self) -> Option<String> {
        self.machine.failure()
    }
}
