//! Slow starts on a path with a buffer of three times the bandwidth-delay product.

mod common;

use common::{flow, outcome, two_hosts, with_flow};
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
