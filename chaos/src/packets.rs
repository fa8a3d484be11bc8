//! The packets of a run at all of its nodes.

use crate::generator;
use dumbbell_sim::Scenario;
use dumbbell_sim::capture::{Content, Seen, SeenPacket, Sighting, Tap, Watch};
use dumbbell_sim::transport::End;
use dumbbell_units::random::words_hash;
use std::sync::Mutex;

/// Maximum number of packets that are collected. A run with more of them was not meant for a comparison by packet.
const MOST_SEEN: usize = 20 * generator::MOST_PACKETS as usize;

/// Collects every packet of a run at every node, up to a maximum.
#[derive(Debug)]
pub struct Packets {
    nodes: usize,
    seen: Mutex<Vec<Packet>>,
}

/// A packet that enters a link or arrives.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its time, in nanoseconds.
    pub at: u64,
    /// The node, by position.
    pub node: usize,
    /// The flow, by position.
    pub flow: usize,
    /// Connection of the flow.
    pub connection: u64,
    /// The packet.
    pub seen: SeenPacket,
}

impl Packets {
    /// Nothing seen yet.
    pub fn new(scenario: &Scenario) -> Self {
        Packets { nodes: scenario.nodes.len(), seen: Mutex::default() }
    }

    /// What was seen, in order of time; `None` if there were more packets than the maximum.
    pub fn into_seen(self) -> Option<Vec<Packet>> {
        let seen = self.seen.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        (seen.len() <= MOST_SEEN).then_some(seen)
    }
}

impl Tap for Packets {
    fn watch(&self) -> Watch {
        Watch { nodes: (0..self.nodes).collect(), senders: false }
    }

    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
        let packets = sightings.filter_map(|Sighting { at, node, flow, connection, seen, .. }| match seen {
            Seen::Packet(seen) => {
                Some(Packet { at: at.0, node: node as usize, flow: flow as usize, connection, seen })
            }
            Seen::Sender(_) | Seen::Shown(_) => None,
        });
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let room = (MOST_SEEN + 1).saturating_sub(seen.len());
        seen.extend(packets.take(room));
    }
}

impl Packet {
    /// True if it travels to the sender of its flow.
    pub fn is_reverse(&self) -> bool {
        match self.seen.content {
            Content::Ack(_) | Content::Report(_) => true,
            Content::Carried { to, .. } => to == End::Sender,
            Content::Segment(_) | Content::Datagram => false,
        }
    }

    /// What tells it from other packets and does not change on its way.
    pub fn identity(&self) -> impl Ord + use<> {
        let SeenPacket { size, sent, .. } = self.seen;
        let (kind, numbers, flags) = self.content(1);
        (self.flow, self.connection, size, sent, kind, numbers.map(f64::to_bits), flags)
    }

    /// What it carries, with times and sizes divided by powers of two.
    pub fn carried(&self, time: u64, size: u64) -> impl PartialEq + std::fmt::Debug + use<> {
        let at = self.at as f64 / time as f64;
        let bytes = f64::from(self.seen.size) / size as f64;
        (at, self.node, self.flow, self.connection, bytes, self.seen.ecn, self.content(size))
    }

    fn content(&self, size: u64) -> (&'static str, [f64; 2], (bool, bool, bool)) {
        let bytes = |number: u64| number as f64 / size as f64;
        match &self.seen.content {
            Content::Segment(segment) => {
                let flags = (segment.is_syn, segment.is_retransmission, segment.is_cwr);
                ("segment", [bytes(segment.seq), bytes(u64::from(segment.len))], flags)
            }
            Content::Ack(ack) => (
                "acknowledgement",
                [bytes(ack.ack), f64::from(ack.ce_packets)],
                (ack.is_syn, ack.is_ece, false),
            ),
            Content::Datagram => ("datagram", [0.0; 2], (false, false, false)),
            Content::Report(report) => {
                ("report", [report.received as f64, report.lost as f64], (false, false, false))
            }
            Content::Carried { to, bytes } => {
                let hash = words_hash(bytes);
                let halves = [f64::from(hash as u32), f64::from((hash >> 32) as u32)];
                ("carried", halves, (*to == End::Sender, false, false))
            }
        }
    }
}
