//! Which acknowledgements tell a round-trip time.

use dumbbell_tcp::{AckSegment, HostClock, Sender, Tcp};
use dumbbell_units::Time;
use dumbbell_units::spec::{Field, Node};
use serde_json::json;

fn ms(milliseconds: u64) -> Time {
    Time(milliseconds * 1_000_000)
}

#[test]
fn what_was_reported_before_gives_no_sample_when_the_hole_below_it_is_filled() {
    let tcp = json!({ "variant": "sack", "mss": "1000 bytes", "initial_window": "10 segments" });
    let Tcp(params) = Tcp::decode(&Node::root(&tcp)).expect("rules of TCP");
    let mut sender = Sender::new(&params, HostClock::Fraction(0.0), Time::ZERO);
    sender.write(10_000);
    let mut acknowledge = |now: Time, ack: u64, reported: u32| {
        let mut segment = AckSegment::of(ack);
        if reported > 0 {
            segment.sack.push(1000, reported);
        }
        sender.on_ack(now, &segment, Time::ZERO);
        while sender.poll_transmit(now).is_some() {}
        sender.stats().rtt_count
    };
    acknowledge(Time::ZERO, 0, 0);
    assert_eq!(acknowledge(ms(100), 1000, 0), 1);
    // The second segment is lost; four that follow it are reported, and then what repairs it arrives.
    (1..=4).for_each(|count| assert_eq!(acknowledge(ms(100 + u64::from(count)), 1000, count * 1000), 1));
    assert_eq!(acknowledge(ms(205), 6000, 0), 1);
    // The next one was sent once and is news.
    assert_eq!(acknowledge(ms(206), 7000, 0), 2);
}
