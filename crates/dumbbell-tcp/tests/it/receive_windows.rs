//! Receive windows that the receiver tells: closed ones, probes, and what opens them.

use crate::common::{self, MS, MSS};
use dumbbell_tcp::{AckSegment, Sender};
use dumbbell_units::Time;
use serde_json::json;

/// A sender with unlimited data and a window of four segments, and a timer of 200 ms.
fn sender() -> Sender {
    let rules = json!({
        "mss": "1000 bytes", "initial_window": "10 segments", "receive_buffer": "4 segments",
        "reading": { "rate": "1 Mbit/s" }, "timer": { "kind": "rfc6298", "minimum": "200 ms", "granularity": "1 ms" },
    });
    let mut sender = common::sender(&rules);
    sender.write(u64::MAX);
    sender
}

/// The segments that a sender has now: their first bytes and lengths.
fn sent(sender: &mut Sender, now: Time) -> Vec<(u64, u32)> {
    common::poll(sender, now).iter().map(|segment| (segment.seq, segment.len)).collect()
}

fn acknowledge(sender: &mut Sender, ms: u64, ack: u64, edge: u64) -> Vec<(u64, u32)> {
    sender.on_ack_with_window(Time(ms * MS), &AckSegment::of(ack), Time::ZERO, edge);
    sent(sender, Time(ms * MS))
}

#[test]
fn a_closed_window_is_probed_after_longer_and_longer_pauses_until_it_opens() {
    let mut sender = sender();
    assert_eq!(sent(&mut sender, Time::ZERO).len(), 4);
    assert_eq!(acknowledge(&mut sender, 10, 4 * MSS, 4 * MSS), []);
    let mut now = Time(10 * MS);
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let due = sender.next_deadline();
        pauses.push(due.since(now).0 / MS);
        now = due;
        sender.on_deadline(now);
        // A probe has no data, and its last byte is acknowledged.
        assert_eq!(sent(&mut sender, now), [(4 * MSS - 1, 0)]);
        let answer = AckSegment::of(4 * MSS);
        sender.on_ack_with_window(now + Time(10 * MS), &answer, Time::ZERO, 4 * MSS);
        assert_eq!(sent(&mut sender, now + Time(10 * MS)), []);
    }
    assert_eq!(pauses, [200, 400, 800, 1600]);
    assert_eq!((sender.stats().timeouts, sender.stats().segments_sent), (0, 8));
    // The window opens by two segments; the next pause would be short again.
    let at = now.0 / MS + 100;
    assert_eq!(acknowledge(&mut sender, at, 4 * MSS, 6 * MSS), [(4 * MSS, 1000), (5 * MSS, 1000)]);
    assert_eq!(acknowledge(&mut sender, at + 10, 6 * MSS, 6 * MSS), []);
    assert_eq!(sender.next_deadline().since(Time((at + 10) * MS)).0 / MS, 200);
}

#[test]
fn a_part_of_a_segment_is_sent_when_the_probe_is_due() {
    let mut sender = sender();
    sent(&mut sender, Time::ZERO);
    assert_eq!(acknowledge(&mut sender, 10, 4 * MSS, 4 * MSS + 300), []);
    let due = sender.next_deadline();
    sender.on_deadline(due);
    assert_eq!(sent(&mut sender, due), [(4 * MSS, 300)]);
}

#[test]
fn an_acknowledgement_that_moves_the_window_is_no_duplicate() {
    let repairs = |edges: [u64; 3]| {
        let mut sender = sender();
        sent(&mut sender, Time::ZERO);
        for (n, edge) in (0..).zip(edges) {
            sender.on_ack_with_window(Time((10 + n) * MS), &AckSegment::of(0), Time::ZERO, edge);
        }
        sender.stats().fast_retransmits
    };
    assert_eq!(repairs([4 * MSS; 3]), 1);
    assert_eq!(repairs([4 * MSS, 5 * MSS, 5 * MSS]), 0);
}
