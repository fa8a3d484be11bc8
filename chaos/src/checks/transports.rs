//! Flows that stacks of others carry: nothing is lost in the books, and the same run gives the same bits.

use super::{Case, Verdict, same};
use crate::difference;
use crate::exit::Exit;
use dumbbell_net::SourceSpec;
use dumbbell_sim::transport::TransportHost;
use dumbbell_sim::{Scenario, Stated};
use dumbbell_units::Value;
use dumbbell_units::spec::Field;
use serde_json::json;
use std::sync::Arc;

/// A stack takes longer for a packet than the engine: larger cases are left out.
const MOST_EVENTS: u64 = 100_000;

/// The memory of a guest holds no more connections than this at a time.
const MOST_CONNECTIONS: u64 = 1000;

/// Endless data becomes a transfer of this size, since a stack may fill a path that the engine's TCP does not.
const SIZE: &str = "100 kB";

/// The variant of a scenario in which every second flow has another transport, if there is one.
pub fn holds(case: &Case<'_>) -> Verdict {
    if case.outcome.events > MOST_EVENTS {
        return Ok(());
    }
    let Some(variant) = carried(case)? else { return Ok(()) };
    let first = case.run_bound(&variant)?;
    if let Some(failure) = &first.failure {
        return Err(Exit::Broken(format!("a stack has failed: {failure}")));
    }
    same(difference::of_all(&first, &case.run_bound(&variant)?))
}

/// A transport with one of its congestion controls.
type Sender = (&'static str, &'static str);

/// The hosts, and transports with their congestion controls; those of the kernel if it is built and can hold them.
fn hosts_and_senders(connections: u64) -> (Vec<Arc<dyn TransportHost>>, Vec<Sender>) {
    let mut senders = vec![
        ("quinn", "cubic"),
        ("quinn", "newreno"),
        ("quinn", "bbr"),
        ("smoltcp", "cubic"),
        ("smoltcp", "reno"),
        ("smoltcp", "none"),
    ];
    let mut hosts = dumbbell_transports::hosts();
    #[cfg(target_os = "linux")]
    {
        use dumbbell_kernel::host::{LinuxHost, NAME};
        let is_built = LinuxHost::user().kernels().iter().any(|kernel| kernel.is("6.12"));
        if is_built && connections <= MOST_CONNECTIONS {
            senders.extend([(NAME, "cubic"), (NAME, "bbr"), (NAME, "reno")]);
            hosts.push(LinuxHost::shared());
        }
    }
    (hosts, senders)
}

fn carried(case: &Case<'_>) -> Result<Option<Scenario>, Exit> {
    let mut value = case.scenario.encode();
    let mut draw = case.draw("transports");
    let connections = case.outcome.flows.iter().map(|flow| flow.connections).sum();
    let (hosts, senders) = hosts_and_senders(connections);
    let mut is_carried = false;
    let flows = value.get_mut("flows").and_then(Value::as_array_mut);
    for (spec, flow) in case.scenario.flows.iter().zip(flows.into_iter().flatten()) {
        if spec.source.reports().is_some() || draw.chance(0.5) {
            continue;
        }
        let Some(flow) = flow.as_object_mut() else { continue };
        let (name, congestion) = *draw.pick(&senders);
        flow.shift_remove("tcp");
        flow.insert("transport".into(), json!({ "name": name, "congestion": congestion }));
        if matches!(spec.source, SourceSpec::Greedy(_)) && spec.restarts.is_empty() {
            flow.insert("source".into(), json!({ "kind": "transfer", "size": SIZE }));
        }
        is_carried = true;
    }
    if !is_carried {
        return Ok(None);
    }
    // Some probes are of controls that no flow has any more.
    if let Some(value) = value.as_object_mut() {
        value.shift_remove("probes");
    }
    let stated = Stated::from_value(&value).and_then(|stated| stated.complete(&hosts));
    let bound = stated.and_then(|stated| stated.bind(&[]));
    match bound {
        Ok(scenario) => Ok(Some(scenario)),
        // A queue may be too small for the packets of a stack, and datagrams may have no way back.
        Err(error) if error.field.starts_with("links.") || error.field.ends_with("reverse_path") => Ok(None),
        Err(error) => Err(Exit::Broken(format!("flows over stacks of others are refused: {error}"))),
    }
}
