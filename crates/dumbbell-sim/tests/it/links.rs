//! Links on which packets are lost in outages, overtake others or arrive twice, and synthetic links.

use dumbbell_sim::{Outcome, Scenario};
use serde_json::{Value, json};

/// A flow over two links there and one back; the members given override those of the links.
fn scenario(first: &Value, second: &Value, back: &Value) -> Value {
    let link = |name: &str, from: &str, to: &str, members: &Value| {
        let mut link = json!({ "name": name, "from": from, "to": to, "rate": "10 Mbit/s", "delay": "10 ms",
                               "queue": { "kind": "droptail", "limit": "50 packets" } });
        link.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        link
    };
    json!({
        "duration": "20 s", "rules": "classic",
        "nodes": ["a", "r", "b"],
        "links": [link("ar", "a", "r", first), link("rb", "r", "b", second), link("ba", "b", "a", back)],
        "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "sack" }],
    })
}

fn run(value: &Value) -> Outcome {
    let scenario = Scenario::from_value(value).expect("a scenario");
    let outcome = dumbbell_sim::run(&scenario, 1, 0);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    let again = dumbbell_sim::run(&scenario, 1, 0);
    assert_eq!(crate::common::described(&outcome), crate::common::described(&again));
    outcome
}

fn refusal(first: &Value) -> (String, String) {
    let error = Scenario::from_value(&scenario(first, &json!({}), &json!({}))).expect_err("a refusal");
    (error.field, error.accepted)
}

#[test]
fn copies_of_data_and_acknowledgements_arrive_and_are_counted() {
    let twice = json!({ "impairments": [{ "kind": "duplicate", "probability": 0.2 }] });
    // Before a link, before a host, and on the way back, alone and together.
    let none = json!({});
    for (first, second, back) in
        [(&twice, &none, &none), (&none, &twice, &none), (&none, &none, &twice), (&twice, &twice, &twice)]
    {
        let outcome = run(&scenario(first, second, back));
        let copies: u64 = outcome.links.iter().map(|link| link.duplicates).sum();
        assert!(copies > 1000 && outcome.conservation.duplicated.abs_diff(copies) <= 100, "{copies}");
        assert!(outcome.flows[0].goodput_bps > 1e6, "{}", outcome.flows[0].goodput_bps);
    }
}

#[test]
fn a_copy_of_a_datagram_arrives_and_its_bytes_count_once() {
    let twice = json!({ "impairments": [{ "kind": "duplicate", "probability": 0.2 }] });
    let none = json!({});
    let received = |first: &Value| {
        let mut scenario = scenario(first, &none, &none);
        scenario["flows"] = json!([{ "name": "d", "from": "a", "to": "b",
            "source": { "kind": "cbr", "rate": "1 Mbit/s" } }]);
        run(&scenario)
    };
    let (plain, copied) = (received(&none), received(&twice));
    assert!(copied.conservation.duplicated > 100, "{:?}", copied.conservation);
    assert_eq!(copied.flows[0].bytes_delivered, plain.flows[0].bytes_delivered);
}

#[test]
fn packets_overtake_each_other_before_links_and_hosts() {
    let jitter = json!({ "impairments": [{ "kind": "jitter", "delay": "10 ms", "jitter": "5 ms" }] });
    let (none, plain) = (json!({}), run(&scenario(&json!({}), &json!({}), &json!({}))));
    for (first, second) in [(&jitter, &none), (&none, &jitter)] {
        let outcome = run(&scenario(first, second, &none));
        // Packets are 1.2 ms apart, so that some pass more than two others: the sender takes these for lost.
        let flow = &outcome.flows[0];
        assert!(flow.segments_retransmitted.unwrap_or_default() > flow.segments_lost + 10, "{flow:?}");
        assert!(flow.goodput_bps < plain.flows[0].goodput_bps / 2.0, "{flow:?}");
    }
    // With a rate, or a constant delay, nothing overtakes.
    for kept in [
        json!({ "kind": "jitter", "delay": "10 ms", "jitter": "5 ms", "rate": "100 Mbit/s" }),
        json!({ "kind": "jitter", "delay": "10 ms", "jitter": "0 s" }),
    ] {
        let outcome = run(&scenario(&json!({ "impairments": [kept] }), &none, &none));
        assert_eq!(outcome.flows[0].segments_retransmitted, Some(outcome.flows[0].segments_lost));
    }
}

#[test]
fn scheduled_links_reorder_and_duplicate_as_well() {
    let impairments = json!([
        { "kind": "duplicate", "probability": 0.05 },
        { "kind": "reorder", "delay": "5 ms", "probability": 0.1, "gap": 3 },
        { "kind": "gilbert" },
    ]);
    let codel = json!({ "queue": "codel", "impairments": impairments });
    let mut value = scenario(&codel, &codel, &codel);
    value["duration"] = json!("200 s");
    let outcome = run(&value);
    assert!(outcome.links.iter().all(|link| link.duplicates > 0 && link.drops_impairment > 0), "{outcome:?}");
}

#[test]
fn a_link_that_holds_packets_in_an_outage_loses_none() {
    let outage = |packets: &str| {
        let outages = json!([{ "from": "5 s", "until": "5500 ms", "packets": packets }]);
        let link = json!({ "outages": outages, "queue": { "kind": "droptail", "limit": "1000 packets" } });
        let mut value = scenario(&link, &json!({}), &json!({}));
        value["flows"][0]["source"] = json!({ "kind": "cbr", "rate": "5 Mbit/s", "packet": "1250 bytes" });
        value["flows"][0].as_object_mut().unwrap().remove("tcp");
        run(&value)
    };
    // 500 packets per second: all arrive, those of the outage late.
    let (held, dropped) = (outage("hold"), outage("drop"));
    assert_eq!(held.conservation.dropped, 0);
    assert!(held.links[0].backlog_max_packets.abs_diff(250) <= 2, "{}", held.links[0].backlog_max_packets);
    assert!(dropped.conservation.dropped.abs_diff(250) <= 1, "{:?}", dropped.conservation);
    assert_eq!(dropped.links[0].drops_impairment, dropped.conservation.dropped);
    assert!(dropped.links[0].backlog_max_packets <= 1);
}

#[test]
fn opportunities_within_an_outage_are_unused() {
    let times: Vec<u64> = (1..=1000).collect();
    let outages = json!([{ "from": "5 s", "until": "7 s", "packets": "hold" }]);
    let link = json!({ "opportunities": { "times": times }, "outages": outages });
    let mut value = scenario(&link, &json!({ "rate": "100 Mbit/s" }), &json!({}));
    value["flows"][0]["source"] = json!({ "kind": "cbr", "rate": "20 Mbit/s", "packet": "1500 bytes" });
    value["flows"][0].as_object_mut().unwrap().remove("tcp");
    // One packet per millisecond outside of the outage: 18 000.
    let delivered = run(&value).conservation.delivered;
    assert!(delivered.abs_diff(18_000) <= 25, "{delivered}");
}

#[test]
fn rates_and_delays_step_and_links_go_down_within_one_scenario() {
    let changing = json!({
        "changes": [{ "at": "4 s", "rate": "1 Mbit/s" }, { "at": "8 s", "rate": "10 Mbit/s", "delay": "50 ms" },
                    { "at": "12 s", "delay": "2 ms" }],
        "outages": [{ "from": "3 s", "until": "4 s", "packets": "hold" }, { "from": "4 s", "until": "4100 ms" },
                    { "from": "7 s", "until": "9 s", "packets": "hold" }],
    });
    let outcome = run(&scenario(&changing, &json!({}), &json!({})));
    assert!(outcome.flows[0].goodput_bps > 2e6, "{}", outcome.flows[0].goodput_bps);
}

#[test]
fn synthetic_links_carry_traffic() {
    for (kind, least) in [("lte", 2e6), ("mmwave", 5e6), ("starlink", 1e6), ("geo", 1e6)] {
        let trace = json!({ "trace": { "kind": kind, "seed": 3 } });
        let outcome = run(&scenario(&trace, &json!({ "rate": "1 Gbit/s" }), &json!({})));
        assert!(outcome.flows[0].goodput_bps > least, "{kind}: {}", outcome.flows[0].goodput_bps);
        // As the first link, behind another one, and for acknowledgements.
        run(&scenario(&json!({}), &trace, &trace));
    }
}

#[test]
fn a_file_of_one_line_gives_one_packet_per_millisecond() {
    // Claim mm-01: 1500 bytes of IP and 4 of a TUN header per millisecond, 12.032 Mbit/s or 12.00 Mbit/s of IP.
    let link = json!({ "opportunities": { "times": [1] } });
    let mut value = scenario(&link, &json!({ "rate": "1 Gbit/s" }), &json!({}));
    value["flows"][0]["source"] = json!({ "kind": "cbr", "rate": "20 Mbit/s", "packet": "1500 bytes" });
    value["flows"][0].as_object_mut().unwrap().remove("tcp");
    value["measure_from"] = json!("1 s");
    let goodput = run(&value).flows[0].goodput_bps;
    assert!((goodput / 12.0e6 - 1.0).abs() < 0.005, "{goodput}");
}

#[test]
fn contradictions_are_refused() {
    let of = |impairment: Value| refusal(&json!({ "impairments": [impairment] })).0;
    assert_eq!(of(json!({ "kind": "markov", "p13": 0.7, "p14": 0.4 })), "links.ar.impairments.0.p14");
    assert_eq!(of(json!({ "kind": "jitter", "limit": 0 })), "links.ar.impairments.0.limit");
    assert_eq!(refusal(&json!({ "impairments": ["duplicate", "duplicate"] })).0, "links.ar.impairments");
    let trace = json!({ "trace": "geo", "changes": [{ "at": "1 s", "rate": "1 Mbit/s" }] });
    assert_eq!(refusal(&trace), ("links.ar.trace".into(), "a trace alone, without changes".into()));
    let endless = json!({ "trace": { "kind": "lte", "rate": "1 Gbit/s", "seed": 1 } });
    let mut value = scenario(&endless, &json!({}), &json!({}));
    value["duration"] = json!("1000 s");
    assert_eq!(Scenario::from_value(&value).unwrap_err().field, "links.ar.trace");
    let backwards = json!({ "outages": [{ "from": "2 s", "until": "1 s" }] });
    assert_eq!(refusal(&backwards).0, "links.ar.outages");
}

#[test]
fn a_connection_gets_most_of_the_physical_rate_of_wifi_in_bursts() {
    // Acknowledgements of 40 bytes with headers of 42, one per two segments, at the same rates.
    for (rate, most) in [(65e6, 64), (144e6, 64), (300e6, 64)] {
        let wifi = json!({
            "rate": format!("{rate} bit/s"), "delay": "100 us", "wifi": { "reply": "41 bytes" },
            "queue": { "kind": "droptail", "limit": "400 packets" },
        });
        // Bursts of acknowledgements release bursts of segments, which need room before the wired link, too.
        let queue = json!({ "kind": "droptail", "limit": "1000 packets" });
        let wired = json!({ "rate": "1 Gbit/s", "delay": "5 ms", "queue": queue });
        let mut value = scenario(&wired, &wifi, &json!({ "rate": "100 Mbit/s", "delay": "5 ms" }));
        value["flows"][0]["tcp"] = json!({
            "variant": "sack", "mss": "1460 bytes", "delayed_ack": { "segments": 2, "timer": "40 ms" },
        });
        value["measure_from"] = json!("3 s");
        value["probes"] = json!([{ "flows": ["f"], "quantities": ["delivered"] }]);
        let outcome = run(&value);
        let share = outcome.flows[0].goodput_bps / rate;
        assert!((0.6..=0.8).contains(&share), "{rate}: {share}");
        // Segments delivered at one time.
        let times = &outcome.recordings[0].times;
        let bursts: Vec<usize> = times.chunk_by(|one, other| one == other).map(<[f64]>::len).collect();
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        let largest = bursts.iter().copied().max().unwrap_or(0);
        assert!(mean > 8.0 && (10..=2 * most).contains(&largest), "{rate}: {mean} {largest}");
    }
}
