//! Recording what connections do: by probes and, if one is requested, in the journal of a flow. The event loop calls
//! these methods around each step of a sender.

use super::Simulation;
use super::payload::Payload;
use crate::journal::{Journal, Place};
use crate::quantity::Measure;
use crate::trace::FlowEvent;
use dumbbell_net::Packet;
use dumbbell_tcp::{AckSegment, DataSegment, Observation, TcpEventKind};
use dumbbell_units::Time;

impl Simulation<'_> {
    /// True if a probe or a journal records the events of a flow.
    pub(super) fn keeps_events(&self, flow: u32) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.is_of(flow)) || self.probes.keep_events(flow)
    }

    /// Records the state of a connection that is traced.
    #[cold]
    pub(super) fn record_flow(&mut self, owner: u32, flow: u32) {
        let now = self.network.now;
        if let Some(rtt) = self.connections[owner].new_rtt() {
            self.record_rtt(flow, rtt);
        }
        self.record_events(owner);
        self.probes.record_sender(flow, now, &self.connections[owner].sender);
    }

    /// Records a round-trip time that was measured now.
    pub(super) fn record_rtt(&mut self, flow: u32, rtt: Time) {
        let now = self.network.now;
        self.probes.record(flow, Measure::Rtt, now, rtt.secs());
        if self.window.contains(now) {
            self.probes.add_rtt(flow, rtt);
        }
    }

    /// Records the events reported by a sender.
    fn record_events(&mut self, owner: u32) {
        let (flow, journal) = (self.connections[owner].flow, self.journal.as_deref_mut());
        if let Some(traced) = self.connections[owner].traced() {
            self.probes.record_events(flow, traced, journal, self.network.now);
        }
    }

    /// A traced flow sends a segment.
    #[cold]
    pub(super) fn record_segment(&mut self, owner: u32, flow: u32, segment: DataSegment) {
        let now = self.network.now;
        self.probes.record(flow, Measure::SeqSent, now, segment.seq as f64);
        // The events that led to the segment precede those that it causes.
        self.record_events(owner);
        if let Some(traced) = self.connections[owner].traced() {
            self.probes.record_new_data(flow, traced, segment, now);
        }
    }

    /// A data segment of a traced flow is lost, at a time that may be ahead of or behind the clock.
    pub(super) fn record_loss(&mut self, at: Time, packet: &Packet<Payload>) {
        let connection = &self.connections[packet.owner];
        let is_known = connection.generation == packet.generation;
        let number = connection.tracer.as_ref().filter(|_| is_known).map(|tracer| tracer.number);
        let seq = Some(packet.payload.segment(packet.ecn).seq);
        let event = FlowEvent { at, kind: TcpEventKind::Loss, connection: number, seq, sender: None };
        self.probes.record_event(packet.payload.flow(), event);
    }

    /// The journal and what it needs to know of a connection; `None` unless the connection is observed now.
    fn observed(&mut self, owner: u32) -> Option<(&mut Journal, Place, Observation)> {
        let at = self.network.now;
        let connection = &self.connections[owner];
        let journal = self.journal.as_deref_mut().filter(|journal| journal.covers(connection.flow, at))?;
        let number = connection.tracer.as_ref()?.number;
        if journal.quantities.is_empty() {
            journal.quantities = connection.sender.congestion().probes().to_vec();
        }
        Some((journal, Place { at, connection: number }, connection.sender.observe()))
    }

    /// A step of a sender begins, unless one is in progress.
    #[cold]
    pub(super) fn begin_step(&mut self, owner: u32) {
        let cause = self.connections[owner].sender.retransmission_cause();
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
