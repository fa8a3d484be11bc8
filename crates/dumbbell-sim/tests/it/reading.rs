//! Receivers whose application reads slowly, and windows that grow.

use crate::common::{flow, outcome, two_hosts, with_flow};
use dumbbell_sim::{Outcome, Scenario};
use serde_json::{Value, json};

/// A flow on a link of 10 Mbit/s and 20 ms whose application reads like this.
fn scenario(control: &str, buffer: &str, reading: Value) -> Value {
    let tcp =
        json!({ "variant": control, "mss": "1000 bytes", "receive_buffer": buffer, "reading": reading });
    let queue = json!({ "queue": { "kind": "droptail", "limit": "200 packets" } });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "20 ms", queue), "f", tcp, json!("greedy"));
    scenario["duration"] = json!("20 s");
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["receive_window"] }]);
    scenario
}

fn windows(outcome: &Outcome) -> &[f64] {
    &outcome.recordings[0].values
}

#[test]
fn a_sender_follows_the_rate_at_which_its_receiver_reads() {
    for control in ["reno", "newreno", "sack", "cubic", "bbr"] {
        let result = outcome(&scenario(control, "64 kB", json!({ "rate": "2 Mbit/s" })));
        let found = flow(&result);
        // What was read, and what waits in the buffer.
        let expected = 20.0 * 2e6 / 8.0 + 64e3;
        let delivered = found.bytes_delivered as f64;
        assert!((delivered / expected - 1.0).abs() < 0.01, "{control}: {delivered} against {expected}");
        assert!(found.receive_window_limited > Some(10), "{control}");
        assert_eq!((found.segments_lost, found.timeouts), (0, Some(0)), "{control}");
        let largest = windows(&result).iter().copied().fold(0.0, f64::max);
        assert!(largest <= 64.0 && windows(&result).iter().any(|&window| window < 20.0), "{control}");
    }
}

#[test]
fn a_lost_window_update_is_made_up_for_by_probes() {
    // A byte per ms: the window is closed from the beginning, and an update is sent every second or less often.
    let mut slow = scenario("newreno", "10 kB", json!({ "rate": "8 kbit/s" }));
    slow["duration"] = json!("100 s");
    let smooth = flow(&outcome(&slow)).bytes_delivered;
    assert!((105_000..=110_000).contains(&smooth), "{smooth}");
    // None arrives from 10 to 15 s: the data sent before is read, and a probe finds out.
    slow["links"][4]["outages"] = json!([{ "from": "10 s", "until": "15 s" }]);
    let result = outcome(&slow);
    let found = flow(&result);
    assert!(found.bytes_delivered > 100_000, "{}", found.bytes_delivered);
}

#[test]
fn losses_are_repaired_while_the_window_moves() {
    for control in ["reno", "newreno", "sack", "bbr"] {
        let mut lossy = scenario(control, "64 kB", json!({ "rate": "2 Mbit/s" }));
        lossy["links"][1]["impairments"] = json!([{ "kind": "bernoulli", "probability": 0.01 }]);
        lossy["links"][4]["impairments"] = json!([{ "kind": "bernoulli", "probability": 0.05 }]);
        let found = outcome(&lossy);
        let goodput = flow(&found).goodput_bps;
        assert!((1.2e6..2.1e6).contains(&goodput), "{control}: {goodput}");
    }
}

#[test]
fn a_window_grows_with_what_is_read_up_to_the_buffer() {
    let growing = json!({ "autotuning": true });
    let result = outcome(&scenario("cubic", "6 MB", growing.clone()));
    let windows = windows(&result);
    // It begins with what has no scale, and holds several times the 50 segments of the path and its queue at the end.
    assert_eq!(windows[0], 65.0);
    let largest = windows.iter().copied().fold(0.0, f64::max);
    assert!((250.0..6000.0).contains(&largest), "{largest}");
    assert!(flow(&result).goodput_bps > 8e6, "{}", flow(&result).goodput_bps);
    // A small buffer bounds it.
    let bounded = outcome(&scenario("cubic", "100 kB", growing));
    let largest = bounded.recordings[0].values.iter().copied().fold(0.0, f64::max);
    assert!((90.0..=100.0).contains(&largest), "{largest}");
}

#[test]
fn a_constant_window_needs_no_telling() {
    // A buffer that is never full, and is read at once.
    let fixed = |reading: Value| {
        let mut scenario = scenario("newreno", "10 MB", reading);
        scenario["probes"] = json!([]);
        let result = outcome(&scenario);
        (flow(&result).bytes_delivered, flow(&result).segments_sent)
    };
    assert_eq!(fixed(json!({})), fixed(Value::Null));
    let read = Scenario::from_value(&scenario("newreno", "10 MB", Value::Null)).expect("a scenario");
    assert!(!read.to_json().contains("reading"));
    let error = Scenario::from_value(&scenario("newreno", "10 MB", json!({ "rate": "0 bit/s" })));
    assert_eq!(error.expect_err("no rate").field, "flows.f.tcp.reading.rate");
}
