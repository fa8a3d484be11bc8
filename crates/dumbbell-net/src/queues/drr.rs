//! Deficit round robin [shreedhar1996]: flows share the link in bytes, whatever their packet sizes.
//!
//! Flows are hashed to queues. At each visit, a queue receives a quantum of bytes, and sends packets as long as they
//! fit into what it has. The rest remains for the next visit; an empty queue loses it. When the limit is exceeded, the
//! longest queue in bytes drops its last packet, the paper's buffer stealing.

use super::turns::Turns;
use super::{AtDeparture, Backlog, Discipline, Fifo, Queued, Setup, Slot};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Flow queues that are served by deficit round robin.
    pub struct Drr {
        /// Number of queues; flows are hashed to them.
        queues: u64 = 1024, "queues", "[shreedhar1996 §3]",
            |queues| (1..=65_536).contains(queues), "a whole number from 1 to 65536";
        /// Bytes that a queue receives per visit; Linux adds the Ethernet header, which packets do not have here.
        quantum: Bytes = Bytes(1500), "bytes", "[linux6 sch_drr]",
            |quantum| (1..=1 << 30).contains(&quantum.0), "a size from 1 byte to 1 GiB";
        /// Capacity of all queues together.
        limit: u64 = 1000, "packets", "[shreedhar1996 §3]", |limit| *limit > 0, "a whole number, at least 1";
    }
}

impl Discipline for Drr {
    const SUMMARY: &'static str = "Deficit round robin: flows share the link equally in bytes.";
    const SOURCE: &'static str = "[shreedhar1996]";
}

/// All queues.
#[derive(Clone, Debug)]
pub struct Flows {
    limit: usize,
    turns: Turns<()>,
}

impl AtDeparture for Drr {
    type State = Flows;

    fn start(&self, _setup: &Setup, random: &mut Stream) -> Flows {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        Flows { limit, turns: Turns::new(self.queues, self.quantum.0, random) }
    }

    #[inline]
    fn enqueue(state: &mut Flows, _now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        let number = state.turns.queue_of(packet.flow);
        backlog.push(&mut state.turns.queues[number as usize].packets, packet);
        state.turns.join(number);
        if backlog.packets() > state.limit {
            state.turns.drop_last_of_largest(Fifo::bytes, backlog);
        }
    }

    #[inline]
    fn dequeue(state: &mut Flows, _now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        state.turns.dequeue_in_round(backlog, |credits, size| size <= credits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Driven;
    use super::*;
    use dumbbell_units::Ecn;

    /// Flows of the packets in the order of departure, and tokens of dropped packets.
    fn order(discipline: &Drr, packets: &[(u32, u32)], count: usize) -> (Vec<u32>, Vec<u64>) {
        let mut driven = Driven::new("drr", discipline, 1);
        packets.iter().for_each(|&(flow, size)| driven.enqueue(Time::ZERO, flow, size, Ecn::NotEct));
        let dropped = driven.dropped().iter().map(|packet| packet.token).collect();
        (driven.flows(Time::ZERO, count), dropped)
    }

    #[test]
    fn a_queue_sends_what_fits_into_its_deficit() {
        // A quantum of 500 bytes. Flow 1 has packets of 600 bytes: nothing in the first round (500), one in the second
        // (400 left), one in the third (300 left), one in the fourth (200 left), one in the fifth (100 left), one in the
        // sixth, none in the seventh. Flow 2 has packets of 250 bytes: two per round.
        let packets: Vec<(u32, u32)> = [(1, 600); 8].into_iter().chain([(2, 250); 20]).collect();
        let (order, _) = order(&Drr { quantum: Bytes(500), ..Drr::default() }, &packets, 19);
        assert_eq!(order, [2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn flows_share_bytes_whatever_their_packet_sizes() {
        let packets: Vec<(u32, u32)> =
            [(1, 1500), (2, 576), (3, 64)].into_iter().flat_map(|packet| vec![packet; 30_000]).collect();
        let discipline = Drr { limit: 100_000, ..Drr::default() };
        let (order, _) = order(&discipline, &packets, 20_000);
        let sizes = [1500, 576, 64];
        let bytes = [1, 2, 3]
            .map(|flow| order.iter().filter(|&&f| f == flow).count() as u64 * sizes[flow as usize - 1]);
        // The service of two backlogged queues differs by at most a quantum and the largest packet.
        assert!(
            bytes.iter().max().zip(bytes.iter().min()).is_some_and(|(most, least)| most - least <= 3000),
            "{bytes:?}"
        );
    }

    #[test]
    fn the_longest_queue_loses_its_last_packet() {
        let (_, dropped) =
            order(&Drr { limit: 3, ..Drr::default() }, &[(1, 300), (1, 300), (2, 500), (2, 40)], 0);
        assert_eq!(dropped, [1]);
    }
}
