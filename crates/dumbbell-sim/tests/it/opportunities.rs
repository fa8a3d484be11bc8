//! Scenarios whose links have delivery opportunities in place of a rate.

use dumbbell_sim::{Scenario, run};
use serde_json::{Value, json};

/// A flow over a link with these opportunities, 10 ms away; `link` overrides members of the link.
fn scenario(opportunities: Value, link: Value) -> Value {
    let mut scenario = json!({
        "duration": "20 s", "rules": "classic", "measure_from": "5 s", "nodes": ["a", "b"],
        "links": [
            { "name": "ab", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "10 ms",
              "queue": { "kind": "droptail", "limit": "50 packets" }, "opportunities": opportunities },
            { "name": "ba", "from": "b", "to": "a", "rate": "100 Mbit/s", "delay": "10 ms" },
        ],
        "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": { "variant": "reno", "mss": "1460 bytes" } }],
    });
    for (key, value) in link.as_object().expect("a table") {
        scenario["links"][0][key] = value.clone();
    }
    scenario
}

fn refusal(opportunities: Value, link: Value) -> (String, String) {
    let error = Scenario::from_value(&scenario(opportunities, link)).expect_err("a refusal");
    (error.field, error.accepted)
}

#[test]
fn a_connection_uses_every_opportunity_of_a_busy_link() {
    // One opportunity every 2 ms on average: 1, 3 and 6 ms, again and again.
    let scenario = Scenario::from_value(&scenario(json!({ "times": [1, 3, 6] }), json!({})));
    let outcome = run(&scenario.expect("a scenario"), 1, 0);
    // A packet of 1500 bytes takes an opportunity, and carries 1460 bytes: 5.84 Mbit/s.
    let goodput = outcome.flows[0].goodput_bps;
    assert!((goodput / 5.84e6 - 1.0).abs() < 1e-3, "{goodput}");
    assert_eq!(outcome.links[0].utilization, 1.0, "whatever the nominal rate");
    assert!(outcome.links[0].drops_queue > 0 && outcome.links[0].backlog_max_packets <= 51);
}

#[test]
fn a_run_is_repeated_bit_by_bit_with_every_discipline() {
    for queue in ["droptail", "red", "policer", "codel", "fqcodel"] {
        let value =
            scenario(json!({ "times": [1, 1, 3, 9], "overhead": "0 bytes" }), json!({ "queue": queue }));
        let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{error}"));
        let [first, second] = [0; 2].map(|_| run(&scenario, 1, 0).fingerprint);
        assert_eq!(first, second, "{queue}");
        assert_eq!(Scenario::from_json(&scenario.to_json()), Ok(scenario), "{queue}");
    }
}

#[test]
fn what_is_not_accepted_is_named() {
    let times = "links.ab.opportunities.times";
    for wrong in [json!([]), json!([0]), json!([3, 2])] {
        let (field, accepted) = refusal(json!({ "times": wrong }), json!({}));
        assert_eq!((field.as_str(), accepted.contains("whole milliseconds, ascending")), (times, true));
    }
    assert_eq!(refusal(json!({ "times": [1.5] }), json!({})).0, format!("{times}.0"));
    assert_eq!(refusal(json!({ "size": "1 kB" }), json!({})).0, times);
    let zero = refusal(json!({ "times": [1], "size": "0 bytes" }), json!({}));
    assert_eq!(zero.0, "links.ab.opportunities.size");
    let changes =
        json!({ "changes": [{ "at": "1 s", "delay": "5 ms" }, { "at": "2 s", "rate": "1 Mbit/s" }] });
    let (field, accepted) = refusal(json!({ "times": [1] }), changes);
    assert_eq!(field, "links.ab.changes.1.rate");
    assert!(accepted.starts_with("nothing"), "{accepted}");
}
