//! Stochastic fairness queueing [mckenney1990], as in Linux (`sch_sfq`): hashed flows take turns, and the longest queue
//! drops.
//!
//! Flows are hashed to buckets; a bucket with packets has one of a limited number of queues. A queue sends while it has
//! credits, and may exceed them with its last packet of a round. The default limits are those of Linux.
//!
//! Departures: the hash is salted once per run and not perturbed later, Linux's default; a flow thus stays in order. Of
//! several longest queues, the one with the lowest number drops.

use super::turns::{FlowHash, FlowQueue, QueueList};
use super::{AtDeparture, Backlog, Discipline, Queued, Reason, Setup, Slot};
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
        /// Bytes that a queue may send per round.
        quantum: Bytes = Bytes(1514), "bytes", "[linux6 sch_sfq]",
            |quantum| (1..=1 << 30).contains(&quantum.0), "a size from 1 byte to 1 GiB";
    }
}

impl Discipline for Sfq {
    const SUMMARY: &'static str = "Stochastic fairness queueing: hashed flows take turns, and the longest queue drops.";
    const SOURCE: &'static str = "[mckenney1990]";
}

/// All queues.
#[derive(Clone, Debug)]
pub struct FlowQueues {
    hash: FlowHash,
    quantum: i32,
    flows: usize,
    depth: usize,
    limit: usize,
    queues: Vec<FlowQueue<()>>,
    active: QueueList,
    active_count: usize,
}

impl FlowQueues {
    /// Drops the last packet of the longest queue.
    #[cold]
    fn drop_from_longest(&mut self, backlog: &mut Backlog) {
        let packets = |&number: &u32| (self.queues[number as usize].packets.packets(), std::cmp::Reverse(number));
        let Some(longest) = self.active.iter(&self.queues).max_by_key(packets) else { return };
        if let Some(slot) = backlog.pop_last(&mut self.queues[longest as usize].packets) {
            backlog.drop(slot, Reason::NoRoom);
        }
    }

    fn remove_first(&mut self) {
        self.active.pop(&mut self.queues);
        self.active_count -= 1;
    }
}

impl AtDeparture for Sfq {
    type State = FlowQueues;

    fn start(&self, _setup: &Setup, random: &mut Stream) -> FlowQueues {
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        FlowQueues {
            hash: FlowHash::new(random),
            quantum: self.quantum.0 as i32,
            flows: whole(self.flows),
            depth: whole(self.depth),
            limit: whole(self.limit),
            queues: vec![FlowQueue::default(); self.buckets as usize],
            active: QueueList::EMPTY,
            active_count: 0,
        }
    }

    #[inline]
    fn enqueue(state: &mut FlowQueues, _now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        let number = state.hash.queue_of(packet.flow, state.queues.len());
        let queue = &mut state.queues[number as usize];
        let has_queue = queue.is_active() || state.active_count < state.flows;
        if !has_queue || queue.packets.packets() >= state.depth {
            backlog.drop_arriving(packet, Reason::NoRoom);
            return;
        }
        backlog.push(&mut queue.packets, packet);
        if !queue.is_active() {
            queue.credits = state.quantum;
            state.active.push(number, &mut state.queues);
            state.active_count += 1;
        }
        if backlog.packets() > state.limit {
            state.drop_from_longest(backlog);
        }
    }

    #[inline]
    fn dequeue(state: &mut FlowQueues, _now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        loop {
            let number = state.active.first();
            let queue = state.queues.get_mut(number as usize)?;
            if queue.packets.packets() == 0 {
                // Its only packet was dropped.
                state.remove_first();
                continue;
            }
            if queue.credits <= 0 {
                queue.credits += state.quantum;
                state.active.pop(&mut state.queues);
                state.active.push(number, &mut state.queues);
                continue;
            }
            let slot = backlog.pop(&mut queue.packets)?;
            queue.credits -= backlog.packet(slot).size as i32;
            if queue.packets.packets() == 0 {
                state.remove_first();
            }
            return Some(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::{Ecn, Rate};

    /// Flows of the packets in the order of departure, and tokens of dropped packets.
    fn order(discipline: &Sfq, packets: &[(u32, u32)]) -> (Vec<u32>, Vec<u64>) {
        let mut random = Stream::new(1, 0, "sfq");
        let mut state = discipline.start(&Setup { rate: Rate(1) }, &mut random);
        let mut backlog = Backlog::default();
        for (token, &(flow, size)) in packets.iter().enumerate() {
            let (entered, token) = (Time::ZERO, token as u64);
            let packet = Queued { token, entered, size, flow, ecn: Ecn::NotEct, is_data: true };
            Sfq::enqueue(&mut state, Time::ZERO, packet, &mut backlog, &mut random);
        }
        let dropped = backlog.take_uncollected().0.map(|(packet, _)| packet.token).collect();
        let mut dequeue = || {
            let slot = Sfq::dequeue(&mut state, Time::ZERO, &mut backlog, &mut random)?;
            Some(backlog.release(slot).flow)
        };
        (std::iter::from_fn(&mut dequeue).collect(), dropped)
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
        let (_, dropped) = order(&Sfq { depth: 2, ..Sfq::default() }, &[(1, 100), (1, 100), (1, 100), (2, 100)]);
        assert_eq!(dropped, [2]);
        let (_, dropped) = order(&Sfq { flows: 1, ..Sfq::default() }, &[(1, 100), (2, 100), (1, 100)]);
        assert_eq!(dropped, [1]);
    }
}
