//! The trace of a connection's events, written out row by row.

use crate::common::{described, flow, outcome, transfer};
use dumbbell_sim::trace::FlowEvent;
use dumbbell_sim::{Outcome, Scenario};
use serde_json::{Value, json};

const MSS: u64 = 960;

fn probed(mut scenario: Value) -> Value {
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["tcp_events"] }]);
    scenario
}

fn events(outcome: &Outcome) -> &[FlowEvent] {
    &outcome.recordings[0].events
}

/// Time in milliseconds, connection and kind; in segments, the one concerned, `snd_una` and `snd_max`; the window
/// before and after in hundredths of a segment.
type Row = (i64, u64, &'static str, Option<u64>, Option<(u64, u64, i64, i64)>);

fn rows(outcome: &Outcome) -> Vec<Row> {
    let segments = |bytes: u64| bytes / MSS;
    let hundredths = |bytes: f64| (bytes / MSS as f64 * 100.0).round() as i64;
    let row = |event: &FlowEvent| {
        let sender = event.sender.map(|sender| {
            let (before, after) = (hundredths(sender.cwnd_before), hundredths(sender.cwnd));
            (segments(sender.snd_una), segments(sender.snd_max), before, after)
        });
        let milliseconds = (event.at.secs() * 1e3).floor() as i64;
        let connection = event.connection.unwrap_or_default();
        (milliseconds, connection, event.kind.name(), event.seq.map(segments), sender)
    };
    events(outcome).iter().map(row).collect()
}

// A segment takes 8 ms at the bottleneck, and the round trip 200 ms and a few microseconds. Segments are counted from
// 0, packets from 1.

#[test]
fn one_loss_is_repaired_by_a_fast_recovery() {
    let outcome = outcome(&probed(transfer("reno", &[12])));
    assert_eq!(
        rows(&outcome),
        [
            // The acknowledgement of segment 2, the last of the second round trip: the threshold is four segments.
            (408, 1, "slow_start_exit", None, Some((3, 5, 300, 400))),
            // The window passes five segments after five acknowledgements, at 800 ms, and two segments leave.
            (800, 1, "loss", Some(11), None),
            // Segments 12, 13 and 14 cause duplicate ACKs; the window has grown from 4 by five times its inverse, and
            // then three times more.
            (1024, 1, "fast_retransmit", None, Some((11, 16, 569, 250))),
            (1024, 1, "recovery_enter", None, Some((11, 16, 250, 250))),
            // Segment 15 causes the fourth duplicate ACK, which inflates the window to six and a half segments.
            (1032, 1, "new_data", Some(16), Some((11, 17, 250, 250))),
            // The retransmission is acknowledged.
            (1224, 1, "recovery_exit", None, Some((11, 17, 250, 250))),
        ]
    );
    // Of the first eleven segments, seven queue behind no other, three behind one, and one behind two.
    let mean = events(&outcome)[2].sender.and_then(|sender| sender.rtt_mean).unwrap_or_default();
    assert!((mean - (0.2 + 0.008 * 5.0 / 11.0)).abs() < 1e-5, "{mean}");
}

#[test]
fn a_lost_window_is_repaired_by_a_timeout() {
    let lost: Vec<u64> = (20..26).collect();
    let outcome = outcome(&probed(transfer("reno", &lost)));
    assert_eq!(
        rows(&outcome),
        [
            (408, 1, "slow_start_exit", None, Some((3, 5, 300, 400))),
            (1016, 1, "loss", Some(19), None),
            (1024, 1, "loss", Some(20), None),
            (1032, 1, "loss", Some(21), None),
            (1200, 1, "loss", Some(22), None),
            (1208, 1, "loss", Some(23), None),
            (1216, 1, "loss", Some(24), None),
            // The minimum timeout of one second after the last acknowledgement. Half of the six segments in flight is
            // the threshold.
            (2216, 1, "timeout", None, Some((19, 25, 697, 100))),
            // Two round trips later the window has grown from one segment to three.
            (2616, 1, "slow_start_exit", None, Some((21, 25, 200, 300))),
        ]
    );
}

#[test]
fn a_connection_whose_syn_is_never_answered_is_given_up() {
    let mut scenario = probed(transfer("reno", &[]));
    scenario["links"][1]["impairments"] = json!([{ "kind": "bernoulli", "probability": 1 }]);
    scenario["flows"][0]["tcp"]["handshake"] = json!(true);
    scenario["duration"] = json!("2000 s");
    let outcome = outcome(&scenario);
    let kinds: Vec<&str> = events(&outcome).iter().map(|event| event.kind.name()).collect();
    assert_eq!((kinds.len() as u64, flow(&outcome).timeouts), (14, Some(13)));
    assert!(kinds[..13].iter().all(|&kind| kind == "timeout"), "{kinds:?}");
    assert_eq!(kinds[13], "give_up");
    // A SYN carries no data.
    assert!(events(&outcome).iter().all(|event| event.sender.is_some_and(|sender| sender.snd_max == 0)));
}

#[test]
fn a_pause_restarts_the_connection() {
    let mut scenario = probed(transfer("reno", &[]));
    scenario["flows"][0]["tcp"]["idle_restart"] = json!(true);
    scenario["flows"][0]["source"] = json!({ "kind": "tcplib", "interarrival": "1 s" });
    let outcome = outcome(&scenario);
    let restarts: Vec<&FlowEvent> =
        events(&outcome).iter().filter(|event| event.kind.name() == "idle_restart").collect();
    assert!(!restarts.is_empty());
    assert!(restarts.iter().all(|event| event.sender.is_some_and(|sender| {
        sender.cwnd <= sender.cwnd_before && sender.cwnd <= MSS as f64 && sender.snd_una == sender.snd_max
    })));
    // Connections are distinguished.
    assert!(restarts.iter().any(|event| event.connection > Some(1)));
}

#[test]
fn a_mark_reduces_the_window_without_a_loss() {
    let mut scenario = probed(transfer("reno", &[]));
    scenario["links"][1]["queue"] = json!({
        "kind": "red", "limit": "50 packets", "minimum": "2 packets", "maximum": "6 packets", "ecn": true
    });
    scenario["flows"][0]["tcp"]["ecn"] = json!("classic");
    scenario["flows"][0]["tcp"]["receive_buffer"] = json!("64 segments");
    scenario["flows"][0]["source"] = json!("greedy");
    let outcome = outcome(&scenario);
    let cuts: Vec<&FlowEvent> =
        events(&outcome).iter().filter(|event| event.kind.name() == "ecn_reduction").collect();
    assert!(!cuts.is_empty());
    assert!(cuts.iter().all(|event| event.sender.is_some_and(|sender| sender.cwnd < sender.cwnd_before)));
}

#[test]
fn an_event_probe_changes_no_result_and_agrees_with_the_counters() {
    for recovery in ["tahoe", "reno", "newreno", "sack", "vegas"] {
        for lost in [vec![], vec![12], vec![12, 14, 15], (12..30).collect()] {
            let scenario = transfer(recovery, &lost);
            let (plain, traced) = (outcome(&scenario), outcome(&probed(scenario)));
            assert_eq!(described(&plain), described(&traced), "{recovery} {lost:?}");
            let count =
                |kind: &str| events(&traced).iter().filter(|event| event.kind.name() == kind).count() as u64;
            let counted = [
                flow(&plain).segments_lost,
                flow(&plain).timeouts.unwrap_or_default(),
                flow(&plain).fast_retransmits.unwrap_or_default(),
            ];
            assert_eq!(["loss", "timeout", "fast_retransmit"].map(count), counted, "{recovery} {lost:?}");
        }
    }
}

#[test]
fn event_probes_require_tcp_flows_and_no_period() {
    let refused = |probe: Value| {
        let mut scenario = transfer("reno", &[]);
        if let Value::Array(flows) = &mut scenario["flows"] {
            flows.push(json!({ "name": "x", "from": "h1", "to": "h2", "source": "cbr" }));
        }
        scenario["probes"] = json!([probe]);
        Scenario::from_value(&scenario).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(refused(json!({ "flows": ["*"], "quantities": ["tcp_events"] })), Ok(()));
    assert_eq!(
        refused(json!({ "flows": ["x"], "quantities": ["tcp_events"] })).unwrap_err(),
        "probes.0.quantities: \"tcp_events\" is not accepted; expected a flow over TCP, which \"x\" is not"
    );
    assert_eq!(
        refused(json!({ "flows": ["f"], "quantities": ["tcp_events"], "period": "1 s" })).unwrap_err(),
        "probes.0.period: 1 s is not accepted; expected no period: tcp_events are recorded as they happen"
    );
}
