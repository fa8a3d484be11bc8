//! TCP of the library smoltcp [smoltcp0 socket/tcp.rs], which embedded systems use.
//!
//! Both ends of a connection have an interface of their own with one socket. What sets it apart from the TCP of an
//! operating system:
//!
//! * Its sender does not use the ranges of selective acknowledgements, which its receiver sends: the buffers limit how
//!   much is sent again after several losses in one window.
//! * Its clock has whole microseconds.
//! * It has no ECN, no pacing and no timestamps, and does not show its congestion window.

use crate::host::{Library, Surroundings};
use crate::pairs::{Change, Opener, Pair, Sent, Writes};
use crate::wire::{Ports, Route, TCP_HEADERS};
use dumbbell_sim::transport::{End, Shown};
use dumbbell_units::{Bytes, Ecn, Stream, Time, choice, params};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Packet, TcpPacket, TcpSeqNumber};
use std::collections::VecDeque;

choice! {
    /// Congestion control of smoltcp.
    pub enum Congestion {
        /// CUBIC.
        Cubic = "cubic",
        /// Reno.
        Reno = "reno",
        /// None: the buffers limit what is in flight.
        None = "none",
    }
}

params! {
    /// Parameters of smoltcp.
    pub struct SmoltcpParams {
        /// Congestion control.
        congestion: Congestion = Congestion::Cubic, "-", "[smoltcp0 socket/tcp.rs]";
        /// Size of the largest IP packet, headers included.
        mtu: Bytes = Bytes(1_500), "bytes", "RFC 894",
            |mtu| (576..=65_535).contains(&mtu.0), "576 to 65535 bytes";
        /// Data that the sender keeps until it is acknowledged. The default is the largest window without scaling: with
        /// more, much is sent again after losses.
        send_buffer: Bytes = Bytes(65_535), "bytes", "RFC 9293 §3.1",
            |size| (1..=1 << 30).contains(&size.0), "1 byte to 1 GiB";
        /// Data that the receiver accepts ahead of what was read.
        receive_buffer: Bytes = Bytes(65_535), "bytes", "RFC 9293 §3.1",
            |size| (1..=1 << 30).contains(&size.0), "1 byte to 1 GiB";
        /// Delay small segments while data is in flight.
        nagle: bool = true, "-", "RFC 896";
        /// Longest delay of an acknowledgement; every segment is acknowledged at once if 0.
        ack_delay: Time = Time(10_000_000), "s", "[smoltcp0 socket/tcp.rs]";
        /// The connection is given up after this long without a packet from the other end.
        timeout: Time = Time(600_000_000_000), "s", "assumed",
            |timeout| timeout.0 >= 1_000 && timeout.0 < 1 << 62, "a time of at least 1 us";
    }
}

/// The library.
#[derive(Debug)]
pub struct Smoltcp;

impl Library for Smoltcp {
    const NAME: &'static str = "smoltcp";
    const SUMMARY: &'static str = "TCP of the library smoltcp, for embedded systems.";
    const CRATE: &'static str = "smoltcp";
    const VERSION: &'static str = "0.14.0";
    const FEATURES: &'static [&'static str] =
        &["std", "medium-ip", "proto-ipv4", "socket-tcp", "socket-tcp-cubic", "socket-tcp-reno"];
    type Params = SmoltcpParams;
    type Opener = Flow;

    fn begin(
        flow: u32,
        params: SmoltcpParams,
        random: Stream,
        _surroundings: Surroundings,
    ) -> Result<Flow, String> {
        Ok(Flow { flow, params, random })
    }
}

/// A flow.
#[derive(Debug)]
pub struct Flow {
    flow: u32,
    params: SmoltcpParams,
    random: Stream,
}

impl Opener for Flow {
    type Pair = Connection;

    fn open(&mut self, now: Time, ports: Ports, writes: Writes) -> Result<Connection, String> {
        let route = Route::of_flow(self.flow, ports);
        let mut seed = || (self.random.uniform() * (1_u64 << 53) as f64) as u64;
        let mut sender = Side::new(&self.params, &route, End::Sender, seed(), now);
        let mut receiver = Side::new(&self.params, &route, End::Receiver, seed(), now);
        receiver.socket().listen(ports.receiver).map_err(|error| error.to_string())?;
        sender.connect(route.at(End::Receiver), ports.sender)?;
        let mss = (self.params.mtu.0 - TCP_HEADERS as u64) as u32;
        Ok(Connection {
            writes,
            mss,
            sender,
            receiver,
            delivered: 0,
            seen: Seen::default(),
            announced: None,
            is_done: false,
            changes: VecDeque::new(),
        })
    }
}

/// The wire at one end.
#[derive(Debug)]
struct Wire {
    mtu: usize,
    arrived: Option<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _timestamp: Instant) -> Option<(Arrived, Sending<'_>)> {
        let packet = self.arrived.take()?;
        Some((Arrived(packet), Sending(self)))
    }

    fn transmit(&mut self, _timestamp: Instant) -> Option<Sending<'_>> {
        Some(Sending(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        // Simulated links lose packets, and never change their bits.
        capabilities.checksum.ipv4 = Checksum::Tx;
        capabilities.checksum.tcp = Checksum::Tx;
        capabilities
    }
}

/// A packet that has arrived.
#[derive(Debug)]
struct Arrived(Vec<u8>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

/// A place for a packet that is sent.
#[derive(Debug)]
struct Sending<'a>(&'a mut Wire);

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = self.0.spare.pop().unwrap_or_default();
        packet.clear();
        packet.resize(len, 0);
        let result = f(&mut packet);
        self.0.sent.push_back(packet);
        result
    }
}

/// The time of the library: whole microseconds. Deadlines are exact in nanoseconds, so that none comes early.
fn instant(at: Time) -> Instant {
    Instant::from_micros((at.0 / 1_000) as i64)
}

/// One end of a connection.
struct Side {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
}

impl std::fmt::Debug for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side").field("handle", &self.handle).finish_non_exhaustive()
    }
}

impl Side {
    fn new(params: &SmoltcpParams, route: &Route, end: End, seed: u64, now: Time) -> Self {
        let mtu = params.mtu.0 as usize;
        let mut wire = Wire { mtu, arrived: None, sent: VecDeque::new(), spare: Vec::new() };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut wire, instant(now));
        let (address, _) = route.at(end);
        // Both ends are in one network, and find each other without a router.
        interface.update_ip_addrs(|addresses| {
            let added = addresses.push(IpCidr::new(IpAddress::Ipv4(address), 12));
            debug_assert!(added.is_ok(), "there is room for two addresses");
        });
        let buffer = |size: Bytes| SocketBuffer::new(vec![0; size.0 as usize]);
        // Data goes one way: the other buffers stay empty.
        let (received, sent) = match end {
            End::Sender => (SocketBuffer::new(vec![0; 1]), buffer(params.send_buffer)),
            End::Receiver => (buffer(params.receive_buffer), SocketBuffer::new(vec![0; 1])),
        };
        let mut socket = Socket::new(received, sent);
        socket.set_congestion_control(match params.congestion {
            Congestion::Cubic => CongestionControl::Cubic,
            Congestion::Reno => CongestionControl::Reno,
            Congestion::None => CongestionControl::None,
        });
        socket.set_nagle_enabled(params.nagle);
        let delay = Duration::from_micros(params.ack_delay.0 / 1_000);
        socket.set_ack_delay((params.ack_delay != Time::ZERO).then_some(delay));
        socket.set_timeout(Some(Duration::from_micros(params.timeout.0 / 1_000)));
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Side { interface, wire, sockets, handle }
    }

    fn connect(&mut self, remote: (std::net::Ipv4Addr, u16), port: u16) -> Result<(), String> {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        let connected = socket.connect(self.interface.context(), remote, port);
        connected.map_err(|error| error.to_string())
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    fn state(&self) -> State {
        self.sockets.get::<Socket<'_>>(self.handle).state()
    }

    /// A packet arrives, and is answered if it must be at once.
    fn receive(&mut self, now: Time, packet: &[u8]) {
        let mut buffer = self.wire.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(packet);
        self.wire.arrived = Some(buffer);
        self.interface.poll_ingress_single(instant(now), &mut self.wire, &mut self.sockets);
    }

    /// The next packet that is sent now.
    fn transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        while self.wire.sent.is_empty() {
            let result = self.interface.poll_egress(instant(now), &mut self.wire, &mut self.sockets);
            if result == PollResult::None {
                break;
            }
        }
        self.wire.sent.pop_front()
    }

    fn next_deadline(&mut self, now: Time) -> Time {
        let at = self.interface.poll_at(instant(now), &self.sockets);
        at.map_or(Time::NEVER, |at| Time((at.total_micros().max(0) as u64).saturating_mul(1_000)))
    }
}

/// What the segments of the sender show.
#[derive(Debug, Default)]
struct Seen {
    /// The next new byte, once a segment was sent.
    next: Option<TcpSeqNumber>,
    /// The first byte that is not acknowledged, once there was an acknowledgement.
    unacknowledged: Option<TcpSeqNumber>,
    segments: u64,
    segments_again: u64,
    bytes_again: u64,
}

impl Seen {
    /// A segment is sent. Returns true if it has data.
    fn send(&mut self, packet: &[u8]) -> bool {
        let Some((tcp, length)) = segment(packet) else { return false };
        let (begin, end) = (tcp.seq_number(), tcp.seq_number() + tcp.segment_len());
        let next = *self.next.get_or_insert(begin);
        if length > 0 {
            self.segments += 1;
            // What is sent again lies before the next new byte.
            let again = if next > begin { (next - begin).min(length) } else { 0 };
            self.segments_again += u64::from(again > 0);
            self.bytes_again += again as u64;
        }
        self.next = Some(if end > next { end } else { next });
        length > 0
    }

    /// An acknowledgement arrives.
    fn acknowledge(&mut self, packet: &[u8]) {
        let Some((tcp, _)) = segment(packet) else { return };
        let number = tcp.ack_number();
        if tcp.ack() && self.unacknowledged.is_none_or(|first| number > first) {
            self.unacknowledged = Some(number);
        }
    }

    fn in_flight(&self) -> u64 {
        match (self.unacknowledged, self.next) {
            (Some(first), Some(next)) if next > first => (next - first) as u64,
            _ => 0,
        }
    }
}

/// The segment in a packet, and the length of its data.
fn segment(packet: &[u8]) -> Option<(TcpPacket<&[u8]>, usize)> {
    let ip = Ipv4Packet::new_checked(packet).ok()?;
    let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
    let length = tcp.payload().len();
    Some((tcp, length))
}

/// A connection with both its ends.
#[derive(Debug)]
pub struct Connection {
    writes: Writes,
    mss: u32,
    sender: Side,
    receiver: Side,
    delivered: u64,
    seen: Seen,
    /// Bytes for which the application was last told that they are acknowledged.
    announced: Option<u64>,
    /// Everything is acknowledged, or the connection was given up.
    is_done: bool,
    changes: VecDeque<Change>,
}

impl Connection {
    /// The application writes, and learns what was acknowledged.
    fn advance_sender(&mut self) {
        let left = self.writes.left();
        let socket = self.sender.socket();
        if left > 0 && socket.can_send() {
            let mut room = left;
            // The buffer is a ring, whose room may be in two parts. Its bytes are zeros already.
            while room > 0 {
                let Ok(taken @ 1..) = socket.send(|part| {
                    let taken = part.len().min(usize::try_from(room).unwrap_or(usize::MAX));
                    (taken, taken)
                }) else {
                    break;
                };
                room -= taken as u64;
            }
            self.writes.written += left - room;
        }
        if self.writes.is_complete() && matches!(socket.state(), State::Established | State::CloseWait) {
            socket.close();
        }
        let (state, queued) = (socket.state(), socket.send_queue());
        self.announce(state, queued);
    }

    fn announce(&mut self, state: State, queued: usize) {
        if self.is_done {
            return;
        }
        // Not when the FIN is acknowledged, which may never happen: after some losses, it is not sent again.
        let is_ending = matches!(state, State::FinWait1 | State::FinWait2 | State::Closing | State::TimeWait);
        if is_ending && queued == 0 {
            self.is_done = true;
            self.changes.push_back(Change::Acknowledged);
        } else if state == State::Closed {
            self.is_done = true;
            self.changes.push_back(Change::GivenUp);
        } else if !self.writes.is_last && queued == 0 && self.writes.left() == 0 {
            let written = self.writes.written;
            if written > 0 && self.announced.replace(written) != Some(written) {
                self.changes.push_back(Change::Acknowledged);
            }
        }
    }

    /// The receiving application reads. Returns the new bytes.
    fn advance_receiver(&mut self) -> u64 {
        let socket = self.receiver.socket();
        let mut new = 0;
        while let Ok(taken @ 1..) = socket.recv(|part| (part.len(), part.len())) {
            new += taken as u64;
        }
        if socket.state() == State::CloseWait {
            socket.close();
        }
        self.delivered += new;
        new
    }
}

impl Pair for Connection {
    fn writes(&mut self) -> &mut Writes {
        &mut self.writes
    }

    fn on_write(&mut self, _now: Time) {
        self.advance_sender();
    }

    fn on_datagram(&mut self, now: Time, to: End, _ecn: Ecn, packet: &[u8]) -> u64 {
        match to {
            End::Sender => {
                self.seen.acknowledge(packet);
                self.sender.receive(now, packet);
                self.advance_sender();
                0
            }
            End::Receiver => {
                self.receiver.receive(now, packet);
                self.advance_receiver()
            }
        }
    }

    fn next_deadline(&mut self, now: Time) -> Time {
        self.sender.next_deadline(now).min(self.receiver.next_deadline(now))
    }

    /// Timers are handled when datagrams are asked for.
    fn on_deadline(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Sent> {
        let sent = |from, is_data| Some(Sent { from, ecn: Ecn::NotEct, is_data });
        if let Some(next) = self.sender.transmit(now) {
            let is_data = self.seen.send(&next);
            self.sender.wire.spare.push(std::mem::replace(packet, next));
            return sent(End::Sender, is_data);
        }
        if let Some(next) = self.receiver.transmit(now) {
            self.receiver.wire.spare.push(std::mem::replace(packet, next));
            return sent(End::Receiver, false);
        }
        // A timer may have ended the connection.
        self.advance_sender();
        None
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn shown(&mut self) -> Shown {
        let queued = self.sender.socket().send_queue() as u64;
        Shown {
            mss: self.mss,
            in_flight: Some(self.seen.in_flight()),
            acknowledged: self.writes.written - queued,
            delivered: self.delivered,
            segments_sent: Some(self.seen.segments),
            segments_retransmitted: Some(self.seen.segments_again),
            bytes_retransmitted: Some(self.seen.bytes_again),
            ..Shown::default()
        }
    }

    fn is_over(&self) -> bool {
        let is_closed = |side: &Side| matches!(side.state(), State::Closed | State::Listen);
        self.is_done && is_closed(&self.sender) && is_closed(&self.receiver)
    }
}
