//! Packets on `Paths` fare as those of the simulation: the same departures, drops, marks and backlogs.

use crate::common::outcome_of;
use dumbbell_net::{Packet, PacketKind};
use dumbbell_sim::flows::{FlowSpec, Start};
use dumbbell_sim::paths::{Crossing, Delivery, Direction, LinkEvent, Paths};
use dumbbell_sim::{LinkOutcome, Outcome, Scenario};
use dumbbell_units::random::name_hash;
use dumbbell_units::{Ecn, Stream, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SEED: u64 = 7;

/// A packet that a datagram flow of a scenario sends: when, the index of the flow, and its size.
type Sending = (Time, u32, u32);

/// Everything that datagram flows send up to the end of a scenario, in the order of the event loop.
fn sendings(scenario: &Scenario) -> Vec<Sending> {
    let mut all = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let mut random = Stream::new(SEED, 0, &format!("flow:{}:traffic", flow.name));
        let Some(mut state) = flow.source.start_datagrams(&mut random) else { continue };
        let Start::At(start) = flow.start else { panic!("{} has no fixed start", flow.name) };
        while let Some(emission) = flow.source.next_datagrams(&mut state, &mut random) {
            let at = start + emission.after_start;
            if at > scenario.duration {
                break;
            }
            all.extend(emission.sizes().map(|size| (at, index as u32, size)));
        }
    }
    all.sort_by_key(|&(at, flow, _)| (at, flow));
    all
}

/// The label by which queues distinguish a datagram flow.
fn label(flow: &FlowSpec) -> u32 {
    name_hash(&flow.name) as u32
}

/// What is recorded of paths.
struct Carried {
    deliveries: Vec<Delivery<u32>>,
    /// Times and links of drops.
    drops: Vec<(f64, u32)>,
    paths: Paths<u32>,
}

/// Paths whose backlogs are traced.
fn traced(scenario: &Scenario) -> Paths<u32> {
    let mut paths = Paths::new(scenario, SEED, 0).expect("paths");
    (0..scenario.links.len() as u32).for_each(|link| paths.trace_backlog(link));
    paths
}

fn take_losses(paths: &mut Paths<u32>, drops: &mut Vec<(f64, u32)>) {
    drops.extend(std::iter::from_fn(|| paths.poll_loss()).map(|loss| (loss.at.secs(), loss.link)));
}

/// Carries what the flows send. `tick` gives the times at which the driver is awake: it then takes in everything sent
/// up to now, at the times of sending, and polls. `None` is a driver that is never late.
fn carry(scenario: &Scenario, tick: Option<&mut dyn FnMut() -> u64>) -> Carried {
    let mut paths = traced(scenario);
    let (mut deliveries, mut drops) = (Vec::new(), Vec::new());
    let sendings = sendings(scenario);
    let enter = |paths: &mut Paths<u32>, number: usize| {
        let (at, flow, size) = sendings[number];
        let packet =
            Packet { flow: label(&scenario.flows[flow as usize]), ..Packet::of_size(size, number as u32) };
        assert_eq!(paths.enter(at, flow, Direction::Forward, &packet), Some(at));
    };
    let mut next = 0;
    if let Some(tick) = tick {
        let mut now = Time::ZERO;
        while now < scenario.duration {
            now = (now + Time(tick())).min(scenario.duration);
            while next < sendings.len() && sendings[next].0 <= now {
                enter(&mut paths, next);
                next += 1;
            }
            deliveries.extend(std::iter::from_fn(|| paths.poll(now)));
            take_losses(&mut paths, &mut drops);
        }
    } else {
        loop {
            let sending = sendings.get(next).map_or(Time::NEVER, |&(at, ..)| at);
            let deadline = paths.next_deadline();
            if sending.min(deadline) > scenario.duration {
                break;
            }
            if deadline <= sending {
                let polled = paths.poll(deadline);
                assert!(polled.is_none_or(|delivery| delivery.at == deadline), "a poll on time is not late");
                deliveries.extend(polled);
            } else {
                enter(&mut paths, next);
                next += 1;
            }
            take_losses(&mut paths, &mut drops);
        }
    }
    paths.end(scenario.duration);
    deliveries.extend(std::iter::from_fn(|| paths.poll(scenario.duration)));
    take_losses(&mut paths, &mut drops);
    Carried { deliveries, drops, paths }
}

/// The times and values of a recording of the simulation.
fn recorded(outcome: &Outcome, name: &str, quantity: &str) -> Vec<(f64, f64)> {
    let mut all = outcome.recordings.iter();
    let found = all.find(|recording| recording.name == name && recording.quantity.name() == quantity);
    let found = found.unwrap_or_else(|| panic!("no {quantity} of {name}"));
    found.times.iter().copied().zip(found.values.iter().copied()).collect()
}

/// Links on paths have the counters, backlogs and drops of those of the simulation.
fn assert_same_links(scenario: &Scenario, outcome: &Outcome, carried: &mut Carried, what: &str) {
    let end = scenario.duration.secs();
    let window = scenario.measure_until().since(scenario.measure_from);
    for (index, link) in scenario.links.iter().enumerate() {
        let name = &link.name;
        let here = LinkOutcome::new(name, carried.paths.stats(index as u32), None, window);
        assert_eq!(format!("{here:?}"), format!("{:?}", outcome.links[index]), "{what}");
        let mut last = None;
        let mut backlog: Vec<(f64, f64)> = Vec::new();
        for change in carried.paths.take_backlog(index as u32) {
            if last.replace(change.waiting) != Some(change.waiting) && change.at <= scenario.duration {
                backlog.push((change.at.secs(), change.waiting as f64));
            }
        }
        assert!(backlog == recorded(outcome, name, "backlog"), "backlog of {name}, {what}");
        let drops = carried.drops.iter().filter(|&&(at, of)| of == index as u32 && at <= end);
        let drops: Vec<f64> = drops.map(|&(at, _)| at).collect();
        let simulated: Vec<f64> = recorded(outcome, name, "drops").iter().map(|&(at, _)| at).collect();
        assert!(drops == simulated, "drops of {name}, {what}");
    }
}

/// A row of routers with two links from each to the next, hosts at the routers, and datagram flows between them.
fn random_network(draw: &mut impl FnMut(usize) -> usize) -> Value {
    let routers = 2 + draw(3);
    let mut nodes: Vec<Value> =
        (0..routers).map(|n| json!({ "name": format!("r{n}"), "aqt": draw(2) == 0 })).collect();
    let mut links = Vec::new();
    let link = |name: String, from: String, to: String, rate: &str, delay: &str| json!({ "name": name, "from": from, "to": to, "rate": rate, "delay": delay });
    let queue = |draw: &mut dyn FnMut(usize) -> usize| match draw(7) {
        0 => json!({ "kind": "codel", "target": "2 ms", "interval": "20 ms" }),
        1 => json!({ "kind": "fqcodel", "target": "2 ms", "interval": "20 ms" }),
        2 => json!({ "kind": "red", "minimum": "4 packets", "maximum": "12 packets" }),
        3 => json!({ "kind": "policer", "rate": "3 Mbit/s", "burst": "10 kB" }),
        _ => json!({ "kind": "droptail", "limit": format!("{} packets", 3 + draw(20)) }),
    };
    for n in 0..routers - 1 {
        for side in ["a", "b"] {
            let delay = ["0 s", "1 ms", "7 ms", "20 ms"][draw(4)];
            let mut new =
                link(format!("{side}{n}"), format!("r{n}"), format!("r{}", n + 1), "4 Mbit/s", delay);
            new["queue"] = queue(draw);
            if draw(4) == 0 {
                new["impairments"] = json!([{ "kind": "bernoulli", "probability": 0.02 }]);
            }
            if draw(4) == 0 {
                new["changes"] = json!([{ "at": "700 ms", "delay": "12 ms" }, { "at": "1.3 s", "rate": "2 Mbit/s", "delay": "4 ms" }]);
            }
            links.push(new);
        }
    }
    let flows: Vec<Value> = (0..2 + draw(5))
        .map(|number| {
            let first = draw(routers - 1);
            let last = first + 1 + draw(routers - 1 - first);
            let (from, to) = (format!("s{number}"), format!("d{number}"));
            nodes.extend([json!(from), json!(to)]);
            let delay = ["0 s", "1 ms", "3 ms"][draw(3)];
            links.push(link(format!("in{number}"), from.clone(), format!("r{first}"), "10 Mbit/s", delay));
            links.push(link(format!("out{number}"), format!("r{last}"), to.clone(), "10 Mbit/s", delay));
            let source = match draw(3) {
                0 => json!({ "kind": "cbr", "rate": "2 Mbit/s", "packet": "1000 bytes" }),
                1 => json!({ "kind": "poisson", "rate": "1.5 Mbit/s", "packet": "600 bytes" }),
                _ => json!({ "kind": "onoff", "rate": "6 Mbit/s", "packet": "1400 bytes", "on": "30 ms", "off": "40 ms" }),
            };
            let way = |draw: &mut dyn FnMut(usize) -> usize| {
                let mut path = vec![format!("in{number}")];
                path.extend((first..last).map(|n| format!("{}{n}", ["a", "b"][draw(2)])));
                path.push(format!("out{number}"));
                path
            };
            let mut flow = json!({ "name": format!("f{number}"), "from": from, "to": to, "source": source,
                "start": format!("{} ms", draw(500)), "path": way(draw) });
            if draw(3) == 0 {
                flow["reroutes"] = json!([{ "at": "900 ms", "path": way(draw) }]);
            }
            flow
        })
        .collect();
    json!({ "duration": "2 s", "rules": "classic", "measure_from": "300 ms", "nodes": nodes, "links": links, "flows": flows,
        "probes": [{ "links": ["*"], "quantities": ["backlog", "drops"] }, { "flows": ["*"], "quantities": ["delivered"] }] })
}

#[test]
fn datagrams_on_random_networks_fare_as_in_the_simulation() {
    let mut random = Stream::new(1, 0, "paths");
    let mut draw = move |below: usize| (random.uniform() * below as f64) as usize;
    let (mut drops, mut delivered) = (0, 0);
    for number in 0..300 {
        let value = random_network(&mut draw);
        let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{error}: {value:#}"));
        let outcome = outcome_of(&value, SEED);
        let mut lateness = Stream::new(1, number, "lateness");
        let mut tick = || (lateness.uniform() * 30e6) as u64 + 1;
        for is_late in [false, true] {
            let what = format!("network {number}, late: {is_late}: {value}");
            let mut carried = carry(&scenario, if is_late { Some(&mut tick) } else { None });
            assert_same_links(&scenario, &outcome, &mut carried, &what);
            let mut bytes = BTreeMap::new();
            let mut all: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
            for Delivery { at, flow, packet, .. } in &carried.deliveries {
                let sum = bytes.entry(flow).or_insert(0.0);
                *sum += f64::from(packet.size);
                all.entry(*flow).or_default().push((at.secs(), *sum));
            }
            for (index, flow) in scenario.flows.iter().enumerate() {
                let here = all.remove(&(index as u32)).unwrap_or_default();
                assert!(here == recorded(&outcome, &flow.name, "delivered"), "{} of {what}", flow.name);
            }
            let (here, there) = (carried.paths.conservation(), outcome.conservation);
            assert!(here.holds(), "{here:?}");
            assert_eq!((here.sent, here.delivered), (there.sent, there.delivered), "{what}");
            drops += carried.drops.len();
            delivered += carried.deliveries.len();
        }
    }
    assert!(drops > 10_000 && delivered > 100_000, "{drops} drops, {delivered} deliveries");
}

/// Greedy flows with ECN whose data shares a bottleneck under `queue`, and whose acknowledgements share the way back.
fn with_ecn(queue: &str) -> Value {
    let mut nodes = vec![json!("r1"), json!("r2")];
    let link = |from: &str, to: &str, rate: &str, delay: &str| json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": rate, "delay": delay });
    let mut links = vec![link("r1", "r2", "4 Mbit/s", "5 ms"), link("r2", "r1", "1 Mbit/s", "5 ms")];
    links[0]["queue"] = json!({ "kind": queue });
    links[0]["impairments"] = json!([{ "kind": "bernoulli", "probability": 0.003 }]);
    let mut flows = Vec::new();
    for number in 0..4 {
        let (from, to) = (format!("s{number}"), format!("d{number}"));
        for (host, router) in [(&from, "r1"), (&to, "r2")] {
            links.push(link(host, router, "7 Mbit/s", &format!("{} us", 2000 + 371 * number)));
            links.push(link(router, host, "7 Mbit/s", &format!("{} us", 2000 + 371 * number)));
            nodes.push(json!(host));
        }
        let tcp = json!({ "variant": "newreno", "ecn": "classic", "handshake": false });
        flows.push(json!({ "name": format!("f{number}"), "from": from, "to": to, "tcp": tcp,
            "start": format!("{} ms", 37 * number) }));
    }
    json!({ "duration": "10 s", "rules": "classic", "measure_from": "1 s", "nodes": nodes, "links": links, "flows": flows,
        "probes": [{ "links": ["*"], "quantities": ["backlog", "drops"] }, { "flows": ["*"], "quantities": ["seq_sent"] }] })
}

#[test]
fn data_and_acknowledgements_of_tcp_are_marked_and_dropped_as_in_the_simulation() {
    for queue in ["codel", "fqcodel", "red"] {
        let value = with_ecn(queue);
        let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{error}"));
        let outcome = outcome_of(&value, SEED);
        // The data: first transmissions are ECN-capable, retransmissions are not (RFC 3168 §6.1.5).
        let mut data = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let mut next = 0.0;
            for (at, seq) in recorded(&outcome, &flow.name, "seq_sent") {
                let ecn = if seq >= next { Ecn::Ect0 } else { Ecn::NotEct };
                next = next.max(seq + 1.0);
                data.push((Time((at * 1e9).round() as u64), index as u32, ecn));
            }
        }
        data.sort_by_key(|&(at, flow, _)| (at, flow));
        let mut carried = Carried { deliveries: Vec::new(), drops: Vec::new(), paths: traced(&scenario) };
        let paths = &mut carried.paths;
        let mut next = 0;
        loop {
            let sending = data.get(next).map_or(Time::NEVER, |&(at, ..)| at);
            let deadline = paths.next_deadline();
            if sending.min(deadline) > scenario.duration {
                break;
            }
            if deadline <= sending {
                // Every segment is acknowledged when it arrives.
                let arrived = paths.poll(deadline).filter(|packet| packet.direction == Direction::Forward);
                if let Some(Delivery { at, flow, packet, .. }) = arrived {
                    let tcp = scenario.flows[flow as usize].tcp.as_ref().expect("tcp");
                    let size = tcp.0.wire_sizes().acknowledgement(&Default::default());
                    let (kind, flow_label) = (PacketKind::Ack, !packet.flow);
                    let ack = Packet { kind, flow: flow_label, ..Packet::of_size(size, 0) };
                    paths.enter(at, flow, Direction::Reverse, &ack);
                }
            } else {
                let (at, flow, ecn) = data[next];
                let spec = &scenario.flows[flow as usize];
                let tcp = spec.tcp.as_ref().expect("tcp");
                let size = tcp.0.wire_sizes().segment(tcp.0.mss.0 as u32);
                let packet =
                    Packet { kind: PacketKind::Data, ecn, flow: label(spec), ..Packet::of_size(size, 0) };
                paths.enter(at, flow, Direction::Forward, &packet);
                next += 1;
            }
            take_losses(paths, &mut carried.drops);
        }
        carried.paths.end(scenario.duration);
        take_losses(&mut carried.paths, &mut carried.drops);
        assert_same_links(&scenario, &outcome, &mut carried, queue);
        let bottleneck = &outcome.links[0];
        assert!(bottleneck.marks > 50 && bottleneck.drops_impairment > 0, "{queue}: {bottleneck:?}");
    }
}

#[test]
fn queueing_times_are_those_beyond_service_and_propagation() {
    // Two hops of 8 Mbit/s and 5 ms: 1000 bytes take 1 ms and 5 ms at each. Only the first node stamps.
    let value = json!({
        "duration": "1 s", "rules": "classic", "nodes": [{ "name": "a", "aqt": true }, "b", "c"],
        "links": [
            { "name": "ab", "from": "a", "to": "b", "rate": "8 Mbit/s", "delay": "5 ms" },
            { "name": "bc", "from": "b", "to": "c", "rate": "4 Mbit/s", "delay": "5 ms", "queue": "codel" },
        ],
        "flows": [{ "name": "f", "from": "a", "to": "c", "source": { "kind": "cbr", "rate": "1 Mbit/s" } }],
    });
    let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{error}"));
    let mut paths = Paths::new(&scenario, 1, 0).expect("paths");
    paths.watch_links();
    for number in 0..3 {
        paths.enter(Time::ZERO, 0, Direction::Forward, &Packet::of_size(1000, number));
    }
    let arrived: Vec<_> = std::iter::from_fn(|| paths.poll(Time::NEVER))
        .map(|delivery| (delivery.at.0, delivery.packet.queueing.0, delivery.packet.payload))
        .collect();
    // Departures from b at 8, 10 and 12 ms; waiting at a for 0, 1 and 2 ms.
    let ms = 1_000_000;
    assert_eq!(arrived, [(13 * ms, 0, 0), (15 * ms, ms, 1), (17 * ms, 2 * ms, 2)]);
    let steps: Vec<LinkEvent> = std::iter::from_fn(|| paths.poll_link_event()).collect();
    let of = |link, crossing| {
        let events = steps.iter().filter(move |event| event.link == link && event.crossing == crossing);
        events.map(|event| event.at.0 / ms).collect::<Vec<_>>()
    };
    assert_eq!((of(0, Crossing::Enters), of(0, Crossing::Departs)), (vec![0, 0, 0], vec![1, 2, 3]));
    assert_eq!((of(1, Crossing::Enters), of(1, Crossing::Departs)), (vec![6, 7, 8], vec![8, 10, 12]));
}

#[test]
fn a_late_packet_enters_at_the_time_of_the_latest_event() {
    let value = json!({
        "duration": "1 s", "rules": "classic", "nodes": ["a", "b"],
        "links": [{ "name": "ab", "from": "a", "to": "b", "rate": "8 Mbit/s", "delay": "5 ms" }],
        "flows": [{ "name": "f", "from": "a", "to": "b", "source": { "kind": "cbr", "rate": "1 Mbit/s" } }],
    });
    let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{error}"));
    let mut paths = Paths::new(&scenario, 1, 0).expect("paths");
    let packet = Packet::of_size(1000, ());
    let ms = |number: u64| Time(number * 1_000_000);
    assert_eq!(paths.enter(ms(1), 0, Direction::Forward, &packet), Some(ms(1)));
    // Nothing has happened since: the time of the poll does not matter.
    assert!(paths.poll(ms(6)).is_none());
    assert_eq!(paths.enter(ms(2), 0, Direction::Forward, &packet), Some(ms(2)));
    // The first packet arrives at 7 ms.
    assert_eq!(paths.poll(ms(7)).map(|delivery| delivery.at), Some(ms(7)));
    assert_eq!(paths.enter(ms(3), 0, Direction::Forward, &packet), Some(ms(7)));
    paths.settle(ms(20));
    assert_eq!(paths.enter(ms(8), 0, Direction::Forward, &packet), Some(ms(20)));
    let rest: Vec<_> = std::iter::from_fn(|| paths.poll(Time::NEVER)).map(|delivery| delivery.at).collect();
    assert_eq!(rest, [ms(8), ms(13), ms(26)]);
    // A flow of datagrams has no way back, and there is only one flow.
    assert_eq!(paths.enter(ms(30), 0, Direction::Reverse, &packet), None);
    assert_eq!(paths.enter(ms(30), 1, Direction::Forward, &packet), None);
    assert_eq!(paths.conservation().sent, 4);
}
