//! Links in both directions, and links of several nodes, as one table.
//!
//! A table with `duplex` stands for a link and the way back, which has the same properties except those that `duplex`
//! states. In place of one node, `from` or `to` may list several: there is a link for each. A link without a name is named
//! for its nodes, as `r1-r2`. One with `opportunities` or a `trace` may have no rate: its nominal rate is theirs.

use dumbbell_net::{LinkSpec, OpportunitySpec, SyntheticSpec};
use dumbbell_units::spec::{Field, Members, Node, Params, SpecError, any_of, closed_object, described};
use dumbbell_units::{Rate, Value};
use serde_json::json;

/// The member that states the way back.
const DUPLEX: &str = "duplex";
/// Ends the name of the way back if the link has a name of its own.
const BACK: &str = "back";

/// The links, one by one; `None` if none is in a short form.
///
/// # Errors
///
/// A table has unknown members, or members that contradict each other.
pub(crate) fn written_out(root: &Value) -> Result<Option<Value>, SpecError> {
    let stated = root.get("links").and_then(Value::as_array);
    if !stated.is_some_and(|links| links.iter().any(is_short)) {
        return Ok(None);
    }
    let Some(links) = Node::root(root).child("links") else { return Ok(None) };
    let mut written = Vec::new();
    for link in links.elements()? {
        if is_short(link.value()) {
            add(&link, &mut written)?;
        } else {
            written.push(link.value().clone());
        }
    }
    Ok(Some(Value::Array(written)))
}

fn is_short(link: &Value) -> bool {
    let Some(members) = link.as_object() else { return false };
    let is_list = |end: &str| members.get(end).is_some_and(Value::is_array);
    let has = |member: &str| members.get(member).is_some_and(|value| !value.is_null());
    let has_nominal_rate = !has("rate") && (has("opportunities") || has("trace"));
    has(DUPLEX) || is_list("from") || is_list("to") || !has("name") || has_nominal_rate
}

/// Adds the links that a table stands for.
fn add(node: &Node<'_>, written: &mut Vec<Value>) -> Result<(), SpecError> {
    node.refuse_unknown(&[LinkSpec::NAMES, &[DUPLEX]].concat())?;
    node.require(&["from", "to"])?;
    let (starts, ends) = (nodes(node, "from")?, nodes(node, "to")?);
    if starts.len() > 1 && ends.len() > 1 {
        let to = node.child("to").unwrap_or_else(|| node.clone());
        return Err(to.error("one node: only one of `from` and `to` lists several"));
    }
    let name = node.child("name");
    if let Some(name) = name.as_ref().filter(|_| starts.len() * ends.len() > 1) {
        return Err(name.error("no name: the links of several nodes are named for their nodes"));
    }
    let mut members = node.table()?.clone();
    let back = way_back(node, starts.len() * ends.len() > 1)?;
    members.shift_remove(DUPLEX);
    if let Some(rate) = nominal_rate(node)? {
        members.insert("rate".to_owned(), rate.encode());
    }
    let name = name.map(|name| name.value().clone());
    for (start, end) in starts.iter().flat_map(|start| ends.iter().map(move |end| (start, end))) {
        written.push(link(&members, (start, end), name.clone()));
        if let Some(changes) = &back {
            let mut members = members.clone();
            members.extend(changes.clone());
            let derived =
                || name.as_ref().and_then(Value::as_str).map(|name| json!(format!("{name}-{BACK}")));
            let name = changes.get("name").cloned().or_else(derived);
            written.push(link(&members, (end, start), name));
        }
    }
    Ok(())
}

/// The mean rate of opportunities or a trace, if the link has them and no rate.
fn nominal_rate(node: &Node<'_>) -> Result<Option<Rate>, SpecError> {
    if node.child("rate").is_some() {
        return Ok(None);
    }
    if let Some(opportunities) = node.child("opportunities") {
        return OpportunitySpec::decode(&opportunities).map(|spec| Some(spec.mean_rate()));
    }
    let Some(trace) = node.child("trace") else { return Ok(None) };
    Ok(Some(match SyntheticSpec::decode(&trace)? {
        SyntheticSpec::Lte(spec) => spec.rate,
        SyntheticSpec::Geo(spec) => spec.rate,
        SyntheticSpec::Starlink(spec) => spec.rate,
        // Half of its range with line of sight.
        SyntheticSpec::MmWave(spec) => Rate(
            spec.line_of_sight.iter().map(|rate| rate.0).sum::<u64>()
                / spec.line_of_sight.len().max(1) as u64,
        ),
    }))
}

/// The node, or the nodes, at one end.
fn nodes(node: &Node<'_>, end: &str) -> Result<Vec<String>, SpecError> {
    let Some(child) = node.child(end) else { return Ok(Vec::new()) };
    if let Some(name) = child.value().as_str() {
        return Ok(vec![name.to_owned()]);
    }
    let names = Vec::<String>::decode(&child).map_err(|_| child.error("a node, or a list of nodes"))?;
    if names.is_empty() { Err(child.error("at least one node")) } else { Ok(names) }
}

/// How the way back differs; `None` if there is none.
fn way_back(node: &Node<'_>, are_several: bool) -> Result<Option<Members>, SpecError> {
    let Some(duplex) = node.child(DUPLEX) else { return Ok(None) };
    match duplex.value() {
        Value::Bool(is_duplex) => Ok(is_duplex.then(Members::new)),
        Value::Object(members) => {
            let known: Vec<&str> = members_of_way_back();
            duplex.refuse_unknown(&known)?;
            if let Some(name) = duplex.child("name").filter(|_| are_several) {
                return Err(name.error("no name: the links of several nodes are named for their nodes"));
            }
            Ok(Some(members.clone()))
        }
        _ => Err(duplex.error("true, false, or a table of what differs on the way back")),
    }
}

fn members_of_way_back() -> Vec<&'static str> {
    LinkSpec::NAMES.iter().copied().filter(|name| !["from", "to"].contains(name)).collect()
}

/// A link with these members, named for its nodes if it has no name.
fn link(members: &Members, (start, end): (&str, &str), name: Option<Value>) -> Value {
    let name = name.unwrap_or_else(|| json!(format!("{start}-{end}")));
    let mut link = Members::new();
    link.extend([
        ("name".to_owned(), name),
        ("from".to_owned(), json!(start)),
        ("to".to_owned(), json!(end)),
    ]);
    let rest = members.iter().filter(|(member, _)| !["name", "from", "to"].contains(&member.as_str()));
    link.extend(rest.map(|(member, value)| (member.clone(), value.clone())));
    Value::Object(link)
}

/// JSON Schema of a table in short form.
pub(crate) fn schema() -> Value {
    let mut schema = LinkSpec::schema();
    let nodes = any_of(vec![String::schema(), Vec::<String>::schema()]);
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let known = members_of_way_back();
    // What is not stated there is that of the link.
    let differing =
        properties.iter().filter(|(name, _)| known.contains(&name.as_str())).map(|(name, member)| {
            let mut member = member.clone();
            if let Some(member) = member.as_object_mut() {
                member.shift_remove("default");
            }
            (name.clone(), member)
        });
    let way_back = closed_object(differing.collect(), &[]);
    let about = "The link has a way back with the same properties, or with those that differ. Without a name of its own, \
                 it is named for its nodes, or, if the link has a name, with `-back` added to it.";
    schema["properties"][DUPLEX] = described(any_of(vec![bool::schema(), way_back]), about);
    for (end, about) in [
        ("from", "Node at the sending end, or several nodes with a link each."),
        ("to", "Node at the receiving end, or several nodes with a link each."),
    ] {
        schema["properties"][end] = described(nodes.clone(), about);
    }
    schema["properties"]["name"] =
        described(String::schema(), "Name, unique among links; by default that of its nodes, as `r1-r2`.");
    schema["required"] = json!(["from", "to", "delay"]);
    schema
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use dumbbell_units::Value;
    use serde_json::json;

    fn scenario(links: &Value) -> Value {
        json!({
            "duration": "5 s", "nodes": ["r1", "r2", "s1", "s2", "d1", "d2"], "links": links,
            "flows": [
                { "name": "one", "from": "s1", "to": "d1" }, { "name": "two", "from": "s2", "to": "d2" },
            ],
        })
    }

    fn bottleneck(duplex: &Value) -> Value {
        json!({
            "from": "r1", "to": "r2", "rate": "10 Mbit/s", "delay": "20 ms",
            "queue": { "kind": "droptail", "limit": "50 packets" }, "duplex": duplex,
        })
    }

    fn access() -> [Value; 2] {
        [
            json!({ "from": ["s1", "s2"], "to": "r1", "rate": "100 Mbit/s", "delay": "1 ms", "duplex": true }),
            json!({ "from": "r2", "to": ["d1", "d2"], "rate": "100 Mbit/s", "delay": "1 ms", "duplex": true }),
        ]
    }

    fn links(bottleneck: Value) -> Result<Scenario, String> {
        let [senders, receivers] = access();
        Scenario::from_value(&scenario(&json!([bottleneck, senders, receivers])))
            .map_err(|error| error.to_string())
    }

    fn names(scenario: &Scenario) -> Vec<&str> {
        scenario.links.iter().map(|link| link.name.as_str()).collect()
    }

    #[test]
    fn three_tables_are_the_ten_links_of_two_pairs() {
        let read = links(bottleneck(&json!(true))).unwrap();
        let expected = "r1-r2 r2-r1 s1-r1 r1-s1 s2-r1 r1-s2 r2-d1 d1-r2 r2-d2 d2-r2";
        assert_eq!(names(&read).join(" "), expected);
        let mut written = Vec::new();
        for name in names(&read) {
            let (from, to) = name.split_once('-').unwrap();
            let mut one =
                json!({ "name": name, "from": from, "to": to, "rate": "100 Mbit/s", "delay": "1 ms" });
            if from.starts_with('r') && to.starts_with('r') {
                one["rate"] = json!("10 Mbit/s");
                one["delay"] = json!("20 ms");
                one["queue"] = json!({ "kind": "droptail", "limit": "50 packets" });
            }
            written.push(one);
        }
        assert_eq!(Ok(read), Scenario::from_value(&scenario(&json!(written))));
    }

    #[test]
    fn the_way_back_differs_where_its_table_says_so() {
        let read = links(bottleneck(&json!({ "rate": "1 Mbit/s", "queue": "codel" }))).unwrap();
        let [there, back] = [&read.links[0], &read.links[1]];
        assert_eq!((there.rate.0, back.rate.0), (10_000_000, 1_000_000));
        assert_eq!((there.queue.name(), back.queue.name()), ("droptail", "codel"));
        assert_eq!(there.delay, back.delay);
    }

    #[test]
    fn the_way_back_of_a_named_link_has_its_name_or_a_stated_one() {
        for (duplex, expected) in [
            (json!(true), ["wan", "wan-back"]),
            (json!({ "name": "up" }), ["wan", "up"]),
            (json!(false), ["wan", "s1-r1"]),
        ] {
            let mut link = bottleneck(&duplex);
            link["name"] = json!("wan");
            let [senders, receivers] = access();
            let mut all = scenario(&json!([link, senders, receivers]));
            if duplex == json!(false) {
                all["flows"] = json!([{ "name": "one", "from": "s1", "to": "d1", "source": "cbr" }]);
            }
            let read = Scenario::from_value(&all).unwrap();
            assert_eq!(names(&read)[..2], expected);
        }
    }

    #[test]
    fn a_link_with_opportunities_or_a_trace_has_their_rate() {
        let with = |member: &str, value: Value| {
            let mut link = bottleneck(&json!(true));
            let members = link.as_object_mut().unwrap();
            members.shift_remove("rate");
            members.insert(member.into(), value);
            links(link).map(|read| read.links[1].rate.0)
        };
        // One opportunity of 1504 bytes per millisecond.
        assert_eq!(with("opportunities", json!({ "times": [1] })), Ok(12_032_000));
        assert_eq!(with("trace", json!({ "kind": "lte", "rate": "7 Mbit/s" })), Ok(7_000_000));
        let range = json!(["200 Mbit/s", "600 Mbit/s"]);
        assert_eq!(with("trace", json!({ "kind": "mmwave", "line_of_sight": range })), Ok(400_000_000));
        let error = with("opportunities", json!({ "times": [] })).unwrap_err();
        assert!(error.starts_with("links.0.opportunities.times: []"), "{error}");
    }

    #[test]
    fn tables_that_contradict_themselves_are_refused() {
        let refused = |link: Value| links(link).unwrap_err();
        let with = |member: &str, value: Value| {
            let mut link = bottleneck(&json!(true));
            link[member] = value;
            link
        };
        for (link, text) in [
            (
                bottleneck(&json!({ "rat": "1 Mbit/s" })),
                "links.0.duplex.rat: this field is not accepted; expected one of",
            ),
            (
                bottleneck(&json!("yes")),
                "links.0.duplex: \"yes\" is not accepted; expected true, false, or a table",
            ),
            (with("from", json!([])), "links.0.from: [] is not accepted; expected at least one node"),
            (with("from", json!(7)), "links.0.from: 7 is not accepted; expected a node, or a list of nodes"),
            (with("duplx", json!(true)), "links.0.duplx: this field is not accepted"),
        ] {
            let error = refused(link);
            assert!(error.starts_with(text), "{error}");
        }
        let mut many = access()[0].clone();
        many["name"] = json!("access");
        assert!(
            refused(many.clone()).contains("links.access.name: \"access\" is not accepted; expected no name")
        );
        many["to"] = json!(["r1", "r2"]);
        assert!(refused(many).contains("one node: only one of `from` and `to` lists several"));
        let mut twice = bottleneck(&json!(true));
        twice["name"] = json!("s1-r1");
        assert!(refused(twice).starts_with("links: \"s1-r1\" twice"));
        let mut no_rate = bottleneck(&json!(true));
        no_rate.as_object_mut().unwrap().shift_remove("rate");
        assert!(refused(no_rate).starts_with("links.r1-r2.rate: nothing is not accepted"));
    }
}
