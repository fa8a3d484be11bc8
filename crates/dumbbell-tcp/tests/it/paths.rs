//! Transfers over random paths that lose, delay, repeat and mark segments: every one is completed, whatever the rules.

use crate::common::{self, CLOCK, MS};
use dumbbell_tcp::{AckSegment, DataSegment, Receiver, RecoverySpec, Sender};
use dumbbell_units::{Ecn, Stream, Time, Value};
use serde_json::json;
use std::collections::BTreeMap;

const SEGMENTS: u64 = 400;

/// What happens to segments and acknowledgements, as probabilities.
struct Path {
    loss: f64,
    /// Delayed by up to 80 ms more than the 20 ms of a direction.
    late: f64,
    twice: f64,
    mark: f64,
}

enum Arrival {
    Segment(DataSegment, Time),
    Ack(AckSegment),
}

struct World {
    random: Stream,
    path: Path,
    /// By time and order.
    arrivals: BTreeMap<(Time, u64), Arrival>,
    count: u64,
}

impl World {
    fn travel(&mut self, now: Time, arrival: impl Fn() -> Arrival) {
        let copies =
            u64::from(!self.random.chance(self.path.loss)) + u64::from(self.random.chance(self.path.twice));
        for _ in 0..copies {
            let jitter = if self.random.chance(self.path.late) { self.random.uniform() * 80e6 } else { 0.0 };
            self.count += 1;
            self.arrivals.insert((now + Time(20 * MS + jitter as u64), self.count), arrival());
        }
    }

    fn send(&mut self, now: Time, mut segment: DataSegment) {
        if segment.ecn.is_capable() && self.random.chance(self.path.mark) {
            segment.ecn = Ecn::Ce;
        }
        self.travel(now, || Arrival::Segment(segment, now));
    }
}

/// Time of a transfer by these rules over a path.
fn transfer(rules: &Value, path: Path, seed: u64) -> Time {
    let params = common::params(rules);
    let mut sender = Sender::new(&params, CLOCK, Time::ZERO, Stream::new(seed, 0, "sender"));
    let mut receiver = Receiver::new(&params, CLOCK);
    let mut world = World { random: Stream::new(seed, 1, "path"), path, arrivals: BTreeMap::new(), count: 0 };
    sender.write(SEGMENTS * params.mss.0);
    sender.finish();
    let mut now = Time::ZERO;
    for _ in 0..200_000 {
        let mut burst = 0;
        while let Some(segment) = sender.poll_transmit(now) {
            world.send(now, segment);
            burst += 1;
            assert!(burst < 2000, "{rules}: too many segments at once");
        }
        if sender.is_complete() {
            assert_eq!(receiver.rcv_nxt(), SEGMENTS * params.mss.0);
            return now;
        }
        assert!(!sender.has_given_up() && sender.cwnd_base() >= params.mss.0 as f64, "{rules}");
        let arrival = world.arrivals.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let deadline = sender.next_deadline().min(receiver.next_deadline());
        now = now.max(arrival.min(deadline));
        assert!(now < Time::NEVER, "{rules}: nothing is waited for");
        if arrival <= deadline {
            let ((_, _), arrival) = world.arrivals.pop_first().expect("an arrival");
            match arrival {
                Arrival::Segment(segment, sent) => {
                    let early = receiver.acknowledge_before(segment.ecn);
                    let ack = receiver.on_segment(now, &segment, sent, Time::ZERO);
                    for ack in early.into_iter().chain(ack) {
                        world.travel(now, || Arrival::Ack(ack));
                    }
                }
                Arrival::Ack(ack) => sender.on_ack(now, &ack, Time::ZERO),
            }
        } else {
            if let Some(ack) = receiver.on_deadline(now) {
                world.travel(now, || Arrival::Ack(ack));
            }
            if sender.next_deadline() <= now {
                sender.on_deadline(now);
            }
        }
    }
    panic!("{rules}: not complete at {now}");
}

#[test]
fn every_recovery_completes_over_any_path() {
    let options = [
        json!({}),
        json!({ "rules": "linux" }),
        json!({ "ecn": "dctcp", "delayed_ack": {}, "timestamps": true }),
        json!({ "ecn": "accurate", "delayed_ack": {}, "limited_transmit": false }),
        json!({ "ecn": "classic", "pacing": {}, "window": { "validation": "rfc7661" } }),
    ];
    for (number, options) in options.iter().enumerate() {
        for recovery in RecoverySpec::NAMES.iter().filter(|name| !name.starts_with("ns2")) {
            for seed in 0..4 {
                let mut rules = options.clone();
                rules["recovery"] = json!(recovery);
                rules["mss"] = json!("1000 bytes");
                let path = [
                    Path { loss: 0.02, late: 0.0, twice: 0.0, mark: 0.02 },
                    Path { loss: 0.0, late: 0.3, twice: 0.1, mark: 0.1 },
                    Path { loss: 0.1, late: 0.1, twice: 0.05, mark: 0.5 },
                    Path { loss: 0.25, late: 0.0, twice: 0.0, mark: 0.0 },
                ];
                let path = path.into_iter().nth(seed as usize).expect("a path");
                transfer(&rules, path, 100 * number as u64 + seed);
            }
        }
    }
}

#[test]
fn detection_by_time_tolerates_reordering() {
    // Nothing is lost, a third of all segments is late by up to two round-trip times. Recoveries by the count of reports
    // reduce the window again and again; detection by time widens its window, and undoes.
    let seconds = |recovery: &str| {
        let rules = json!({ "recovery": recovery, "mss": "1000 bytes", "timestamps": true });
        let times = (0..8).map(|seed| {
            let path = Path { loss: 0.0, late: 0.3, twice: 0.0, mark: 0.0 };
            transfer(&rules, path, seed).secs()
        });
        times.sum::<f64>() / 8.0
    };
    let (by_time, by_count) = (seconds("rack"), seconds("sack"));
    assert!(by_time < 0.7 * by_count, "{by_time} s, {by_count} s");
}
