//! Shapes of networks by name: `topology` stands for nodes and links.

use super::row::{Access, Delays, Hop, Network, Row, Way, access_delays, each_of, time_of, written};
use super::stated::{As, Count, Each, Named, Stamping};
use dumbbell_net::{ImpairmentSpec, LinkChange, QueueSpec};
use dumbbell_units::spec::{Node, SpecError};
use dumbbell_units::{Rate, Time, Value, params, tagged};
use serde_json::json;

fn packets(limit: u64) -> As<QueueSpec> {
    As::of(json!({ "kind": "droptail", "limit": format!("{limit} packets") }))
}

fn text<T>(value: &str) -> As<T> {
    As::of(json!(value))
}

/// Declares a table of a shape: its own members, and those of access links and nodes, which all shapes have. With
/// `with delays` it has those of the delays of access links.
macro_rules! shape {
    ($(#[doc = $about:literal])+ pub struct $Name:ident with delays { $($own:tt)* }) => {
        shape! {
            $(#[doc = $about])+
            pub struct $Name {
                $($own)*
                /// Propagation delay of each of the four access links of a pair, so that a round trip has it four times;
                /// 0.1 ms if nothing else is stated.
                access_delay: Option<Each<Time>> = None, "s", "-";
                /// Delay of both links of a sender, instead of `access_delay`.
                sender_delay: Option<Each<Time>> = None, "s", "-";
                /// Delay of both links of a receiver, instead of `access_delay`.
                receiver_delay: Option<Each<Time>> = None, "s", "-";
                /// Round-trip propagation delay of a pair: what the hops leave of it is shared by its four access links.
                rtt: Option<Each<Time>> = None, "s", "-";
            }
        }

        impl $Name {
            fn delays(&self) -> Delays {
                let stated = |delay: &Option<Each<Time>>| delay.as_ref().map(|delay| delay.0.clone());
                Delays {
                    access: stated(&self.access_delay),
                    sender: stated(&self.sender_delay),
                    receiver: stated(&self.receiver_delay),
                    rtt: stated(&self.rtt),
                }
            }
        }
    };
    ($(#[doc = $about:literal])+ pub struct $Name:ident { $($own:tt)* }) => {
        params! {
            $(#[doc = $about])+
            pub struct $Name {
                $($own)*
                /// Rate of the four access links of a pair.
                access_rate: Each<Rate> = Each::of(json!("100 Mbit/s")), "bit/s", "-";
                /// Queue discipline of the access links.
                access_queue: As<QueueSpec> = As::of(json!({ "kind": "droptail", "limit": "unlimited" })), "-", "-";
                /// Impairments of all access links, or of those named.
                access_impairments: Named<Vec<ImpairmentSpec>> = Named::of(Value::Null), "-", "-";
                /// Changes of rate and delay of all access links, or of those named.
                access_changes: Named<Vec<LinkChange>> = Named::of(Value::Null), "-", "-";
                /// Phase of the coarse clocks of all nodes, or of those named: `random` or a time.
                tick_phase: Named<String> = Named::of(Value::Null), "s", "-";
                /// Nodes that stamp queueing times: all including hosts, none, or those named.
                aqt: Stamping = Stamping(json!(false)), "-", "[chan2004 §3.1]";
            }
        }

        impl $Name {
            fn access(&self) -> Access {
                Access {
                    rate: self.access_rate.0.clone(),
                    queue: self.access_queue.0.clone(),
                    impairments: self.access_impairments.0.clone(),
                    changes: self.access_changes.0.clone(),
                    tick_phase: self.tick_phase.0.clone(),
                    aqt: self.aqt.0.clone(),
                }
            }
        }
    };
}

type Impairments = Option<As<Vec<ImpairmentSpec>>>;
type Changes = Option<As<Vec<LinkChange>>>;

params! {
    /// A pair of links between two neighbouring routers; forward is from left to right.
    pub struct HopTable requires [rate, delay] {
        /// Rate of the link forward.
        rate: As<Rate> = text("10 Mbit/s"), "bit/s", "-";
        /// Propagation delay of the link forward.
        delay: As<Time> = text("10 ms"), "s", "-";
        /// Queue discipline of the link forward.
        queue: As<QueueSpec> = packets(100), "-", "-";
        /// Impairments of the link forward.
        impairments: Impairments = None, "-", "-";
        /// Rate of the link back; as forward if not given.
        reverse_rate: Option<As<Rate>> = None, "bit/s", "-";
        /// Propagation delay of the link back; as forward if not given.
        reverse_delay: Option<As<Time>> = None, "s", "-";
        /// Queue discipline of the link back; as forward if not given.
        reverse_queue: Option<As<QueueSpec>> = None, "-", "-";
        /// Impairments of the link back; none if not given.
        reverse_impairments: Impairments = None, "-", "-";
        /// Changes of rate and delay of the link forward.
        changes: Changes = None, "-", "-";
        /// Changes of rate and delay of the link back.
        reverse_changes: Changes = None, "-", "-";
    }
}

shape! {
    /// Senders and receivers that share one bottleneck.
    pub struct DumbbellShape with delays {
        /// Number of pairs that send from left to right.
        pairs: Count<1> = Count(1), "-", "-";
        /// Number of pairs that send from right to left; they are numbered after the others.
        reverse_pairs: Count<0> = Count(0), "-", "-";
        /// Rate of the bottleneck; required.
        rate: Option<As<Rate>> = None, "bit/s", "-";
        /// Propagation delay of the bottleneck; required.
        delay: Option<As<Time>> = None, "s", "-";
        /// Queue discipline of the bottleneck.
        queue: As<QueueSpec> = packets(100), "-", "-";
        /// Impairments of `r1-r2`.
        impairments: Impairments = None, "-", "-";
        /// Rate of `r2-r1`; as forward if not given.
        reverse_rate: Option<As<Rate>> = None, "bit/s", "-";
        /// Propagation delay of `r2-r1`; as forward if not given.
        reverse_delay: Option<As<Time>> = None, "s", "-";
        /// Queue discipline of `r2-r1`; as forward if not given.
        reverse_queue: Option<As<QueueSpec>> = None, "-", "-";
        /// Impairments of `r2-r1`; none if not given.
        reverse_impairments: Impairments = None, "-", "-";
        /// Changes of rate and delay of `r1-r2`.
        changes: Changes = None, "-", "-";
        /// Changes of rate and delay of `r2-r1`.
        reverse_changes: Changes = None, "-", "-";
    }
}

shape! {
    /// A row of equal bottlenecks: the first pair crosses all, each further pair one.
    pub struct ParkingLotShape with delays {
        /// Number of bottlenecks.
        hops: Count<1> = Count(1), "-", "-";
        /// Rate of each bottleneck, in either direction; required.
        rate: Option<As<Rate>> = None, "bit/s", "-";
        /// Propagation delay of each bottleneck, in either direction; required.
        delay: Option<As<Time>> = None, "s", "-";
        /// Queue discipline of each bottleneck, in either direction.
        queue: As<QueueSpec> = packets(100), "-", "-";
        /// Impairments of each bottleneck, from left to right.
        impairments: Impairments = None, "-", "-";
        /// Impairments of each bottleneck, from right to left.
        reverse_impairments: Impairments = None, "-", "-";
        /// Changes of rate and delay of each bottleneck, from left to right.
        changes: Changes = None, "-", "-";
        /// Changes of rate and delay of each bottleneck, from right to left.
        reverse_changes: Changes = None, "-", "-";
    }
}

shape! {
    /// A row of equal bottlenecks that one long pair crosses, with cross traffic on each in both directions.
    pub struct MultiBottleneckShape with delays {
        /// Number of bottlenecks; pair 2k sends forward over the k-th, pair 2k + 1 backward.
        hops: Count<1> = Count(1), "-", "-";
        /// Rate of each bottleneck, in either direction.
        rate: As<Rate> = text("10 Mbit/s"), "bit/s", "[grieco2004 figure 17]";
        /// Propagation delay of each bottleneck, in either direction. The access links have 20 ms unless stated.
        delay: As<Time> = text("10 ms"), "s", "[grieco2004 figure 17]";
        /// Queue discipline of each bottleneck; by default it holds 150 ms at the default rate.
        queue: As<QueueSpec> = packets(125), "-", "[grieco2004 figure 17]";
        /// Impairments of each bottleneck, from left to right.
        impairments: Impairments = None, "-", "-";
        /// Impairments of each bottleneck, from right to left.
        reverse_impairments: Impairments = None, "-", "-";
        /// Changes of rate and delay of each bottleneck, from left to right.
        changes: Changes = None, "-", "-";
        /// Changes of rate and delay of each bottleneck, from right to left.
        reverse_changes: Changes = None, "-", "-";
    }
}

shape! {
    /// A wired bottleneck whose first pair ends in a wireless link.
    pub struct WirelessShape {
        /// Number of further pairs from left to right, over the wired bottleneck alone.
        cross_pairs: Count<0> = Count(5), "-", "[grieco2004 figure 26]";
        /// Number of further pairs from right to left.
        reverse_pairs: Count<0> = Count(10), "-", "[grieco2004 figure 26]";
        /// Rate of the wireless link, in either direction.
        rate: As<Rate> = text("2 Mbit/s"), "bit/s", "[grieco2004 figure 26]";
        /// Propagation delay of the wireless link, in either direction.
        delay: As<Time> = text("20 ms"), "s", "[grieco2004 figure 26]";
        /// Queue discipline of the wireless link; by default it holds the bandwidth-delay product of the first pair.
        queue: As<QueueSpec> = packets(42), "-", "-";
        /// Impairments of the wireless link, independent in each direction.
        impairments: Impairments = None, "-", "-";
        /// Changes of rate and delay of the wireless link, in either direction.
        changes: Changes = None, "-", "-";
        /// Rate of the wired bottleneck.
        wired_rate: As<Rate> = text("10 Mbit/s"), "bit/s", "-";
        /// Propagation delay of the wired bottleneck.
        wired_delay: As<Time> = text("10 ms"), "s", "-";
        /// Queue discipline of the wired bottleneck; by default it holds 250 ms.
        wired_queue: As<QueueSpec> = packets(208), "-", "-";
        /// Impairments of the wired bottleneck.
        wired_impairments: Impairments = None, "-", "-";
        /// Changes of rate and delay of the wired bottleneck.
        wired_changes: Changes = None, "-", "-";
        /// Round-trip propagation delay of the first pair.
        rtt: As<Time> = text("250 ms"), "s", "[grieco2004 figure 26]";
        /// Those of the cross pairs; by default spread evenly between that of the wired bottleneck and `rtt`.
        cross_rtt: Option<Each<Time>> = None, "s", "-";
        /// Those of the reverse pairs, in the same way.
        reverse_rtt: Option<Each<Time>> = None, "s", "-";
    }
}

shape! {
    /// A dumbbell whose bottleneck goes over a geostationary satellite.
    pub struct SatelliteShape with delays {
        /// Number of pairs from left to right.
        pairs: Count<1> = Count(20), "-", "[grieco2004 figure 31]";
        /// Number of pairs from right to left.
        reverse_pairs: Count<0> = Count(10), "-", "[grieco2004 figure 31]";
        /// Rate of the bottleneck, in either direction.
        rate: As<Rate> = text("10 Mbit/s"), "bit/s", "[grieco2004 figure 31]";
        /// Propagation delay of the bottleneck, in either direction. The access links have 10 ms unless stated.
        delay: As<Time> = text("275 ms"), "s", "[grieco2004 figure 31]";
        /// Queue discipline of the bottleneck; by default it holds 10 Mbit/s times 590 ms.
        queue: As<QueueSpec> = packets(491), "-", "-";
        /// Impairments of the bottleneck, independent in each direction.
        impairments: Impairments = None, "-", "-";
        /// Changes of rate and delay of the bottleneck, in either direction.
        changes: Changes = None, "-", "-";
    }
}

shape! {
    /// A row of routers with hosts at any of them.
    pub struct ChainShape with delays {
        /// The hops between neighbouring routers; there is one more router than hops.
        hops: Vec<HopTable> = Vec::new(), "-", "-", |hops| !hops.is_empty(), "at least one hop, between two routers";
        /// For each pair, the numbers from 1 of the routers of its sender and of its receiver.
        pairs: Vec<Vec<u64>> = Vec::new(), "-", "-", |pairs| !pairs.is_empty(), "at least one pair of hosts";
    }
}

tagged! {
    /// Shapes of networks. Routers are `r1`, `r2` and so on; the n-th pair is the sender `sn` and the receiver `dn`.
    pub enum Topology by "kind" {
        /// Senders and receivers that share one bottleneck, `r1-r2` and back.
        Dumbbell(DumbbellShape) = "dumbbell",
        /// A row of equal bottlenecks: the first pair crosses all, each further pair one.
        ParkingLot(ParkingLotShape) = "parking_lot",
        /// A row of equal bottlenecks that one long pair crosses, with cross traffic on each in both directions.
        MultiBottleneck(MultiBottleneckShape) = "multi_bottleneck",
        /// A wired bottleneck whose first pair ends in a wireless link.
        LastHopWireless(WirelessShape) = "last_hop_wireless",
        /// A dumbbell whose bottleneck goes over a geostationary satellite.
        Satellite(SatelliteShape) = "satellite",
        /// A row of routers with hosts at any of them.
        Chain(ChainShape) = "chain",
    }
}

fn stated<T>(value: &Option<As<T>>) -> Option<Value> {
    value.as_ref().map(|value| value.0.clone())
}

/// A way with these properties.
fn way<T>(of: [&Value; 3], impairments: &Option<As<T>>, changes: &Changes) -> Way {
    let [rate, delay, queue] = of.map(Value::clone);
    Way { rate, delay, queue, impairments: stated(impairments), changes: stated(changes) }
}

/// A hop that is the same in both directions.
macro_rules! both_ways {
    ($of:expr, $rate:ident, $delay:ident, $queue:ident, $impairments:ident, $changes:ident) => {{
        let way = || way([&$of.$rate.0, &$of.$delay.0, &$of.$queue.0], &$of.$impairments, &$of.$changes);
        Hop { there: way(), back: way() }
    }};
}

/// A hop that differs in impairments and changes.
macro_rules! hop {
    ($of:expr, [$rate:expr, $delay:expr]) => {
        Hop {
            there: way([$rate, $delay, &$of.queue.0], &$of.impairments, &$of.changes),
            back: way([$rate, $delay, &$of.queue.0], &$of.reverse_impairments, &$of.reverse_changes),
        }
    };
}

/// A hop whose way back may differ in everything.
macro_rules! asymmetric {
    ($of:expr, [$rate:expr, $delay:expr]) => {{
        let mut hop = hop!($of, [$rate, $delay]);
        hop.back.rate = stated(&$of.reverse_rate).unwrap_or(hop.back.rate);
        hop.back.delay = stated(&$of.reverse_delay).unwrap_or(hop.back.delay);
        hop.back.queue = stated(&$of.reverse_queue).unwrap_or(hop.back.queue);
        hop
    }};
}

/// The value of a member that has no default.
fn required<T>(value: &Option<As<T>>) -> &Value {
    value.as_ref().map_or(&Value::Null, |value| &value.0)
}

fn both_directions(pairs: usize, reverse_pairs: usize) -> Vec<(usize, usize)> {
    [vec![(1, 2); pairs], vec![(2, 1); reverse_pairs]].concat()
}

impl Topology {
    /// The nodes and links of the shape that a table states.
    ///
    /// # Errors
    ///
    /// A member that is required is not there, a list does not have one element per pair, a name is none of a node or link,
    /// or a round-trip time is shorter than the delays of the links that it includes.
    pub(super) fn network(&self, node: &Node<'_>) -> Result<Network, SpecError> {
        match self {
            Topology::Dumbbell(shape) => {
                node.require(&["pairs", "rate", "delay"])?;
                let hop = asymmetric!(shape, [required(&shape.rate), required(&shape.delay)]);
                let pairs = both_directions(shape.pairs.0, shape.reverse_pairs.0);
                let row = Row { node, hops: vec![hop], pairs, access: shape.access() };
                row.network(&row.delays(&shape.delays())?)
            }
            Topology::ParkingLot(shape) => {
                node.require(&["hops", "rate", "delay"])?;
                let hop = || hop!(shape, [required(&shape.rate), required(&shape.delay)]);
                let hops: Vec<Hop> = (0..shape.hops.0).map(|_| hop()).collect();
                let one = (1..=hops.len()).map(|number| (number, number + 1));
                let pairs = std::iter::once((1, hops.len() + 1)).chain(one).collect();
                let row = Row { node, hops, pairs, access: shape.access() };
                row.network(&row.delays(&shape.delays())?)
            }
            Topology::MultiBottleneck(shape) => {
                node.require(&["hops"])?;
                let hop = || hop!(shape, [&shape.rate.0, &shape.delay.0]);
                let hops: Vec<Hop> = (0..shape.hops.0).map(|_| hop()).collect();
                let cross = (1..=hops.len()).flat_map(|number| [(number, number + 1), (number + 1, number)]);
                let pairs = std::iter::once((1, hops.len() + 1)).chain(cross).collect();
                let row = Row { node, hops, pairs, access: shape.access() };
                row.network(&row.delays(&usual(shape.delays(), "20 ms"))?)
            }
            Topology::LastHopWireless(shape) => shape.network(node),
            Topology::Satellite(shape) => {
                let hop = both_ways!(shape, rate, delay, queue, impairments, changes);
                let pairs = both_directions(shape.pairs.0, shape.reverse_pairs.0);
                let row = Row { node, hops: vec![hop], pairs, access: shape.access() };
                row.network(&row.delays(&usual(shape.delays(), "10 ms"))?)
            }
            Topology::Chain(shape) => {
                node.require(&["hops", "pairs"])?;
                let hops = shape.hops.iter();
                let hops: Vec<Hop> = hops.map(|hop| asymmetric!(hop, [&hop.rate.0, &hop.delay.0])).collect();
                let pairs = shape.checked_pairs(node)?;
                let row = Row { node, hops, pairs, access: shape.access() };
                row.network(&row.delays(&shape.delays())?)
            }
        }
    }
}

/// The delays with a default for links that have none.
fn usual(mut delays: Delays, access: &str) -> Delays {
    if delays.rtt.is_none() && delays.access.is_none() {
        delays.access = Some(json!(access));
    }
    delays
}

impl ChainShape {
    fn checked_pairs(&self, node: &Node<'_>) -> Result<Vec<(usize, usize)>, SpecError> {
        let last = self.hops.len() as u64 + 1;
        let mut pairs = Vec::new();
        for (index, pair) in self.pairs.iter().enumerate() {
            match pair[..] {
                [first, second] if (1..=last).contains(&first) && (1..=last).contains(&second) => {
                    pairs.push((first as usize, second as usize));
                }
                _ => {
                    let stated =
                        node.child("pairs").and_then(|pairs| pairs.elements().ok()?.into_iter().nth(index));
                    let accepted = format!("two numbers of routers, each from 1 to {last}");
                    return Err(stated.unwrap_or_else(|| node.clone()).error(accepted));
                }
            }
        }
        Ok(pairs)
    }
}

impl WirelessShape {
    fn network(&self, node: &Node<'_>) -> Result<Network, SpecError> {
        let wired_ns = 2 * time_of(node, "wired_delay", &self.wired_delay.0)?;
        let fixed_ns = wired_ns + 2 * time_of(node, "delay", &self.delay.0)?;
        let rtt_ns = time_of(node, "rtt", &self.rtt.0)?;
        let Some(left) = rtt_ns.checked_sub(fixed_ns) else {
            let accepted =
                format!("at least {}, the wired and the wireless delay there and back", written(fixed_ns));
            return Err(node.child("rtt").unwrap_or_else(|| node.clone()).error(accepted));
        };
        let mut ends = vec![(json!(written(left / 2)), self.delay.0.clone())];
        for (field, stated, count) in [
            ("cross_rtt", &self.cross_rtt, self.cross_pairs.0),
            ("reverse_rtt", &self.reverse_rtt, self.reverse_pairs.0),
        ] {
            let times = match stated {
                Some(times) => times.0.clone(),
                None => spread(count, wired_ns, rtt_ns),
            };
            for time in each_of(node, field, &times, count)? {
                ends.push(access_delays(&time, wired_ns)?);
            }
        }
        let hop = both_ways!(self, wired_rate, wired_delay, wired_queue, wired_impairments, wired_changes);
        let pairs = both_directions(1 + self.cross_pairs.0, self.reverse_pairs.0);
        let row = Row { node, hops: vec![hop], pairs, access: self.access() };
        let (nodes, mut links) = row.network(&ends)?;
        let wireless = both_ways!(self, rate, delay, queue, impairments, changes);
        for (way, from, to) in [(&wireless.there, "r2", "d1"), (&wireless.back, "d1", "r2")] {
            let name = json!(format!("{from}-{to}"));
            for link in links.iter_mut().filter(|link| link["name"] == name) {
                *link = way.between(from, to);
            }
        }
        Ok((nodes, links))
    }
}

/// Round-trip times spread evenly: the i-th of n is `shortest + i / n (longest - shortest)`.
fn spread(count: usize, shortest: u64, longest: u64) -> Value {
    let distance = u128::from(longest.saturating_sub(shortest));
    let time = |number| shortest + (distance * number as u128 / count as u128) as u64;
    (1..=count).map(|number| json!(written(time(number)))).collect()
}
