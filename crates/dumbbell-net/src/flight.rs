//! Packets in flight, on whatever link.
//!
//! All links share one store with a free list that is last in, first out. Packets in flight are therefore close
//! together in memory, however many links there are, with one packet per cache line. A link knows its oldest and its
//! newest packet.

use crate::packet::Packet;
use dumbbell_units::{Time, prefetch};

/// No slot.
const END: u32 = u32::MAX;

/// A packet and its successor on the link, or the next free slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Place<P> {
    packet: Packet<P>,
    next: u32,
}

/// The packets in flight on all links.
#[derive(Clone, Debug)]
pub struct Flights<P> {
    places: Vec<Place<P>>,
    /// Arrival time and owner of the packet in each slot.
    arrivals: Vec<(Time, u32)>,
    free: u32,
}

/// The packet that arrives next on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// When.
    pub at: Time,
    /// Where it is.
    pub place: u32,
    /// Whose it is.
    pub owner: u32,
}

/// The packets in flight on one link, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for Line {
    fn default() -> Self {
        Line { first: END, last: END, len: 0 }
    }
}

impl Line {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True without packets.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<P> Default for Flights<P> {
    fn default() -> Self {
        Flights { places: Vec::new(), arrivals: Vec::new(), free: END }
    }
}

impl<P: Copy> Flights<P> {
    /// Stores a packet and returns its slot.
    #[inline]
    pub fn put(&mut self, packet: &Packet<P>) -> u32 {
        let mut place = self.free;
        if place == END {
            place = self.places.len() as u32;
            self.places.push(Place { packet: *packet, next: END });
            self.arrivals.push((Time::NEVER, 0));
        } else {
            let taken = &mut self.places[place as usize];
            self.free = taken.next;
            taken.packet = *packet;
            taken.next = END;
        }
        place
    }

    /// The packet in a slot.
    #[inline]
    pub fn packet(&self, place: u32) -> &Packet<P> {
        &self.places[place as usize].packet
    }

    /// The packets in flight on a link, oldest first.
    pub fn line(&self, line: &Line) -> impl Iterator<Item = &Packet<P>> {
        let first = self.places.get(line.first as usize);
        std::iter::successors(first, |place| self.places.get(place.next as usize)).map(|place| &place.packet)
    }

    /// Prefetches a packet.
    #[inline]
    pub fn prefetch(&self, place: u32) {
        if let Some(place) = self.places.get(place as usize) {
            prefetch(place);
        }
    }

    /// Frees a slot.
    #[inline]
    pub fn leave(&mut self, place: u32) {
        self.places[place as usize].next = self.free;
        self.free = place;
    }

    /// Appends a stored packet to a link; it arrives after all others there.
    #[inline]
    pub fn append(&mut self, line: &mut Line, at: Time, place: u32) {
        self.arrivals[place as usize] = (at, self.places[place as usize].packet.owner);
        if line.last == END {
            line.first = place;
        } else {
            self.places[line.last as usize].next = place;
        }
        line.last = place;
        line.len += 1;
    }

    /// Removes the oldest packet of a link. Returns its slot and the next arrival.
    #[inline]
    pub fn land(&self, line: &mut Line) -> Option<(u32, Option<Next>)> {
        let place = line.first;
        let next = self.places.get(place as usize)?.next;
        line.first = next;
        line.len -= 1;
        if next == END {
            line.last = END;
        }
        let next = self.arrivals.get(next as usize).map(|&(at, owner)| Next { at, place: next, owner });
        Some((place, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;
    use dumbbell_units::Ecn;

    fn packet(owner: u32) -> Packet<()> {
        Packet {
            size: 1000,
            owner,
            generation: 0,
            kind: PacketKind::Data,
            ecn: Ecn::NotEct,
            flow: 0,
            timestamp: Time::ZERO,
            queueing: Time::ZERO,
            payload: (),
        }
    }

    #[test]
    fn links_share_places_and_keep_their_order() {
        let mut flights = Flights::default();
        let mut lines = [Line::default(), Line::default()];
        let pop = |flights: &mut Flights<()>, line: &mut Line| {
            let (place, next) = flights.land(line)?;
            flights.leave(place);
            Some((flights.packet(place).owner, next.map(|next| next.at)))
        };
        let push = |flights: &mut Flights<()>, line: &mut Line, n: u32| {
            let place = flights.put(&packet(n));
            flights.append(line, Time(u64::from(n)), place);
        };
        for n in 0..4 {
            push(&mut flights, &mut lines[n as usize % 2], n);
        }
        assert_eq!(pop(&mut flights, &mut lines[0]), Some((0, Some(Time(2)))));
        push(&mut flights, &mut lines[1], 9);
        assert_eq!(flights.places.len(), 4);
        assert_eq!(pop(&mut flights, &mut lines[0]), Some((2, None)));
        assert_eq!(pop(&mut flights, &mut lines[0]), None);
        let rest: Vec<_> = std::iter::from_fn(|| pop(&mut flights, &mut lines[1])).collect();
        assert_eq!(rest, [(1, Some(Time(3))), (3, Some(Time(9))), (9, None)]);
        assert!(lines.iter().all(Line::is_empty));
    }
}
