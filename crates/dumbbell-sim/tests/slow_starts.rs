//! Slow starts on a path whose buffer is three times what is in flight on its line.

mod common;

use common::{flow, outcome, two_hosts, with_flow};
use serde_json::json;

/// Segments that a transfer loses.
fn lost(slow_start: &str) -> u64 {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "250 packets" } });
    let tcp = json!({ "variant": "sack", "window": { "slow_start": slow_start } });
    let source = json!({ "kind": "transfer", "size": "2 MB" });
    let outcome = outcome(&with_flow(two_hosts("10 Mbit/s", "50 ms", queue), "f", tcp, source));
    flow(&outcome).segments_lost
}

#[test]
fn hystart_overshoots_less_than_a_slow_start_that_doubles_to_the_end() {
    // 83 segments on the line and 250 in the buffer: doubling ends at twice that, so it loses as many as there is room for.
    let standard = lost("standard");
    assert!((300..=340).contains(&standard), "{standard}");
    // The queue is noticed before the last doubling. From there the window grows by a quarter per round trip, so that no
    // more than a quarter of what there is room for can be too much.
    let hystart = lost("hystartpp");
    assert!(hystart <= 333 / 4 + 1, "{hystart}");
}
