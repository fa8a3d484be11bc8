//! A window grows only if it limits its sender.

use crate::common::{outcome, trace, two_hosts, with_flow};
use serde_json::{Value, json};

/// The maximum window and the maximum flight size of telnet conversations, in segments.
fn telnet(tcp: Value) -> (f64, f64) {
    let mix = json!({ "telnet": 1.0, "ftp": 0.0, "nntp": 0.0, "smtp": 0.0 });
    let source = json!({ "kind": "tcplib", "interarrival": "20 s", "mix": mix });
    let mut scenario = with_flow(two_hosts("1 Mbit/s", "50 ms", json!({})), "f", tcp, source);
    scenario["duration"] = json!("300 s");
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["cwnd", "flight_size"] }]);
    let outcome = outcome(&scenario);
    let most = |quantity: &str| trace(&outcome, quantity).iter().map(|&(_, value)| value).fold(0.0, f64::max);
    (most("cwnd"), most("flight_size"))
}

#[test]
fn the_window_of_a_telnet_flow_grows_only_if_rules_let_unused_windows_grow() {
    let (limited, in_flight) = telnet(json!("newreno"));
    assert!(in_flight < 2.0 && limited <= 2.0, "{limited} segments for {in_flight}");
    let (always, _) = telnet(json!({ "variant": "newreno", "window": { "grow_when": "always" } }));
    assert!(always > 20.0, "{always} segments");
    let (ns2, _) = telnet(json!({ "variant": "newreno", "rules": "ns2" }));
    assert!(ns2 > 10.0, "{ns2} segments");
}

#[test]
fn a_flow_that_always_has_data_does_not_depend_on_grow_when() {
    for variant in ["newreno", "sack", "vegas", "westwood", "nsvegas"] {
        let fingerprint = |grow_when: &str| {
            let tcp = json!({ "variant": variant, "window": { "grow_when": grow_when } });
            let queue = json!({ "queue": { "kind": "droptail", "limit": "20 packets" } });
            let network = two_hosts("4 Mbit/s", "20 ms", queue);
            outcome(&with_flow(network, "f", tcp, json!({ "kind": "greedy" }))).fingerprint
        };
        assert_eq!(fingerprint("cwnd-limited"), fingerprint("always"), "{variant}");
    }
}
