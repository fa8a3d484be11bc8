//! Reports of the receivers of datagram sources that adapt, and answers to probes of the round-trip time.

use super::Simulation;
use super::payload::Payload;
use crate::forwarding::Forwarding;
use dumbbell_net::{Packet, PacketKind, Report};
use dumbbell_units::{Ecn, Time};

/// What a receiver has seen since its last report.
#[derive(Clone, Debug, Default)]
pub(super) struct Feedback {
    /// When it reported last, or when the first packet arrived.
    since: Option<Time>,
    received: u64,
    /// Sum of the one-way delays, in nanoseconds.
    delays: u128,
    /// Largest packet number so far, and that of the last report.
    highest: u64,
    reported: u64,
}

impl Feedback {
    /// A datagram has arrived. Returns a report if one is due: with the first packet after each interval.
    fn on_datagram(&mut self, packet: &Packet<Payload>, interval: Time, now: Time) -> Option<Report> {
        let since = *self.since.get_or_insert(now);
        self.received += 1;
        self.delays += u128::from(now.since(packet.timestamp).0);
        self.highest = self.highest.max(packet.payload.datagram());
        let passed = now.since(since);
        if passed < interval {
            return None;
        }
        // A packet that was overtaken and arrives after the report about it was counted as lost.
        let expected = self.highest - self.reported;
        let report = Report {
            received: self.received,
            lost: expected.saturating_sub(self.received),
            interval: passed,
            delay: Time((self.delays / u128::from(self.received)) as u64),
        };
        let highest = self.highest;
        *self = Feedback { since: Some(now), reported: highest, highest, ..Feedback::default() };
        Some(report)
    }
}

impl Simulation<'_> {
    /// A datagram has arrived at a receiver that reports.
    #[cold]
    #[inline(never)]
    pub(super) fn note_datagram(&mut self, packet: &Packet<Payload>) {
        let spec = &self.scenario.flows[packet.owner as usize];
        let Some((interval, size)) = spec.source.reports() else { return };
        if spec.source.echoes() {
            self.flows.hot_mut(packet.owner).undelivered += 1;
            // As an acknowledgement, an answer has the time at which the probe was sent.
            self.send_report(packet, size.0 as u32, (packet.timestamp, packet.payload));
            return;
        }
        let feedback = self.flows[packet.owner].feedback.as_mut();
        let report = feedback.and_then(|feedback| feedback.on_datagram(packet, interval, self.network.now));
        if let Some(report) = report {
            self.send_report(packet, size.0 as u32, (self.network.now, Payload::of_report(&report)));
        }
    }

    /// Sends a report, or an answer, to the sender of a datagram.
    fn send_report(&mut self, about: &Packet<Payload>, size: u32, (timestamp, payload): (Time, Payload)) {
        self.ledger.count_sent();
        let packet = Packet {
            size,
            owner: about.owner,
            generation: 0,
            kind: PacketKind::Report,
            ecn: Ecn::NotEct,
            // The reverse path is a separate flow.
            flow: !about.flow,
            timestamp,
            queueing: Time::ZERO,
            payload,
        };
        self.send(self.flows.hot(about.owner).begins.1, packet);
    }

    /// A report has arrived at its sender.
    #[cold]
    #[inline(never)]
    pub(super) fn on_report(&mut self, packet: &Packet<Payload>) {
        if self.scenario.flows[packet.owner as usize].source.echoes() {
            self.on_echo(packet);
            return;
        }
        if let Some(datagrams) = &mut self.flows[packet.owner].datagrams {
            let source = &self.scenario.flows[packet.owner as usize].source;
            source.on_report(&mut datagrams.0, &packet.payload.report());
        }
    }

    /// The answer to a probe has arrived. That of a copy shows nothing.
    fn on_echo(&mut self, packet: &Packet<Payload>) {
        let (flow, now) = (packet.owner, self.network.now);
        self.flows.hot_mut(flow).undelivered -= 1;
        if packet.payload.is_copy() {
            return;
        }
        let rtt = now.since(packet.timestamp);
        let totals = &mut self.flows[flow].totals;
        totals.rtt = (totals.rtt.0 + rtt.secs(), totals.rtt.1 + 1);
        totals.rtt_min = totals.rtt_min.min(rtt.secs());
        self.record_rtt(flow, rtt);
    }

    /// True if a packet from the receiver of a datagram source is an answer, which counts for its flow.
    pub(super) fn is_echo(&self, packet: &Packet<Payload>) -> bool {
        packet.kind == PacketKind::Report && self.scenario.flows[packet.owner as usize].source.echoes()
    }
}
