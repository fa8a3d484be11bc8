//! The journal of a flow, checked by hand, and that keeping one changes nothing.

use crate::common::{described, transfer, two_hosts, with_flow};
use dumbbell_sim::congestion::AlgorithmSpec;
use dumbbell_sim::journal::{Entry, Journal, Kind, Request, TimerChange};
use dumbbell_sim::{Excess, Outcome, Scenario, Supervision, run, run_unless};
use dumbbell_tcp::Cause;
use dumbbell_units::Time;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const MSS: u64 = 960;
const SECOND: u64 = 1_000_000_000;

fn journaled(scenario: &Value, window: (u64, u64)) -> (Outcome, Journal) {
    let scenario = Scenario::from_value(scenario).unwrap_or_else(|error| panic!("{error}"));
    let never = AtomicBool::new(false);
    let request = Request { flow: 0, window: (Time(window.0), Time(window.1)) };
    let supervision = Supervision { journal: Some(request), ..Supervision::from(&never) };
    let mut outcome = run_unless(supervision, &scenario, 1, 0).unwrap();
    let journal = outcome.journal.take().unwrap();
    (outcome, *journal)
}

fn of_all(scenario: &Value) -> Journal {
    journaled(scenario, (0, 1000 * SECOND)).1
}

/// The segments sent again, counted from 0, with the causes.
fn causes(journal: &Journal) -> Vec<(u64, Cause)> {
    let cause = |entry: &Entry| match (&entry.kind, entry.range) {
        (Kind::Retransmission(cause), Some((seq, _))) => Some((seq / MSS, *cause)),
        _ => None,
    };
    journal.entries.iter().filter_map(cause).collect()
}

fn with_rack(lost: &[u64]) -> Value {
    let mut scenario = transfer("newreno", lost);
    scenario["flows"][0]["tcp"]["recovery"] = json!("rack");
    scenario
}

#[test]
fn each_retransmission_has_its_cause() {
    // Packets are counted from 1, segments from 0.
    assert_eq!(causes(&of_all(&transfer("reno", &[12]))), [(11, Cause::DuplicateAcks)]);
    assert_eq!(
        causes(&of_all(&transfer("newreno", &[12, 14]))),
        [(11, Cause::DuplicateAcks), (13, Cause::PartialAck)]
    );
    assert_eq!(
        causes(&of_all(&transfer("sack", &[12, 14]))),
        [(11, Cause::DuplicateAcks), (13, Cause::Sack)]
    );
    // The third duplicate ACK sends the first of three again, and the others with it: the pipe has room.
    assert_eq!(
        causes(&of_all(&transfer("sack", &[20, 21, 22]))),
        [(19, Cause::DuplicateAcks), (20, Cause::Sack), (21, Cause::Sack)]
    );
    assert_eq!(causes(&of_all(&with_rack(&[12]))), [(11, Cause::Rack)]);
    // Nothing follows the last of 40 segments: only a timer shows its loss.
    assert_eq!(causes(&of_all(&transfer("reno", &[40]))), [(39, Cause::Timeout)]);
    assert_eq!(causes(&of_all(&with_rack(&[40]))), [(39, Cause::TailProbe)]);
    // Tahoe sends everything from the lost segment on again.
    let tahoe = causes(&of_all(&transfer("tahoe", &[12])));
    assert_eq!(tahoe[0], (11, Cause::DuplicateAcks));
    assert!(tahoe.iter().all(|(_, cause)| *cause == Cause::DuplicateAcks));
}

#[test]
fn entries_name_the_connection_within_the_flow() {
    let mut scenario = transfer("reno", &[]);
    scenario["flows"][0]["source"] = json!({ "kind": "tcplib", "interarrival": "1 s" });
    scenario["duration"] = json!("20 s");
    let numbers: BTreeSet<u64> = of_all(&scenario).entries.iter().map(|entry| entry.connection).collect();
    assert!(numbers.len() > 2, "{numbers:?}");
    assert_eq!(numbers, (1..=numbers.len() as u64).collect());
}

#[test]
fn a_request_without_an_answer_is_repeated_by_the_handshake() {
    let mut scenario = transfer("reno", &[]);
    scenario["links"][1]["impairments"] = json!([{ "kind": "bernoulli", "probability": 1 }]);
    scenario["flows"][0]["tcp"]["handshake"] = json!(true);
    scenario["duration"] = json!("10 s");
    let journal = of_all(&scenario);
    let found = causes(&journal);
    assert!(!found.is_empty() && found.iter().all(|cause| *cause == (0, Cause::Handshake)), "{found:?}");
    let fired = |entry: &&Entry| entry.kind == Kind::Timer("retransmission", TimerChange::Fired);
    assert_eq!(journal.entries.iter().filter(fired).count(), found.len());
}

#[test]
fn slow_start_is_told_acknowledgement_by_acknowledgement() {
    let journal = of_all(&transfer("reno", &[]));
    let told: Vec<String> = journal
        .entries
        .iter()
        .take(6)
        .map(|entry| {
            let segments = |bytes: f64| bytes / MSS as f64;
            let range = entry.range.map(|(from, to)| (from / MSS, to / MSS));
            let window = (segments(entry.before.cwnd), segments(entry.after.cwnd));
            match &entry.kind {
                Kind::Ack(_) => format!("ack {range:?}"),
                Kind::Sent(segments) => format!("sent {segments} {range:?}"),
                Kind::Decision(occasion) => format!("{occasion} {window:?}"),
                Kind::Timer(timer, TimerChange::Armed(_)) => format!("{timer} armed"),
                other => format!("{other:?}"),
            }
        })
        .collect();
    // One segment leaves and starts the timer; its ACK opens the window to two, which leave at once.
    assert_eq!(
        told,
        [
            "sent 1 Some((0, 1))",
            "retransmission armed",
            "ack Some((0, 1))",
            "ack (1.0, 2.0)",
            "retransmission stopped",
            "sent 2 Some((1, 3))"
        ]
        .map(|line| if line == "retransmission stopped" {
            "Timer(\"retransmission\", Stopped)".to_owned()
        } else {
            line.to_owned()
        })
    );
    // 960 bytes take 8 ms at 1 Mbit/s with their headers, and 192 ms there and back.
    let first = journal.entries.iter().find(|entry| matches!(entry.kind, Kind::Ack(_))).unwrap();
    assert_eq!((first.before.rtt.0, first.after.rtt.0), (0, 1));
    assert!((first.after.rtt.1 - 0.2).abs() < 1e-4, "{}", first.after.rtt.1);
}

#[test]
fn a_journal_changes_nothing_of_any_algorithm_and_tells_its_decisions() {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "12 packets" },
        "impairments": [{ "kind": "bernoulli", "probability": 0.005 }] });
    for name in AlgorithmSpec::NAMES {
        let mut scenario =
            with_flow(two_hosts("4 Mbit/s", "20 ms", queue.clone()), "f", json!(name), json!("greedy"));
        scenario["duration"] = json!("6 s");
        let plain = run(&Scenario::from_value(&scenario).unwrap(), 1, 0);
        let (outcome, journal) = journaled(&scenario, (2 * SECOND, 4 * SECOND));
        assert_eq!(described(&outcome), described(&plain), "{name}");
        let (first, last) = (journal.entries.first().unwrap(), journal.entries.last().unwrap());
        assert!(first.at >= Time(2 * SECOND) && last.at <= Time(4 * SECOND), "{name}");
        assert!(journal.entries.is_sorted_by_key(|entry| entry.at), "{name}");
        let mut decisions = journal.entries.iter().filter(|entry| matches!(entry.kind, Kind::Decision(_)));
        assert!(decisions.next().is_some(), "{name} decides nothing");
        for entry in &journal.entries {
            assert_eq!(entry.after.quantities.len(), journal.quantities.len(), "{name}");
        }
        // What one entry leaves is what the next one finds, except that events are told in between.
        let states: Vec<&Entry> =
            journal.entries.iter().filter(|entry| matches!(entry.kind, Kind::Ack(_))).collect();
        assert!(states.windows(2).all(|pair| pair[0].after.delivered <= pair[1].before.delivered), "{name}");
    }
}

#[test]
fn another_flow_leaves_no_entries() {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "12 packets" } });
    let mut scenario = two_hosts("1 Mbit/s", "20 ms", queue);
    for (name, start) in [("late", "5 s"), ("early", "0 s")] {
        scenario = with_flow(scenario, name, json!("reno"), json!("greedy"));
        let last = scenario["flows"].as_array().unwrap().len() - 1;
        scenario["flows"][last]["start"] = json!(start);
    }
    scenario["duration"] = json!("8 s");
    let (_, journal) = journaled(&scenario, (0, 8 * SECOND));
    assert!(journal.entries.iter().all(|entry| entry.at >= Time(5 * SECOND)));
    assert!(!journal.entries.is_empty());
}

#[test]
fn a_run_tells_the_time_it_has_reached_and_ends_if_its_probes_record_too_much() {
    let queue = json!({ "queue": { "kind": "droptail", "limit": "12 packets" } });
    let mut scenario = with_flow(two_hosts("4 Mbit/s", "20 ms", queue), "f", json!("reno"), json!("greedy"));
    scenario["probes"] = json!([{ "flows": ["*"], "quantities": ["seq_sent"] }]);
    let scenario = Scenario::from_value(&scenario).unwrap();
    let (never, clock) = (AtomicBool::new(false), AtomicU64::new(0));
    let supervision = Supervision { clock: Some(&clock), ..Supervision::from(&never) };
    let whole = run_unless(supervision, &scenario, 1, 0).unwrap();
    let samples = whole.recordings[0].values.len() as u64;
    assert!((50 * SECOND..60 * SECOND).contains(&clock.load(Ordering::Relaxed)));
    // The limit itself is allowed.
    for (max_samples, is_allowed) in [(samples, true), (samples - 1, false), (1000, false)] {
        let limited = run_unless(Supervision { max_samples, ..supervision }, &scenario, 1, 0).unwrap();
        assert_eq!(limited.overflow.is_none(), is_allowed, "{max_samples}");
        if is_allowed {
            assert_eq!(described(&limited), described(&whole));
        }
    }
    let limited = run_unless(Supervision { max_samples: 1000, ..supervision }, &scenario, 1, 0).unwrap();
    let overflow = limited.overflow.unwrap();
    assert_eq!(overflow.of, Excess::Samples);
    assert!(overflow.count > 1000 && overflow.count < 3000 && overflow.at < Time(10 * SECOND));
}
