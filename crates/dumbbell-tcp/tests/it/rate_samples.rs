//! Delivery reported to a congestion control behind a constant bottleneck. The control is model-based, from outside the
//! registry, with a constant window and pacing rate.

use crate::common::{self, CLOCK, MSS};
use dumbbell_cc::{Ack, Congestion, Context, Control, ExternalControl, RateSample};
use dumbbell_tcp::{AckSegment, Receiver, Sender};
use dumbbell_units::Time;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Serialization delay of a segment at the bottleneck; it determines the rate, in bytes per second.
const SERVICE: Time = Time(1_000_000);
const CAPACITY: f64 = 1e6;
/// Propagation delay of a segment and of its acknowledgement together.
const PROPAGATION: Time = Time(50_000_000);

/// The report of one ACK.
#[derive(Clone, Debug)]
struct Report {
    at: Time,
    delivered: u64,
    total: u64,
    lost: u64,
    round: u64,
    in_flight: f64,
    rate: Option<RateSample>,
}

/// A constant window and a constant pacing rate, if any.
#[derive(Clone, Debug)]
struct Fixed {
    window: f64,
    pace: Option<f64>,
    reports: Arc<Mutex<Vec<Report>>>,
}

impl Control for Fixed {
    fn cwnd(&self) -> f64 {
        self.window
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pace
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn uses_rate_samples(&self) -> bool {
        true
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.reports.lock().unwrap().push(Report {
            at: context.now,
            delivered: ack.delivered,
            total: context.delivered,
            lost: context.lost,
            round: context.round,
            in_flight: ack.in_flight,
            rate: ack.rate.copied(),
        });
    }

    fn on_congestion(&mut self, _context: &Context, _congestion: &Congestion) {}
}

impl ExternalControl for Fixed {
    fn fork(&self) -> Box<dyn ExternalControl> {
        Box::new(self.clone())
    }
}

/// Two seconds of a transfer of `segments` segments, of which `lost` are lost at their first transmission: the times at
/// which segments were sent, and the reports.
fn transfer(window: u64, pace: Option<f64>, segments: u64, lost: &[u64]) -> (Vec<Time>, Vec<Report>) {
    let rules = json!({ "variant": "sack", "mss": "1000 bytes", "receive_buffer": "unlimited" });
    let reports = Arc::new(Mutex::new(Vec::new()));
    let control = Fixed { window: (window * MSS) as f64, pace, reports: Arc::clone(&reports) };
    let mut sender = common::external(&rules, control);
    let mut receiver = Receiver::new(&common::params(&rules), CLOCK);
    sender.write(segments * MSS);
    let (mut sent, mut free_at) = (Vec::new(), Time::ZERO);
    let mut acks: VecDeque<(Time, AckSegment)> = VecDeque::new();
    let mut now = Time::ZERO;
    while now < Time(2_000_000_000) {
        while let Some(segment) = sender.poll_transmit(now) {
            sent.push(now);
            if !segment.is_retransmission && lost.contains(&(segment.seq / MSS)) {
                continue;
            }
            free_at = free_at.max(now) + SERVICE;
            let at = free_at + PROPAGATION;
            acks.extend(
                receiver.on_segment(at, &segment, now, Time::ZERO).map(|ack| (at + PROPAGATION, ack)),
            );
        }
        let next = acks.front().map_or(Time::NEVER, |(at, _)| *at);
        now = next.min(sender.next_deadline());
        if now == Time::NEVER {
            break;
        }
        if sender.next_deadline() <= now {
            sender.on_deadline(now);
        } else if let Some((_, ack)) = acks.pop_front() {
            sender.on_ack(now, &ack, Time::ZERO);
        }
    }
    (sent, reports.lock().unwrap().clone())
}

#[test]
fn samples_of_a_bulk_flow_never_exceed_the_capacity_and_match_it_within_a_packet() {
    // A round-trip time of 101 ms holds 101 segments; 150 keep the bottleneck busy.
    let (_, reports) = transfer(150, None, 100_000, &[]);
    assert!(reports.len() > 1_500);
    for (index, ack) in reports.iter().enumerate() {
        let rate = ack.rate.expect("a sample with every ACK");
        assert_eq!((ack.delivered, ack.total, ack.lost), (MSS, index as u64 * MSS, 0));
        assert!(rate.delivery_rate() <= CAPACITY * (1.0 + 1e-9), "{rate:?} at {:?}", ack.at);
        let packet = MSS as f64 / rate.interval.secs();
        let is_full = index > 300;
        assert!(!is_full || rate.delivery_rate() >= CAPACITY - packet, "{rate:?} at {:?}", ack.at);
        assert!(!rate.is_app_limited);
    }
    // A round lasts as long as the bottleneck takes for the window, 150 ms: 13 in two seconds.
    assert_eq!(reports.last().unwrap().round, 13);
}

#[test]
fn deliveries_by_reports_count_once_and_losses_are_reported() {
    let (_, reports) = transfer(50, None, 400, &[100, 103]);
    let delivered: u64 = reports.iter().map(|ack| ack.delivered).sum();
    let last = reports.last().unwrap();
    // Duplicate ACKs deliver too, but are not reported here: the last ACK includes them.
    assert!(delivered <= 400 * MSS && last.total + last.delivered == 400 * MSS, "{delivered} {last:?}");
    assert_eq!(last.lost, 2 * MSS);
    assert_eq!(last.in_flight, 0.0);
    assert!(
        reports.iter().filter_map(|ack| ack.rate).all(|rate| rate.delivery_rate() <= CAPACITY * (1.0 + 1e-9))
    );
}

#[test]
fn a_paced_sender_sends_single_segments_at_its_rate() {
    let (sent, reports) = transfer(500, Some(500_000.0), 100_000, &[]);
    let gaps: Vec<u64> = sent.windows(2).map(|pair| pair[1].since(pair[0]).0).collect();
    // One segment ahead at the start, then one every 2 ms.
    assert!(gaps[1..].iter().all(|&gap| gap == 2_000_000), "{:?}", &gaps[..8]);
    let rate = reports.last().unwrap().rate.expect("a sample").delivery_rate();
    assert!((rate - 500_000.0).abs() < 1e-6 * 500_000.0, "{rate}");
}

#[test]
fn data_sent_after_the_application_paused_gives_limited_samples() {
    let rules = json!({ "mss": "1000 bytes" });
    let reports = Arc::new(Mutex::new(Vec::new()));
    let control = Fixed { window: (50 * MSS) as f64, pace: None, reports: Arc::clone(&reports) };
    let mut sender = common::external(&rules, control);
    // Two segments, then no data; two more while those are in flight.
    for at in [0, 1_000_000] {
        sender.write(2 * MSS);
        assert_eq!(std::iter::from_fn(|| sender.poll_transmit(Time(at))).count(), 2);
    }
    for segments in 1..=4 {
        sender.on_ack(Time(100_000_000 + segments), &AckSegment::of(segments * MSS), Time::ZERO);
    }
    let limited: Vec<bool> =
        reports.lock().unwrap().iter().map(|ack| ack.rate.expect("a sample").is_app_limited).collect();
    assert_eq!(limited, [false, false, true, true]);
}

#[test]
fn in_linux_data_is_limited_by_an_application_that_had_nothing_unsent_when_it_wrote() {
    let rules = json!({ "rules": "linux", "mss": "1000 bytes", "handshake": false });
    let reports = Arc::new(Mutex::new(Vec::new()));
    let control = Fixed { window: (4 * MSS) as f64, pace: None, reports: Arc::clone(&reports) };
    let mut sender = common::external(&rules, control);
    let acknowledge = |sender: &mut Sender, ms: u64, segments: u64| {
        sender.on_ack(Time(ms * 1_000_000), &AckSegment::of(segments * MSS), Time::ZERO);
        common::poll(sender, Time(ms * 1_000_000)).len()
    };
    // Nothing was unsent before the first write: what is in flight until that is delivered is limited.
    sender.write(5 * MSS);
    assert_eq!(common::poll(&mut sender, Time::ZERO).len(), 4);
    // The window is full, and a segment waits: the second write does not limit.
    sender.write(MSS);
    assert_eq!([acknowledge(&mut sender, 100, 1), acknowledge(&mut sender, 101, 2)], [1, 1]);
    // Everything was sent and the window has room: the third one limits.
    assert_eq!(acknowledge(&mut sender, 102, 3), 0);
    sender.write(MSS);
    assert_eq!(common::poll(&mut sender, Time(102_000_000)).len(), 1);
    for (ms, segments) in [(103, 4), (200, 5), (201, 6), (202, 7)] {
        acknowledge(&mut sender, ms, segments);
    }
    let limited: Vec<bool> =
        reports.lock().unwrap().iter().map(|ack| ack.rate.expect("a sample").is_app_limited).collect();
    assert_eq!(limited, [true, true, true, true, false, false, true]);
}
