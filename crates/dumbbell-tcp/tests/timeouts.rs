//! What a timeout leaves of the window.

use dumbbell_tcp::{AckSegment, HostClock, Sender, Tcp};
use dumbbell_units::Time;
use dumbbell_units::spec::{Field, Node};
use serde_json::json;

#[test]
fn a_timeout_halves_what_selective_acknowledgements_do_not_report() {
    let tcp = json!({ "variant": "sack", "mss": "1000 bytes", "initial_window": "10 segments", "receive_buffer": "100 segments" });
    let Tcp(params) = Tcp::decode(&Node::root(&tcp)).expect("rules of TCP");
    let mut sender = Sender::new(&params, HostClock::Fraction(0.0), Time::ZERO);
    sender.write(u64::MAX);
    let poll_all = |sender: &mut Sender, now: Time| while sender.poll_transmit(now).is_some() {};
    poll_all(&mut sender, Time::ZERO);
    // The first segment is lost and so is what repairs it; thirty that follow arrive one after the other.
    for arrived in 1..=30_u32 {
        let now = Time(u64::from(arrived) * 10_000_000);
        let mut ack = AckSegment::of(0);
        ack.sack.push(1000, arrived * 1000);
        sender.on_ack(now, &ack, Time::ZERO);
        poll_all(&mut sender, now);
    }
    // The recovery began with ten segments in flight and keeps five in the network: the repair, and four new ones.
    assert_eq!(sender.snd_max(), 35_000);
    sender.on_deadline(sender.next_deadline());
    // Of 35 segments 30 are reported: half of the other five, and not of 35.
    assert_eq!(sender.congestion().ssthresh(), 2_500.0);
}
