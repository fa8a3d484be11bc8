//! Instants within a run for the checks.

use super::Case;
use crate::exit::Exit;
use dumbbell_units::Time;

/// Two instants after the beginning of the measurement window and before the end of the run: one at which an event
/// happens, and a random one.
pub fn within_window(case: &Case<'_>, name: &str) -> Result<Vec<Time>, Exit> {
    let (from, end) = (case.scenario.measure_from.0, case.end()?);
    let mut draw = case.draw(name);
    let any = from + ((end.saturating_sub(from)) as f64 * draw.uniform()) as u64;
    let recordings = &case.probed()?.outcome.recordings;
    let recorded: Vec<&f64> = recordings.iter().flat_map(|recording| &recording.times).collect();
    let happens = match recorded.is_empty() {
        true => None,
        false => super::nanoseconds(**draw.pick(&recorded)),
    };
    let mut instants: Vec<Time> = happens.into_iter().chain([any]).map(Time).collect();
    instants.retain(|at| at.0 > from && at.0 < end);
    if instants.is_empty() { Err(Exit::NotApplicable) } else { Ok(instants) }
}
