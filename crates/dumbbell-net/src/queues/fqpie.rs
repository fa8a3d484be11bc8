//! FQ-PIE, as in Linux (`sch_fq_pie`): flows share the link by deficit round robin, and PIE [RFC 8033] controls the
//! queue of each.
//!
//! Flows are hashed to queues, which take turns as in FQ-CoDel [RFC 8290 §4.2]. PIE decides about an arriving packet by
//! the state of the packet's own queue. Updates are computed when packets of the queue enter or depart, as for `pie`.
//!
//! Departures from Linux: the queueing delay is that of the oldest packet of the queue (`delay` has Linux's measure),
//! updates follow the RFC unless `update` is 16 ms, ECN is on, and the limit counts packets but not their memory.

use super::pie::{Controller, DelayMeasure, Pie, Rule};
use super::turns::Turns;
use super::{AtDeparture, Backlog, Discipline, Queued, Reason, Setup, Slot, Verdict};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Flow queues, each with PIE, served in turn.
    pub struct FqPie {
        /// Number of queues; flows are hashed to them.
        queues: u64 = 1024, "queues", "[linux6 sch_fq_pie]",
            |queues| (1..=65_536).contains(queues), "a whole number from 1 to 65536";
        /// Bytes that a queue may send per round; Linux adds the Ethernet header, which packets do not have here.
        quantum: Bytes = Bytes(1500), "bytes", "[linux6 sch_fq_pie]",
            |quantum| (1..=1 << 30).contains(&quantum.0), "a size from 1 byte to 1 GiB";
        /// Capacity of all queues together; packets that do not fit are dropped on arrival.
        limit: u64 = 10_240, "packets", "[linux6 sch_fq_pie]", |limit| *limit > 0, "a whole number, at least 1";
        /// Target queueing delay of each queue.
        target: Time = Time(15_000_000), "s", "RFC 8033 §4.2";
        /// Time between two updates of the drop probabilities; 16 ms in Linux.
        update: Time = Time(15_000_000), "s", "RFC 8033 §4.2",
            |update| (100_000..=10_000_000_000).contains(&update.0), "a time from 100 us to 10 s";
        /// Weight of the deviation of the delay from the target.
        alpha: f64 = 0.125, "Hz", "RFC 8033 §4.2", |alpha| (0.001..=1000.0).contains(alpha), "a number from 0.001 to 1000";
        /// Weight of the change of the delay since the last update.
        beta: f64 = 1.25, "Hz", "RFC 8033 §4.2", |beta| (0.0..=1000.0).contains(beta), "a number from 0 to 1000";
        /// Time after a quiet period during which nothing is dropped early.
        max_burst: Time = Time(150_000_000), "s", "RFC 8033 §4.4";
        /// Nothing is dropped early from a queue in which at most two packets of this size wait; 1500 bytes in Linux.
        mean_packet: Bytes = Bytes(1000), "bytes", "RFC 8033 §4.1",
            |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// How the queueing delay is measured.
        delay: DelayMeasure = DelayMeasure::Head, "-", "RFC 8033 §4.3";
        /// Mark packets of ECN-capable transports instead of dropping them.
        ecn: bool = true, "-", "RFC 8033 §5.1";
        /// Probability from which ECN-capable packets are dropped as well (`ecn_prob` in Linux).
        mark_below: f64 = 0.1, "-", "RFC 8033 §5.1", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
    }
}

impl Discipline for FqPie {
    const SUMMARY: &'static str = "Fair queueing by deficit round robin, with PIE in each queue.";
    const SOURCE: &'static str = "[linux6 sch_fq_pie]";
}

/// All queues.
#[derive(Clone, Debug)]
pub struct Flows {
    rule: Rule,
    limit: usize,
    turns: Turns<Controller>,
}

impl AtDeparture for FqPie {
    type State = Flows;

    fn start(&self, _setup: &Setup, random: &mut Stream) -> Flows {
        let each = Pie {
            target: self.target,
            update: self.update,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            mean_packet: self.mean_packet,
            delay: self.delay,
            ecn: self.ecn,
            mark_below: self.mark_below,
            ..Pie::default()
        };
        let mut turns = Turns::new(self.queues, self.quantum.0, random);
        turns.queues.iter_mut().for_each(|queue| queue.controller = Controller::starting(self.update));
        Flows { rule: each.rule(), limit: usize::try_from(self.limit).unwrap_or(usize::MAX), turns }
    }

    #[inline]
    fn enqueue(state: &mut Flows, now: Time, packet: Queued, backlog: &mut Backlog, random: &mut Stream) {
        let number = state.turns.queue_of(packet.flow);
        let queue = &mut state.turns.queues[number as usize];
        queue.controller.catch_up(&state.rule, now, &queue.packets, backlog);
        let verdict = if backlog.packets() < state.limit {
            queue.controller.admit(&state.rule, packet.ecn, queue.packets.bytes(), random)
        } else {
            Verdict::Drop(Reason::NoRoom)
        };
        backlog.take(verdict, packet, &mut queue.packets);
        if !matches!(verdict, Verdict::Drop(_)) {
            state.turns.activate(number);
        }
    }

    #[inline]
    fn dequeue(state: &mut Flows, now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        let rule = &state.rule;
        state.turns.dequeue(backlog, |queue, backlog| {
            queue.controller.catch_up(rule, now, &queue.packets, backlog);
            let slot = backlog.pop(&mut queue.packets)?;
            queue.controller.on_departure(rule, now, backlog.packet(slot), queue.packets.bytes());
            Some(slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Driven;
    use super::*;
    use dumbbell_units::Ecn;

    #[test]
    fn a_sparse_flow_is_neither_dropped_nor_delayed_by_a_heavy_one() {
        // 1000 bytes per millisecond depart. Flow 1 sends two packets per millisecond, flow 2 one every 20 ms.
        let mut driven = Driven::new("fqpie", &FqPie::default(), 8_000_000);
        let (mut waits, mut dropped) = (Vec::new(), [0; 3]);
        for step in 0..10_000_u64 {
            let now = Time(1_000_000 * step);
            let mut enter = |flow: u32| driven.enqueue(now, flow, 1000, Ecn::NotEct);
            [1, 1].into_iter().for_each(&mut enter);
            if step % 20 == 0 {
                enter(2);
            }
            let packet = driven.dequeue(now).expect("a packet");
            if packet.flow == 2 {
                waits.push(now.since(packet.entered));
            }
            driven.dropped().iter().for_each(|packet| dropped[packet.flow as usize] += 1);
        }
        // Of 20,000 packets of flow 1, at most 9,500 depart: more than half are dropped.
        assert!(dropped[1] > 9000 && dropped[2] == 0, "{dropped:?}");
        assert_eq!(waits.len(), 500);
        // At most the rest of the round of flow 1, which is two packets.
        assert!(waits.iter().all(|&wait| wait <= Time(2_000_000)), "{:?}", waits.iter().max());
    }
}
