//! A run in steps, for a caller that acts between them.

use super::{EVENTS_PER_STOP_CHECK, Simulation};
use crate::capture::Tap;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::supervision::Supervision;
use dumbbell_units::Time;
use std::fmt;
use std::sync::atomic::AtomicBool;

/// A run that pauses whenever its caller wants. Where it pauses changes no result: unless the caller acts on a congestion
/// control in a pause, it has the bits of [`run`](super::run).
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    simulation: Simulation<'a>,
    /// All events before this time were handled; after a step that is limited by time, also those at this time.
    now: Time,
    /// Samples that the probes may record, and packets that may be in flight.
    limits: (u64, u64),
    tap: Option<Tapped<'a>>,
}

/// What receives the packets of a run.
#[derive(Clone, Copy)]
struct Tapped<'a>(&'a dyn Tap);

impl fmt::Debug for Tapped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tapped").finish_non_exhaustive()
    }
}

impl<'a> Steps<'a> {
    /// The run before its first event. The scenario must come from one of its checked constructors.
    pub fn new(scenario: &'a Scenario, seed: u64, run: u64) -> Self {
        let never = AtomicBool::new(false);
        Steps::limited(scenario, (seed, run), &Supervision::from(&never).without_limits())
    }

    /// The same, with the limits of memory of a supervision. A run that exceeds one is over, and its outcome says so.
    pub fn limited(scenario: &'a Scenario, (seed, run): (u64, u64), supervision: &Supervision<'_>) -> Self {
        let limits = (supervision.max_samples, supervision.max_in_flight);
        Steps {
            simulation: Simulation::new(scenario, (seed, run), supervision),
            now: Time::ZERO,
            limits,
            tap: None,
        }
    }

    /// The same, whose packets a tap receives.
    pub fn tapped(
        scenario: &'a Scenario,
        seeds: (u64, u64),
        supervision: &Supervision<'_>,
        tap: &'a dyn Tap,
    ) -> Self {
        let supervision = Supervision { tap: Some(tap), ..*supervision };
        Steps { tap: Some(Tapped(tap)), ..Steps::limited(scenario, seeds, &supervision) }
    }

    /// Time up to which the run has come.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of events handled so far.
    pub fn events(&self) -> u64 {
        self.simulation.event_count
    }

    /// True once nothing more happens in the run.
    pub fn is_over(&self) -> bool {
        self.simulation.is_complete()
            || self.simulation.overflow.is_some()
            || self.now >= self.simulation.scenario.duration
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
        self.simulation.handle_until(&self.supervision(stop), until)?;
        self.now = if self.simulation.is_complete() { self.simulation.network.now } else { until };
        Some(())
    }

    /// Runs through the next instant at which something happens, or to the end. `None` if `stop` became true before.
    pub fn run_next(&mut self, stop: &AtomicBool) -> Option<()> {
        let next = self.simulation.network.events.peek().map_or(Time::NEVER, |(at, _)| at);
        self.run_until(stop, next)
    }

    /// Runs through about so many events, at least 64, or to the end. `None` if `stop` became true before.
    pub fn run_events(&mut self, stop: &AtomicBool, count: u64) -> Option<()> {
        let duration = self.simulation.scenario.duration;
        let max_events = self.simulation.event_count.saturating_add(count.max(EVENTS_PER_STOP_CHECK));
        let supervision = Supervision { max_events, ..self.supervision(stop) };
        self.simulation.handle_until(&supervision, duration)?;
        let next = self.simulation.network.events.peek();
        let has_paused = !self.simulation.is_complete() && next.is_some_and(|(at, _)| at <= duration);
        self.now =
            if has_paused || self.simulation.is_complete() { self.simulation.network.now } else { duration };
        Some(())
    }

    /// Runs to the end and returns the results. `None` if `stop` became true before.
    pub fn finish(mut self, stop: &AtomicBool) -> Option<Outcome> {
        self.simulation.run(&self.supervision(stop))?;
        Some(self.simulation.finish())
    }

    fn supervision<'b>(&self, stop: &'b AtomicBool) -> Supervision<'b>
    where
        'a: 'b,
    {
        let (max_samples, max_in_flight) = self.limits;
        let tap = self.tap.map(|tap| tap.0 as &dyn Tap);
        Supervision { max_samples, max_in_flight, tap, ..Supervision::from(stop) }
    }
}
