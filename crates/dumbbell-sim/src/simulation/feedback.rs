//! Reports of the receivers of datagram sources that adapt.

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
        let feedback = self.flows[packet.owner].feedback.as_mut();
        let report = feedback.and_then(|feedback| feedback.on_datagram(packet, interval, self.network.now));
        if let Some(report) = report {
            self.send_report(packet, size.0 as u32, &report);
        }
    }

    /// Sends a report to the sender of a datagram.
    fn send_report(&mut self, about: &Packet<Payload>, size: u32, report: &Report) {
        self.ledger.count_sent();
        let packet = Packet {
            size,
            owner: about.owner,
            generation: 0,
            kind: PacketKind::Report,
            ecn: Ecn::NotEct,
            // The reverse path is a separate flow.
            flow: !about.flow,
            timestamp: self.network.now,
            queueing: Time::ZERO,
            payload: Payload::of_report(report),
        };
        self.send(self.flows.hot(about.owner).begins.1, packet);
    }

    /// A report has arrived at its sender.
    #[cold]
    #[inline(never)]
    pub(super) fn on_report(&mut self, packet: &Packet<Payload>) {
        if let Some(datagrams) = &mut self.flows[packet.owner].datagrams {
            let source = &self.scenario.flows[packet.owner as usize].source;
            source.on_report(&mut datagrams.0, &packet.payload.report());
        }
    }
}
