//! A run that ends with its transfers equals a run of that duration.

use super::{Case, Exit, Verdict, applies_if, nanoseconds};
use crate::difference;
use dumbbell_sim::Scenario;
use dumbbell_units::Time;

pub fn holds(case: &Case<'_>) -> Verdict {
    let awaited = awaited(case);
    applies_if(!awaited.is_empty())?;
    for original in [&case.scenario, &case.probed()?.scenario] {
        let mut scenario = original.clone();
        scenario.stop_when_complete.clone_from(&awaited);
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

/// The flows that the scenario waits for; if there are none, one of the completed transfers.
fn awaited(case: &Case<'_>) -> Vec<String> {
    if !case.scenario.stop_when_complete.is_empty() {
        return case.scenario.stop_when_complete.clone();
    }
    let flows = case.outcome.flows.iter().filter(|flow| flow.completion_s.is_some());
    let completed: Vec<&str> = flows.map(|flow| flow.name.as_str()).collect();
    match completed.is_empty() {
        true => Vec::new(),
        false => vec![(*case.draw("early-end").pick(&completed)).to_owned()],
    }
}
