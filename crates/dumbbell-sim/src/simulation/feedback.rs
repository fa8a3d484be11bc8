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

impl Simulation<'_> {
    /// A datagram has arrived at a receiver that reports. A report follows the first packet after each interval.
    #[cold]
    #[inline(never)]
    pub(super) fn note_datagram(&mut self, packet: &Packet<Payload>) {
        let (flow, now) = (packet.owner as usize, self.network.now);
        let Some((interval, size)) = self.scenario.flows[flow].source.reports() else { return };
        let Some(feedback) = &mut self.flows[flow].feedback else { return };
        let since = *feedback.since.get_or_insert(now);
        feedback.received += 1;
        feedback.delays += u128::from(now.since(packet.timestamp).0);
        feedback.highest = feedback.highest.max(packet.payload.datagram());
        let passed = now.since(since);
        if passed < interval {
            return;
        }
        // A packet that was overtaken and arrives after the report about it was counted as lost.
        let expected = feedback.highest - feedback.reported;
        let report = Report {
            received: feedback.received,
            lost: expected.saturating_sub(feedback.received),
            interval: passed,
            delay: Time((feedback.delays / u128::from(feedback.received)) as u64),
        };
        let highest = feedback.highest;
        **feedback = Feedback { since: Some(now), reported: highest, highest, ..Feedback::default() };
        self.send_report(packet, size.0 as u32, &report);
    }

    /// Sends a report to the sender of a datagram.
    fn send_report(&mut self, about: &Packet<Payload>, size: u32, report: &Report) {
        self.conservation.sent += 1;
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
        self.send(self.hot_flows[about.owner as usize].begins.1, packet);
    }

    /// A report has arrived at its sender.
    #[cold]
    #[inline(never)]
    pub(super) fn on_report(&mut self, packet: &Packet<Payload>) {
        let flow = packet.owner as usize;
        if let Some(datagrams) = &mut self.flows[flow].datagrams {
            let report = packet.payload.report();
            self.scenario.flows[flow].source.on_report(&mut datagrams.0, &report);
        }
    }
}
