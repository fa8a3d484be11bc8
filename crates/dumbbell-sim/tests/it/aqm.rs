//! What disciplines that manage delay are for, in networks: delays at their targets, isolation of flows, and overload.

use crate::common::{outcome, outcome_of, trace, two_hosts, with_flow};
use serde_json::{Value, json};

/// A dumbbell with one pair of hosts per flow, a round-trip propagation delay in milliseconds, and a queue at the
/// bottleneck. Segments are of 1500 bytes.
fn dumbbell(rate: &str, round_trip: f64, queue: Value, flows: Vec<Value>) -> Value {
    let link = |from: &str, to: &str, rate: &str, delay: f64| json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": rate, "delay": format!("{delay} ms") });
    let mut nodes = vec![json!("r1"), json!("r2")];
    let mut links = vec![
        link("r1", "r2", rate, round_trip / 2.0 - 1.0),
        link("r2", "r1", "1 Gbit/s", round_trip / 2.0 - 1.0),
    ];
    links[0]["queue"] = queue;
    links[0]["wait_percentiles"] = json!(true);
    for (number, _) in flows.iter().enumerate() {
        for (host, router) in [(format!("s{number}"), "r1"), (format!("d{number}"), "r2")] {
            links.extend([link(&host, router, "1 Gbit/s", 0.5), link(router, &host, "1 Gbit/s", 0.5)]);
            nodes.push(json!(host));
        }
    }
    let end_points = |(number, mut flow): (usize, Value)| {
        (flow["from"], flow["to"]) = (json!(format!("s{number}")), json!(format!("d{number}")));
        flow["name"] = json!(format!("f{number}"));
        if flow["start"].is_null() {
            flow["start"] = json!(format!("{} ms", 97 * number));
        }
        flow
    };
    let flows: Vec<Value> = flows.into_iter().enumerate().map(end_points).collect();
    json!({ "duration": "60 s", "rules": "classic", "measure_from": "10 s", "nodes": nodes, "links": links, "flows": flows })
}

fn greedy(ecn: &str) -> Value {
    json!({ "tcp": { "variant": "sack", "mss": "1460 bytes", "ecn": ecn }, "source": "greedy" })
}

fn cbr(rate: &str, packet: &str, ecn: &str) -> Value {
    json!({ "source": { "kind": "cbr", "rate": rate, "packet": packet, "ecn": ecn } })
}

#[test]
fn pie_holds_its_target_for_5_to_50_flows() {
    for flows in [5, 10, 20, 50] {
        for queue in [
            json!("pie"),
            json!({ "kind": "pie", "delay": "departed", "update": "16 ms", "first_update": "500 ms",
                    "steep_above": "250 ms", "decay": 0.984_375, "mean_packet": "1500 bytes", "ecn": false }),
            json!({ "kind": "pie", "delay": "rate" }),
        ] {
            let outcome = outcome(&dumbbell("10 Mbit/s", 50.0, queue.clone(), vec![greedy("off"); flows]));
            let (link, wait) = (&outcome.links[0], outcome.links[0].wait_mean_s.expect("packets"));
            assert!((0.010..=0.020).contains(&wait), "{flows} flows, {queue}: {wait} s");
            assert!(link.utilization > 0.95 && link.drops_early > 0 && link.drops_queue == 0, "{link:?}");
        }
    }
}

#[test]
fn codel_keeps_one_flow_near_its_target_at_the_cost_of_utilization() {
    // 41.7 packets fill the path. The first drop comes two round trips after the queue reached 5 ms, so the window
    // rises to about 47 packets and is halved: it grows by one packet per round trip from 23.5, below 41.7 for 18 of 23
    // round trips at a mean utilization of 78 %, which makes 83 % in total. That is a miss of codel-03, which expects 90 %.
    let outcome = outcome(&dumbbell("10 Mbit/s", 50.0, json!("codel"), vec![greedy("off")]));
    let (link, wait) = (&outcome.links[0], outcome.links[0].wait_mean_s.expect("packets"));
    assert!((0.001..=0.010).contains(&wait), "{wait} s");
    assert!((link.utilization - 0.83).abs() < 0.01, "{}", link.utilization);
}

#[test]
fn dualpi2_without_low_latency_traffic_is_pi_squared() {
    for (ecn, round_trip) in [("off", 5.0), ("off", 10.0), ("classic", 5.0), ("classic", 10.0)] {
        let outcome = outcome(&dumbbell("40 Mbit/s", round_trip, json!("dualpi2"), vec![greedy(ecn)]));
        let (link, wait) = (&outcome.links[0], outcome.links[0].wait_c_mean_s.expect("packets"));
        assert!((wait - 0.015).abs() < 0.005, "{wait} s");
        assert!(link.utilization > 0.99 && link.wait_l_mean_s.is_none(), "{link:?}");
        let is_marked = ecn == "classic";
        assert_eq!((link.marks > 0, link.drops_early > 0), (is_marked, !is_marked), "{link:?}");
    }
}

/// Settings of `dualpi2` as in Linux.
fn linux_dualpi2() -> Value {
    json!({ "kind": "dualpi2", "ramp_begin": "1 ms", "ramp": "0 s", "l_spare": "0 bytes", "update": "16 ms",
            "alpha": 0.160_156_25, "beta": 3.199_218_75, "signals": "random", "scheduler": "credit",
            "c_share": 0.1, "spare": "3000 bytes", "limit": "10000 packets" })
}

#[test]
fn overload_of_the_low_latency_queue_drops_there_and_leaves_the_classic_queue_its_share() {
    // Datagrams with ECT(1) at 1.2 times the rate of the link, and classic ones at a tenth of it.
    for queue in [json!("dualpi2"), linux_dualpi2()] {
        let flows = vec![cbr("48 Mbit/s", "1500 bytes", "ect1"), cbr("4 Mbit/s", "1500 bytes", "not-ect")];
        let outcome = outcome(&dumbbell("40 Mbit/s", 10.0, queue, flows));
        let (link, classic) = (&outcome.links[0], outcome.flows[1].goodput_bps / 40e6);
        assert!(outcome.flows[0].segments_lost > 0 && link.drops_queue == 0, "{link:?}");
        assert!(classic >= 0.05, "{classic}");
        // The controller holds the longer delay of both.
        let longer = link.wait_l_mean_s.into_iter().chain(link.wait_c_mean_s).fold(0.0, f64::max);
        assert!((longer - 0.015).abs() < 0.005, "{link:?}");
    }
}

#[test]
fn low_latency_packets_do_not_wait_for_classic_ones() {
    for queue in [json!("dualpi2"), linux_dualpi2()] {
        let flows = vec![cbr("10 Mbit/s", "1500 bytes", "ect1"), greedy("off"), greedy("off")];
        let outcome = outcome(&dumbbell("40 Mbit/s", 10.0, queue, flows));
        let link = &outcome.links[0];
        assert!(link.wait_l_p99_s.is_some_and(|wait| wait < 0.001), "{link:?}");
        assert!(link.wait_c_mean_s.is_some_and(|wait| (wait - 0.015).abs() < 0.005), "{link:?}");
        assert_eq!(outcome.flows[0].segments_lost, 0);
    }
}

/// The 99th percentile of the queueing time of a flow with 64 bytes every 20 ms beside eight greedy flows, in seconds.
fn sparse_flow_delay(queue: &str, seed: u64) -> f64 {
    let mut flows = vec![greedy("off"); 8];
    flows.iter_mut().for_each(|flow| flow["start"] = json!({ "uniform": ["0 s", "1 s"] }));
    flows.push(cbr("25.6 kbit/s", "64 bytes", "not-ect"));
    let mut scenario = dumbbell("10 Mbit/s", 50.0, json!(queue), flows);
    scenario["flows"][8]["start"] = json!("0 s");
    scenario["probes"] = json!([{ "flows": ["f8"], "quantities": ["delivered"] }]);
    let outcome = outcome_of(&scenario, seed);
    assert_eq!(outcome.flows[8].segments_lost, 0, "{queue}");
    // 64 bytes take 51.2 us at 10 Mbit/s and 0.512 us on each access link; propagation takes 25 ms.
    let unloaded = 0.025 + 51.2e-6 + 2.0 * 0.512e-6;
    let delivered = trace(&outcome, "delivered");
    let measured = delivered.iter().filter(|(at, _)| *at > 10.0);
    let mut waits: Vec<f64> =
        measured.map(|(at, bytes)| at - (bytes / 64.0 - 1.0) * 0.02 - unloaded).collect();
    waits.sort_by(f64::total_cmp);
    waits[waits.len() * 99 / 100]
}

#[test]
fn sparse_flows_hardly_wait() {
    // A packet in service and one of another new flow take 2.4 ms.
    for queue in ["fqcodel", "fqpie", "fq"] {
        let waits: Vec<f64> = (1..=5).map(|seed| sparse_flow_delay(queue, seed)).collect();
        assert!(waits.iter().all(|wait| *wait <= 0.0024), "{queue}: {waits:?}");
    }
    // Without priority of new flows, a round of the others has eight packets of 1.2 ms.
    for queue in ["drr", "sfq"] {
        let wait = sparse_flow_delay(queue, 1);
        assert!((0.0024..=0.012).contains(&wait), "{queue}: {wait}");
    }
}

#[test]
fn overload_by_one_flow_drops_only_its_packets() {
    for queue in ["fqcodel", "fqpie", "fq", "drr", "sfq"] {
        let mut flows = vec![cbr("1 Mbit/s", "500 bytes", "not-ect"); 4];
        flows.push(cbr("20 Mbit/s", "1000 bytes", "not-ect"));
        let outcome = outcome(&dumbbell("10 Mbit/s", 50.0, json!(queue), flows));
        let lost: Vec<u64> = outcome.flows.iter().map(|flow| flow.segments_lost).collect();
        assert_eq!(lost[..4], [0; 4], "{queue}");
        assert!(lost[4] > 0 && outcome.links[0].utilization > 0.999, "{queue}: {lost:?}");
    }
}

#[test]
fn cobalt_restrains_a_flow_that_does_not_respond() {
    // ECN-capable datagrams at twice the rate of the link: CoDel marks them in vain, and the queue is full. BLUE's
    // probability settles near one half, and CoDel finds nothing to do most of the time.
    let mut waits = ["codel", "cobalt"].map(|queue| {
        let outcome =
            outcome(&dumbbell("10 Mbit/s", 50.0, json!(queue), vec![cbr("20 Mbit/s", "1500 bytes", "ect0")]));
        let link = &outcome.links[0];
        assert!(link.utilization > 0.999, "{link:?}");
        assert_eq!(link.drops_early > link.drops_queue, queue == "cobalt", "{link:?}");
        link.wait_mean_s.expect("packets")
    });
    waits.sort_by(f64::total_cmp);
    assert!(waits[0] < 0.05 && waits[1] > 0.5, "{waits:?}");
}

#[test]
fn a_shaper_passes_its_rate_and_delays_the_rest() {
    let queue = json!({ "queue": { "kind": "tokenbucket", "rate": "2 Mbit/s", "burst": "10 kB", "limit": "20 packets" } });
    let source = json!({ "kind": "cbr", "rate": "3 Mbit/s", "packet": "1000 bytes" });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "10 ms", queue), "f", json!(null), source);
    scenario["duration"] = json!("100 s");
    let outcome = outcome(&scenario);
    // 250,000 bytes per second and the bucket once, less what is on its way at the end.
    let delivered = outcome.flows[0].bytes_delivered as f64;
    assert!((delivered - 25_010_000.0).abs() <= 6000.0, "{delivered}");
    let link = &outcome.links[1];
    assert_eq!((link.drops_queue, link.drops_early), (outcome.flows[0].segments_lost, 0));
    // A full queue of 20 packets takes 80 ms at 2 Mbit/s.
    assert!(link.wait_mean_s.is_some_and(|wait| (0.07..=0.081).contains(&wait)), "{link:?}");
}

#[test]
fn percentiles_and_probes_agree_on_both_kinds_of_links() {
    for queue in ["droptail", "red", "codel", "dualpi2"] {
        let mut flows = vec![greedy("classic"); 3];
        flows.push(cbr("1 Mbit/s", "500 bytes", "ect1"));
        let mut scenario = dumbbell("10 Mbit/s", 20.0, json!(queue), flows);
        scenario["duration"] = json!("20 s");
        if queue == "droptail" {
            scenario["links"][0]["queue"] = json!({ "kind": "droptail", "limit": "40 packets" });
        }
        scenario["probes"] = json!([{ "links": ["r1-r2"], "quantities": ["wait", "marks"] }]);
        let outcome = outcome(&scenario);
        let link = &outcome.links[0];
        let mut waits: Vec<f64> =
            trace(&outcome, "wait").iter().filter(|(at, _)| *at >= 10.0).map(|&(_, wait)| wait).collect();
        waits.sort_by(f64::total_cmp);
        for (found, rank) in [(link.wait_p50_s, 50), (link.wait_p95_s, 95), (link.wait_p99_s, 99)] {
            let exact = waits[(waits.len() * rank).div_ceil(100) - 1];
            let found = found.expect("packets");
            assert!((found - exact).abs() <= exact / 64.0 + 1e-9, "{queue} p{rank}: {found} for {exact}");
        }
        assert_eq!(link.wait_max_s, waits.last().copied());
        let marks = trace(&outcome, "marks");
        let before = marks.iter().filter(|(at, _)| *at < 10.0).count() as u64;
        assert!(marks.last().map_or(0, |&(_, count)| count as u64) >= link.marks + before, "{queue}");
        assert_eq!(link.marks > 0, queue != "droptail", "{queue}");
        assert_eq!(link.wait_l_p99_s.is_some(), queue == "dualpi2", "{queue}");
        // Percentiles do not change a run.
        scenario["links"][0]["wait_percentiles"] = json!(false);
        let plain = crate::common::outcome(&scenario);
        assert_eq!(plain.fingerprint, outcome.fingerprint);
        assert_eq!((plain.links[0].wait_p50_s, plain.links[0].wait_mean_s), (None, link.wait_mean_s));
    }
}
