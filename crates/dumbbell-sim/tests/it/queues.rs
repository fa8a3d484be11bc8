//! Queue disciplines in networks: the purposes of CoDel, FQ-CoDel, RED and a policer, scheduled links anywhere in a
//! path, and their results.

use crate::common::{described, many_flows, outcome, outcome_of, trace, two_hosts, with_flow};
use dumbbell_net::QueueSpec;
use dumbbell_sim::{Outcome, Scenario};
use dumbbell_units::Stream;
use serde_json::{Value, json};

/// Flows from separate hosts over one bottleneck with the given round-trip propagation delays in milliseconds, at least
/// 3.
fn dumbbell(rate: &str, queue: Value, round_trips: &[f64]) -> Value {
    let link = |from: &str, to: &str, rate: &str, delay: f64| json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": rate, "delay": format!("{delay} ms") });
    let mut nodes = vec![json!("r1"), json!("r2")];
    let mut links = vec![link("r1", "r2", rate, 0.5), link("r2", "r1", rate, 0.5)];
    links[0]["queue"] = queue;
    let mut flows = Vec::new();
    for (number, &round_trip) in round_trips.iter().enumerate() {
        let (sender, receiver) = (format!("s{number}"), format!("d{number}"));
        for (host, router, delay) in [(&sender, "r1", (round_trip - 1.0) / 2.0 - 0.5), (&receiver, "r2", 0.5)]
        {
            links.push(link(host, router, "1 Gbit/s", delay));
            links.push(link(router, host, "1 Gbit/s", delay));
            nodes.push(json!(host));
        }
        flows.push(json!({ "name": format!("f{number}"), "from": sender, "to": receiver,
                           "start": format!("{} ms", 37 * number), "tcp": "sack", "source": "greedy" }));
    }
    json!({ "duration": "60 s", "rules": "classic", "measure_from": "10 s", "nodes": nodes, "links": links, "flows": flows })
}

#[test]
fn codel_keeps_the_sojourn_time_and_the_link_busy_for_1_to_50_flows() {
    for flows in [1, 5, 20, 50] {
        let round_trips: Vec<f64> = (0..flows).map(|number| 12.0 + 0.5 * f64::from(number % 7)).collect();
        let mut scenario = dumbbell("500 Mbit/s", json!("codel"), &round_trips);
        (scenario["duration"], scenario["measure_from"]) = (json!("20 s"), json!("4 s"));
        let outcome = outcome(&scenario);
        let (link, wait) = (&outcome.links[0], outcome.links[0].wait_mean_s.expect("packets"));
        assert!((0.001..=0.010).contains(&wait), "{flows} flows wait {wait} s");
        assert!(link.utilization >= 0.9, "{flows} flows use {}", link.utilization);
        assert!(link.drops_early > 0);
    }
}

#[test]
fn fqcodel_shares_bytes_equally_among_unequal_flows() {
    let mut scenario = dumbbell("40 Mbit/s", json!("fqcodel"), &[3.0, 8.0, 5.0, 4.0]);
    // Different round-trip times, segment sizes and sources: a datagram source that sends three times its share ignores
    // drops.
    scenario["flows"][1]["tcp"] = json!({ "variant": "newreno", "mss": "536 bytes" });
    scenario["flows"][2]["tcp"] =
        json!({ "variant": "sack", "mss": "960 bytes", "initial_window": "10 segments" });
    scenario["flows"][3]["source"] = json!({ "kind": "cbr", "rate": "30 Mbit/s", "packet": "700 bytes" });
    scenario["flows"][3].as_object_mut().expect("a table").remove("tcp");
    let outcome = outcome(&scenario);
    let wire = bytes_behind_the_bottleneck(&outcome);
    let mean = wire.iter().sum::<f64>() / wire.len() as f64;
    for (number, bytes) in wire.iter().enumerate() {
        assert!((bytes / mean - 1.0).abs() < 0.01, "flow {number} has {bytes} of {mean} bytes on average");
    }
    assert!(outcome.links[0].utilization > 0.99);
}

/// Bytes of each flow on the access link of its receiver, in 50 s at 1 Gbit/s.
fn bytes_behind_the_bottleneck(outcome: &Outcome) -> Vec<f64> {
    let links = outcome.links.iter().filter(|link| link.name.starts_with("r2-d"));
    links.map(|link| link.utilization * 1e9 / 8.0 * 50.0).collect()
}

#[test]
fn red_keeps_its_average_between_the_thresholds() {
    let round_trips: Vec<f64> = (0..20).map(|number| 20.0 + f64::from(number)).collect();
    let queue = json!({ "kind": "red", "minimum": "20 packets", "maximum": "60 packets" });
    let outcome = outcome(&dumbbell("20 Mbit/s", queue, &round_trips));
    let link = &outcome.links[0];
    let mean = link.backlog_mean_packets;
    assert!((20.0..=60.0).contains(&mean), "{mean} packets wait on average");
    assert!(link.utilization > 0.99 && link.drops_early > 100, "{link:?}");
}

#[test]
fn a_policer_passes_no_more_than_its_rate() {
    let queue = json!({ "queue": { "kind": "policer", "rate": "2 Mbit/s", "burst": "10 kB" } });
    let source = json!({ "kind": "cbr", "rate": "3 Mbit/s", "packet": "1000 bytes" });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "10 ms", queue), "f", json!(null), source);
    scenario["duration"] = json!("100 s");
    let outcome = outcome(&scenario);
    // 250,000 bytes per second and the bucket once.
    let delivered = outcome.flows[0].bytes_delivered as f64;
    assert!((delivered - 25_010_000.0).abs() <= 4000.0, "{delivered}");
    assert_eq!(outcome.links[1].drops_policer, outcome.flows[0].segments_lost);
}

/// A link under CoDel whose target is never exceeded equals a drop-tail link. The engine handles it differently, with
/// late arrivals and departures, and must give the same bits.
#[test]
fn a_scheduled_link_without_signals_equals_a_fifo_link() {
    let mut random = Stream::new(1, 0, "scheduled");
    let mut draw = move |below: usize| (random.uniform() * below as f64) as usize;
    for seed in 0..200 {
        let mut scenario = many_flows(&mut draw);
        if let Some(links) = scenario["links"].as_array_mut() {
            // Impairments drop packets at departure on one kind of link and at arrival on the other.
            links
                .iter_mut()
                .for_each(|link| drop(link.as_object_mut().map(|link| link.remove("impairments"))));
        }
        if draw(3) == 0 {
            scenario["nodes"][0] = json!({ "name": "r1", "aqt": true });
        }
        let mut scheduled = scenario.clone();
        if let Some(links) = scheduled["links"].as_array_mut() {
            for link in links.iter_mut().filter(|_| draw(3) == 0) {
                let limit = link.pointer("/queue/limit").cloned().unwrap_or(json!("unlimited"));
                link["queue"] =
                    json!({ "kind": "codel", "target": "1000 h", "interval": "1000 h", "limit": limit });
            }
        }
        let (fifo, scheduled_outcome) = (outcome_of(&scenario, seed), outcome_of(&scheduled, seed));
        assert_eq!(described(&fifo), described(&scheduled_outcome), "{scheduled}");
    }
}

/// Every discipline on every link at once, with everything else that a link may have.
#[test]
fn scheduled_links_may_be_anywhere_in_a_path() {
    let mut random = Stream::new(2, 0, "anywhere");
    let mut draw = move |below: usize| (random.uniform() * below as f64) as usize;
    let kinds = QueueSpec::NAMES;
    for seed in 0..100 {
        let mut scenario = many_flows(&mut draw);
        if let Some(links) = scenario["links"].as_array_mut() {
            links.iter_mut().for_each(|link| link["queue"] = json!(kinds[draw(kinds.len())]));
        }
        let plain = outcome_of(&scenario, seed);
        let mut probed = scenario.clone();
        probed["probes"] = json!([{ "flows": ["*"], "links": ["*"], "quantities": ["delivered", "backlog", "drops", "wait", "marks"] }]);
        assert_eq!(described(&plain), described(&outcome_of(&probed, seed)), "{scenario}");
    }
}

#[test]
fn backlog_traces_of_scheduled_links_carry_their_own_times() {
    let queue = json!({ "queue": { "kind": "codel", "limit": "30 packets" } });
    let mut scenario = with_flow(two_hosts("4 Mbit/s", "20 ms", queue), "f", json!("sack"), json!("greedy"));
    scenario["duration"] = json!("20 s");
    scenario["probes"] = json!([{ "links": ["r1-r2"], "quantities": ["backlog"] }]);
    let outcome = outcome(&scenario);
    let changes = trace(&outcome, "backlog");
    let ends = changes.iter().skip(1).map(|&(at, _)| at).chain([20.0]);
    let integral: f64 = changes.iter().zip(ends).map(|(&(at, waiting), end)| waiting * (end - at)).sum();
    let (mean, most) = (outcome.links[1].backlog_mean_packets, outcome.links[1].backlog_max_packets);
    assert!((integral / 20.0 / mean - 1.0).abs() < 1e-9, "{} against {mean}", integral / 20.0);
    assert_eq!(changes.iter().map(|&(_, waiting)| waiting as u64).max(), Some(most));
}

#[test]
fn contradictory_queue_parameters_are_refused() {
    let with = |queue: Value| two_hosts("4 Mbit/s", "20 ms", json!({ "queue": queue }));
    for (queue, field) in [
        (json!({ "kind": "policer", "rate": "5 Mbit/s" }), "links.r1-r2.queue.rate"),
        (json!({ "kind": "policer", "burst": "1499 bytes" }), "links.r1-r2.queue.burst"),
        (
            json!({ "kind": "red", "minimum": "9 packets", "maximum": "9 packets" }),
            "links.r1-r2.queue.maximum",
        ),
        (json!({ "kind": "red", "limit": "3 packets" }), "links.r1-r2.queue.limit"),
        (json!({ "kind": "codel", "target": "200 ms" }), "links.r1-r2.queue.target"),
        (json!({ "kind": "fqcodel", "queues": 0 }), "links.r1-r2.queue.queues"),
    ] {
        let scenario = with_flow(with(queue), "f", json!("reno"), json!("greedy"));
        assert_eq!(Scenario::from_value(&scenario).map_err(|error| error.field), Err(field.to_owned()));
    }
}
