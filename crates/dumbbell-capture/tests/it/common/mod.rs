//! Runs whose packets at a node are written to a file and counted by the engine.

use dumbbell_capture::{Files, Outputs};
use dumbbell_sim::capture::{Content, Seen, SenderState, Sighting, Tap, Watch};
use dumbbell_sim::{Outcome, Scenario, Stated, Supervision, run_unless};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// A file that is removed at the end.
pub struct TestFile(pub PathBuf);

impl TestFile {
    /// A file with this name, and that of the process.
    pub fn new(name: &str) -> TestFile {
        TestFile(std::env::temp_dir().join(format!("dumbbell-{}-{name}.pcapng", std::process::id())))
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What the engine says of a capture.
#[derive(Debug, Default, PartialEq)]
pub struct Counts {
    pub packets: u64,
    /// Payload of TCP, in bytes.
    pub bytes: u64,
    pub retransmissions: u64,
    /// At the node of the sender, while data is outstanding.
    pub duplicate_acks: u64,
    /// Those among them that are the first acknowledgement of a connection.
    pub first_duplicates: u64,
    /// Repeated acknowledgements while no data is outstanding.
    pub idle_repetitions: u64,
}

/// Writes the packets at a node, and counts.
struct Recorder {
    node: u32,
    state: Mutex<Recording>,
}

struct Recording {
    files: Files,
    counts: Counts,
    states: BTreeMap<(u32, u64), SenderState>,
    last_acks: BTreeMap<(u32, u64), u64>,
}

impl Tap for Recorder {
    fn watch(&self) -> Watch {
        Watch { senders: true, ..self.state.lock().unwrap().files.watch() }
    }

    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
        let mut state = self.state.lock().unwrap();
        sightings.for_each(|sighting| state.take(&sighting, self.node));
    }

    fn take_keys(&self, keys: &str) {
        self.state.lock().unwrap().files.write_keys(keys).expect("the file can be written");
    }
}

impl Recording {
    fn take(&mut self, sighting: &Sighting, node: u32) {
        self.files.write(sighting).expect("the file can be written");
        let key = (sighting.flow, sighting.connection);
        let packet = match &sighting.seen {
            Seen::Sender(state) => {
                self.states.insert(key, *state);
                return;
            }
            Seen::Packet(packet) if sighting.node == node => packet,
            Seen::Packet(_) | Seen::Shown(_) => return,
        };
        self.counts.packets += 1;
        match &packet.content {
            Content::Segment(segment) => {
                self.counts.bytes += u64::from(segment.len);
                self.counts.retransmissions += u64::from(segment.is_retransmission && !segment.is_syn);
            }
            Content::Ack(ack) if !ack.is_syn && sighting.is_at_sender => {
                let last = self.last_acks.insert(key, ack.ack);
                let state = self.states[&key];
                if ack.ack == state.snd_una && state.snd_max > state.snd_una {
                    self.counts.duplicate_acks += 1;
                    self.counts.first_duplicates += u64::from(last.is_none());
                } else if last == Some(ack.ack) {
                    self.counts.idle_repetitions += 1;
                }
            }
            _ => {}
        }
    }
}

/// A scenario whose flows may name transports.
pub fn bound(scenario: &Value) -> Scenario {
    let stated =
        Stated::from_value(scenario).and_then(|stated| stated.complete(&dumbbell_transports::hosts()));
    stated.and_then(|stated| stated.bind(&[])).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario and captures the packets at a node.
pub fn capture(scenario: &Value, node: usize, snaplen: u32, path: &Path) -> (Outcome, Counts) {
    let packets = Some((node, path.to_owned()));
    write(&bound(scenario), Outputs { packets, snaplen: Some(snaplen), ..Outputs::default() })
}

/// Runs a scenario and writes files.
pub fn write(scenario: &Scenario, outputs: Outputs) -> (Outcome, Counts) {
    let node = outputs.packets.as_ref().map_or(u32::MAX, |(node, _)| *node as u32);
    let state = Recording {
        files: Files::begin(scenario, &outputs).unwrap(),
        counts: Counts::default(),
        states: BTreeMap::new(),
        last_acks: BTreeMap::new(),
    };
    let recorder = Recorder { node, state: Mutex::new(state) };
    let never = AtomicBool::new(false);
    let supervision = Supervision { tap: Some(&recorder), ..Supervision::from(&never) };
    let outcome = run_unless(supervision, scenario, 1, 0).expect("the run is not stopped");
    let Recording { files, counts, .. } = recorder.state.into_inner().unwrap();
    assert_eq!(files.finish().unwrap().0, counts.packets);
    (outcome, counts)
}

fn link(from: &str, to: &str, rate: &str, delay: &str) -> Value {
    json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": rate, "delay": delay })
}

/// Greedy flows from a host to another one, with these parameters of TCP, over a router whose link to the receivers is the
/// bottleneck. `members` replaces values of the bottleneck.
pub fn scenario<const FLOWS: usize>(tcps: [Value; FLOWS], members: Value, duration: &str) -> Value {
    let flow = |(number, tcp): (usize, Value)| json!({ "name": format!("f{number}"), "from": "a", "to": "b", "tcp": tcp, "source": "greedy" });
    let flows: Vec<Value> = tcps.into_iter().enumerate().map(flow).collect();
    let mut bottleneck = link("r", "b", "10 Mbit/s", "20 ms");
    bottleneck["queue"] = json!({ "kind": "droptail", "limit": "30 packets" });
    for (name, value) in members.as_object().expect("a table") {
        bottleneck[name] = value.clone();
    }
    json!({
        "duration": duration, "rules": "classic",
        "nodes": ["a", "r", "b"],
        "links": [link("a", "r", "100 Mbit/s", "1 ms"), bottleneck,
                  link("b", "r", "10 Mbit/s", "20 ms"), link("r", "a", "100 Mbit/s", "1 ms")],
        "flows": flows,
    })
}

/// The same with flows that are carried by these transports.
pub fn carried<const FLOWS: usize>(
    transports: [Value; FLOWS],
    source: &Value,
    members: Value,
    duration: &str,
) -> Value {
    let mut scenario = scenario(transports, members, duration);
    for flow in scenario["flows"].as_array_mut().expect("flows") {
        let transport = flow["tcp"].take();
        flow.as_object_mut().expect("a flow").remove("tcp");
        (flow["transport"], flow["source"]) = (transport, source.clone());
    }
    scenario
}

/// A bottleneck that loses packets at random.
pub fn losses(probability: f64) -> Value {
    json!({ "impairments": [{ "kind": "bernoulli", "probability": probability }] })
}
