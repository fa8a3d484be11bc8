//! Faults found by fuzzing the sender, each as the shortest sequence that shows it.

use crate::common;
use dumbbell_tcp::{AckSegment, Sender};
use dumbbell_units::Time;
use serde_json::json;

fn ack(ack: u64) -> AckSegment {
    AckSegment::of(ack)
}

fn poll_all(sender: &mut Sender, now: Time) -> usize {
    std::iter::from_fn(|| sender.poll_transmit(now)).take(1000).count()
}

#[test]
fn a_paced_sender_with_a_full_window_waits_for_its_acknowledgement() {
    let mut sender =
        common::sender(&json!({ "variant": "vegas", "mechanisms": "J", "receive_buffer": "2 segments" }));
    sender.write(u64::MAX);
    assert_eq!(poll_all(&mut sender, Time(0)), 2);
    // The second acknowledgement ends the first measured round, and pacing begins.
    for (at, acked) in [(100_000_000, 1), (200_000_000, 2), (300_000_000, 3), (300_000_001, 4)] {
        sender.on_ack(Time(at), &ack(acked * 1460), Time::ZERO);
        poll_all(&mut sender, Time(at));
    }
    let mut spaced = Vec::new();
    for _ in 0..4 {
        let now = sender.next_deadline();
        spaced.push(now);
        sender.on_deadline(now);
        poll_all(&mut sender, now);
        assert!(sender.next_deadline() > now, "asked for {now} again");
    }
    assert!(spaced.is_sorted());
}

#[test]
fn the_inflation_by_many_duplicate_acks_does_not_overflow() {
    let mut sender = common::sender(&json!({ "variant": "vegas", "mechanisms": "CF", "mss": "65495 bytes" }));
    sender.write(u64::MAX);
    poll_all(&mut sender, Time(0));
    sender.on_ack(Time(1_000_000), &ack(65_495), Time::ZERO);
    poll_all(&mut sender, Time(1_000_000));
    // More than 2^32 bytes; the last one comes after the fine timeout and starts a retransmission.
    for number in 0..66_000 {
        sender.on_ack(Time(1_000_001 + number / 65_999 * 1_000_000_000), &ack(65_495), Time::ZERO);
    }
    assert!(sender.cwnd() > 66_000.0 * 65_495.0);
}

#[test]
fn permanent_reductions_by_partial_acks_apply_once() {
    let rules = json!({ "recovery": { "kind": "newreno", "deflation": "lasting" }, "initial_window": "100 segments" });
    let mut sender = common::sender(&rules);
    let mss = f64::from(sender.mss());
    let segments = |count: u64| ack(count * mss as u64);
    sender.write(u64::MAX);
    assert!(poll_all(&mut sender, Time(0)) >= 100);
    (0..4).for_each(|_| sender.on_ack(Time(1000), &segments(0), Time::ZERO));
    poll_all(&mut sender, Time(1000));
    // A partial acknowledgement of 90 segments reduces the window to one; the one that ends the recovery does not
    // reduce it again.
    for count in [90, 100] {
        sender.on_ack(Time(2000), &segments(count), Time::ZERO);
        poll_all(&mut sender, Time(2000));
        assert!(sender.congestion().cwnd() >= mss && sender.cwnd() >= mss, "{} {}", sender.cwnd(), mss);
    }
}
