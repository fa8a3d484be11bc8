//! Slow starts on a path with a buffer of three times the bandwidth-delay product.

use crate::common::{flow, outcome, two_hosts, with_flow};
use serde_json::json;

/// Number of segments that a transfer loses.
fn lost(slow_start: &str) -> u64 {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "250 packets" } });
    let tcp = json!({ "variant": "sack", "window": { "slow_start": slow_start } });
    let source = json!({ "kind": "transfer", "size": "2 MB" });
    let outcome = outcome(&with_flow(two_hosts("10 Mbit/s", "50 ms", queue), "f", tcp, source));
    flow(&outcome).segments_lost
}

#[test]
fn hystart_overshoots_less_than_standard_slow_start() {
    // 83 segments in flight and 250 in the buffer: doubling ends at twice their sum, so as many segments are lost as
    // fit.
    let standard = lost("standard");
    assert!((300..=340).contains(&standard), "{standard}");
    // The queue is noticed before the last doubling. From then on the window grows by a quarter per round trip, so it
    // exceeds the capacity by at most a quarter.
    let hystart = lost("hystartpp");
    assert!(hystart <= 333 / 4 + 1, "{hystart}");
}

/// Segments lost and the longest queue in packets of a connection that starts on a path with a buffer of one
/// bandwidth-delay product.
fn start(slow_start: &str) -> (u64, u64) {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "35 packets" } });
    let mut scenario = two_hosts("10 Mbit/s", "20 ms", queue);
    scenario["duration"] = json!("1 s");
    let tcp = json!({
        "variant": "sack",
        "initial_window": "10 segments",
        "window": { "slow_start": slow_start },
    });
    let outcome = outcome(&with_flow(scenario, "f", tcp, json!("greedy")));
    (flow(&outcome).segments_lost, outcome.links[1].backlog_max_packets)
}

#[test]
fn the_first_hystart_ends_before_the_queue_overflows() {
    // 33 segments in flight and 35 in the buffer: doubling ends at twice their sum, so about as many are lost as fit.
    let (lost, longest) = start("standard");
    assert!(lost > 60 && longest == 35, "{lost} lost, {longest} queued");
    let (lost, longest) = start("hystart");
    assert!(lost == 0 && longest < 35, "{lost} lost, {longest} queued");
}
