//! Probes change only the number of events.

use super::{Case, Verdict, same};
use crate::difference;
use crate::exit::Exit;
use crate::generator::probe;
use dumbbell_sim::Outcome;
use dumbbell_sim::scenario::ProbeSpec;
use dumbbell_units::spec::{Field, Node};

/// Every quantity of every flow and link.
pub fn all(case: &Case<'_>) -> Verdict {
    compare(case, &case.probed()?.outcome)
}

/// Some quantities of some components, with or without a period.
pub fn one(case: &Case<'_>) -> Verdict {
    let mut draw = case.draw("probe");
    let drawn = probe(&case.scenario, case.scenario.duration.0, &mut draw);
    let mut scenario = case.scenario.clone();
    scenario.probes.push(ProbeSpec::decode(&Node::root(&drawn)).map_err(|_| Exit::NotApplicable)?);
    compare(case, &case.run(&scenario)?)
}

/// Recordings of the scenario's own probes come first and are also equal.
fn compare(case: &Case<'_>, probed: &Outcome) -> Verdict {
    same(difference::of_results(&case.outcome, probed))?;
    same(difference::of_recordings(&case.outcome, probed))
}
