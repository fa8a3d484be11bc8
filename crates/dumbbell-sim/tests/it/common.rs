//! Scenarios shared by several tests.

use dumbbell_sim::{FlowOutcome, Outcome, Scenario, Supervision, run};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// Two hosts behind two routers; `bottleneck` overrides members of the link r1-r2.
pub fn two_hosts(rate: &str, delay: &str, bottleneck: Value) -> Value {
    let link = |from: &str, to: &str, rate: &str, delay: &str| json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": rate, "delay": delay });
    let mut scenario = json!({
        "duration": "60 s", "rules": "classic",
        "nodes": ["h1", "r1", "r2", "h2"],
        "links": [
            link("h1", "r1", "10 Gbit/s", "0 s"),
            link("r1", "r2", rate, delay),
            link("r2", "h2", "10 Gbit/s", "0 s"),
            link("h2", "r2", "10 Gbit/s", "0 s"),
            link("r2", "r1", rate, delay),
            link("r1", "h1", "10 Gbit/s", "0 s"),
        ],
        "flows": [],
    });
    if let Value::Object(members) = bottleneck {
        for (key, value) in members {
            scenario["links"][1][key] = value;
        }
    }
    scenario
}

/// Adds a flow from h1 to h2.
pub fn with_flow(mut scenario: Value, name: &str, tcp: Value, source: Value) -> Value {
    let flow = json!({ "name": name, "from": "h1", "to": "h2", "tcp": tcp, "source": source });
    if let Value::Array(flows) = &mut scenario["flows"] {
        flows.push(flow);
    }
    scenario
}

/// What [`dumbbell_sim::run`] applies, but for the stop: no limit of memory.
pub fn unlimited(stop: &AtomicBool) -> Supervision<'_> {
    Supervision::from(stop).without_limits()
}

/// A transfer of 40 segments of 960 bytes with a window of at most eight; the bottleneck loses the given ones.
pub fn transfer(recovery: &str, lost: &[u64]) -> Value {
    let mut network =
        two_hosts("1 Mbit/s", "96 ms", json!({ "impairments": [{ "kind": "forced", "packets": lost }] }));
    network["links"][4]["rate"] = json!("10 Gbit/s");
    let tcp = json!({
        "variant": recovery, "mss": "960 bytes", "headers": { "data": "40 bytes", "ack": "40 bytes" },
        "initial_window": "1 segment", "initial_ssthresh": "4 segments", "receive_buffer": "8 segments",
        "handshake": false, "delayed_ack": "off", "limited_transmit": false,
    });
    with_flow(network, "f", tcp, json!({ "kind": "transfer", "size": "38400 bytes" }))
}

/// Conversations from time 0, and a transfer of a variant that starts at `start`.
pub fn late(variant: &str, start: Value) -> Scenario {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "10 packets" } });
    let background = json!({ "kind": "tcplib", "interarrival": "200 ms" });
    let mut scenario =
        with_flow(two_hosts("1.6 Mbit/s", "20 ms", queue), "f", json!({ "variant": "reno" }), background);
    scenario["duration"] = json!("30 s");
    scenario["name"] = json!(variant);
    scenario["stop_when_complete"] = json!(["fg"]);
    scenario["probes"] =
        json!([{ "flows": ["*"], "quantities": ["cwnd"] }, { "links": ["*"], "quantities": ["backlog"] }]);
    if let Value::Array(flows) = &mut scenario["flows"] {
        let source = json!({ "kind": "transfer", "size": "500 kB" });
        flows.push(json!({
            "name": "fg", "from": "h1", "to": "h2", "start": start, "tcp": { "variant": variant }, "source": source,
        }));
    }
    Scenario::from_value(&scenario).unwrap()
}

/// Runs a scenario that must be accepted, and checks the conservation of packets.
pub fn outcome_of(scenario: &Value, seed: u64) -> Outcome {
    let scenario = Scenario::from_value(scenario).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, seed, 0);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    outcome
}

/// The same with the first seed.
pub fn outcome(scenario: &Value) -> Outcome {
    outcome_of(scenario, 1)
}

/// The recording of one quantity.
pub fn trace(outcome: &Outcome, quantity: &str) -> Vec<(f64, f64)> {
    let recording = outcome.recordings.iter().find(|r| r.quantity.name() == quantity);
    let recording = recording.unwrap_or_else(|| panic!("no probe of {quantity}"));
    recording.times.iter().copied().zip(recording.values.iter().copied()).collect()
}

/// The first flow.
pub fn flow(outcome: &Outcome) -> &FlowOutcome {
    &outcome.flows[0]
}

/// Flows between pairs of hosts; flows of the same pair share their hosts.
pub fn many_flows(draw: &mut impl FnMut(usize) -> usize) -> Value {
    let link = |from: String, to: String, rate: &str, delay: &str| json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": rate, "delay": delay });
    let pairs = 1 + draw(4);
    let mut nodes = vec![json!("r1"), json!({ "name": "r2", "aqt": draw(2) == 0 })];
    let mut links = vec![
        link("r1".into(), "r2".into(), "4 Mbit/s", "20 ms"),
        link("r2".into(), "r1".into(), "4 Mbit/s", "20 ms"),
    ];
    links[0]["queue"] = json!({ "kind": "droptail", "limit": format!("{} packets", 3 + draw(20)) });
    for pair in 0..pairs {
        let (from, to) = (format!("s{pair}"), format!("d{pair}"));
        nodes.extend([json!(from), json!(to)]);
        for (from, to) in [(&from, "r1"), (&to, "r2")] {
            let delay = ["0 s", "1 ms", "7 ms"][draw(3)];
            links.push(link(from.clone(), to.into(), "10 Mbit/s", delay));
            links.push(link(to.into(), from.clone(), "3 Mbit/s", delay));
        }
    }
    for link in &mut links {
        if draw(5) == 0 {
            link["impairments"] = json!([{ "kind": "bernoulli", "probability": 0.02 }]);
        }
        if draw(6) == 0 {
            link["changes"] = json!([{ "at": "3 s", "delay": "12 ms" }, { "at": "6 s", "rate": "2 Mbit/s", "delay": "4 ms" }]);
        }
    }
    let flows: Vec<Value> = (0..pairs + draw(4))
        .map(|number| {
            let variant = ["tahoe", "reno", "newreno", "sack", "vegas", "westwoodp"][draw(6)];
            let mut tcp = json!({ "variant": variant, "aqt": draw(3) == 0, "handshake": draw(2) == 0 });
            if draw(3) == 0 {
                tcp["delayed_ack"] = json!({ "segments": 2, "timer": "100 ms" });
            }
            json!({ "name": format!("f{number}"), "from": format!("s{}", number % pairs), "to": format!("d{}", number % pairs),
                "start": format!("{} ms", draw(3000)), "tcp": tcp, "source": "greedy" })
        })
        .collect();
    json!({ "duration": "10 s", "rules": "classic", "measure_from": "1 s", "nodes": nodes, "links": links, "flows": flows })
}

/// The results of a run without its number of events and its traces.
pub fn described(outcome: &Outcome) -> String {
    let Outcome { fingerprint, flows, links, conservation, .. } = outcome;
    format!("{fingerprint:016x} {flows:?} {links:?} {conservation:?}")
}
