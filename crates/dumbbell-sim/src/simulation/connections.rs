//! The TCP connections of a run.

use super::payload::Payload;
use super::probes::Tracer;
use super::work::Task;
use crate::events::Event;
use crate::forwarding::Network;
use dumbbell_net::Packet;
use dumbbell_net::tcplib::Telnet;
use dumbbell_tcp::{Receiver, Sender};
use dumbbell_units::{Time, prefetch, prefetch_from};
use std::mem::offset_of;
use std::ops::{Index, IndexMut};

/// No connection.
const NONE: u32 = u32::MAX;

/// With more connections than this, the data of a connection has left the nearest cache since its last packet, unless the
/// packets of a connection follow each other.
const CACHED_CONNECTIONS: usize = 64;

/// One TCP connection with both its ends. The fields are in the order stated, so that it can be prefetched from the first
/// on.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Connection {
    pub flow: u32,
    /// The open connections of the same flow before and after it.
    neighbours: (u32, u32),
    pub generation: u16,
    /// Identifies its packets in queues; packets of the reverse path have the complement.
    pub label: u32,
    pub is_open: bool,
    /// The application may write again.
    pub writes_on: bool,
    /// A window may have more segments than one event sends, so that they are counted.
    pub bursts: bool,
    /// The sender has sent a whole burst, and may have more segments at this instant.
    pub has_more: bool,
    pub sender: Sender,
    pub receiver: Receiver,
    /// Times of the pending deadline event and of the pacer's event. They are separate because a paced sender requests
    /// a release for every segment, and each request would leave an obsolete deadline event behind.
    pub deadline_at: Time,
    pub release_at: Time,
    /// The application of a self-driven conversation.
    pub writer: Option<Box<Writer>>,
    /// The transfer of a workload in progress.
    pub task: Option<Box<Task>>,
    /// Number of round-trip times measured for percentiles.
    rtts_measured: u64,
    /// Records events if a probe requests them.
    pub tracer: Option<Box<Tracer>>,
}

/// The application of a self-driven conversation.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub telnet: Telnet,
    /// The pending write: when, and how many bytes.
    pub next: Option<(Time, u64)>,
}

impl Connection {
    /// A connection of a flow with its ends. `label` identifies its packets in queues.
    pub(super) fn new((flow, label): (u32, u32), sender: Sender, receiver: Receiver) -> Self {
        Connection {
            flow,
            neighbours: (NONE, NONE),
            generation: 0,
            label,
            is_open: true,
            writes_on: false,
            bursts: false,
            has_more: false,
            sender,
            receiver,
            deadline_at: Time::NEVER,
            release_at: Time::NEVER,
            writer: None,
            task: None,
            rtts_measured: 0,
            tracer: None,
        }
    }

    /// True if it is open and this packet is one of its own, not of an earlier connection in its slot.
    #[inline]
    pub(super) fn takes(&self, packet: &Packet<Payload>) -> bool {
        self.generation == packet.generation && self.is_open
    }

    /// Keeps a deadline event pending, no later than the earliest deadline, and another one for the pacer.
    #[inline]
    pub(super) fn arm(&mut self, owner: u32, network: &mut Network<Payload>) {
        if !self.is_open {
            return;
        }
        let wanted = self.sender.next_timer().min(self.receiver.next_deadline());
        if wanted < self.deadline_at {
            let at = wanted.max(network.now);
            self.deadline_at = at;
            network.events.push(at, Event::Deadline(owner));
        }
        let release = self.sender.next_release();
        if release < self.release_at {
            let at = release.max(network.now);
            self.release_at = at;
            network.events.push(at, Event::Deadline(owner));
        }
    }

    /// The sender, with what records its events, if anything does.
    pub(super) fn traced(&mut self) -> Option<(&mut Sender, &mut Tracer)> {
        Some((&mut self.sender, self.tracer.as_deref_mut()?))
    }

    /// The application writes no more.
    pub(super) fn stop_writing(&mut self) {
        self.writes_on = false;
        self.writer = None;
    }

    /// The round-trip time of the latest acknowledgement, if it gave one.
    pub(super) fn new_rtt(&mut self) -> Option<Time> {
        let stats = self.sender.stats();
        let is_new = stats.rtt_count > self.rtts_measured;
        self.rtts_measured = stats.rtt_count;
        is_new.then(|| Time::from_secs(stats.rtt_latest))
    }

    /// Prefetches it.
    #[inline(always)]
    fn prefetch(&self) {
        prefetch_from(&self.flow, offset_of!(Connection, receiver));
        prefetch(&self.deadline_at);
        self.sender.prefetch_queues();
    }
}

/// All connections, in slots that are used again.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    slots: Vec<Connection>,
    free: Vec<u32>,
    /// The most recently opened connection of each flow.
    newest: Vec<u32>,
}

impl Index<u32> for Connections {
    type Output = Connection;

    #[inline(always)]
    fn index(&self, owner: u32) -> &Connection {
        &self.slots[owner as usize]
    }
}

impl IndexMut<u32> for Connections {
    #[inline(always)]
    fn index_mut(&mut self, owner: u32) -> &mut Connection {
        &mut self.slots[owner as usize]
    }
}

impl Connections {
    /// No connections of so many flows.
    pub(super) fn new(flows: usize) -> Self {
        Connections { slots: Vec::new(), free: Vec::new(), newest: vec![NONE; flows] }
    }

    /// The slots, also of connections that are closed.
    pub(super) fn owners(&self) -> std::ops::Range<u32> {
        0..self.slots.len() as u32
    }

    /// The open connections.
    pub(super) fn open(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().filter(|connection| connection.is_open)
    }

    /// The open connection of a flow that was opened last.
    pub(super) fn newest(&self, flow: u32) -> Option<u32> {
        Some(self.newest[flow as usize]).filter(|&owner| owner != NONE)
    }

    /// The open connections of a flow, in the order of their slots.
    pub(super) fn of_flow(&self, flow: u32) -> Vec<u32> {
        let mut owners = Vec::new();
        let mut owner = self.newest[flow as usize];
        while owner != NONE {
            owners.push(owner);
            owner = self[owner].neighbours.0;
        }
        owners.sort_unstable();
        owners
    }

    /// A slot that a connection has left, if there is one.
    pub(super) fn take_slot(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Puts a connection into such a slot, or else into a new one. Returns its slot.
    pub(super) fn place(&mut self, slot: Option<u32>, mut connection: Connection) -> u32 {
        let owner = slot.unwrap_or(self.slots.len() as u32);
        let before = std::mem::replace(&mut self.newest[connection.flow as usize], owner);
        connection.neighbours = (before, NONE);
        match slot {
            Some(slot) => {
                connection.generation = self[slot].generation.wrapping_add(1);
                self[slot] = connection;
            }
            None => self.slots.push(connection),
        }
        if before != NONE {
            self[before].neighbours.1 = owner;
        }
        owner
    }

    /// Closes a connection and frees its slot.
    pub(super) fn close(&mut self, owner: u32) {
        self[owner].is_open = false;
        let Connection { flow, neighbours: (before, after), .. } = self[owner];
        match after {
            NONE => self.newest[flow as usize] = before,
            after => self[after].neighbours.0 = before,
        }
        if before != NONE {
            self[before].neighbours.1 = after;
        }
        self.free.push(owner);
    }

    /// True if there are so many that a connection should be prefetched.
    #[inline(always)]
    pub(super) fn are_many(&self) -> bool {
        self.slots.len() > CACHED_CONNECTIONS
    }

    /// Prefetches a connection, if there is one in this slot.
    #[inline(always)]
    pub(super) fn prefetch(&self, owner: u32) {
        if let Some(connection) = self.slots.get(owner as usize) {
            connection.prefetch();
        }
    }

    /// Prefetches the receiver of a connection, if there is one in this slot.
    #[inline(always)]
    pub(super) fn prefetch_receiver(&self, owner: u32) {
        if let Some(connection) = self.slots.get(owner as usize) {
            connection.receiver.prefetch();
        }
    }
}
