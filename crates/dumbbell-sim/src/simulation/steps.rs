//! A run in steps, for a caller that acts between them.

use super::Simulation;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::supervision::Supervision;
use dumbbell_units::Time;
use std::sync::atomic::AtomicBool;

/// A run that pauses whenever its caller wants. Where it pauses changes no result: unless the caller acts on a congestion
/// control in a pause, it has the bits of [`run`](super::run).
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    simulation: Simulation<'a>,
    /// All events up to this time were handled.
    now: Time,
}

impl<'a> Steps<'a> {
    /// The run before its first event. The scenario must come from one of its checked constructors.
    pub fn new(scenario: &'a Scenario, seed: u64, run: u64) -> Self {
        let never = AtomicBool::new(false);
        let supervision = Supervision::from(&never).without_limits();
        Steps { simulation: Simulation::new(scenario, (seed, run), &supervision), now: Time::ZERO }
    }

    /// Time up to which the run has come.
    pub fn now(&self) -> Time {
        self.now
    }

    /// True once nothing more happens in the run.
    pub fn is_over(&self) -> bool {
        self.simulation.is_complete() || self.now >= self.simulation.scenario.duration
    }

    /// True if a flow has completed, or its only connection has given up.
    pub fn has_ended(&self, flow: usize) -> bool {
        let state = &self.simulation.flows[flow as u32];
        let is_workload = self.simulation.scenario.flows[flow].source.is_workload();
        state.completed_at.is_some() || (!is_workload && state.totals.connections_given_up > 0)
    }

    /// Runs until a time, or to the end if that is earlier. `None` if `stop` became true before.
    pub fn run_until(&mut self, stop: &AtomicBool, until: Time) -> Option<()> {
        let until = until.min(self.simulation.scenario.duration);
        self.simulation.handle_until(&Supervision::from(stop).without_limits(), until)?;
        self.now = if self.simulation.is_complete() { self.simulation.network.now } else { until };
        Some(())
    }

    /// Runs through the next instant at which something happens, or to the end. `None` if `stop` became true before.
    pub fn run_next(&mut self, stop: &AtomicBool) -> Option<()> {
        let next = self.simulation.network.events.peek().map_or(Time::NEVER, |(at, _)| at);
        self.run_until(stop, next)
    }

    /// Runs to the end and returns the results. `None` if `stop` became true before.
    pub fn finish(mut self, stop: &AtomicBool) -> Option<Outcome> {
        self.simulation.run(&Supervision::from(stop).without_limits())?;
        Some(self.simulation.finish())
    }
}
