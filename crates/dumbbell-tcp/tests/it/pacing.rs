//! Pacing of a window whose congestion control does not pace.

use crate::common::{self, MS, MSS};
use dumbbell_tcp::AckSegment;
use dumbbell_units::{Time, Value};
use serde_json::json;

/// The times in milliseconds at which the segments of the second round trip are sent, with a window of ten in the first,
/// which takes 100 ms, and this threshold.
fn second_round(pacing: Value, ssthresh: &str) -> Vec<f64> {
    let rules = json!({
        "mss": "1000 bytes", "initial_window": "10 segments", "initial_ssthresh": ssthresh, "pacing": pacing,
    });
    let mut sender = common::sender(&rules);
    sender.write(u64::MAX);
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).count(), 10);
    sender.on_ack(Time(100 * MS), &AckSegment::of(10 * MSS), Time::ZERO);
    let (mut now, mut times) = (Time(100 * MS), Vec::new());
    while now < Time(200 * MS) {
        while sender.poll_transmit(now).is_some() {
            times.push(now.0 as f64 / MS as f64);
        }
        now = sender.next_release();
    }
    times
}

#[test]
fn a_window_is_spaced_over_its_round_trip_time() {
    // Above half of the threshold: 11 segments, 1.2 windows per 100 ms, so one every 100 / (1.2 * 11) = 7.5757 ms. The ACK
    // adds a segment in slow start. The first leaves late, so a half of its space is forgiven.
    let times = second_round(json!({}), "20 segments");
    let space = 100.0 / 1.2 / 11.0;
    assert_eq!(times.len(), 11);
    for (n, at) in times.iter().enumerate() {
        let expected = if n == 0 { 100.0 } else { 100.0 + space * (n as f64 - 0.5) };
        assert!((at - expected).abs() < 0.001, "{n}: {at}, not {expected}");
    }
    // Below half of it: 2 windows per round-trip time.
    let fast = second_round(json!({ "forgives": false }), "unlimited");
    assert!((fast[10] - 100.0 - 10.0 * 100.0 / 2.0 / 11.0).abs() < 0.001, "{fast:?}");
    // Three leave together, and the next three after their space.
    let bursts = second_round(json!({ "quantum": 3, "forgives": false }), "20 segments");
    for (n, at) in bursts.iter().enumerate() {
        let expected = 100.0 + 3.0 * space * (n / 3) as f64;
        assert!((at - expected).abs() < 0.001, "{n}: {at}, not {expected}");
    }
}

#[test]
fn the_first_segments_are_not_paced_and_pacing_is_off_by_default() {
    assert_eq!(second_round(json!("off"), "20 segments"), [100.0; 11]);
    assert_eq!(second_round(json!({ "unpaced": 11 }), "20 segments"), [100.0; 11]);
}
