//! One TCP connection: its opening, both directions, its end.

use crate::half::Half;
use crate::rounds::Limit;
use crate::rtt::is_at_end;
use crate::segment::{Options, Segment};
use crate::series::Series;
use dumbbell_units::Time;
use std::net::SocketAddr;

/// The same segment seen again within this time was captured twice.
const TWICE_WITHIN: Time = Time(10_000_000);

/// Where a capture was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the end that sends the data of the direction.
    Sender,
    /// At the other end.
    Receiver,
    /// On the way.
    Between,
    /// Neither a handshake nor timestamps tell.
    Unknown,
}

impl Place {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Place::Sender => "sender",
            Place::Receiver => "receiver",
            Place::Between => "between",
            Place::Unknown => "unknown",
        }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It was still open, or its end is not in the capture.
    #[default]
    Open,
    /// One side or both had no more data.
    Fin,
    /// It was reset.
    Reset,
}

impl End {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            End::Open => "open",
            End::Fin => "fin",
            End::Reset => "reset",
        }
    }
}

/// One side: what it said in its SYN, and the last segment that it sent.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    syns: u64,
    syn_at: Option<Time>,
    /// Options of its SYN.
    opening: Option<Options>,
    /// Its SYN asked for ECN, or agreed to it [RFC 3168 §6.1.1].
    wants_ecn: bool,
    last: Option<Segment>,
    /// Smallest time to live of its segments.
    hops: Option<u8>,
}

/// A connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Where it was seen; see [`Segment::interface`].
    pub interface: u32,
    /// The end that opened it; if that was not seen, the end that was seen first.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// The data of the client, and of the server.
    pub halves: [Half; 2],
    sides: [Side; 2],
    /// When the handshake ended.
    opened: Option<Time>,
    /// When it was seen first and last.
    pub seen: (Time, Time),
    /// How it ended.
    pub end: End,
    /// Segments that were captured twice.
    pub captured_twice: u64,
    /// Segments in all.
    pub segments: u64,
}

impl Connection {
    /// A connection that begins with a segment. `has_series` if its segments are kept.
    pub fn new(first: &Segment, has_series: bool) -> Self {
        let is_answer = first.flags.syn && first.flags.ack;
        let (client, server) = if is_answer { (first.to, first.from) } else { (first.from, first.to) };
        let half = || {
            let mut half = Half::default();
            half.series = has_series.then(Series::default);
            half.rounds.phases = has_series.then(Vec::new);
            half
        };
        Connection {
            interface: first.interface,
            client,
            server,
            halves: [half(), half()],
            sides: [Side::default(); 2],
            opened: None,
            seen: (first.at, first.at),
            end: End::Open,
            captured_twice: 0,
            segments: 0,
        }
    }

    /// A segment that opens another connection between the same ends.
    pub fn is_succeeded_by(&self, segment: &Segment) -> bool {
        let is_open = segment.flags.syn && !segment.flags.ack;
        let own = usize::from(segment.from != self.client);
        is_open && self.segments > 0 && !self.halves[own].begins_with_syn(segment.seq)
    }

    /// A segment of either side.
    pub fn on_segment(&mut self, segment: &Segment) {
        let own = usize::from(segment.from != self.client);
        if self.is_captured_twice(own, segment) {
            self.captured_twice += 1;
            return;
        }
        self.segments += 1;
        self.seen.1 = self.seen.1.max(segment.at);
        let side = &mut self.sides[own];
        side.last = Some(*segment);
        side.hops = Some(side.hops.map_or(segment.hops, |least| least.min(segment.hops)));
        if segment.flags.syn {
            self.on_syn(own, segment);
        }
        if segment.flags.ack {
            let scale = self.scale(own);
            self.halves[1 - own].on_ack(segment, scale);
            self.on_opened(own, segment);
        }
        if segment.payload > 0 {
            self.halves[1 - own].rounds.on_data_of_other_end(segment.at);
        }
        let header = header_bytes(segment);
        self.halves[own].on_segment(segment, header);
        if segment.flags.rst {
            self.end = End::Reset;
            self.halves.iter_mut().for_each(Half::close);
        } else if segment.flags.fin && self.end == End::Open {
            self.end = End::Fin;
        }
    }

    /// A capture at several places of one host, or at a port that mirrors both directions, has packets twice. What TCP
    /// sends again has another identification, unless the host does not number its packets.
    fn is_captured_twice(&self, own: usize, segment: &Segment) -> bool {
        let Some(last) = &self.sides[own].last else { return false };
        let is_numbered = segment.identification.is_some_and(|number| number != 0);
        is_numbered
            && segment.identification == last.identification
            && segment.at - last.at < TWICE_WITHIN
            && Segment { at: last.at, hops: last.hops, ecn: last.ecn, ..*segment } == *last
    }

    fn on_syn(&mut self, own: usize, segment: &Segment) {
        let side = &mut self.sides[own];
        side.syns += 1;
        side.syn_at = Some(segment.at);
        side.opening = Some(segment.options);
        side.wants_ecn = segment.flags.ece;
        self.halves[own].on_syn(segment.seq);
        let [client, server] = [self.sides[0].opening, self.sides[1].opening];
        for half in &mut self.halves {
            let sizes = [client, server].map(|side| side.and_then(|options| options.mss));
            half.mss = sizes.into_iter().flatten().min();
            half.has_sack = [client, server].iter().all(|side| side.is_some_and(|side| side.sack_permitted));
        }
    }

    /// The shift of windows of a side. `None` if a SYN is missing; windows are not scaled unless both SYNs allow it.
    fn scale(&self, own: usize) -> Option<u8> {
        let (own, other) = (self.sides[own].opening?, self.sides[1 - own].opening?);
        Some(if other.scale.is_some() { own.scale.unwrap_or(0) } else { 0 })
    }

    /// The first segment of the client after both SYNs ends the handshake.
    fn on_opened(&mut self, own: usize, segment: &Segment) {
        if self.opened.is_some() || own != 0 || segment.flags.syn || self.sides[1].syns == 0 {
            return;
        }
        self.opened = Some(segment.at);
        if let (Some(start), true) = (self.sides[0].syn_at, self.sides.iter().all(|side| side.syns == 1)) {
            // From the capture to the server and back, and to the client and back.
            let ahead = self.sides[1].syn_at.unwrap_or(start) - start;
            let parts = [segment.at - start - ahead, ahead];
            for (half, part) in self.halves.iter_mut().zip(parts) {
                half.on_handshake(start, segment.at, part);
            }
        }
    }

    /// The round-trip time of the handshake, wherever it was seen. `None` if a part is missing or was sent again.
    pub fn handshake_rtt(&self) -> Option<Time> {
        let is_clear = self.sides.iter().all(|side| side.syns == 1);
        self.opened.zip(self.sides[0].syn_at).filter(|_| is_clear).map(|(end, start)| end - start)
    }

    /// Where it was captured, for the data of the client (0) or of the server (1).
    pub fn place(&self, half: usize) -> Place {
        let by_handshake = self.handshake_rtt().zip(self.sides[0].syn_at.zip(self.sides[1].syn_at));
        if let Some((whole, (syn, answer))) = by_handshake {
            // From the capture to the server and back.
            let ahead = answer - syn;
            let (to_receiver, to_sender) =
                if half == 0 { (ahead, whole - ahead) } else { (whole - ahead, ahead) };
            return near(to_receiver, to_sender);
        }
        let half = &self.halves[half];
        match (half.rtt.least, half.echoes.rtt.least) {
            (Some(to_receiver), Some(to_sender)) => near(to_receiver, to_sender),
            _ => Place::Unknown,
        }
    }

    /// The direction with more data.
    pub fn larger(&self) -> usize {
        usize::from(self.halves[1].counts.payload > self.halves[0].counts.payload)
    }

    /// SYNs that were sent again.
    pub fn syns_retransmitted(&self) -> u64 {
        self.sides.iter().map(|side| side.syns.saturating_sub(1)).sum()
    }

    /// Both SYNs were seen.
    pub fn has_handshake(&self) -> bool {
        self.sides.iter().all(|side| side.syns > 0)
    }

    /// True if both SYNs have an option; `None` if one was not seen.
    pub fn agrees(&self, option: impl Fn(&Options) -> bool) -> Option<bool> {
        let (client, server) = (self.sides[0].opening?, self.sides[1].opening?);
        Some(option(&client) && option(&server))
    }

    /// Both SYNs ask for ECN; `None` if one was not seen.
    pub fn has_ecn(&self) -> Option<bool> {
        self.has_handshake().then(|| self.sides.iter().all(|side| side.wants_ecn))
    }

    /// Only one direction was captured.
    pub fn is_one_sided(&self) -> bool {
        self.sides.iter().any(|side| side.last.is_none())
    }

    /// The shift of the windows that limit the data of a side.
    pub fn receiver_scale(&self, half: usize) -> Option<u8> {
        self.scale(1 - half)
    }

    /// The limit that lasted longest, apart from pauses and the handshake.
    pub fn longest_limit(&self, half: usize) -> Option<Limit> {
        let totals = &self.halves[half].rounds.totals;
        let counted = |limit: &Limit| !matches!(limit, Limit::Idle | Limit::Handshake);
        let longest = Limit::ALL.into_iter().filter(counted).max_by_key(|limit| totals[*limit as usize])?;
        (totals[longest as usize] > 0).then_some(longest)
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        for half in &mut self.halves {
            half.finish();
        }
    }
}

fn near(to_receiver: Time, to_sender: Time) -> Place {
    let whole = to_receiver + to_sender;
    if to_sender <= to_receiver && is_at_end(to_sender, whole) {
        Place::Sender
    } else if to_receiver < to_sender && is_at_end(to_receiver, whole) {
        Place::Receiver
    } else {
        Place::Between
    }
}

/// Headers of a segment as it would be without offloading: those of IP and of TCP with timestamps, if it has them.
fn header_bytes(segment: &Segment) -> u32 {
    let ip = if segment.from.is_ipv4() { 20 } else { 40 };
    ip + 20 + if segment.options.timestamps.is_some() { 12 } else { 0 }
}
