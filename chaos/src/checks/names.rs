//! Names change no result. Random streams are named, so this applies only if other seeds give the same run. What is drawn
//! once in thousands of seeds, such as two flows in one queue of a fair queue, may still differ with the new names; other
//! names in the same order then differ as rarely.

use super::{Case, Verdict, applies_if, same};
use crate::difference;
use crate::exit::Exit;
use dumbbell_sim::flows::Start;
use dumbbell_sim::scenario::TickPhase;
use dumbbell_sim::{Outcome, Scenario};
use dumbbell_units::Time;

/// Seeds tried before a difference counts: random numbers may matter in only one of many runs.
const SEEDS: u64 = 1000;

/// Words of new names. A difference counts if each of them shows one.
const WORDS: [&str; 4] = ["", "a", "b", "c"];

pub fn holds(case: &Case<'_>) -> Verdict {
    let scenario = without_draws(&case.scenario);
    let outcome = case.run(&scenario)?;
    let is_the_same = |other: u64| -> Result<bool, Exit> {
        let seed = case.seed.wrapping_add(other);
        Ok(compare(&outcome, case.run_with(&scenario, (seed, case.run))?).is_none())
    };
    applies_if(is_the_same(1)?)?;
    let mut difference = None;
    for word in WORDS {
        difference = compare(&outcome, case.run(&renamed(&scenario, word))?);
        if difference.is_none() {
            return applies_if(word == WORDS[0]);
        }
    }
    for other in 2..SEEDS {
        applies_if(is_the_same(other)?)?;
    }
    same(difference)
}

fn compare(original: &Outcome, mut outcome: Outcome) -> Option<String> {
    for (flow, original) in outcome.flows.iter_mut().zip(&original.flows) {
        flow.name.clone_from(&original.name);
    }
    for (link, original) in outcome.links.iter_mut().zip(&original.links) {
        link.name.clone_from(&original.name);
    }
    difference::of_results(original, &outcome).or_else(|| difference::of_recordings(original, &outcome))
}

/// The same scenario without what draws most often: impairments, random starts and phases of clocks.
fn without_draws(scenario: &Scenario) -> Scenario {
    let mut calm = scenario.clone();
    calm.links.iter_mut().for_each(|link| link.impairments.clear());
    calm.nodes.iter_mut().for_each(|node| node.0.tick_phase = TickPhase::At(Time::ZERO));
    for flow in &mut calm.flows {
        if let Start::Uniform(_, to) = flow.start {
            flow.start = Start::At(to);
        }
    }
    calm
}

/// The same scenario with names in the opposite alphabetical order, which contain a word.
fn renamed(scenario: &Scenario, word: &str) -> Scenario {
    let mut renamed = scenario.clone();
    let position =
        |names: Vec<&str>, name: &str| names.iter().position(|known| *known == name).unwrap_or_default();
    let node = |name: &mut String| {
        let names = scenario.nodes.iter().map(|node| node.0.name.as_str()).collect();
        *name = format!("node {word}{}", 10_000 - position(names, name));
    };
    let link = |name: &mut String| {
        let names = scenario.links.iter().map(|link| link.name.as_str()).collect();
        *name = format!("link {word}{}", 10_000 - position(names, name));
    };
    let flow = |name: &mut String| {
        let names = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
        *name = format!("flow {word}{}", 10_000 - position(names, name));
    };
    renamed.nodes.iter_mut().for_each(|spec| node(&mut spec.0.name));
    for spec in &mut renamed.links {
        [&mut spec.from, &mut spec.to].into_iter().for_each(node);
        link(&mut spec.name);
    }
    for spec in &mut renamed.flows {
        [&mut spec.from, &mut spec.to].into_iter().for_each(node);
        flow(&mut spec.name);
        let stated = [&mut spec.path, &mut spec.reverse_path];
        let later = spec.reroutes.iter_mut().flat_map(|change| [&mut change.path, &mut change.reverse_path]);
        stated.into_iter().chain(later).flatten().flatten().for_each(link);
    }
    renamed.stop_when_complete.iter_mut().for_each(flow);
    for probe in &mut renamed.probes {
        probe.flows.iter_mut().filter(|name| *name != "*").for_each(flow);
        probe.links.iter_mut().filter(|name| *name != "*").for_each(link);
    }
    renamed
}
