//! Keeping the journal of a flow, if one is requested. The event loop calls these methods around each step of a sender.

use super::Simulation;
use crate::journal::{Journal, Place};
use dumbbell_tcp::{AckSegment, DataSegment, Observation};

impl Simulation<'_> {
    /// The journal and what it needs to know of a connection; `None` unless the connection is observed now.
    fn observed(&mut self, owner: u32) -> Option<(&mut Journal, Place, Observation)> {
        let at = self.network.now;
        let connection = &self.connections[owner as usize];
        let journal = self.journal.as_deref_mut().filter(|journal| journal.covers(connection.flow, at))?;
        let number = connection.tracer.as_ref()?.number();
        if journal.quantities.is_empty() {
            journal.quantities = connection.sender.congestion().probes().to_vec();
        }
        Some((journal, Place { at, connection: number }, connection.sender.observe()))
    }

    /// A step of a sender begins, unless one is in progress.
    #[cold]
    pub(super) fn begin_step(&mut self, owner: u32) {
        let cause = self.connections[owner as usize].sender.retransmission_cause();
        if let Some((journal, _, state)) = self.observed(owner) {
            if journal.is_in_step() {
                journal.expect(cause);
            } else {
                journal.begin(state, cause);
            }
        }
    }

    /// A sender has processed an acknowledgement.
    #[cold]
    pub(super) fn end_ack(&mut self, owner: u32, ack: &AckSegment) {
        let Some((journal, place, after)) = self.observed(owner) else { return };
        let Some(before) = journal.end() else { return };
        journal.on_ack(place, ack, &before, &after);
        self.record_events(owner);
        let is_duplicate = after.duplicates > before.duplicates;
        let occasion = if is_duplicate { "duplicate_ack" } else { "ack" };
        self.note_changes(owner, occasion, &before, &after);
    }

    /// A deadline of a sender has been reached: which one is known before it is handled.
    #[cold]
    pub(super) fn begin_deadline(&mut self, owner: u32) {
        self.begin_step(owner);
        if let Some((journal, place, state)) = self.observed(owner) {
            journal.on_deadline(place, &state);
        }
    }

    /// A sender has handled its deadline.
    #[cold]
    pub(super) fn end_deadline(&mut self, owner: u32) {
        let Some((journal, _, after)) = self.observed(owner) else { return };
        let Some(before) = journal.end() else { return };
        self.record_events(owner);
        self.note_changes(owner, "timer", &before, &after);
    }

    /// A sender sends a segment. The events that led to it come first.
    #[cold]
    pub(super) fn note_segment(&mut self, owner: u32, segment: DataSegment) {
        self.record_events(owner);
        if let Some((journal, place, state)) = self.observed(owner) {
            journal.on_segment(place, &segment, &state);
        }
    }

    /// A sender has sent what it can.
    #[cold]
    pub(super) fn end_sending(&mut self, owner: u32) {
        let Some((journal, _, after)) = self.observed(owner) else { return };
        let Some(before) = journal.end() else { return };
        self.record_events(owner);
        self.note_changes(owner, "sent", &before, &after);
    }

    fn note_changes(
        &mut self,
        owner: u32,
        occasion: &'static str,
        before: &Observation,
        after: &Observation,
    ) {
        if let Some((journal, place, _)) = self.observed(owner) {
            journal.on_change(place, occasion, before, after);
        }
    }
}
