//! Runs with a shared prefix, which is simulated once. Each run branches from it.
//!
//! Scenarios that differ only in the TCP of late-starting flows (except delayed acknowledgements) have the same events
//! until the first of these flows starts, because each component has its own random stream. A design with many variants
//! over one background simulates this prefix once per seed and run. The result of a branch is bit-identical to that of
//! a complete run.

use crate::flows::Start;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::simulation::Simulation;
use crate::supervision::Supervision;
use dumbbell_tcp::TcpParams;
use std::collections::{BTreeMap, BTreeSet};

/// Groups scenarios that share a prefix.
#[derive(Clone, Debug)]
pub struct Families {
    /// The family of each scenario.
    of: Vec<usize>,
    /// The flows in which the members of each family differ.
    differing: Vec<BTreeSet<u32>>,
}

impl Families {
    /// Groups scenarios into families. A scenario alone has none.
    pub fn new(scenarios: &[Scenario]) -> Self {
        if scenarios.len() < 2 {
            return Families { of: vec![0; scenarios.len()], differing: vec![BTreeSet::new()] };
        }
        let mut known = BTreeMap::new();
        let mut families = Families { of: Vec::with_capacity(scenarios.len()), differing: Vec::new() };
        let mut firsts: Vec<&Scenario> = Vec::new();
        for (index, scenario) in scenarios.iter().enumerate() {
            // A stack that is not ours cannot be copied, so its run is shared with no other.
            let alone = scenario.has_transports().then_some(index);
            let family = *known.entry((prefix_key(scenario), alone)).or_insert_with(|| {
                firsts.push(scenario);
                families.differing.push(BTreeSet::new());
                firsts.len() - 1
            });
            families.of.push(family);
            let flows = (0..).zip(firsts[family].flows.iter().zip(&scenario.flows));
            let differing = flows.filter(|(_, (first, other))| first.tcp != other.tcp);
            families.differing[family].extend(differing.map(|(flow, _)| flow));
        }
        families
    }

    /// The family of a scenario, by its position; `None` if no other scenario shares its prefix.
    pub fn of(&self, scenario: usize) -> Option<usize> {
        let family = *self.of.get(scenario)?;
        (!self.differing[family].is_empty()).then_some(family)
    }
}

/// The canonical form of a scenario without the fields that have no effect before a flow starts.
fn prefix_key(scenario: &Scenario) -> String {
    let mut scenario = scenario.clone();
    scenario.name.clear();
    for flow in &mut scenario.flows {
        let (Start::At(earliest) | Start::Uniform(earliest, _)) = flow.start;
        if earliest.0 > 0
            && let Some(tcp) = &mut flow.tcp
        {
            // These determine which receivers may answer ahead of the clock.
            let TcpParams { delayed_ack, reading, .. } = tcp.0.clone();
            tcp.0 = TcpParams { delayed_ack, reading, ..TcpParams::default() };
        }
    }
    scenario.to_json()
}

/// A run up to the moment at which the members of a family diverge.
#[derive(Clone, Debug)]
pub struct SharedPrefix<'a>(Simulation<'a>);

impl<'a> SharedPrefix<'a> {
    /// Simulates the prefix of a scenario's family for one seed and run. `None` if it was stopped.
    pub fn simulate(
        supervision: &Supervision<'_>,
        families: &Families,
        family: usize,
        scenario: &'a Scenario,
        (seed, run): (u64, u64),
    ) -> Option<Self> {
        let mut simulation = Simulation::new(scenario, (seed, run), supervision);
        simulation.run_before_starts(supervision, &families.differing[family])?;
        Some(SharedPrefix(simulation))
    }

    /// Continues the run as a scenario of the same family. `None` if it was stopped.
    pub fn branch(&self, supervision: &Supervision<'_>, scenario: &'a Scenario) -> Option<Outcome> {
        let mut simulation = self.0.clone();
        simulation.take_scenario(scenario);
        simulation.run(supervision)?;
        Some(simulation.finish())
    }
}
