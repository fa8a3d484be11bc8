//! FQ-CoDel [RFC 8290]: flows share the link by deficit round robin, and CoDel controls the queue of each.
//!
//! Flows are hashed to queues. A queue that becomes active is served for one quantum before the queues that have been
//! active for longer. When all queues together exceed the limit, packets are dropped from the head of the queue with
//! the most bytes.
//!
//! CoDel controls each queue separately, including its bytes (RFC 8290 §4.2). Linux compares the bytes of all queues
//! with the MTU (`counts_all`).

use super::codel::{Controller, Rule, target_contradiction};
use super::turns::Turns;
use super::{AtDeparture, Backlog, Contradiction, Discipline, Fifo, Queued, Reason, Setup, Slot};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Flow queues, each with CoDel, served in turn.
    pub struct FqCoDel {
        /// Number of queues; flows are hashed to them.
        queues: u64 = 1024, "queues", "RFC 8290 §5.2.4",
            |queues| (1..=65_536).contains(queues), "a whole number from 1 to 65536";
        /// Bytes that a queue may send per round: a full-size packet, which has no Ethernet header of 14 bytes here.
        quantum: Bytes = Bytes(1500), "bytes", "RFC 8290 §5.2.3",
            |quantum| (1..=1 << 30).contains(&quantum.0), "a size from 1 byte to 1 GiB";
        /// Capacity of all queues together, in packets.
        limit: u64 = 10_240, "packets", "RFC 8290 §5.2.5", |limit| *limit > 0, "a whole number, at least 1";
        /// Maximum number of packets dropped at once when the limit is exceeded, and at most half of a queue.
        drop_batch: u64 = 64, "packets", "RFC 8290 §4.1", |batch| *batch > 0, "a whole number, at least 1";
        /// Target sojourn time; a queue above it is a standing queue.
        target: Time = Time(5_000_000), "s", "RFC 8290 §5.2.2";
        /// Time above the target before the first drop.
        interval: Time = Time(100_000_000), "s", "RFC 8290 §5.2.1",
            |interval| interval.0 > 0, "a time above 0";
        /// No drops from a queue while its backlog is at most this; the maximum packet size on the link.
        mtu: Bytes = Bytes(1514), "bytes", "RFC 8289 §5";
        /// Mark packets of ECN-capable transports instead of dropping them.
        ecn: bool = true, "-", "RFC 8290 §5.2.6";
        /// The first drop needs more than one interval above the target, as in Linux, not just one.
        strict: bool = false, "-", "[linux6 codel_impl.h]";
        /// The backlog for `mtu` is that of all queues, as in Linux: a sparse flow among others is then not exempt.
        counts_all: bool = false, "-", "[linux6 sch_fq_codel]";
        /// Mark every ECN-capable packet with a longer sojourn time; none if not given.
        ce_threshold: Option<Time> = None, "s", "RFC 8290 §5.2.7";
    }
}

impl Discipline for FqCoDel {
    const SUMMARY: &'static str = "Fair queueing by deficit round robin, with CoDel in each queue.";
    const SOURCE: &'static str = "RFC 8290";

    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        target_contradiction(self.target, self.interval)
    }
}

/// All queues.
#[derive(Clone, Debug)]
pub struct Flows {
    rule: Rule,
    limit: usize,
    drop_batch: usize,
    turns: Turns<Controller>,
}

impl Flows {
    /// Drops half of the packets of the queue with the most bytes, at most one batch, from its head.
    #[cold]
    fn drop_from_largest(&mut self, backlog: &mut Backlog) {
        let Some(queue) = self.turns.largest(Fifo::bytes) else { return };
        let half = queue.packets().div_ceil(2);
        for _ in 0..half.min(self.drop_batch) {
            if let Some(slot) = backlog.pop(queue) {
                backlog.drop(slot, Reason::NoRoom);
            }
        }
    }
}

impl AtDeparture for FqCoDel {
    type State = Flows;

    fn start(&self, _setup: &Setup, random: &mut Stream) -> Flows {
        let (target, interval, mtu) = (self.target, self.interval, self.mtu.0);
        let rule =
            Rule { target, interval, mtu, ecn: self.ecn, counts_all: self.counts_all, ..Rule::default() };
        Flows {
            rule: rule.with(self.strict, self.ce_threshold),
            limit: usize::try_from(self.limit).unwrap_or(usize::MAX),
            drop_batch: usize::try_from(self.drop_batch).unwrap_or(usize::MAX),
            turns: Turns::new(self.queues, self.quantum.0, random),
        }
    }

    #[inline]
    fn enqueue(state: &mut Flows, _now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        let number = state.turns.queue_of(packet.flow);
        backlog.push(&mut state.turns.queues[number as usize].packets, packet);
        state.turns.activate(number);
        if backlog.packets() > state.limit {
            state.drop_from_largest(backlog);
        }
    }

    #[inline]
    fn dequeue(state: &mut Flows, now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        let rule = &state.rule;
        state.turns.dequeue(backlog, |queue, backlog| {
            let slot = queue.controller.dequeue(rule, now, &mut queue.packets, backlog)?;
            rule.mark_late(now, slot, backlog);
            Some(slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Driven;
    use super::*;
    use dumbbell_units::Ecn;

    fn driven(discipline: &FqCoDel) -> Driven<FqCoDel> {
        Driven::new("fqcodel", discipline, 1_000_000)
    }

    fn enqueue(driven: &mut Driven<FqCoDel>, flow: u32, size: u32, count: usize) {
        (0..count).for_each(|_| driven.enqueue(Time::ZERO, flow, size, Ecn::NotEct));
    }

    #[test]
    fn queues_send_a_quantum_in_turn() {
        // A quantum of 1000 bytes: flow 1 sends packets of 1000 bytes, flow 2 of 300 bytes. The fourth small packet
        // exceeds the quantum by 200 bytes, so the next round ends after three packets (800 bytes left, 900 sent), and
        // so does the one after that.
        let mut driven = driven(&FqCoDel { quantum: Bytes(1000), ..FqCoDel::default() });
        enqueue(&mut driven, 1, 1000, 12);
        enqueue(&mut driven, 2, 300, 12);
        assert_eq!(driven.flows(Time::ZERO, 14), [1, 2, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 1]);
    }

    #[test]
    fn a_new_queue_is_served_before_old_ones() {
        let mut driven = driven(&FqCoDel::default());
        enqueue(&mut driven, 1, 1500, 10);
        assert_eq!(driven.flows(Time::ZERO, 2), [1, 1]);
        enqueue(&mut driven, 2, 100, 1);
        assert_eq!(driven.flows(Time::ZERO, 1), [2]);
    }

    #[test]
    fn a_full_size_packet_uses_up_the_quantum_of_a_new_queue() {
        // Otherwise, each new queue would delay the next one by two packets.
        let mut driven = driven(&FqCoDel::default());
        (1..=3).for_each(|flow| enqueue(&mut driven, flow, 1500, 2));
        assert_eq!(driven.flows(Time::ZERO, 6), [1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn packets_are_dropped_from_the_queue_with_the_most_bytes() {
        let mut driven = driven(&FqCoDel { limit: 10, drop_batch: 3, ..FqCoDel::default() });
        enqueue(&mut driven, 1, 1500, 3);
        enqueue(&mut driven, 2, 100, 7);
        assert!(!driven.backlog.has_uncollected());
        // The eleventh packet: flow 1 has 4500 bytes, flow 2 has 800. Half of three packets is two, dropped from the
        // head.
        enqueue(&mut driven, 2, 100, 1);
        let dropped: Vec<u64> = driven.dropped().iter().map(|packet| packet.token).collect();
        assert_eq!((dropped, driven.backlog.packets()), (vec![0, 1], 9));
    }

    #[test]
    fn a_sparse_flow_is_exempt_unless_all_bytes_count() {
        // Two packets of flow 2 behind those of flow 1 wait for 0.2 s, longer than target and interval. The second has
        // nothing behind it in its own queue.
        for (counts_all, dropped) in [(false, 0), (true, 1)] {
            let mut driven = driven(&FqCoDel { counts_all, ..FqCoDel::default() });
            enqueue(&mut driven, 1, 1500, 8);
            enqueue(&mut driven, 2, 100, 2);
            let number = driven.state.turns.queue_of(2) as usize;
            let (rule, queue) = (driven.state.rule, &mut driven.state.turns.queues[number]);
            for now in [100_000_000, 200_000_000].map(Time) {
                let slot = queue.controller.dequeue(&rule, now, &mut queue.packets, &mut driven.backlog);
                slot.map(|slot| driven.backlog.release(slot));
            }
            assert_eq!(driven.dropped().len(), dropped, "{counts_all}");
        }
    }
}
