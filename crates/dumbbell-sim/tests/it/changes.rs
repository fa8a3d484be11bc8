//! Changes during a run: links, paths, restarted flows, and queueing times reported by routers.

use crate::common::{flow, outcome, trace, two_hosts, with_flow};
use dumbbell_sim::Scenario;
use serde_json::{Value, json};

/// Adds members to the first flow.
fn of_flow(mut scenario: Value, members: Value) -> Value {
    if let Value::Object(members) = members {
        members.into_iter().for_each(|(key, value)| scenario["flows"][0][key] = value);
    }
    scenario
}

fn probed(mut scenario: Value, quantity: &str) -> Value {
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": [quantity] }]);
    scenario
}

/// All nodes stamp. A second path from r1 to r2 has ten times the delay.
fn stamping(rate: &str) -> Value {
    let mut scenario =
        two_hosts(rate, "20 ms", json!({ "queue": { "kind": "droptail", "limit": "50 packets" } }));
    scenario["nodes"] =
        ["h1", "r1", "r2", "h2"].iter().map(|name| json!({ "name": name, "aqt": true })).collect();
    if let Value::Array(links) = &mut scenario["links"] {
        links.push(json!({ "name": "detour", "from": "r1", "to": "r2", "rate": rate, "delay": "200 ms" }));
    }
    scenario
}

/// A RoVegas or Vegas flow with packets of 1000 bytes over such a network, on one path until 30 s and on the other
/// until the end, with bursts on the reverse path.
fn rerouted(variant: &str, rate: &str) -> Value {
    let tcp = json!({ "variant": variant, "mss": "992 bytes", "headers": { "data": "0 bytes", "ack": "40 bytes" } });
    let mut scenario = with_flow(stamping(rate), "f", tcp, json!("greedy"));
    let bursts =
        json!({ "kind": "onoff", "rate": "1 Mbit/s", "packet": "1000 bytes", "on": "10 ms", "off": "30 ms" });
    if let Value::Array(flows) = &mut scenario["flows"] {
        flows.push(json!({ "name": "back", "from": "h2", "to": "h1", "source": bursts }));
    }
    let reroutes = json!([{ "at": "30 s", "path": ["h1-r1", "detour", "r2-h2"] }]);
    of_flow(scenario, json!({ "reroutes": reroutes }))
}

#[test]
fn the_base_rtt_is_identical_for_every_packet_on_a_path() {
    // 1000 bytes take 8e6/3 ns at 3 Mbit/s, so the fraction differs from packet to packet. The first path takes 20 ms
    // and 2.666666 ms forward, 20 ms and 0.128 ms back, 0.8 us and 38 ns on each fast link; the second path takes 180
    // ms more.
    let outcome = outcome(&probed(rerouted("rovegas", "3 Mbit/s"), "base_rtt"));
    let base = trace(&outcome, "base_rtt");
    let nanoseconds: Vec<u64> = base.iter().map(|&(_, value)| (value * 1e9).round() as u64).collect();
    assert_eq!(nanoseconds, [42_796_342, 222_796_342]);
    assert!(base[1].0 > 30.0 && base[1].0 < 30.5, "{base:?}");
}

#[test]
fn rovegas_fills_a_longer_path_and_vegas_mistakes_it_for_congestion() {
    let rate_at_the_end = |variant: &str| {
        let delivered = trace(&outcome(&probed(rerouted(variant, "3 Mbit/s"), "delivered")), "delivered");
        let at = |time: f64| delivered[delivered.partition_point(|&(t, _)| t <= time) - 1].1;
        (at(60.0) - at(50.0)) * 8.0 / 10.0
    };
    let (rovegas, vegas) = (rate_at_the_end("rovegas"), rate_at_the_end("vegas"));
    assert!(rovegas > 2.9e6 && vegas < 1.5e6, "{rovegas} {vegas}");
}

#[test]
fn queueing_time_requests_cost_eight_bytes_per_packet() {
    let sizes = |aqt: bool| {
        let tcp =
            json!({ "variant": "reno", "mss": "1000 bytes", "headers": { "data": "40 bytes" }, "aqt": aqt });
        let scenario = with_flow(
            two_hosts("1 Mbit/s", "5 ms", json!({})),
            "f",
            tcp,
            json!({ "kind": "transfer", "size": "500 kB" }),
        );
        let outcome = outcome(&scenario);
        // The reverse path carries only acknowledgements, one for each segment.
        let busy = outcome.links[4].utilization * 60.0 * 1e6 / 8.0;
        let acknowledgement = busy / flow(&outcome).segments_sent as f64;
        (flow(&outcome).throughput_bps / flow(&outcome).goodput_bps, acknowledgement)
    };
    let near = |(data, acknowledgement): (f64, f64), expected: (f64, f64)| {
        (data - expected.0 / 1000.0).abs() < 1e-3 && (acknowledgement - expected.1).abs() < 0.5
    };
    assert!(near(sizes(false), (1040.0, 40.0)), "{:?}", sizes(false));
    assert!(near(sizes(true), (1048.0, 48.0)), "{:?}", sizes(true));
}

#[test]
fn a_restarted_flow_has_a_new_connection_and_is_silent_during_the_pause() {
    let tcp = json!({ "variant": "newreno", "mss": "1000 bytes", "initial_ssthresh": "10 segments" });
    let queue = json!({ "queue": { "kind": "droptail", "limit": "20 packets" } });
    let scenario = with_flow(two_hosts("1 Mbit/s", "10 ms", queue), "f", tcp, json!("greedy"));
    let again = json!([{ "start": "30 s", "stop": "40 s" }, { "start": "50 s" }]);
    let scenario = of_flow(scenario, json!({ "start": "5 s", "stop": "10 s", "restarts": again }));
    let outcome = outcome(&probed(scenario, "delivered"));
    assert_eq!(flow(&outcome).connections, 3);
    let times: Vec<f64> = trace(&outcome, "delivered").iter().map(|&(time, _)| time).collect();
    let within = |from: f64, to: f64| times.iter().filter(|&&time| time > from && time < to).count();
    assert_eq!((within(0.0, 5.0), within(20.0, 30.0), within(45.0, 50.0)), (0, 0, 0));
    assert!(within(5.0, 10.0) > 100 && within(30.0, 40.0) > 100 && within(50.0, 60.0) > 100);
    // Active for 5 + 10 + 10 of 60 s at 1 Mbit/s less headers.
    assert!(
        (flow(&outcome).goodput_bps / 1e6 - 1000.0 / 1040.0).abs() < 0.05,
        "{}",
        flow(&outcome).goodput_bps
    );
}

#[test]
fn deliveries_after_a_stop_count_with_their_time() {
    // Six bursts of 0.1 s at 10 Mbit/s, 125 packets each, into a queue of 50 packets before a link of 100 kbit/s: each
    // drains in 4 s, and no flow is faster than its link.
    let queue = json!({ "queue": { "kind": "droptail", "limit": "50 packets" } });
    let flood = json!({ "kind": "cbr", "rate": "10 Mbit/s", "packet": "1000 bytes" });
    let again = (1..6)
        .map(|n| json!({ "start": format!("{} s", 10 * n), "stop": format!("{} ms", 10_000 * n + 100) }));
    let scenario = with_flow(two_hosts("100 kbit/s", "10 ms", queue), "f", Value::Null, flood);
    let again = again.collect::<Value>();
    let outcome = outcome(&of_flow(scenario, json!({ "stop": "100 ms", "restarts": again })));
    let goodput = flow(&outcome).goodput_bps;
    assert!(goodput <= 100_000.0 && goodput > 95_000.0, "{goodput}");
}

#[test]
fn restarts_require_a_stop_and_are_refused_for_transfers() {
    let tcp = json!("reno");
    let refused = |flow: Value, source: Value| {
        let scenario =
            of_flow(with_flow(two_hosts("1 Mbit/s", "1 ms", json!({})), "f", tcp.clone(), source), flow);
        Scenario::from_value(&scenario).expect_err("a refusal").field
    };
    let restart = json!([{ "start": "30 s" }]);
    assert_eq!(refused(json!({ "restarts": restart }), json!("greedy")), "flows.f.restarts.0.start");
    assert_eq!(
        refused(json!({ "restarts": restart, "stop": "40 s" }), json!("greedy")),
        "flows.f.restarts.0.start"
    );
    assert_eq!(refused(json!({ "restarts": restart, "stop": "4 s" }), json!("transfer")), "flows.f.restarts");
    let backwards = json!([{ "start": "30 s", "stop": "20 s" }]);
    assert_eq!(
        refused(json!({ "restarts": backwards, "stop": "4 s" }), json!("greedy")),
        "flows.f.restarts.0.stop"
    );
    let nothing = json!([{ "at": "1 s" }]);
    assert_eq!(refused(json!({ "reroutes": nothing }), json!("greedy")), "flows.f.reroutes");
    let reroutes = json!([{ "at": "1 s", "path": ["h1-r1"] }]);
    assert_eq!(refused(json!({ "reroutes": reroutes }), json!("greedy")), "flows.f.reroutes.0.path");
}

#[test]
fn frames_of_too_many_packets_are_refused() {
    let refused = |source: Value| {
        let scenario = with_flow(two_hosts("1 Mbit/s", "1 ms", json!({})), "f", Value::Null, source);
        Scenario::from_value(&scenario).expect_err("a refusal").field
    };
    let frames = json!({ "kind": "frames", "sizes": ["1 kB", "200 kB"], "packet": "1 bytes" });
    assert_eq!(refused(frames), "flows.f.source.packet");
    let video = json!({ "kind": "video", "rate": "1 Gbit/s", "frame_rate": 1.0, "packet": "100 bytes" });
    assert_eq!(refused(video), "flows.f.source.packet");
}

#[test]
fn a_link_with_rate_changes_is_always_busy_and_carries_its_capacity() {
    // 10 s at 1 Mbit/s, 20 s at 0.25 Mbit/s, 30 s at 2 Mbit/s: 75 Mbit, always busy.
    let changes = json!([{ "at": "10 s", "rate": "250 kbit/s" }, { "at": "30 s", "rate": "2 Mbit/s", "delay": "1 ms" }]);
    let queue = json!({ "kind": "droptail", "limit": "50 packets" });
    let scenario = two_hosts("1 Mbit/s", "10 ms", json!({ "changes": changes, "queue": queue }));
    let flood = json!({ "kind": "cbr", "rate": "5 Mbit/s", "packet": "1000 bytes" });
    let outcome = outcome(&with_flow(scenario, "f", Value::Null, flood));
    let delivered = flow(&outcome).bytes_delivered as f64 * 8.0;
    assert!((delivered - 75e6).abs() < 4.0 * 8000.0, "{delivered}");
    assert!((outcome.links[1].utilization - 1.0).abs() < 1e-4);
}

#[test]
fn bursts_do_not_depend_on_other_flows_of_the_link() {
    let sent = |variant: &str| {
        let mut scenario = rerouted(variant, "3 Mbit/s");
        scenario["probes"] = json!([{ "links": ["h2-r2"], "quantities": ["backlog"] }]);
        scenario["flows"][0]["reverse_path"] = json!(["back-h2", "r2-r1", "r1-h1"]);
        if let Value::Array(links) = &mut scenario["links"] {
            links.push(
                json!({ "name": "back-h2", "from": "h2", "to": "r2", "rate": "10 Gbit/s", "delay": "0 s" }),
            );
            links[3]["rate"] = json!("500 kbit/s");
        }
        scenario["flows"][1]["path"] = json!(["h2-r2", "r2-r1", "r1-h1"]);
        let outcome = outcome(&scenario);
        (outcome.flows[1].segments_sent, trace(&outcome, "backlog"))
    };
    let (packets, backlog) = sent("rovegas");
    assert!(packets > 1000 && backlog.len() > 1000);
    assert_eq!((packets, backlog), sent("vegas"));
}
