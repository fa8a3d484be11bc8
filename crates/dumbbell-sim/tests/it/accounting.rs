//! Counters agree with the events, at the end of a run and at the edges of its flows.

use crate::common::{flow, outcome, outcome_of, trace, two_hosts, with_flow};
use dumbbell_sim::Scenario;
use serde_json::{Value, json};

fn refused_field(scenario: &Value) -> String {
    Scenario::from_value(scenario).expect_err("a refusal").field
}

#[test]
fn a_run_that_ends_early_counts_nothing_after_its_end() {
    let network = two_hosts("1 Mbit/s", "1 ms", json!({}));
    let transfer = json!({ "kind": "transfer", "size": "20 kB" });
    let mut scenario = with_flow(network, "f", json!({ "variant": "reno", "mss": "1000 bytes" }), transfer);
    let flood = json!({ "kind": "cbr", "rate": "5 Mbit/s", "packet": "1000 bytes" });
    if let Value::Array(flows) = &mut scenario["flows"] {
        flows.push(json!({ "name": "x", "from": "h1", "to": "h2", "start": "20 ms", "source": flood }));
    }
    scenario["stop_when_complete"] = json!(["f"]);
    let outcome = outcome(&scenario);
    for link in &outcome.links {
        assert!(link.utilization <= 1.0 + 1e-9, "{}: {}", link.name, link.utilization);
        assert!(link.backlog_mean_packets <= link.backlog_max_packets as f64, "{}", link.name);
    }
}

#[test]
fn a_sender_stopped_by_the_receive_window_is_counted() {
    let tcp = json!({ "variant": "reno", "mss": "1000 bytes", "receive_buffer": "10 segments" });
    let source = json!({ "kind": "transfer", "size": "1 MB" });
    let limited = outcome(&with_flow(two_hosts("100 Mbit/s", "50 ms", json!({})), "f", tcp, source));
    assert!(flow(&limited).receive_window_limited.unwrap_or_default() > 500);
}

#[test]
fn sack_enters_a_second_recovery_when_the_first_new_segment_of_the_first_is_lost() {
    let run = |lost: Vec<u64>| {
        let loss = json!({ "impairments": [{ "kind": "forced", "packets": lost }] });
        let tcp = json!({ "variant": "sack", "mss": "1000 bytes", "initial_ssthresh": "16 segments",
                          "limited_transmit": false });
        let source = json!({ "kind": "transfer", "size": "300 kB" });
        let mut scenario = with_flow(two_hosts("10 Mbit/s", "50 ms", loss), "f", tcp, source);
        scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["seq_sent"] }]);
        let outcome = outcome(&scenario);
        let sent: Vec<u64> =
            trace(&outcome, "seq_sent").iter().map(|&(_, seq)| (seq / 1000.0) as u64).collect();
        (flow(&outcome).timeouts, sent)
    };
    let (_, sent) = run(vec![61]);
    let resent = (61..sent.len()).find(|&at| sent[at] == 60).expect("segment 60 sent again");
    // The retransmission is packet `resent + 1`, the first new segment the one after it.
    let (timeouts, _) = run(vec![61, resent as u64 + 2]);
    assert_eq!(timeouts, Some(0));
}

#[test]
fn segments_of_limited_transmit_are_not_part_of_the_halved_flight_size() {
    let threshold = |limited: bool| {
        let loss = json!({ "impairments": [{ "kind": "forced", "packets": [61] }] });
        let tcp = json!({ "variant": "newreno", "mss": "1000 bytes", "initial_ssthresh": "16 segments",
                          "limited_transmit": limited });
        let source = json!({ "kind": "transfer", "size": "300 kB" });
        let mut scenario = with_flow(two_hosts("10 Mbit/s", "50 ms", loss), "f", tcp, source);
        scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["ssthresh"] }]);
        trace(&outcome(&scenario), "ssthresh").last().map(|&(_, ssthresh)| ssthresh)
    };
    assert_eq!(threshold(true), threshold(false));
}

#[test]
fn drops_are_probed_from_the_beginning_whatever_the_window() {
    let loss = json!({ "impairments": [{ "kind": "forced", "packets": [5, 10, 15] }] });
    let source = json!({ "kind": "transfer", "size": "300 kB" });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "50 ms", loss), "f", json!("sack"), source);
    scenario["probes"] = json!([{ "links": ["r1-r2"], "quantities": ["drops"] }]);
    scenario["measure_from"] = json!("30 s");
    let drops: Vec<f64> = trace(&outcome(&scenario), "drops").iter().map(|&(_, drops)| drops).collect();
    assert_eq!(drops, [1.0, 2.0, 3.0]);
}

#[test]
fn unidirectional_links_form_a_path() {
    let link = |from: &str, to: &str| json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": "10 Mbit/s", "delay": "1 ms" });
    let ring = json!({
        "duration": "10 s", "rules": "classic",
        "nodes": ["a", "up", "b", "down"],
        "links": [link("a", "up"), link("up", "b"), link("b", "down"), link("down", "a")],
        "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "reno",
                    "source": { "kind": "transfer", "size": "30 kB" } }],
    });
    assert_eq!(flow(&outcome(&ring)).bytes_delivered, 30_000);
}

#[test]
fn nan_is_refused_with_its_path() {
    let text = r#"
        duration = "1 s"
        rules = "classic"
        nodes = ["a", "b"]
        links = [{ name = "ab", from = "a", to = "b", rate = "1 Mbit/s", delay = "1 ms",
                   impairments = [{ kind = "bernoulli", probability = nan }] }]
        flows = []
    "#;
    let error = Scenario::from_toml(text).expect_err("a refusal");
    assert_eq!(error.field, "links.ab.impairments.0.probability");
}

#[test]
fn contradictory_ends_and_rates_are_refused() {
    let source = json!({ "kind": "transfer", "size": "30 kB" });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "5 ms", json!({})), "f", json!("reno"), source);
    scenario["stop_when_complete"] = json!(["f", "f"]);
    assert_eq!(refused_field(&scenario), "stop_when_complete");
    let mut fast = two_hosts("10 Mbit/s", "5 ms", json!({}));
    let source = json!({ "kind": "cbr", "rate": "1000 Gbit/s", "packet": "1 bytes" });
    fast["flows"] = json!([{ "name": "x", "from": "h1", "to": "h2", "source": source }]);
    assert_eq!(refused_field(&fast), "flows.x.source.rate");
}

#[test]
fn nothing_new_is_sent_after_the_stop() {
    let mix = json!({ "telnet": 1.0, "ftp": 0.0, "nntp": 0.0, "smtp": 0.0 });
    let source = json!({ "kind": "tcplib", "interarrival": "100 ms", "mix": mix });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "500 ms", json!({})), "f", json!("reno"), source);
    scenario["flows"][0]["stop"] = json!("10 s");
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["seq_sent"] }]);
    for seed in 1..30 {
        let outcome = outcome_of(&scenario, seed);
        let late = trace(&outcome, "seq_sent").iter().filter(|&&(at, _)| at > 10.0).count() as u64;
        assert!(
            late <= flow(&outcome).segments_retransmitted.unwrap_or_default(),
            "seed {seed}: {late} segments"
        );
    }
}

#[test]
fn a_transfer_completely_sent_before_its_stop_completes() {
    let source = json!({ "kind": "transfer", "size": "2 kB" });
    let tcp = json!({ "variant": "reno", "mss": "1000 bytes" });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "500 ms", json!({})), "f", tcp, source);
    scenario["flows"][0]["stop"] = json!("600 ms");
    assert!(flow(&outcome(&scenario)).completion_s.is_some_and(|took| took > 1.0));
}

#[test]
fn the_goodput_of_a_stopped_flow_does_not_exceed_its_link_rate() {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "1000 packets" } });
    let mut scenario = two_hosts("1 Mbit/s", "1 ms", queue);
    let source = json!({ "kind": "cbr", "rate": "10 Mbit/s", "packet": "1000 bytes" });
    scenario["flows"] =
        json!([{ "name": "x", "from": "h1", "to": "h2", "stop": "500 ms", "source": source }]);
    assert!(flow(&outcome(&scenario)).goodput_bps <= 1.01e6);
}

#[test]
fn recorded_losses_can_be_replayed_as_forced_losses() {
    let random = json!([
        { "kind": "bernoulli", "probability": 0.01 },
        { "kind": "twostate", "good": "1 s", "bad": "100 ms", "loss": 0.2, "change": 0.5 },
    ]);
    let run = |impairments: Value| {
        let queue = json!({ "kind": "droptail", "limit": "5 packets" });
        let lossy = json!({ "impairments": impairments, "queue": queue });
        let network = two_hosts("2 Mbit/s", "20 ms", lossy);
        let mut scenario = with_flow(network, "f", json!("newreno"), json!({ "kind": "greedy" }));
        scenario["probes"] = json!([{ "links": ["r1-r2"], "quantities": ["losses", "drops"] }]);
        outcome(&scenario)
    };
    let drawn = run(random);
    let lost: Vec<u64> = trace(&drawn, "losses").iter().map(|&(_, number)| number as u64).collect();
    assert!(lost.len() > 20, "{}", lost.len());
    let forced = run(json!([{ "kind": "forced", "packets": lost }]));
    assert_eq!(forced.fingerprint, drawn.fingerprint);
    assert_eq!(trace(&forced, "losses"), trace(&drawn, "losses"));
    // A queue overflow is not a loss by an impairment.
    assert!(trace(&drawn, "drops").len() > lost.len());
}

#[test]
fn goodput_includes_pauses_with_packets_in_flight() {
    // A packet takes 100 ms of transmission and 101 ms of delay, so each arrives 1 ms after the following start; each
    // start is active for 2 ms. Nine of the ten arrive, and the flow is active from its first start to the last arrival
    // at 1801 ms.
    let restarts: Vec<Value> = (1..10)
        .map(|n| json!({ "start": format!("{} ms", 200 * n), "stop": format!("{} ms", 200 * n + 2) }))
        .collect();
    let outcome = outcome(&json!({
        "duration": "1.9 s", "rules": "classic",
        "nodes": ["a", "b"],
        "links": [{ "name": "ab", "from": "a", "to": "b", "rate": "80 kbit/s", "delay": "101 ms" }],
        "flows": [{ "name": "f", "from": "a", "to": "b", "stop": "2 ms", "restarts": restarts,
                    "source": { "kind": "cbr", "rate": "80 kbit/s", "packet": "1000 bytes" } }],
    }));
    assert_eq!(flow(&outcome).bytes_delivered, 9000);
    // The last start, whose packet does not arrive, ends at 1802 ms.
    assert!(
        (flow(&outcome).goodput_bps / (72_000.0 / 1.802) - 1.0).abs() < 1e-9,
        "{}",
        flow(&outcome).goodput_bps
    );
}

#[test]
fn counts_cover_exactly_the_events_of_the_window() {
    // A transfer that loses its packets 20 and 60 has two fast retransmissions.
    let loss = json!({ "impairments": [{ "kind": "forced", "packets": [20, 60] }] });
    let tcp = json!({ "variant": "sack", "mss": "1000 bytes", "initial_ssthresh": "8 segments" });
    let source = json!({ "kind": "transfer", "size": "200 kB" });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "50 ms", loss), "f", tcp, source);
    scenario["duration"] = json!("10 s");
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["seq_sent"] }, { "links": ["r1-r2"], "quantities": ["losses"] }]);
    let whole = outcome(&scenario);
    let (sent, losses) = (trace(&whole, "seq_sent"), trace(&whole, "losses"));
    assert_eq!((flow(&whole).segments_sent, sent.len()), (202, 202));
    assert_eq!((flow(&whole).segments_lost, losses.len(), flow(&whole).fast_retransmits), (2, 2, Some(2)));
    // A retransmission has a sequence number below an earlier one.
    let again: Vec<f64> =
        (1..sent.len()).filter(|&at| sent[at].1 < sent[at - 1].1).map(|at| sent[at].0).collect();
    assert_eq!(again.len(), 2);
    // Both ends belong to the window: at the first retransmission, and between the two.
    let of = |from: f64, until: f64| {
        let mut scenario = scenario.clone();
        scenario["measure_from"] = json!(format!("{:.0} ns", from * 1e9));
        scenario["measure_until"] = json!(format!("{:.0} ns", until * 1e9));
        let outcome = outcome(&scenario);
        assert_eq!(outcome.fingerprint, whole.fingerprint);
        let within = |time: &f64| (from - 1e-10..until + 1e-10).contains(time);
        let flow = flow(&outcome);
        assert_eq!(flow.segments_sent, sent.iter().filter(|(at, _)| within(at)).count() as u64);
        assert_eq!(flow.segments_lost, losses.iter().filter(|(at, _)| within(at)).count() as u64);
        assert_eq!(flow.bytes_retransmitted, flow.segments_retransmitted.map(|segments| 1000 * segments));
        (flow.segments_retransmitted, flow.fast_retransmits, flow.connections)
    };
    assert_eq!(of(0.0, again[0]), (Some(1), Some(1), 1));
    assert_eq!(of(again[0], again[1]), (Some(2), Some(2), 0));
    assert_eq!(of(again[0] + 1e-9, again[1]), (Some(1), Some(1), 0));
    assert_eq!(of(again[0] + 1e-9, again[1] - 1e-9), (Some(0), Some(0), 0));
    assert_eq!(of(8.0, 9.0), (Some(0), Some(0), 0));
}

#[test]
fn the_mean_rtt_covers_the_window_and_the_minimum_the_run() {
    // 20 packets of 1040 bytes queue at 1 Mbit/s: their round-trip time exceeds that of the first by 0.16 s.
    let tcp = json!({ "variant": "reno", "mss": "1000 bytes", "receive_buffer": "20 segments" });
    let mut scenario = with_flow(two_hosts("1 Mbit/s", "10 ms", json!({})), "f", tcp, json!("greedy"));
    let whole = flow(&outcome(&scenario)).clone();
    scenario["measure_from"] = json!("10 s");
    let later = flow(&outcome(&scenario)).clone();
    assert!(whole.rtt_min_s < Some(0.03) && whole.rtt_mean_s < later.rtt_mean_s, "{whole:?}");
    assert_eq!(later.rtt_min_s, whole.rtt_min_s);
    assert!(later.rtt_mean_s > Some(0.16), "{later:?}");
    scenario["measure_from"] = json!("59.9999 s");
    let last = flow(&outcome(&scenario)).clone();
    assert_eq!((last.rtt_mean_s, last.rtt_min_s), (None, whole.rtt_min_s));
}

#[test]
fn a_syn_is_a_packet_without_data() {
    let run = |handshake: bool, impairment: Value| {
        let loss = json!({ "impairments": [impairment] });
        let tcp = json!({ "variant": "reno", "mss": "1000 bytes", "handshake": handshake });
        let source = json!({ "kind": "transfer", "size": "50 kB" });
        let mut scenario = with_flow(two_hosts("10 Mbit/s", "50 ms", loss), "f", tcp, source);
        scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["seq_sent"] }, { "links": ["r1-r2"], "quantities": ["losses", "drops"] }]);
        outcome(&scenario)
    };
    // The third packet with data is the third segment, with and without a SYN before it.
    for handshake in [false, true] {
        let outcome = run(handshake, json!({ "kind": "forced", "packets": [3] }));
        assert_eq!(trace(&outcome, "losses").iter().map(|&(_, number)| number).collect::<Vec<_>>(), [3.0]);
        assert_eq!((flow(&outcome).segments_sent, flow(&outcome).segments_lost), (51, 1));
        let sent = trace(&outcome, "seq_sent");
        assert_eq!((sent.len(), sent.iter().filter(|&&(_, seq)| seq == 2000.0).count()), (51, 2));
        // On the link it is a packet like any other.
        assert_eq!(outcome.links[1].packets, 51 + u64::from(handshake));
    }
    // A lost SYN is a drop but not a lost segment; the timeout that retransmits it is a timeout.
    let always = run(true, json!({ "kind": "bernoulli", "probability": 1.0 }));
    assert_eq!((flow(&always).segments_sent, flow(&always).segments_lost), (0, 0));
    assert_eq!(trace(&always, "losses"), []);
    assert!(flow(&always).timeouts.unwrap_or_default() > 1);
    assert_eq!(always.links[1].drops_impairment, always.links[1].packets);
}

#[test]
fn stopping_a_flow_closes_only_its_connections() {
    // Two flows of conversations. One stops, restarts and stops again while the other continues.
    let conversations = json!({ "kind": "tcplib", "interarrival": "100 ms" });
    let network = two_hosts("1.6 Mbit/s", "20 ms", json!({}));
    let mut scenario = with_flow(network, "f", json!("reno"), conversations.clone());
    scenario = with_flow(scenario, "g", json!("reno"), conversations);
    let alone = outcome(&scenario);
    scenario["flows"][0]["stop"] = json!("20 s");
    scenario["flows"][0]["restarts"] = json!([{ "start": "30 s", "stop": "31 s" }]);
    scenario["measure_from"] = json!("50 s");
    let stopped = outcome(&scenario);
    assert_eq!((stopped.flows[0].connections, stopped.flows[0].bytes_delivered), (0, 0));
    assert!(stopped.flows[1].connections > 50 && stopped.flows[1].bytes_delivered > 0);
    assert!(alone.flows[0].connections > 500);
}

#[test]
fn a_window_beyond_the_end_missing_flows_and_empty_probes_are_refused() {
    let valid = || with_flow(two_hosts("1 Mbit/s", "1 ms", json!({})), "f", json!("reno"), json!("greedy"));
    let mut scenario = valid();
    scenario["measure_until"] = json!("60 s");
    assert!(Scenario::from_value(&scenario).is_ok());
    scenario["measure_until"] = json!("60.1 s");
    assert_eq!(refused_field(&scenario), "measure_until");
    scenario = valid();
    scenario["flows"] = json!([]);
    assert_eq!(refused_field(&scenario), "flows");
    scenario = valid();
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": [] }]);
    assert_eq!(refused_field(&scenario), "probes.0.quantities");
}

#[test]
fn nagle_holds_back_keystrokes_but_not_the_end_of_a_transfer() {
    // 1,500 bytes are a full segment and a partial one; waiting for an ACK would take a second round trip of 100 ms.
    let tcp = json!({ "variant": "reno", "mss": "1000 bytes" });
    let source = json!({ "kind": "transfer", "size": "1500 bytes" });
    let transfer = outcome(&with_flow(two_hosts("10 Mbit/s", "50 ms", json!({})), "f", tcp, source));
    assert!(flow(&transfer).completion_s.expect("complete") < 0.11);
    let segments = |nagle: bool| {
        let tcp = json!({ "variant": "reno", "nagle": nagle });
        let mix = json!({ "telnet": 1.0, "ftp": 0.0, "nntp": 0.0, "smtp": 0.0 });
        let source = json!({ "kind": "tcplib", "interarrival": "500 ms", "mix": mix });
        let network = two_hosts("10 Mbit/s", "500 ms", json!({}));
        flow(&outcome(&with_flow(network, "f", tcp, source))).segments_sent
    };
    assert!(segments(true) < segments(false), "{} and {}", segments(true), segments(false));
}
