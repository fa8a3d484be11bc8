//! Reads scenarios, and refuses those whose parts do not fit together.

use crate::flows::{FlowSpec, Start};
use crate::network::{Names, Routes};
use crate::quantity::{Measure, Quantity};
use crate::scenario::{NodeSpec, ProbeSpec, Scenario, probes_of, shows};
use crate::warnings::largest_packets;
use dumbbell_net::queues::Setup;
use dumbbell_net::synthetic;
use dumbbell_net::{Downtime, LinkSpec, SourceSpec, SyntheticSpec};
use dumbbell_units::spec::{Field, Members, Node, SpecError, near_miss};
use dumbbell_units::{Time, Value};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of packets that a source may send at one instant.
const MOST_PACKETS_AT_ONCE: u64 = 100_000;

/// Maximum number of samples of a periodic probe.
const MOST_SAMPLES: u64 = 10_000_000;

fn refuse(field: String, value: impl Into<String>, accepted: impl Into<String>) -> SpecError {
    SpecError { field, value: value.into(), accepted: accepted.into(), suggestion: None }
}

/// The position of `name`, or an error that lists the known names.
fn find(names: &Names<'_>, name: &str, field: String, what: &str) -> Result<usize, SpecError> {
    names.index(name).ok_or_else(|| {
        let known = names.sorted();
        let listed = known.iter().take(20).copied().collect::<Vec<_>>().join(", ");
        let more = if known.len() > 20 { ", ..." } else { "" };
        SpecError {
            field,
            value: format!("\"{name}\""),
            accepted: format!("the name of a {what}: {listed}{more}"),
            suggestion: near_miss(name, &known),
        }
    })
}

fn refuse_repeated(names: &[&str], what: &str) -> Result<(), SpecError> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(refuse(what.to_owned(), format!("\"{}\" twice", pair[0]), "different names")),
        None => Ok(()),
    }
}

impl Scenario {
    /// Reads TOML as the value that [`from_value`](Self::from_value) takes, for callers that complete it first, such as
    /// with files that it names.
    ///
    /// # Errors
    ///
    /// The text is not TOML.
    pub fn toml_value(text: &str) -> Result<Value, SpecError> {
        let table: toml::Table = toml::from_str(text).map_err(|error| {
            let reason = error.message().trim().to_owned();
            let line =
                error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            refuse(format!("line {line}"), reason, "a scenario in TOML")
        })?;
        Ok(json_of(toml::Value::Table(table)))
    }

    /// Reads JSON as the value that [`from_value`](Self::from_value) takes.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn json_value(text: &str) -> Result<Value, SpecError> {
        serde_json::from_str(text).map_err(|error| {
            refuse(format!("line {}", error.line()), error.to_string(), "a scenario in JSON")
        })
    }

    /// Reads the elements of long lists one by one, because a tree of a hundred thousand flows would take many times
    /// the memory of the scenario. It gives no error details, and knows no short forms; the parse into a tree does.
    pub(crate) fn from_sound_json(text: &str) -> Option<Scenario> {
        let mut parts: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        let (nodes, links, flows) = (parts.remove("nodes")?, parts.remove("links")?, parts.remove("flows")?);
        let mut rest = Members::new();
        for (key, part) in parts {
            rest.insert(key, serde_json::from_str(part.get()).ok()?);
        }
        rest.extend(["nodes", "links", "flows"].map(|list| (list.to_owned(), json!([]))));
        let rest = Value::Object(rest);
        let mut scenario = Scenario::decode(&Node::root(&rest)).ok()?;
        each_element(nodes, &rest, |node| NodeSpec::decode(node).map(|found| scenario.nodes.push(found)))?;
        each_element(links, &rest, |link| LinkSpec::decode(link).map(|found| scenario.links.push(found)))?;
        each_element(flows, &rest, |flow| scenario.flows.add(flow))?;
        scenario.checked().ok()
    }

    /// Reads and validates a scenario without short forms, without binding it.
    pub(crate) fn read(value: &Value) -> Result<Scenario, SpecError> {
        Scenario::decode(&Node::root(value))?.checked()
    }

    /// The scenario with groups of flows expanded, if its parts fit together.
    fn checked(mut self) -> Result<Scenario, SpecError> {
        let probed = self.probes.iter_mut().enumerate();
        let probed = probed.map(|(index, probe)| (format!("probes.{index}.flows"), &mut probe.flows));
        let awaited = ("stop_when_complete".to_owned(), &mut self.stop_when_complete);
        self.rules = None;
        self.flows.replace_groups(probed.chain([awaited]))?;
        self.validate()?;
        Ok(self)
    }

    fn validate(&self) -> Result<(), SpecError> {
        let (nodes, links, flows) = (self.node_names(), self.link_names(), self.flow_names());
        refuse_repeated(&nodes, "nodes")?;
        refuse_repeated(&links, "links")?;
        refuse_repeated(&flows, "flows")?;
        let completing: Vec<&str> = self.stop_when_complete.iter().map(String::as_str).collect();
        refuse_repeated(&completing, "stop_when_complete")?;
        let (nodes, links, flows) = (Names::new(nodes), Names::new(links), Names::new(flows));
        for link in &self.links {
            validate_link(link, &nodes)?;
        }
        for link in &self.links {
            validate_impairments(link, self.duration)?;
        }
        self.validate_completing(&flows)?;
        if self.flows.is_empty() {
            return Err(refuse("flows".into(), "an empty list", "at least one flow"));
        }
        self.validate_window()?;
        for flow in &self.flows {
            validate_flow(flow, &nodes)?;
        }
        for (index, probe) in self.probes.iter().enumerate() {
            let path = format!("probes.{index}");
            validate_probe(probe, &path, &flows, &links)?;
            self.validate_shown(probe, &path)?;
            self.validate_period(probe, &path)?;
        }
        let routes = Routes::new(self)?;
        self.refuse_packets_too_large(&routes)
    }

    fn validate_completing(&self, flows: &Names<'_>) -> Result<(), SpecError> {
        for name in &self.stop_when_complete {
            let index = find(flows, name, "stop_when_complete".into(), "flow")?;
            if !self.flows[index].source.is_finite() {
                let accepted = "flows that can complete: a transfer, or a workload with a `count`";
                return Err(refuse("stop_when_complete".into(), format!("\"{name}\""), accepted));
            }
        }
        Ok(())
    }

    /// Checks the measurement window.
    fn validate_window(&self) -> Result<(), SpecError> {
        if let Some(until) = self.measure_until
            && until > self.duration
        {
            let accepted = format!("a time up to the duration, {}", self.duration);
            return Err(refuse("measure_until".into(), until.to_string(), accepted));
        }
        if self.measure_from >= self.measure_until() {
            let accepted = "a time before measure_until and duration";
            return Err(refuse("measure_from".into(), self.measure_from.to_string(), accepted));
        }
        Ok(())
    }

    fn validate_period(&self, probe: &ProbeSpec, path: &str) -> Result<(), SpecError> {
        let Some(period) = probe.period else { return Ok(()) };
        let refused = |accepted| Err(refuse(format!("{path}.period"), period.to_string(), accepted));
        if let Some(quantity) = probe.quantities.iter().find(|quantity| quantity.has_rows()) {
            return refused(format!("no period: {} are recorded as they happen", quantity.name()));
        }
        if self.duration.0 / period.0 > MOST_SAMPLES {
            return refused(format!("a period with at most {MOST_SAMPLES} samples in the duration"));
        }
        Ok(())
    }

    /// Rejects a queue that can never pass a packet of some flow that crosses it.
    fn refuse_packets_too_large(&self, routes: &Routes) -> Result<(), SpecError> {
        if self.links.iter().all(|link| link.queue.largest_packet().is_none()) {
            return Ok(());
        }
        let later = routes.reroutes.iter().map(|change| (change.flow as usize, change.begins));
        for (flow, begins) in routes.begins.iter().copied().enumerate().chain(later) {
            let flow = &self.flows[flow];
            let (segment, acknowledgement) = largest_packets(flow);
            for (begin, packet) in [(begins.0, segment), (begins.1, acknowledgement)] {
                for link in routes.links_from(begin).map(|link| &self.links[link]) {
                    if let Some((member, largest)) = link.queue.largest_packet()
                        && largest.0 < packet
                    {
                        let field = format!("links.{}.queue.{member}", link.name);
                        let accepted = format!("at least {packet} bytes, the packets of {}", flow.name);
                        return Err(refuse(field, largest.to_string(), accepted));
                    }
                }
            }
        }
        Ok(())
    }
}

fn validate_link(link: &LinkSpec, nodes: &Names<'_>) -> Result<(), SpecError> {
    let field = |member: &str| format!("links.{}.{member}", link.name);
    find(nodes, &link.from, field("from"), "node")?;
    find(nodes, &link.to, field("to"), "node")?;
    if link.from == link.to {
        return Err(refuse(field("to"), format!("\"{}\"", link.to), "a node other than `from`"));
    }
    validate_queue(link)?;
    if link.opportunities.is_some()
        && let Some(index) = link.changes.iter().position(|change| change.rate.is_some())
    {
        let rate = link.changes[index].rate.map(|rate| rate.to_string()).unwrap_or_default();
        let accepted = "nothing: opportunities determine when the link transmits";
        return Err(refuse(field(&format!("changes.{index}.rate")), rate, accepted));
    }
    Ok(())
}

/// Rejects a queue whose parameters contradict each other or the link.
fn validate_queue(link: &LinkSpec) -> Result<(), SpecError> {
    let Some((member, accepted)) = link.queue.contradiction(&Setup { rate: link.rate }) else {
        return Ok(());
    };
    let encoded = link.queue.encode();
    let value = encoded[member].as_str().map_or_else(|| encoded[member].to_string(), str::to_owned);
    Err(refuse(format!("links.{}.queue.{member}", link.name), value, accepted))
}

/// Rejects impairments whose parameters contradict each other, and a trace beside what it replaces.
fn validate_impairments(link: &LinkSpec, duration: Time) -> Result<(), SpecError> {
    for (index, impairment) in link.impairments.iter().enumerate() {
        if let Some((member, accepted)) = impairment.contradiction() {
            let value = impairment.encode()[member].to_string();
            return Err(refuse(format!("links.{}.impairments.{index}.{member}", link.name), value, accepted));
        }
    }
    if link.wifi.is_some() {
        let has_opportunities = link.trace.as_ref().is_some_and(SyntheticSpec::has_opportunities);
        let holds = link.outages.iter().any(|outage| outage.packets == Downtime::Hold);
        let excluded = [
            ("opportunities", link.opportunities.is_some() || has_opportunities),
            ("outages that hold packets", holds),
        ];
        if let Some((what, _)) = excluded.into_iter().find(|(_, is_given)| *is_given) {
            let accepted = format!("a link without {what}");
            return Err(refuse(format!("links.{}.wifi", link.name), format!("wifi and {what}"), accepted));
        }
    }
    let Some(trace) = &link.trace else { return Ok(()) };
    let field = format!("links.{}.trace", link.name);
    let steps = trace.steps(duration);
    if steps > synthetic::MOST_STEPS as f64 {
        let accepted = "a trace and a duration that give at most 50 million";
        return Err(refuse(field, format!("{steps:.0} steps"), accepted));
    }
    let replaced = [
        ("opportunities", link.opportunities.is_some()),
        ("changes", !link.changes.is_empty()),
        ("outages", !link.outages.is_empty()),
    ];
    match replaced.into_iter().find(|(_, is_given)| *is_given) {
        Some((member, _)) => {
            Err(refuse(field, format!("a trace and {member}"), format!("a trace alone, without {member}")))
        }
        None => Ok(()),
    }
}

impl Scenario {
    /// Rejects quantities that flows do not have, such as probes of other congestion controls: a named flow must have them;
    /// with `*`, at least one flow.
    fn validate_shown(&self, probe: &ProbeSpec, path: &str) -> Result<(), SpecError> {
        let names: BTreeSet<&String> = probe.flows.iter().collect();
        for quantity in probe.quantities.iter().filter(|quantity| quantity.is_of_some_flows()) {
            let is_named = |flow: &&FlowSpec| names.contains(&flow.name);
            let lacking = self.flows.iter().filter(is_named).find(|flow| !shows(flow, quantity));
            let accepted = match lacking {
                Some(flow) if quantity.is(Measure::Transfers) => {
                    format!("a flow whose source is a workload, which that of \"{}\" is not", flow.name)
                }
                Some(flow) if quantity.is(Measure::TcpEvents) => {
                    format!("a flow over TCP, which \"{}\" is not", flow.name)
                }
                Some(flow) => shown_by(flow),
                None if probe.flows.iter().any(|name| name == "*")
                    && !self.flows.iter().any(|flow| shows(flow, quantity)) =>
                {
                    match quantity {
                        Quantity::Measured(Measure::Transfers) => {
                            "a scenario with workloads, such as the source transfers".to_owned()
                        }
                        Quantity::Measured(_) => "a scenario with flows over TCP".to_owned(),
                        Quantity::Declared(_) => {
                            "a probe that the congestion control of some flow has".to_owned()
                        }
                    }
                }
                None => continue,
            };
            return Err(refuse(format!("{path}.quantities"), format!("\"{}\"", quantity.name()), accepted));
        }
        Ok(())
    }
}

/// Rejects a transport beside what it replaces, and under a source that it does not carry.
fn validate_transport(flow: &FlowSpec) -> Result<(), SpecError> {
    let Some(transport) = &flow.transport else { return Ok(()) };
    let refused = |member: &str, value: &str, accepted: &str| {
        Err(refuse(format!("flows.{}.{member}", flow.name), value, accepted))
    };
    if flow.tcp.is_some() {
        return refused("tcp", "a table", "nothing: the flow states a transport, which has its own rules");
    }
    if flow.source.reports().is_some() {
        let stated = format!("\"{}\"", transport.spec.name);
        let accepted = "nothing: this source adapts to reports about its own datagrams";
        return refused("transport", &stated, accepted);
    }
    Ok(())
}

/// The probes of a flow's congestion control, as text for users.
fn shown_by(flow: &FlowSpec) -> String {
    let names = probes_of(flow);
    let control = flow.tcp.as_ref().map_or("no congestion control", |tcp| tcp.0.control_name());
    let shown = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    format!("a probe that the congestion control of the flow \"{}\" has: {control} has {shown}", flow.name)
}

fn validate_flow(flow: &FlowSpec, nodes: &Names<'_>) -> Result<(), SpecError> {
    let field = |member: &str| format!("flows.{}.{member}", flow.name);
    find(nodes, &flow.from, field("from"), "node")?;
    find(nodes, &flow.to, field("to"), "node")?;
    if flow.from == flow.to {
        return Err(refuse(field("to"), format!("\"{}\"", flow.to), "a node other than `from`"));
    }
    let earliest_stop = match flow.start {
        Start::At(at) | Start::Uniform(_, at) => at,
    };
    if let Some(stop) = flow.stop
        && stop <= earliest_stop
    {
        return Err(refuse(field("stop"), stop.to_string(), "a time after the start"));
    }
    let mut last_stop = flow.stop;
    for (index, restart) in flow.restarts.iter().enumerate() {
        let at = field(&format!("restarts.{index}"));
        if last_stop.is_none_or(|stop| restart.start <= stop) {
            let accepted = "a time after the previous stop, which is required";
            return Err(refuse(format!("{at}.start"), restart.start.to_string(), accepted));
        }
        if let Some(stop) = restart.stop
            && stop <= restart.start
        {
            return Err(refuse(format!("{at}.stop"), stop.to_string(), "a time after the start"));
        }
        last_stop = restart.stop;
    }
    if !flow.restarts.is_empty() && matches!(flow.source, SourceSpec::Transfer(_)) {
        let accepted = "nothing: a transfer runs once";
        return Err(refuse(field("restarts"), format!("{} restarts", flow.restarts.len()), accepted));
    }
    if let Some((rate, packet)) = flow.source.spacing()
        && packet.0.saturating_mul(8_000_000_000) < rate.0
    {
        let accepted = "a rate of at most one packet per nanosecond";
        return Err(refuse(field("source.rate"), rate.to_string(), accepted));
    }
    let packets = flow.source.largest_emission();
    if packets > MOST_PACKETS_AT_ONCE {
        let accepted = format!("a size such that a frame has at most {MOST_PACKETS_AT_ONCE} packets");
        return Err(refuse(field("source.packet"), format!("frames of {packets} packets"), accepted));
    }
    if let Some((member, accepted)) = flow.source.contradiction() {
        let encoded = flow.source.encode();
        let value = member.split('.').fold(&encoded, |value, key| &value[key]);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return Err(refuse(field(&format!("source.{member}")), value, accepted));
    }
    validate_transport(flow)?;
    if flow.source.reports().is_some() && flow.tcp.is_some() {
        let accepted = "nothing: this source adapts to reports about its own datagrams";
        return Err(refuse(field("tcp"), "a table", accepted));
    }
    if flow.messages.is_some() && !flow.writes_messages() {
        let accepted = "nothing: only a source of datagrams over TCP or another transport writes messages";
        return Err(refuse(field("messages"), "a table", accepted));
    }
    Ok(())
}

fn validate_probe(
    probe: &ProbeSpec,
    path: &str,
    flows: &Names<'_>,
    links: &Names<'_>,
) -> Result<(), SpecError> {
    for name in probe.flows.iter().filter(|name| *name != "*") {
        find(flows, name, format!("{path}.flows"), "flow")?;
    }
    for name in probe.links.iter().filter(|name| *name != "*") {
        find(links, name, format!("{path}.links"), "link")?;
    }
    if probe.quantities.is_empty() {
        return Err(refuse(format!("{path}.quantities"), "an empty list", "at least one quantity"));
    }
    let lacks = |of_link: bool, targets: &[String]| {
        targets.is_empty() && probe.quantities.iter().any(|q| q.is_of_link() == of_link)
    };
    if lacks(true, &probe.links) {
        return Err(refuse(format!("{path}.links"), "nothing", "names of links for these quantities"));
    }
    if lacks(false, &probe.flows) {
        return Err(refuse(format!("{path}.flows"), "nothing", "names of flows for these quantities"));
    }
    Ok(())
}

/// Hands over the elements of a list one by one.
fn each_element(
    list: &RawValue,
    root: &Value,
    mut add: impl FnMut(&Node<'_>) -> Result<(), SpecError>,
) -> Option<()> {
    let elements: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    for text in elements {
        let value: Value = serde_json::from_str(text.get()).ok()?;
        add(&Node::part(&value, root)).ok()?;
    }
    Some(())
}

fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        // JSON has no such numbers; as strings they are rejected by the field that reads them.
        toml::Value::Float(number) if !number.is_finite() => json!(number.to_string()),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(truth) => json!(truth),
        toml::Value::Datetime(datetime) => json!(datetime.to_string()),
        toml::Value::Array(elements) => elements.into_iter().map(json_of).collect(),
        toml::Value::Table(members) => {
            Value::Object(members.into_iter().map(|(key, value)| (key, json_of(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_element_by_element_equal_those_of_the_tree() {
        let text = r#"{ "duration": "5 s", "rules": "classic", "nodes": ["a", { "name": "b", "aqt": true }],
            "links": [{ "name": "l", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms" },
                      { "name": "m", "from": "b", "to": "a", "rate": "1 Mbit/s", "delay": "1 ms" }],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "vegas" }], "name": "two" }"#;
        let tree = Scenario::from_value(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(Scenario::from_sound_json(text), Some(tree.clone()));
        assert_eq!(Scenario::from_json(&tree.to_json()), Ok(tree));
        let wrong = text.replace("vegas", "vegass");
        assert_eq!(Scenario::from_sound_json(&wrong), None);
        assert_eq!(Scenario::from_json(&wrong).unwrap_err().field, "flows.f.tcp");
    }

    #[test]
    fn errors_of_toml_and_json_name_the_line() {
        let line = |error: SpecError| error.field;
        assert_eq!(Scenario::toml_value("a = 1\n\nb = \n").map_err(line), Err("line 3".into()));
        assert_eq!(Scenario::toml_value("=").map_err(line), Err("line 1".into()));
        assert_eq!(Scenario::from_json("{\n\"duration\" 5\n}").map_err(line), Err("line 2".into()));
    }

    /// Validates a probe of a quantity for some flows; `v` runs Vegas and `r` Reno.
    fn probed(flows: Value, quantity: &str) -> Result<(), SpecError> {
        let flow = |name: &str, tcp: &str| json!({ "name": name, "from": "a", "to": "b", "tcp": tcp });
        let link = |from: &str, to: &str| json!({ "name": from, "from": from, "to": to, "rate": "1 Mbit/s", "delay": "1 ms" });
        let scenario = json!({
            "duration": "5 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [flow("v", "vegas"), flow("r", "reno")], "probes": [{ "flows": flows, "quantities": [quantity] }],
        });
        Scenario::from_value(&scenario).map(|_| ())
    }

    #[test]
    fn a_probe_that_a_congestion_control_does_not_have_is_refused() {
        let error = probed(json!(["v", "r"]), "vegas_diff").unwrap_err();
        assert_eq!((error.field.as_str(), error.value.as_str()), ("probes.0.quantities", "\"vegas_diff\""));
        assert!(error.accepted.ends_with("of the flow \"r\" has: reno has nothing"), "{}", error.accepted);
        let error = probed(json!(["v"]), "bandwidth").unwrap_err();
        assert!(error.accepted.ends_with("vegas has base_rtt, vegas_diff"), "{}", error.accepted);
        assert_eq!(probed(json!(["*"]), "bandwidth").unwrap_err().field, "probes.0.quantities");
        for (flows, quantity) in
            [(json!(["v"]), "vegas_diff"), (json!(["*"]), "base_rtt"), (json!(["r"]), "cwnd")]
        {
            assert_eq!(probed(flows, quantity), Ok(()));
        }
        assert_eq!(probed(json!(["v"]), "vegas_dif").unwrap_err().suggestion.as_deref(), Some("vegas_diff"));
    }
}
