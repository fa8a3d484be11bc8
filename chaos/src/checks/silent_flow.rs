//! A flow more that sends nothing changes no other row.

use super::{Case, Verdict, applies_if, is_valid, same};
use crate::difference;
use crate::exit::Exit;
use dumbbell_net::SourceSpec;
use dumbbell_sim::flows::{FlowSpec, Start};
use dumbbell_sim::{Outcome, Scenario};
use dumbbell_units::Time;
use dumbbell_units::spec::{Field, Node};
use serde_json::json;

/// Name of the flow. It is that of no drawn flow.
const NAME: &str = "silent flow";

pub fn holds(case: &Case<'_>) -> Verdict {
    let mut draw = case.draw("silent-flow");
    let like = draw.pick(&case.scenario.flows).clone();
    let flow = if draw.chance(0.5) { late(like, case.scenario.duration) } else { idle(like)? };
    let mut scenario = case.scenario.clone();
    // The numbers of the flows behind it change.
    let place = draw.below(scenario.flows.len() + 1);
    scenario.flows.insert(place, flow);
    // A queue may be too small for its packets.
    applies_if(is_valid(&scenario))?;
    let outcome = case.run(&scenario)?;
    compare(case, outcome).or_else(|broken| {
        // Its gap was drawn, and is rarely shorter than the run.
        applies_if(!sends(case, scenario, place)?)?;
        Err(broken)
    })
}

/// True if a flow sends at any time of the run, whatever is measured.
fn sends(case: &Case<'_>, mut scenario: Scenario, flow: usize) -> Result<bool, Exit> {
    (scenario.measure_from, scenario.measure_until) = (Time::ZERO, None);
    Ok(case.run(&scenario)?.flows[flow].segments_sent > 0)
}

fn compare(case: &Case<'_>, mut outcome: Outcome) -> Verdict {
    outcome.flows.retain(|flow| flow.name != NAME);
    outcome.recordings.retain(|recording| recording.name != NAME);
    let difference = difference::of_rows(&case.outcome, &outcome)
        .or_else(|| difference::of_values("simulated_s", &case.outcome.simulated_s, &outcome.simulated_s))
        .or_else(|| difference::of_values("conservation", &case.outcome.conservation, &outcome.conservation))
        .or_else(|| difference::of_recordings(&case.outcome, &outcome));
    same(difference)
}

/// A flow like another one that starts after the end.
fn late(like: FlowSpec, duration: Time) -> FlowSpec {
    let start = Start::At(duration + Time(1));
    FlowSpec { name: NAME.to_owned(), start, stop: None, restarts: Vec::new(), reroutes: Vec::new(), ..like }
}

/// A flow on the path of another one, with a gap before its first packet that is longer than nearly every run.
fn idle(like: FlowSpec) -> Result<FlowSpec, Exit> {
    let source = json!({ "kind": "poisson", "rate": "1 bit/s", "packet": "65535 bytes" });
    let source = SourceSpec::decode(&Node::root(&source)).map_err(|_| Exit::NotApplicable)?;
    let flow = FlowSpec { name: NAME.to_owned(), start: Start::At(Time::ZERO), tcp: None, source, ..like };
    Ok(FlowSpec { stop: None, restarts: Vec::new(), reroutes: Vec::new(), ..flow })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Runner;
    use std::time::Duration;

    #[test]
    fn a_flow_more_that_sends_breaks_the_relation() {
        let link = |from: &str, to: &str| json!({ "name": from, "from": from, "to": to, "rate": "1 Mbit/s", "delay": "1 ms" });
        let value = json!({
            "duration": "1 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "reno" }],
        });
        let scenario = Scenario::from_value(&value).expect("a valid scenario");
        let runner = Runner::new(Duration::from_secs(20), None);
        let case = Case::new(scenario.clone(), (1, 0), &runner).expect("it ends");
        let with = |flow: FlowSpec| {
            let mut scenario = scenario.clone();
            scenario.flows.insert(0, flow);
            compare(&case, case.run(&scenario).expect("it ends"))
        };
        let like = scenario.flows[0].clone();
        assert_eq!(with(late(like.clone(), scenario.duration)), Ok(()));
        assert_eq!(with(idle(like.clone()).expect("a flow")), Ok(()));
        let busy = FlowSpec { name: NAME.to_owned(), ..like };
        assert!(matches!(with(busy), Err(Exit::Broken(_))));
    }
}
