//! The recordings of a shorter run are a prefix of those of a longer one.

use super::{Case, Verdict, instants, same};
use crate::difference::of_recordings;
use dumbbell_sim::Outcome;

pub fn holds(case: &Case<'_>) -> Verdict {
    case.applies_to_shorter_runs()?;
    for at in instants::within_window(case, "prefix")? {
        let probed = case.probed()?;
        let mut scenario = probed.scenario.clone();
        (scenario.duration, scenario.measure_until) = (at, None);
        let short = case.run(&scenario)?;
        let own = case.outcome.recordings.len();
        let (long, short) = (cut(&probed.outcome, own, at.secs()), cut(&short, own, at.secs()));
        same(of_recordings(&long, &short).map(|difference| format!("until {at}: {difference}")))?;
    }
    Ok(())
}

/// The recordings of the probe of everything, up to and including a time. The scenario's own probes, whose recordings
/// come first, may be periodic, and no sample is taken at the very end.
fn cut(outcome: &Outcome, own: usize, end: f64) -> Outcome {
    let mut recordings = outcome.recordings[own..].to_vec();
    for recording in &mut recordings {
        let kept = recording.times.partition_point(|&time| time <= end);
        recording.times.truncate(kept);
        recording.values.truncate(kept);
        recording.events.truncate(kept);
    }
    Outcome { recordings, ..Outcome::default() }
}
