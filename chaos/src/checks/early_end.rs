//! A run that ends once its transfers have completed is a run of that duration.

use super::{Case, Exit, Verdict, applies_if, same};
use crate::difference;
use dumbbell_sim::Scenario;
use dumbbell_units::Time;

pub fn holds(case: &Case<'_>) -> Verdict {
    let end = Time(case.end()?);
    applies_if(!case.scenario.stop_when_complete.is_empty() && end < case.scenario.duration)?;
    applies_if(end > case.scenario.measure_from)?;
    let whole = |scenario: &Scenario| -> Scenario {
        let mut scenario = scenario.clone();
        scenario.duration = end;
        scenario.stop_when_complete.clear();
        scenario
    };
    let probed = case.probed()?;
    for (scenario, early) in [(&case.scenario, &case.outcome), (&probed.scenario, &probed.outcome)] {
        let whole = case.run(&whole(scenario))?;
        let difference =
            difference::of_results(early, &whole).or_else(|| difference::of_recordings(early, &whole));
        let told =
            |difference| Exit::Broken(format!("early end at {end} against that duration: {difference}"));
        difference.map_or(Ok(()), |difference| Err(told(difference)))?;
    }
    same(None)
}
