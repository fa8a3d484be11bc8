//! The counts of a window that ends at an instant equal those of a run of that duration.

use super::{Case, Verdict, instants, same};
use crate::difference::of_lists;
use dumbbell_net::Playback;
use dumbbell_sim::outcome::{MessagesOutcome, TransfersOutcome};
use dumbbell_sim::{FlowOutcome, Outcome};

pub fn holds(case: &Case<'_>) -> Verdict {
    case.applies_to_shorter_runs()?;
    for at in instants::within_window(case, "window")? {
        let mut long = case.scenario.clone();
        long.measure_until = Some(at);
        let mut short = case.scenario.clone();
        (short.duration, short.measure_until) = (at, None);
        let difference = compare(&case.run(&long)?, &case.run(&short)?);
        same(difference.map(|difference| format!("window until {at}: {difference}")))?;
    }
    Ok(())
}

fn compare(long: &Outcome, short: &Outcome) -> Option<String> {
    let measured = |outcome: &Outcome| outcome.flows.iter().map(without_ends).collect::<Vec<_>>();
    let flows = of_lists("flows", &measured(long), &measured(short), |flow| &flow.name);
    flows.or_else(|| of_lists("links", &long.links, &short.links, |link| &link.name))
}

/// A flow without the ends of its transfers and messages and the first playback, which may follow after the window.
fn without_ends(flow: &FlowOutcome) -> FlowOutcome {
    let begun = |transfers: TransfersOutcome| TransfersOutcome {
        begun: transfers.begun,
        refused: transfers.refused,
        ..TransfersOutcome::default()
    };
    let transfers = flow.transfers.map(begun);
    let playback = flow.playback.map(|seen| Playback { startup: None, ..seen });
    let messages = flow.messages.map(|messages| MessagesOutcome { late: None, ..messages });
    FlowOutcome { completion_s: None, transfers, playback, messages, ..flow.clone() }
}
