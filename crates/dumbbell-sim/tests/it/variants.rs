//! Properties of the congestion controls on a path with two routers.

use crate::common::{flow, outcome, outcome_of, trace, two_hosts, with_flow};
use dumbbell_sim::Outcome;
use dumbbell_tcp::Rules;
use serde_json::{Value, json};

fn buffer(packets: u32) -> Value {
    json!({ "queue": { "kind": "droptail", "limit": format!("{packets} packets") } })
}

/// A greedy flow from h1 to h2 with probes, over a bottleneck of 10 Mbit/s with a round-trip delay of 40 ms.
fn observed(tcp: Value, bottleneck: Value, quantities: &[&str]) -> Value {
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "20 ms", bottleneck), "f", tcp, json!("greedy"));
    scenario["duration"] = json!("100 s");
    scenario["measure_from"] = json!("20 s");
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": quantities, "period": "10 ms" }]);
    scenario
}

/// Adds greedy flows from h2 back to h1, whose data shares a queue with the ACKs of the others.
fn with_reverse_flows(mut scenario: Value, flows: u32) -> Value {
    let reverse = |number: u32| {
        json!({ "name": format!("back{number}"), "from": "h2", "to": "h1", "tcp": "newreno",
                "start": format!("{number} s"), "source": "greedy" })
    };
    if let Value::Array(list) = &mut scenario["flows"] {
        list.extend((0..flows).map(reverse));
    }
    scenario["links"][4]["queue"] = json!({ "kind": "droptail", "limit": "50 packets" });
    scenario
}

fn late(outcome: &Outcome, quantity: &str) -> Vec<f64> {
    trace(outcome, quantity).into_iter().filter(|&(at, _)| at > 20.0).map(|(_, value)| value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn every_variant_carries_a_transfer_over_a_lossy_path_under_all_rules() {
    for environment in [Rules::Rfc, Rules::Bsd, Rules::Ns2, Rules::Linux] {
        let rules = environment.name();
        for variant in environment.variants() {
            let mut bottleneck = buffer(8);
            bottleneck["impairments"] = json!([{ "kind": "bernoulli", "probability": 0.02 }]);
            let tcp = json!({ "variant": variant, "rules": rules });
            let source = json!({ "kind": "transfer", "size": "400 kB" });
            let scenario = with_flow(two_hosts("5 Mbit/s", "20 ms", bottleneck), "f", tcp, source);
            for seed in 1..6 {
                assert_eq!(flow(&outcome_of(&scenario, seed)).bytes_delivered, 400_000, "{variant} {rules}");
            }
        }
    }
}

#[test]
fn alone_each_vegas_variant_fills_the_link_without_loss() {
    for variant in ["vegas", "newvegas", "code", "vegasa"] {
        let outcome = outcome(&observed(json!(variant), buffer(100), &["base_rtt"]));
        assert!(outcome.links[1].utilization > 0.99, "{variant}: {}", outcome.links[1].utilization);
        assert_eq!(flow(&outcome).segments_lost, 0, "{variant}");
        assert!(outcome.links[1].backlog_mean_packets < 10.0, "{variant}: {:?}", outcome.links[1]);
    }
}

#[test]
fn the_bandwidth_estimate_of_a_steady_flow_is_the_link_rate() {
    for variant in ["westwood", "westwoodp"] {
        let outcome = outcome(&observed(json!(variant), buffer(34), &["bandwidth"]));
        // Payload is 1460 of 1500 bytes: 10 Mbit/s * 1460 / 1500 = 9.733 Mbit/s.
        let estimate = mean(&late(&outcome, "bandwidth"));
        assert!((estimate / 9.733e6 - 1.0).abs() < 0.03, "{variant}: {estimate} bit/s");
        // The window after a loss equals the pipe: the link is never idle, and no packet waits long.
        assert!(outcome.links[1].utilization > 0.98, "{variant}: {}", outcome.links[1].utilization);
    }
}

#[test]
fn compressed_acks_raise_the_estimate_of_westwood_but_not_of_westwood_plus() {
    let largest = |variant: &str| {
        let outcome = outcome(&with_reverse_flows(observed(json!(variant), buffer(34), &["bandwidth"]), 10));
        late(&outcome, "bandwidth").into_iter().fold(0.0, f64::max)
    };
    let (westwood, westwood_plus) = (largest("westwood"), largest("westwoodp"));
    assert!(westwood > 2.0 * 9.733e6, "{westwood} bit/s");
    assert!(westwood_plus < 1.2 * 9.733e6, "{westwood_plus} bit/s");
}

#[test]
fn random_losses_cost_westwood_less_than_newreno() {
    let goodput = |variant: &str| {
        let mut bottleneck = buffer(34);
        bottleneck["impairments"] = json!([{ "kind": "bernoulli", "probability": 0.01 }]);
        flow(&outcome(&observed(json!(variant), bottleneck, &["cwnd"]))).goodput_bps
    };
    let newreno = goodput("newreno");
    for variant in ["westwood", "westwoodp"] {
        assert!(goodput(variant) > 1.5 * newreno, "{variant}: {} against {newreno}", goodput(variant));
    }
}
