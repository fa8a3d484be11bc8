//! Requirements for every registered queue discipline, on a link that is driven without an event loop: packets are
//! conserved, packets of a flow stay in order, the link is work-conserving, only ECN-capable packets are marked, and
//! results do not depend on the times of polls.

use dumbbell_net::LinkChange;
use dumbbell_net::impairment::Bernoulli;
use dumbbell_net::{
    ClockedLink, DropReason, ImpairmentSpec, LinkSpec, LinkStats, Packet, PacketKind, QueueSpec,
};
use dumbbell_units::{Ecn, Interval, Rate, Stream, Time};

const ALWAYS: Interval = Interval { from: Time::ZERO, until: Time::NEVER };
const DELAY: Time = Time(3_000_000);
/// In bit/s: a byte takes one microsecond.
const RATE: u64 = 8_000_000;

/// Payload of the packets: their number and time of entry.
type Label = (u32, Time);

fn spec(name: &str) -> LinkSpec {
    let queue = QueueSpec::named(name).expect(name);
    LinkSpec { name: "l".into(), rate: Rate(RATE), delay: DELAY, queue, ..LinkSpec::default() }
}

/// Bursty packets of four flows, at about `load` times the rate of the link.
fn traffic(load: f64, count: u32, random: &mut Stream) -> Vec<(Time, Packet<Label>)> {
    let mut at = 0.0;
    let packet = |number: u32| {
        let is_together = random.chance(0.3);
        let size = 40 + (random.uniform() * 1460.0) as u32;
        at += if is_together { 0.0 } else { random.exponential(f64::from(size) * 1e-6 / 0.7 / load) };
        let now = Time::from_secs(at);
        let mut packet = Packet::of_size(size, (number, now));
        packet.flow = (random.uniform() * 4.0) as u32;
        packet.ecn = [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct][packet.flow as usize];
        packet.kind = if packet.flow == 3 { PacketKind::Ack } else { PacketKind::Data };
        (now, packet)
    };
    (0..count).map(packet).collect()
}

#[derive(Debug, Default)]
struct Driven {
    arrived: Vec<(Time, Packet<Label>)>,
    dropped: Vec<(Time, DropReason, Packet<Label>)>,
    stats: LinkStats,
}

impl Driven {
    fn text(&self) -> String {
        format!("{self:?}")
    }

    fn take(&mut self, link: &mut ClockedLink<Label>, now: Time) {
        self.arrived.extend(std::iter::from_fn(|| link.poll_arrival(now)));
        self.dropped.extend(std::iter::from_fn(|| link.poll_drop()));
    }
}

/// Polls a link at each of its events if `is_punctual`, otherwise only when a packet enters.
fn drive(spec: &LinkSpec, traffic: &[(Time, Packet<Label>)], is_punctual: bool) -> Driven {
    let mut link = ClockedLink::new(spec, Stream::new(1, 0, "link:l"), ALWAYS);
    let mut driven = Driven::default();
    for (now, packet) in traffic {
        while is_punctual && link.next_departure() <= *now {
            let at = link.next_departure();
            driven.take(&mut link, at);
        }
        link.enqueue(*now, packet);
        driven.take(&mut link, *now);
    }
    while link.next_departure() < Time::NEVER {
        let at = link.next_departure();
        driven.take(&mut link, at);
    }
    driven.stats = *link.stats();
    driven
}

fn for_all(mut check: impl FnMut(&str, &[(Time, Packet<Label>)])) {
    for name in QueueSpec::NAMES {
        let mut random = Stream::new(7, 0, name);
        for load in [0.5, 0.95, 1.2, 3.0] {
            check(name, &traffic(load, 4000, &mut random));
        }
    }
}

#[test]
fn packets_are_conserved() {
    for_all(|name, traffic| {
        let driven = drive(&spec(name), traffic, true);
        let arrived = driven.arrived.iter().map(|(_, packet)| packet.payload.0);
        let mut numbers: Vec<u32> =
            arrived.chain(driven.dropped.iter().map(|(_, _, packet)| packet.payload.0)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..traffic.len() as u32).collect::<Vec<_>>(), "{name}");
        assert_eq!(driven.stats.drops(), driven.dropped.len() as u64, "{name}");
        assert_eq!(driven.stats.packets, traffic.len() as u64, "{name}");
    });
}

#[test]
fn packets_of_a_flow_stay_in_order() {
    for_all(|name, traffic| {
        let mut last = [None; 4];
        for (_, packet) in drive(&spec(name), traffic, true).arrived {
            let before = last[packet.flow as usize].replace(packet.payload.0);
            assert!(before < Some(packet.payload.0), "{name}: {before:?} before {}", packet.payload.0);
        }
    });
}

#[test]
fn links_are_work_conserving() {
    for_all(|name, traffic| {
        let mut free = Time::ZERO;
        let driven = drive(&spec(name), traffic, true);
        for &(at, packet) in &driven.arrived {
            let ends = at - DELAY;
            let begins = ends - Time(u64::from(packet.size) * 1000);
            // A transmission begins when the previous one ends, or when its packet enters.
            let entered = packet.payload.1;
            assert!(begins == free || begins == entered && entered > free, "{name}: {begins} after {free}");
            free = ends;
        }
        let bytes: u64 = driven.arrived.iter().map(|(_, packet)| u64::from(packet.size)).sum();
        assert_eq!(driven.stats.busy, bytes * 1000, "{name}");
    });
}

#[test]
fn only_ecn_capable_packets_are_marked_and_every_mark_counts() {
    for_all(|name, traffic| {
        let driven = drive(&spec(name), traffic, true);
        let packets = driven.arrived.iter().map(|(_, packet)| packet);
        let packets = packets.chain(driven.dropped.iter().map(|(_, _, packet)| packet));
        let marked: Vec<_> = packets.filter(|packet| packet.ecn == Ecn::Ce).collect();
        assert!(marked.iter().all(|packet| packet.flow.is_multiple_of(2)), "{name}");
        assert_eq!(driven.stats.marks, marked.len() as u64, "{name}");
    });
}

#[test]
fn results_do_not_depend_on_the_times_of_polls() {
    for_all(|name, traffic| {
        let changes = vec![
            LinkChange { at: Time(500_000_000), rate: Some(Rate(RATE / 3)), delay: None },
            LinkChange { at: Time(900_000_000), rate: Some(Rate(RATE)), delay: Some(Time(1_000_000)) },
        ];
        let impairments = vec![ImpairmentSpec::Bernoulli(Bernoulli { probability: 0.02 })];
        let spec = LinkSpec { changes, impairments, ..spec(name) };
        let punctual = drive(&spec, traffic, true);
        assert_eq!(punctual.text(), drive(&spec, traffic, false).text(), "{name}");
        assert_eq!(punctual.text(), drive(&spec, traffic, true).text(), "{name}");
        assert!(punctual.arrived.is_sorted_by_key(|&(at, _)| at), "{name}");
    });
}

#[test]
fn nothing_is_dropped_at_light_load() {
    for name in QueueSpec::NAMES {
        let traffic = traffic(0.2, 2000, &mut Stream::new(3, 0, name));
        assert_eq!(drive(&spec(name), &traffic, true).dropped.len(), 0, "{name}");
    }
}

#[test]
fn fractions_of_a_nanosecond_add_up_in_a_busy_period_alone() {
    // At 3 Mbit/s, 1000 bytes take 2 666 666 2/3 ns.
    let ends = |name: &str, spacing: u64| {
        let spec = LinkSpec { rate: Rate(3_000_000), delay: Time::ZERO, ..spec(name) };
        let packet = |number: u32| {
            let now = Time(u64::from(number) * spacing);
            (now, Packet::of_size(1000, (number, now)))
        };
        let arrived = drive(&spec, &(0..3).map(packet).collect::<Vec<_>>(), true).arrived;
        arrived.iter().map(|(at, packet)| (*at - packet.payload.1).0).collect::<Vec<_>>()
    };
    for name in QueueSpec::NAMES {
        assert_eq!(ends(name, 0), [2_666_666, 5_333_333, 8_000_000], "{name}");
        assert_eq!(ends(name, 10_000_000), [2_666_666; 3], "{name}");
    }
}
