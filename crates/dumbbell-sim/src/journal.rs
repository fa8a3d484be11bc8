//! The journal of a flow: what its senders learned and did in a part of a run, entry by entry.
//!
//! A journal is kept only on request, in a run of its own: the engine is deterministic, so the same run can be repeated to
//! find out why something happened. An entry carries the state of the sender before and after, with the probes of its
//! congestion control, whichever it is.

mod carried;
pub mod columns;

pub use carried::{CarriedEntry, CarriedJournal, CarriedKind, Sending};
use dumbbell_cc::ProbeInfo;
pub use dumbbell_tcp::{AckSegment, Observation};
use dumbbell_tcp::{Cause, DataSegment, TIMERS, TcpEvent};
use dumbbell_units::Time;

/// Entries that a journal may have.
pub const MAX_ENTRIES: usize = 200_000;

/// Which flow is observed, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// First and last instant.
    pub window: (Time, Time),
}

/// What an entry tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// An acknowledgement arrived and was processed.
    Ack(AckSegment),
    /// New data was sent, in this number of segments at once.
    Sent(u64),
    /// A segment, or the connection request, was sent again.
    Retransmission(Cause),
    /// The congestion control changed its window, its threshold, its pacing rate or a quantity that it probes, on this
    /// occasion.
    Decision(&'static str),
    /// A timer of [`TIMERS`] was armed or stopped, or it fired.
    Timer(&'static str, TimerChange),
    /// From now on, only the application limits the sender; or no longer.
    Application(bool),
    /// A recovery began or ended, the timeout expired, and so on.
    Event(TcpEvent),
}

/// What happened to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerChange {
    /// It was not running, and runs until this time.
    Armed(Time),
    /// It was running.
    Stopped,
    /// Its deadline was reached.
    Fired,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Time of the entry.
    pub at: Time,
    /// Number of the connection within the flow, counted from 1.
    pub connection: u64,
    /// What it tells.
    pub kind: Kind,
    /// First byte, and first byte after, of what was acknowledged or sent.
    pub range: Option<(u64, u64)>,
    /// State of the sender before.
    pub before: Observation,
    /// State of the sender after.
    pub after: Observation,
}

/// The entries of a flow.
#[derive(Clone, Debug)]
pub struct Journal {
    request: Request,
    /// Probes of the congestion control, in the order of [`Observation::quantities`].
    pub quantities: Vec<ProbeInfo>,
    /// Entries in order.
    pub entries: Vec<Entry>,
    /// Entries that found no room.
    pub omitted: u64,
    /// Entries of a flow that a stack of others carries; `None` for a flow of the engine's TCP.
    pub carried: Option<CarriedJournal>,
    /// State before the step in progress, and why the next segment would be sent again.
    step: Option<(Observation, Cause)>,
}

impl Journal {
    /// An empty journal.
    pub(crate) fn new(request: Request, is_carried: bool) -> Self {
        let carried = is_carried.then(CarriedJournal::default);
        Journal { request, quantities: Vec::new(), entries: Vec::new(), omitted: 0, carried, step: None }
    }

    /// True if it is about this flow.
    pub(crate) fn is_of(&self, flow: u32) -> bool {
        self.request.flow == flow
    }

    /// True if it has entries about this flow at this time.
    pub(crate) fn covers(&self, flow: u32, at: Time) -> bool {
        let (from, until) = self.request.window;
        self.is_of(flow) && from <= at && at <= until
    }

    /// The entries of a carried flow, if there are some about this flow at this time.
    pub(crate) fn of_carried(&mut self, flow: u32, at: Time) -> Option<&mut CarriedJournal> {
        if self.covers(flow, at) { self.carried.as_mut() } else { None }
    }

    /// The flow that it is about.
    pub(crate) fn flow(&self) -> u32 {
        self.request.flow
    }

    /// A step of the sender begins in this state.
    pub(crate) fn begin(&mut self, before: Observation, cause: Cause) {
        self.step = Some((before, cause));
    }

    /// Why the next segment would be sent again now. The step goes on.
    pub(crate) fn expect(&mut self, cause: Cause) {
        if let Some(step) = &mut self.step {
            step.1 = cause;
        }
    }

    /// True between the beginning and the end of a step.
    pub(crate) fn is_in_step(&self) -> bool {
        self.step.is_some()
    }

    /// The state before the step, which ends.
    pub(crate) fn end(&mut self) -> Option<Observation> {
        self.step.take().map(|(before, _)| before)
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() < MAX_ENTRIES {
            self.entries.push(entry);
        } else {
            self.omitted += 1;
        }
    }

    /// An acknowledgement was processed.
    pub(crate) fn on_ack(
        &mut self,
        place: Place,
        ack: &AckSegment,
        before: &Observation,
        after: &Observation,
    ) {
        let range = Some((before.snd_una.min(ack.ack), ack.ack));
        self.push(place.entry(Kind::Ack(*ack), range, before, after));
    }

    /// The sender reports an event; `state` is its state now.
    pub(crate) fn on_event(&mut self, place: Place, event: TcpEvent, state: &Observation) {
        let before = Observation { cwnd: event.cwnd_before, ..state.clone() };
        let after = Observation { cwnd: event.cwnd, ..state.clone() };
        self.push(place.entry(Kind::Event(event), None, &before, &after));
    }

    /// A segment is sent in this state.
    pub(crate) fn on_segment(&mut self, place: Place, segment: &DataSegment, state: &Observation) {
        let range = (segment.seq, segment.seq + u64::from(segment.len));
        if segment.is_retransmission {
            let Some((_, cause)) = self.step else { return };
            self.push(place.entry(Kind::Retransmission(cause), Some(range), state, state));
            return;
        }
        // New data that leaves at once is one entry.
        if let Some(last) = self.entries.last_mut()
            && (last.at, last.connection) == (place.at, place.connection)
            && let Kind::Sent(segments) = &mut last.kind
            && let Some(sent) = &mut last.range
            && sent.1 == range.0
        {
            *segments += 1;
            sent.1 = range.1;
            last.after = state.clone();
            return;
        }
        self.push(place.entry(Kind::Sent(1), Some(range), state, state));
    }

    /// A deadline is reached in this state.
    pub(crate) fn on_deadline(&mut self, place: Place, state: &Observation) {
        for (timer, _) in
            TIMERS.into_iter().zip(state.deadlines).filter(|(_, deadline)| *deadline <= place.at)
        {
            self.push(place.entry(Kind::Timer(timer, TimerChange::Fired), None, state, state));
        }
    }

    /// What a step has changed: the decision of the congestion control on this occasion, timers, and what limits.
    pub(crate) fn on_change(
        &mut self,
        place: Place,
        occasion: &'static str,
        before: &Observation,
        after: &Observation,
    ) {
        let decided = |state: &Observation| (state.cwnd, state.ssthresh, state.pacing_rate, state.inflation);
        if decided(before) != decided(after) || before.quantities != after.quantities {
            self.push(place.entry(Kind::Decision(occasion), None, before, after));
        }
        let deadlines = before.deadlines.into_iter().zip(after.deadlines);
        for (timer, (was, is)) in TIMERS.into_iter().zip(deadlines) {
            let change = match (was, is) {
                // One that has fired is not running.
                (was, Time::NEVER) if was > place.at && was != Time::NEVER => TimerChange::Stopped,
                (was, is) if (was == Time::NEVER || was <= place.at) && is != Time::NEVER => {
                    TimerChange::Armed(is)
                }
                _ => continue,
            };
            self.push(place.entry(Kind::Timer(timer, change), None, before, after));
        }
        if before.is_app_limited != after.is_app_limited {
            self.push(place.entry(Kind::Application(after.is_app_limited), None, before, after));
        }
    }
}

/// When and on which connection something happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) at: Time,
    pub(crate) connection: u64,
}

impl Place {
    fn entry(
        self,
        kind: Kind,
        range: Option<(u64, u64)>,
        before: &Observation,
        after: &Observation,
    ) -> Entry {
        let Place { at, connection } = self;
        Entry { at, connection, kind, range, before: before.clone(), after: after.clone() }
    }
}
