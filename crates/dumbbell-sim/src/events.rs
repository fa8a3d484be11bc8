//! The event queue: four-way heaps ordered by time, then rank of kind, then component.
//!
//! Every component has at most one valid event of a kind, so the order is total and independent of the order of
//! insertion. Events are never cancelled: an event that fires too early is armed again, and an obsolete event is
//! ignored.

use dumbbell_units::Time;

/// Everything that can happen, in the order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet departs from a scheduled link without propagation delay, and arrives immediately.
    Departure(u32),
    /// The oldest packet in flight on a link arrives at the host at its far end.
    Arrival(u32),
    /// A packet arrives at the host at the far end of a link on which packets may overtake others or arrive twice.
    Unordered(u32),
    /// A link merges what has arrived from the links that feed it.
    Merge(u32),
    /// A connection's deadline is reached.
    Deadline(u32),
    /// The application of a connection writes.
    Write(u32),
    /// A flow starts, stops, or its source acts.
    Flow(u32),
    /// A stack that is not ours is woken.
    Stack(u32),
    /// The application of a connection over such a stack writes.
    CarriedWrite(u32),
}

impl Event {
    fn key(self) -> u64 {
        let (rank, component) = match self {
            Event::Departure(link) => (0, link),
            Event::Arrival(link) => (1, link),
            Event::Unordered(link) => (2, link),
            Event::Merge(link) => (3, link),
            Event::Deadline(connection) => (4, connection),
            Event::Write(connection) => (5, connection),
            Event::Flow(flow) => (6, flow),
            Event::Stack(stack) => (7, stack),
            Event::CarriedWrite(connection) => (8, connection),
        };
        rank << 32 | u64::from(component)
    }

    fn from_key(key: u64) -> Self {
        let component = key as u32;
        match key >> 32 {
            0 => Event::Departure(component),
            1 => Event::Arrival(component),
            2 => Event::Unordered(component),
            3 => Event::Merge(component),
            4 => Event::Deadline(component),
            5 => Event::Write(component),
            6 => Event::Flow(component),
            7 => Event::Stack(component),
            _ => Event::CarriedWrite(component),
        }
    }
}

/// What a fingerprint notes of a component. The values are those of recorded fingerprints.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Noted {
    /// A segment has arrived at the receiver of a connection.
    Segment = 1,
    /// An acknowledgement has arrived at the sender of a connection.
    Ack = 2,
    /// A datagram of a flow has arrived.
    Datagram = 3,
    /// The receiver of a connection sends an acknowledgement that it has delayed.
    DelayedAck = 4,
    /// The deadline of a sender is reached.
    SenderDeadline = 5,
    /// The application of a connection writes.
    Write = 6,
    /// A flow starts, stops, or its source acts.
    Flow = 7,
    /// A report about the datagrams of a flow has arrived at its source.
    Report = 8,
    /// A stack that is not ours sends a packet of a flow.
    CarriedSent = 9,
    /// A packet of a flow has arrived at such a stack.
    Carried = 10,
}

impl Noted {
    /// The kind together with its component.
    #[inline]
    pub fn of(self, component: u32) -> u64 {
        (self as u64) << 32 | u64::from(component)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: u64,
    key: u64,
}

impl Entry {
    /// One comparison of 128 bits compiles to straight-line code, two of 64 to branches.
    #[inline]
    fn order(self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.key)
    }
}

const ARITY: usize = 4;

/// Comes after every event.
const NOTHING: Entry = Entry { time: u64::MAX, key: u64::MAX };

/// The children of an entry, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Siblings([Entry; ARITY]);

impl Siblings {
    /// Index of the first one in order. It cannot be predicted, so the four are compared in two rounds without branches.
    #[inline]
    fn least(&self) -> usize {
        let [a, b, c, d] = &self.0;
        let front = usize::from(b.order() < a.order());
        let back = 2 + usize::from(d.order() < c.order());
        if self.0[back].order() < self.0[front].order() { back } else { front }
    }
}

/// A heap of entries. The children of the entry at an index are the siblings at the same index. Missing entries are
/// [`NOTHING`], so that there are always four.
#[derive(Clone, Debug)]
struct Heap {
    first: Entry,
    rest: Vec<Siblings>,
    len: usize,
}

impl Default for Heap {
    fn default() -> Self {
        Heap { first: NOTHING, rest: Vec::new(), len: 0 }
    }
}

/// Pending events. Arrivals, which are nearly all events, with one per link in use, have a separate heap: among the
/// deadlines of thousands of connections, they would sink past these every time.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    arrivals: Heap,
    others: Heap,
}

impl EventQueue {
    /// The next event and its time.
    #[inline]
    pub fn peek(&self) -> Option<(Time, Event)> {
        let (arrival, other) = (self.arrivals.first, self.others.first);
        let next = if other.order() < arrival.order() { other } else { arrival };
        (next != NOTHING).then(|| (Time(next.time), Event::from_key(next.key)))
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Time, event: Event) {
        let heap = if matches!(event, Event::Arrival(_)) { &mut self.arrivals } else { &mut self.others };
        heap.push(at, event.key());
    }

    /// Moves the next arrival to a later time, or removes it.
    #[inline]
    pub fn postpone_arrival(&mut self, at: Option<Time>) {
        match at {
            Some(at) => self.arrivals.postpone_first(at),
            None => self.arrivals.pop(),
        }
    }

    /// Removes the next event other than an arrival.
    #[inline]
    pub fn pop_other(&mut self) {
        self.others.pop();
    }
}

impl Heap {
    /// Adds an entry; of two with the same time that with the smaller key comes first.
    #[inline(never)]
    fn push(&mut self, at: Time, key: u64) {
        let place = self.len;
        if place > 0 && (place - 1) / ARITY == self.rest.len() {
            self.rest.push(Siblings([NOTHING; ARITY]));
        }
        self.len += 1;
        self.sift_up(place, Entry { time: at.0, key });
    }

    /// Moves the first entry to a later time.
    #[inline]
    fn postpone_first(&mut self, time: Time) {
        if self.len > 0 {
            self.sift_down(Entry { time: time.0, key: self.first.key });
        }
    }

    /// Removes the first entry.
    #[inline]
    fn pop(&mut self) {
        if self.len > 0 {
            self.len -= 1;
            let last = std::mem::replace(self.entry(self.len), NOTHING);
            if self.len > 0 {
                self.sift_down(last);
            }
        }
    }

    /// The entry at an index.
    #[inline]
    fn entry(&mut self, at: usize) -> &mut Entry {
        match at.checked_sub(1) {
            None => &mut self.first,
            Some(at) => &mut self.rest[at / ARITY].0[at % ARITY],
        }
    }

    /// Sifts an entry up from an index.
    fn sift_up(&mut self, mut at: usize, moving: Entry) {
        while at > 0 {
            let above = (at - 1) / ARITY;
            let parent = *self.entry(above);
            if parent.order() <= moving.order() {
                break;
            }
            *self.entry(at) = parent;
            at = above;
        }
        *self.entry(at) = moving;
    }

    /// Replaces the first entry and sifts it down.
    fn sift_down(&mut self, moving: Entry) {
        let mut at = 0;
        while let Some(children) = self.rest.get(at) {
            let least = children.least();
            let child = children.0[least];
            if child.order() >= moving.order() {
                break;
            }
            *self.entry(at) = child;
            at = at * ARITY + 1 + least;
        }
        *self.entry(at) = moving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simultaneous_events_come_by_rank_then_component() {
        let mut queue = EventQueue::default();
        let events =
            [Event::Flow(0), Event::Arrival(7), Event::Write(1), Event::Deadline(3), Event::Arrival(2)];
        events.iter().for_each(|&event| queue.push(Time(5), event));
        queue.push(Time(4), Event::Flow(9));
        let mut seen = Vec::new();
        while let Some((_, event)) = queue.peek() {
            seen.push(event);
            match event {
                Event::Arrival(_) => queue.postpone_arrival(None),
                _ => queue.pop_other(),
            }
        }
        assert_eq!(
            seen,
            [
                Event::Flow(9),
                Event::Arrival(2),
                Event::Arrival(7),
                Event::Deadline(3),
                Event::Write(1),
                Event::Flow(0)
            ]
        );
    }

    #[test]
    fn random_events_come_out_sorted() {
        let mut random = dumbbell_units::Stream::new(1, 0, "heap");
        let mut queue = EventQueue::default();
        let mut draw = move || Time((random.uniform() * 1000.0) as u64);
        (0..500).for_each(|n| queue.push(draw(), Event::Arrival(n)));
        (0..500).for_each(|n| queue.push(draw(), Event::Deadline(n)));
        let mut last = Time::ZERO;
        for step in 0..2000 {
            let Some((at, event)) = queue.peek() else { break };
            assert!(at >= last);
            last = at;
            match event {
                Event::Arrival(_) => queue.postpone_arrival((step % 3 > 0).then_some(at + Time(step))),
                _ => queue.pop_other(),
            }
        }
    }
}
