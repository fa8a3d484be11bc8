//! Packets leave a link that keeps their order in the order in which they entered it.

use super::{Case, Verdict, applies_if, require};
use crate::packets::Packet;
use crate::paths::{Paths, paths};
use dumbbell_sim::Scenario;
use std::collections::BTreeMap;

/// What is known of the packets of a link.
struct Passage<Identity> {
    /// Their numbers by what they are, until they have left; `None` from then on, and for packets that look alike.
    inside: BTreeMap<Identity, Option<u64>>,
    entered: u64,
    /// The latest number that has left, and when.
    latest: (u64, u64),
    /// The latest number that has left to each link behind it, or to the sender or receiver of a flow.
    latest_to: BTreeMap<Next, u64>,
}

/// Where a packet goes from the end of a link.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Link(usize),
    Host(usize),
}

pub fn holds(case: &Case<'_>) -> Verdict {
    let links = case.scenario.links.iter();
    let is_kept: Vec<bool> = links.map(|link| link.keeps_order() && !link.is_scheduled()).collect();
    applies_if(is_kept.contains(&true))?;
    let (_, packets) = case.run_with_packets(&case.scenario)?;
    compare(&case.scenario, &is_kept, &packets)
}

/// Compares the order of packets behind each link that keeps it with that before the link.
fn compare(scenario: &Scenario, is_kept: &[bool], packets: &[Packet]) -> Verdict {
    let paths = paths(scenario);
    let node = |name: &str| scenario.nodes.iter().position(|node| node.0.name == name);
    let ends: Vec<_> = scenario.links.iter().map(|link| (node(&link.from), node(&link.to))).collect();
    let unused =
        |_| Passage { inside: BTreeMap::new(), entered: 0, latest: (0, 0), latest_to: BTreeMap::new() };
    let mut passages: Vec<_> = ends.iter().map(unused).collect();
    for packet in packets {
        let Paths { forward, reverse } = &paths[packet.flow];
        // After a reroute, the links of a packet are not known.
        let [path] = &(if packet.is_reverse() { reverse } else { forward })[..] else { continue };
        for (hop, &link) in path.iter().enumerate().filter(|(_, link)| is_kept[**link]) {
            let Passage { inside, entered, latest, latest_to } = &mut passages[link];
            if ends[link].1 == Some(packet.node)
                && let Some(number) = inside.get_mut(&packet.identity()).and_then(Option::take)
            {
                let next = path.get(hop + 1).map_or(Next::Host(packet.flow), |&next| Next::Link(next));
                let latest_to = latest_to.entry(next).or_default();
                // Packets that leave together, as after a decrease of the delay, have no order if they part.
                let before = if packet.at == latest.1 { *latest_to } else { latest.0 };
                require(number >= before, || {
                    let name = &scenario.links[link].name;
                    format!("links.{name}: packet {number} leaves after packet {before}, at {} ns", packet.at)
                })?;
                *latest = (*latest).max((number, packet.at));
                *latest_to = number;
            }
            if ends[link].0 == Some(packet.node) {
                *entered += 1;
                let number = *entered;
                inside.entry(packet.identity()).and_modify(|known| *known = None).or_insert(Some(number));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::runner::Runner;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn a_packet_that_overtakes_another_breaks_the_relation() {
        let link = |from: &str, to: &str| json!({ "name": from, "from": from, "to": to, "rate": "1 Mbit/s", "delay": "1 ms" });
        let jitter = json!([{ "kind": "jitter", "delay": "50 ms", "jitter": "50 ms" }]);
        let mut value = json!({
            "duration": "1 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "reno" }],
        });
        let runner = Runner::new(Duration::from_secs(20), None);
        let compared = |value: &serde_json::Value| {
            let scenario = Scenario::from_value(value).expect("a valid scenario");
            let (_, packets) = runner.run_with_packets(&scenario, 1, 0).expect("it ends");
            assert!(packets.len() > 50, "{}", packets.len());
            compare(&scenario, &[true, true], &packets)
        };
        assert_eq!(compared(&value), Ok(()));
        value["links"][0]["impairments"] = jitter;
        assert!(matches!(compared(&value), Err(Exit::Broken(_))));
    }
}
