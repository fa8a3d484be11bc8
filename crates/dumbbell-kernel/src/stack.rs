//! A guest as a [`Stack`]: both ends of the connections of one or several flows.
//!
//! The guest boots before the run: its clock is ahead by [`BOOT`]. It needs no time to run, so what it sends because of
//! a datagram leaves when the datagram arrives.

use crate::affinity::OnOneProcessor;
use crate::agent::{Answer, Command};
use crate::connection::Connection;
use crate::frames::{self, Segment};
use crate::guest::{CONTROL, Guest, RECEIVER, SENDER, Start};
use dumbbell_sim::transport::{End, Shown, Stack, StackEvent, Transmit};
use dumbbell_units::{Ecn, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

/// Guest time at which a run begins, in nanoseconds.
pub const BOOT: u64 = 1_000_000_000;

/// Guest time in which a command is obeyed, in nanoseconds.
const OBEYED_IN: u64 = 100_000_000;

/// Ports of senders: from this one on. Those of receivers begin there too.
const FIRST_PORT: u16 = 1024;

/// Number of ports of senders.
const PORTS: u32 = 65_536 - FIRST_PORT as u32;

/// What distinguishes guests: all flows with the same settings share one.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings<'a> {
    /// Settings of the kernel, by their names.
    pub sysctl: Vec<(&'a str, &'a str)>,
    /// A module of the user.
    pub module: Option<&'a Path>,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
}

/// A running guest. See the [module](self).
#[derive(Debug)]
pub struct Linux {
    guest: Guest,
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
    answers: VecDeque<Answer>,
    failure: Option<String>,
    /// What a connection has shown since the guest ran last.
    shown: BTreeMap<u32, Answer>,
    /// Guest and engine share a processor until the guest has ended.
    _processor: Option<OnOneProcessor>,
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
        let processor = OnOneProcessor::here();
        let mut stack = Linux {
            guest: Guest::start(start)?,
            congestion,
            connections: BTreeMap::new(),
            by_port: BTreeMap::new(),
            listening: Vec::new(),
            opened: 0,
            sent: VecDeque::new(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
            failure: None,
            shown: BTreeMap::new(),
            _processor: processor,
        };
        stack.await_answer(b'R').map_err(|error| format!("the guest did not boot: {error}"))?;
        stack.set_up(settings)?;
        if stack.guest.calendar().now() > BOOT {
            return Err("the guest took too long to boot".into());
        }
        stack.guest.run_until(BOOT)?;
        Ok(stack)
    }

    /// The guest, for tests.
    pub fn guest(&self) -> &Guest {
        &self.guest
    }

    fn set_up(&mut self, settings: &Settings<'_>) -> Result<(), String> {
        if let Some(module) = settings.module {
            let folder = module.parent().unwrap_or(Path::new("/"));
            let file = module.file_name().unwrap_or_default();
            let text = [folder.as_os_str().as_encoded_bytes(), b"\0", file.as_encoded_bytes()].concat();
            let problem = format!("the kernel does not load {}", module.display());
            self.order(&Command { kind: b'M', text: &text, ..Command::default() }, &problem)?;
        }
        let hosts = Command { kind: b'H', number: settings.mtu.into(), ..Command::default() };
        // Some settings hold for devices that are made later, others are those of a host.
        for is_made in [false, true] {
            for (name, value) in &settings.sysctl {
                let text = [name.replace('.', "/").as_bytes(), b"\0", value.as_bytes()].concat();
                let problem = format!("the kernel does not accept {name} = \"{value}\"");
                self.order(&Command { kind: b'Y', text: &text, ..Command::default() }, &problem)?;
            }
            if !is_made {
                for congestion in self.congestion.values().cloned().collect::<BTreeSet<_>>() {
                    let problem = format!("the kernel has no congestion control {congestion}");
                    let text = [congestion.as_bytes(), b"\0"].concat();
                    self.order(&Command { kind: b'K', text: &text, ..Command::default() }, &problem)?;
                }
                self.order(&hosts, "the hosts of the guest could not be made")?;
            }
        }
        Ok(())
    }

    /// Gives a command before the run, and waits until it was obeyed.
    fn order(&mut self, command: &Command<'_>, problem: &str) -> Result<(), String> {
        self.command(command)?;
        match self.await_answer(command.kind)?.number {
            0 => Ok(()),
            error => {
                let error = std::io::Error::from_raw_os_error(error as i32);
                Err(format!("{problem}: {error}"))
            }
        }
    }

    /// Gives a command now.
    fn command(&mut self, command: &Command<'_>) -> Result<(), String> {
        self.guest.deliver(CONTROL, &command.frame(self.guest.mac(CONTROL)))?;
        self.run()
    }

    /// Lets the guest do what it wants to do now, and takes what it has sent.
    fn run(&mut self) -> Result<(), String> {
        self.guest.run_until(self.guest.calendar().now())?;
        self.take_frames();
        Ok(())
    }

    /// Lets time pass until the agent gives an answer of this kind.
    fn await_answer(&mut self, kind: u8) -> Result<Answer, String> {
        let end = self.guest.calendar().now() + OBEYED_IN;
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer.kind == kind) {
                return self.answers.remove(at).ok_or_else(String::new);
            }
            if self.guest.calendar().request().is_none_or(|request| request > end) {
                return Err("it gave no answer to a command".into());
            }
            self.guest.run()?;
            self.take_frames();
        }
    }

    /// Takes what the guest has sent.
    fn take_frames(&mut self) {
        while let Some((device, frame)) = self.guest.poll_frame() {
            if device == CONTROL {
                self.on_answer(&frame);
            } else {
                let from = if device == SENDER { End::Sender } else { End::Receiver };
                let packet = self.on_frame(from, &frame);
                self.sent.extend(packet);
            }
        }
    }

    fn on_answer(&mut self, frame: &[u8]) {
        let Some(answer) = Answer::parse(frame) else { return };
        match (answer.kind, self.by_port.get(&answer.port)) {
            (b'G', Some(&connection)) => self.events.push_back(StackEvent::GivenUp { connection }),
            _ => self.answers.push_back(answer),
        }
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

    /// The guest does something at this time; what fails ends it.
    fn at(&mut self, now: Time, act: impl FnOnce(&mut Self) -> Result<(), String>) {
        if self.failure.is_some() {
            return;
        }
        let to = now.0.saturating_add(BOOT).max(self.guest.calendar().now());
        self.shown.clear();
        // What it wants to do at the same time comes after what happens to it.
        let done = self.guest.run_until(to - 1).and_then(|()| {
            self.guest.pass(to)?;
            act(self)
        });
        self.failure = done.err();
        self.take_frames();
    }

    /// Asks the agent about a connection.
    fn ask(&mut self, now: Time, connection: u32) -> Option<Answer> {
        if let Some(known) = self.shown.get(&connection) {
            return Some(known.clone());
        }
        let ports = (self.port_of(connection), 0);
        let mut answer = None;
        self.at(now, |stack| {
            stack.command(&Command { kind: b'S', ports, ..Command::default() })?;
            answer = Some(stack.await_answer(b'S')?);
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
        self.at(now, |stack| {
            stack.command(&Command { kind: b'O', is_kept, ports: (from, to), number: bytes, text: &text })
        });
    }

    fn write(&mut self, now: Time, connection: u32, bytes: u64) {
        let Some(found) = self.connections.get_mut(&connection) else { return };
        found.written = found.written.saturating_add(bytes);
        found.is_told = false;
        let ports = (found.port, 0);
        self.at(now, |stack| {
            stack.command(&Command { kind: b'W', ports, number: bytes, ..Command::default() })
        });
    }

    fn close(&mut self, now: Time, connection: u32) {
        let ports = (self.port_of(connection), 0);
        self.at(now, |stack| stack.command(&Command { kind: b'C', ports, ..Command::default() }));
    }

    fn on_datagram(&mut self, now: Time, _flow: u32, to: End, ecn: Ecn, bytes: &[u8]) -> u64 {
        let (device, Some(segment)) =
            (if to == End::Sender { SENDER } else { RECEIVER }, Segment::parse(bytes))
        else {
            return 0;
        };
        let mut frame = Vec::with_capacity(bytes.len() + frames::ETHERNET);
        frames::begin_ip(&mut frame, self.guest.mac(device));
        frame.extend(bytes);
        frames::set_ecn(&mut frame[frames::ETHERNET..], ecn);
        self.at(now, |stack| {
            stack.guest.deliver(device, &frame)?;
            stack.run()
        });
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
        match self.guest.calendar().request() {
            Some(request) if self.failure.is_none() => Time(request.saturating_sub(BOOT)),
            _ => Time::NEVER,
        }
    }

    /// What a connection shows changes with a packet or an event. A kernel that was asked may only want to become idle
    /// again; to ask it once more for that would go on for ever.
    fn on_deadline(&mut self, now: Time) {
        let shown = std::mem::take(&mut self.shown);
        let before = (self.sent.len(), self.events.len());
        self.at(now, Linux::run);
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
        self.failure.clone()
    }
}
