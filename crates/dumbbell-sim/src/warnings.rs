//! Warnings about valid settings without effect, which a sweep may produce.

use crate::flows::{FlowSpec, Start};
use crate::network::Routes;
use crate::quantity::Measure;
use crate::scenario::{Chosen, Scenario};
use dumbbell_units::{Ecn, Limit, Time};
use std::collections::BTreeMap;

/// The largest packet of a stack that is not ours, in bytes: what Ethernet carries.
const CARRIED: u64 = 1500;
/// Names in one warning; the others are counted.
const MOST_LISTED: usize = 20;

impl Scenario {
    /// One sentence for each part of the scenario that has no effect or not the apparent one. It begins with the path
    /// of the field.
    pub fn warnings(&self) -> Vec<String> {
        let mut found = Vec::new();
        for link in &self.links {
            for (index, change) in link.changes.iter().enumerate() {
                self.never(&mut found, || format!("links.{}.changes.{index}.at", link.name), change.at);
            }
        }
        for link in &self.links {
            for (index, outage) in link.outages.iter().enumerate() {
                self.never(&mut found, || format!("links.{}.outages.{index}.from", link.name), outage.from);
            }
        }
        for flow in &self.flows {
            self.warn_of_times(&mut found, flow);
        }
        self.warn_of_packets_beyond_queues(&mut found);
        self.warn_of_probes(&mut found);
        found
    }

    fn never(&self, found: &mut Vec<String>, path: impl Fn() -> String, at: Time) {
        if at >= self.duration {
            found.push(format!(
                "{}: {at} is not before the end, {}; it has no effect",
                path(),
                self.duration
            ));
        }
    }

    fn warn_of_times(&self, found: &mut Vec<String>, flow: &FlowSpec) {
        let path = |member: &str| format!("flows.{}.{member}", flow.name);
        match flow.start {
            Start::At(at) | Start::Uniform(at, _) if at >= self.duration => {
                let text = format!("{at} is not before the end, {}; the flow never starts", self.duration);
                found.push(format!("{}: {text}", path("start")));
            }
            Start::Uniform(_, latest) if latest > self.duration => {
                let text = format!("{latest} is after the end, {}; the flow may never start", self.duration);
                found.push(format!("{}: {text}", path("start.uniform")));
            }
            _ => {}
        }
        if flow.writes_messages() && flow.source.ecn() != Ecn::NotEct {
            let setter = if flow.tcp.is_some() { "TCP" } else { "the transport" };
            found.push(format!("{}: {setter} sets the codepoint; it has no effect", path("source.ecn")));
        }
        for (index, restart) in flow.restarts.iter().enumerate() {
            self.never(found, || path(&format!("restarts.{index}.start")), restart.start);
        }
        for (index, change) in flow.reroutes.iter().enumerate() {
            self.never(found, || path(&format!("reroutes.{index}.at")), change.at);
        }
    }

    /// A queue of bytes that is smaller than a packet drops it, unless the link is idle.
    fn warn_of_packets_beyond_queues(&self, found: &mut Vec<String>) {
        let limits: Vec<Option<u64>> = self
            .links
            .iter()
            .map(|link| match link.queue.room() {
                Limit::Bytes(limit) => Some(limit),
                _ => None,
            })
            .collect();
        if limits.iter().all(Option::is_none) {
            return;
        }
        let Ok(routes) = Routes::new(self) else { return };
        // For each link, the largest packet that exceeds its queue, and its flow.
        let mut beyond: BTreeMap<usize, (u64, &str)> = BTreeMap::new();
        for (number, flow) in self.flows.iter().enumerate() {
            let (data, acknowledgement) = largest_packets(flow);
            let ways = std::iter::once(routes.begins[number]).chain(
                routes.reroutes.iter().filter(|change| change.flow as usize == number).map(|c| c.begins),
            );
            for (there, back) in ways {
                for (begin, size) in [(there, data), (back, acknowledgement)] {
                    for link in routes.links_from(begin) {
                        let largest = beyond.get(&link).map_or(0, |&(size, _)| size);
                        if limits[link].is_some_and(|limit| size > limit) && size > largest {
                            beyond.insert(link, (size, &flow.name));
                        }
                    }
                }
            }
        }
        for (link, (size, flow)) in beyond {
            let (name, limit) = (&self.links[link].name, limits[link].unwrap_or_default());
            found.push(format!(
                "links.{name}.queue.limit: {limit} bytes is less than a packet of {flow}, {size} bytes, which is dropped \
                 unless the link is idle"
            ));
        }
    }

    fn warn_of_probes(&self, found: &mut Vec<String>) {
        for (index, probe) in self.probes.iter().enumerate() {
            let path = |member: &str| format!("probes.{index}.{member}");
            let of_links = probe.quantities.iter().any(|quantity| quantity.is_of_link());
            let of_flows = probe.quantities.iter().any(|quantity| !quantity.is_of_link());
            for (member, names, has_any) in
                [("links", &probe.links, of_links), ("flows", &probe.flows, of_flows)]
            {
                if !names.is_empty() && !has_any {
                    found.push(format!(
                        "{}: {} without a quantity of {member}; nothing is recorded for them",
                        path(member),
                        listed(names)
                    ));
                }
            }
            for &quantity in &probe.quantities {
                let names = if quantity.is_of_link() { &probe.links } else { &probe.flows };
                let chosen = Chosen::new(names);
                let reason = if quantity.is_of_link() {
                    let mut links = self.links.iter().filter(|link| chosen.contains(&link.name));
                    let never = quantity.is(Measure::Losses) && links.all(|link| !link.loses_packets());
                    never.then_some("none of these links has impairments or outages that lose packets")
                } else {
                    let mut flows = self.flows.iter().filter(|flow| chosen.contains(&flow.name));
                    let lacks = |flow: &FlowSpec| {
                        let has_no_tcp = flow.tcp.is_none() && flow.transport.is_none();
                        has_no_tcp && !(quantity.is(Measure::Rtt) && flow.source.echoes())
                    };
                    let never = !quantity.is(Measure::Delivered) && flows.all(lacks);
                    never.then_some("sources of datagrams have no TCP")
                };
                if let Some(reason) = reason {
                    let name = quantity.name();
                    found.push(format!(
                        "{}: {name} for {}: {reason}; nothing is recorded",
                        path("quantities"),
                        listed(names)
                    ));
                }
            }
        }
    }
}

/// Names for a sentence; of many, the first.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_LISTED);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The largest packet of data, and of acknowledgements without SACK blocks or of reports, that a flow sends, in bytes on the wire.
pub(crate) fn largest_packets(flow: &FlowSpec) -> (u64, u64) {
    if flow.transport.is_some() {
        return (CARRIED, CARRIED);
    }
    let Some(tcp) = &flow.tcp else {
        let report = flow.source.reports().map_or(0, |(_, size)| size.0);
        return (flow.source.packet().map_or(0, |packet| packet.0), report);
    };
    let sizes = tcp.0.wire_sizes();
    let segment = sizes.segment(tcp.0.mss.0 as u32);
    (u64::from(segment), u64::from(sizes.acknowledgement(&dumbbell_tcp::SackBlocks::default())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Warnings about a scenario with one flow over one link each way, after replacing some members.
    fn warnings(changes: &[(&str, Value)]) -> Vec<String> {
        let mut scenario = json!({
            "duration": "10 s", "rules": "classic",
            "nodes": ["a", "b"],
            "links": [
                { "name": "ab", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms" },
                { "name": "ba", "from": "b", "to": "a", "rate": "1 Mbit/s", "delay": "1 ms" },
            ],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "reno" }],
        });
        for (pointer, value) in changes {
            let (parent, member) = pointer.rsplit_once('/').unwrap();
            scenario.pointer_mut(parent).unwrap()[member] = value.clone();
        }
        Scenario::from_value(&scenario).unwrap().warnings()
    }

    #[test]
    fn times_within_the_run_give_no_warning() {
        assert_eq!(warnings(&[]), [""; 0]);
        let probes =
            json!([{ "flows": ["*"], "quantities": ["cwnd"] }, { "links": ["ab"], "quantities": ["drops"] }]);
        assert_eq!(warnings(&[("/probes", probes), ("/flows/0/start", json!("9.9 s"))]), [""; 0]);
    }

    #[test]
    fn times_after_the_end_give_warnings() {
        let of = |pointer, value| warnings(&[(pointer, value)]);
        assert_eq!(
            of("/flows/0/start", json!("10 s")),
            ["flows.f.start: 10 s is not before the end, 10 s; the flow never starts"]
        );
        assert_eq!(
            of("/flows/0/start", json!({ "uniform": ["5 s", "11 s"] })),
            ["flows.f.start.uniform: 11 s is after the end, 10 s; the flow may never start"]
        );
        assert_eq!(
            of("/links/0/changes", json!([{ "at": "12 s", "rate": "2 Mbit/s" }])),
            ["links.ab.changes.0.at: 12 s is not before the end, 10 s; it has no effect"]
        );
        assert_eq!(
            of("/flows/0/reroutes", json!([{ "at": "12 s", "path": ["ab"] }])),
            ["flows.f.reroutes.0.at: 12 s is not before the end, 10 s; it has no effect"]
        );
        let again = [("/flows/0/stop", json!("2 s")), ("/flows/0/restarts", json!([{ "start": "12 s" }]))];
        assert_eq!(
            warnings(&again),
            ["flows.f.restarts.0.start: 12 s is not before the end, 10 s; it has no effect"]
        );
    }

    #[test]
    fn a_queue_smaller_than_a_packet_gives_one_warning_per_link() {
        // A segment of 1000 bytes with 40 bytes of headers, an acknowledgement of 40 bytes.
        let limited = |ab: &str, ba: &str| {
            let queue = |limit: &str| json!({ "kind": "droptail", "limit": limit });
            let tcp = json!({ "variant": "reno", "mss": "1000 bytes" });
            warnings(&[("/links/0/queue", queue(ab)), ("/links/1/queue", queue(ba)), ("/flows/0/tcp", tcp)])
        };
        assert_eq!(limited("1040 bytes", "40 bytes"), [""; 0]);
        assert_eq!(
            limited("1039 bytes", "39 bytes"),
            [
                "links.ab.queue.limit: 1039 bytes is less than a packet of f, 1040 bytes, which is dropped unless the link is idle",
                "links.ba.queue.limit: 39 bytes is less than a packet of f, 40 bytes, which is dropped unless the link is idle",
            ]
        );
    }

    #[test]
    fn probes_without_effect_give_warnings() {
        let of = |probe: Value| warnings(&[("/probes", json!([probe]))]);
        assert_eq!(
            of(json!({ "links": ["*"], "quantities": ["losses"] })),
            [
                "probes.0.quantities: losses for *: none of these links has impairments or outages that lose packets; nothing is recorded"
            ]
        );
        assert_eq!(
            of(json!({ "flows": ["f"], "links": ["ab", "ba"], "quantities": ["cwnd"] })),
            ["probes.0.links: ab, ba without a quantity of links; nothing is recorded for them"]
        );
        let datagrams = [
            ("/flows", json!([{ "name": "f", "from": "a", "to": "b", "source": "cbr" }])),
            ("/probes", json!([{ "flows": ["f"], "quantities": ["cwnd", "delivered"] }])),
        ];
        assert_eq!(
            warnings(&datagrams),
            ["probes.0.quantities: cwnd for f: sources of datagrams have no TCP; nothing is recorded"]
        );
    }
}
