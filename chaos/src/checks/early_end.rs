//! A run that ends with its transfers equals a run of that duration.

use super::{Case, Verdict, applies_if, nanoseconds};
use crate::difference;
use crate::exit::Exit;
use dumbbell_net::SourceSpec;
use dumbbell_net::source::Transfer;
use dumbbell_sim::flows::FlowSpec;
use dumbbell_sim::{FlowOutcome, Scenario};
use dumbbell_units::{Bytes, Time};

pub fn holds(case: &Case<'_>) -> Verdict {
    case.applies_to_shorter_runs()?;
    let Some(awaited) = awaited(case) else { return Err(Exit::NotApplicable) };
    for original in [&case.scenario, &case.probed()?.scenario] {
        let scenario = awaited.by(original);
        let early = case.run(&scenario)?;
        let end = Time(nanoseconds(early.simulated_s).ok_or(Exit::NotApplicable)?);
        applies_if(end < scenario.duration && end > scenario.measure_from)?;
        let measure_until = scenario.measure_until.map(|until| until.min(end));
        let stop_when_complete = Vec::new();
        let whole = case.run(&Scenario { duration: end, measure_until, stop_when_complete, ..scenario })?;
        let difference =
            difference::of_results(&early, &whole).or_else(|| difference::of_recordings(&early, &whole));
        if let Some(difference) = difference {
            return Err(Exit::Broken(format!("early end at {end} against that duration: {difference}")));
        }
    }
    Ok(())
}

/// What a run ends with.
struct Awaited {
    flows: Vec<String>,
    /// The transfer of the only flow, if it has none of its own.
    transfer: Option<Transfer>,
}

impl Awaited {
    fn by(&self, scenario: &Scenario) -> Scenario {
        let mut scenario = scenario.clone();
        scenario.stop_when_complete.clone_from(&self.flows);
        let flow = scenario.flows.iter_mut().find(|flow| self.flows.contains(&flow.name));
        if let (Some(flow), Some(transfer)) = (flow, &self.transfer) {
            flow.source = SourceSpec::Transfer(transfer.clone());
        }
        scenario
    }
}

/// The flows that the scenario waits for; if there are none, one of the completed transfers, or half of what a greedy
/// flow delivers.
fn awaited(case: &Case<'_>) -> Option<Awaited> {
    if !case.scenario.stop_when_complete.is_empty() {
        return Some(Awaited { flows: case.scenario.stop_when_complete.clone(), transfer: None });
    }
    let one = |flow: &FlowSpec, transfer| Awaited { flows: vec![flow.name.clone()], transfer };
    let flows = || case.scenario.flows.iter().zip(&case.outcome.flows);
    let completed = flows().filter(|(_, outcome)| outcome.completion_s.is_some());
    let mut possible: Vec<Awaited> = completed.map(|(flow, _)| one(flow, None)).collect();
    if possible.is_empty() {
        let is_greedy =
            |flow: &FlowSpec| matches!(flow.source, SourceSpec::Greedy(_)) && flow.restarts.is_empty();
        let greedy = flows().filter(|(flow, outcome)| is_greedy(flow) && outcome.bytes_delivered > 1);
        let half = |outcome: &FlowOutcome| Some(Transfer { size: Bytes(outcome.bytes_delivered / 2) });
        possible = greedy.map(|(flow, outcome)| one(flow, half(outcome))).collect();
    }
    let chosen = case.draw("early-end").below(possible.len());
    (!possible.is_empty()).then(|| possible.swap_remove(chosen))
}
