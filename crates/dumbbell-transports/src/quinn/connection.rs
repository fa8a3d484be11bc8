//! One connection of quinn with both its ends.

use super::sessions::Random;
use super::watched::Watched;
use crate::pairs::{Change, Pair, Sent, Writes};
use crate::wire::{self, Route, UDP_HEADERS};
use bytes::{Bytes, BytesMut};
use dumbbell_sim::transport::{End, Shown};
use dumbbell_units::{Ecn, Time};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, StreamEvent, StreamId,
    VarInt,
};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Data of the application.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Data written ahead of what is acknowledged, in congestion windows; and at least these bytes.
const AHEAD: (u64, u64) = (4, 1 << 16);

/// One end of a connection.
#[derive(Debug)]
struct Side {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams of the endpoint itself.
    responses: VecDeque<Vec<u8>>,
    /// Identification of the next packet.
    ident: u16,
    /// It had a connection, which it has forgotten.
    is_drained: bool,
}

impl Side {
    fn new(endpoint: Endpoint, connection: Option<(ConnectionHandle, Connection)>) -> Self {
        Side { endpoint, connection, responses: VecDeque::new(), ident: 0, is_drained: false }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// A datagram arrives.
    fn receive(&mut self, now: Instant, remote: SocketAddr, ecn: Ecn, payload: &[u8]) {
        let ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let mut response = Vec::new();
        match self.endpoint.handle(now, remote, None, ecn, BytesMut::from(payload), &mut response) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(own, _)| *own == handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if self.connection.is_some() || self.is_drained {
                    // A copy of the first datagram that comes after the end of its connection.
                    self.endpoint.ignore(incoming);
                    return;
                }
                match self.endpoint.accept(incoming, now, &mut response, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(refused) => self.responses.extend(refused.response.map(|_| response)),
                }
            }
            Some(DatagramEvent::Response(_)) => self.responses.push_back(response),
            None => {}
        }
    }

    /// Passes events between the endpoint and its connection.
    fn exchange(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            self.is_drained |= event.is_drained();
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
    }

    /// Writes the next UDP payload. Returns its ECN codepoint.
    fn transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<Ecn> {
        payload.clear();
        if let Some(response) = self.responses.pop_front() {
            payload.extend_from_slice(&response);
            return Some(Ecn::NotEct);
        }
        let transmit = self.connection()?.poll_transmit(now, 1, payload);
        self.exchange();
        let transmit = transmit?;
        payload.truncate(transmit.size);
        Some(match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        })
    }
}

/// What the receiver's packets with acknowledgements acknowledge, by their identification. The sender's interface does
/// not show it.
#[derive(Debug, Default)]
struct Acks {
    on_way: VecDeque<(u16, u64)>,
}

impl Acks {
    fn send(&mut self, ident: u16, delivered: u64) {
        self.on_way.push_back((ident, delivered));
    }

    /// Bytes that a packet acknowledges; `None` if it has no acknowledgement, or a later packet came before it.
    fn arrive(&mut self, ident: u16) -> Option<u64> {
        while let Some(&(first, delivered)) = self.on_way.front() {
            // Identifications wrap.
            if ident.wrapping_sub(first) > u16::MAX / 2 {
                return None;
            }
            self.on_way.pop_front();
            if first == ident {
                return Some(delivered);
            }
        }
        None
    }
}

/// What a connection begins with.
#[derive(Debug)]
pub(super) struct Setup {
    /// Its ends.
    pub route: Route,
    /// The start of the run.
    pub base: Instant,
    /// Packets are sent with the codepoints that the library gives them.
    pub is_ecn_capable: bool,
    /// Bytes of a stream.
    pub stream_size: u64,
    /// Random numbers of its session.
    pub random: Random,
}

/// A connection with both its ends.
#[derive(Debug)]
pub struct Quic {
    setup: Setup,
    writes: Writes,
    client: Side,
    server: Side,
    /// The stream with the last data, and how many bytes it still takes.
    stream: Option<(StreamId, u64)>,
    /// Streams that were opened, and those of them whose end is not acknowledged.
    opened: i32,
    unfinished: u32,
    /// Everything was acknowledged, or the connection was given up.
    is_over: bool,
    acknowledged: u64,
    delivered: u64,
    /// Bytes for which the application was last told that they are acknowledged.
    announced: u64,
    data_packets: u64,
    acks: Acks,
    changes: VecDeque<Change>,
    /// Buffer of UDP payloads.
    payload: Vec<u8>,
}

impl Quic {
    /// A connection whose client has begun.
    pub(super) fn new(
        setup: Setup,
        writes: Writes,
        (client, connection): (Endpoint, (ConnectionHandle, Connection)),
        server: Endpoint,
    ) -> Self {
        Quic {
            setup,
            writes,
            client: Side::new(client, Some(connection)),
            server: Side::new(server, None),
            stream: None,
            opened: 0,
            unfinished: 0,
            is_over: false,
            acknowledged: 0,
            delivered: 0,
            announced: 0,
            data_packets: 0,
            acks: Acks::default(),
            changes: VecDeque::new(),
            payload: Vec::new(),
        }
    }

    fn instant(&self, at: Time) -> Instant {
        self.setup.base + Duration::from_nanos(at.0)
    }

    fn side(&mut self, end: End) -> &mut Side {
        match end {
            End::Sender => &mut self.client,
            End::Receiver => &mut self.server,
        }
    }

    /// The client has news for its application, which then writes.
    fn advance_client(&mut self, now: Instant) {
        self.client.exchange();
        while let Some(event) = self.client.connection().and_then(Connection::poll) {
            match event {
                Event::Stream(StreamEvent::Finished { .. }) => self.unfinished -= 1,
                Event::ConnectionLost { .. } => self.give_up(),
                _ => {}
            }
        }
        self.feed();
        let is_connected = self.client.connection().is_some_and(|connection| !connection.is_handshaking());
        if self.is_over || !is_connected {
            return;
        }
        if self.unfinished == 0 && self.writes.left() == 0 {
            self.acknowledged = self.writes.written;
        }
        if self.writes.is_complete() && self.unfinished == 0 {
            self.changes.push_back(Change::Acknowledged);
            self.is_over = true;
            if let Some(connection) = self.client.connection() {
                connection.close(now, VarInt::from_u32(0), Bytes::new());
            }
        } else if !self.writes.is_last
            && self.acknowledged == self.writes.total
            && self.announced != self.acknowledged
        {
            self.announced = self.acknowledged;
            self.changes.push_back(Change::Acknowledged);
        }
    }

    fn give_up(&mut self) {
        if !self.is_over {
            self.is_over = true;
            self.changes.push_back(Change::GivenUp);
        }
    }

    /// Writes data of the application.
    fn feed(&mut self) {
        let Some((_, connection)) = &mut self.client.connection else { return };
        if self.is_over {
            return;
        }
        let ahead = (AHEAD.0 * connection.congestion_state().window()).max(AHEAD.1);
        let mut room =
            (self.acknowledged + ahead).saturating_sub(self.writes.written).min(self.writes.left());
        while room > 0 {
            if self.stream.is_none() {
                let Some(id) = connection.streams().open(Dir::Uni) else { break };
                // What is lost of earlier streams is sent before new data. Both numbers are those of an open stream.
                let _ = connection.send_stream(id).set_priority(-self.opened);
                self.stream = Some((id, self.setup.stream_size));
                (self.opened, self.unfinished) = (self.opened.saturating_add(1), self.unfinished + 1);
            }
            let Some((id, left)) = &mut self.stream else { break };
            let mut sending = connection.send_stream(*id);
            let chunk = Bytes::from_static(&ZEROS[..room.min(*left).min(ZEROS.len() as u64) as usize]);
            let Ok(written) = sending.write_chunks(&mut [chunk]) else { break };
            self.writes.written += written.bytes as u64;
            room -= written.bytes as u64;
            *left -= written.bytes as u64;
            if *left == 0 {
                let _ = sending.finish();
                self.stream = None;
            }
        }
        if self.writes.is_complete()
            && let Some((id, _)) = self.stream.take()
        {
            // It is open, so that it can be finished.
            let _ = connection.send_stream(id).finish();
        }
    }

    /// The server has news for its application, which reads. Returns the new bytes.
    fn advance_server(&mut self) -> u64 {
        self.server.exchange();
        let mut new = 0;
        let Some((_, connection)) = &mut self.server.connection else { return 0 };
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(stream) = connection.streams().accept(dir) {
                        new += read(connection, stream);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => new += read(connection, id),
                _ => {}
            }
        }
        self.delivered += new;
        new
    }
}

/// Reads what a stream has. Returns its length.
fn read(connection: &mut Connection, stream: StreamId) -> u64 {
    let mut new = 0;
    if let Ok(mut chunks) = connection.recv_stream(stream).read(true) {
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            new += chunk.bytes.len() as u64;
        }
        // Whether there are frames to send is found when the connection is asked for datagrams.
        let _ = chunks.finalize();
    }
    new
}

impl Pair for Quic {
    fn writes(&mut self) -> &mut Writes {
        &mut self.writes
    }

    fn on_write(&mut self, now: Time) {
        let now = self.instant(now);
        self.advance_client(now);
    }

    fn on_datagram(&mut self, now: Time, to: End, ecn: Ecn, packet: &[u8]) -> u64 {
        let at = self.instant(now);
        let (address, port) = self.setup.route.at(to.other());
        let remote = SocketAddr::new(IpAddr::V4(address), port);
        let payload = packet.get(UDP_HEADERS..).unwrap_or_default();
        let side = if to == End::Sender { &mut self.client } else { &mut self.server };
        self.setup.random.provide(|| side.receive(at, remote, ecn, payload));
        if to == End::Receiver {
            return self.advance_server();
        }
        if let Some(acknowledged) = self.acks.arrive(wire::ident(packet)) {
            self.acknowledged = self.acknowledged.max(acknowledged);
        }
        self.advance_client(at);
        0
    }

    fn next_deadline(&mut self, _now: Time) -> Time {
        let base = self.setup.base;
        let deadline = |side: &mut Side| side.connection().and_then(Connection::poll_timeout);
        let earliest = [&mut self.client, &mut self.server].into_iter().filter_map(deadline).min();
        earliest.map_or(Time::NEVER, |at| Time(at.saturating_duration_since(base).as_nanos() as u64))
    }

    fn on_deadline(&mut self, now: Time) {
        let now = self.instant(now);
        for side in [&mut self.client, &mut self.server] {
            if let Some(connection) = side.connection() {
                connection.handle_timeout(now);
            }
        }
        self.advance_client(now);
        self.advance_server();
    }

    fn poll_transmit(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Sent> {
        let now = self.instant(now);
        for end in [End::Sender, End::Receiver] {
            let mut payload = std::mem::take(&mut self.payload);
            let side = self.side(end);
            let before = side.connection().map(|connection| connection.stats().frame_tx).unwrap_or_default();
            let ecn = side.transmit(now, &mut payload);
            let ident = side.ident;
            if let Some(ecn) = ecn {
                side.ident = ident.wrapping_add(1);
                let after = side.connection().map(|connection| connection.stats().frame_tx).unwrap_or(before);
                let is_data = after.stream > before.stream;
                self.data_packets += u64::from(is_data);
                if end == End::Receiver && after.acks > before.acks {
                    self.acks.send(ident, self.delivered);
                }
                let ecn = if self.setup.is_ecn_capable { ecn } else { Ecn::NotEct };
                self.setup.route.write_udp(end, ident, ecn, &payload, packet);
                self.payload = payload;
                return Some(Sent { from: end, ecn, is_data });
            }
            self.payload = payload;
        }
        None
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn shown(&mut self) -> Shown {
        let shown = Shown {
            acknowledged: self.acknowledged,
            delivered: self.delivered,
            segments_sent: Some(self.data_packets),
            ..Shown::default()
        };
        let Some(connection) = self.client.connection() else { return shown };
        let path = connection.stats().path;
        let control = connection.congestion_state();
        let (told, pacing_rate) = Watched::told(control);
        let ssthresh = control.metrics().ssthresh;
        Shown {
            mss: u32::from(path.current_mtu),
            cwnd: Some(path.cwnd as f64),
            ssthresh: ssthresh.map(|bytes| if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 }),
            in_flight: Some(told.in_flight),
            srtt: told.latest_rtt.map(|_| path.rtt.as_secs_f64()),
            latest_rtt: told.latest_rtt.map(|latest| latest.as_secs_f64()),
            min_rtt: told.latest_rtt.map(|_| path.min_rtt.as_secs_f64()),
            pacing_rate,
            lost: Some(path.lost_packets),
            ..shown
        }
    }

    fn is_over(&self) -> bool {
        let is_gone = |side: &Side| side.is_drained || side.connection.is_none();
        self.is_over && is_gone(&self.client) && is_gone(&self.server)
    }
}
