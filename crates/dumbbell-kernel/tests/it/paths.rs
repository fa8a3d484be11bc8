//! The links of a scenario do the same to the packets of a kernel as [`Paths`] does to packets that enter at these times.

use crate::harness::trees;
use dumbbell_kernel::host::LinuxHost;
use dumbbell_net::{LinkStats, Packet, PacketKind};
use dumbbell_sim::capture::{Content, Seen, Sighting, Tap, Watch};
use dumbbell_sim::paths::{Direction, Paths};
use dumbbell_sim::transport::End;
use dumbbell_sim::{Outcome, Scenario, Stated, Supervision, run_unless};
use dumbbell_units::{Ecn, Time, Value};
use serde_json::json;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

const SEED: u64 = 7;

/// A packet at the beginning or at the end of its path.
#[derive(Clone, Debug, PartialEq)]
struct Noticed {
    at: Time,
    flow: u32,
    to: End,
    ecn: Ecn,
    bytes: Arc<[u8]>,
}

/// Notes the packets at both hosts.
#[derive(Default)]
struct Hosts(Mutex<[Vec<Noticed>; 2]>);

impl Tap for Hosts {
    fn watch(&self) -> Watch {
        Watch { nodes: vec![0, 1], senders: false }
    }

    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
        let mut ends = self.0.lock().expect("nothing panics");
        for Sighting { at, node, flow, seen, .. } in sightings {
            let Seen::Packet(packet) = seen else { continue };
            let Content::Carried { to, bytes } = packet.content else { continue };
            let arrives = (node == 1) == (to == End::Receiver);
            ends[usize::from(arrives)].push(Noticed { at, flow, to, ecn: packet.ecn, bytes });
        }
    }
}

/// Two flows of a kernel over links with some fields; and the packets that enter and that arrive.
fn run_of(tree: &str, there: &Value, ecn: bool) -> (Scenario, Outcome, [Vec<Noticed>; 2]) {
    let link = |name: &str, from: &str, to: &str| {
        let mut link = json!({ "name": name, "from": from, "to": to, "rate": "10 Mbit/s", "delay": "20 ms" });
        let fields = there.as_object().expect("fields").clone();
        link.as_object_mut().expect("a link").extend(fields);
        link
    };
    let flow = |name: &str, congestion: &str| {
        let transport = json!({ "name": "linux", "tree": tree, "congestion": congestion, "ecn": ecn });
        json!({ "name": name, "from": "a", "to": "b", "transport": transport, "source": "greedy" })
    };
    let stated = Stated::from_value(&json!({
        "duration": "5 s", "rules": "classic",
        "nodes": ["a", "b"],
        "links": [link("there", "a", "b"), link("back", "b", "a")],
        "flows": [flow("f1", "cubic"), flow("f2", "bbr")],
    }));
    let complete = stated.and_then(|stated| stated.complete(&[LinuxHost::shared()]));
    let scenario = complete.and_then(|stated| stated.bind(&[])).unwrap_or_else(|error| panic!("{error}"));
    let (never, hosts) = (AtomicBool::new(false), Hosts::default());
    let supervision = Supervision { tap: Some(&hosts), ..Supervision::from(&never) };
    let outcome = run_unless(supervision, &scenario, SEED, 0).expect("it is not stopped");
    assert_eq!(outcome.failure, None);
    (scenario, outcome, hosts.0.into_inner().expect("nothing panics"))
}

/// What arrives of packets that enter the paths of a scenario, and the counters of the links.
fn through_paths(scenario: &Scenario, entering: &[Noticed], end: Time) -> (Vec<Noticed>, Vec<LinkStats>) {
    let mut paths = Paths::new(scenario, SEED, 0).expect("paths");
    let mut arrived = Vec::new();
    let mut poll = |paths: &mut Paths<usize>, now| {
        while let Some(delivery) = paths.poll(now) {
            let to = if delivery.direction == Direction::Forward { End::Receiver } else { End::Sender };
            let bytes = entering[delivery.packet.payload].bytes.clone();
            arrived.push(Noticed {
                at: delivery.at,
                flow: delivery.flow,
                to,
                ecn: delivery.packet.ecn,
                bytes,
            });
        }
    };
    for (number, entry) in entering.iter().enumerate() {
        let direction = if entry.to == End::Receiver { Direction::Forward } else { Direction::Reverse };
        let packet = Packet {
            ecn: entry.ecn,
            flow: 2 * entry.flow + u32::from(entry.to == End::Sender),
            kind: PacketKind::CarriedData,
            ..Packet::of_size(entry.bytes.len() as u32, number)
        };
        poll(&mut paths, Time(entry.at.0.saturating_sub(1)));
        assert_eq!(paths.enter(entry.at, entry.flow, direction, &packet), Some(entry.at));
    }
    poll(&mut paths, end);
    paths.end(end);
    (arrived, (0..2).map(|link| *paths.stats(link)).collect())
}

#[test]
fn links_do_to_a_kernel_what_paths_does() {
    let Some(&tree) = trees().first() else { return };
    let limit = |packets| json!({ "kind": "droptail", "limit": format!("{packets} packets") });
    let links = [
        (json!({ "queue": limit(33) }), false),
        (json!({ "queue": { "kind": "fqcodel", "ecn": true } }), true),
        (
            json!({ "queue": { "kind": "red", "ecn": true, "minimum": "5 packets", "maximum": "15 packets" } }),
            true,
        ),
        (
            json!({ "queue": limit(100), "impairments": [
            { "kind": "bernoulli", "probability": 0.005 },
            { "kind": "jitter", "delay": "5 ms" },
            { "kind": "duplicate", "probability": 0.01 },
        ] }),
            false,
        ),
        (
            json!({ "queue": limit(50), "changes": [
            { "at": "1 s", "rate": "2 Mbit/s" },
            { "at": "2 s", "rate": "20 Mbit/s", "delay": "5 ms" },
        ] }),
            false,
        ),
    ];
    for (link, ecn) in links {
        let (scenario, outcome, [entering, expected]) = run_of(tree, &link, ecn);
        let (arrived, stats) = through_paths(&scenario, &entering, Time(5_000_000_000));
        assert!(expected.len() > 2000, "{link}: {} packets", expected.len());
        let differing = arrived.iter().zip(&expected).position(|(one, other)| one != other);
        assert_eq!((differing, arrived.len()), (None, expected.len()), "{link}");
        for (of_run, of_paths) in outcome.links.iter().zip(&stats) {
            let drops =
                [of_run.drops_queue, of_run.drops_early, of_run.drops_policer, of_run.drops_impairment];
            let counted = [
                of_paths.drops_queue,
                of_paths.drops_early,
                of_paths.drops_policer,
                of_paths.drops_impairment,
            ];
            assert_eq!(
                (of_run.packets, drops, of_run.marks),
                (of_paths.packets, counted, of_paths.marks),
                "{link}"
            );
            assert_eq!(of_run.wait_mean_s, of_paths.wait_mean(), "{link}");
        }
    }
}
