//! An unconnected network changes no result.

use super::{Case, Verdict, same};
use crate::difference;
use crate::exit::Exit;
use dumbbell_sim::{Outcome, Scenario};
use dumbbell_units::Value;
use dumbbell_units::spec::Field;
use serde_json::json;

/// Number of packets that the flow of an island sends.
const PACKETS: f64 = 60.0;

/// Two nodes with links.
pub fn holds(case: &Case<'_>) -> Verdict {
    let outcome = case.run(&with_island(case, Vec::new())?)?;
    same(difference::of_results(&case.outcome, &without_island(outcome, case)))
}

/// The same with a flow that draws from its own random stream.
pub fn busy(case: &Case<'_>) -> Verdict {
    let bits = PACKETS * 8.0 * 1000.0;
    let rate = (bits / case.scenario.duration.secs()).clamp(1.0, 1e10).round();
    let flow = json!({ "name": "island flow", "from": "island a", "to": "island b",
                       "source": { "kind": "poisson", "rate": format!("{rate} bit/s"), "packet": "1000 bytes" } });
    let outcome = case.run(&with_island(case, vec![flow])?)?;
    let outcome = without_island(outcome, case);
    same(difference::of_rows(&case.outcome, &outcome))?;
    same(difference::of_values("simulated_s", &case.outcome.simulated_s, &outcome.simulated_s))
}

fn with_island(case: &Case<'_>, flows: Vec<Value>) -> Result<Scenario, Exit> {
    let link = |name: &str, from: &str, to: &str| json!({ "name": name, "from": from, "to": to, "rate": "1 Mbit/s", "delay": "1 ms" });
    let links = vec![link("island ab", "island a", "island b"), link("island ba", "island b", "island a")];
    let mut value = case.scenario.encode();
    let nodes = vec![json!("island a"), json!("island b")];
    for (list, more) in [("nodes", nodes), ("links", links), ("flows", flows)] {
        value
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .for_each(|list| list.extend(more.clone()));
    }
    Scenario::from_value(&value).map_err(|error| Exit::Broken(format!("an island is refused: {error}")))
}

fn without_island(mut outcome: Outcome, case: &Case<'_>) -> Outcome {
    outcome.flows.truncate(case.scenario.flows.len());
    outcome.links.truncate(case.scenario.links.len());
    outcome
}
