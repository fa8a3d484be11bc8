//! Fair queueing as in Linux (`sch_fq`), with its limits and credits.
//!
//! Every flow has a queue of limited length. A flow that becomes active is new: it is served before the old flows for
//! its credits, which are more for its first packets. A flow that returns soon keeps its rest of credits; after
//! `refill_delay`, it has a quantum again.
//!
//! Departures: packets have no earliest departure times here. Senders with pacing send at these times themselves, so
//! that `fq` schedules what Linux's would release. Without departure times, its horizon, its pacing of flows
//! (`maxrate`, `low_rate_threshold`) and its credit for late packets have no counterpart. Packets have no priority, so
//! there is one band of the three. Flows are hashed to a fixed number of queues; Linux has one per socket.

use super::turns::{FlowQueue, Turns};
use super::{AtDeparture, Backlog, Contradiction, Discipline, Queued, Reason, Setup, Slot};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Fair queueing of flows with limits and credits.
    pub struct Fq {
        /// Number of queues; flows are hashed to them.
        queues: u64 = 1024, "queues", "[linux6 sch_fq]",
            |queues| (1..=65_536).contains(queues), "a whole number from 1 to 65536";
        /// Capacity of all queues together; packets that do not fit are dropped on arrival.
        limit: u64 = 10_000, "packets", "[linux6 sch_fq]", |limit| *limit > 0, "a whole number, at least 1";
        /// Capacity of each queue; packets that do not fit are dropped on arrival.
        flow_limit: u64 = 100, "packets", "[linux6 sch_fq]", |limit| *limit > 0, "a whole number, at least 1";
        /// Bytes that a flow may send per round: two MTUs. Linux adds Ethernet headers, which packets do not have here.
        quantum: Bytes = Bytes(3000), "bytes", "[linux6 sch_fq]",
            |quantum| (1..=1 << 30).contains(&quantum.0), "a size from 1 byte to 1 GiB";
        /// Bytes that a flow may send when it is first seen.
        initial_quantum: Bytes = Bytes(15_000), "bytes", "[linux6 sch_fq]",
            |quantum| (1..=1 << 30).contains(&quantum.0), "a size from 1 byte to 1 GiB";
        /// Idle time after which a flow has at least a quantum again.
        refill_delay: Time = Time(40_000_000), "s", "[linux6 sch_fq]";
    }
}

impl Discipline for Fq {
    const SUMMARY: &'static str = "Fair queueing as in Linux, with limits per flow; senders pace themselves.";
    const SOURCE: &'static str = "[linux6 sch_fq]";

    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        (self.flow_limit > self.limit)
            .then(|| ("flow_limit", format!("at most the limit, {} packets", self.limit)))
    }
}

/// When the queue of a flow became empty; `None` before its first packet.
#[derive(Clone, Copy, Debug, Default)]
struct Idle(Option<Time>);

/// All queues.
#[derive(Clone, Debug)]
pub struct Flows {
    limit: usize,
    flow_limit: usize,
    quantum: i32,
    initial_quantum: i32,
    refill_delay: Time,
    turns: Turns<Idle>,
}

impl Flows {
    /// The credits of a flow that becomes active.
    fn credits(&self, queue: &FlowQueue<Idle>, now: Time) -> i32 {
        match queue.controller.0 {
            None => self.initial_quantum,
            Some(since) if now.since(since) > self.refill_delay => queue.credits.max(self.quantum),
            Some(_) => queue.credits,
        }
    }
}

impl AtDeparture for Fq {
    type State = Flows;

    fn start(&self, _setup: &Setup, random: &mut Stream) -> Flows {
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Flows {
            limit: whole(self.limit),
            flow_limit: whole(self.flow_limit),
            quantum: self.quantum.0 as i32,
            initial_quantum: self.initial_quantum.0 as i32,
            refill_delay: self.refill_delay,
            turns: Turns::new(self.queues, self.quantum.0, random),
        }
    }

    #[inline]
    fn enqueue(state: &mut Flows, now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        let number = state.turns.queue_of(packet.flow);
        let queue = &state.turns.queues[number as usize];
        if backlog.packets() >= state.limit || queue.packets.packets() >= state.flow_limit {
            backlog.drop_arriving(packet, Reason::NoRoom);
            return;
        }
        let credits = (!queue.is_active()).then(|| state.credits(queue, now));
        let queue = &mut state.turns.queues[number as usize];
        backlog.push(&mut queue.packets, packet);
        if let Some(credits) = credits {
            queue.credits = credits;
            state.turns.append_new(number);
        }
    }

    #[inline]
    fn dequeue(state: &mut Flows, now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        state.turns.dequeue(backlog, |queue, backlog| {
            let slot = backlog.pop(&mut queue.packets);
            if slot.is_none() {
                queue.controller.0 = Some(now);
            }
            slot
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Driven;
    use super::*;
    use dumbbell_units::Ecn;

    fn driven(discipline: &Fq) -> Driven<Fq> {
        Driven::new("fq", discipline, 1)
    }

    fn enqueue(driven: &mut Driven<Fq>, now: u64, flow: u32, count: usize) {
        (0..count).for_each(|_| driven.enqueue(Time(now), flow, 1100, Ecn::NotEct));
    }

    #[test]
    fn first_packets_have_more_credits() {
        let mut driven = driven(&Fq::default());
        enqueue(&mut driven, 0, 1, 40);
        enqueue(&mut driven, 0, 2, 40);
        // 15,000 bytes are 14 packets (400 too many). A quantum of 3000 bytes leaves 2600, which are three packets (700
        // too many), then 2300 and three (1000 too many), then 2000 and two.
        let order = driven.flows(Time::ZERO, 44);
        let runs: Vec<usize> = order.chunk_by(|a, b| a == b).map(<[u32]>::len).collect();
        assert_eq!((runs, order[0], order[14]), (vec![14, 14, 3, 3, 3, 3, 2, 2], 1, 2));
    }

    #[test]
    fn credits_are_refilled_after_idle_time() {
        let mut driven = driven(&Fq::default());
        enqueue(&mut driven, 0, 1, 16);
        assert_eq!(driven.flows(Time::ZERO, 99).len(), 16);
        let number = driven.state.turns.queue_of(1) as usize;
        // 14 packets leave -400; a quantum and two packets, 400.
        assert_eq!(driven.state.turns.queues[number].credits, 400);
        enqueue(&mut driven, 40_000_000, 1, 1);
        assert_eq!(driven.state.turns.queues[number].credits, 400);
        assert_eq!(driven.flows(Time(40_000_000), 99).len(), 1);
        enqueue(&mut driven, 80_000_001, 1, 1);
        assert_eq!(driven.state.turns.queues[number].credits, 3000);
    }

    #[test]
    fn a_refill_never_lowers_credits() {
        let mut driven = driven(&Fq::default());
        enqueue(&mut driven, 0, 1, 1);
        assert_eq!(driven.flows(Time::ZERO, 99).len(), 1);
        enqueue(&mut driven, 40_000_001, 1, 1);
        // What is left of the first 15,000 bytes is more than a quantum.
        let number = driven.state.turns.queue_of(1) as usize;
        assert_eq!(driven.state.turns.queues[number].credits, 13_900);
    }

    #[test]
    fn a_flow_is_limited_on_its_own() {
        let mut driven = driven(&Fq { flow_limit: 5, limit: 8, ..Fq::default() });
        enqueue(&mut driven, 0, 1, 7);
        enqueue(&mut driven, 0, 2, 4);
        let dropped: Vec<u32> = driven.dropped().iter().map(|packet| packet.flow).collect();
        assert_eq!(dropped, [1, 1, 2]);
    }
}
