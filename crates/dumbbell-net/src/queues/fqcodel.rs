//! FQ-CoDel [RFC 8290]: flows share the link by deficit round robin, and CoDel controls the queue of each.
//!
//! Flows are hashed to queues. A queue that becomes active is served for one quantum before the queues that have been
//! active for longer. When all queues together exceed the limit, packets are dropped from the head of the queue with
//! the most bytes.
//!
//! CoDel controls each queue separately, including its bytes (RFC 8290 §4.2); Linux compares the bytes of all queues
//! with the MTU.

use super::codel::{Controller, Rule, target_contradiction};
use super::{AtDeparture, Backlog, Contradiction, Discipline, Fifo, Queued, Reason, Setup, Slot};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Flow queues, each with CoDel, served in turn.
    pub struct FqCoDel {
        /// Number of queues; flows are hashed to them.
        queues: u64 = 1024, "queues", "RFC 8290 §5.2.4",
            |queues| (1..=65_536).contains(queues), "a whole number from 1 to 65536";
        /// Bytes that a queue may send per round.
        quantum: Bytes = Bytes(1514), "bytes", "RFC 8290 §5.2.3",
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
    }
}

impl Discipline for FqCoDel {
    const SUMMARY: &'static str = "Fair queueing by deficit round robin, with CoDel in each queue.";
    const SOURCE: &'static str = "RFC 8290";

    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        target_contradiction(self.target, self.interval)
    }
}

/// No queue.
const END: u32 = u32::MAX;
/// The successor of a queue that is not in a list.
const INACTIVE: u32 = u32::MAX - 1;

/// The queue of some flows, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct FlowQueue {
    packets: Fifo,
    controller: Controller,
    /// Bytes that it may still send in this round; negative if the last packet exceeded them.
    credits: i32,
    /// The next queue in its list.
    next: u32,
}

impl Default for FlowQueue {
    fn default() -> Self {
        FlowQueue { packets: Fifo::default(), controller: Controller::default(), credits: 0, next: INACTIVE }
    }
}

/// A list of active queues in the order of service, linked by queue numbers.
#[derive(Clone, Copy, Debug)]
struct QueueList {
    first: u32,
    last: u32,
}

impl QueueList {
    const EMPTY: QueueList = QueueList { first: END, last: END };

    fn is_empty(&self) -> bool {
        self.first == END
    }

    /// Appends a queue.
    #[inline]
    fn push(&mut self, number: u32, queues: &mut [FlowQueue]) {
        match queues.get_mut(self.last as usize) {
            Some(last) if !self.is_empty() => last.next = number,
            _ => self.first = number,
        }
        queues[number as usize].next = END;
        self.last = number;
    }

    /// Removes the first queue. `next` is the queue behind it.
    #[inline]
    fn remove_first(&mut self, next: u32) {
        self.first = next;
    }

    /// The queues in order.
    fn iter(self, queues: &[FlowQueue]) -> impl Iterator<Item = u32> {
        let next = |number: &u32| Some(queues[*number as usize].next).filter(|&next| next != END);
        std::iter::successors(Some(self.first).filter(|&first| first != END), next)
    }
}

/// All queues.
#[derive(Clone, Debug)]
pub struct FlowQueues {
    rule: Rule,
    quantum: i32,
    limit: usize,
    drop_batch: usize,
    /// Salt of the flow hash, so that collisions differ between runs.
    salt: u32,
    queues: Vec<FlowQueue>,
    new: QueueList,
    old: QueueList,
}

/// The finalizer of MurmurHash3, which mixes the bits of a number.
fn mix(mut bits: u32) -> u32 {
    bits = (bits ^ bits >> 16).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae35);
    bits ^ bits >> 16
}

impl FlowQueues {
    /// The queue to which a flow is hashed.
    #[inline]
    fn queue_of(&self, flow: u32) -> u32 {
        let hash = mix(flow ^ self.salt);
        ((u64::from(hash) * self.queues.len() as u64) >> 32) as u32
    }

    /// Drops half of the packets of the queue with the most bytes, at most one batch, from its head.
    #[cold]
    fn drop_from_largest(&mut self, backlog: &mut Backlog) {
        let active = self.new.iter(&self.queues).chain(self.old.iter(&self.queues));
        // The first of several equal queues.
        let largest = active.max_by_key(|&number| {
            (self.queues[number as usize].packets.bytes(), std::cmp::Reverse(number))
        });
        let Some(number) = largest else { return };
        let queue = &mut self.queues[number as usize].packets;
        let half = queue.packets().div_ceil(2);
        for _ in 0..half.min(self.drop_batch) {
            if let Some(slot) = backlog.pop(queue) {
                backlog.drop(slot, Reason::NoRoom);
            }
        }
    }
}

impl AtDeparture for FqCoDel {
    type State = FlowQueues;

    fn start(&self, _setup: &Setup, random: &mut Stream) -> FlowQueues {
        FlowQueues {
            rule: Rule { target: self.target, interval: self.interval, mtu: self.mtu.0, ecn: self.ecn },
            quantum: self.quantum.0 as i32,
            limit: usize::try_from(self.limit).unwrap_or(usize::MAX),
            drop_batch: usize::try_from(self.drop_batch).unwrap_or(usize::MAX),
            salt: random.uniform_between(0.0, f64::from(u32::MAX)) as u32,
            queues: vec![FlowQueue::default(); self.queues as usize],
            new: QueueList::EMPTY,
            old: QueueList::EMPTY,
        }
    }

    #[inline]
    fn enqueue(state: &mut FlowQueues, _now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        let number = state.queue_of(packet.flow);
        let queue = &mut state.queues[number as usize];
        backlog.push(&mut queue.packets, packet);
        if queue.next == INACTIVE {
            queue.credits = state.quantum;
            state.new.push(number, &mut state.queues);
        }
        if backlog.packets() > state.limit {
            state.drop_from_largest(backlog);
        }
    }

    #[inline]
    fn dequeue(state: &mut FlowQueues, now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        loop {
            let is_new = !state.new.is_empty();
            let list = if is_new { &mut state.new } else { &mut state.old };
            let number = list.first;
            let queue = state.queues.get_mut(number as usize)?;
            if queue.credits > 0 {
                if let Some(slot) = queue.controller.dequeue(&state.rule, now, &mut queue.packets, backlog) {
                    queue.credits -= backlog.packet(slot).size as i32;
                    return Some(slot);
                }
                list.remove_first(queue.next);
                if !is_new {
                    queue.next = INACTIVE;
                    continue;
                }
                // An empty new queue joins the old queues. Otherwise, a flow could stay new and starve them.
            } else {
                queue.credits += state.quantum;
                list.remove_first(queue.next);
            }
            state.old.push(number, &mut state.queues);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::{Ecn, Rate};

    /// A discipline without a link.
    struct Fixture {
        state: FlowQueues,
        backlog: Backlog,
        random: Stream,
        sent: u64,
    }

    fn fixture(discipline: &FqCoDel) -> Fixture {
        let mut random = Stream::new(1, 0, "fqcodel");
        let state = discipline.start(&Setup { rate: Rate(1_000_000) }, &mut random);
        Fixture { state, backlog: Backlog::default(), random, sent: 0 }
    }

    impl Fixture {
        fn enqueue(&mut self, flow: u32, size: u32) {
            let packet = Queued {
                token: self.sent,
                entered: Time::ZERO,
                size,
                flow,
                ecn: Ecn::NotEct,
                is_data: true,
            };
            self.sent += 1;
            FqCoDel::enqueue(&mut self.state, Time::ZERO, packet, &mut self.backlog, &mut self.random);
        }

        fn dequeue(&mut self) -> Option<Queued> {
            let slot = FqCoDel::dequeue(&mut self.state, Time::ZERO, &mut self.backlog, &mut self.random);
            slot.map(|slot| self.backlog.release(slot))
        }
    }

    #[test]
    fn queues_send_a_quantum_in_turn() {
        // A quantum of 1000 bytes: flow 1 sends packets of 1000 bytes, flow 2 of 300 bytes. The fourth small packet
        // exceeds the quantum by 200 bytes, so the next round ends after three packets (800 bytes left, 900 sent), and
        // so does the one after that.
        let mut fixture = fixture(&FqCoDel { quantum: Bytes(1000), ..FqCoDel::default() });
        (0..12).for_each(|_| fixture.enqueue(1, 1000));
        (0..12).for_each(|_| fixture.enqueue(2, 300));
        let order: Vec<u32> = (0..14).filter_map(|_| fixture.dequeue()).map(|packet| packet.flow).collect();
        assert_eq!(order, [1, 2, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 1]);
    }

    #[test]
    fn a_new_queue_is_served_before_old_ones() {
        let mut fixture = fixture(&FqCoDel::default());
        (0..10).for_each(|_| fixture.enqueue(1, 1500));
        assert_eq!([fixture.dequeue(), fixture.dequeue()].map(|packet| packet.map(|p| p.flow)), [Some(1), Some(1)]);
        fixture.enqueue(2, 100);
        assert_eq!(fixture.dequeue().map(|packet| packet.flow), Some(2));
    }

    #[test]
    fn packets_are_dropped_from_the_queue_with_the_most_bytes() {
        let mut fixture = fixture(&FqCoDel { limit: 10, drop_batch: 3, ..FqCoDel::default() });
        (0..3).for_each(|_| fixture.enqueue(1, 1500));
        (0..7).for_each(|_| fixture.enqueue(2, 100));
        assert!(!fixture.backlog.has_uncollected());
        // The eleventh packet: flow 1 has 4500 bytes, flow 2 has 800. Half of three packets is two, dropped from the
        // head.
        fixture.enqueue(2, 100);
        let dropped: Vec<u64> = fixture.backlog.take_uncollected().0.map(|(packet, _)| packet.token).collect();
        assert_eq!((dropped, fixture.backlog.packets()), (vec![0, 1], 9));
    }
}
