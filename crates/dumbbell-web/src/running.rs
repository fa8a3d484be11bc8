//! A run and the scenario that it borrows.

use crate::limits::{MAX_IN_FLIGHT, MAX_SAMPLES};
use crate::looking::Tapped;
use dumbbell_sim::journal::Request;
use dumbbell_sim::{Outcome, Scenario, Steps, Supervision};
use std::sync::atomic::AtomicBool;

/// A scenario, and what receives its packets.
struct Watched {
    scenario: Scenario,
    tap: Option<Tapped>,
}

/// The steps, until they are finished.
type Held<'a> = Option<Steps<'a>>;

self_cell::self_cell!(
    struct Cell {
        owner: Watched,
        #[not_covariant]
        dependent: Held,
    }
);

/// A run between its beginning and its end. Nothing stops it but its owner, who drops it.
pub struct Running(Cell);

impl Running {
    /// The run before its first event, with the limits of a page.
    pub fn begin(
        scenario: Scenario,
        (seed, run): (u64, u64),
        journal: Option<Request>,
        tap: Option<Tapped>,
    ) -> Self {
        let never = AtomicBool::new(false);
        let supervision = Supervision {
            max_samples: MAX_SAMPLES,
            max_in_flight: MAX_IN_FLIGHT,
            journal,
            ..Supervision::from(&never)
        };
        Running(Cell::new(Watched { scenario, tap }, |watched| {
            let Watched { scenario, tap } = watched;
            Some(match tap {
                Some(tap) => Steps::tapped(scenario, (seed, run), &supervision, &**tap),
                None => Steps::limited(scenario, (seed, run), &supervision),
            })
        }))
    }

    /// Runs through about so many events. True once the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        let never = AtomicBool::new(false);
        self.0.with_dependent_mut(|_, held| {
            let Some(steps) = held else { return true };
            if !steps.is_over() {
                // Nothing stops it before its end.
                let _ = steps.run_events(&never, events);
            }
            steps.is_over()
        })
    }

    /// The share of the simulated time that is over.
    pub fn progress(&self) -> f64 {
        let now = |steps: &Steps<'_>| steps.now().secs();
        self.0
            .with_dependent(|watched, held| held.as_ref().map_or(0.0, now) / watched.scenario.duration.secs())
    }

    /// Number of events handled so far.
    pub fn events(&self) -> u64 {
        self.0.with_dependent(|_, held| held.as_ref().map_or(0, Steps::events))
    }

    /// The results of what has been run; the run goes to its end before.
    pub fn finish(mut self) -> Outcome {
        let never = AtomicBool::new(false);
        let steps = self.0.with_dependent_mut(|_, held| held.take());
        steps.and_then(|steps| steps.finish(&never)).unwrap_or_default()
    }
}
