//! Flow queues that take turns, for the disciplines that keep flows apart.
//!
//! Flows are hashed to queues with a salt, so that collisions differ between runs. Active queues are in lists in the
//! order of service. [`Turns`] serves them as RFC 8290 §4.2 does, new queues before old ones, each for its credits; or in
//! rounds, in which every queue is old.

use super::{Backlog, Fifo, Reason, Slot};
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
struct QueueList {
    first: u32,
    last: u32,
    len: usize,
}

impl QueueList {
    const EMPTY: QueueList = QueueList { first: END, last: END, len: 0 };

    #[inline]
    fn is_empty(&self) -> bool {
        self.first == END
    }

    /// Appends a queue.
    #[inline]
    fn push<C>(&mut self, number: u32, queues: &mut [FlowQueue<C>]) {
        match queues.get_mut(self.last as usize) {
            Some(last) if !self.is_empty() => last.next = number,
            _ => self.first = number,
        }
        queues[number as usize].next = END;
        self.last = number;
        self.len += 1;
    }

    /// Removes the first queue, which is then inactive.
    #[inline]
    fn pop<C>(&mut self, queues: &mut [FlowQueue<C>]) {
        if let Some(queue) = queues.get_mut(self.first as usize) {
            self.first = std::mem::replace(&mut queue.next, INACTIVE);
            self.len -= 1;
        }
    }

    /// The queues in order.
    fn iter<C>(self, queues: &[FlowQueue<C>]) -> impl Iterator<Item = u32> {
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
struct FlowHash(u32);

impl FlowHash {
    fn new(random: &mut Stream) -> Self {
        FlowHash(random.uniform_between(0.0, f64::from(u32::MAX)) as u32)
    }

    /// The queue, of `count`, to which a flow is hashed.
    #[inline]
    fn queue_of(self, flow: u32, count: usize) -> u32 {
        let hash = mix(flow ^ self.0);
        ((u64::from(hash) * count as u64) >> 32) as u32
    }
}

/// Flow queues that take turns.
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

    /// A queue has a packet: if it was inactive, it joins the round behind the others, with a quantum of credits.
    #[inline]
    pub(super) fn join(&mut self, number: u32) {
        let queue = &mut self.queues[number as usize];
        if !queue.is_active() {
            queue.credits = self.quantum;
            self.old.push(number, &mut self.queues);
        }
    }

    /// Number of active queues.
    #[inline]
    pub(super) fn active_count(&self) -> usize {
        self.new.len + self.old.len
    }

    /// The packets of the active queue that is the largest by a measure; of several, of the one with the lowest number.
    pub(super) fn largest<K: Ord>(&mut self, measure: impl Fn(&Fifo) -> K) -> Option<&mut Fifo> {
        let active = self.new.iter(&self.queues).chain(self.old.iter(&self.queues));
        let key = |&number: &u32| (measure(&self.queues[number as usize].packets), std::cmp::Reverse(number));
        let number = active.max_by_key(key)?;
        Some(&mut self.queues[number as usize].packets)
    }

    /// There is no room: the queue that is the largest by a measure loses its last packet.
    pub(super) fn drop_last_of_largest<K: Ord>(
        &mut self,
        measure: impl Fn(&Fifo) -> K,
        backlog: &mut Backlog,
    ) {
        if let Some(slot) = self.largest(measure).and_then(|queue| backlog.pop_last(queue)) {
            backlog.drop(slot, Reason::NoRoom);
        }
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
            let number = list.first;
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

    /// The next packet in rounds. A queue sends while `may_send` accepts its credits and the size of its first packet,
    /// and leaves the round when it is empty; otherwise it waits for the next round with another quantum.
    #[inline(always)]
    pub(super) fn dequeue_in_round(
        &mut self,
        backlog: &mut Backlog,
        may_send: impl Fn(i32, i32) -> bool,
    ) -> Option<Slot> {
        loop {
            let number = self.old.first;
            let queue = self.queues.get_mut(number as usize)?;
            let Some(first) = backlog.first(&queue.packets) else {
                // Its packets were dropped.
                self.old.pop(&mut self.queues);
                continue;
            };
            let size = first.size as i32;
            if may_send(queue.credits, size) {
                queue.credits -= size;
                let slot = backlog.pop(&mut queue.packets);
                if queue.packets.packets() == 0 {
                    self.old.pop(&mut self.queues);
                }
                return slot;
            }
            queue.credits += self.quantum;
            self.old.pop(&mut self.queues);
            self.old.push(number, &mut self.queues);
        }
    }
}
