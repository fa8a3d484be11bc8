//! Explicit congestion notification of the sender [RFC 3168 §6.1].

use dumbbell_tcp::{AckSegment, DataSegment, HostClock, Sender, Tcp};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Ecn, Stream, Time};
use serde_json::json;

const MSS: u64 = 1000;

/// A sender in congestion avoidance with ten segments in flight, and these segments.
fn sender(ecn: &str) -> (Sender, Vec<DataSegment>) {
    let tcp = json!({
        "mss": "1000 bytes", "initial_window": "10 segments", "initial_ssthresh": "10 segments", "ecn": ecn,
        "limited_transmit": false,
    });
    let Tcp(params) = Tcp::decode(&Node::root(&tcp)).expect("rules of TCP");
    let mut sender = Sender::new(&params, HostClock::Fraction(0.0), Time::ZERO, Stream::new(1, 0, "sender"));
    sender.write(u64::MAX);
    let sent = poll(&mut sender, 0);
    assert_eq!(sent.len(), 10);
    (sender, sent)
}

fn poll(sender: &mut Sender, at: u64) -> Vec<DataSegment> {
    std::iter::from_fn(|| sender.poll_transmit(Time(at))).collect()
}

/// The segments sent in response to an ACK of `segments` segments.
fn ack(sender: &mut Sender, at: u64, segments: u64, is_ece: bool) -> Vec<DataSegment> {
    sender.on_ack(Time(at), &AckSegment { is_ece, ..AckSegment::of(segments * MSS) }, Time::ZERO);
    poll(sender, at)
}

#[test]
fn an_echoed_mark_reduces_the_window_once_per_window_of_data_and_cwr_answers_it() {
    let (mut sender, sent) = sender("classic");
    assert!(sent.iter().all(|segment| segment.ecn == Ecn::Ect0 && !segment.is_cwr));
    // Ten segments are in flight, nine after this ACK. The window is halved, and nothing is sent until four remain.
    for segments in 1..=4 {
        assert_eq!(ack(&mut sender, 1_000, segments, true), []);
        assert_eq!(sender.cwnd(), 4.5 * MSS as f64);
    }
    assert_eq!(ack(&mut sender, 1_000, 5, true), []);
    let [tells] = ack(&mut sender, 1_000, 7, true)[..] else { panic!("one segment") };
    assert!(tells.is_cwr && tells.ecn == Ecn::Ect0);
    assert!(ack(&mut sender, 1_000, 8, false).iter().all(|segment| !segment.is_cwr));
    // A mark of data sent after the reduction is a new signal.
    let before = sender.cwnd();
    ack(&mut sender, 2_000, 11, true);
    assert!(sender.cwnd() < before, "{} after {before}", sender.cwnd());
}

#[test]
fn retransmissions_are_not_ecn_capable_and_cwr_reports_a_loss_too() {
    let (mut sender, _) = sender("classic");
    let sent: Vec<DataSegment> = (0..3).flat_map(|_| ack(&mut sender, 1_000, 0, false)).collect();
    let [again] = sent[..] else { panic!("one fast retransmission: {sent:?}") };
    assert!(again.is_retransmission && again.ecn == Ecn::NotEct && !again.is_cwr);
    let reduced = sender.congestion().ssthresh();
    // During the recovery, a mark changes nothing.
    ack(&mut sender, 2_000, 5, true);
    assert_eq!(sender.congestion().ssthresh(), reduced);
    let next = ack(&mut sender, 3_000, 10, false);
    assert!(next.first().is_some_and(|segment| segment.is_cwr), "{next:?}");
}

#[test]
fn without_ecn_nothing_is_ecn_capable_and_echoes_are_ignored() {
    let (mut sender, sent) = sender("off");
    assert!(sent.iter().all(|segment| segment.ecn == Ecn::NotEct));
    ack(&mut sender, 1_000, 1, true);
    assert!(sender.cwnd() > 10.0 * MSS as f64, "{}", sender.cwnd());
}
