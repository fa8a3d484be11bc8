//! Flows of the engine that the transports carry.

use crate::harness::scenario;
use dumbbell_sim::journal::{CarriedKind, Request};
use dumbbell_sim::transport::TransportHost;
use dumbbell_sim::{Outcome, Scenario, Stated, Supervision, run, run_unless};
use dumbbell_units::spec::{Field, SpecError};
use dumbbell_units::{Time, Value};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The scenario of the harness with these flows.
fn stated(flows: Value) -> Result<Scenario, SpecError> {
    scenario_of(flows, &dumbbell_transports::hosts())
}

/// The same over the transports of these hosts.
pub fn scenario_of(flows: Value, hosts: &[Arc<dyn TransportHost>]) -> Result<Scenario, SpecError> {
    let mut scenario = scenario("").encode();
    scenario["duration"] = json!("20 s");
    scenario["rules"] = json!("classic");
    scenario["flows"] = flows;
    Stated::from_value(&scenario)?.complete(hosts)?.bind(&[])
}

/// A run over 10 Mbit/s, 20 ms each way and 33 packets.
fn outcome(flows: Value) -> Outcome {
    let scenario = stated(flows).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 1, 0);
    assert_eq!(outcome.failure, None);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    outcome
}

pub fn flow(name: &str, carrier: &str, stated: Value, source: Value) -> Value {
    json!({ "name": name, "from": "a", "to": "b", carrier: stated, "source": source })
}

#[test]
fn transports_and_the_tcp_of_the_engine_share_a_bottleneck() {
    let flows = json!([
        flow("quic", "transport", json!("quinn"), json!("greedy")),
        flow("small", "transport", json!({ "name": "smoltcp" }), json!("greedy")),
        flow("tcp", "tcp", json!("cubic"), json!("greedy")),
    ]);
    let outcomes = [outcome(flows.clone()), outcome(flows)];
    let delivered =
        |outcome: &Outcome| -> Vec<u64> { outcome.flows.iter().map(|flow| flow.bytes_delivered).collect() };
    let bytes = delivered(&outcomes[0]);
    // Payload of 20 s at 10 Mbit/s, without the start.
    assert!((22_000_000..25_000_000).contains(&bytes.iter().sum::<u64>()), "{bytes:?}");
    assert!(bytes.iter().all(|&bytes| bytes > 1_000_000), "{bytes:?}");
    assert_eq!(delivered(&outcomes[1]), bytes);
    assert_eq!(outcomes[0].fingerprint, outcomes[1].fingerprint);
}

#[test]
fn a_transfer_completes_when_it_does_over_the_same_links_alone() {
    for (transport, seconds) in [(json!("quinn"), 4.28..4.36), (json!("smoltcp"), 4.43..4.46)] {
        let transfer = json!({ "kind": "transfer", "size": "5 MB" });
        let outcome = outcome(json!([flow("f", "transport", transport, transfer)]));
        let flow = &outcome.flows[0];
        assert_eq!(flow.bytes_delivered, 5_000_000);
        assert!(flow.completion_s.is_some_and(|at| seconds.contains(&at)), "{:?}", flow.completion_s);
    }
}

#[test]
fn workloads_open_many_connections() {
    for transport in ["quinn", "smoltcp"] {
        let source = json!("web");
        let outcome = outcome(json!([flow("f", "transport", json!(transport), source)]));
        assert!(outcome.flows[0].bytes_delivered > 5_000_000, "{}", outcome.flows[0].bytes_delivered);
    }
}

/// A flow that stops after 10 s, and its bytes have another 10 s to arrive.
fn stopped(carrier: Option<(&str, &str)>, source: &Value) -> Outcome {
    let mut flow = json!({ "name": "f", "from": "a", "to": "b", "stop": "10 s", "source": source });
    if let Some((member, name)) = carrier {
        flow[member] = json!(name);
    }
    outcome(json!([flow]))
}

#[test]
fn what_an_application_writes_over_time_arrives_whatever_carries_it() {
    for source in [
        json!({ "kind": "cbr", "rate": "1 Mbit/s" }),
        json!({ "kind": "poisson", "rate": "1 Mbit/s" }),
        json!({ "kind": "onoff", "rate": "2 Mbit/s" }),
        json!({ "kind": "video" }),
        json!({ "kind": "frames", "sizes": ["2 kB", "500 bytes"], "frame_rate": 30 }),
        json!({ "kind": "tcplib", "interarrival": "500 ms", "conversation_cap": "50 kB" }),
    ] {
        let ours = (source["kind"] == "tcplib").then_some(("tcp", "reno"));
        let of_ours = &stopped(ours, &source).flows[0];
        assert_eq!(of_ours.segments_lost, 0, "{source}");
        for name in ["quinn", "smoltcp"] {
            let carried = &stopped(Some(("transport", name)), &source).flows[0];
            assert_eq!(carried.bytes_delivered, of_ours.bytes_delivered, "{name} {source}");
            let opened = if ours.is_some() { of_ours.connections } else { 1 };
            assert_eq!((carried.connections, carried.connections_given_up), (opened, 0), "{name} {source}");
        }
    }
}

#[test]
fn an_application_writes_at_its_own_rate_and_starts_again_on_another_connection() {
    for name in ["quinn", "smoltcp"] {
        let source = json!({ "kind": "cbr", "rate": "800 kbit/s", "packet": "1000 bytes" });
        let mut flow = flow("f", "transport", json!(name), source);
        flow["stop"] = json!("4 s");
        flow["restarts"] = json!([{ "start": "10 s", "stop": "12 s" }]);
        let outcome = outcome(json!([flow]));
        let flow = &outcome.flows[0];
        // A write every 10 ms from the start on, in 6 s.
        assert_eq!((flow.bytes_delivered, flow.connections), (600_000, 2), "{name}");
        assert_eq!(flow.segments_lost, 0, "{name}");
    }
}

#[test]
fn a_source_that_needs_reports_has_no_transport() {
    let refused = stated(json!([flow("f", "transport", json!("quinn"), json!("media"))])).expect_err("media");
    assert_eq!(refused.field, "flows.f.transport");
}

#[test]
fn a_journal_changes_no_event_and_counts_what_the_stack_counts() {
    for name in ["quinn", "smoltcp"] {
        let flows =
            json!([flow("f", "transport", json!(name), json!({ "kind": "transfer", "size": "1 MB" }))]);
        let scenario = stated(flows).expect("a scenario");
        let never = AtomicBool::new(false);
        let journal = Some(Request { flow: 0, window: (Time::ZERO, Time(20_000_000_000)) });
        let supervision = Supervision { journal, ..Supervision::from(&never) };
        let told = run_unless(supervision, &scenario, 1, 0).expect("it is not stopped");
        let plain = run(&scenario, 1, 0);
        assert_eq!(told.fingerprint, plain.fingerprint, "{name}");
        let journal = told.journal.and_then(|journal| journal.carried).expect("a carried flow");
        let sent = journal.entries.iter().map(|entry| match entry.kind {
            CarriedKind::Sent(sent) => sent.segments,
            _ => 0,
        });
        assert_eq!(sent.sum::<u64>(), plain.flows[0].segments_sent, "{name}");
        let lost = |name| journal.lacks().contains(&name);
        assert_eq!((lost("congestion window"), lost("bytes in flight")), (name == "smoltcp", false));
        let last = journal.entries.last().expect("entries");
        assert_eq!((last.kind, last.after.acknowledged), (CarriedKind::Completed, 1_000_000), "{name}");
    }
}
