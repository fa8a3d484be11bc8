//! Relations with exceptions notice what is excepted: with one of these rules, their runs differ; without it, they agree.

use dumbbell_chaos::checks::exceptions::Note;
use dumbbell_chaos::checks::{named, try_checks};
use dumbbell_chaos::runner::Runner;
use dumbbell_chaos::violation;
use dumbbell_sim::Scenario;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A flow over a link with more members.
fn scenario(link: Value, flow: Value) -> Scenario {
    let with = |mut value: Value, more: Value| {
        if let (Value::Object(members), Value::Object(more)) = (&mut value, more) {
            members.extend(more);
        }
        value
    };
    let plain = |from: &str, to: &str| json!({ "name": from, "from": from, "to": to, "rate": "1 Mbit/s", "delay": "20 ms" });
    let value = json!({
        "duration": "10 s", "rules": "classic", "nodes": ["a", "b"], "links": [with(plain("a", "b"), link), plain("b", "a")],
        "flows": [with(json!({ "name": "f", "from": "a", "to": "b" }), flow)],
    });
    Scenario::from_value(&value).expect("a valid scenario")
}

/// The exceptions that a check has met, each with whether it was needed. The check holds.
fn exceptions(check: &str, scenario: &Scenario) -> Vec<(String, bool)> {
    exceptions_in(check, scenario, (1, 0))
}

/// The same in the run of a seed.
fn exceptions_in(check: &str, scenario: &Scenario, seed_and_run: (u64, u64)) -> Vec<(String, bool)> {
    let runner = Runner::new(Duration::from_secs(20), None);
    let check = named(check).expect("a check");
    let tried = try_checks(scenario, seed_and_run, &runner, std::iter::once(check)).pop().expect("a result");
    assert_eq!(tried.verdict, Ok(()), "{}: {:?}", check.name, tried.notes);
    tried.notes.into_iter().map(|Note { name, is_needed, .. }| (name, is_needed)).collect()
}

#[test]
fn relations_hold_where_nothing_is_excepted() {
    let plain =
        scenario(json!({ "queue": { "kind": "droptail", "limit": "10 packets" } }), json!({ "tcp": "reno" }));
    for check in ["shift", "size-scale", "time-scale", "silent-flow", "declaration-order"] {
        let limits = exceptions(check, &plain);
        assert!(limits.iter().all(|(name, _)| name.starts_with("compared up to")), "{check}: {limits:?}");
    }
}

#[test]
fn a_rule_that_counts_from_the_beginning_of_a_run_breaks_the_shift() {
    let lossy =
        json!({ "impairments": [{ "kind": "twostate", "good": "70 ms", "bad": "30 ms", "loss": 0.5 }] });
    let needed = exceptions("shift", &scenario(lossy, json!({ "tcp": "reno" })));
    assert_eq!(needed, [("two-state losses begin with the run".to_owned(), true)]);
}

#[test]
fn a_size_that_is_not_scaled_breaks_the_scaling_of_sizes() {
    let queued = scenario(json!({}), json!({ "tcp": { "variant": "reno", "aqt": true } }));
    let needed = exceptions("size-scale", &queued);
    assert_eq!(needed, [("the option of queueing times has 8 bytes".to_owned(), true)]);
}

#[test]
fn a_time_that_is_not_scaled_breaks_the_scaling_of_times() {
    // The round-trip time is 3 s, so that the probe is sent before there is a sample.
    let tcp = json!({ "recovery": "rack", "timer": { "initial": "10 s" } });
    let needed = exceptions("time-scale", &scenario(json!({ "delay": "2980 ms" }), json!({ "tcp": tcp })));
    assert!(needed.contains(&("rack probes after 1 s without a sample".to_owned(), true)), "{needed:?}");
}

#[test]
fn rounding_that_no_packet_shows_breaks_the_scaling_of_times() {
    for (case, name) in [
        ("rounded-drops.toml", "codel and cobalt round times between drops"),
        ("rounded-jitter.toml", "jitter of a table is rounded"),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(case);
        let text = std::fs::read_to_string(file).expect("the file can be read");
        let (value, seed_and_run) = violation::read(&text).expect("the scenario is valid");
        let scenario = Scenario::from_value(&value).expect("the scenario is valid");
        let needed = exceptions_in("time-scale", &scenario, seed_and_run);
        assert_eq!(needed, [(name.to_owned(), true)]);
    }
}
