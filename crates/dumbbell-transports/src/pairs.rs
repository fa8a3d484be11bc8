//! The stack of a flow: its connections, each with both its ends.

use crate::wire::{self, Ports};
use dumbbell_sim::transport::{End, Log, Shown, Stack, StackEvent, Transmit};
use dumbbell_units::{Ecn, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;

/// A connection is woken again no sooner than this after a deadline that changed nothing.
const LEAST_SLEEP: Time = Time(1_000);

/// What the application of a connection has to write.
#[derive(Clone, Copy, Debug)]
pub struct Writes {
    /// Bytes in all; [`u64::MAX`] without end.
    pub total: u64,
    /// Bytes that the library has taken.
    pub written: u64,
    /// No more will be added.
    pub is_last: bool,
}

impl Writes {
    /// Bytes that the library has yet to take.
    pub fn left(&self) -> u64 {
        self.total - self.written
    }

    /// True once the library has taken everything, and there will be no more.
    pub fn is_complete(&self) -> bool {
        self.is_last && self.left() == 0
    }

    fn add(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
    }

    /// Nothing is written from now on; of endless data, what the library has taken remains.
    fn end(&mut self) {
        self.is_last = true;
        if self.total == u64::MAX {
            self.total = self.written;
        }
    }
}

/// A datagram that a connection sends.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The end that sends it.
    pub from: End,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// It carries data of the application.
    pub is_data: bool,
}

/// A change of a connection that the engine is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Everything written was acknowledged.
    Acknowledged,
    /// The connection was given up.
    GivenUp,
}

/// A connection with both its ends. Datagrams are IPv4 packets.
pub trait Pair: Debug + Send {
    /// What its application has to write, which the stack changes before [`Pair::on_write`].
    fn writes(&mut self) -> &mut Writes;

    /// The application has more to write, or has ended.
    fn on_write(&mut self, now: Time);

    /// A datagram reaches an end. Returns the new bytes that the receiving application reads.
    fn on_datagram(&mut self, now: Time, to: End, ecn: Ecn, packet: &[u8]) -> u64;

    /// When it wants to be woken; [`Time::NEVER`] if only a datagram or its application can wake it.
    fn next_deadline(&mut self, now: Time) -> Time;

    /// The deadline has come.
    fn on_deadline(&mut self, now: Time);

    /// The next packet that it sends now, which replaces the content of `packet`.
    fn poll_transmit(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Sent>;

    /// The next change.
    fn poll_change(&mut self) -> Option<Change>;

    /// Its state.
    fn shown(&mut self) -> Shown;

    /// Both ends have forgotten it.
    fn is_over(&self) -> bool;
}

/// Opens the connections of a flow.
pub trait Opener: Debug + Send + 'static {
    /// What it opens.
    type Pair: Pair;

    /// Opens a connection between these ports. Its first datagrams are those of the client.
    ///
    /// # Errors
    ///
    /// The library refuses: why, in one sentence.
    fn open(&mut self, now: Time, ports: Ports, writes: Writes) -> Result<Self::Pair, String>;

    /// Takes what is new in a log.
    fn take_log(&mut self, _log: Log) -> String {
        String::new()
    }
}

/// A connection, or what it showed last.
#[derive(Debug)]
enum Slot<P> {
    Open(Box<Open<P>>),
    Over(Box<Shown>),
}

#[derive(Debug)]
struct Open<P> {
    pair: P,
    /// The engine will not name it again.
    is_released: bool,
    /// Its entry among the deadlines.
    deadline: Time,
    /// When a deadline was last handled.
    woken: Option<Time>,
    /// It is in line to be asked for datagrams.
    is_ready: bool,
}

/// The stack of a flow.
#[derive(Debug)]
pub struct Pairs<O: Opener> {
    flow: u32,
    opener: O,
    connections: BTreeMap<u32, Slot<O::Pair>>,
    /// The connection that has a port of the sender, which is that of the last one opened there.
    ports: BTreeMap<u16, u32>,
    deadlines: BTreeSet<(Time, u32)>,
    ready: VecDeque<u32>,
    events: VecDeque<StackEvent>,
    opened: u64,
    failure: Option<String>,
}

impl<O: Opener> Pairs<O> {
    /// A flow without connections.
    pub fn new(flow: u32, opener: O) -> Self {
        Pairs {
            flow,
            opener,
            connections: BTreeMap::new(),
            ports: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            ready: VecDeque::new(),
            events: VecDeque::new(),
            opened: 0,
            failure: None,
        }
    }

    /// A connection to which something happens, and which is asked for datagrams afterwards.
    fn touch(&mut self, connection: u32) -> Option<&mut Open<O::Pair>> {
        let Some(Slot::Open(open)) = self.connections.get_mut(&connection) else { return None };
        if !open.is_ready {
            open.is_ready = true;
            self.ready.push_back(connection);
        }
        Some(open)
    }

    /// The application of a connection changes what it writes.
    fn change_writes(&mut self, now: Time, connection: u32, change: impl FnOnce(&mut Writes)) {
        if let Some(open) = self.touch(connection) {
            change(open.pair.writes());
            open.pair.on_write(now);
        }
    }

    /// A connection has nothing more to send now: notes its changes and its deadline, and forgets it if it is over.
    fn settle(&mut self, now: Time, connection: u32) {
        let Some(slot) = self.connections.get_mut(&connection) else { return };
        let Slot::Open(open) = slot else { return };
        open.is_ready = false;
        while let Some(change) = open.pair.poll_change() {
            if !open.is_released {
                self.events.push_back(match change {
                    Change::Acknowledged => StackEvent::Acknowledged { connection },
                    Change::GivenUp => StackEvent::GivenUp { connection },
                });
            }
        }
        let is_over = open.pair.is_over();
        let earliest = if open.woken == Some(now) { now + LEAST_SLEEP } else { now };
        let deadline = if is_over { Time::NEVER } else { open.pair.next_deadline(now).max(earliest) };
        if deadline != open.deadline {
            self.deadlines.remove(&(open.deadline, connection));
            if deadline != Time::NEVER {
                self.deadlines.insert((deadline, connection));
            }
            open.deadline = deadline;
        }
        if is_over && open.is_released {
            self.connections.remove(&connection);
        } else if is_over {
            *slot = Slot::Over(Box::new(open.pair.shown()));
        }
    }
}

impl<O: Opener> Stack for Pairs<O> {
    fn open(&mut self, now: Time, _flow: u32, connection: u32, bytes: u64, is_kept: bool) {
        let ports = Ports::of_connection(self.opened);
        self.opened += 1;
        let writes = Writes { total: bytes, written: 0, is_last: !is_kept };
        match self.opener.open(now, ports, writes) {
            Ok(pair) => {
                let (deadline, woken) = (Time::NEVER, None);
                let open = Open { pair, is_released: false, deadline, woken, is_ready: false };
                self.connections.insert(connection, Slot::Open(Box::new(open)));
                self.ports.insert(ports.sender, connection);
                self.touch(connection);
            }
            Err(why) => self.failure = Some(why),
        }
    }

    fn write(&mut self, now: Time, connection: u32, bytes: u64) {
        self.change_writes(now, connection, |writes| writes.add(bytes));
    }

    fn close(&mut self, now: Time, connection: u32) {
        self.change_writes(now, connection, Writes::end);
    }

    fn release(&mut self, _now: Time, connection: u32) {
        match self.connections.get_mut(&connection) {
            // Its ends still have to say goodbye.
            Some(Slot::Open(open)) => open.is_released = true,
            Some(Slot::Over(_)) => drop(self.connections.remove(&connection)),
            None => {}
        }
    }

    fn on_datagram(&mut self, now: Time, _flow: u32, to: End, ecn: Ecn, bytes: &[u8]) -> u64 {
        let connection = wire::sender_port(bytes, to).and_then(|port| self.ports.get(&port));
        let Some(&connection) = connection else { return 0 };
        self.touch(connection).map_or(0, |open| open.pair.on_datagram(now, to, ecn, bytes))
    }

    fn next_deadline(&self) -> Time {
        self.deadlines.first().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn on_deadline(&mut self, now: Time) {
        while let Some(&(at, connection)) = self.deadlines.first().filter(|&&(at, _)| at <= now) {
            self.deadlines.remove(&(at, connection));
            if let Some(open) = self.touch(connection) {
                open.deadline = Time::NEVER;
                open.woken = Some(now);
                open.pair.on_deadline(now);
            }
        }
    }

    fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<Transmit> {
        while let Some(&connection) = self.ready.front() {
            if let Some(Slot::Open(open)) = self.connections.get_mut(&connection)
                && let Some(Sent { from, ecn, is_data }) = open.pair.poll_transmit(now, bytes)
            {
                let size = bytes.len() as u32;
                return Some(Transmit { flow: self.flow, from, size, ecn, is_data, connection });
            }
            self.ready.pop_front();
            self.settle(now, connection);
        }
        None
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        self.events.pop_front()
    }

    fn shown(&mut self, _now: Time, connection: u32) -> Shown {
        match self.connections.get_mut(&connection) {
            Some(Slot::Open(open)) => open.pair.shown(),
            Some(Slot::Over(shown)) => **shown,
            None => Shown::default(),
        }
    }

    fn take_log(&mut self, log: Log) -> String {
        self.opener.take_log(log)
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}
