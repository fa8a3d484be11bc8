//! Packets in flight on all links.
//!
//! All links share one store with a last-in, first-out free list. Packets in flight are therefore close together in
//! memory, regardless of the number of links, with one packet per cache line. Each link has a queue, a linked list of
//! slots with the oldest packet first.

use crate::packet::Packet;
use dumbbell_units::{Time, prefetch};

/// No slot.
const END: u32 = u32::MAX;

/// A packet and its successor on the link, or the next free slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Slot<P> {
    packet: Packet<P>,
    next: u32,
}

/// The packets in flight on all links.
#[derive(Clone, Debug)]
pub struct Flights<P> {
    slots: Vec<Slot<P>>,
    /// Arrival time and owner of the packet in each slot.
    arrivals: Vec<(Time, u32)>,
    free: u32,
}

/// The packet that arrives next on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextArrival {
    /// Arrival time.
    pub at: Time,
    /// Its slot.
    pub slot: u32,
    /// Its owner.
    pub owner: u32,
}

/// The packets in flight on one link, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct FlightQueue {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for FlightQueue {
    fn default() -> Self {
        FlightQueue { first: END, last: END, len: 0 }
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
        Flights { slots: Vec::new(), arrivals: Vec::new(), free: END }
    }
}

impl<P: Copy> Flights<P> {
    /// Stores a packet and returns its slot.
    #[inline]
    pub fn put(&mut self, packet: &Packet<P>) -> u32 {
        let mut slot = self.free;
        if slot == END {
            slot = self.slots.len() as u32;
            self.slots.push(Slot { packet: *packet, next: END });
            self.arrivals.push((Time::NEVER, 0));
        } else {
            let taken = &mut self.slots[slot as usize];
            self.free = taken.next;
            taken.packet = *packet;
            taken.next = END;
        }
        slot
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

    /// The slot and owner of the oldest packet on a link.
    #[inline]
    pub fn first(&self, queue: &FlightQueue) -> Option<(u32, u32)> {
        self.arrivals.get(queue.first as usize).map(|&(_, owner)| (queue.first, owner))
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
    #[inline]
    pub fn push(&mut self, queue: &mut FlightQueue, at: Time, slot: u32) {
        self.arrivals[slot as usize] = (at, self.slots[slot as usize].packet.owner);
        if queue.last == END {
            queue.first = slot;
        } else {
            self.slots[queue.last as usize].next = slot;
        }
        queue.last = slot;
        queue.len += 1;
    }

    /// Dequeues the oldest packet. Returns its slot and the next arrival.
    #[inline]
    pub fn pop(&self, queue: &mut FlightQueue) -> Option<(u32, Option<NextArrival>)> {
        let slot = queue.first;
        let next = self.slots.get(slot as usize)?.next;
        queue.first = next;
        queue.len -= 1;
        if next == END {
            queue.last = END;
        }
        let next = self.arrivals.get(next as usize).map(|&(at, owner)| NextArrival { at, slot: next, owner });
        Some((slot, next))
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
            Some((flights.packet(slot).owner, next.map(|next| next.at)))
        };
        let push = |flights: &mut Flights<()>, queue: &mut FlightQueue, n: u32| {
            let slot = flights.put(&packet(n));
            flights.push(queue, Time(u64::from(n)), slot);
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
}
