//! The counts of a window that ends at an instant equal those of a run of that duration.

use super::{Case, Verdict, instants, same};
use crate::difference::of_lists;
use dumbbell_sim::{FlowOutcome, Outcome};

pub fn holds(case: &Case<'_>) -> Verdict {
    for at in instants::within_window(case, "window")? {
        let mut long = case.scenario.clone();
        long.measure_until = Some(at);
        let mut short = case.scenario.clone();
        (short.duration, short.measure_until) = (at, None);
        let difference = compare(&case.run(&long)?, &case.run(&short)?);
        same(difference.map(|difference| format!("window until {at}: {difference}")))?;
    }
    Ok(())
}

fn compare(long: &Outcome, short: &Outcome) -> Option<String> {
    // A transfer may complete after the window.
    let measured = |outcome: &Outcome| -> Vec<FlowOutcome> {
        outcome.flows.iter().map(|flow| FlowOutcome { completion_s: None, ..flow.clone() }).collect()
    };
    let flows = of_lists("flows", &measured(long), &measured(short), |flow| &flow.name);
    flows.or_else(|| of_lists("links", &long.links, &short.links, |link| &link.name))
}
