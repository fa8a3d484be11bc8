//! Events of connections, where a probe asks for them.

use super::Simulation;
use super::payload::Payload;
use crate::trace::{FlowEvent, Measure, Recording};
use dumbbell_net::Packet;
use dumbbell_tcp::{DataSegment, TcpEventKind};
use dumbbell_units::Time;

/// What the events of a connection need to be told apart.
#[derive(Clone, Debug)]
pub(super) struct Tracer {
    /// Which connection of its flow, counted from 1.
    number: u64,
    /// A fast retransmission was not followed by new data yet.
    awaits_new_data: bool,
}

impl Tracer {
    pub(super) fn new(number: u64) -> Self {
        Tracer { number, awaits_new_data: false }
    }
}

/// Adds an event to those recordings of a flow that hold its events.
fn push(recordings: &mut [Recording], probes: &[u32], event: FlowEvent) {
    for &probe in probes {
        let recording = &mut recordings[probe as usize];
        if recording.quantity.is(Measure::TcpEvents) {
            recording.events.push(event);
        }
    }
}

impl Simulation<'_> {
    /// True if a probe asks for the events of a flow.
    pub(super) fn keeps_events(&self, flow: u32) -> bool {
        let mut probes = self.flow_probes[flow as usize].iter();
        probes.any(|&probe| self.recordings[probe as usize].quantity.is(Measure::TcpEvents))
    }

    /// Takes over what a sender has kept.
    pub(super) fn record_events(&mut self, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        let Some(tracer) = &mut connection.tracer else { return };
        let probes = &self.flow_probes[connection.flow as usize];
        for event in connection.sender.drain_events() {
            match event.kind {
                TcpEventKind::FastRetransmit => tracer.awaits_new_data = true,
                TcpEventKind::Timeout => tracer.awaits_new_data = false,
                _ => {}
            }
            push(&mut self.recordings, probes, FlowEvent::of_sender(tracer.number, event));
        }
    }

    /// A segment of a flow that is traced leaves its sender.
    #[cold]
    pub(super) fn record_segment(&mut self, owner: u32, flow: u32, segment: &DataSegment) {
        self.record(flow, Measure::SeqSent, Some(segment.seq as f64));
        // What has led to the segment comes before what becomes of it.
        self.record_events(owner);
        let connection = &mut self.connections[owner as usize];
        if !segment.is_retransmission
            && let Some(tracer) = &mut connection.tracer
            && std::mem::take(&mut tracer.awaits_new_data)
        {
            let told = connection.sender.event(self.now, TcpEventKind::NewData);
            let event = FlowEvent { seq: Some(segment.seq), ..FlowEvent::of_sender(tracer.number, told) };
            push(&mut self.recordings, &self.flow_probes[flow as usize], event);
        }
    }

    /// A data segment of a flow that is traced is lost at a time that may be still to come, or past.
    pub(super) fn record_loss(&mut self, at: Time, packet: &Packet<Payload>) {
        let connection = &self.connections[packet.owner as usize];
        let is_known = connection.generation == packet.generation;
        let number = connection.tracer.as_ref().filter(|_| is_known).map(|tracer| tracer.number);
        let seq = Some(packet.payload.segment(packet.ecn).seq);
        let event = FlowEvent { at, kind: TcpEventKind::Loss, connection: number, seq, sender: None };
        push(&mut self.recordings, &self.flow_probes[packet.payload.flow() as usize], event);
    }
}
