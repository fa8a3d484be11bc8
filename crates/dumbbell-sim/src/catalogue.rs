//! What a scenario can name: the registries with their parameters, and the schema.

use crate::quantity::{Measure, Quantity};
use crate::scenario::Scenario;
use crate::shorthand::{self, Topology};
use dumbbell_cc::{AlgorithmSpec, Mechanisms, SlowStartSpec};
use dumbbell_net::workloads::arrivals::ArrivalSpec;
use dumbbell_net::{ImpairmentSpec, QueueSpec, SizeSpec, SourceSpec, SyntheticSpec};
use dumbbell_tcp::config::{Rules, TcpParams};
use dumbbell_tcp::rtt::TimerSpec;
use dumbbell_tcp::{RecoverySpec, Tcp, TcpEventKind};
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Params, catalogue, doc};
use serde_json::json;

fn named(entries: &[(&str, &[&str])]) -> Value {
    entries.iter().map(|(name, about)| json!({ "name": name, "summary": doc(about) })).collect()
}

/// Quantities that probes can record: those of the engine, then those declared by congestion controls.
fn probes() -> Value {
    let declared = Quantity::declared().into_iter().map(|(probe, algorithms)| {
        let summary = format!("{} In {}; of {}.", probe.about, probe.unit, algorithms.join(", "));
        json!({ "name": probe.name, "summary": summary })
    });
    let Value::Array(mut probes) = named(Measure::ALL) else { return Value::Null };
    probes.extend(declared);
    Value::Array(probes)
}

/// Everything a scenario can name, by kind.
pub fn entries() -> Value {
    json!({
        "algorithms": AlgorithmSpec::algorithms(),
        "slow_starts": SlowStartSpec::slow_starts(),
        "recoveries": RecoverySpec::catalogue(),
        "mechanisms": named(Mechanisms::ALL),
        "variants": Tcp::presets(),
        "rules": named(Rules::ALL),
        "timers": TimerSpec::catalogue(),
        "tcp": catalogue(&TcpParams::infos()),
        "queues": QueueSpec::disciplines(),
        "impairments": ImpairmentSpec::catalogue(),
        "traces": SyntheticSpec::catalogue(),
        "topologies": Topology::catalogue(),
        "sources": SourceSpec::catalogue(),
        "arrivals": ArrivalSpec::catalogue(),
        "sizes": SizeSpec::catalogue(),
        "probes": probes(),
        "tcp_events": named(TcpEventKind::ALL),
    })
}

/// JSON Schema of a scenario.
pub fn schema() -> Value {
    let mut schema = Scenario::schema();
    shorthand::complete(&mut schema);
    if let Value::Object(members) = &mut schema {
        members.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        members.insert("title".into(), json!("Dumbbell scenario"));
    }
    schema
}
