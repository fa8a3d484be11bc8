//! What changes at given times, whatever happens: paths, and the counters at the ends of the measurement window.

use super::connections::Connections;
use super::counts::Counts;
use super::flows::Flows;
use super::stacks::Stacks;
use crate::network::NewRoute;
use dumbbell_units::{Interval, Time};

/// The counters of all flows at both ends of the measurement window, once these are reached. Senders never run ahead
/// of the clock, so their counters before the first event at a time cover exactly the events before that time.
#[derive(Clone, Debug, Default)]
struct Edges {
    /// Empty if the window opens at the start of the run, when all counters are zero.
    opening: Option<Vec<Counts>>,
    closing: Option<Vec<Counts>>,
}

/// Changes of paths, and the counters from which those of the window are taken.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// Future changes of paths, the next one last.
    reroutes: Vec<NewRoute>,
    edges: Edges,
    /// Time of the next change of a path or end of the window.
    next: Time,
}

impl Changes {
    pub(super) fn new(reroutes: Vec<NewRoute>) -> Self {
        Changes { reroutes, edges: Edges::default(), next: Time::ZERO }
    }

    /// True if something changes before the event at this time.
    #[inline]
    pub(super) fn are_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Applies path changes and the start or end of the window that precede the current event.
    pub(super) fn apply(
        &mut self,
        (now, is_first_event): (Time, bool),
        window: Interval,
        flows: &mut Flows,
        (connections, stacks): (&Connections, &mut Stacks),
    ) {
        while let Some(change) = self.reroutes.pop_if(|change| change.at <= now) {
            flows.hot_mut(change.flow).begins = change.begins;
        }
        if self.edges.opening.is_none() && now >= window.from {
            let opening = if is_first_event { Vec::new() } else { counts(now, flows, connections, stacks) };
            self.edges.opening = Some(opening);
        }
        if self.edges.closing.is_none() && now > window.until {
            self.edges.closing = Some(counts(now, flows, connections, stacks));
        }
        let edge = match (&self.edges.opening, &self.edges.closing) {
            (None, _) => window.from,
            (Some(_), None) => Time(window.until.0.saturating_add(1)),
            (Some(_), Some(_)) => Time::NEVER,
        };
        self.next = self.reroutes.last().map_or(Time::NEVER, |change| change.at).min(edge);
    }

    /// The counters of a flow within the window, after the end of the run, whose counters are `totals`.
    pub(super) fn measured(&self, flow: usize, totals: &Counts) -> Counts {
        let Some(opening) = &self.edges.opening else {
            // Nothing has happened since the window opened, or it never did.
            return Counts { rtt_min: totals.rtt_min, ..Counts::default() };
        };
        let end = self.edges.closing.as_ref().map_or(totals, |closing| &closing[flow]);
        end.since(opening.get(flow).unwrap_or(&Counts::default()))
    }
}

/// The current counters of all flows.
fn counts(now: Time, flows: &Flows, connections: &Connections, stacks: &mut Stacks) -> Vec<Counts> {
    let mut counts: Vec<Counts> = flows.states().map(|flow| flow.totals).collect();
    for connection in connections.open() {
        counts[connection.flow as usize].add(connection.sender.stats());
    }
    stacks.add_shown(now, |flow, shown| counts[flow as usize].add_shown(shown));
    counts
}
