//! Losses reported to a congestion control: each once, before the reaction, whichever recovery detects it.

use dumbbell_cc::{Ack, Congestion, Context, Control, ExternalControl, LostSegment};
use dumbbell_tcp::{AckSegment, HostClock, SackBlocks, Sender, Tcp};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Stream, Time};
use serde_json::json;
use std::sync::{Arc, Mutex};

const MSS: u64 = 1000;
const MS: u64 = 1_000_000;

/// What was told, in the order of the calls; numbers are those of segments.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Loss { segment: u64, sent_at_ms: u64, is_retransmission: bool },
    Congestion { lost: u64 },
    Duplicate { delivered: u64, lost: u64 },
    New { acked: u64, delivered: u64 },
}

/// A window of ten segments, whatever happens.
#[derive(Clone, Debug)]
struct Fixed(Arc<Mutex<Vec<Told>>>);

impl Control for Fixed {
    fn cwnd(&self) -> f64 {
        (10 * MSS) as f64
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        assert_eq!(context.srtt().is_some(), context.min_rtt().is_some());
        self.0.lock().unwrap().push(Told::New { acked: ack.acked / MSS, delivered: ack.delivered / MSS });
    }

    fn on_congestion(&mut self, context: &Context, _congestion: &Congestion) {
        self.0.lock().unwrap().push(Told::Congestion { lost: context.lost / MSS });
    }

    fn on_duplicate_ack(&mut self, _context: &Context, ack: &Ack) {
        self.0.lock().unwrap().push(Told::Duplicate { delivered: ack.delivered / MSS, lost: ack.lost / MSS });
    }

    fn on_loss(&mut self, _context: &Context, lost: &LostSegment) {
        self.0.lock().unwrap().push(Told::Loss {
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

/// A sender that has sent the segments 0 to 9 at 0 ms, and what its control is told.
fn ten_sent(variant: &str) -> (Sender, Arc<Mutex<Vec<Told>>>) {
    let rules = json!({ "variant": variant, "mss": "1000 bytes", "receive_buffer": "unlimited", "handshake": false,
                        "limited_transmit": false });
    let Tcp(params) = Tcp::decode(&Node::root(&rules)).expect("rules of TCP");
    let told = Arc::new(Mutex::new(Vec::new()));
    let control = Fixed(Arc::clone(&told));
    let random = Stream::new(1, 0, "sender");
    let mut sender =
        Sender::external(&params, HostClock::Fraction(0.0), Time::ZERO, random, |_| Box::new(control));
    sender.write(u64::MAX);
    assert_eq!(send(&mut sender, 0), (0..10).collect::<Vec<_>>());
    (sender, told)
}

/// The segments that leave at this time.
fn send(sender: &mut Sender, at_ms: u64) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(Time(at_ms * MS))).map(|segment| segment.seq / MSS).collect()
}

/// An ACK of all segments below `next`, with reports of ranges of segments above.
fn acknowledge(sender: &mut Sender, at_ms: u64, next: u64, reported: &[(u64, u64)]) {
    let mut sack = SackBlocks::default();
    for (from, until) in reported {
        sack.push(((from - next) * MSS) as u32, ((until - from) * MSS) as u32);
    }
    sender.on_ack(Time(at_ms * MS), &AckSegment { sack, ..AckSegment::of(next * MSS) }, Time::ZERO);
}

fn first_loss(segment: u64) -> Told {
    Told::Loss { segment, sent_at_ms: 0, is_retransmission: false }
}

#[test]
fn newreno_tells_of_the_head_before_the_reaction_and_of_the_next_hole_at_a_partial_ack() {
    let (mut sender, told) = ten_sent("newreno");
    acknowledge(&mut sender, 100, 2, &[]);
    send(&mut sender, 100);
    (101..104).for_each(|at_ms| acknowledge(&mut sender, at_ms, 2, &[]));
    assert_eq!(send(&mut sender, 104)[0], 2);
    acknowledge(&mut sender, 200, 5, &[]);
    let duplicate = Told::Duplicate { delivered: 0, lost: 0 };
    let expected = [
        Told::New { acked: 2, delivered: 2 },
        duplicate.clone(),
        duplicate.clone(),
        duplicate,
        first_loss(2),
        Told::Congestion { lost: 1 },
        Told::New { acked: 3, delivered: 3 },
        first_loss(5),
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[test]
fn reports_tell_of_each_hole_once_and_of_what_they_deliver() {
    let (mut sender, told) = ten_sent("sack");
    acknowledge(&mut sender, 100, 2, &[(3, 4)]);
    acknowledge(&mut sender, 101, 2, &[(3, 5)]);
    acknowledge(&mut sender, 102, 2, &[(6, 7), (3, 5)]);
    send(&mut sender, 102);
    acknowledge(&mut sender, 103, 2, &[(6, 9), (3, 5)]);
    acknowledge(&mut sender, 104, 2, &[(6, 10), (3, 5)]);
    let expected = [
        Told::New { acked: 2, delivered: 3 },
        Told::Duplicate { delivered: 1, lost: 0 },
        first_loss(2),
        Told::Duplicate { delivered: 1, lost: 1 },
        Told::Congestion { lost: 1 },
        first_loss(5),
        Told::Duplicate { delivered: 2, lost: 1 },
        Told::Duplicate { delivered: 1, lost: 0 },
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[test]
fn a_timeout_loses_all_that_is_outstanding_and_the_next_one_what_was_sent_again() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        let (mut sender, told) = ten_sent(variant);
        let mut expected = Vec::new();
        let mut sent_at_ms = 0;
        for timeout in 0..2 {
            let at = sender.next_deadline();
            sender.on_deadline(at);
            let lost = |segment| Told::Loss { segment, sent_at_ms, is_retransmission: timeout > 0 };
            expected.extend((0..10).map(lost));
            expected.push(Told::Congestion { lost: 10 * (timeout + 1) });
            sent_at_ms = at.0 / MS;
            assert_eq!(send(&mut sender, sent_at_ms), (0..10).collect::<Vec<_>>());
        }
        assert_eq!(*told.lock().unwrap(), expected, "{variant}");
    }
}
