//! The flows of a scenario, one by one or in groups.

use crate::transport::Transport;
use dumbbell_net::SourceSpec;
use dumbbell_tcp::Tcp;
use dumbbell_units::spec::{Field, Members, Node, Params, SpecError, any_of, closed_object, described};
use dumbbell_units::{Bytes, Time, Value, params};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// When a flow starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// At this time.
    At(Time),
    /// At a random time between these.
    Uniform(Time, Time),
}

impl Field for Start {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        if node.value().is_string() {
            return Time::decode(node).map(Start::At);
        }
        if !node.value().is_object() {
            return Err(node.error(Self::accepted()));
        }
        node.refuse_unknown(&["uniform"])?;
        node.require(&["uniform"])?;
        let bounds = node.child("uniform").ok_or_else(|| node.error(Self::accepted()))?;
        match Vec::<Time>::decode(&bounds)?[..] {
            [from, to] if from <= to => Ok(Start::Uniform(from, to)),
            _ => Err(bounds.error("two times, the earlier first")),
        }
    }
    fn encode(&self) -> Value {
        match self {
            Start::At(at) => at.encode(),
            Start::Uniform(from, to) => json!({ "uniform": [from.encode(), to.encode()] }),
        }
    }
    fn accepted() -> String {
        "a time, or { uniform = [\"10 s\", \"11 s\"] }".into()
    }
    fn schema() -> Value {
        let mut members = Members::new();
        members
            .insert("uniform".into(), described(Vec::<Time>::schema(), "The earliest and the latest time."));
        any_of(vec![Time::schema(), closed_object(members, &["uniform"])])
    }
}

params! {
    /// A period in which a flow runs again.
    pub struct Restart requires [start] {
        /// When it starts.
        start: Time = Time::ZERO, "s", "-";
        /// When the application stops writing; never if not given.
        stop: Option<Time> = None, "s", "-";
    }
}

params! {
    /// A change of a flow's path.
    pub struct Reroute requires [at] {
        /// Time of the change; packets already sent stay on their path.
        at: Time = Time::ZERO, "s", "-";
        /// Links from sender to receiver from then on; unchanged if not given.
        path: Option<Vec<String>> = None, "-", "-";
        /// Links from receiver to sender from then on; unchanged if not given.
        reverse_path: Option<Vec<String>> = None, "-", "-";
    }
}

params! {
    /// How a source of datagrams writes them over TCP or another transport: each packet, or frame of a video, is a message.
    pub struct MessageSpec {
        /// Time from the writing of a message until its last byte should reach the receiving application. Later ones are
        /// counted.
        deadline: Option<Time> = None, "s", "-",
            |deadline| deadline.is_none_or(|deadline| deadline.0 > 0), "a time above 0";
        /// Bytes that may be written and not acknowledged. A message beyond is skipped, unless nothing else waits. Without
        /// a limit, everything waits until it is sent.
        backlog: Option<Bytes> = None, "bytes", "-",
            |backlog| backlog.is_none_or(|backlog| backlog.0 > 0), "a size above 0";
    }
}

params! {
    /// A flow from one node to another.
    pub struct FlowSpec requires [name, from, to] {
        /// Name, unique among flows.
        name: String = String::new(), "-", "-", |name| !name.is_empty(), "a name";
        /// Node that sends.
        from: String = String::new(), "-", "-";
        /// Node that receives.
        to: String = String::new(), "-", "-";
        /// Links from sender to receiver; the path with the fewest hops if not given.
        path: Option<Vec<String>> = None, "-", "-";
        /// Links from receiver to sender; the path with the fewest hops if not given.
        reverse_path: Option<Vec<String>> = None, "-", "-";
        /// When the flow starts.
        start: Start = Start::At(Time::ZERO), "s", "-";
        /// When the application stops writing.
        stop: Option<Time> = None, "s", "-";
        /// Periods after the first stop in which it runs again, each with a new connection.
        restarts: Vec<Restart> = Vec::new(), "s", "-";
        /// Changes of its paths, in order of time.
        reroutes: Vec<Reroute> = Vec::new(), "-", "-",
            |reroutes| reroutes.windows(2).all(|pair| pair[0].at < pair[1].at)
                && reroutes.iter().all(|change| change.path.is_some() || change.reverse_path.is_some()),
            "changes at ascending times, each with a path or a reverse path";
        /// Rules of its TCP connections. What a source of datagrams would send is written on one connection.
        tcp: Option<Tcp> = None, "-", "-";
        /// A transport other than the engine's TCP, which carries the flow in its place. What a source of datagrams would
        /// send is written on one connection.
        transport: Option<Transport> = None, "-", "-";
        /// Traffic source.
        source: SourceSpec = SourceSpec::default(), "-", "-";
        /// Limits of what a source of datagrams writes on a connection.
        messages: Option<MessageSpec> = None, "-", "-";
    }
}

impl FlowSpec {
    /// True if its receiver tells a window that is not constant.
    pub fn tells_window(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.0.reading.is_some())
    }

    /// True if what its source would send as datagrams is written on a connection.
    pub fn writes_messages(&self) -> bool {
        self.source.is_datagram() && (self.tcp.is_some() || self.transport.is_some())
    }
}

/// Maximum number of flows of a scenario with groups: they need about 8 GB.
const MOST_FLOWS: usize = 2_000_000;

/// The flows of a scenario. A table with a `count` stands for a group: that many flows, named `web-1`, `web-2` and so on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    all: Vec<FlowSpec>,
    groups: Vec<Group>,
}

/// A group whose name may stand for all its flows; see [`Flows::replace_groups`].
#[derive(Clone, Debug, PartialEq)]
struct Group {
    name: String,
    count: u64,
}

impl Group {
    fn member(&self, number: u64) -> String {
        format!("{}-{number}", self.name)
    }
}

impl Flows {
    /// Adds the flows that a table states.
    pub(crate) fn add(&mut self, node: &Node<'_>) -> Result<(), SpecError> {
        let known = [FlowSpec::NAMES, &["count"]].concat();
        node.refuse_unknown(&known)?;
        let Some(stated) = node.child("count") else {
            self.all.push(one(node)?);
            return Ok(());
        };
        let left = MOST_FLOWS.saturating_sub(self.all.len()) as u64;
        let count = stated.value().as_u64().filter(|count| (1..=left).contains(count));
        let count = count.ok_or_else(|| stated.error(accepted_count()))?;
        let mut members = node.table()?.clone();
        members.shift_remove("count");
        let one = one(&node.with_value(&Value::Object(members)))?;
        let group = Group { name: one.name.clone(), count };
        self.all.extend((1..=count).map(|number| FlowSpec { name: group.member(number), ..one.clone() }));
        self.groups.push(group);
        Ok(())
    }

    /// Replaces the names of groups in lists of names by those of their flows, and drops the groups.
    ///
    /// # Errors
    ///
    /// A group has the name of another group or of a flow, or a list names it twice.
    pub(crate) fn replace_groups<'a>(
        &mut self,
        lists: impl Iterator<Item = (String, &'a mut Vec<String>)>,
    ) -> Result<(), SpecError> {
        let groups = std::mem::take(&mut self.groups);
        let by_name: BTreeMap<&str, &Group> =
            groups.iter().map(|group| (group.name.as_str(), group)).collect();
        let has_other = |flow: &FlowSpec| by_name.contains_key(flow.name.as_str());
        if by_name.len() < groups.len() || by_name.contains_key("*") || self.all.iter().any(has_other) {
            let names = groups.iter().map(|group| format!("\"{}\"", group.name)).collect::<Vec<_>>();
            return Err(refused(
                "flows".to_owned(),
                names.join(", "),
                "names of groups that nothing else has",
            ));
        }
        for (field, list) in lists {
            let mut named: Vec<&String> =
                list.iter().filter(|name| by_name.contains_key(name.as_str())).collect();
            if named.is_empty() {
                continue;
            }
            named.sort_unstable();
            if let Some(pair) = named.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(refused(field, format!("\"{}\" twice", pair[0]), "a group once"));
            }
            let members = |name: String| match by_name.get(name.as_str()) {
                Some(group) => (1..=group.count).map(|number| group.member(number)).collect(),
                None => vec![name],
            };
            *list = std::mem::take(list).into_iter().flat_map(members).collect();
        }
        Ok(())
    }
}

/// The flow that a table states. A source that needs TCP has that of the environment if nothing is stated.
fn one(node: &Node<'_>) -> Result<FlowSpec, SpecError> {
    let mut flow = FlowSpec::decode(node)?;
    if flow.tcp.is_none() && flow.transport.is_none() && !flow.source.is_datagram() {
        flow.tcp = Some(Tcp::decode(&node.with_value(&json!({})))?);
    }
    Ok(flow)
}

fn refused(field: String, value: String, accepted: &str) -> SpecError {
    SpecError { field, value, accepted: accepted.to_owned(), suggestion: None }
}

fn accepted_count() -> String {
    format!("a whole number from 1, and at most {MOST_FLOWS} flows in all")
}

impl Deref for Flows {
    type Target = Vec<FlowSpec>;
    fn deref(&self) -> &Vec<FlowSpec> {
        &self.all
    }
}

impl DerefMut for Flows {
    fn deref_mut(&mut self) -> &mut Vec<FlowSpec> {
        &mut self.all
    }
}

impl<'a> IntoIterator for &'a Flows {
    type Item = &'a FlowSpec;
    type IntoIter = std::slice::Iter<'a, FlowSpec>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl<'a> IntoIterator for &'a mut Flows {
    type Item = &'a mut FlowSpec;
    type IntoIter = std::slice::IterMut<'a, FlowSpec>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.iter_mut()
    }
}

impl Field for Flows {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let mut flows = Flows::default();
        for element in node.elements()? {
            flows.add(&element)?;
        }
        Ok(flows)
    }
    fn encode(&self) -> Value {
        let one = |flow: &FlowSpec| {
            let mut members = flow.members();
            // Younger than the canonical form.
            if flow.messages.is_none() {
                members.shift_remove("messages");
            }
            Value::Object(members)
        };
        self.all.iter().map(one).collect()
    }
    fn accepted() -> String {
        Vec::<FlowSpec>::accepted()
    }
    fn schema() -> Value {
        let mut schema = Vec::<FlowSpec>::schema();
        schema["items"]["properties"]["count"] = json!({
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FLOWS,
            "description": "Number of flows that this table stands for: `web-1`, `web-2` and so on. Where flows are \
                            named, the name alone refers to all of them.",
            "x-unit": "-",
            "x-source": "-",
        });
        schema
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use dumbbell_units::Value;
    use serde_json::json;

    fn scenario(flow: &Value) -> Value {
        let link = |from: &str, to: &str| {
            json!({
                "name": format!("{from}-{to}"), "from": from, "to": to, "rate": "1 Mbit/s", "delay": "10 ms"
            })
        };
        json!({
            "duration": "1 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [flow, { "name": "other", "from": "a", "to": "b", "tcp": "reno" }],
            "probes": [{ "flows": ["web", "other"], "quantities": ["cwnd"] }],
            "stop_when_complete": ["web"],
        })
    }

    fn group(count: &Value) -> Value {
        let source = json!({ "kind": "transfer", "size": "1 kB" });
        scenario(
            &json!({ "name": "web", "count": count, "from": "a", "to": "b", "tcp": "reno", "source": source }),
        )
    }

    #[test]
    fn a_group_is_as_many_flows_and_its_name_stands_for_them() {
        let value = group(&json!(3));
        let read = Scenario::from_value(&value).expect("a group of three flows");
        assert_eq!(read.flow_names(), ["web-1", "web-2", "web-3", "other"]);
        assert_eq!(read.probes[0].flows, ["web-1", "web-2", "web-3", "other"]);
        assert_eq!(read.stop_when_complete, ["web-1", "web-2", "web-3"]);
        assert_eq!(read.flows[0].source, read.flows[2].source);
        assert_eq!(Scenario::from_json(&value.to_string()).as_ref(), Ok(&read));
        assert_eq!(Scenario::from_json(&read.to_json()), Ok(read));
    }

    #[test]
    fn a_count_is_at_least_one_and_its_field_is_suggested() {
        for count in [json!(0), json!(-1), json!(1.5), json!("3"), json!(2_000_001)] {
            let error = Scenario::from_value(&group(&count)).expect_err("no number of flows");
            assert_eq!(error.field, "flows.web.count");
            assert_eq!(error.accepted, "a whole number from 1, and at most 2000000 flows in all");
        }
        let misspelt = scenario(&json!({ "name": "web", "counts": 3, "from": "a", "to": "b" }));
        let error = Scenario::from_value(&misspelt).expect_err("no field of a flow");
        assert_eq!(error.suggestion.as_deref(), Some("count"));
    }

    #[test]
    fn the_name_of_a_group_is_its_own_and_named_once() {
        for (name, probed) in [("web", "other"), ("other", "web")] {
            let mut value = group(&json!(3));
            value["flows"][1]["name"] = json!(name);
            value["probes"][0]["flows"] = json!(["web", probed]);
            let error = Scenario::from_value(&value).expect_err("a name for two");
            assert!(["flows", "probes.0.flows"].contains(&error.field.as_str()), "{error}");
        }
    }

    #[test]
    fn a_flow_with_the_name_of_a_member_is_refused() {
        let mut value = group(&json!(3));
        value["flows"][1]["name"] = json!("web-2");
        value["probes"] = json!([]);
        let error = Scenario::from_value(&value).expect_err("a name twice");
        assert_eq!((error.field.as_str(), error.value.as_str()), ("flows", "\"web-2\" twice"));
    }
}
