//! A window of any size may open at one instant: the run can still be stopped, and its memory has a limit.

use crate::common::{outcome, trace, two_hosts, with_flow};
use dumbbell_sim::capture::{Sighting, Tap, Watch};
use dumbbell_sim::{Excess, Scenario, Supervision, run, run_unless};
use dumbbell_units::Time;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// Segments of one byte that are all sent at time 0.
fn segments(number: u64) -> Value {
    let tcp = json!({
        "mss": "1 bytes", "initial_window": format!("{number} bytes"), "receive_buffer": "unlimited",
    });
    let mut scenario = with_flow(two_hosts("1 Mbit/s", "1 s", json!({})), "f", tcp, json!("greedy"));
    scenario["duration"] = json!("1 ms");
    scenario
}

#[test]
fn a_window_that_needs_several_events_is_sent_at_one_instant() {
    for number in [99_999, 100_000, 100_001, 250_000] {
        let mut scenario = segments(number);
        scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["seq_sent"] }]);
        let sent = trace(&outcome(&scenario), "seq_sent");
        assert_eq!(sent.len() as u64, number);
        assert!(sent.iter().all(|&(at, _)| at == 0.0), "{number}");
        assert!(sent.windows(2).all(|pair| pair[0].1 + 1.0 == pair[1].1), "{number}");
    }
}

#[test]
fn a_tap_changes_no_event_of_a_burst() {
    struct Everything;

    impl Tap for Everything {
        fn watch(&self) -> Watch {
            Watch { nodes: (0..4).collect(), senders: true }
        }

        fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
            sightings.for_each(drop);
        }
    }

    let never = AtomicBool::new(false);
    let scenario = Scenario::from_value(&segments(250_000)).unwrap();
    let plain = run(&scenario, 1, 0);
    let supervision = Supervision { tap: Some(&Everything), ..Supervision::from(&never) };
    let tapped = run_unless(supervision, &scenario, 1, 0).unwrap();
    assert_eq!((tapped.events, tapped.fingerprint), (plain.events, plain.fingerprint));
}

#[test]
fn a_run_ends_if_more_packets_are_in_flight_than_allowed() {
    let never = AtomicBool::new(false);
    let scenario = Scenario::from_value(&segments(10_000_000)).unwrap();
    let supervision = Supervision { max_in_flight: 200_000, ..Supervision::from(&never) };
    let overflow = run_unless(supervision, &scenario, 1, 0).unwrap().overflow.unwrap();
    assert_eq!((overflow.of, overflow.limit, overflow.at), (Excess::Packets, 200_000, Time::ZERO));
    assert!(overflow.count > 200_000 && overflow.count <= 300_000, "{}", overflow.count);
}

#[test]
fn packets_that_are_allowed_may_be_in_flight() {
    let never = AtomicBool::new(false);
    let scenario = with_flow(two_hosts("1 Mbit/s", "1 ms", json!({})), "f", json!("reno"), json!("greedy"));
    let scenario = Scenario::from_value(&scenario).unwrap();
    let ends = |max_in_flight| {
        let supervision = Supervision { max_in_flight, ..Supervision::from(&never) };
        run_unless(supervision, &scenario, 1, 0).unwrap().overflow.is_some()
    };
    let queue = run(&scenario, 1, 0).links[1].backlog_max_packets;
    assert!(queue > 50 && ends(queue / 2) && !ends(2 * queue), "{queue}");
}
