//! Pings beside flows, largest pacing rates, and the rates that probes record.

use crate::common::{flow, outcome, two_hosts, with_flow};
use dumbbell_sim::trace::Recording;
use dumbbell_sim::{FlowOutcome, Outcome};
use serde_json::{Value, json};

fn network(queue: &str) -> Value {
    two_hosts("10 Mbit/s", "50 ms", json!({ "queue": { "kind": "droptail", "limit": queue } }))
}

/// A flow with these rules on a link of 10 Mbit/s and 50 ms, and probes of its quantities.
fn greedy(tcp: Value, quantities: &[&str]) -> Value {
    let mut scenario = with_flow(network("100 packets"), "f", tcp, json!("greedy"));
    scenario["duration"] = json!("20 s");
    scenario["measure_from"] = json!("5 s");
    if !quantities.is_empty() {
        scenario["probes"] = json!([{ "flows": ["f"], "quantities": quantities }]);
    }
    scenario
}

/// The same with pings beside it.
fn with_ping(mut scenario: Value, interval: &str) -> Value {
    let source = json!({ "kind": "ping", "interval": interval });
    let (from, to) = (scenario["flows"][0]["from"].clone(), scenario["flows"][0]["to"].clone());
    let ping = json!({ "name": "ping", "from": from, "to": to, "source": source });
    scenario["flows"].as_array_mut().expect("flows").push(ping);
    scenario
}

fn of<'a>(outcome: &'a Outcome, name: &str) -> &'a FlowOutcome {
    outcome.flows.iter().find(|flow| flow.name == name).expect("a flow of this name")
}

fn recording<'a>(outcome: &'a Outcome, quantity: &str) -> &'a Recording {
    let mut recordings = outcome.recordings.iter();
    recordings.find(|recording| recording.quantity.name() == quantity).expect("a recording")
}

#[test]
fn a_largest_pacing_rate_paces_what_does_not_pace_and_limits_what_does() {
    for control in ["newreno", "cubic", "bbr"] {
        let tcp = json!({ "variant": control, "max_pacing_rate": "5 Mbit/s" });
        let result = outcome(&greedy(tcp, &["pacing_rate", "delivery_rate"]));
        // A segment of 1460 bytes every 2.336 ms never waits at a link of 10 Mbit/s.
        let goodput = flow(&result).goodput_bps;
        let least = if control == "bbr" { 4.7e6 } else { 4.98e6 };
        assert!((least..5.02e6).contains(&goodput), "{control}: {goodput}");
        let waiting = result.links[1].backlog_max_packets;
        assert!(waiting <= 1, "{control}: {waiting} wait");
        let rates = &recording(&result, "pacing_rate").values;
        let highest = rates.iter().copied().fold(0.0, f64::max);
        assert!((4.999e6..5.001e6).contains(&highest), "{control}: {highest}");
        let last = recording(&result, "delivery_rate").values.last().copied().unwrap_or_default();
        assert!((4.9e6..5.2e6).contains(&last), "{control}: {last}");
    }
}

#[test]
fn sampling_delivery_rates_changes_nothing() {
    for control in ["newreno", "sack", "vegas", "westwoodp", "cubic", "bbr"] {
        let plain = outcome(&greedy(json!(control), &[]));
        let probed = outcome(&greedy(json!(control), &["delivery_rate", "pacing_rate", "rtt"]));
        assert_eq!(plain.fingerprint, probed.fingerprint, "{control}");
        let samples = recording(&probed, "delivery_rate").values.len();
        assert!(samples > 100, "{control}: {samples} samples");
        assert_eq!(recording(&probed, "pacing_rate").values.is_empty(), control != "bbr", "{control}");
    }
}

#[test]
fn a_ping_alone_takes_the_round_trip_time_of_its_packets() {
    let source = json!({ "kind": "ping", "interval": "100 ms", "packet": "1000 bytes", "count": 50 });
    let mut scenario = with_flow(network("100 packets"), "ping", Value::Null, source);
    scenario["duration"] = json!("10 s");
    scenario["delay_percentiles"] = json!(true);
    scenario["probes"] = json!([{ "flows": ["ping"], "quantities": ["rtt"] }]);
    let result = outcome(&scenario);
    let found = of(&result, "ping");
    // Twice 50 ms, and 1000 bytes each way at 10 Mbit/s and over two links of 10 Gbit/s.
    let expected = 2.0 * (0.05 + 0.8e-3 + 2.0 * 0.8e-6);
    let rtts = &recording(&result, "rtt").values;
    assert_eq!((found.segments_sent, found.segments_lost, rtts.len()), (50, 0, 50));
    for rtt in rtts.iter().copied().chain(found.rtt_mean_s).chain(found.rtt_min_s).chain(found.rtt.max) {
        assert!((rtt - expected).abs() < 1e-7, "{rtt} instead of {expected}");
    }
}

#[test]
fn pings_beside_a_flow_see_its_queue_and_their_losses_there_and_back_count() {
    let mut scenario = with_ping(greedy(json!("newreno"), &[]), "20 ms");
    scenario["measure_from"] = json!("0 s");
    let queued = outcome(&scenario);
    let found = of(&queued, "ping");
    assert!(found.rtt_mean_s > Some(0.105), "{:?}", found.rtt_mean_s);
    assert!(found.rtt_mean_s <= of(&queued, "f").rtt_mean_s.map(|rtt| rtt * 1.1));
    // Loss of a quarter each way leaves 9 of 16 answered.
    scenario["flows"].as_array_mut().expect("flows").remove(0);
    for link in scenario["links"].as_array_mut().expect("links") {
        link["impairments"] = json!([]);
    }
    let loses = json!([{ "kind": "bernoulli", "probability": 0.25 }]);
    let bottlenecks: Vec<usize> = (0..scenario["links"].as_array().expect("links").len())
        .filter(|&link| scenario["links"][link]["rate"] == json!("10 Mbit/s"))
        .collect();
    for &link in &bottlenecks {
        scenario["links"][link]["impairments"] = loses.clone();
    }
    scenario["probes"] = json!([{ "flows": ["ping"], "quantities": ["rtt"] }]);
    let lossy = outcome(&scenario);
    let found = of(&lossy, "ping");
    let answered = recording(&lossy, "rtt").values.len() as u64;
    assert!(bottlenecks.len() == 2 && found.segments_sent == 1001, "{}", found.segments_sent);
    // Up to six are on the way at the end.
    assert!((0..=6).contains(&(found.segments_sent - found.segments_lost - answered)));
    assert!((500..625).contains(&answered), "{answered}");
}

#[test]
fn a_periodic_backlog_is_the_recorded_one_at_its_times() {
    for ends_early in [false, true] {
        let mut scenario = greedy(json!("cubic"), &[]);
        if ends_early {
            scenario["flows"][0]["source"] = json!({ "kind": "transfer", "size": "5 MB" });
            scenario["stop_when_complete"] = json!(["f"]);
        }
        scenario["probes"] = json!([{ "links": ["*"], "quantities": ["backlog"] }]);
        let changes = outcome(&scenario);
        scenario["probes"][0]["period"] = json!("7 ms");
        let periodic = outcome(&scenario);
        // Several times the number of events between two looks at what links have kept.
        assert!(periodic.events > 4 * 1024, "{}", periodic.events);
        assert_eq!(periodic.recordings.len(), changes.recordings.len());
        let mut compared = 0;
        for (sampled, exact) in periodic.recordings.iter().zip(&changes.recordings) {
            for (time, value) in sampled.times.iter().zip(&sampled.values) {
                let before = exact.times.partition_point(|changed| changed <= time);
                assert_eq!(exact.values.get(before - 1), Some(value), "{} at {time} s", sampled.name);
                compared += 1;
            }
            assert!(sampled.times.iter().all(|time| *time <= periodic.simulated_s));
        }
        assert!(compared > 500, "{compared}");
    }
}
