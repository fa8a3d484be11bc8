//! Sources of datagrams over TCP: rates of applications, backlogs, and messages that arrive late.

use crate::common::{flow, outcome, two_hosts, with_flow};
use dumbbell_sim::{Outcome, Scenario};
use serde_json::{Value, json};

/// A link of 10 Mbit/s and 50 ms for a flow over TCP with a source of datagrams.
fn scenario(source: Value, messages: Value) -> Value {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "1000 packets" } });
    let tcp = json!({ "variant": "newreno", "mss": "1000 bytes", "handshake": false, "nagle": false });
    let mut scenario = with_flow(two_hosts("10 Mbit/s", "50 ms", queue), "f", tcp, source);
    scenario["flows"][0]["messages"] = messages;
    scenario["duration"] = json!("20 s");
    scenario
}

fn messages(outcome: &Outcome) -> (u64, Option<u64>, Option<u64>) {
    let found = flow(outcome).messages.expect("messages");
    (found.written, found.late, found.skipped)
}

fn refused(scenario: &Value) -> (String, String) {
    let error = Scenario::from_value(scenario).expect_err("a scenario that is refused");
    (error.field, error.accepted)
}

#[test]
fn tcp_carries_the_rate_of_its_application() {
    for kind in ["cbr", "poisson", "onoff"] {
        let source = json!({ "kind": kind, "rate": "2 Mbit/s" });
        let over_tcp = outcome(&scenario(source.clone(), Value::Null));
        let mut as_datagrams = scenario(source, Value::Null);
        as_datagrams["flows"][0]["tcp"] = Value::Null;
        let expected = outcome(&as_datagrams);
        // The same times: what was not delivered by the end is what the path holds.
        let written = flow(&expected).segments_sent;
        assert_eq!((messages(&over_tcp), flow(&over_tcp).connections), ((written, None, None), 1));
        let missing = written * 1000 - flow(&over_tcp).bytes_delivered;
        assert!(missing <= 150_000, "{kind}: {missing} bytes are missing");
    }
}

#[test]
fn an_application_that_offers_more_than_the_link_carries_catches_up_or_skips() {
    let source = json!({ "kind": "cbr", "rate": "12 Mbit/s" });
    let all = outcome(&scenario(source.clone(), json!({ "deadline": "1 s" })));
    let limited = outcome(&scenario(source, json!({ "deadline": "1 s", "backlog": "200 kB" })));
    // 20 s at 12 Mbit/s are 30,001 messages. Without a limit, later ones wait longer and longer.
    let (written, late, skipped) = messages(&all);
    assert!((written, skipped) == (30_001, None) && late > Some(15_000), "{late:?}");
    // 200 kB at 9.6 Mbit/s of payload are 167 ms, so that nothing is late once the window is open.
    let (written, late, skipped) = messages(&limited);
    let skipped = skipped.expect("a limit");
    assert_eq!(written + skipped, 30_001);
    assert!(late < Some(100) && skipped > 5_000, "{late:?} late, {skipped} skipped");
    assert!(flow(&limited).goodput_bps > 9e6, "{}", flow(&limited).goodput_bps);
}

#[test]
fn frames_are_late_where_the_link_lacks_the_rate() {
    // A frame of 50 kB every 100 ms. From 5 to 7 s, the link carries but 1 Mbit/s.
    let source = json!({ "kind": "frames", "sizes": ["50 kB"], "frame_rate": 10, "packet": "1000 bytes" });
    let mut steady = scenario(source, json!({ "deadline": "200 ms" }));
    let (written, late, _) = messages(&outcome(&steady));
    // Slow start lets the first frames be late, no others.
    assert!(written == 201 && late <= Some(10), "{late:?}");
    steady["measure_from"] = json!("4 s");
    assert_eq!(messages(&outcome(&steady)), (161, Some(0), None));
    steady["links"][0]["changes"] =
        json!([{ "at": "5 s", "rate": "1 Mbit/s" }, { "at": "7 s", "rate": "10 Mbit/s" }]);
    let late = messages(&outcome(&steady)).1.expect("a deadline");
    assert!((20..80).contains(&late), "{late}");
}

#[test]
fn a_stop_ends_the_connection_and_a_restart_opens_another() {
    let mut scenario = scenario(json!({ "kind": "cbr", "rate": "1 Mbit/s" }), json!({ "deadline": "1 s" }));
    scenario["flows"][0]["stop"] = json!("5 s");
    scenario["flows"][0]["restarts"] = json!([{ "start": "10 s", "stop": "15 s" }]);
    let result = outcome(&scenario);
    // 125 messages a second for 10 s; those on the way at the first stop arrive long before the restart.
    assert_eq!((messages(&result), flow(&result).connections), ((1250, Some(0), None), 2));
    assert_eq!(flow(&result).bytes_delivered, 1_250_000);
}

#[test]
fn messages_are_stated_only_where_some_are_written() {
    let cbr = || json!({ "kind": "cbr" });
    let limits = || json!({ "deadline": "1 s" });
    assert_eq!(refused(&scenario(json!("greedy"), limits())).0, "flows.f.messages");
    let mut datagrams = scenario(cbr(), limits());
    datagrams["flows"][0]["tcp"] = Value::Null;
    let (field, accepted) = refused(&datagrams);
    assert!(field == "flows.f.messages" && accepted.contains("over TCP"), "{accepted}");
    for (member, value, accepted) in
        [("deadline", "0 s", "a time above 0"), ("backlog", "0 bytes", "a size above 0")]
    {
        let found = refused(&scenario(cbr(), json!({ member: value })));
        assert_eq!(found, (format!("flows.f.messages.{member}"), accepted.to_owned()));
    }
    assert_eq!(refused(&scenario(json!("media"), Value::Null)).0, "flows.f.tcp");
}

#[test]
fn the_canonical_form_of_a_flow_without_limits_does_not_name_them() {
    let canonical = |messages: Value| {
        let read = Scenario::from_value(&scenario(json!("cbr"), messages)).expect("a scenario");
        assert_eq!(Scenario::from_json(&read.to_json()).as_ref(), Ok(&read));
        read.to_json()
    };
    assert!(!canonical(Value::Null).contains("messages"));
    assert!(canonical(json!({ "deadline": "1 s" })).contains("\"messages\":{\"deadline\":\"1 s\""));
}
