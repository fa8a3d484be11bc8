//! A closer look at a run that is over. The engine is deterministic, so the run is repeated with a journal of one flow, or
//! with a tap at its nodes.

use dumbbell_capture::headers::{LARGEST, LONGEST};
use dumbbell_capture::{Headers, PacketFile};
use dumbbell_sim::Scenario;
use dumbbell_sim::capture::{Content, Seen, SeenPacket, Sighting, Tap, Watch};
use dumbbell_sim::journal::Request;
use dumbbell_units::spec::{SpecError, near_miss};
use dumbbell_units::{Time, Value};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Largest file of packets, in bytes.
pub const MAX_FILE: usize = 64 << 20;
/// Most places of packets in an animation.
pub const MAX_PLACES: usize = 200_000;

/// What is looked at.
pub enum Look {
    /// What the sender of a flow learned and did in a part of the run.
    Why(Request),
    /// The packets at a node, as pcapng.
    Packets(Arc<Packets>),
    /// Where packets were in a part of the run.
    Film(Arc<Film>),
}

/// What a repeated run is watched by.
pub type Tapped = Arc<dyn Tap + Send + Sync>;

impl Look {
    /// What a page asks for: `{"kind": "why", "flow", "from_s", "until_s"}`, `{"kind": "packets", "node"}` or
    /// `{"kind": "film", "from_s", "until_s"}`.
    ///
    /// # Errors
    ///
    /// A name is unknown, or packets of the scenario do not fit IPv4.
    pub fn of(request: &Value, scenario: &Scenario) -> Result<Look, SpecError> {
        let time = |name: &str| Time::from_secs(request[name].as_f64().unwrap_or(0.0).max(0.0));
        let window = (time("from_s"), time("until_s"));
        match request["kind"].as_str() {
            Some("why") => {
                let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
                Ok(Look::Why(Request { flow: place(request, "flow", flows)? as u32, window }))
            }
            Some("packets") => {
                let nodes = scenario.nodes.iter().map(|node| node.0.name.as_str());
                Packets::new(scenario, place(request, "node", nodes)?)
                    .map(|packets| Look::Packets(Arc::new(packets)))
            }
            _ => {
                Ok(Look::Film(Arc::new(Film { window, nodes: scenario.nodes.len(), seen: Mutex::default() })))
            }
        }
    }

    /// The journal that the run keeps.
    pub fn journal(&self) -> Option<Request> {
        if let Look::Why(request) = self { Some(*request) } else { None }
    }

    /// What receives the packets.
    pub fn tap(&self) -> Option<Tapped> {
        match self {
            Look::Why(_) => None,
            Look::Packets(packets) => Some(Arc::clone(packets) as Tapped),
            Look::Film(film) => Some(Arc::clone(film) as Tapped),
        }
    }
}

/// The position of what a field names.
fn place<'a>(request: &Value, field: &str, names: impl Iterator<Item = &'a str>) -> Result<usize, SpecError> {
    let names: Vec<&str> = names.collect();
    let name = request[field].as_str().unwrap_or_default();
    names.iter().position(|known| *known == name).ok_or_else(|| SpecError {
        field: field.into(),
        value: format!("\"{name}\""),
        accepted: names.join(", "),
        suggestion: near_miss(name, &names),
    })
}

/// The packets at a node.
pub struct Packets {
    node: usize,
    headers: Headers,
    written: Mutex<Written>,
}

struct Written {
    file: PacketFile<Vec<u8>>,
    size: usize,
    count: u64,
    bytes: Vec<u8>,
    failure: Option<String>,
}

impl Packets {
    fn new(scenario: &Scenario, node: usize) -> Result<Packets, SpecError> {
        let headers = Headers::new(scenario)?;
        let name = scenario.nodes.get(node).map(|node| node.0.name.as_str());
        let file = PacketFile::new(Vec::new(), Duration::ZERO, LONGEST, name).map_err(|error| SpecError {
            field: "node".into(),
            value: error.to_string(),
            accepted: "a node whose packets can be written".into(),
            suggestion: None,
        })?;
        let written = Written { file, size: 0, count: 0, bytes: Vec::new(), failure: None };
        Ok(Packets { node, headers, written: Mutex::new(written) })
    }

    /// The file and its number of packets.
    ///
    /// # Errors
    ///
    /// There are too many packets.
    pub fn finish(self) -> Result<(Vec<u8>, u64), String> {
        let written = self.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        match written.failure {
            Some(failure) => Err(failure),
            None => Ok((written.file.into_inner(), written.count)),
        }
    }
}

impl Written {
    fn write(&mut self, headers: &Headers, sighting: &Sighting, packet: &SeenPacket) {
        if self.size > MAX_FILE {
            let at = sighting.at.secs();
            let text =
                format!("the file of packets exceeds {MAX_FILE} bytes after {at:.3} s; shorten the run");
            self.failure.get_or_insert(text);
            return;
        }
        let length = headers.write(sighting, packet, LONGEST, &mut self.bytes).min(LARGEST);
        if let Err(error) = self.file.packet(sighting.at, 0, length, &self.bytes) {
            self.failure.get_or_insert(error.to_string());
        }
        // A block has 32 bytes around the packet.
        self.size += 32 + self.bytes.len();
        self.count += 1;
    }
}

impl Tap for Packets {
    fn watch(&self) -> Watch {
        Watch { nodes: vec![self.node], senders: false }
    }

    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for sighting in sightings {
            if let Seen::Packet(packet) = &sighting.seen
                && sighting.node as usize == self.node
            {
                written.write(&self.headers, &sighting, packet);
            }
        }
    }
}

/// Where packets were in a part of a run.
pub struct Film {
    window: (Time, Time),
    nodes: usize,
    seen: Mutex<Places>,
}

/// What tells a packet from others: flow, connection, kind, first byte, and when it was sent.
type Identity = (u32, u64, u8, u64, Time);

#[derive(Default)]
struct Places {
    numbers: BTreeMap<Identity, u32>,
    /// Five numbers each.
    places: Vec<f64>,
    omitted: u64,
}

impl Film {
    /// The places, five numbers each: time in seconds, positions of node and flow, kind (0 data, 1 data again, 2 an
    /// acknowledgement, 3 a datagram, 4 a report, 5 of a stack that is not ours), and number of the packet. Behind
    /// them the number of places that found no room.
    pub fn finish(&self) -> (Vec<f64>, u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut seen.places), seen.omitted)
    }
}

impl Tap for Film {
    fn watch(&self) -> Watch {
        Watch { nodes: (0..self.nodes).collect(), senders: false }
    }

    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, until) = self.window;
        for sighting in sightings {
            if let Seen::Packet(packet) = &sighting.seen
                && from <= sighting.at
                && sighting.at <= until
            {
                seen.add(&sighting, packet);
            }
        }
    }
}

impl Places {
    fn add(&mut self, sighting: &Sighting, packet: &SeenPacket) {
        if self.places.len() >= 5 * MAX_PLACES {
            self.omitted += 1;
            return;
        }
        let (kind, first) = match &packet.content {
            Content::Segment(segment) => (u8::from(segment.is_retransmission), segment.seq),
            Content::Ack(ack) => (2, ack.ack),
            Content::Datagram => (3, 0),
            Content::Report(_) => (4, 0),
            Content::Carried { .. } => (5, 0),
        };
        let next = self.numbers.len() as u32;
        let identity = (sighting.flow, sighting.connection, kind, first, packet.sent);
        let number = *self.numbers.entry(identity).or_insert(next);
        let (node, flow) = (f64::from(sighting.node), f64::from(sighting.flow));
        self.places.extend([sighting.at.secs(), node, flow, f64::from(kind), f64::from(number)]);
    }
}

/// The answer of a look whose result is a buffer.
pub fn counted(count: u64, omitted: u64) -> Value {
    json!({ "count": count, "omitted": omitted })
}
