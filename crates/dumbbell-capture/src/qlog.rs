//! Events of senders as qlog 0.3, in the streamed format JSON-SEQ.
//!
//! The names are those of [draft-ietf-quic-qlog-main-schema-02] and [draft-ietf-quic-qlog-quic-events-02]. TCP has no packet
//! numbers: the segments that a connection sends are numbered from 0, and so are the acknowledgements that reach it. An
//! acknowledgement or a selective acknowledgement of bytes is one of the latest segment that carried them. A segment is
//! logged as lost when its bytes are sent again.
//!
//! Of a flow that a stack of others carries, the packets are logged with their lengths only, and the state as far as the
//! stack shows it.

use dumbbell_sim::Scenario;
use dumbbell_sim::capture::{Content, Seen, SeenPacket, SenderState, Sighting};
use dumbbell_sim::transport::{End, Shown};
use dumbbell_tcp::{AckSegment, Cause, DataSegment};
use dumbbell_units::Time;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Begins each record (RFC 7464 §2.2).
const RECORD_SEPARATOR: u8 = 0x1e;

/// A segment that is not known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    end: u64,
    number: u64,
}

/// One connection.
#[derive(Clone, Debug, Default)]
struct Connection {
    segments: u64,
    acknowledgements: u64,
    /// By first byte.
    outstanding: BTreeMap<u64, Outstanding>,
    /// Why a segment would be sent again now.
    cause: Option<Cause>,
    /// What was logged last.
    metrics: BTreeMap<&'static str, Value>,
    state: Option<&'static str>,
}

/// A file of events.
pub struct EventFile<W: Write> {
    writer: W,
    /// Names of the flows.
    flows: Vec<String>,
    connections: BTreeMap<(u32, u64), Connection>,
    count: u64,
}

/// A time in milliseconds.
fn milliseconds(at: Time) -> f64 {
    at.0 as f64 / 1e6
}

impl<W: Write> EventFile<W> {
    /// Begins a file for the senders of a scenario.
    ///
    /// # Errors
    ///
    /// The beginning cannot be written.
    pub fn new(writer: W, scenario: &Scenario) -> io::Result<Self> {
        let flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        let mut file = EventFile { writer, flows, connections: BTreeMap::new(), count: 0 };
        let mut common = json!({ "time_format": "relative", "reference_time": 0.0 });
        // A stack does not say what its protocol is.
        if !scenario.has_transports() {
            common["protocol_type"] = json!(["TCP"]);
        }
        file.record(&json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": scenario.name,
            "description": "Simulated senders; of TCP, packet numbers count segments and acknowledgements",
            "trace": {
                "vantage_point": { "name": "senders", "type": "client" },
                "common_fields": common,
            },
        }))?;
        Ok(file)
    }

    fn record(&mut self, value: &Value) -> io::Result<()> {
        self.writer.write_all(&[RECORD_SEPARATOR])?;
        serde_json::to_writer(&mut self.writer, value)?;
        self.writer.write_all(b"\n")
    }

    /// Logs what was seen at the sender of a flow.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&mut self, sighting: &Sighting) -> io::Result<()> {
        let Some(flow) = self.flows.get(sighting.flow as usize) else { return Ok(()) };
        let group = format!("{flow}#{}", sighting.connection);
        let connection = self.connections.entry((sighting.flow, sighting.connection)).or_default();
        let events = match &sighting.seen {
            Seen::Sender(state) => connection.on_state(state),
            Seen::Shown(shown) => connection.on_shown(shown).into_iter().collect(),
            Seen::Packet(packet) => match &packet.content {
                Content::Segment(segment) => connection.on_segment(segment, packet),
                Content::Ack(ack) => vec![connection.on_ack(ack, packet)],
                Content::Carried { to, .. } => vec![carried(*to, packet)],
                Content::Datagram | Content::Report(_) => Vec::new(),
            },
        };
        self.count += events.len() as u64;
        for (name, data) in events {
            let time = milliseconds(sighting.at);
            self.record(&json!({ "time": time, "name": name, "group_id": group, "data": data }))?;
        }
        Ok(())
    }

    /// Number of events logged so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Writes what was put off.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

type Event = (&'static str, Value);

/// The trigger of a loss, in the words of QUIC, by the cause of the retransmission.
fn trigger(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::Rack) => "time_threshold",
        Some(Cause::Handshake | Cause::FineTimeout | Cause::TailProbe | Cause::Timeout) => "pto_expired",
        Some(Cause::DuplicateAcks | Cause::PartialAck | Cause::Sack) | None => "reordering_threshold",
    }
}

/// A packet of a stack that is not ours leaves its sender or reaches it.
fn carried(to: End, packet: &SeenPacket) -> Event {
    let name = match to {
        End::Receiver => "transport:packet_sent",
        End::Sender => "transport:packet_received",
    };
    (name, json!({ "header": { "packet_type": "unknown" }, "raw": { "length": packet.size } }))
}

/// Numbers as ranges of consecutive ones, both ends included.
fn ranges(mut numbers: Vec<u64>) -> Vec<[u64; 2]> {
    numbers.sort_unstable();
    let mut ranges: Vec<[u64; 2]> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == number => *last = number,
            _ => ranges.push([number, number]),
        }
    }
    ranges
}

impl Connection {
    /// A segment is sent; what it carries again was lost.
    fn on_segment(&mut self, segment: &DataSegment, packet: &SeenPacket) -> Vec<Event> {
        let number = self.segments;
        self.segments += 1;
        let header = |number: u64| {
            let kind = if segment.is_syn { "initial" } else { "1RTT" };
            json!({ "packet_type": kind, "packet_number": number })
        };
        let end = segment.seq + u64::from(segment.len).max(1);
        let again = self.outstanding.range(..end).rev().take_while(|(_, sent)| sent.end > segment.seq);
        let again: Vec<u64> = again.map(|(&seq, _)| seq).collect();
        let mut events = Vec::new();
        for lost in again.iter().rev().filter_map(|seq| self.outstanding.remove(seq)) {
            let data = json!({ "header": header(lost.number), "trigger": trigger(self.cause) });
            events.push(("recovery:packet_lost", data));
        }
        self.outstanding.insert(segment.seq, Outstanding { end, number });
        let frames = if segment.is_syn {
            json!([])
        } else {
            json!([{ "frame_type": "stream", "stream_id": 0, "offset": segment.seq, "length": segment.len }])
        };
        let raw = json!({ "length": packet.size, "payload_length": segment.len });
        events.push((
            "transport:packet_sent",
            json!({ "header": header(number), "raw": raw, "frames": frames }),
        ));
        events
    }

    /// An acknowledgement arrives.
    fn on_ack(&mut self, ack: &AckSegment, packet: &SeenPacket) -> Event {
        let number = self.acknowledgements;
        self.acknowledgements += 1;
        let below = if ack.is_syn { 1 } else { ack.ack };
        let mut arrived = Vec::new();
        for (from, to) in std::iter::once((0, below)).chain(ack.sack.ranges(ack.ack)) {
            let within: Vec<u64> = self
                .outstanding
                .range(from..to.max(from))
                .filter(|(_, sent)| sent.end <= to)
                .map(|(&seq, _)| seq)
                .collect();
            let removed = within.iter().filter_map(|seq| self.outstanding.remove(seq));
            arrived.extend(removed.map(|sent| sent.number));
        }
        let kind = if ack.is_syn { "initial" } else { "1RTT" };
        let data = json!({
            "header": { "packet_type": kind, "packet_number": number },
            "raw": { "length": packet.size },
            "frames": [{ "frame_type": "ack", "acked_ranges": ranges(arrived) }],
        });
        ("transport:packet_received", data)
    }

    /// What is shown of the sender: logged as far as it has changed.
    fn on_shown(&mut self, shown: &Shown) -> Option<Event> {
        let rtt = |seconds: f64| json!(seconds * 1e3);
        let bytes = |bytes: f64| json!(bytes as u64);
        let current = [
            ("min_rtt", shown.min_rtt.map(rtt)),
            ("smoothed_rtt", shown.srtt.map(rtt)),
            ("latest_rtt", shown.latest_rtt.map(rtt)),
            ("congestion_window", shown.cwnd.map(bytes)),
            ("bytes_in_flight", shown.in_flight.map(|bytes| json!(bytes))),
            ("ssthresh", shown.ssthresh.filter(|ssthresh| ssthresh.is_finite()).map(bytes)),
        ];
        let mut changed = Map::new();
        for (name, value) in current {
            if let Some(value) = value
                && self.metrics.get(name) != Some(&value)
            {
                changed.insert(name.to_owned(), value.clone());
                self.metrics.insert(name, value);
            }
        }
        (!changed.is_empty()).then_some(("recovery:metrics_updated", Value::Object(changed)))
    }

    /// The sender's state: logged as far as it has changed.
    fn on_state(&mut self, state: &SenderState) -> Vec<Event> {
        self.cause = Some(state.cause);
        let shown = Shown {
            cwnd: Some(state.cwnd),
            ssthresh: Some(state.ssthresh),
            in_flight: Some(state.in_flight),
            srtt: state.srtt,
            latest_rtt: state.rtts.map(|(latest, _)| latest),
            min_rtt: state.rtts.map(|(_, least)| least),
            ..Shown::default()
        };
        let mut events = Vec::from_iter(self.on_shown(&shown));
        let new = if state.in_recovery {
            "recovery"
        } else if state.cwnd < state.ssthresh {
            "slow_start"
        } else {
            "congestion_avoidance"
        };
        if self.state != Some(new) {
            let mut data = json!({ "new": new });
            if let Some(old) = self.state.replace(new) {
                data["old"] = json!(old);
            }
            events.push(("recovery:congestion_state_updated", data));
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_tcp::SackBlocks;
    use dumbbell_units::Ecn;

    const STATE: SenderState = SenderState {
        cwnd: 3000.7,
        ssthresh: f64::INFINITY,
        snd_una: 0,
        snd_max: 0,
        in_flight: 0,
        srtt: None,
        rtts: None,
        in_recovery: false,
        cause: Cause::Sack,
    };

    fn scenario() -> Scenario {
        let text = r#"{ "name": "two nodes", "duration": "1 s", "rules": "classic", "nodes": ["a", "b"],
            "links": [{ "name": "ab", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "10 ms" },
                      { "name": "ba", "from": "b", "to": "a", "rate": "1 Mbit/s", "delay": "10 ms" }],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "sack" }] }"#;
        Scenario::from_json(text).expect("a scenario")
    }

    fn packet(size: u32, content: Content) -> Seen {
        Seen::Packet(SeenPacket { size, ecn: Ecn::NotEct, sent: Time::ZERO, echo: None, content })
    }

    fn segment(seq: u64, is_retransmission: bool) -> Seen {
        packet(1040, Content::Segment(DataSegment { is_retransmission, ..DataSegment::new(seq, 1000) }))
    }

    fn events(seen: &[(u64, Seen)]) -> Vec<Value> {
        let mut written = Vec::new();
        let mut file = EventFile::new(&mut written, &scenario()).expect("memory");
        for (at, seen) in seen.iter().cloned() {
            let sighting = Sighting {
                at: Time(at * 1_000_000),
                node: 0,
                is_at_sender: true,
                flow: 0,
                connection: 1,
                seen,
            };
            file.write(&sighting).expect("memory");
        }
        let text = String::from_utf8(written).expect("JSON is UTF-8");
        let records = text.strip_suffix('\n').expect("a line feed ends a record").split('\n');
        records.map(|record| serde_json::from_str(&record[1..]).expect("JSON")).collect()
    }

    #[test]
    fn a_file_begins_with_its_format_and_ends_every_record_with_a_line_feed() {
        let mut written = Vec::new();
        EventFile::new(&mut written, &scenario()).expect("memory");
        assert_eq!((written.first(), written.last()), (Some(&0x1e), Some(&b'\n')));
        let header = &events(&[])[0];
        assert_eq!((&header["qlog_version"], &header["qlog_format"]), (&json!("0.3"), &json!("JSON-SEQ")));
        assert_eq!(header["trace"]["common_fields"]["protocol_type"], json!(["TCP"]));
    }

    #[test]
    fn losses_and_acknowledgements_name_the_latest_segment_with_the_bytes() {
        // Three segments; the second is reported missing, sent again as number 3, and all of them are acknowledged.
        let mut sack = SackBlocks::default();
        sack.push(1000, 1000);
        let partial = AckSegment { sack, ..AckSegment::of(1000) };
        let seen = [
            (1, segment(0, false)),
            (1, segment(1000, false)),
            (1, segment(2000, false)),
            (5, packet(40, Content::Ack(partial))),
            (5, segment(1000, true)),
            (9, packet(40, Content::Ack(AckSegment::of(3000)))),
        ];
        let events = events(&seen);
        let names: Vec<&str> = events[1..].iter().map(|event| event["name"].as_str().unwrap_or("")).collect();
        let (sent, received) = ("transport:packet_sent", "transport:packet_received");
        assert_eq!(names, [sent, sent, sent, received, "recovery:packet_lost", sent, received]);
        assert_eq!(
            events[3],
            json!({ "time": 1.0, "name": sent, "group_id": "f#1", "data": {
                "header": { "packet_type": "1RTT", "packet_number": 2 },
                "raw": { "length": 1040, "payload_length": 1000 },
                "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 2000, "length": 1000 }] } })
        );
        assert_eq!(events[4]["data"]["frames"][0]["acked_ranges"], json!([[0, 0], [2, 2]]));
        let lost = json!({ "header": { "packet_type": "1RTT", "packet_number": 1 },
                           "trigger": "reordering_threshold" });
        assert_eq!(events[5]["data"], lost);
        assert_eq!(events[6]["data"]["header"]["packet_number"], json!(3));
        assert_eq!(events[7]["data"]["frames"][0]["acked_ranges"], json!([[3, 3]]));
        assert_eq!(events[7]["data"]["header"]["packet_number"], json!(1));
    }

    #[test]
    fn a_timeout_is_the_trigger_of_the_losses_that_it_repairs() {
        let expired = Seen::Sender(SenderState { cause: Cause::Timeout, ..STATE });
        let seen = [
            (0, Seen::Sender(STATE)),
            (1, segment(0, false)),
            (200, expired),
            (200, segment(0, true)),
            (201, Seen::Sender(STATE)),
            (201, segment(0, true)),
        ];
        let events = events(&seen);
        let lost = events.iter().filter(|event| event["name"] == "recovery:packet_lost");
        let triggers: Vec<&Value> = lost.map(|event| &event["data"]["trigger"]).collect();
        assert_eq!(triggers, ["pto_expired", "reordering_threshold"]);
    }

    #[test]
    fn states_are_logged_when_they_change() {
        let later = SenderState {
            ssthresh: 2000.0,
            in_flight: 1000,
            srtt: Some(0.1),
            rtts: Some((0.12, 0.09)),
            in_recovery: true,
            ..STATE
        };
        let events = events(&[
            (0, Seen::Sender(STATE)),
            (1, Seen::Sender(STATE)),
            (2, Seen::Sender(later)),
            (3, Seen::Sender(SenderState { in_recovery: false, ..later })),
        ]);
        let data: Vec<&Value> = events[1..].iter().map(|event| &event["data"]).collect();
        assert_eq!(*data[0], json!({ "congestion_window": 3000, "bytes_in_flight": 0 }));
        assert_eq!(*data[1], json!({ "new": "slow_start" }));
        assert_eq!(
            *data[2],
            json!({ "min_rtt": 90.0, "smoothed_rtt": 100.0, "latest_rtt": 120.0, "bytes_in_flight": 1000,
                    "ssthresh": 2000 })
        );
        assert_eq!(*data[3], json!({ "new": "recovery", "old": "slow_start" }));
        assert_eq!(*data[4], json!({ "new": "congestion_avoidance", "old": "recovery" }));
        assert_eq!(data.len(), 5);
    }

    #[test]
    fn a_request_for_a_connection_is_a_packet_of_its_own() {
        let syn = DataSegment { is_syn: true, ..DataSegment::new(0, 0) };
        let answer = AckSegment { is_syn: true, ..AckSegment::of(0) };
        let events = events(&[
            (0, packet(40, Content::Segment(syn))),
            (1, packet(40, Content::Ack(answer))),
            (1, segment(0, false)),
        ]);
        assert_eq!(events[1]["data"]["header"], json!({ "packet_type": "initial", "packet_number": 0 }));
        assert_eq!(events[2]["data"]["frames"][0]["acked_ranges"], json!([[0, 0]]));
        assert_eq!((&events[3]["name"], events.len()), (&json!("transport:packet_sent"), 4));
    }
}
