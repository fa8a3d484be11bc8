//! Connections with explicit congestion notification behind marking queues.

use crate::common::outcome;
use serde_json::json;

/// Marks, early drops, retransmitted segments, and bottleneck utilization with four connections.
fn behind(queue: &str, ecn: &str) -> (u64, u64, u64, f64) {
    let link = |from: &str, to: &str| {
        let queue = if from == "r1" { json!({ "kind": queue }) } else { json!("droptail") };
        json!({
            "name": format!("{from}-{to}"), "from": from, "to": to, "rate": "20 Mbit/s", "delay": "10 ms", "queue": queue,
        })
    };
    let flow = |number: u32| {
        json!({
            "name": format!("f{number}"), "from": "r1", "to": "r2", "start": format!("{} ms", 37 * number),
            "tcp": { "variant": "sack", "ecn": ecn },
        })
    };
    let outcome = outcome(&json!({
        "duration": "30 s", "rules": "classic", "measure_from": "5 s", "nodes": ["r1", "r2"],
        "links": [link("r1", "r2"), link("r2", "r1")], "flows": [flow(0), flow(1), flow(2), flow(3)],
    }));
    let bottleneck = &outcome.links[0];
    let again = outcome.flows.iter().filter_map(|flow| flow.segments_retransmitted).sum();
    (bottleneck.marks, bottleneck.drops_early, again, bottleneck.utilization)
}

#[test]
fn marks_replace_drops_and_retransmissions() {
    for queue in ["red", "codel", "fqcodel"] {
        let (marks, drops, again, utilization) = behind(queue, "off");
        // Each connection may end within a round trip of its last loss, which is not repaired then.
        assert!(
            marks == 0 && drops > 0 && again + 4 >= drops,
            "{queue}: {marks} marks, {drops} drops, {again} again"
        );
        assert!(utilization > 0.85, "{queue}: {utilization}");
        let (marks, drops, again, utilization) = behind(queue, "classic");
        assert!(
            marks > 0 && drops == 0 && again == 0,
            "{queue}: {marks} marks, {drops} drops, {again} again"
        );
        assert!(utilization > 0.85, "{queue}: {utilization}");
    }
}
