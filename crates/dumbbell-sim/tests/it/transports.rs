//! Flows carried by a stack that is not ours. The stack here sends a fixed window and starts again where it was after a
//! timeout, so that every result can be told.

use crate::common::{described, two_hosts, with_flow};
use dumbbell_sim::transport::{
    Carried, End, Shown, Stack, StackEvent, Started, Transmit, TransportHost, TransportSpec,
};
use dumbbell_sim::{Families, Outcome, Scenario, Stated, run};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Ecn, Time};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

const SEGMENT: u64 = 1000;
const HEADER: usize = 21;
const TIMEOUT: Time = Time(500_000_000);

#[derive(Debug, Default)]
struct Connection {
    flow: u32,
    written: u64,
    acknowledged: u64,
    next: u64,
    received: u64,
    is_kept: bool,
    told: bool,
    due: Option<Time>,
    timeouts: u64,
    again: u64,
}

/// All connections of its flows, each with a window of so many segments.
#[derive(Debug)]
struct Fixed {
    window: u64,
    connections: BTreeMap<u32, Connection>,
    acknowledgements: VecDeque<u32>,
    events: VecDeque<StackEvent>,
    fails_at: Option<Time>,
    failure: Option<String>,
}

impl Stack for Fixed {
    fn open(&mut self, now: Time, flow: u32, connection: u32, bytes: u64, is_kept: bool) {
        let opened = Connection { flow, is_kept, due: Some(now + TIMEOUT), ..Connection::default() };
        assert!(self.connections.insert(connection, opened).is_none(), "a number twice");
        self.write(now, connection, bytes);
    }

    fn write(&mut self, now: Time, connection: u32, bytes: u64) {
        let connection = self.connections.get_mut(&connection).expect("an open connection");
        connection.written = connection.written.saturating_add(bytes);
        connection.told = false;
        connection.due.get_or_insert(now + TIMEOUT);
    }

    fn close(&mut self, _now: Time, connection: u32) {
        let connection = self.connections.get_mut(&connection).expect("an open connection");
        connection.written = connection.written.min(connection.next);
        connection.is_kept = false;
    }

    fn release(&mut self, _now: Time, connection: u32) {
        self.connections.remove(&connection).expect("an open connection");
    }

    fn on_datagram(&mut self, now: Time, flow: u32, to: End, _ecn: Ecn, bytes: &[u8]) -> u64 {
        let number = u32::from_le_bytes(bytes[1..5].try_into().expect("four bytes"));
        let at = u64::from_le_bytes(bytes[5..13].try_into().expect("eight bytes"));
        let length = u64::from_le_bytes(bytes[13..21].try_into().expect("eight bytes"));
        let Some(connection) = self.connections.get_mut(&number) else { return 0 };
        assert_eq!(connection.flow, flow);
        if to == End::Receiver {
            let new = if at == connection.received { length } else { 0 };
            connection.received += new;
            self.acknowledgements.push_back(number);
            return new;
        }
        if at > connection.acknowledged {
            connection.acknowledged = at;
            connection.next = connection.next.max(at);
            connection.due = (at < connection.written).then(|| now + TIMEOUT);
        }
        if connection.acknowledged >= connection.written && !connection.told {
            connection.told = true;
            self.events.push_back(StackEvent::Acknowledged { connection: number });
        }
        0
    }

    fn next_deadline(&self) -> Time {
        let due = self.connections.values().filter_map(|connection| connection.due);
        due.chain(self.fails_at).min().unwrap_or(Time::NEVER)
    }

    fn on_deadline(&mut self, now: Time) {
        if self.fails_at.is_some_and(|at| at <= now) {
            self.failure = Some("the stack is tired".into());
        }
        for connection in self.connections.values_mut().filter(|known| known.due.is_some_and(|at| at <= now))
        {
            connection.timeouts += 1;
            connection.again += connection.next - connection.acknowledged;
            connection.next = connection.acknowledged;
            connection.due = Some(now + TIMEOUT);
        }
    }

    fn poll_transmit(&mut self, _now: Time, bytes: &mut Vec<u8>) -> Option<Transmit> {
        bytes.clear();
        let (number, from, at, length) = if let Some(number) = self.acknowledgements.pop_front() {
            (number, End::Receiver, self.connections.get(&number).map_or(0, |known| known.received), 0)
        } else {
            let limit = self.window * SEGMENT;
            let mut ready = self
                .connections
                .iter_mut()
                .filter(|(_, known)| known.next < known.written && known.next < known.acknowledged + limit);
            let (&number, connection) = ready.next()?;
            let (at, length) = (connection.next, SEGMENT.min(connection.written - connection.next));
            connection.next += length;
            (number, End::Sender, at, length)
        };
        bytes.push(0x45);
        bytes.extend(number.to_le_bytes());
        bytes.extend(at.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        let flow = self.connections.get(&number).map_or(0, |known| known.flow);
        let size = (HEADER as u64 + length) as u32;
        Some(Transmit { flow, from, size, ecn: Ecn::Ect0, is_data: length > 0, connection: number })
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        self.events.pop_front()
    }

    fn shown(&mut self, _now: Time, connection: u32) -> Shown {
        let known = &self.connections[&connection];
        Shown {
            mss: SEGMENT as u32,
            cwnd: Some((self.window * SEGMENT) as f64),
            acknowledged: known.acknowledged,
            delivered: known.received,
            timeouts: Some(known.timeouts),
            bytes_retransmitted: Some(known.again),
            ..Shown::default()
        }
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

/// Has one stack for all flows, or one for each.
#[derive(Debug)]
struct FixedHost {
    shares: bool,
    fails_at: Option<Time>,
}

impl TransportHost for FixedHost {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn entry(&self) -> Value {
        json!({ "name": "fixed", "summary": "A fixed window.", "version": "1", "parameters": [] })
    }

    fn complete(&self, flow: &str, spec: &TransportSpec) -> Result<TransportSpec, SpecError> {
        if !["", "1"].contains(&spec.version.as_str()) {
            let field = format!("flows.{flow}.transport.version");
            return Err(SpecError {
                field,
                value: spec.version.clone(),
                accepted: "1".into(),
                suggestion: None,
            });
        }
        let mut completed = TransportSpec { version: "1".into(), digest: "f".into(), ..spec.clone() };
        completed.parameters.entry("window").or_insert(json!(8));
        Ok(completed)
    }

    fn start(&self, flows: Vec<Carried<'_>>) -> Result<Vec<Started>, String> {
        let groups: Vec<Vec<Carried<'_>>> =
            if self.shares { vec![flows] } else { flows.into_iter().map(|flow| vec![flow]).collect() };
        Ok(groups
            .into_iter()
            .map(|flows| Started {
                stack: Box::new(Fixed {
                    window: flows[0].spec.parameters["window"].as_u64().expect("a number"),
                    connections: BTreeMap::new(),
                    acknowledgements: VecDeque::new(),
                    events: VecDeque::new(),
                    fails_at: self.fails_at,
                    failure: None,
                }),
                flows: flows.iter().map(|carried| carried.flow).collect(),
            })
            .collect())
    }
}

fn bound(scenario: &Value, host: FixedHost) -> Scenario {
    let hosts: [Arc<dyn TransportHost>; 1] = [Arc::new(host)];
    let stated = Stated::from_value(scenario).unwrap_or_else(|error| panic!("{error}"));
    stated.complete(&hosts).and_then(|stated| stated.bind(&[])).unwrap_or_else(|error| panic!("{error}"))
}

fn outcome(scenario: &Value, shares: bool) -> Outcome {
    let outcome = run(&bound(scenario, FixedHost { shares, fails_at: None }), 1, 0);
    assert_eq!(outcome.failure, None);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    outcome
}

/// A flow over the stack.
fn carried(name: &str, source: Value) -> Value {
    json!({ "name": name, "from": "h1", "to": "h2", "transport": "fixed", "source": source })
}

fn with_carried(mut scenario: Value, flow: Value) -> Value {
    scenario["flows"].as_array_mut().expect("flows").push(flow);
    scenario
}

fn transfer(size: &str) -> Value {
    json!({ "kind": "transfer", "size": size })
}

/// 1021 bytes take 1.021 ms at 8 Mbit/s; the round-trip time without queues is 20 ms besides.
fn network(bottleneck: Value) -> Value {
    two_hosts("8 Mbit/s", "10 ms", bottleneck)
}

#[test]
fn a_transfer_over_an_empty_path_takes_as_long_as_it_must() {
    let mut scenario = with_carried(network(json!({})), carried("f", transfer("8000 bytes")));
    scenario["stop_when_complete"] = json!(["f"]);
    let outcome = outcome(&scenario, false);
    let flow = &outcome.flows[0];
    // Eight segments leave the bottleneck; the acknowledgement of the last returns. Links of hosts have 10 Gbit/s.
    let (data, ack) = (1021.0 * 8.0, 21.0 * 8.0);
    let expected = 0.020 + (8.0 * data + ack) / 8e6 + 2.0 * (data + ack) / 1e10;
    let found = flow.completion_s.expect("a completed transfer");
    assert!((found - expected).abs() < 1e-8, "{found} {expected}");
    assert_eq!(outcome.simulated_s, found);
    assert_eq!((flow.bytes_delivered, flow.segments_sent, flow.connections), (8000, 8, 1));
    assert_eq!((flow.timeouts, flow.bytes_retransmitted), (Some(0), Some(0)));
    assert_eq!((flow.segments_retransmitted, flow.fast_retransmits, flow.rtt_mean_s), (None, None, None));
}

#[test]
fn losses_and_copies_leave_the_stream_and_the_counts_right() {
    let impairments = json!([
        { "kind": "forced", "packets": [5, 7] },
        { "kind": "duplicate", "probability": 0.2 },
        { "kind": "bernoulli", "probability": 0.05 },
    ]);
    let mut scenario = network(json!({ "impairments": impairments }));
    scenario["links"][4]["impairments"] = json!([{ "kind": "duplicate", "probability": 0.2 }]);
    let outcome = outcome(&with_carried(scenario, carried("f", transfer("100 kB"))), false);
    let flow = &outcome.flows[0];
    assert_eq!(flow.bytes_delivered, 100_000);
    assert!(flow.completion_s.is_some() && flow.timeouts > Some(0), "{flow:?}");
    assert_eq!(flow.segments_sent, 100 + flow.bytes_retransmitted.expect("shown") / SEGMENT);
    assert!(flow.segments_lost >= 2 && outcome.conservation.duplicated > 10, "{outcome:?}");
}

#[test]
fn flows_of_theirs_and_ours_share_links_and_a_run_repeats() {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "30 packets" } });
    let scenario = with_flow(network(queue), "ours", json!("newreno"), json!("greedy"));
    let scenario = with_carried(scenario, carried("theirs", json!("greedy")));
    let mut scenario = with_carried(scenario, carried("more", json!("greedy")));
    scenario["flows"][1]["start"] = json!("3 s");
    scenario["measure_from"] = json!("10 s");
    let alone = outcome(&scenario, false);
    assert_eq!(described(&outcome(&scenario, false)), described(&alone));
    let shared = outcome(&scenario, true);
    assert_eq!(described(&shared), described(&alone));
    assert!(alone.flows.iter().all(|flow| flow.goodput_bps > 5e5), "{:?}", alone.flows);
    scenario["flows"][2]["transport"] = json!({ "name": "fixed", "window": 9 });
    assert_ne!(outcome(&scenario, false).fingerprint, alone.fingerprint);
}

#[test]
fn a_flow_stops_and_starts_again_with_a_new_connection() {
    let mut flow = carried("f", json!("greedy"));
    flow["stop"] = json!("2 s");
    flow["restarts"] = json!([{ "start": "4 s", "stop": "5 s" }]);
    let outcome = outcome(&with_carried(network(json!({})), flow), false);
    let flow = &outcome.flows[0];
    assert_eq!(flow.connections, 2);
    // Eight segments per round-trip time of 20 ms and the time of one packet and one acknowledgement.
    let rate = 8.0 * 8000.0 / (0.020 + (1021.0 + 21.0) * 8.0 / 8e6);
    assert!((flow.goodput_bps / rate - 1.0).abs() < 0.02, "{} {rate}", flow.goodput_bps);
    assert!((flow.bytes_delivered as f64 / (rate * 3.0 / 8.0) - 1.0).abs() < 0.02, "{flow:?}");
}

#[test]
fn workloads_run_over_the_stack() {
    let sizes = json!({ "kind": "fixed", "size": "20 kB" });
    let web = json!({ "kind": "web", "count": 4, "objects": 12, "sizes": sizes, "pause": "500 ms" });
    let arrivals = json!({ "kind": "poisson", "interval": "200 ms" });
    let transfers = json!({ "kind": "transfers", "count": 30, "arrivals": arrivals, "sizes": sizes });
    for (source, begun, connections) in [(web, 4, 4 * 6), (transfers, 30, 30)] {
        let outcome = outcome(&with_carried(network(json!({})), carried("f", source)), true);
        let flow = &outcome.flows[0];
        let transfers = flow.transfers.expect("a workload");
        assert_eq!((transfers.begun, transfers.completed), (begun, begun));
        assert_eq!((flow.connections, flow.connections_given_up), (connections, 0));
        assert!(flow.completion_s.is_some_and(|took| took < 40.0), "{flow:?}");
    }
}

#[test]
fn probes_record_what_the_stack_shows() {
    let mut scenario = with_carried(network(json!({})), carried("f", transfer("100 kB")));
    let quantities = json!(["cwnd", "seq_acked", "delivered", "srtt"]);
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": quantities }]);
    let outcome = outcome(&scenario, false);
    let last = |index: usize| outcome.recordings[index].values.last().copied();
    assert_eq!((last(0), last(1), last(2), last(3)), (Some(8.0), Some(99_000.0), Some(100_000.0), None));
    scenario["probes"][0]["quantities"] = json!(["tcp_events"]);
    let error = Stated::from_value(&scenario).expect_err("no TCP");
    assert_eq!(error.accepted, "a flow over TCP, which \"f\" is not");
}

#[test]
fn a_stack_that_fails_ends_the_run_with_its_sentence() {
    let scenario = with_carried(network(json!({})), carried("f", json!("greedy")));
    let outcome =
        run(&bound(&scenario, FixedHost { shares: false, fails_at: Some(Time(3_000_000_000)) }), 7, 2);
    assert_eq!(outcome.failure.as_deref(), Some("the stack is tired"));
    assert_eq!((outcome.seed, outcome.run, outcome.flows.len()), (7, 2, 0));
}

#[test]
fn runs_with_stacks_share_no_prefix() {
    let scenarios = ["reno", "vegas"].map(|variant| {
        let mut scenario = with_carried(network(json!({})), carried("f", json!("greedy")));
        let ours = json!({ "name": "ours", "from": "h1", "to": "h2", "start": "5 s", "tcp": variant });
        scenario["flows"].as_array_mut().expect("flows").push(ours);
        bound(&scenario, FixedHost { shares: false, fails_at: None })
    });
    let families = Families::new(&scenarios);
    assert_eq!((families.of(0), families.of(1)), (None, None));
}

#[test]
fn a_transport_is_completed_and_others_are_refused() {
    let scenario = with_carried(network(json!({})), carried("f", json!("greedy")));
    let hosts: [Arc<dyn TransportHost>; 1] = [Arc::new(FixedHost { shares: false, fails_at: None })];
    let read = |flow: Value| {
        let mut scenario = network(json!({}));
        scenario["flows"] = json!([flow]);
        Stated::from_value(&scenario)?.complete(&hosts)
    };
    let stated = read(carried("f", json!("greedy"))).expect("a scenario");
    assert!(
        stated.to_json().contains(r#""transport":{"name":"fixed","version":"1","digest":"f","window":8}"#)
    );
    assert_eq!(Stated::from_json(&stated.to_json()).and_then(|again| again.complete(&hosts)), Ok(stated));
    assert_eq!(Scenario::from_value(&scenario).expect_err("no host").field, "flows.f.transport.name");
    let refused = |member: &str, value: Value| {
        let mut flow = carried("f", json!("greedy"));
        flow[member] = value;
        read(flow).expect_err("refused").to_string()
    };
    let text = refused("transport", json!("fixd"));
    assert!(text.contains("a transport that runs here: fixed") && text.contains("did you mean"), "{text}");
    assert!(refused("transport", json!({ "window": 3 })).contains("name"));
    assert!(refused("transport", json!({ "name": "fixed", "version": "2" })).contains("version"));
    assert!(refused("tcp", json!("reno")).contains("has its own rules"));
    assert!(refused("source", json!("media")).contains("reports"));
}
