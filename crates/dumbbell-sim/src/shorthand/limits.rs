//! Limits of queues that are stated as a time or in multiples of a bandwidth-delay product (BDP). They are packets once a
//! scenario is read.
//!
//! A limit of time `t` is `rate * t`, and one of `n` BDP is `n * rate * rtt`, for the rate of the link and the base
//! round-trip time of the connections that cross it: the propagation delays of their paths, there and back. The size of a
//! packet is that of the largest data packet of these connections. The number of packets is rounded to the nearest whole
//! number, and is at least 1.

use super::row::written as exact;
use crate::flows::FlowSpec;
use crate::network::Routes;
use crate::scenario::Scenario;
use crate::warnings::largest_packets;
use dumbbell_net::{LinkSpec, QueueSpec};
use dumbbell_units::quantity::{TIME_UNITS, Unit, amount};
use dumbbell_units::spec::{Field, Node, SpecError};
use dumbbell_units::{Rate, Time, Value};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Bytes of a packet on a link that no flow crosses.
const FULL_PACKET: u64 = 1500;

/// Flows that an error names.
const MOST_NAMED: usize = 5;

const BDP_UNITS: &[Unit] = &[("BDP", 1.0)];

/// A limit that depends on the link and its paths.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extent {
    /// Multiples of the BDP, and the round-trip time if it is stated.
    Bdp(f64, Option<Time>),
    Time(Time),
}

impl Extent {
    fn read(text: &str) -> Option<Extent> {
        if let Some((factor, rtt)) = text.split_once(" of ") {
            return Some(Extent::Bdp(positive(factor, BDP_UNITS)?, Some(duration(rtt)?)));
        }
        let factor = positive(text, BDP_UNITS).map(|factor| Extent::Bdp(factor, None));
        factor.or_else(|| duration(text).map(Extent::Time))
    }
}

fn positive(text: &str, units: &[Unit]) -> Option<f64> {
    amount(text, units).filter(|value| *value > 0.0)
}

fn duration(text: &str) -> Option<Time> {
    positive(text, TIME_UNITS).map(|nanoseconds| Time((nanoseconds + 0.5) as u64))
}

/// A stated limit and what it means on its link.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Name of the link.
    pub link: String,
    /// The limit as stated, such as `1 BDP`.
    pub stated: String,
    /// The limit in packets.
    pub packets: u64,
    /// Bytes of each packet on the wire.
    pub packet_bytes: u64,
    /// Rate of the link.
    pub rate: Rate,
    /// The time that the queue takes to empty at this rate is a multiple of this: the round-trip time, or the stated time.
    pub time: Time,
}

impl fmt::Display for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Derived { link, stated, packets, packet_bytes, rate, time } = self;
        let unit = if *packets == 1 { "packet" } else { "packets" };
        let time = exact(time.0);
        write!(f, "{link}: {stated} = {packets} {unit} of {packet_bytes} bytes ({rate} x {time})")
    }
}

/// A stated limit: the number of its link, and what it says.
struct Place<'a> {
    link: usize,
    text: &'a str,
    extent: Extent,
}

/// The scenario with limits in packets in place of times and multiples of the BDP, and what they mean; `None` if it has no
/// such limits.
///
/// # Errors
///
/// The scenario is not valid, the rate of the link varies, or the round-trip time is not defined.
pub(crate) fn derived(value: &Value) -> Result<Option<(Value, Vec<Derived>)>, SpecError> {
    let places = places(value);
    if places.is_empty() {
        return Ok(None);
    }
    // The network without these limits determines them.
    let mut written = value.clone();
    for place in &places {
        if let Some(queue) = written["links"][place.link]["queue"].as_object_mut() {
            queue.shift_remove("limit");
        }
    }
    let scenario = Scenario::read(&written)?;
    let crossing = Crossing::new(&scenario, places.iter().map(|place| place.link))?;
    let mut all = Vec::new();
    for place in &places {
        let found = crossing.derive(place).map_err(|accepted| refused(value, place, accepted))?;
        written["links"][place.link]["queue"]["limit"] = json!(format!("{} packets", found.packets));
        all.push(found);
    }
    Ok(Some((written, all)))
}

/// The limits that are times or multiples of the BDP.
fn places(value: &Value) -> Vec<Place<'_>> {
    let links = value.get("links").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let place = |(link, table): (usize, &'_ Value)| {
        let queue = table.get("queue")?;
        let text = queue.get("limit")?.as_str()?;
        let extent = Extent::read(text)?;
        // Where the limit is a number, a text is not accepted.
        let kind = QueueSpec::named(queue.get("kind")?.as_str()?)?;
        (!kind.encode()["limit"].is_number()).then_some((link, extent))
    };
    let found = links.iter().enumerate().filter_map(place);
    let text = |link: usize| links[link]["queue"]["limit"].as_str().unwrap_or_default();
    found.map(|(link, extent)| Place { link, text: text(link), extent }).collect()
}

/// The error of a limit that has no meaning on its link.
fn refused(value: &Value, place: &Place<'_>, accepted: String) -> SpecError {
    let links = Node::root(value).child("links").and_then(|links| links.elements().ok());
    let link = links.and_then(|links| links.into_iter().nth(place.link));
    let limit = link.and_then(|link| link.child("queue")?.child("limit"));
    limit.unwrap_or_else(|| Node::root(value)).error(accepted)
}

/// The flows that cross a link, by their numbers.
#[derive(Default)]
struct Traffic {
    /// Their data cross it.
    data: BTreeSet<usize>,
    /// Their acknowledgements or reports cross it.
    answers: BTreeSet<usize>,
}

/// What crosses the links of a scenario.
struct Crossing<'a> {
    scenario: &'a Scenario,
    routes: Routes,
    traffic: BTreeMap<usize, Traffic>,
}

impl<'a> Crossing<'a> {
    fn new(scenario: &'a Scenario, links: impl Iterator<Item = usize>) -> Result<Self, SpecError> {
        let routes = Routes::new(scenario)?;
        let mut traffic: BTreeMap<usize, Traffic> = links.map(|link| (link, Traffic::default())).collect();
        let later = routes.reroutes.iter().map(|change| (change.flow as usize, change.begins));
        for (flow, (there, back)) in routes.begins.iter().copied().enumerate().chain(later) {
            for link in routes.links_from(there) {
                traffic.entry(link).and_modify(|found| _ = found.data.insert(flow));
            }
            for link in routes.links_from(back) {
                traffic.entry(link).and_modify(|found| _ = found.answers.insert(flow));
            }
        }
        Ok(Crossing { scenario, routes, traffic })
    }

    /// What a limit means, or what is accepted instead.
    fn derive(&self, place: &Place<'_>) -> Result<Derived, String> {
        let link = &self.scenario.links[place.link];
        if let Some(reason) = varying_rate(link) {
            return Err(format!("packets or bytes: {reason}"));
        }
        let (factor, time) = match place.extent {
            Extent::Time(time) => (1.0, time),
            Extent::Bdp(factor, Some(rtt)) => (factor, rtt),
            Extent::Bdp(factor, None) => (factor, self.base_rtt(place.link)?),
        };
        let packet_bytes = self.packet_bytes(place.link);
        let bits = factor * link.rate.0 as f64 * (time.0 as f64 / 1e9);
        let packets = ((bits / (8 * packet_bytes) as f64 + 0.5) as u64).max(1);
        let (stated, rate) = (place.text.to_owned(), link.rate);
        Ok(Derived { link: link.name.clone(), stated, packets, packet_bytes, rate, time })
    }

    /// Bytes of the largest packet that flows send over a link, as data if data cross it.
    fn packet_bytes(&self, link: usize) -> u64 {
        let Traffic { data, answers } = &self.traffic[&link];
        let crossing = if data.is_empty() { answers } else { data };
        let sizes = crossing.iter().map(|&flow| largest_packets(&self.scenario.flows[flow]).0);
        sizes.max().filter(|size| *size > 0).unwrap_or(FULL_PACKET)
    }

    /// The round-trip time that all connections over a link have, or what is accepted instead.
    fn base_rtt(&self, link: usize) -> Result<Time, String> {
        let Traffic { data, answers } = &self.traffic[&link];
        let is_connection = |flow: &&usize| {
            let flow = &self.scenario.flows[**flow];
            flow.tcp.is_some() || flow.transport.is_some()
        };
        let mut connections: Vec<usize> = data.iter().filter(is_connection).copied().collect();
        if connections.is_empty() {
            connections = answers.iter().filter(is_connection).copied().collect();
        }
        let stated =
            "packets, bytes, a time, or the BDP of a stated round-trip time such as \"1 BDP of 40 ms\"";
        let flow = |number: usize| &self.scenario.flows[number];
        if let Some(&varying) = connections.iter().find(|&&number| self.has_varying_path(number)) {
            return Err(format!("{stated}: the path of the flow \"{}\" changes", flow(varying).name));
        }
        let mut times: BTreeMap<Time, &FlowSpec> = BTreeMap::new();
        for &number in &connections {
            times.entry(self.propagation(number)).or_insert(flow(number));
        }
        match times.first_key_value() {
            None => Err(format!("{stated}: no connection crosses the link")),
            Some((time, _)) if times.len() == 1 && *time == Time::ZERO => {
                Err(format!("{stated}: the paths of its connections have no delay"))
            }
            Some((time, _)) if times.len() == 1 => Ok(*time),
            Some(_) => {
                let named = times.iter().take(MOST_NAMED);
                let named: Vec<String> =
                    named.map(|(time, flow)| format!("{} ({})", exact(time.0), flow.name)).collect();
                let more = if times.len() > MOST_NAMED { ", ..." } else { "" };
                let listed = named.join(", ");
                Err(format!("{stated}: base round-trip times of the connections differ: {listed}{more}"))
            }
        }
    }

    fn links_of(&self, flow: usize) -> impl Iterator<Item = &LinkSpec> {
        let (there, back) = self.routes.begins[flow];
        let links = self.routes.links_from(there).chain(self.routes.links_from(back));
        links.map(|link| &self.scenario.links[link])
    }

    /// Propagation delays of a flow's path, there and back.
    fn propagation(&self, flow: usize) -> Time {
        self.links_of(flow).fold(Time::ZERO, |sum, link| sum + link.delay)
    }

    /// True if propagation delays of a flow's path change during the run.
    fn has_varying_path(&self, flow: usize) -> bool {
        let varies = |link: &LinkSpec| {
            link.trace.is_some() || link.changes.iter().any(|change| change.delay.is_some())
        };
        !self.scenario.flows[flow].reroutes.is_empty() || self.links_of(flow).any(varies)
    }
}

/// Why a link has no one rate, if so.
fn varying_rate(link: &LinkSpec) -> Option<&'static str> {
    let reasons = [
        (link.opportunities.is_some(), "the link has opportunities in place of a rate"),
        (link.trace.is_some(), "the link has a trace in place of a rate"),
        (link.wifi.is_some(), "the rate of a link with `wifi` is that of the physical layer"),
        (link.changes.iter().any(|change| change.rate.is_some()), "the rate of the link changes"),
        (matches!(link.queue, QueueSpec::TokenBucket(_)), "a token bucket has a rate of its own"),
    ];
    reasons.into_iter().find(|(holds, _)| *holds).map(|(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, Stated};
    use dumbbell_units::Value;
    use serde_json::json;

    /// Two senders behind access links and a bottleneck whose queue has this limit. The round trip of `near` is 40 ms.
    fn network(limit: &str) -> Value {
        let link = |from: &str, to: &str, rate: &str, delay: &str| json!({ "name": format!("{from}-{to}"), "from": from, "to": to, "rate": rate, "delay": delay });
        let mut links = vec![link("r", "d", "10 Mbit/s", "15 ms"), link("d", "r", "10 Mbit/s", "15 ms")];
        links[0]["queue"] = json!({ "kind": "droptail", "limit": limit });
        for (sender, delay) in [("near", "5 ms"), ("far", "25 ms")] {
            links.extend([link(sender, "r", "100 Mbit/s", delay), link("r", sender, "100 Mbit/s", delay)]);
        }
        json!({ "duration": "5 s", "nodes": ["r", "d", "near", "far"], "links": links, "flows": [flow("near")] })
    }

    fn flow(from: &str) -> Value {
        json!({ "name": from, "from": from, "to": "d" })
    }

    /// What a limit of the bottleneck means, as text, after replacing some members.
    fn meaning(limit: &str, changes: &[(&str, Value)]) -> Result<String, String> {
        let mut value = network(limit);
        for (pointer, new) in changes {
            let (parent, member) = pointer.rsplit_once('/').unwrap();
            value.pointer_mut(parent).unwrap()[member] = new.clone();
        }
        let stated = Stated::from_value(&value).map_err(|error| error.to_string())?;
        Ok(stated.derived_limits().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_limit_in_bdp_is_rate_times_round_trip_time_in_packets_of_the_flows() {
        // 10 Mbit/s x 40 ms = 50,000 bytes = 33.3 packets of 1500 bytes.
        let shown = "r-d: 1 BDP = 33 packets of 1500 bytes (10 Mbit/s x 40 ms)";
        assert_eq!(meaning("1 BDP", &[]).as_deref(), Ok(shown));
        // Half of it is 16.7 packets, and a thousandth less than one.
        assert!(meaning("0.5 BDP", &[]).unwrap().contains("0.5 BDP = 17 packets"));
        assert!(meaning("0.001 BDP", &[]).unwrap().contains("= 1 packet of"));
        let small = [("/flows/0/tcp", json!({ "mss": "448 bytes" }))];
        assert!(meaning("1 BDP", &small).unwrap().contains("= 100 packets of 500 bytes"));
        assert!(
            meaning("2 BDP of 60 ms", &[])
                .unwrap()
                .ends_with("100 packets of 1500 bytes (10 Mbit/s x 60 ms)")
        );
        assert!(meaning("60 ms", &[]).unwrap().contains("60 ms = 50 packets of 1500 bytes"));
        assert!(meaning("500 us", &[]).unwrap().ends_with("(10 Mbit/s x 500 us)"));
        assert!(meaning("60.5 ms", &[]).unwrap().ends_with("(10 Mbit/s x 60.5 ms)"));
    }

    #[test]
    fn a_scenario_with_limits_in_bdp_is_the_one_with_packets() {
        let stated = Scenario::from_value(&network("1 BDP")).expect("a scenario");
        let written = Scenario::from_value(&network("33 packets")).expect("a scenario");
        assert_eq!(stated, written);
        assert_eq!(stated.to_json(), written.to_json());
        assert_eq!(Scenario::from_json(&network("1 BDP").to_string()), Ok(written));
    }

    #[test]
    fn different_round_trip_times_need_a_stated_one() {
        let both = [("/flows", json!([flow("near"), flow("far")]))];
        let error = meaning("1 BDP", &both).unwrap_err();
        assert_eq!(
            error,
            "links.r-d.queue.limit: \"1 BDP\" is not accepted; expected packets, bytes, a time, or the BDP of a stated \
             round-trip time such as \"1 BDP of 40 ms\": base round-trip times of the connections differ: 40 ms (near), \
             80 ms (far)"
        );
        assert!(meaning("1 BDP of 40 ms", &both).is_ok());
        assert!(meaning("40 ms", &both).is_ok());
    }

    #[test]
    fn flows_that_acknowledge_or_send_datagrams_over_a_link_do_not_matter_if_data_cross_it() {
        let back = json!({ "name": "back", "from": "d", "to": "far" });
        let calls = json!({ "name": "call", "from": "far", "to": "d", "source": "cbr" });
        assert_eq!(
            meaning("1 BDP", &[("/flows", json!([flow("near"), back, calls]))]),
            meaning("1 BDP", &[])
        );
        // Where only acknowledgements pass, they decide.
        assert!(meaning("1 BDP", &[("/flows", json!([back]))]).unwrap().contains("10 Mbit/s x 80 ms"));
        let error = meaning("1 BDP", &[("/flows", json!([calls]))]).unwrap_err();
        assert!(error.ends_with("no connection crosses the link"), "{error}");
    }

    #[test]
    fn a_rate_or_a_path_that_varies_is_refused() {
        let slower = json!([{ "at": "1 s", "rate": "1 Mbit/s" }]);
        let longer = json!([{ "at": "1 s", "delay": "9 ms" }]);
        for limit in ["1 BDP", "1 BDP of 40 ms", "50 ms"] {
            let error = meaning(limit, &[("/links/0/changes", slower.clone())]).unwrap_err();
            assert!(error.ends_with("expected packets or bytes: the rate of the link changes"), "{error}");
            let trace = [("/links/0/opportunities", json!({ "times": [1, 2] }))];
            assert!(meaning(limit, &trace).unwrap_err().contains("opportunities in place of a rate"));
        }
        let varying = [("/links/1/changes", longer)];
        assert!(meaning("1 BDP", &varying).unwrap_err().ends_with("the path of the flow \"near\" changes"));
        assert!(meaning("1 BDP of 40 ms", &varying).is_ok());
        let bucket = [("/links/0/queue/kind", json!("tokenbucket"))];
        assert!(meaning("1 BDP", &bucket).unwrap_err().ends_with("a token bucket has a rate of its own"));
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_is_accepted() {
        for limit in ["0 BDP", "1 bdp", "-1 ms", "1 BDP of 0 s", "1 BDP of", "5 ms of 40 ms"] {
            let error = meaning(limit, &[]).unwrap_err();
            assert!(error.starts_with("links.r-d.queue.limit: "), "{error}");
            assert!(error.contains("\"0.5 BDP\", \"1 BDP of 40 ms\", \"50 ms\""), "{error}");
        }
        // A number of packets is not a text.
        let error = meaning("1 BDP", &[("/links/0/queue/kind", json!("fqcodel"))]).unwrap_err();
        assert!(error.contains("\"1 BDP\" is not accepted; expected a whole number"), "{error}");
    }
}
