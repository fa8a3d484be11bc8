//! Flow queues that take turns, for the disciplines that keep flows apart.
//!
//! Flows are hashed to queues with a salt, so that collisions differ between runs. Active queues are in lists in the
//! order of service. [`Turns`] serves them as RFC 8290 §4.2 does: new queues before old ones, each for its credits.

use super::{Backlog, Fifo, Slot};
use dumbbell_units::Stream;

/// No queue.
const END: u32 = u32::MAX;
/// The successor of a queue that is not in a list.
const INACTIVE: u32 = u32::MAX - 1;

/// The queue of some flows, with the state `C` that its discipline needs: one cache line if that is small.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct FlowQueue<C> {
    pub(super) packets: Fifo,
    pub(super) controller: C,
    /// Bytes that it may still send in this round; negative if the last packet exceeded them.
    pub(super) credits: i32,
    /// The next queue in its list.
    next: u32,
}

impl<C: Default> Default for FlowQueue<C> {
    fn default() -> Self {
        FlowQueue { packets: Fifo::default(), controller: C::default(), credits: 0, next: INACTIVE }
    }
}

impl<C> FlowQueue<C> {
    /// True if it is in one of the lists.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.next != INACTIVE
    }
}

/// A list of active queues in the order of service, linked by queue numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueList {
    first: u32,
    last: u32,
}

impl QueueList {
    pub(super) const EMPTY: QueueList = QueueList { first: END, last: END };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first == END
    }

    /// Number of the first queue; no index of a queue if there is none.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Appends a queue.
    #[inline]
    pub(super) fn push<C>(&mut self, number: u32, queues: &mut [FlowQueue<C>]) {
        match queues.get_mut(self.last as usize) {
            Some(last) if !self.is_empty() => last.next = number,
            _ => self.first = number,
        }
        queues[number as usize].next = END;
        self.last = number;
    }

    /// Removes the first queue, which is then inactive.
    #[inline]
    pub(super) fn pop<C>(&mut self, queues: &mut [FlowQueue<C>]) {
        if let Some(queue) = queues.get_mut(self.first as usize) {
            self.first = std::mem::replace(&mut queue.next, INACTIVE);
        }
    }

    /// The queues in order.
    pub(super) fn iter<C>(self, queues: &[FlowQueue<C>]) -> impl Iterator<Item = u32> {
        let next = |number: &u32| Some(queues[*number as usize].next).filter(|&next| next != END);
        std::iter::successors(Some(self.first).filter(|&first| first != END), next)
    }
}

/// The finalizer of MurmurHash3, which mixes the bits of a number.
fn mix(mut bits: u32) -> u32 {
    bits = (bits ^ bits >> 16).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae35);
    bits ^ bits >> 16
}

/// A salted hash of flows to queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash(u32);

impl FlowHash {
    pub(super) fn new(random: &mut Stream) -> Self {
        FlowHash(random.uniform_between(0.0, f64::from(u32::MAX)) as u32)
    }

    /// The queue, of `count`, to which a flow is hashed.
    #[inline]
    pub(super) fn queue_of(self, flow: u32, count: usize) -> u32 {
        let hash = mix(flow ^ self.0);
        ((u64::from(hash) * count as u64) >> 32) as u32
    }
}

/// Flow queues that take turns, new ones first.
#[derive(Clone, Debug)]
pub(super) struct Turns<C> {
    hash: FlowHash,
    quantum: i32,
    pub(super) queues: Vec<FlowQueue<C>>,
    new: QueueList,
    old: QueueList,
}

impl<C: Default + Clone> Turns<C> {
    pub(super) fn new(count: u64, quantum: u64, random: &mut Stream) -> Self {
        Turns {
            hash: FlowHash::new(random),
            quantum: quantum as i32,
            queues: vec![FlowQueue::default(); count as usize],
            new: QueueList::EMPTY,
            old: QueueList::EMPTY,
        }
    }
}

impl<C> Turns<C> {
    /// The queue to which a flow is hashed.
    #[inline]
    pub(super) fn queue_of(&self, flow: u32) -> u32 {
        self.hash.queue_of(flow, self.queues.len())
    }

    /// A queue has a packet: if it was inactive, it becomes a new queue with a quantum of credits.
    #[inline]
    pub(super) fn activate(&mut self, number: u32) {
        let queue = &mut self.queues[number as usize];
        if !queue.is_active() {
            queue.credits = self.quantum;
            self.new.push(number, &mut self.queues);
        }
    }

    /// The same for a discipline that sets the credits.
    #[inline]
    pub(super) fn append_new(&mut self, number: u32) {
        self.new.push(number, &mut self.queues);
    }

    /// The active queue with the most bytes; of several, the one with the lowest number.
    pub(super) fn largest(&self) -> Option<u32> {
        let active = self.new.iter(&self.queues).chain(self.old.iter(&self.queues));
        active.max_by_key(|&number| (self.queues[number as usize].packets.bytes(), std::cmp::Reverse(number)))
    }

    /// The next packet. `take` dequeues from the queue whose turn it is, and returns `None` if it is empty.
    #[inline(always)]
    pub(super) fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        mut take: impl FnMut(&mut FlowQueue<C>, &mut Backlog) -> Option<Slot>,
    ) -> Option<Slot> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = list.first();
            let queue = self.queues.get_mut(number as usize)?;
            if queue.credits > 0 {
                if let Some(slot) = take(queue, backlog) {
                    queue.credits -= backlog.packet(slot).size as i32;
                    return Some(slot);
                }
                list.pop(&mut self.queues);
                if !is_new {
                    continue;
                }
                // An empty new queue joins the old queues. Otherwise, a flow could stay new and starve them.
            } else {
                queue.credits += self.quantum;
                list.pop(&mut self.queues);
            }
            self.old.push(number, &mut self.queues);
        }
    }
}
