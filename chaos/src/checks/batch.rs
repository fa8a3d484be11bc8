//! A batch gives the results of single runs, on two threads and in any order. Some of its scenarios differ in the
//! TCP of a late-starting flow, so that prefixes are shared.

use super::{Case, Verdict, same};
use crate::difference;
use crate::exit::Exit;
use crate::runner::of_checks;
use dumbbell_cc::AlgorithmSpec;
use dumbbell_sim::flows::Start;
use dumbbell_sim::{Batch, Job, Outcome, Scenario};
use dumbbell_units::spec::{Field, Node};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;

pub fn holds(case: &Case<'_>) -> Verdict {
    let mut draw = case.draw("batch");
    let mut scenarios = vec![case.scenario.clone()];
    let late: Vec<usize> =
        (0..case.scenario.flows.len()).filter(|&flow| is_late(&case.scenario, flow)).collect();
    for _ in 0..2.min(late.len() * 2) {
        scenarios.extend(with_another_algorithm(&case.scenario, *draw.pick(&late), draw.below(usize::MAX)));
    }
    let mut jobs: Vec<Job> = (0..scenarios.len()).map(|scenario| (scenario, case.seed, case.run)).collect();
    jobs.push((0, case.seed, case.run.wrapping_add(1)));
    draw.shuffle(&mut jobs);
    let mut outcomes = run_batch(case, &scenarios, &jobs)?;
    if case.runner.was_stopped() {
        return Err(Exit::TooLong);
    }
    for (position, &(scenario, seed, run)) in jobs.iter().enumerate() {
        let alone = match (scenario, run == case.run) {
            (0, true) => &case.outcome,
            _ => &case.run_with(&scenarios[scenario], (seed, run))?,
        };
        let together = outcomes.remove(&position);
        let together = together.ok_or_else(|| Exit::Broken(format!("job {position} was not run")))?;
        case.runner.count(&together);
        // The events of a shared prefix are counted as in a complete run.
        same(difference::of_all(alone, &together))?;
    }
    Ok(())
}

fn run_batch(
    case: &Case<'_>,
    scenarios: &[Scenario],
    jobs: &[Job],
) -> Result<BTreeMap<usize, Outcome>, Exit> {
    let batch = Batch::new(scenarios, jobs);
    let outcomes = Mutex::new(BTreeMap::new());
    let keep = |job, outcome| {
        outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(job, outcome);
    };
    case.runner.watched(|stop| {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| batch.work(of_checks(stop), keep));
            }
        });
    })?;
    Ok(outcomes.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn is_late(scenario: &Scenario, flow: usize) -> bool {
    let (Start::At(earliest) | Start::Uniform(earliest, _)) = scenario.flows[flow].start;
    earliest.0 > 0 && earliest < scenario.duration && scenario.flows[flow].tcp.is_some()
}

/// The scenario with another congestion control for one flow, if it is accepted.
fn with_another_algorithm(scenario: &Scenario, flow: usize, choice: usize) -> Option<Scenario> {
    let name = AlgorithmSpec::NAMES[choice % AlgorithmSpec::NAMES.len()];
    let mut other = scenario.clone();
    let congestion = json!(name);
    other.flows[flow].tcp.as_mut()?.0.congestion = AlgorithmSpec::decode(&Node::root(&congestion)).ok()?;
    Scenario::from_value(&other.encode()).ok()
}
