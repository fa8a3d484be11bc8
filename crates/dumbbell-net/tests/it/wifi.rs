//! A link of Wi-Fi, against numbers worked by hand.

use dumbbell_net::LinkStats;
use dumbbell_net::queues::droptail::DropTail;
use dumbbell_net::{ClockedLink, LinkSpec, Packet, QueueSpec, WifiSpec};
use dumbbell_units::{Bytes, Interval, Limit, Rate, Stream, Time};

const US: u64 = 1_000;

/// 240 Mbit/s, so that a packet of 1458 bytes and a header of 42 take 50 us. No random waits and no losses.
fn fixed() -> WifiSpec {
    WifiSpec { contention: 0, loss: 0.0, ..WifiSpec::default() }
}

/// Arrivals of packets that enter at once, and the counters.
fn arrivals(wifi: WifiSpec, packets: u32, queue: &str) -> (Vec<(u64, u32)>, LinkStats) {
    let mut queue = QueueSpec::named(queue).unwrap();
    if let QueueSpec::DropTail(droptail) = &mut queue {
        droptail.limit = Limit::Unlimited;
    }
    let spec = LinkSpec { rate: Rate(240_000_000), wifi: Some(wifi), queue, ..LinkSpec::default() };
    let always = Interval { from: Time::ZERO, until: Time::NEVER };
    let mut link = ClockedLink::new(&spec, Stream::new(1, 0, "link:w"), always);
    (0..packets).for_each(|number| link.enqueue(Time::ZERO, &Packet::of_size(1458, number)));
    let mut arrived = Vec::new();
    while link.next_departure() < Time::NEVER {
        let now = link.next_departure();
        while let Some((at, packet)) = link.poll_arrival(now) {
            arrived.push((at.0, packet.payload));
        }
    }
    (arrived, *link.stats())
}

/// Times of arrival, and how many packets arrive then.
fn bursts(arrived: &[(u64, u32)]) -> Vec<(u64, usize)> {
    arrived.chunk_by(|one, other| one.0 == other.0).map(|burst| (burst[0].0, burst.len())).collect()
}

#[test]
fn an_aggregate_arrives_at_once() {
    // 34 us of waiting, 125 us of overhead, 64 packets of 50 us: 3359 us. The rest follows after 34 + 125 + 36 * 50 us.
    let (arrived, stats) = arrivals(fixed(), 100, "droptail");
    assert_eq!(bursts(&arrived), [(3_359 * US, 64), (5_318 * US, 36)]);
    assert_eq!(stats.busy, (2 * 125 + 100 * 50) * US);
    // The limit of air time is reached after 20 packets.
    let (arrived, _) = arrivals(WifiSpec { longest: Time(1000 * US), ..fixed() }, 50, "droptail");
    assert_eq!(bursts(&arrived), [(1_159 * US, 20), (2_318 * US, 20), (2_977 * US, 10)]);
}

#[test]
fn the_other_direction_takes_the_medium_after_an_aggregate() {
    // 64 times 75 bytes take 160 us, after 34 + 125 us of its own.
    let (arrived, _) = arrivals(WifiSpec { reply: Bytes(75), ..fixed() }, 100, "droptail");
    assert_eq!(bursts(&arrived), [(3_359 * US, 64), ((5_318 + 319) * US, 36)]);
}

#[test]
fn lost_packets_are_sent_again_and_all_arrive_in_order() {
    for queue in QueueSpec::NAMES {
        let (arrived, stats) = arrivals(WifiSpec { loss: 0.3, retries: 255, ..fixed() }, 2000, queue);
        assert!(arrived.is_sorted(), "{queue}");
        assert_eq!(stats.drops_impairment, 0, "{queue}");
        assert_eq!(arrived.len() as u64 + stats.drops(), 2000, "{queue}");
    }
}

#[test]
fn a_packet_is_given_up_after_its_retries() {
    // Lost at the first attempt and again with one more: 0.25.
    let (arrived, stats) = arrivals(WifiSpec { loss: 0.5, retries: 1, ..fixed() }, 20_000, "droptail");
    assert_eq!(arrived.len() as u64 + stats.drops_impairment, 20_000);
    assert!((stats.drops_impairment as f64 / 5_000.0 - 1.0).abs() < 0.05, "{}", stats.drops_impairment);
}

#[test]
fn each_attempt_takes_the_overhead_the_header_and_the_packet() {
    // 125 us and 50 us, three times: at first and twice again.
    let (arrived, stats) = arrivals(WifiSpec { loss: 1.0, retries: 2, ..fixed() }, 1, "droptail");
    assert_eq!((arrived.len(), stats.drops_impairment, stats.busy), (0, 1, 3 * 175 * US));
}

#[test]
fn packets_wait_for_the_medium_for_half_of_the_contention_window_on_average() {
    // 15 slots of 9 us at most: 34 + 67.5 us, and 125 + 50 us, if every aggregate has one packet.
    let spec = WifiSpec { aggregate: 1, loss: 0.0, ..WifiSpec::default() };
    let (arrived, _) = arrivals(spec, 20_000, "droptail");
    let mean = arrived.last().map_or(0.0, |last| last.0 as f64 / 20_000.0 / US as f64);
    assert!((mean - 276.5).abs() < 1.0, "{mean}");
}

#[test]
fn a_packet_on_the_air_is_in_service_and_does_not_wait() {
    // The first one has the medium after 34 us and is on the air for 175 us; of the two that arrive meanwhile, one fits.
    let queue = QueueSpec::DropTail(DropTail { limit: Limit::Packets(1), ..DropTail::default() });
    let spec = LinkSpec { rate: Rate(240_000_000), wifi: Some(fixed()), queue, ..LinkSpec::default() };
    let always = Interval { from: Time::ZERO, until: Time::NEVER };
    let mut link = ClockedLink::new(&spec, Stream::new(1, 0, "link:w"), always);
    for (number, at) in [(0, 0), (1, 100 * US), (2, 100 * US)] {
        while link.poll_arrival(Time(at)).is_some() {}
        link.enqueue(Time(at), &Packet::of_size(1458, number));
    }
    assert_eq!(link.stats().drops_queue, 1);
}
