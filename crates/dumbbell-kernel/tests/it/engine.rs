//! Flows of the engine that a kernel carries.

use crate::harness::trees;
use dumbbell_kernel::host::LinuxHost;
use dumbbell_sim::{Outcome, Stated, run};
use dumbbell_units::Value;
use serde_json::json;

/// A run over 10 Mbit/s, 20 ms each way and 33 packets.
fn outcome(flows: &Value) -> Outcome {
    let scenario = json!({
        "duration": "10 s", "rules": "classic",
        "nodes": ["a", "b"],
        "links": [
            { "name": "there", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms",
              "queue": { "kind": "droptail", "limit": "33 packets" } },
            { "name": "back", "from": "b", "to": "a", "rate": "10 Mbit/s", "delay": "20 ms" },
        ],
        "flows": flows,
    });
    let stated = Stated::from_value(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let complete = stated.complete(&[LinuxHost::shared()]);
    let scenario = complete.and_then(|stated| stated.bind(&[])).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 1, 0);
    assert_eq!(outcome.failure, None);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    outcome
}

#[test]
fn a_kernel_and_the_tcp_of_the_engine_share_a_bottleneck() {
    let Some(&tree) = trees().first() else { return };
    let transport = json!({ "name": "linux", "tree": tree });
    let flows = json!([
        { "name": "kernel", "from": "a", "to": "b", "transport": transport, "source": "greedy" },
        { "name": "ours", "from": "a", "to": "b", "tcp": "cubic", "source": "greedy" },
    ]);
    let outcomes = [outcome(&flows), outcome(&flows)];
    let bytes: Vec<u64> = outcomes[0].flows.iter().map(|flow| flow.bytes_delivered).collect();
    assert!(
        bytes.iter().all(|bytes| *bytes > 2_000_000) && bytes.iter().sum::<u64>() > 11_000_000,
        "{bytes:?}"
    );
    assert_eq!(outcomes[0].fingerprint, outcomes[1].fingerprint);
}

#[test]
fn a_workload_opens_many_connections() {
    let Some(&tree) = trees().first() else { return };
    let transport = json!({ "name": "linux", "tree": tree });
    let flows = json!([{ "name": "web", "from": "a", "to": "b", "transport": transport, "source": "web" }]);
    assert!(outcome(&flows).flows[0].bytes_delivered > 2_000_000);
}
