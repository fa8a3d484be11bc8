//! Explicit congestion notification of the sender [RFC 3168 §6.1].

use crate::common::{self, MSS, poll};
use dumbbell_cc::{Ack, Congestion, Context, Control, ExternalControl, Signal};
use dumbbell_tcp::{AckSegment, DataSegment, Sender};
use dumbbell_units::{Ecn, Time};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// A sender in congestion avoidance with ten segments in flight, and these segments.
fn sender(ecn: &str) -> (Sender, Vec<DataSegment>) {
    let tcp = json!({
        "mss": "1000 bytes", "initial_window": "10 segments", "initial_ssthresh": "10 segments", "ecn": ecn,
        "limited_transmit": false,
    });
    let mut sender = common::sender(&tcp);
    sender.write(u64::MAX);
    let sent = poll(&mut sender, Time(0));
    assert_eq!(sent.len(), 10);
    (sender, sent)
}

/// The segments sent in response to an ACK of `segments` segments.
fn ack(sender: &mut Sender, at: u64, segments: u64, is_ece: bool) -> Vec<DataSegment> {
    sender.on_ack(Time(at), &AckSegment { is_ece, ..AckSegment::of(segments * MSS) }, Time::ZERO);
    poll(sender, Time(at))
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

#[test]
fn with_exact_feedback_a_control_that_ignores_marks_gets_one_signal_per_window() {
    for mode in ["dctcp", "accurate"] {
        let (mut sender, _) = sender(mode);
        let marked = |segments: u16| AckSegment {
            is_ece: true,
            ce_packets: segments,
            ce_bytes: u32::from(segments) * MSS as u32,
            ..AckSegment::of(u64::from(segments) * MSS)
        };
        for segments in 1..=3 {
            sender.on_ack(Time(1_000), &marked(segments), Time::ZERO);
            assert_eq!(sender.cwnd(), 4.5 * MSS as f64, "{mode}");
        }
        // The three bits of accurate feedback replace the report of a reduction.
        sender.on_ack(Time(1_000), &marked(7), Time::ZERO);
        let sent = poll(&mut sender, Time(1_000));
        assert_eq!(sent.first().map(|segment| segment.is_cwr), Some(mode == "dctcp"));
    }
}

/// What a control that reacts to marks was told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    New { marked: u64, packets: u64, in_recovery: bool },
    Duplicate { marked: u64, packets: u64 },
    Congestion(Signal),
}

/// A constant window of ten segments that reacts to marks and sends this codepoint.
#[derive(Clone, Debug)]
struct Reacting(Ecn, Arc<Mutex<Vec<Told>>>);

impl Control for Reacting {
    fn cwnd(&self) -> f64 {
        (10 * MSS) as f64
    }

    fn ecn_codepoint(&self) -> Ecn {
        self.0
    }

    fn reacts_to_marks(&self) -> bool {
        true
    }

    fn on_ack(&mut self, _context: &Context, ack: &Ack) {
        let told =
            Told::New { marked: ack.marked, packets: ack.marked_packets, in_recovery: ack.in_recovery };
        self.1.lock().unwrap().push(told);
    }

    fn on_duplicate_ack(&mut self, _context: &Context, ack: &Ack) {
        self.1.lock().unwrap().push(Told::Duplicate { marked: ack.marked, packets: ack.marked_packets });
    }

    fn on_congestion(&mut self, _context: &Context, congestion: &Congestion) {
        self.1.lock().unwrap().push(Told::Congestion(congestion.signal));
    }
}

impl ExternalControl for Reacting {
    fn fork(&self) -> Box<dyn ExternalControl> {
        Box::new(self.clone())
    }
}

/// A sender with ten segments in flight whose control reacts to marks, and what the control is told.
fn reacting(ecn: &str, codepoint: Ecn) -> (Sender, Arc<Mutex<Vec<Told>>>) {
    let tcp = json!({ "variant": "sack", "mss": "1000 bytes", "ecn": ecn, "receive_buffer": "unlimited" });
    let told = Arc::new(Mutex::new(Vec::new()));
    let control = Reacting(codepoint, Arc::clone(&told));
    let mut sender = common::external(&tcp, control);
    sender.write(u64::MAX);
    assert!(poll(&mut sender, Time(0)).iter().all(|segment| segment.ecn == codepoint));
    (sender, told)
}

#[test]
fn a_control_that_reacts_to_marks_learns_them_exactly_and_is_not_told_of_congestion() {
    let (mut sender, told) = reacting("accurate", Ecn::Ect1);
    let counted = |ack: u64, ce_packets, ce_bytes| AckSegment { ce_packets, ce_bytes, ..AckSegment::of(ack) };
    // Two segments, one marked; a small packet marked; one segment without a mark; an ACK that is out of date.
    for ack in
        [counted(2000, 1, 1000), counted(3000, 2, 1100), counted(4000, 2, 1100), counted(5000, 1, 1000)]
    {
        sender.on_ack(Time(1_000), &ack, Time::ZERO);
    }
    let new = |marked, packets| Told::New { marked, packets, in_recovery: false };
    assert_eq!(*told.lock().unwrap(), [new(1000, 1), new(100, 1), new(0, 0), new(0, 0)]);

    // With the feedback of DCTCP, the echo belongs to all data that the ACK delivers: two segments, then a reported one
    // and, with the hole filled, one more.
    let (mut sender, told) = reacting("dctcp", Ecn::Ect0);
    let echoing = |ack: u64| AckSegment { is_ece: true, ..AckSegment::of(ack) };
    sender.on_ack(Time(1_000), &echoing(2000), Time::ZERO);
    let mut reporting = echoing(2000);
    reporting.sack.push(1000, 1000);
    sender.on_ack(Time(1_000), &reporting, Time::ZERO);
    sender.on_ack(Time(1_000), &echoing(4000), Time::ZERO);
    let expected = [new(2000, 2), Told::Duplicate { marked: 1000, packets: 1 }, new(1000, 1)];
    assert_eq!(*told.lock().unwrap(), expected);

    // Classic feedback does not tell what was marked, so the signal remains.
    let (mut sender, told) = reacting("classic", Ecn::Ect0);
    sender.on_ack(Time(1_000), &echoing(2000), Time::ZERO);
    assert_eq!(told.lock().unwrap()[0], Told::Congestion(Signal::EcnEcho));
}

#[test]
fn retransmissions_are_ecn_capable_with_the_feedback_of_dctcp_and_for_l4s() {
    for (ecn, codepoint, expected) in [
        ("classic", Ecn::Ect1, Ecn::NotEct),
        ("dctcp", Ecn::Ect0, Ecn::Ect0),
        ("accurate", Ecn::Ect0, Ecn::NotEct),
        ("accurate", Ecn::Ect1, Ecn::Ect1),
    ] {
        let (mut sender, _) = reacting(ecn, codepoint);
        let mut ack = AckSegment::of(0);
        ack.sack.push(1000, 3000);
        sender.on_ack(Time(1_000), &ack, Time::ZERO);
        let sent = poll(&mut sender, Time(1_000));
        let again = sent.iter().find(|segment| segment.is_retransmission).expect("a retransmission");
        assert_eq!(again.ecn, expected, "{ecn}");
    }
}
