//! What becomes of a window that the sender does not use: RFC 5681 §4.1, Linux, RFC 7661.

use crate::common::{self, MS, MSS};
use dumbbell_tcp::{AckSegment, Sender};
use dumbbell_units::{Time, Value};
use serde_json::json;

struct Host {
    sender: Sender,
    sent: u64,
}

impl Host {
    /// A sender whose window has grown to 40 segments, all acknowledged at 200 ms. Its timeout is 300 ms.
    fn grown(window: Value) -> Self {
        let rules = json!({
            "rules": "linux", "handshake": false, "timestamps": false, "mss": "1000 bytes", "window": window,
            "initial_ssthresh": "40 segments",
        });
        let sender = common::sender(&rules);
        let mut host = Host { sender, sent: 0 };
        assert_eq!(host.write(0, 30), 10);
        assert_eq!(host.ack_all(100), 20);
        host.ack_all(200);
        assert_eq!((host.window(), host.sender.rto()), (40.0, Time(300 * MS)));
        host
    }

    fn poll(&mut self, at_ms: u64) -> u64 {
        let sent = std::iter::from_fn(|| self.sender.poll_transmit(Time(at_ms * MS))).count() as u64;
        self.sent += sent;
        sent
    }

    fn write(&mut self, at_ms: u64, segments: u64) -> u64 {
        self.sender.write(segments * MSS);
        self.poll(at_ms)
    }

    fn ack_all(&mut self, at_ms: u64) -> u64 {
        self.sender.on_ack(Time(at_ms * MS), &AckSegment::of(self.sent * MSS), Time::ZERO);
        self.poll(at_ms)
    }

    fn window(&self) -> f64 {
        self.sender.cwnd() / MSS as f64
    }
}

#[test]
fn an_idle_window_is_halved_restarted_or_kept() {
    for (rule, after) in [("linux", 20.0), ("restart", 10.0), ("rfc7661", 40.0)] {
        let mut host = Host::grown(json!({ "validation": rule }));
        // The last transmission was at 100 ms; 450 ms are one and a half timeouts.
        host.write(550, 1);
        assert_eq!((host.window(), host.sender.congestion().ssthresh()), (after, 40_000.0), "{rule}");
    }
    let mut host = Host::grown(json!({ "validation": "linux" }));
    host.write(5000, 1);
    assert_eq!(host.window(), 10.0);
}

/// An application that writes five segments per round trip of 100 ms, for ten seconds, and what it may send at once after.
fn burst(window: Value) -> u64 {
    let mut host = Host::grown(window);
    let mut at = 300;
    while at < 10_300 {
        host.write(at, 5);
        at += 100;
        host.ack_all(at);
    }
    host.write(at, 1000)
}

#[test]
fn a_window_that_the_application_does_not_use_does_not_grow() {
    // In Linux, each ACK that may raise the window begins the time anew in which it is not used.
    assert_eq!(burst(json!({ "validation": "rfc7661" })), 40);
    assert_eq!(burst(json!({ "validation": "linux" })), 40);
    // Without either, a window grows by a segment per window of data: 500 segments make at least ten of them.
    let always = burst(json!({ "validation": "restart", "grow_when": "always" }));
    assert!(always >= 50, "{always}");
}

#[test]
fn linux_approaches_what_is_used_a_timeout_after_the_last_ack() {
    let mut host = Host::grown(json!({ "validation": "linux" }));
    // The last ACK arrived at 200 ms, and the timeout is 300 ms.
    host.write(390, 5);
    host.write(499, 1);
    assert_eq!(host.window(), 40.0);
    // Halfway to the initial window; what is used counts anew.
    host.write(500, 1);
    assert_eq!((host.window(), host.sender.congestion().ssthresh()), (25.0, 40_000.0));
    host.write(501, 1);
    assert_eq!(host.window(), 25.0);
}

#[test]
fn after_five_minutes_a_kept_window_is_halved() {
    let mut host = Host::grown(json!({ "validation": "rfc7661" }));
    let mut at = 300;
    while at < 301_000 {
        host.write(at, 5);
        at += 100;
        host.ack_all(at);
    }
    assert_eq!(host.window(), 40.0);
    while at < 303_000 {
        host.write(at, 5);
        at += 100;
        host.ack_all(at);
    }
    assert_eq!((host.window(), host.sender.congestion().ssthresh()), (20.0, 40_000.0));
}

#[test]
fn a_loss_reduces_what_was_used_and_not_the_kept_window() {
    let mut host = Host::grown(json!({ "validation": "rfc7661", "reduction_base": "flight" }));
    let mut at = 300;
    while at < 5300 {
        host.write(at, 8);
        at += 100;
        host.ack_all(at);
    }
    // Eight segments per round trip are in use; of four in flight, the first is lost: a half of eight, not of 40 or of four.
    host.write(at, 4);
    let mut ack = AckSegment::of((host.sent - 4) * MSS);
    ack.sack.push(1000, 3000);
    host.sender.on_ack(Time((at + 100) * MS), &ack, Time::ZERO);
    assert_eq!(host.sender.congestion().ssthresh(), 4000.0);
}
