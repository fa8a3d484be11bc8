//! Which acknowledgements give a round-trip time sample.

use crate::common;
use dumbbell_tcp::{AckSegment, Sender};
use dumbbell_units::Time;
use serde_json::json;

fn ms(milliseconds: u64) -> Time {
    Time(milliseconds * 1_000_000)
}

/// A sender with ten segments sent, of which the first is acknowledged after 100 ms.
fn sender() -> Sender {
    let tcp = json!({ "variant": "sack", "mss": "1000 bytes", "initial_window": "10 segments" });
    let mut sender = common::sender(&tcp);
    sender.write(10_000);
    poll_all(&mut sender, Time::ZERO);
    assert_eq!(samples_after(&mut sender, ms(100), 1000, 0), 1);
    sender
}

fn poll_all(sender: &mut Sender, now: Time) {
    while sender.poll_transmit(now).is_some() {}
}

/// The number of samples after an acknowledgement that reports `reported` bytes above a hole of one segment.
fn samples_after(sender: &mut Sender, now: Time, ack: u64, reported: u32) -> u64 {
    let mut segment = AckSegment::of(ack);
    if reported > 0 {
        segment.sack.push(1000, reported);
    }
    sender.on_ack(now, &segment, Time::ZERO);
    poll_all(sender, now);
    sender.stats().rtt_count
}

/// Four segments after a lost one are reported.
fn lose_one(sender: &mut Sender) {
    for count in 1..=4 {
        assert_eq!(samples_after(sender, ms(100 + u64::from(count)), 1000, count * 1000), 1);
    }
}

#[test]
fn the_smoothed_round_trip_time_begins_with_the_first_sample() {
    let tcp = json!({ "variant": "sack", "mss": "1000 bytes", "receive_buffer": "30 segments" });
    let new = common::sender(&tcp);
    assert_eq!((new.srtt(), new.max_window()), (None, 30_000.0));
    assert_eq!(sender().srtt(), Some(0.1));
}

#[test]
fn reported_segments_give_no_sample_when_the_hole_below_is_filled() {
    let mut sender = sender();
    lose_one(&mut sender);
    assert_eq!(samples_after(&mut sender, ms(205), 6000, 0), 1);
    // The next segment was sent once and was not reported.
    assert_eq!(samples_after(&mut sender, ms(206), 7000, 0), 2);
}

#[test]
fn reported_segments_give_no_sample_after_a_timeout_that_clears_the_reports() {
    let mut sender = sender();
    lose_one(&mut sender);
    // The retransmission is lost as well.
    let now = sender.next_deadline();
    sender.on_deadline(now);
    poll_all(&mut sender, now);
    assert_eq!(samples_after(&mut sender, now + ms(100), 6000, 0), 1);
}
