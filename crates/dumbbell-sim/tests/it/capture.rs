//! What a run reports of its packets is complete, in order, and without effect.

use crate::common::{described, many_flows, two_hosts, unlimited, with_flow};
use dumbbell_sim::capture::{Content, Seen, Sighting, Tap, Watch};
use dumbbell_sim::{Outcome, Scenario, Supervision, run, run_unless};
use dumbbell_units::{Ecn, Stream, Time};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps what it takes, and stops the run when that is too much.
struct Keeper {
    watch: Watch,
    seen: Mutex<Vec<Sighting>>,
    most: usize,
    stop: AtomicBool,
}

impl Keeper {
    fn new(watch: &Watch, most: usize) -> Keeper {
        let (seen, stop) = (Mutex::default(), AtomicBool::new(false));
        Keeper { watch: watch.clone(), seen, most, stop }
    }

    fn run(&self, scenario: &Scenario) -> Option<Outcome> {
        run_unless(Supervision { tap: Some(self), ..unlimited(&self.stop) }, scenario, 1, 0)
    }
}

impl Tap for Keeper {
    fn watch(&self) -> Watch {
        self.watch.clone()
    }

    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
        let mut seen = self.seen.lock().unwrap();
        seen.extend(sightings);
        self.stop.store(seen.len() > self.most, Ordering::Relaxed);
    }
}

fn watched(scenario: &Scenario, watch: &Watch) -> (Outcome, Vec<Sighting>) {
    let keeper = Keeper::new(watch, usize::MAX);
    let outcome = keeper.run(scenario).expect("the run is not stopped");
    (outcome, keeper.seen.into_inner().unwrap())
}

fn everything(scenario: &Scenario) -> Watch {
    Watch { nodes: (0..scenario.nodes.len()).collect(), senders: true }
}

/// True for what travels from the receiver of a flow to its sender.
fn is_back(content: &Content) -> bool {
    matches!(content, Content::Ack(_) | Content::Report(_))
}

fn check(name: &str, scenario: &Scenario) {
    let plain = run(scenario, 1, 0);
    let (outcome, seen) = watched(scenario, &everything(scenario));
    assert_eq!(described(&outcome), described(&plain), "{name}");
    assert!(seen.is_sorted_by_key(|sighting| sighting.at), "{name}: out of order");
    assert!(seen.last().is_none_or(|last| last.at.secs() <= outcome.simulated_s), "{name}: after the end");
    // Every packet is seen where it is sent and where it arrives.
    let node =
        |name: &str| scenario.nodes.iter().position(|node| node.0.name == name).expect("a node") as u32;
    let (mut sent, mut arrived) = (0, 0);
    for sighting in &seen {
        let Seen::Packet(packet) = &sighting.seen else { continue };
        let flow = &scenario.flows[sighting.flow as usize];
        let (from, to) = (node(&flow.from), node(&flow.to));
        let (begin, end) = if is_back(&packet.content) { (to, from) } else { (from, to) };
        sent += u64::from(sighting.node == begin);
        arrived += u64::from(sighting.node == end);
        assert_eq!(sighting.is_at_sender, sighting.node == from);
    }
    assert_eq!((sent, arrived), (outcome.conservation.sent, outcome.conservation.delivered), "{name}");
}

#[test]
fn drawn_scenarios_are_seen_whole_and_unchanged() {
    let mut random = Stream::new(1, 0, "capture");
    for number in 0..80 {
        let value = many_flows(&mut |choices| (random.uniform() * choices as f64) as usize);
        check(&format!("scenario {number}"), &Scenario::from_value(&value).expect("a scenario"));
    }
}

/// One greedy flow over a bottleneck of 8 Mbit/s and 10 ms, in which a packet of 1000 bytes takes 1 ms.
fn one_flow(tcp: Value, duration: &str) -> Scenario {
    let mut value = with_flow(two_hosts("8 Mbit/s", "10 ms", json!({})), "f", tcp, json!("greedy"));
    value["duration"] = json!(duration);
    Scenario::from_value(&value).expect("a scenario")
}

#[test]
fn a_packet_is_seen_when_it_reaches_each_node() {
    let tcp = json!({ "mss": "960 bytes", "initial_window": "1 segments", "timestamps": true });
    let scenario = one_flow(tcp, "45 ms");
    let (_, seen) = watched(&scenario, &Watch { nodes: vec![0, 1, 3], senders: false });
    let packets: Vec<(u64, u32, bool)> = seen
        .iter()
        .filter_map(|sighting| match &sighting.seen {
            Seen::Packet(packet) => Some((sighting.at.0, sighting.node, is_back(&packet.content))),
            Seen::Sender(_) | Seen::Shown(_) => None,
        })
        .collect();
    // The first segment: 0.8 us to r1 at 10 Gbit/s, 1 ms and 10 ms to r2, which is not watched, and 0.8 us to h2. Its
    // acknowledgement of 40 bytes: 32 ns to r2, 40 us and 10 ms to r1, and 32 ns to h1.
    let first = [
        (0, 0, false),
        (800, 1, false),
        (11_001_600, 3, false),
        (11_001_600, 3, true),
        (21_041_632, 1, true),
        (21_041_664, 0, true),
        (21_041_664, 0, false),
    ];
    assert_eq!(packets[..7], first);
}

#[test]
fn timestamps_tell_when_packets_were_sent() {
    let scenario = one_flow(json!({ "initial_window": "1 segments", "timestamps": true }), "100 ms");
    let (_, seen) = watched(&scenario, &Watch { nodes: vec![0, 1, 2, 3], senders: false });
    // What each end sent last that reached the other one.
    let (mut data, mut acks): (Vec<Time>, Vec<Time>) = (Vec::new(), Vec::new());
    for sighting in &seen {
        let Seen::Packet(packet) = &sighting.seen else { continue };
        match packet.content {
            Content::Segment(_) if sighting.node == 0 => {
                assert_eq!((packet.sent, packet.echo), (sighting.at, acks.last().copied()));
            }
            Content::Segment(_) if sighting.node == 3 => data.push(packet.sent),
            Content::Ack(_) if sighting.node == 3 => {
                assert_eq!((packet.sent, packet.echo), (sighting.at, data.last().copied()));
            }
            Content::Ack(_) if sighting.node == 0 => acks.push(packet.sent),
            _ => {}
        }
    }
    assert!(data.len() > 5 && acks.len() > 5, "{data:?} {acks:?}");
}

#[test]
fn a_report_was_sent_when_it_left_the_receiver() {
    let mut value = two_hosts("8 Mbit/s", "10 ms", json!({}));
    value["flows"] = json!([{ "name": "f", "from": "h1", "to": "h2", "source": "media" }]);
    let scenario = Scenario::from_value(&value).expect("a scenario");
    let (_, seen) = watched(&scenario, &Watch { nodes: vec![0, 1, 2, 3], senders: false });
    let reports: Vec<(u32, Time, Time)> = seen
        .iter()
        .filter_map(|Sighting { at, node, seen, .. }| match seen {
            Seen::Packet(packet) if matches!(packet.content, Content::Report(_)) => {
                Some((*node, *at, packet.sent))
            }
            _ => None,
        })
        .collect();
    let left: Vec<Time> = reports.iter().filter(|(node, ..)| *node == 3).map(|(_, at, _)| *at).collect();
    let arrived: Vec<Time> = reports.iter().filter(|(node, ..)| *node == 0).map(|(.., sent)| *sent).collect();
    assert!(arrived.len() > 5);
    assert_eq!(arrived, left[..arrived.len()]);
}

#[test]
fn a_mark_is_seen_behind_the_link_that_sets_it() {
    let queue = json!({ "queue": { "kind": "codel", "target": "1 ms", "interval": "10 ms" } });
    let tcp = json!({ "ecn": "classic", "initial_window": "40 segments" });
    let mut value = with_flow(two_hosts("8 Mbit/s", "10 ms", queue), "f", tcp, json!("greedy"));
    value["duration"] = json!("1 s");
    let scenario = Scenario::from_value(&value).expect("a scenario");
    let (outcome, seen) = watched(&scenario, &Watch { nodes: vec![1, 2], senders: false });
    let marked = |node: u32| {
        let marked = seen.iter().filter(|sighting| {
            sighting.node == node && matches!(&sighting.seen, Seen::Packet(packet) if packet.ecn == Ecn::Ce)
        });
        marked.count() as u64
    };
    assert!(outcome.links[1].marks > 5);
    assert_eq!((marked(1), marked(2).min(outcome.links[1].marks)), (0, marked(2)));
    assert!(marked(2) > 5);
}

#[test]
fn a_tap_can_stop_the_run() {
    let scenario = one_flow(json!("reno"), "1000 s");
    let keeper = Keeper::new(&everything(&scenario), 10_000);
    assert!(keeper.run(&scenario).is_none());
    // A thousand events between two reports, of which each is seen at up to four nodes and by the sender.
    assert!(keeper.seen.lock().unwrap().len() < 20_000);
}

#[test]
fn packets_are_seen_at_watched_nodes_and_at_watched_senders_only() {
    let scenario = one_flow(json!({}), "1 s");
    let nodes = |watch: &Watch| {
        let packets = watched(&scenario, watch).1.into_iter();
        let packets = packets.filter(|sighting| matches!(sighting.seen, Seen::Packet(_)));
        packets.map(|sighting| sighting.node).collect::<std::collections::BTreeSet<u32>>()
    };
    // The sender is at node 0, and the receiver at node 3.
    assert_eq!(nodes(&Watch { nodes: vec![], senders: true }), [0].into());
    assert_eq!(nodes(&Watch { nodes: vec![2], senders: false }), [2].into());
    assert_eq!(nodes(&Watch { nodes: vec![3], senders: true }), [0, 3].into());
    assert_eq!(nodes(&Watch { nodes: vec![], senders: false }), [].into());
}
