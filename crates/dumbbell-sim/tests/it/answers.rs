//! A receiver that answers ahead of the clock changes only the number of events. A probe of its flow makes a receiver
//! answer on time, so every scenario is run with and without a probe.

use crate::common::{described, many_flows, outcome_of, transfer};
use dumbbell_units::Stream;
use serde_json::{Value, json};

fn traced(scenario: &Value) -> Value {
    let mut traced = scenario.clone();
    traced["probes"] = json!([{ "flows": ["*"], "quantities": ["delivered"] }]);
    traced
}

#[test]
fn answers_ahead_of_the_clock_change_no_result() {
    let mut random = Stream::new(1, 0, "answers");
    let mut draw = move |below: usize| (random.uniform() * below as f64) as usize;
    let mut saved = 0;
    for seed in 0..200 {
        let scenario = many_flows(&mut draw);
        let (ahead, waits) = (outcome_of(&scenario, seed), outcome_of(&traced(&scenario), seed));
        assert_eq!(described(&ahead), described(&waits), "{scenario}");
        saved += u32::from(ahead.events < waits.events);
    }
    assert!(saved > 100, "{saved} of 200 scenarios have receivers that answer ahead of the clock");
}

#[test]
fn packets_between_separate_hosts_take_one_event_each() {
    let mut scenario = many_flows(&mut |_| 1);
    scenario["flows"] = json!([scenario["flows"][0]]);
    let ahead = outcome_of(&scenario, 1);
    let packets = ahead.flows[0].segments_sent - ahead.flows[0].segments_lost;
    assert!(packets > 100 && ahead.events < packets + packets / 10, "{} for {packets}", ahead.events);
    assert!(outcome_of(&traced(&scenario), 1).events > 2 * packets - packets / 10);
}

#[test]
fn a_segment_comes_before_the_timer_of_a_delayed_acknowledgement_that_is_due_with_it() {
    // 1000 bytes take 200 ms at 40 kbit/s, as long as the timer.
    let mut scenario = many_flows(&mut |_| 1);
    scenario["links"][0]["rate"] = json!("40 kbit/s");
    scenario["duration"] = json!("60 s");
    scenario["flows"] = json!([scenario["flows"][0]]);
    scenario["flows"][0]["tcp"] = json!({ "variant": "reno", "mss": "960 bytes",
        "headers": { "data": "40 bytes", "ack": "40 bytes" }, "delayed_ack": { "segments": 2, "timer": "200 ms" } });
    let (ahead, waits) = (outcome_of(&scenario, 1), outcome_of(&traced(&scenario), 1));
    assert_eq!(described(&ahead), described(&waits));
    assert!(ahead.events < waits.events);
}

#[test]
fn a_paced_segment_takes_one_event_more() {
    let with_pacing = |pacing: Value| {
        let mut scenario = transfer("reno", &[]);
        scenario["flows"][0]["tcp"]["pacing"] = pacing;
        outcome_of(&traced(&scenario), 1)
    };
    let (paced, plain) = (with_pacing(json!({ "unpaced": 0 })), with_pacing(json!("off")));
    let segments = paced.flows[0].segments_sent;
    assert!(
        paced.events > plain.events && paced.events <= plain.events + segments,
        "{} and {}",
        paced.events,
        plain.events
    );
}
