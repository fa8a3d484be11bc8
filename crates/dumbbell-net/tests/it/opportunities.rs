//! Links with delivery opportunities, against numbers worked by hand.

use dumbbell_net::queues::droptail::DropTail;
use dumbbell_net::{ClockedLink, LinkSpec, OpportunitySpec, Packet, QueueSpec};
use dumbbell_net::{Downtime, Link, Outage};
use dumbbell_units::{Bytes, Interval, Limit, Rate, Stream, Time};

const MS: u64 = 1_000_000;

/// A link with these opportunities in milliseconds, of 1504 bytes, and 20 ms of delay.
fn link(times: &[u64], overhead: u64, queue: QueueSpec) -> ClockedLink<u32> {
    let opportunities =
        OpportunitySpec { times: times.to_vec(), overhead: Bytes(overhead), ..OpportunitySpec::default() };
    let spec = LinkSpec {
        rate: Rate(12_000_000),
        delay: Time(20 * MS),
        queue,
        opportunities: Some(opportunities),
        ..LinkSpec::default()
    };
    let always = Interval { from: Time::ZERO, until: Time::NEVER };
    ClockedLink::new(&spec, Stream::new(1, 0, "link"), always)
}

/// Packets that enter, as microseconds and bytes, and what arrives: microseconds and number of the packet.
fn arrivals(link: &mut ClockedLink<u32>, packets: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut seen = Vec::new();
    let mut poll = |link: &mut ClockedLink<u32>, until: Time| {
        while link.next_departure() <= until && link.next_departure() < Time::NEVER {
            let now = link.next_departure();
            while let Some((at, packet)) = link.poll_arrival(now) {
                seen.push((at.0 / 1000, packet.payload));
            }
        }
    };
    for (number, &(at, size)) in (0..).zip(packets) {
        poll(link, Time(at * 1000));
        link.enqueue(Time(at * 1000), &Packet::of_size(size, number));
    }
    poll(link, Time::NEVER);
    seen
}

#[test]
fn an_opportunity_carries_a_full_packet_and_is_lost_without_one() {
    let mut link = link(&[0, 4, 6, 10], 4, QueueSpec::default());
    // At 0 the first packet is too late for the opportunity of that time, and takes the one at 4 ms; the second takes
    // that at 6 ms. The third misses those up to 10 ms, which is also the beginning of the repetition with a second
    // opportunity, and takes the one at 14 ms.
    let seen = arrivals(&mut link, &[(0, 1500), (1, 1500), (10_000, 1500)]);
    assert_eq!(seen, [(24_000, 0), (26_000, 1), (34_000, 2)]);
    assert_eq!(link.stats().packets, 3);
    // They waited 4, 6 and 4 ms.
    assert_eq!(link.stats().waited, u128::from(14 * MS - 1000));
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    let mut link = link(&[5, 10], 0, QueueSpec::default());
    // 1504 bytes at 5 ms: 600, 600, and 304 of 1000; at 10 ms the other 696, and 808 of 2000; the rest, 1192 bytes, at
    // 15 ms together with 100, which leaves 212 bytes unused.
    let seen = arrivals(&mut link, &[(0, 600), (0, 600), (0, 1000), (0, 2000), (0, 100)]);
    assert_eq!(seen, [(25_000, 0), (25_000, 1), (30_000, 2), (35_000, 3), (35_000, 4)]);
    // What was left is lost: a packet that comes then waits for the next opportunity.
    assert_eq!(arrivals(&mut link, &[(15_000, 100)]), [(40_000, 0)]);
}

#[test]
fn opportunities_at_one_time_carry_one_packet_each() {
    let mut link = link(&[2, 2, 2, 8], 4, QueueSpec::default());
    let seen = arrivals(&mut link, &[(1000, 1500), (1000, 1500), (1000, 1500), (1000, 1500), (1000, 1500)]);
    assert_eq!(seen, [(22_000, 0), (22_000, 1), (22_000, 2), (28_000, 3), (30_000, 4)]);
}

#[test]
fn a_drop_tail_queue_counts_the_first_packet_as_in_service() {
    for (counts_service, admitted) in [(false, 3), (true, 2)] {
        let queue = QueueSpec::DropTail(DropTail { limit: Limit::Packets(2), counts_service });
        let mut link = link(&[100], 4, queue);
        let seen = arrivals(&mut link, &[(0, 1500); 6]);
        assert_eq!(seen.len(), admitted);
        assert_eq!(link.stats().drops_queue, 6 - admitted as u64);
        assert_eq!(seen.last(), Some(&(20_000 + 100_000 * admitted as u64, admitted as u32 - 1)));
    }
}

#[test]
fn codel_acts_on_the_time_that_a_packet_waited_for_its_opportunity() {
    let mut link = link(&[20], 4, QueueSpec::named("codel").expect("a discipline"));
    // 100 packets arrive at twice the capacity of one packet in 20 ms.
    let packets: Vec<(u64, u32)> = (0..100).map(|number| (number * 10_000, 1500)).collect();
    let seen = arrivals(&mut link, &packets);
    let drops = link.stats().drops_early;
    assert!(drops > 5 && seen.len() as u64 + drops == 100, "{drops}");
    assert!(seen.iter().all(|(at, _)| (at - 20_000) % 20_000 == 0));
}

/// Part of a window, both in milliseconds, for which a link with opportunities at 2, 4, 4 and 10 ms of each 10 ms is busy.
/// Five packets of 3004 bytes enter at 1 to 15 ms.
fn busy((from, until): (u64, u64), outages: &[Outage]) -> f64 {
    let opportunities = Some(OpportunitySpec { times: vec![2, 4, 4, 10], ..OpportunitySpec::default() });
    // The nominal rate is a thousandth of that of the opportunities.
    let spec =
        LinkSpec { rate: Rate(4_800), opportunities, outages: outages.to_vec(), ..LinkSpec::default() };
    let window = Interval { from: Time(from * MS), until: Time(until * MS) };
    let mut link = Link::new(&spec, Stream::new(1, 0, "link"), window);
    let Link::Scheduled(scheduled) = &mut link else { panic!("a scheduled link") };
    for at in [1, 3, 7, 11, 15] {
        scheduled.enqueue(Time(at * MS), at, &Packet::of_size(3004, ()));
    }
    scheduled.end(Time(40 * MS));
    link.stats().busy as f64 / MS as f64 / (until - from) as f64
}

#[test]
fn a_link_with_opportunities_is_busy_for_the_fraction_of_their_bytes_that_packets_used() {
    // Each packet takes two opportunities. Those at 2, 4, 4, 10, 12, 14, 14, 20, 22 and 24 ms carry the five packets.
    assert_eq!(busy((0, 20), &[]), 1.0);
    assert_eq!(busy((0, 1), &[]), 0.0);
    // Both ends of the window count, and half of a packet that was begun before: three of three, and three of eight.
    assert_eq!(busy((4, 10), &[]), 1.0);
    assert_eq!(busy((20, 34), &[]), 3.0 / 8.0);
    // Those in an outage are unused: 4, 4 and 10 of the first 8 until 20 ms.
    let outage = Outage { from: Time(3 * MS), until: Time(11 * MS), packets: Downtime::Hold };
    assert_eq!(busy((0, 20), &[outage]), 5.0 / 8.0);
}
