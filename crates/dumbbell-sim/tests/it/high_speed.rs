//! Congestion controls for paths with a large product of bandwidth and delay, beside Reno.

use crate::common::{flow, outcome, two_hosts, with_flow};
use serde_json::{Value, json};

/// Goodput in Mbit/s of one flow over 100 Mbit/s and 100 ms with a buffer of a fifth of their product.
fn goodput(congestion: Value) -> f64 {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "167 packets" } });
    let mut scenario = two_hosts("100 Mbit/s", "50 ms", queue);
    scenario["duration"] = json!("40 s");
    scenario["measure_from"] = json!("10 s");
    let tcp = json!({
        "congestion": congestion,
        "recovery": "sack",
        "initial_window": "10 segments",
        "initial_ssthresh": "500 segments",
    });
    flow(&outcome(&with_flow(scenario, "f", tcp, json!("greedy")))).goodput_bps / 1e6
}

#[test]
fn a_single_flow_uses_a_long_fast_path_better_than_reno() {
    let reno = goodput(json!("reno"));
    for congestion in ["cubic", "scalable", "highspeed", "htcp", "bic", "illinois", "yeah", "compound"] {
        let measured = goodput(json!(congestion));
        assert!(measured > reno, "{congestion}: {measured} Mbit/s, Reno {reno}");
    }
    let linux = goodput(json!({ "name": "cubic", "form": "linux", "tick": "4 ms" }));
    assert!(linux > reno, "CUBIC of Linux: {linux} Mbit/s, Reno {reno}");
}

#[test]
fn cubic_shares_a_short_slow_path_with_reno() {
    // 10 Mbit/s and 10 ms: windows of at most 17 segments, where CUBIC has Reno's window.
    let flow = |name: &str, start: &str| {
        let tcp = json!({ "congestion": name, "recovery": "sack" });
        json!({ "name": name, "from": "h1", "to": "h2", "tcp": tcp, "source": "greedy", "start": start })
    };
    let mut ratios = Vec::new();
    for (limit, cubic, reno) in [(8, "0 s", "0.3 s"), (25, "0 s", "0.3 s"), (25, "0.3 s", "0 s")] {
        let queue = json!({ "queue": { "kind": "droptail", "limit": format!("{limit} packets") } });
        let mut scenario = two_hosts("10 Mbit/s", "5 ms", queue);
        scenario["duration"] = json!("120 s");
        scenario["measure_from"] = json!("20 s");
        scenario["flows"] = json!([flow("cubic", cubic), flow("reno", reno)]);
        let outcome = outcome(&scenario);
        ratios.push(outcome.flows[0].goodput_bps / outcome.flows[1].goodput_bps);
    }
    assert!(ratios.iter().all(|ratio| (0.67..=1.5).contains(ratio)), "{ratios:?}");
}
