//! A row of routers with hosts at any of them, from which every shape is built.
//!
//! Routers are `r1`, `r2` and so on, from left to right. The n-th pair is the sender `sn` and the receiver `dn`. A link is
//! named for its nodes, as `r1-r2`.

use dumbbell_units::spec::{Field, Members, Node, SpecError};
use dumbbell_units::{Time, Value};
use serde_json::json;

/// One direction of a hop.
pub(super) struct Way {
    pub(super) rate: Value,
    pub(super) delay: Value,
    pub(super) queue: Value,
    pub(super) impairments: Option<Value>,
    pub(super) changes: Option<Value>,
}

/// Links between two neighbouring routers, from left to right and back.
pub(super) struct Hop {
    pub(super) there: Way,
    pub(super) back: Way,
}

/// What a table states about access links and nodes.
pub(super) struct Access {
    pub(super) rate: Value,
    pub(super) queue: Value,
    pub(super) impairments: Value,
    pub(super) changes: Value,
    pub(super) tick_phase: Value,
    pub(super) aqt: Value,
}

/// Delays of access links: a delay for each of the four of a pair, that of one end, or the round-trip time.
pub(super) struct Delays {
    pub(super) access: Option<Value>,
    pub(super) sender: Option<Value>,
    pub(super) receiver: Option<Value>,
    pub(super) rtt: Option<Value>,
}

/// Delay of an access link that nothing states.
const ACCESS_DELAY: &str = "0.1 ms";

/// A row of routers; `pairs` has the number, from 1, of the router of each sender and of its receiver.
pub(super) struct Row<'a> {
    pub(super) node: &'a Node<'a>,
    pub(super) hops: Vec<Hop>,
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) access: Access,
}

/// Nodes and links.
pub(super) type Network = (Vec<Value>, Vec<Value>);

impl Row<'_> {
    /// The nodes and links, with these delays of the links of each sender and each receiver.
    pub(super) fn network(&self, delays: &[(Value, Value)]) -> Result<Network, SpecError> {
        let routers = (1..=self.hops.len() + 1).map(|number| format!("r{number}"));
        let hosts = (1..=self.pairs.len()).flat_map(|pair| [format!("s{pair}"), format!("d{pair}")]);
        let names: Vec<String> = routers.chain(hosts).collect();
        let mut links = Vec::new();
        for (number, hop) in (1..).zip(&self.hops) {
            let (left, right) = (format!("r{number}"), format!("r{}", number + 1));
            links.push(hop.there.link(&left, &right));
            links.push(hop.back.link(&right, &left));
        }
        links.extend(self.access_links(delays)?);
        Ok((self.nodes(&names)?, links))
    }

    fn nodes(&self, names: &[String]) -> Result<Vec<Value>, SpecError> {
        let phases = ByName::new(self.node, "tick_phase", &self.access.tick_phase, names)?;
        let stamping = self.stamping(names)?;
        let one = |name: &String| {
            let mut node = Members::new();
            node.insert("name".into(), json!(name));
            node.extend(phases.of(name).map(|phase| ("tick_phase".to_owned(), phase.clone())));
            if stamping.as_ref().is_none_or(|named| named.contains(&name.as_str())) {
                node.insert("aqt".into(), json!(true));
            }
            Value::Object(node)
        };
        Ok(names.iter().map(one).collect())
    }

    /// The nodes that stamp queueing times; `None` for all.
    fn stamping(&self, names: &[String]) -> Result<Option<Vec<&str>>, SpecError> {
        let named: Vec<&str> = match &self.access.aqt {
            Value::Bool(true) => return Ok(None),
            Value::Bool(false) => Vec::new(),
            Value::String(name) => vec![name],
            Value::Array(list) => list.iter().map(|name| name.as_str().unwrap_or_default()).collect(),
            _ => vec![""],
        };
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        match named.iter().find(|name| !known.contains(name)) {
            None => Ok(Some(named)),
            Some(name) => {
                let aqt = self.node.child("aqt").unwrap_or_else(|| self.node.clone());
                let accepted = format!("true, false, or names among {}", known.join(", "));
                let value = if name.is_empty() { aqt.error("").value } else { format!("\"{name}\"") };
                Err(SpecError { value, accepted, ..aqt.unknown_name(name, &known) })
            }
        }
    }

    /// The links of all hosts, there and back.
    fn access_links(&self, delays: &[(Value, Value)]) -> Result<Vec<Value>, SpecError> {
        let rates = self.per_pair("access_rate", &self.access.rate)?;
        let mut ends = Vec::new();
        for (number, ((pair, rate), delay)) in (1..).zip(self.pairs.iter().zip(&rates).zip(delays)) {
            let hosts = [(format!("s{number}"), pair.0, &delay.0), (format!("d{number}"), pair.1, &delay.1)];
            for (host, router, delay) in hosts {
                let router = format!("r{router}");
                ends.push((host.clone(), router.clone(), rate, delay));
                ends.push((router, host, rate, delay));
            }
        }
        let names: Vec<String> = ends.iter().map(|(from, to, ..)| format!("{from}-{to}")).collect();
        let impaired = ByName::new(self.node, "access_impairments", &self.access.impairments, &names)?;
        let changed = ByName::new(self.node, "access_changes", &self.access.changes, &names)?;
        let link = |(name, (from, to, rate, delay)): (&String, &(String, String, &Value, &Value))| {
            let way = Way {
                rate: (*rate).clone(),
                delay: (*delay).clone(),
                queue: self.access.queue.clone(),
                impairments: impaired.of(name).cloned(),
                changes: changed.of(name).cloned(),
            };
            way.link(from, to)
        };
        Ok(names.iter().zip(&ends).map(link).collect())
    }

    /// The value for each pair, from one for all or from a list.
    pub(super) fn per_pair(&self, field: &str, value: &Value) -> Result<Vec<Value>, SpecError> {
        per_pair(self.node, field, value, self.pairs.len())
    }

    /// The delays of the links of each sender and each receiver.
    pub(super) fn delays(&self, stated: &Delays) -> Result<Vec<(Value, Value)>, SpecError> {
        let Some(rtt) = &stated.rtt else {
            let both = stated.access.clone().unwrap_or_else(|| json!(ACCESS_DELAY));
            let end = |field: &str, value: &Option<Value>| match value {
                Some(value) => self.per_pair(field, value),
                None => self.per_pair("access_delay", &both),
            };
            let senders = end("sender_delay", &stated.sender)?;
            return Ok(senders.into_iter().zip(end("receiver_delay", &stated.receiver)?).collect());
        };
        for field in ["access_delay", "sender_delay", "receiver_delay"] {
            if let Some(delay) = self.node.child(field) {
                return Err(delay.error("no value together with rtt, which sets the delays"));
            }
        }
        let mut delays = Vec::new();
        for (pair, time) in self.pairs.iter().zip(each_of(self.node, "rtt", rtt, self.pairs.len())?) {
            let crossed = &self.hops[pair.0.min(pair.1) - 1..pair.0.max(pair.1) - 1];
            let mut crossed_ns = 0;
            for hop in crossed {
                crossed_ns += time_of(self.node, "delay", &hop.there.delay)?;
                crossed_ns += time_of(self.node, "reverse_delay", &hop.back.delay)?;
            }
            delays.push(access_delays(&time, crossed_ns)?);
        }
        Ok(delays)
    }
}

impl Way {
    fn link(&self, from: &str, to: &str) -> Value {
        let mut link = Members::new();
        let stated = [
            ("name", Some(json!(format!("{from}-{to}")))),
            ("from", Some(json!(from))),
            ("to", Some(json!(to))),
            ("rate", Some(self.rate.clone())),
            ("delay", Some(self.delay.clone())),
            ("queue", Some(self.queue.clone())),
            ("impairments", self.impairments.clone()),
            ("changes", self.changes.clone()),
        ];
        link.extend(stated.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        Value::Object(link)
    }

    /// The same link between other nodes.
    pub(super) fn between(&self, from: &str, to: &str) -> Value {
        self.link(from, to)
    }
}

/// One value for all names, or values by name.
enum ByName<'a> {
    All(Option<&'a Value>),
    Some(&'a Members),
}

impl<'a> ByName<'a> {
    fn new(node: &Node<'_>, field: &str, value: &'a Value, names: &[String]) -> Result<Self, SpecError> {
        let Value::Object(members) = value else {
            return Ok(ByName::All(Some(value).filter(|value| !value.is_null())));
        };
        match members.keys().find(|name| !names.contains(name)) {
            None => Ok(ByName::Some(members)),
            Some(unknown) => {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                Err(node.child(field).unwrap_or_else(|| node.clone()).unknown_name(unknown, &known))
            }
        }
    }

    fn of(&self, name: &str) -> Option<&'a Value> {
        match self {
            ByName::All(value) => *value,
            ByName::Some(members) => members.get(name),
        }
    }
}

/// One value for each pair, from one for all or from a list.
pub(super) fn per_pair(
    node: &Node<'_>,
    field: &str,
    value: &Value,
    count: usize,
) -> Result<Vec<Value>, SpecError> {
    match value {
        Value::Array(list) if list.len() == count => Ok(list.clone()),
        Value::Array(_) => {
            let at = node.child(field).unwrap_or_else(|| node.clone());
            Err(at.error(format!("one value for all pairs, or a list with one per pair: {count}")))
        }
        one => Ok(vec![one.clone(); count]),
    }
}

/// The same as values with their paths.
pub(super) fn each_of<'a>(
    node: &Node<'a>,
    field: &str,
    value: &'a Value,
    count: usize,
) -> Result<Vec<Node<'a>>, SpecError> {
    per_pair(node, field, value, count)?;
    let stated = at(node, field, value);
    if value.is_array() { stated.elements() } else { Ok(vec![stated; count]) }
}

/// The delays of a sender's and a receiver's links for a round-trip time, over hops with these delays in all.
pub(super) fn access_delays(rtt: &Node<'_>, crossed_ns: u64) -> Result<(Value, Value), SpecError> {
    let Some(left) = Time::decode(rtt)?.0.checked_sub(crossed_ns) else {
        let accepted = format!("at least {}, the delays of the hops there and back", written(crossed_ns));
        return Err(rtt.error(accepted));
    };
    // An odd nanosecond is lost: the two links of a host have one delay.
    let one_way = left / 2;
    let of_sender = one_way / 2;
    Ok((json!(written(of_sender)), json!(written(one_way - of_sender))))
}

/// A value at the path of a member, which may have its default.
fn at<'a>(node: &Node<'a>, field: &str, value: &'a Value) -> Node<'a> {
    node.child(field).map_or_else(|| node.with_value(value), |child| child.with_value(value))
}

/// A time in nanoseconds.
pub(super) fn time_of(node: &Node<'_>, field: &str, value: &Value) -> Result<u64, SpecError> {
    Time::decode(&at(node, field, value)).map(|time| time.0)
}

/// The text of a time that names it exactly.
pub(super) fn written(nanoseconds: u64) -> String {
    for (unit, factor, digits) in [("s", 1_000_000_000, 9), ("ms", 1_000_000, 6), ("us", 1_000, 3)] {
        let (whole, rest) = (nanoseconds / factor, nanoseconds % factor);
        if whole > 0 || nanoseconds == 0 {
            let decimals = format!("{rest:0digits$}");
            let decimals = decimals.trim_end_matches('0');
            let point = if decimals.is_empty() { "" } else { "." };
            return format!("{whole}{point}{decimals} {unit}");
        }
    }
    format!("{nanoseconds} ns")
}
