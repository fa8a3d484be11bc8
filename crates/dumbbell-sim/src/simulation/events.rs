//! Events of connections, recorded if a probe requests them.

use super::Simulation;
use super::payload::Payload;
use crate::journal::Place;
use crate::quantity::Measure;
use crate::trace::{FlowEvent, Recording};
use dumbbell_net::Packet;
use dumbbell_tcp::{DataSegment, TcpEventKind};
use dumbbell_units::Time;

/// What is needed to record the events of a connection.
#[derive(Clone, Debug)]
pub(super) struct Tracer {
    /// Number of the connection within its flow, counted from 1.
    number: u64,
    /// No new data has followed the last fast retransmission yet.
    awaits_new_data: bool,
}

impl Tracer {
    pub(super) fn new(number: u64) -> Self {
        Tracer { number, awaits_new_data: false }
    }

    /// Number of the connection within its flow, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// Adds an event to the event recordings of a flow.
fn push(recordings: &mut [Recording], probes: &[u32], event: FlowEvent) {
    for &probe in probes {
        let recording = &mut recordings[probe as usize];
        if recording.quantity.is(Measure::TcpEvents) {
            recording.events.push(event);
        }
    }
}

impl Simulation<'_> {
    /// True if a flow has a journal.
    pub(super) fn is_journaled(&self, flow: u32) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.is_of(flow))
    }

    /// True if a probe or a journal records the events of a flow.
    pub(super) fn keeps_events(&self, flow: u32) -> bool {
        let mut probes = self.flow_probes[flow as usize].iter();
        self.is_journaled(flow)
            || probes.any(|&probe| self.recordings[probe as usize].quantity.is(Measure::TcpEvents))
    }

    /// Records the events reported by a sender.
    pub(super) fn record_events(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        let Some(tracer) = &mut connection.tracer else { return };
        let probes = &self.flow_probes[connection.flow as usize];
        let now = self.network.now;
        let journal = self.journal.as_deref_mut().filter(|journal| journal.covers(connection.flow, now));
        let mut journal = journal.map(|journal| (journal, connection.sender.observe()));
        for event in connection.sender.drain_events() {
            match event.kind {
                TcpEventKind::FastRetransmit => tracer.awaits_new_data = true,
                TcpEventKind::Timeout => tracer.awaits_new_data = false,
                _ => {}
            }
            if let Some((journal, state)) = &mut journal {
                journal.on_event(Place { at: now, connection: tracer.number }, event, state);
            }
            push(&mut self.recordings, probes, FlowEvent::of_sender(tracer.number, event));
        }
    }

    /// A traced flow sends a segment.
    #[cold]
    pub(super) fn record_segment(&mut self, owner: u32, flow: u32, segment: DataSegment) {
        self.record(flow, Measure::SeqSent, Some(segment.seq as f64));
        // The events that led to the segment precede those that it causes.
        self.record_events(owner);
        let connection = &mut self.connections[owner as usize];
        if !segment.is_retransmission
            && let Some(tracer) = &mut connection.tracer
            && std::mem::take(&mut tracer.awaits_new_data)
        {
            let told = connection.sender.event(self.network.now, TcpEventKind::NewData);
            let event = FlowEvent { seq: Some(segment.seq), ..FlowEvent::of_sender(tracer.number, told) };
            push(&mut self.recordings, &self.flow_probes[flow as usize], event);
        }
    }

    /// A data segment of a traced flow is lost, at a time that may be ahead of or behind the clock.
    pub(super) fn record_loss(&mut self, at: Time, packet: &Packet<Payload>) {
        let connection = &self.connections[packet.owner as usize];
        let is_known = connection.generation == packet.generation;
        let number = connection.tracer.as_ref().filter(|_| is_known).map(|tracer| tracer.number);
        let seq = Some(packet.payload.segment(packet.ecn).seq);
        let event = FlowEvent { at, kind: TcpEventKind::Loss, connection: number, seq, sender: None };
        push(&mut self.recordings, &self.flow_probes[packet.payload.flow() as usize], event);
    }
}
