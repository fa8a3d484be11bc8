//! Each packet sent was delivered, dropped or is in flight, by all counters.

use super::{Case, Verdict, require, same};
use crate::difference::of_values;
use dumbbell_sim::quantity::Measure;
use dumbbell_units::Time;

pub fn holds(case: &Case<'_>) -> Verdict {
    let conservation = case.outcome.conservation;
    require(conservation.holds(), || format!("{conservation:?} does not add up"))?;
    // Traces count drops at any time, within the window or not.
    let probed = case.probed()?;
    let drops = case.scenario.links.iter().map(|link| {
        let recording = probed.recording(Measure::Drops, &link.name);
        recording.and_then(|recording| recording.values.last().copied()).unwrap_or(0.0)
    });
    same(of_values("conservation.dropped", &conservation.dropped, &(drops.sum::<f64>() as u64)))?;
    let mut lost = 0;
    for flow in &case.outcome.flows {
        lost += flow.segments_lost;
        // Packets sent before a window may be lost within it.
        let is_whole = case.scenario.measure_from == Time::ZERO;
        // Copies that impairments have made are lost as well.
        let most = flow.segments_sent + conservation.duplicated;
        require(!is_whole || flow.segments_lost <= most, || {
            format!("flows.{}: {} of {} segments lost", flow.name, flow.segments_lost, flow.segments_sent)
        })?;
        require(flow.segments_retransmitted.unwrap_or_default() <= flow.segments_sent, || {
            format!(
                "flows.{}: {} segments of {} again",
                flow.name,
                flow.segments_retransmitted.unwrap_or_default(),
                flow.segments_sent
            )
        })?;
    }
    require(lost <= conservation.dropped, || {
        format!("{lost} segments lost, {} dropped", conservation.dropped)
    })
}
