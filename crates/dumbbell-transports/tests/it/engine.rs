//! Flows of the engine that the transports carry.

use dumbbell_sim::{Outcome, Stated, run};
use dumbbell_units::Value;
use serde_json::json;

/// A run over 10 Mbit/s, 20 ms each way and 33 packets.
fn outcome(flows: Value) -> Outcome {
    let scenario = json!({
        "duration": "20 s",
        "nodes": ["a", "b"],
        "links": [
            { "name": "there", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms",
              "queue": { "kind": "droptail", "limit": "33 packets" } },
            { "name": "back", "from": "b", "to": "a", "rate": "10 Mbit/s", "delay": "20 ms" },
        ],
        "flows": flows,
    });
    let stated = Stated::from_value(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let complete = stated.complete(&dumbbell_transports::hosts());
    let scenario = complete.and_then(|stated| stated.bind(&[])).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 1, 0);
    assert_eq!(outcome.failure, None);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    outcome
}

fn flow(name: &str, carrier: &str, stated: Value, source: Value) -> Value {
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
