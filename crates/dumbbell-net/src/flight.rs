//! Packets in flight on all links.
//!
//! All links share one store with a last-in, first-out free list. Packets in flight are therefore close together in
//! memory, regardless of the number of links, with one packet per cache line. Each link has a queue, a linked list of
//! slots with the oldest packet first. A slot tells when the packet after its own arrives, so that the next event of a link
//! touches no other slot.

use crate::packet::Packet;
use dumbbell_units::{Time, prefetch};
use std::collections::BTreeMap;

/// No slot.
const END: u32 = u32::MAX;

/// A packet and its successor on the link, or the next free slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Slot<P> {
    packet: Packet<P>,
    next: u32,
    /// How much later the successor arrives, in nanoseconds; [`END`] for a time in [`Flights::late`].
    gap: u32,
}

/// The packets in flight on all links.
#[derive(Clone, Debug)]
pub struct Flights<P> {
    slots: Vec<Slot<P>>,
    free: u32,
    /// Arrivals of the successors of slots that are seconds later.
    late: BTreeMap<u32, Time>,
}

/// The packets in flight on one link, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct FlightQueue {
    first: u32,
    last: u32,
    len: u32,
    /// Owner of the last packet.
    owner: u32,
    /// Arrivals of the first and of the last packet.
    first_at: Time,
    last_at: Time,
}

impl Default for FlightQueue {
    fn default() -> Self {
        FlightQueue { first: END, last: END, len: 0, owner: END, first_at: Time::NEVER, last_at: Time::NEVER }
    }
}

impl FlightQueue {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if there are no packets.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<P> Default for Flights<P> {
    fn default() -> Self {
        Flights { slots: Vec::new(), free: END, late: BTreeMap::new() }
    }
}

impl<P: Copy> Flights<P> {
    /// Stores a packet and returns its slot.
    #[inline]
    pub fn put(&mut self, packet: &Packet<P>) -> u32 {
        let mut slot = self.free;
        if slot == END {
            slot = self.slots.len() as u32;
            self.slots.push(Slot { packet: *packet, next: END, gap: 0 });
        } else {
            let taken = &mut self.slots[slot as usize];
            self.free = taken.next;
            taken.packet = *packet;
            taken.next = END;
        }
        slot
    }

    /// Largest number of packets stored at one time so far.
    pub fn most(&self) -> u64 {
        self.slots.len() as u64
    }

    /// The packet in a slot.
    #[inline]
    pub fn packet(&self, slot: u32) -> &Packet<P> {
        &self.slots[slot as usize].packet
    }

    /// The packets in flight on a link, oldest first.
    pub fn packets(&self, queue: &FlightQueue) -> impl Iterator<Item = &Packet<P>> {
        let first = self.slots.get(queue.first as usize);
        std::iter::successors(first, |slot| self.slots.get(slot.next as usize)).map(|slot| &slot.packet)
    }

    /// The slot of the oldest packet on a link, and an owner of a packet there, most likely its own.
    #[inline]
    pub fn first(&self, queue: &FlightQueue) -> Option<(u32, u32)> {
        (queue.first != END).then_some((queue.first, queue.owner))
    }

    /// Prefetches a packet.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(slot) = self.slots.get(slot as usize) {
            prefetch(slot);
        }
    }

    /// Frees a slot.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.slots[slot as usize].next = self.free;
        self.free = slot;
    }

    /// Enqueues a stored packet. It arrives no earlier than those in front of it.
    #[inline(always)]
    pub fn push(&mut self, queue: &mut FlightQueue, at: Time, slot: u32, owner: u32) {
        if queue.last == END {
            queue.first = slot;
            queue.first_at = at;
        } else {
            let gap = u32::try_from(at.since(queue.last_at).0).unwrap_or(END);
            let last = &mut self.slots[queue.last as usize];
            (last.next, last.gap) = (slot, gap);
            if gap == END {
                self.note_late(queue.last, at);
            }
        }
        (queue.last, queue.last_at, queue.owner) = (slot, at, owner);
        queue.len += 1;
    }

    /// Dequeues the oldest packet. Returns its slot, and when the next one arrives.
    #[inline]
    pub fn pop(&mut self, queue: &mut FlightQueue) -> Option<(u32, Option<Time>)> {
        let slot = queue.first;
        let &Slot { next, gap, .. } = self.slots.get(slot as usize)?;
        queue.first = next;
        queue.len -= 1;
        if next == END {
            queue.last = END;
            return Some((slot, None));
        }
        queue.first_at =
            if gap == END { self.take_late(slot) } else { Time(queue.first_at.0 + u64::from(gap)) };
        Some((slot, Some(queue.first_at)))
    }

    #[cold]
    fn note_late(&mut self, slot: u32, at: Time) {
        self.late.insert(slot, at);
    }

    #[cold]
    fn take_late(&mut self, slot: u32) -> Time {
        self.late.remove(&slot).unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(owner: u32) -> Packet<()> {
        Packet { owner, ..Packet::of_size(1000, ()) }
    }

    #[test]
    fn links_share_slots_and_keep_packets_in_order() {
        let mut flights = Flights::default();
        let mut queues = [FlightQueue::default(), FlightQueue::default()];
        let pop = |flights: &mut Flights<()>, queue: &mut FlightQueue| {
            let (slot, next) = flights.pop(queue)?;
            flights.release(slot);
            Some((flights.packet(slot).owner, next))
        };
        let push = |flights: &mut Flights<()>, queue: &mut FlightQueue, n: u32| {
            let slot = flights.put(&packet(n));
            flights.push(queue, Time(u64::from(n)), slot, n);
        };
        for n in 0..4 {
            push(&mut flights, &mut queues[n as usize % 2], n);
        }
        assert_eq!(pop(&mut flights, &mut queues[0]), Some((0, Some(Time(2)))));
        push(&mut flights, &mut queues[1], 9);
        assert_eq!(flights.slots.len(), 4);
        assert_eq!(pop(&mut flights, &mut queues[0]), Some((2, None)));
        assert_eq!(pop(&mut flights, &mut queues[0]), None);
        let rest: Vec<_> = std::iter::from_fn(|| pop(&mut flights, &mut queues[1])).collect();
        assert_eq!(rest, [(1, Some(Time(3))), (3, Some(Time(9))), (9, None)]);
        assert!(queues.iter().all(FlightQueue::is_empty));
    }

    #[test]
    fn a_packet_may_arrive_seconds_after_the_one_before_it() {
        let mut flights = Flights::default();
        let mut queue = FlightQueue::default();
        let arrivals = [0, 1, 4_294_967_295, 4_294_967_296, 60_000_000_000, 60_000_000_000];
        for at in arrivals {
            let slot = flights.put(&packet(0));
            flights.push(&mut queue, Time(at), slot, 0);
        }
        let next: Vec<_> = std::iter::from_fn(|| flights.pop(&mut queue)).map(|(_, next)| next).collect();
        let expected: Vec<_> = arrivals.iter().skip(1).map(|&at| Some(Time(at))).chain([None]).collect();
        assert_eq!(next, expected);
        assert!(flights.late.is_empty());
    }
}
