//! The reduction of the window by a timeout.

use crate::common;
use dumbbell_tcp::{AckSegment, Sender};
use dumbbell_units::Time;
use serde_json::json;

/// The bytes sent before the retransmission of a loss among thirty segments that arrived was lost as well, and the
/// thresholds after this timeout and another one.
fn after_timeouts(variant: &str, reduction_base: &str) -> (u64, f64, f64) {
    let tcp = json!({
        "variant": variant, "mss": "1000 bytes", "initial_window": "20 segments", "receive_buffer": "100 segments",
        "window": { "reduction_base": reduction_base },
    });
    let mut sender = common::sender(&tcp);
    sender.write(u64::MAX);
    let poll_all = |sender: &mut Sender, now: Time| while sender.poll_transmit(now).is_some() {};
    poll_all(&mut sender, Time::ZERO);
    // The first segment and its retransmission are lost; the thirty segments after it arrive one by one.
    for arrived in 1..=30_u32 {
        let now = Time(u64::from(arrived) * 10_000_000);
        let mut ack = AckSegment::of(0);
        if variant == "sack" {
            ack.sack.push(1000, arrived * 1000);
        }
        sender.on_ack(now, &ack, Time::ZERO);
        poll_all(&mut sender, now);
    }
    let sent = sender.snd_max();
    let mut expire = || {
        let now = sender.next_deadline();
        sender.on_deadline(now);
        poll_all(&mut sender, now);
        sender.congestion().ssthresh()
    };
    (sent, expire(), expire())
}

#[test]
fn a_timeout_halves_the_unreported_bytes() {
    // The recovery began with twenty segments in flight and keeps ten in the network: the retransmission and nine new
    // segments. The threshold is half of these ten, not of forty. The timeout clears the reports, but the second one keeps
    // the threshold.
    assert_eq!(after_timeouts("sack", "flight"), (40_000, 5_000.0, 5_000.0));
}

#[test]
fn a_timeout_halves_at_most_the_window_and_a_repeated_one_keeps_the_threshold() {
    // Fast retransmit leaves ten of twenty segments. Thirty duplicates inflate the window to forty, all of which are in
    // flight without reports: half of ten, not of forty. BSD halves the inflated window, and then that of one segment.
    assert_eq!(after_timeouts("newreno", "flight"), (40_000, 5_000.0, 5_000.0));
    assert_eq!(after_timeouts("reno", "flight"), (40_000, 5_000.0, 5_000.0));
    assert_eq!(after_timeouts("newreno", "whole-window"), (40_000, 20_000.0, 2_000.0));
}

#[test]
fn a_timeout_halves_the_bytes_in_the_pipe() {
    // Of 22 segments, two of them by limited transmit, three were reported and one lost: half of 18. At the second
    // timeout, only the one retransmitted segment is in the network.
    assert_eq!(after_timeouts("sack", "pipe"), (39_000, 4_500.0, 2_000.0));
}
