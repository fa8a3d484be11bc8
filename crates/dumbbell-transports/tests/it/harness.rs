//! An event loop with one flow over the links of a scenario.

use dumbbell_net::{Packet, PacketKind};
use dumbbell_sim::Scenario;
use dumbbell_sim::paths::{Direction, Paths};
use dumbbell_sim::transport::{Carried, End, Shown, Stack, StackEvent, Transmit, Transport, TransportHost};
use dumbbell_units::random::bytes_hash;
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Ecn, Stream, Time, Value};
use serde_json::json;
use std::sync::Arc;

/// Every congestion control of every transport.
pub fn all() -> Vec<Value> {
    let named = |name: &'static str, controls: &[&'static str]| -> Vec<Value> {
        controls.iter().map(|control| json!({ "name": name, "congestion": control })).collect()
    };
    let mut all = named("quinn", &["cubic", "newreno", "bbr"]);
    all.extend(named("smoltcp", &["cubic", "reno"]));
    if cfg!(feature = "tls") {
        all.push(json!({ "name": "quinn", "tls": "fixed" }));
    }
    all
}

/// 10 Mbit/s, 20 ms each way and 33 packets, with replacements.
pub fn scenario(link: &str) -> Scenario {
    let absent = |name: &str, text| if link.contains(name) { "" } else { text };
    let rate = absent("rate", r#"rate = "10 Mbit/s", delay = "20 ms","#);
    let queue = absent("queue", r#"queue = { kind = "droptail", limit = "33 packets" },"#);
    let back = if rate.is_empty() {
        r#"rate = "1 Gbit/s", delay = "5 ms""#
    } else {
        r#"rate = "10 Mbit/s", delay = "20 ms""#
    };
    Scenario::from_toml(&format!(
        r#"
        duration = "1000 s"
        rules = "classic"
        nodes = ["a", "b"]
        links = [
            {{ name = "there", from = "a", to = "b", {rate} {queue} {link} }},
            {{ name = "back", from = "b", to = "a", {back} }},
        ]
        flows = [{{ name = "f", from = "a", to = "b", tcp = "reno" }}]
        "#
    ))
    .expect("a scenario")
}

/// A host bound to what a scenario states.
pub fn bound(stated: Value) -> (Arc<dyn TransportHost>, Transport) {
    let hosts = dumbbell_transports::hosts_with(cfg!(feature = "qlog"));
    let mut transport = Transport::decode(&Node::root(&stated)).expect("a transport");
    transport.bind("f", &hosts).expect("a host");
    let host = hosts.into_iter().find(|host| host.name() == transport.spec.name).expect("it was just bound");
    (host, transport)
}

/// What happens at the links of a run and to its connections.
#[derive(Debug, Default)]
pub struct Report {
    /// Hash of times, ends, codepoints and bytes of all datagrams that are sent.
    pub hash: u64,
    pub datagrams: u64,
    pub delivered: u64,
    pub drops: u64,
    /// Events of connections with their times.
    pub events: Vec<(Time, StackEvent)>,
    pub shown: Shown,
    pub deadlines: u64,
    pub marked: u64,
    pub end: Time,
}

impl Report {
    /// When a connection was first acknowledged, in seconds.
    pub fn completion(&self) -> f64 {
        let is_acknowledged = |event: &StackEvent| matches!(event, StackEvent::Acknowledged { .. });
        let found = self.events.iter().find(|(_, event)| is_acknowledged(event));
        found.unwrap_or_else(|| panic!("not acknowledged: {self:?}")).0.secs()
    }
}

/// A run under way.
pub struct Run {
    stack: Box<dyn Stack>,
    paths: Paths<u32>,
    /// Payloads by number.
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// A network that duplicates needs its buffers for ever.
    keeps: bool,
    bytes: Vec<u8>,
    /// The packets that are sent, if they are recorded.
    pub packets: Option<Vec<(Time, Vec<u8>)>>,
    pub now: Time,
    pub report: Report,
}

impl Run {
    pub fn new(scenario: &Scenario, stated: Value, seed: u64) -> Run {
        let (host, transport) = bound(stated);
        let random = Stream::new(seed, 0, "transport f");
        let carried = Carried { flow: 0, name: "f", spec: &transport.spec, random };
        let stack = host.start(vec![carried]).expect("it starts").remove(0).stack;
        Run {
            stack,
            paths: Paths::new(scenario, seed, 0).expect("paths"),
            buffers: Vec::new(),
            free: Vec::new(),
            keeps: true,
            bytes: Vec::new(),
            packets: None,
            now: Time::ZERO,
            report: Report::default(),
        }
    }

    /// For measurements: buffers are used again, which is right without duplicates, and nothing is hashed.
    pub fn reusing(mut self) -> Run {
        self.keeps = false;
        self
    }

    pub fn open(&mut self, connection: u32, bytes: u64, is_kept: bool) {
        self.stack.open(self.now, 0, connection, bytes, is_kept);
        self.drain();
    }

    pub fn write(&mut self, connection: u32, bytes: u64) {
        self.stack.write(self.now, connection, bytes);
        self.drain();
    }

    pub fn close(&mut self, connection: u32) {
        self.stack.close(self.now, connection);
        self.drain();
    }

    fn drain(&mut self) {
        let now = self.now;
        while let Some(transmit) = self.stack.poll_transmit(now, &mut self.bytes) {
            self.note(&transmit);
            let Transmit { flow, from, size, ecn, is_data, connection } = transmit;
            let number = self.free.pop().unwrap_or_else(|| {
                self.buffers.push(Vec::new());
                self.buffers.len() as u32 - 1
            });
            self.buffers[number as usize].clone_from(&self.bytes);
            let direction = if from == End::Sender { Direction::Forward } else { Direction::Reverse };
            let kind = if is_data { PacketKind::Datagram } else { PacketKind::Report };
            let packet = Packet {
                ecn,
                kind,
                flow: connection * 2 + u32::from(from == End::Receiver),
                ..Packet::of_size(size, number)
            };
            self.paths.enter(now, flow, direction, &packet);
        }
        while let Some(event) = self.stack.poll_event() {
            self.report.events.push((now, event));
        }
        assert_eq!(self.stack.failure(), None);
    }

    fn note(&mut self, transmit: &Transmit) {
        let report = &mut self.report;
        report.datagrams += 1;
        if let Some(packets) = &mut self.packets {
            packets.push((self.now, self.bytes.clone()));
        }
        if !self.keeps {
            return;
        }
        assert_eq!(transmit.size as usize, self.bytes.len());
        let end = u64::from(transmit.from == End::Sender);
        for part in [report.hash, self.now.0, end, transmit.ecn as u64, bytes_hash(&self.bytes)] {
            report.hash = bytes_hash(&[report.hash.to_be_bytes(), part.to_be_bytes()].concat());
        }
    }

    /// Runs until `end`, or until nothing more happens.
    pub fn until(&mut self, end: Time) -> &mut Run {
        loop {
            let deadline = self.stack.next_deadline();
            let next = self.paths.next_deadline().min(deadline);
            if next > end || next == Time::NEVER {
                self.now = end;
                self.report.end = self.report.end.max(self.now);
                return self;
            }
            assert!(next >= self.now, "time goes back");
            self.now = next;
            while let Some(delivery) = self.paths.poll(next) {
                let to = if delivery.direction == Direction::Forward { End::Receiver } else { End::Sender };
                let (number, ecn) = (delivery.packet.payload, delivery.packet.ecn);
                let bytes = std::mem::take(&mut self.buffers[number as usize]);
                self.report.marked += u64::from(ecn == Ecn::Ce);
                self.report.delivered += self.stack.on_datagram(next, delivery.flow, to, ecn, &bytes);
                self.buffers[number as usize] = bytes;
                if !self.keeps {
                    self.free.push(number);
                }
                self.drain();
            }
            while let Some(loss) = self.paths.poll_loss() {
                self.report.drops += 1;
                if !self.keeps {
                    self.free.push(loss.packet.payload);
                }
            }
            if deadline <= next {
                self.report.deadlines += 1;
                self.stack.on_deadline(next);
                self.drain();
            }
        }
    }

    #[cfg(any(feature = "tls", feature = "qlog"))]
    pub fn take_log(&mut self, log: dumbbell_sim::transport::Log) -> String {
        self.stack.take_log(log)
    }

    /// When the stack and the links are due.
    pub fn next(&self) -> (Time, Time) {
        (self.stack.next_deadline(), self.paths.next_deadline())
    }

    pub fn shown(&mut self, connection: u32) -> Shown {
        self.stack.shown(self.now, connection)
    }
}

/// A connection of this many bytes until everything has ended.
pub fn transfer(link: &str, stated: Value, bytes: u64) -> Report {
    let mut run = Run::new(&scenario(link), stated, 1);
    run.open(0, bytes, false);
    run.until(Time(900_000_000_000));
    run.report.shown = run.shown(0);
    run.report
}
