//! Queue disciplines, one file each, and the registry that names them.
//!
//! There are two kinds. A discipline that decides at arrival ([`AtArrival`]) admits, marks or drops a packet when it
//! enters a first-in, first-out queue, so the link knows its departure time immediately. A discipline that decides at
//! departure ([`AtDeparture`]) holds the packets itself, in any number of queues, and selects the next packet to
//! transmit; it may drop and mark packets in every call. The section of the registry determines the kind.

mod turns;

use crate::packet::Packet;
use dumbbell_units::spec::{self, Params};
use dumbbell_units::{Bytes, Ecn, Limit, Rate, Stream, Time, Value, tagged};

/// Properties of the link at the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Rate of the link at the start.
    pub rate: Rate,
}

/// Why a queue dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The queue was full.
    NoRoom,
    /// Active queue management dropped it early to signal congestion.
    Early,
    /// It exceeded the rate of a policer.
    Policer,
}

/// A packet that enters a queue, and the state of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Arrival time.
    pub at: Time,
    /// Size of the packet on the wire, in bytes.
    pub size: u32,
    /// Flow identifier: a hash of connection and direction.
    pub flow: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Packets waiting behind the one in service, and their bytes.
    pub waiting: (usize, u64),
    /// Size of the packet in service, or the start of the idle period.
    pub service: Service,
}

/// State of the transmitter when a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// It is sending a packet of this size, in bytes.
    Busy(u32),
    /// It has been idle since this time.
    IdleSince(Time),
}

impl Arrival {
    /// Signals congestion: a mark if the packet and the discipline support ECN, otherwise a drop.
    pub fn signal(&self, uses_ecn: bool) -> Verdict {
        if uses_ecn && self.ecn.is_capable() { Verdict::Mark } else { Verdict::Drop(Reason::Early) }
    }
}

/// The decision of a discipline about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Enqueue the packet.
    Enqueue,
    /// Enqueue it with the mark "congestion experienced". Its codepoint must be ECN-capable.
    Mark,
    /// Drop it.
    Drop(Reason),
}

/// A contradicting parameter: its name and the accepted values.
pub type Contradiction = (&'static str, String);

/// Properties of every discipline.
pub trait Discipline: Params {
    /// One sentence for the catalogue.
    const SUMMARY: &'static str;
    /// Publication that describes the discipline.
    const SOURCE: &'static str;
    /// True if it has the two queues L and C of L4S, for which queueing times are also reported separately.
    const IS_DUAL: bool = false;

    /// The parameter that contradicts another parameter or the link, if any.
    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        None
    }

    /// Capacity behind the packet in service, if a larger packet is dropped even when no other packet waits.
    fn room(&self) -> Limit {
        Limit::Unlimited
    }

    /// The parameter that limits the size of packets, and the maximum size; `None` if there is no limit.
    fn largest_packet(&self) -> Option<(&'static str, Bytes)> {
        None
    }
}

/// Parameters of a discipline that decides when a packet arrives at a first-in, first-out queue.
pub trait AtArrival: Discipline {
    /// State between packets.
    type State;

    /// The state at the start of a run.
    fn start(&self, setup: &Setup) -> Self::State;

    /// Decides about a packet. Calls are in order of arrival times.
    fn admit(state: &mut Self::State, arrival: &Arrival, random: &mut Stream) -> Verdict;
}

/// Parameters of a discipline that holds the packets and decides which one departs.
pub trait AtDeparture: Discipline {
    /// Its queues and other state.
    type State;

    /// The state at the start of a run.
    fn start(&self, setup: &Setup, random: &mut Stream) -> Self::State;

    /// A packet arrives: [`Backlog::push`] enqueues it in one of the queues, [`Backlog::drop_arriving`] drops it, and
    /// [`Backlog::drop`] drops another packet.
    fn enqueue(
        state: &mut Self::State,
        now: Time,
        packet: Queued,
        backlog: &mut Backlog,
        random: &mut Stream,
    );

    /// The transmitter is idle. Returns the packet to send next; `None` only if no packet is left, or if the
    /// discipline holds all of them until [`ready`](Self::ready).
    fn dequeue(
        state: &mut Self::State,
        now: Time,
        backlog: &mut Backlog,
        random: &mut Stream,
    ) -> Option<Slot>;

    /// After a call of `dequeue` that returned no packet although some are left: the time at which a packet may be
    /// sent. Only shapers hold packets.
    #[inline]
    fn ready(_state: &Self::State) -> Time {
        Time::NEVER
    }

    /// Number of the queue of the packet that `dequeue` returned last, for disciplines that report queueing times by
    /// queue ([`Discipline::IS_DUAL`]).
    #[inline]
    fn last_queue(_state: &Self::State) -> usize {
        0
    }
}

/// The properties of a queued packet that disciplines need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Token by which the owner identifies the packet.
    pub token: u64,
    /// Time of entry.
    pub entered: Time,
    /// Size on the wire, in bytes.
    pub size: u32,
    /// Flow identifier: a hash of connection and direction.
    pub flow: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// True if it carries data.
    pub is_data: bool,
}

impl Queued {
    /// The entry for a packet that enters at `entered`.
    #[inline]
    pub fn new<P>(token: u64, entered: Time, packet: &Packet<P>) -> Self {
        let Packet { size, flow, ecn, kind, .. } = *packet;
        Queued { token, entered, size, flow, ecn, is_data: kind.is_data() }
    }
}

/// Index of a packet in a [`Backlog`] after it has left its queue, until it is sent or dropped. The packet is not moved
/// in the meantime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// No slot.
const END: u32 = u32::MAX;

/// A first-in, first-out queue in a [`Backlog`].
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    first: u32,
    last: u32,
    packets: u32,
    bytes: u64,
}

impl Default for Fifo {
    fn default() -> Self {
        Fifo { first: END, last: END, packets: 0, bytes: 0 }
    }
}

impl Fifo {
    /// Number of packets in the queue.
    #[inline]
    pub fn packets(&self) -> usize {
        self.packets as usize
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A packet and its successor in the queue, or the next free slot.
#[derive(Clone, Copy, Debug)]
struct Entry {
    packet: Queued,
    next: u32,
    /// True if it is in one of the queues.
    is_waiting: bool,
}

/// All packets waiting at a scheduled link, in any of its queues, and the drops and marks of its discipline. All queues
/// share one store, so that no memory is allocated in steady state.
#[derive(Clone, Debug)]
pub struct Backlog {
    entries: Vec<Entry>,
    free: u32,
    packets: usize,
    bytes: u64,
    dropped: Vec<(Queued, Reason)>,
    marks: u64,
    /// True if there are uncollected drops or marks.
    has_uncollected: bool,
}

impl Default for Backlog {
    fn default() -> Self {
        Backlog {
            entries: Vec::new(),
            free: END,
            packets: 0,
            bytes: 0,
            dropped: Vec::new(),
            marks: 0,
            has_uncollected: false,
        }
    }
}

impl Backlog {
    /// Number of packets in all queues.
    #[inline]
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A packet that has left its queue.
    #[inline]
    pub fn packet(&self, slot: Slot) -> &Queued {
        &self.entries[slot.0 as usize].packet
    }

    /// The first packet of a queue.
    pub fn first(&self, queue: &Fifo) -> Option<&Queued> {
        self.entries.get(queue.first as usize).map(|entry| &entry.packet)
    }

    /// Enqueues a packet.
    #[inline]
    pub fn push(&mut self, queue: &mut Fifo, packet: Queued) {
        let entry = Entry { packet, next: END, is_waiting: true };
        let at = self.free;
        let at = if at == END {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            self.free = self.entries[at as usize].next;
            self.entries[at as usize] = entry;
            at
        };
        if queue.last == END {
            queue.first = at;
        } else {
            self.entries[queue.last as usize].next = at;
        }
        queue.last = at;
        queue.packets += 1;
        queue.bytes += u64::from(packet.size);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }

    /// Dequeues the first packet of a queue. It must be sent or dropped.
    #[inline]
    pub fn pop(&mut self, queue: &mut Fifo) -> Option<Slot> {
        let at = queue.first;
        let entry = self.entries.get_mut(at as usize)?;
        let bytes = u64::from(entry.packet.size);
        entry.is_waiting = false;
        queue.first = entry.next;
        if entry.next == END {
            queue.last = END;
        }
        queue.packets -= 1;
        queue.bytes -= bytes;
        self.packets -= 1;
        self.bytes -= bytes;
        Some(Slot(at))
    }

    /// Enqueues, marks or drops an arriving packet. One that is marked must be ECN-capable.
    #[inline]
    pub(crate) fn take(&mut self, verdict: Verdict, mut packet: Queued, queue: &mut Fifo) {
        match verdict {
            Verdict::Enqueue => {}
            Verdict::Mark => {
                packet.ecn = Ecn::Ce;
                self.marks += 1;
                self.has_uncollected = true;
            }
            Verdict::Drop(reason) => return self.drop_arriving(packet, reason),
        }
        self.push(queue, packet);
    }

    /// Drops an arriving packet, which is not in a queue.
    pub fn drop_arriving(&mut self, packet: Queued, reason: Reason) {
        self.has_uncollected = true;
        self.dropped.push((packet, reason));
    }

    /// Drops a packet that has left its queue.
    pub fn drop(&mut self, slot: Slot, reason: Reason) {
        let packet = self.release(slot);
        self.drop_arriving(packet, reason);
    }

    /// Marks a packet that has left its queue, if its transport is ECN-capable. Returns true if it is marked.
    pub fn mark(&mut self, slot: Slot) -> bool {
        let packet = &mut self.entries[slot.0 as usize].packet;
        let is_capable = packet.ecn.is_capable();
        if is_capable {
            packet.ecn = Ecn::Ce;
            self.marks += 1;
            self.has_uncollected = true;
        }
        is_capable
    }

    /// Dequeues the last packet of a queue, which must be dropped. Walks the queue.
    pub fn pop_last(&mut self, queue: &mut Fifo) -> Option<Slot> {
        if queue.packets <= 1 {
            return self.pop(queue);
        }
        let mut before = queue.first;
        while self.entries[before as usize].next != queue.last {
            before = self.entries[before as usize].next;
        }
        let last = std::mem::replace(&mut queue.last, before);
        self.entries[before as usize].next = END;
        let entry = &mut self.entries[last as usize];
        entry.is_waiting = false;
        let bytes = u64::from(entry.packet.size);
        queue.packets -= 1;
        queue.bytes -= bytes;
        self.packets -= 1;
        self.bytes -= bytes;
        Some(Slot(last))
    }

    /// Frees a slot and returns its packet.
    #[inline]
    pub(crate) fn release(&mut self, slot: Slot) -> Queued {
        let entry = &mut self.entries[slot.0 as usize];
        entry.next = self.free;
        self.free = slot.0;
        entry.packet
    }

    /// The waiting packets, in unspecified order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.entries.iter().filter(|entry| entry.is_waiting).map(|entry| &entry.packet)
    }

    /// True if there are uncollected drops or marks.
    #[inline]
    pub(crate) fn has_uncollected(&self) -> bool {
        self.has_uncollected
    }

    /// Packets dropped since the last call, in order, and the number of packets marked.
    pub(crate) fn take_uncollected(&mut self) -> (impl Iterator<Item = (Queued, Reason)> + '_, u64) {
        self.has_uncollected = false;
        (self.dropped.drain(..), std::mem::take(&mut self.marks))
    }
}

/// True if a packet of `size` bytes fits behind the `packets` packets and `bytes` bytes that wait. An empty queue accepts
/// a packet larger than a limit in bytes, as on other links.
#[inline]
fn has_room(limit: Limit, (packets, bytes): (usize, u64), size: u32) -> bool {
    match limit {
        Limit::Unlimited => true,
        Limit::Packets(limit) => (packets as u64) < limit,
        Limit::Bytes(limit) => packets == 0 || bytes + u64::from(size) <= limit,
    }
}

macro_rules! registry {
    (
        at arrival { $( $early:literal => $early_module:ident::$Early:ident, )+ }
        at departure { $( $late:literal => $late_module:ident::$Late:ident, )+ }
    ) => {
        $( #[doc = concat!("The discipline `", $early, "`.")] pub mod $early_module; )+
        $( #[doc = concat!("The discipline `", $late, "`.")] pub mod $late_module; )+

        tagged! {
            /// A queue discipline with its parameters.
            pub enum QueueSpec by "kind" {
                $( #[doc = "A discipline that decides at arrival."] $Early($early_module::$Early) = $early, )+
                $( #[doc = "A discipline that decides at departure."] $Late($late_module::$Late) = $late, )+
            }
        }

        impl QueueSpec {
            /// True if the discipline decides at departure, so that its link is a scheduled link.
            pub fn is_scheduled(&self) -> bool {
                match self {
                    $( QueueSpec::$Early(_) => false, )+
                    $( QueueSpec::$Late(_) => true, )+
                }
            }

            /// See [`Discipline::IS_DUAL`].
            pub fn is_dual(&self) -> bool {
                match self {
                    $( QueueSpec::$Early(_) => <$early_module::$Early as Discipline>::IS_DUAL, )+
                    $( QueueSpec::$Late(_) => <$late_module::$Late as Discipline>::IS_DUAL, )+
                }
            }

            /// See [`Discipline::contradiction`].
            pub fn contradiction(&self, setup: &Setup) -> Option<Contradiction> {
                match self {
                    $( QueueSpec::$Early(params) => params.contradiction(setup), )+
                    $( QueueSpec::$Late(params) => params.contradiction(setup), )+
                }
            }

            /// See [`Discipline::room`].
            pub fn room(&self) -> Limit {
                match self {
                    $( QueueSpec::$Early(params) => params.room(), )+
                    $( QueueSpec::$Late(params) => params.room(), )+
                }
            }

            /// See [`Discipline::largest_packet`].
            pub fn largest_packet(&self) -> Option<(&'static str, Bytes)> {
                match self {
                    $( QueueSpec::$Early(params) => params.largest_packet(), )+
                    $( QueueSpec::$Late(params) => params.largest_packet(), )+
                }
            }

            /// The state of a discipline that decides at arrival.
            pub fn start_admission(&self, setup: &Setup) -> Option<Admission> {
                match self {
                    $( QueueSpec::$Early(params) => Some(Admission::$Early(params.start(setup))), )+
                    _ => None,
                }
            }

            /// The state of a discipline that decides at departure.
            pub fn start_scheduler(&self, setup: &Setup, random: &mut Stream) -> Option<Scheduler> {
                match self {
                    $( QueueSpec::$Late(params) => Some(Scheduler::$Late(params.start(setup, random))), )+
                    _ => None,
                }
            }

            /// Catalogue entries: name, summary, source and parameters of every discipline.
            pub fn disciplines() -> Value {
                Value::Array(vec![
                    $( entry::<$early_module::$Early>($early), )+
                    $( entry::<$late_module::$Late>($late), )+
                ])
            }
        }

        /// The state of a discipline that decides at arrival.
        #[derive(Clone, Debug)]
        pub enum Admission {
            $( #[doc = "A registered discipline."] $Early(<$early_module::$Early as AtArrival>::State), )+
        }

        impl Admission {
            /// See [`AtArrival::admit`].
            #[inline]
            pub fn admit(&mut self, arrival: &Arrival, random: &mut Stream) -> Verdict {
                match self {
                    $( Admission::$Early(state) => {
                        <$early_module::$Early as AtArrival>::admit(state, arrival, random)
                    } )+
                }
            }
        }

        /// The state of a discipline that decides at departure.
        #[derive(Clone, Debug)]
        pub enum Scheduler {
            $( #[doc = "A registered discipline."] $Late(<$late_module::$Late as AtDeparture>::State), )+
        }

        impl Scheduler {
            /// See [`AtDeparture::enqueue`].
            #[inline]
            pub fn enqueue(&mut self, now: Time, packet: Queued, backlog: &mut Backlog, random: &mut Stream) {
                match self {
                    $( Scheduler::$Late(state) => {
                        <$late_module::$Late as AtDeparture>::enqueue(state, now, packet, backlog, random)
                    } )+
                }
            }

            /// See [`AtDeparture::dequeue`].
            #[inline]
            pub fn dequeue(&mut self, now: Time, backlog: &mut Backlog, random: &mut Stream) -> Option<Slot> {
                match self {
                    $( Scheduler::$Late(state) => {
                        <$late_module::$Late as AtDeparture>::dequeue(state, now, backlog, random)
                    } )+
                }
            }

            /// See [`AtDeparture::ready`].
            #[inline]
            pub fn ready(&self) -> Time {
                match self {
                    $( Scheduler::$Late(state) => <$late_module::$Late as AtDeparture>::ready(state), )+
                }
            }

            /// See [`AtDeparture::last_queue`].
            #[inline]
            pub fn last_queue(&self) -> usize {
                match self {
                    $( Scheduler::$Late(state) => <$late_module::$Late as AtDeparture>::last_queue(state), )+
                }
            }
        }
    };
}

/// The catalogue entry of a discipline.
fn entry<D: Discipline>(name: &str) -> Value {
    spec::sourced_entry::<D>(name, D::SUMMARY, D::SOURCE)
}

registry! {
    at arrival {
        "droptail" => droptail::DropTail,
        "red" => red::Red,
        "policer" => policer::Policer,
    }
    at departure {
        "codel" => codel::CoDel,
        "fqcodel" => fqcodel::FqCoDel,
        "pie" => pie::Pie,
        "fqpie" => fqpie::FqPie,
        "dualpi2" => dualpi2::DualPi2,
        "cobalt" => cobalt::Cobalt,
        "drr" => drr::Drr,
        "sfq" => sfq::Sfq,
        "fq" => fq::Fq,
        "tokenbucket" => tokenbucket::TokenBucket,
    }
}

impl Default for QueueSpec {
    fn default() -> Self {
        QueueSpec::DropTail(droptail::DropTail::default())
    }
}

/// Drives a discipline in tests, without a link.
#[cfg(test)]
mod testing {
    use super::*;

    pub(super) struct Driven<D: AtDeparture> {
        pub(super) state: D::State,
        pub(super) backlog: Backlog,
        random: Stream,
        sent: u64,
    }

    impl<D: AtDeparture> Driven<D> {
        /// At a link of this rate, in bit/s, with the random stream of this name.
        pub(super) fn new(name: &str, discipline: &D, rate: u64) -> Self {
            let mut random = Stream::new(1, 0, name);
            let state = discipline.start(&Setup { rate: Rate(rate) }, &mut random);
            Driven { state, backlog: Backlog::default(), random, sent: 0 }
        }

        /// A packet of a flow arrives. Its token is its number, counted from 0.
        pub(super) fn enqueue(&mut self, entered: Time, flow: u32, size: u32, ecn: Ecn) {
            let packet = Queued { token: self.sent, entered, size, flow, ecn, is_data: true };
            self.sent += 1;
            D::enqueue(&mut self.state, entered, packet, &mut self.backlog, &mut self.random);
        }

        pub(super) fn dequeue(&mut self, now: Time) -> Option<Queued> {
            let slot = D::dequeue(&mut self.state, now, &mut self.backlog, &mut self.random);
            slot.map(|slot| self.backlog.release(slot))
        }

        /// Flows of at most `count` packets, in the order of departure.
        pub(super) fn flows(&mut self, now: Time, count: usize) -> Vec<u32> {
            (0..count).map_while(|_| self.dequeue(now)).map(|packet| packet.flow).collect()
        }

        /// The packets dropped since the last call.
        pub(super) fn dropped(&mut self) -> Vec<Queued> {
            self.backlog.take_uncollected().0.map(|(packet, _)| packet).collect()
        }
    }
}
