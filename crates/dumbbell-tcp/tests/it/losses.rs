//! Losses reported to a congestion control: each once, before the reaction, whichever recovery detects it.

use crate::common::{self, MS, MSS};
use dumbbell_cc::{Ack, Congestion, Context, Control, ExternalControl, LostSegment};
use dumbbell_tcp::{AckSegment, SackBlocks, Sender};
use dumbbell_units::Time;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// Reports to the control, in order; numbers are segment numbers.
#[derive(Clone, Debug, PartialEq)]
enum Report {
    Loss { segment: u64, sent_at_ms: u64, is_retransmission: bool },
    Congestion { lost: u64 },
    Duplicate { delivered: u64, lost: u64 },
    New { acked: u64, delivered: u64 },
}

/// A constant window of ten segments.
#[derive(Clone, Debug)]
struct Fixed(Arc<Mutex<Vec<Report>>>);

impl Control for Fixed {
    fn cwnd(&self) -> f64 {
        (10 * MSS) as f64
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        assert_eq!(context.srtt().is_some(), context.min_rtt().is_some());
        self.0.lock().unwrap().push(Report::New { acked: ack.acked / MSS, delivered: ack.delivered / MSS });
    }

    fn on_congestion(&mut self, context: &Context, _congestion: &Congestion) {
        self.0.lock().unwrap().push(Report::Congestion { lost: context.lost / MSS });
    }

    fn on_duplicate_ack(&mut self, _context: &Context, ack: &Ack) {
        self.0
            .lock()
            .unwrap()
            .push(Report::Duplicate { delivered: ack.delivered / MSS, lost: ack.lost / MSS });
    }

    fn on_loss(&mut self, _context: &Context, lost: &LostSegment) {
        self.0.lock().unwrap().push(Report::Loss {
            segment: lost.seq / MSS,
            sent_at_ms: lost.sent_at.0 / MS,
            is_retransmission: lost.is_retransmission,
        });
    }
}

impl ExternalControl for Fixed {
    fn fork(&self) -> Box<dyn ExternalControl> {
        Box::new(self.clone())
    }
}

/// A sender that has sent the segments 0 to 9 at 0 ms, and the reports to its control.
fn ten_sent(variant: &str) -> (Sender, Arc<Mutex<Vec<Report>>>) {
    let rules = json!({ "variant": variant, "mss": "1000 bytes", "receive_buffer": "unlimited", "handshake": false,
                        "limited_transmit": false });
    let reports = Arc::new(Mutex::new(Vec::new()));
    let control = Fixed(Arc::clone(&reports));
    let mut sender = common::external(&rules, control);
    sender.write(u64::MAX);
    assert_eq!(send(&mut sender, 0), (0..10).collect::<Vec<_>>());
    (sender, reports)
}

/// The segments sent at this time.
fn send(sender: &mut Sender, at_ms: u64) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(Time(at_ms * MS))).map(|segment| segment.seq / MSS).collect()
}

/// An ACK of all segments below `next` that reports ranges of segments above it.
fn acknowledge(sender: &mut Sender, at_ms: u64, next: u64, reported: &[(u64, u64)]) {
    let mut sack = SackBlocks::default();
    for (from, until) in reported {
        sack.push(((from - next) * MSS) as u32, ((until - from) * MSS) as u32);
    }
    sender.on_ack(Time(at_ms * MS), &AckSegment { sack, ..AckSegment::of(next * MSS) }, Time::ZERO);
}

fn first_loss(segment: u64) -> Report {
    Report::Loss { segment, sent_at_ms: 0, is_retransmission: false }
}

#[test]
fn newreno_reports_the_head_before_the_reaction_and_the_next_hole_at_a_partial_ack() {
    let (mut sender, reports) = ten_sent("newreno");
    acknowledge(&mut sender, 100, 2, &[]);
    send(&mut sender, 100);
    (101..104).for_each(|at_ms| acknowledge(&mut sender, at_ms, 2, &[]));
    assert_eq!(send(&mut sender, 104)[0], 2);
    acknowledge(&mut sender, 200, 5, &[]);
    let duplicate = Report::Duplicate { delivered: 0, lost: 0 };
    let expected = [
        Report::New { acked: 2, delivered: 2 },
        duplicate.clone(),
        duplicate.clone(),
        duplicate,
        first_loss(2),
        Report::Congestion { lost: 1 },
        Report::New { acked: 3, delivered: 3 },
        first_loss(5),
    ];
    assert_eq!(*reports.lock().unwrap(), expected);
}

#[test]
fn sack_reports_each_hole_once_and_the_delivered_bytes() {
    let (mut sender, reports) = ten_sent("sack");
    acknowledge(&mut sender, 100, 2, &[(3, 4)]);
    acknowledge(&mut sender, 101, 2, &[(3, 5)]);
    acknowledge(&mut sender, 102, 2, &[(6, 7), (3, 5)]);
    send(&mut sender, 102);
    acknowledge(&mut sender, 103, 2, &[(6, 9), (3, 5)]);
    acknowledge(&mut sender, 104, 2, &[(6, 10), (3, 5)]);
    let expected = [
        Report::New { acked: 2, delivered: 3 },
        Report::Duplicate { delivered: 1, lost: 0 },
        first_loss(2),
        Report::Duplicate { delivered: 1, lost: 1 },
        Report::Congestion { lost: 1 },
        first_loss(5),
        Report::Duplicate { delivered: 2, lost: 1 },
        Report::Duplicate { delivered: 1, lost: 0 },
    ];
    assert_eq!(*reports.lock().unwrap(), expected);
}

#[test]
fn a_timeout_loses_all_outstanding_data_and_the_next_one_its_retransmissions() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        let (mut sender, reports) = ten_sent(variant);
        let mut expected = Vec::new();
        let mut sent_at_ms = 0;
        for timeout in 0..2 {
            let at = sender.next_deadline();
            sender.on_deadline(at);
            let lost = |segment| Report::Loss { segment, sent_at_ms, is_retransmission: timeout > 0 };
            expected.extend((0..10).map(lost));
            expected.push(Report::Congestion { lost: 10 * (timeout + 1) });
            sent_at_ms = at.0 / MS;
            assert_eq!(send(&mut sender, sent_at_ms), (0..10).collect::<Vec<_>>());
        }
        assert_eq!(*reports.lock().unwrap(), expected, "{variant}");
    }
}
