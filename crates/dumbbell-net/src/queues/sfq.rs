//! Stochastic fairness queueing [mckenney1990], as in Linux (`sch_sfq`): hashed flows take turns, and the longest queue
//! drops.
//!
//! Flows are hashed to buckets; a bucket with packets has one of a limited number of queues. A queue sends while it has
//! credits, and may exceed them with its last packet of a round. The default limits are those of Linux.
//!
//! Departures: the hash is salted once per run and not perturbed later, Linux's default; a flow thus stays in order. Of
//! several longest queues, the one with the lowest number drops.

use super::turns::Turns;
use super::{AtDeparture, Backlog, Discipline, Fifo, Queued, Reason, Setup, Slot};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Stochastic fairness queueing.
    pub struct Sfq {
        /// Number of hash buckets.
        buckets: u64 = 1024, "buckets", "[linux6 sch_sfq]",
            |buckets| (1..=65_536).contains(buckets), "a whole number from 1 to 65536";
        /// Number of queues, for as many buckets with packets; packets for further buckets are dropped on arrival.
        flows: u64 = 128, "queues", "[linux6 sch_sfq]", |flows| (1..=65_536).contains(flows), "a whole number from 1 to 65536";
        /// Capacity of each queue; packets that do not fit are dropped on arrival.
        depth: u64 = 127, "packets", "[linux6 sch_sfq]", |depth| *depth > 0, "a whole number, at least 1";
        /// Capacity of all queues together; when it is exceeded, the longest queue drops its last packet.
        limit: u64 = 127, "packets", "[linux6 sch_sfq]", |limit| *limit > 0, "a whole number, at least 1";
        /// Bytes that a queue may send per round; Linux adds the Ethernet header, which packets do not have here.
        quantum: Bytes = Bytes(1500), "bytes", "[linux6 sch_sfq]",
            |quantum| (1..=1 << 30).contains(&quantum.0), "a size from 1 byte to 1 GiB";
    }
}

impl Discipline for Sfq {
    const SUMMARY: &'static str =
        "Stochastic fairness queueing: hashed flows take turns, and the longest queue drops.";
    const SOURCE: &'static str = "[mckenney1990]";
}

/// All queues.
#[derive(Clone, Debug)]
pub struct Flows {
    flows: usize,
    depth: usize,
    limit: usize,
    turns: Turns<()>,
}

impl AtDeparture for Sfq {
    type State = Flows;

    fn start(&self, _setup: &Setup, random: &mut Stream) -> Flows {
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Flows {
            flows: whole(self.flows),
            depth: whole(self.depth),
            limit: whole(self.limit),
            turns: Turns::new(self.buckets, self.quantum.0, random),
        }
    }

    #[inline]
    fn enqueue(state: &mut Flows, _now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        let number = state.turns.queue_of(packet.flow);
        let has_room = state.turns.active_count() < state.flows;
        let queue = &mut state.turns.queues[number as usize];
        if !(queue.is_active() || has_room) || queue.packets.packets() >= state.depth {
            backlog.drop_arriving(packet, Reason::NoRoom);
            return;
        }
        backlog.push(&mut queue.packets, packet);
        state.turns.join(number);
        if backlog.packets() > state.limit {
            state.turns.drop_last_of_largest(Fifo::packets, backlog);
        }
    }

    #[inline]
    fn dequeue(state: &mut Flows, _now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        state.turns.dequeue_in_round(backlog, |credits, _size| credits > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Driven;
    use super::*;
    use dumbbell_units::Ecn;

    /// Flows of the packets in the order of departure, and tokens of dropped packets.
    fn order(discipline: &Sfq, packets: &[(u32, u32)]) -> (Vec<u32>, Vec<u64>) {
        let mut driven = Driven::new("sfq", discipline, 1);
        packets.iter().for_each(|&(flow, size)| driven.enqueue(Time::ZERO, flow, size, Ecn::NotEct));
        let dropped = driven.dropped().iter().map(|packet| packet.token).collect();
        (driven.flows(Time::ZERO, packets.len()), dropped)
    }

    #[test]
    fn queues_take_turns_and_may_exceed_their_quantum_once() {
        // A quantum of 1000 bytes: flow 1 sends 600 and 600 bytes (200 too many), then after a quantum (800 left) two
        // more (400 too many), then one round with one packet; flow 2 sends 1000 bytes per round.
        let packets: Vec<(u32, u32)> = [(1, 600); 5].into_iter().chain([(2, 1000); 4]).collect();
        let (order, dropped) = order(&Sfq { quantum: Bytes(1000), ..Sfq::default() }, &packets);
        assert_eq!((order, dropped), (vec![1, 1, 2, 1, 1, 2, 1, 2, 2], vec![]));
    }

    #[test]
    fn the_longest_queue_drops_its_last_packet() {
        // The fifth packet exceeds the limit: flow 1 has three packets and loses the last of them. The sixth, of flow
        // 2, makes both equally long with three packets each; then five remain.
        let sfq = Sfq { limit: 4, ..Sfq::default() };
        let (_, dropped) = order(&sfq, &[(1, 100), (1, 100), (1, 100), (2, 1500), (2, 1500)]);
        assert_eq!(dropped, [2]);
    }

    #[test]
    fn depth_and_number_of_queues_are_limited() {
        let (_, dropped) =
            order(&Sfq { depth: 2, ..Sfq::default() }, &[(1, 100), (1, 100), (1, 100), (2, 100)]);
        assert_eq!(dropped, [2]);
        let (_, dropped) = order(&Sfq { flows: 1, ..Sfq::default() }, &[(1, 100), (2, 100), (1, 100)]);
        assert_eq!(dropped, [1]);
    }
}
