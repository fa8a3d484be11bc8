//! A receiver that answers ahead of the clock changes nothing but the number of events. A probe of a flow makes its
//! receiver wait for its time, so every scenario is run with and without one.

mod common;

use common::outcome_of;
use dumbbell_sim::Outcome;
use dumbbell_units::Stream;
use serde_json::{Value, json};

/// Flows between pairs of hosts; of two flows of one pair the hosts are the same.
fn crowd(draw: &mut impl FnMut(usize) -> usize) -> Value {
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
    json!({ "duration": "10 s", "measure_from": "1 s", "nodes": nodes, "links": links, "flows": flows })
}

/// What a run says, but for its number of events and its traces.
fn told(outcome: &Outcome) -> String {
    let Outcome { fingerprint, flows, links, conservation, .. } = outcome;
    format!("{fingerprint:016x} {flows:?} {links:?} {conservation:?}")
}

fn traced(scenario: &Value) -> Value {
    let mut traced = scenario.clone();
    traced["probes"] = json!([{ "flows": ["*"], "quantities": ["delivered"] }]);
    traced
}

#[test]
fn an_answer_ahead_of_the_clock_is_the_one_of_its_time() {
    let mut random = Stream::new(1, 0, "answers");
    let mut draw = move |below: usize| (random.uniform() * below as f64) as usize;
    let mut saved = 0;
    for seed in 0..200 {
        let scenario = crowd(&mut draw);
        let (ahead, waits) = (outcome_of(&scenario, seed), outcome_of(&traced(&scenario), seed));
        assert_eq!(told(&ahead), told(&waits), "{scenario}");
        saved += u32::from(ahead.events < waits.events);
    }
    assert!(saved > 100, "{saved} of 200 scenarios have receivers that answer ahead of the clock");
}

#[test]
fn one_event_for_a_packet_where_hosts_are_apart() {
    let mut scenario = crowd(&mut |_| 1);
    scenario["flows"] = json!([scenario["flows"][0]]);
    let ahead = outcome_of(&scenario, 1);
    let packets = ahead.flows[0].segments_sent - ahead.flows[0].segments_lost;
    assert!(packets > 100 && ahead.events < packets + packets / 10, "{} for {packets}", ahead.events);
    assert!(outcome_of(&traced(&scenario), 1).events > 2 * packets - packets / 10);
}
