//! The ledger of packets: each one sent is delivered, dropped or in flight.

use crate::outcome::Conservation;
use dumbbell_units::{Interval, Time};

/// A packet that a link drops, possibly at a future time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drop {
    pub at: Time,
    /// The flow of the packet, unless it is an acknowledgement.
    pub flow: Option<u32>,
    /// It carries data.
    pub is_segment: bool,
}

/// Packets of a flow that were dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lost {
    /// All packets, including those without data.
    pub packets: u64,
    /// Data packets within the measurement window.
    pub segments: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Ledger {
    counts: Conservation,
    /// Drops that are not counted yet, because the run may end before them.
    unsettled: Vec<Drop>,
    /// Drops within the measurement window.
    measured_drops: u64,
    lost: Vec<Lost>,
}

impl Ledger {
    pub(super) fn new(flows: usize) -> Self {
        Ledger {
            counts: Conservation::default(),
            unsettled: Vec::new(),
            measured_drops: 0,
            lost: vec![Lost::default(); flows],
        }
    }

    /// Counts a packet that a host sends.
    #[inline]
    pub(super) fn count_sent(&mut self) {
        self.counts.sent += 1;
    }

    /// Counts a copy that an impairment makes.
    pub(super) fn count_duplicated(&mut self) {
        self.counts.duplicated += 1;
    }

    /// Counts a packet that reaches its destination.
    #[inline]
    pub(super) fn count_delivered(&mut self) {
        self.counts.delivered += 1;
    }

    /// Enters a drop, which is counted later if it is after the `horizon`.
    pub(super) fn enter(&mut self, drop: Drop, horizon: Time, window: Interval) {
        if drop.at <= horizon { self.count(&drop, window) } else { self.unsettled.push(drop) }
    }

    fn count(&mut self, drop: &Drop, window: Interval) {
        let is_measured = window.contains(drop.at);
        self.counts.dropped += 1;
        self.measured_drops += u64::from(is_measured);
        if let Some(flow) = drop.flow {
            let lost = &mut self.lost[flow as usize];
            lost.packets += 1;
            lost.segments += u64::from(is_measured && drop.is_segment);
        }
    }

    /// Counts deferred drops up to now.
    pub(super) fn settle(&mut self, now: Time, window: Interval) {
        let due: Vec<Drop> = self.unsettled.extract_if(.., |drop| drop.at <= now).collect();
        due.iter().for_each(|drop| self.count(drop, window));
    }

    /// Counts what is left at the end, with so many packets on links and in flight.
    pub(super) fn close(&mut self, packets: usize) {
        self.counts.in_flight = (self.unsettled.len() + packets) as u64;
    }

    /// What became of all packets.
    pub(super) fn counts(&self) -> Conservation {
        self.counts
    }

    /// Drops within the measurement window.
    pub(super) fn measured_drops(&self) -> u64 {
        self.measured_drops
    }

    /// The packets of a flow that were dropped.
    pub(super) fn lost(&self, flow: usize) -> Lost {
        self.lost[flow]
    }

    /// Number of packets of each flow that were or will be dropped, without acknowledgements.
    pub(super) fn dropped_of_flows(&self) -> Vec<u64> {
        let mut packets: Vec<u64> = self.lost.iter().map(|lost| lost.packets).collect();
        for flow in self.unsettled.iter().filter_map(|drop| drop.flow) {
            packets[flow as usize] += 1;
        }
        packets
    }
}
