//! Conversations in closed loop: a host sends, a network between loses, delays and marks, a peer answers. What came of it is
//! a script, which can be played on another host.

use crate::expression::{Expression, Operator, Statement};
use crate::peer::{Acknowledgement, Data, Peer};
use crate::play::{Host, Outgoing};
use crate::script::{Action, Argument, Call, Event, Flags, Moment, Script, Segment, TcpOption};
use dumbbell_units::{Ecn, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// When the peer asks for the connection.
const BEGIN: Time = Time(100_000_000);

/// Shift of the window field of the peer, and the largest window without one.
const SCALE: u64 = 7;
const LARGEST_WINDOW: u64 = 65_535;

/// Maximum segment size of the peer.
const MSS: u64 = 1460;

/// The first timestamps of the host and of the peer in a script.
const HOST_TIMESTAMP: u64 = 1000;
const PEER_TIMESTAMP: u64 = 5000;

/// Descriptors of the listening socket and of the connection.
const LISTENER: i64 = 3;
const CONNECTION: i64 = 4;

/// Most bytes of a read.
const MOST_READ: i64 = 1_000_000;

/// Fields of `TCP_INFO` that must be equal wherever one of them has changed.
const FIELDS: [&str; 3] = ["tcpi_ca_state", "tcpi_snd_cwnd", "tcpi_snd_ssthresh"];

/// A transmission of data: the number of its segment in the order in which segments were sent first, and how often it was
/// sent before.
pub type Transmission = (u64, u32);

/// What happens in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// Congestion control of the host.
    pub congestion: String,
    /// Both ends have SACK, timestamps and ECN.
    pub has_sack: bool,
    /// See [`Conditions::has_sack`].
    pub has_timestamps: bool,
    /// See [`Conditions::has_sack`].
    pub has_ecn: bool,
    /// Acknowledgements tell of the marks of their own segments alone, as for DCTCP.
    pub is_exact: bool,
    /// Receive window of the peer, in bytes.
    pub window: u64,
    /// Time for both ways.
    pub rtt: Time,
    /// Time that the bottleneck takes for a segment, and the segments that may wait before it.
    pub bottleneck: Option<(Time, u64)>,
    /// When the bottleneck stops, from the connection on, and for how long.
    pub pause: (Time, Time),
    /// Segments in order per acknowledgement.
    pub acks_every: u32,
    /// When the application writes, from the connection on, and how many bytes.
    pub writes: Vec<(Time, u64)>,
    /// What the network loses.
    pub lost: BTreeSet<Transmission>,
    /// What it delays, and for how long.
    pub late: BTreeMap<Transmission, Time>,
    /// What it marks.
    pub marked: BTreeSet<Transmission>,
    /// Acknowledgements that it loses, by their number.
    pub lost_acks: BTreeSet<u64>,
    /// Data of the peer: when it arrives, from the connection on, its first number and its bytes.
    pub arriving: Vec<(Time, u64, u64)>,
    /// End of the conversation, from the connection on.
    pub duration: Time,
}

impl Default for Conditions {
    fn default() -> Self {
        Conditions {
            congestion: "cubic".into(),
            has_sack: true,
            has_timestamps: true,
            has_ecn: false,
            is_exact: false,
            window: 4000 << SCALE,
            rtt: Time(40_000_000),
            bottleneck: None,
            pause: (Time::ZERO, Time::ZERO),
            acks_every: 1,
            writes: Vec::new(),
            lost: BTreeSet::new(),
            late: BTreeMap::new(),
            marked: BTreeSet::new(),
            lost_acks: BTreeSet::new(),
            arriving: Vec::new(),
            duration: Time(60_000_000_000),
        }
    }
}

impl Conditions {
    /// The script up to the connection, for which a host can be made.
    pub fn opening(&self) -> Script {
        let ecn = u8::from(self.has_ecn);
        let settings = format!(
            "sysctl -q net.ipv4.tcp_congestion_control={} net.ipv4.tcp_ecn={ecn}\n\
             ip link set dev tun0 gso_max_segs 1",
            self.congestion
        );
        let number = Argument::Number;
        let call = |name: &str, arguments: Vec<Argument>, result| {
            Action::Call(Call {
                name: name.into(),
                arguments,
                result: Some(result),
                errno: None,
                blocks: None,
            })
        };
        let stream = Argument::Name("SOCK_STREAM".into());
        let tcp = Argument::Name("IPPROTO_TCP".into());
        let connected = BEGIN + self.rtt;
        let events = vec![
            (Time::ZERO, call("socket", vec![Argument::Any, stream, tcp], LISTENER)),
            (Time::ZERO, call("bind", vec![number(LISTENER), Argument::Any, Argument::Any], 0)),
            (Time::ZERO, call("listen", vec![number(LISTENER), number(1)], 0)),
            (BEGIN, Action::Inbound(self.syn())),
            (BEGIN, Action::Outbound(self.answer())),
            (connected, Action::Inbound(self.segment(connected, HOST_TIMESTAMP, 1))),
            (connected, call("accept", vec![number(LISTENER), Argument::Any, Argument::Any], CONNECTION)),
        ];
        let events = events.into_iter().map(|(at, action)| event(at, action)).collect();
        let options = vec![("tolerance_usecs".to_owned(), TOLERANCE_USECS.to_string())];
        Script { options, setup: vec![settings], events, ..Script::default() }
    }

    fn syn(&self) -> Segment {
        let flags = Flags { syn: true, ece: self.has_ecn, cwr: self.has_ecn, ..Flags::default() };
        let options = self.opening_options(PEER_TIMESTAMP + milliseconds(BEGIN), 0);
        Segment { flags, window: Some(LARGEST_WINDOW), options: Some(options), ..Segment::default() }
    }

    fn answer(&self) -> Segment {
        let flags = Flags { syn: true, ack: true, ece: self.has_ecn, ..Flags::default() };
        let options = self.opening_options(HOST_TIMESTAMP, PEER_TIMESTAMP + milliseconds(BEGIN));
        Segment { flags, ack: Some(1), options: Some(options), ..Segment::default() }
    }

    fn opening_options(&self, value: u64, echo: u64) -> Vec<TcpOption> {
        let mut options = vec![TcpOption::Mss(MSS)];
        match (self.has_sack, self.has_timestamps) {
            (true, true) => options.extend([TcpOption::SackPermitted, TcpOption::Timestamps(value, echo)]),
            (true, false) => options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackPermitted]),
            (false, true) => {
                options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Timestamps(value, echo)]);
            }
            (false, false) => {}
        }
        options.extend([TcpOption::Nop, TcpOption::WindowScale(SCALE)]);
        options
    }

    /// A segment of the peer without data.
    fn segment(&self, now: Time, echo: u64, ack: u64) -> Segment {
        let timestamps = TcpOption::Timestamps(PEER_TIMESTAMP + milliseconds(now), echo);
        let options =
            if self.has_timestamps { vec![TcpOption::Nop, TcpOption::Nop, timestamps] } else { Vec::new() };
        Segment {
            flags: Flags { ack: true, ..Flags::default() },
            seq: 1,
            ack: Some(ack),
            window: Some(self.window.min(LARGEST_WINDOW << SCALE) >> SCALE),
            options: Some(options),
            ..Segment::default()
        }
    }

    fn acknowledgement(&self, now: Time, told: Acknowledgement) -> Segment {
        let mut segment = self.segment(now, told.echo, told.ack);
        segment.flags.ece = told.is_ece && self.has_ecn;
        if self.has_sack && !told.blocks.is_empty() {
            let sack = [TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(told.blocks)];
            segment.options.get_or_insert_default().extend(sack);
        }
        segment
    }
}

/// How far a segment may be from its time in the script of a conversation, in microseconds.
const TOLERANCE_USECS: u64 = 10_000;

fn event(at: Time, action: Action) -> Event {
    Event { line: 0, at: Moment::At(at), action }
}

fn milliseconds(time: Time) -> u64 {
    time.0 / 1_000_000
}

/// What happens next, other than to the host.
#[derive(Clone, Debug)]
enum Next {
    Write(u64),
    Data(Data),
    /// Data of the peer arrives: its first number, and its bytes.
    Arriving(u64, u64),
    /// The peer may have waited long enough.
    Alarm,
    Segment(Segment),
}

/// A conversation with a host. See the [module](self).
struct Conversation<'a, H> {
    conditions: &'a Conditions,
    host: &'a mut H,
    script: Script,
    peer: Peer,
    /// What happens next, in the order of times, and of the same time in that of their making.
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    happenings: BTreeMap<u64, Next>,
    made: u64,
    /// Numbers and transmissions of segments by their first byte.
    transmissions: BTreeMap<u64, Transmission>,
    acknowledgements: u64,
    /// When the bottleneck is free.
    free: Time,
    /// When the host sent its first segment.
    first: Option<Time>,
    /// When it sent others.
    sent_at: Vec<Time>,
    shown: [Option<i64>; FIELDS.len()],
}

/// The script of a conversation with a host, which was made for its opening.
///
/// # Errors
///
/// What the host cannot be told.
pub fn converse<H: Host>(conditions: &Conditions, host: &mut H) -> Result<Script, String> {
    let mut conversation = Conversation {
        conditions,
        host,
        peer: Peer::new(conditions.acks_every, conditions.has_timestamps, conditions.is_exact),
        script: Script { events: Vec::new(), ..conditions.opening() },
        agenda: BinaryHeap::new(),
        happenings: BTreeMap::new(),
        made: 0,
        transmissions: BTreeMap::new(),
        acknowledgements: 0,
        free: Time::ZERO,
        first: None,
        sent_at: Vec::new(),
        shown: [None; FIELDS.len()],
    };
    conversation.open()?;
    conversation.run()?;
    Ok(conversation.script)
}

impl<H: Host> Conversation<'_, H> {
    fn open(&mut self) -> Result<(), String> {
        for Event { at, action, .. } in self.conditions.opening().events {
            let Moment::At(at) = at else { continue };
            match &action {
                Action::Call(call) => {
                    self.host.call(at, call)?;
                }
                Action::Inbound(segment) => self.host.deliver(at, segment)?,
                Action::Outbound(_) => {
                    let sent = self.host.next_outgoing(at).ok_or("no answer to the request")?;
                    self.first = Some(sent.at);
                    self.host.on_timestamp(HOST_TIMESTAMP, sent.at);
                }
                _ => {}
            }
            self.script.events.push(event(at, action));
        }
        let begin = BEGIN + self.conditions.rtt;
        for &(at, bytes) in &self.conditions.writes {
            self.schedule(begin + at, Next::Write(bytes));
        }
        for &(at, from, bytes) in &self.conditions.arriving {
            self.schedule(begin + at, Next::Arriving(from, bytes));
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        let end = BEGIN + self.conditions.rtt + self.conditions.duration;
        loop {
            let next = self.agenda.peek().map_or(end, |Reverse((at, _))| (*at).min(end));
            if let Some(sent) = self.host.next_outgoing(next) {
                let at = sent.at;
                self.on_sent(sent);
                self.take(at);
                self.check(at);
                continue;
            }
            let Some(Reverse((now, number))) = self.agenda.pop().filter(|Reverse((at, _))| *at <= end) else {
                return Ok(());
            };
            if let Some(happening) = self.happenings.remove(&number) {
                self.happen(now, happening)?;
            }
        }
    }

    fn schedule(&mut self, at: Time, next: Next) {
        self.agenda.push(Reverse((at, self.made)));
        self.happenings.insert(self.made, next);
        self.made += 1;
    }

    fn happen(&mut self, now: Time, happening: Next) -> Result<(), String> {
        match happening {
            Next::Write(bytes) => {
                self.call(now, "write", bytes.cast_signed(), Some(bytes.cast_signed()))?;
            }
            Next::Segment(segment) => self.deliver(now, segment)?,
            Next::Arriving(from, bytes) => {
                let echo = self.timestamp(self.seen_by_peer(now));
                let segment = Segment { seq: from, len: bytes, ..self.conditions.segment(now, echo, 1) };
                self.deliver(now, segment)?;
                self.take(now);
                self.call(now, "read", MOST_READ, None)?;
            }
            Next::Data(data) => {
                let told = self.peer.on_data(now, &data);
                self.acknowledge(now, told);
                return Ok(());
            }
            Next::Alarm => {
                let told = (self.peer.deadline <= now).then(|| self.peer.acknowledge());
                self.acknowledge(now, told);
                return Ok(());
            }
        }
        self.take(now);
        self.check(now);
        Ok(())
    }

    fn deliver(&mut self, now: Time, segment: Segment) -> Result<(), String> {
        self.host.deliver(now, &segment)?;
        self.script.events.push(event(now, Action::Inbound(segment)));
        Ok(())
    }

    /// When the host sent the newest segment that the peer had received as it sent what arrives now.
    fn seen_by_peer(&self, now: Time) -> Time {
        let latest = now - self.conditions.rtt;
        let known = self.sent_at.partition_point(|at| *at <= latest);
        known.checked_sub(1).map_or(BEGIN, |newest| self.sent_at[newest])
    }

    /// The application writes, or reads what is there.
    fn call(&mut self, now: Time, name: &str, bytes: i64, result: Option<i64>) -> Result<(), String> {
        let arguments = vec![Argument::Number(CONNECTION), Argument::Any, Argument::Number(bytes)];
        let call = Call { name: name.into(), arguments, result, errno: None, blocks: None };
        self.host.call(now, &call)?;
        self.script.events.push(event(now, Action::Call(call)));
        Ok(())
    }

    /// The peer acknowledges, or waits.
    fn acknowledge(&mut self, now: Time, told: Option<Acknowledgement>) {
        let Some(told) = told else {
            if self.peer.deadline < Time::NEVER {
                self.schedule(self.peer.deadline, Next::Alarm);
            }
            return;
        };
        self.acknowledgements += 1;
        if self.conditions.lost_acks.contains(&(self.acknowledgements - 1)) {
            return;
        }
        let segment = self.conditions.acknowledgement(now, told);
        self.schedule(now + Time(self.conditions.rtt.0 / 2), Next::Segment(segment));
    }

    /// Takes everything that the host sends now.
    fn take(&mut self, now: Time) {
        while let Some(sent) = self.host.next_outgoing(now) {
            self.on_sent(sent);
        }
    }

    /// The timestamp of the host at a time, in the script.
    fn timestamp(&self, at: Time) -> u64 {
        let first = self.first.map_or(0, milliseconds);
        HOST_TIMESTAMP + milliseconds(at).saturating_sub(first)
    }

    fn on_sent(&mut self, Outgoing { at, segment }: Outgoing) {
        self.sent_at.push(at);
        let sack = segment.sack().to_vec();
        let options = (segment.len == 0).then(|| {
            let timestamps = TcpOption::Timestamps(self.timestamp(at), 0);
            let timestamps = self.conditions.has_timestamps.then_some(timestamps).into_iter();
            timestamps.chain((!sack.is_empty()).then_some(TcpOption::Sack(sack))).collect()
        });
        let flags = Flags { psh: false, ..segment.flags };
        let ecn = segment.ecn.filter(|_| self.conditions.has_ecn && segment.len > 0);
        let expected = Segment { flags, ecn, window: None, options, ..segment };
        self.script.events.push(event(at, Action::Outbound(expected)));
        if segment.len > 0 {
            self.transmit(at, &segment);
        }
    }

    /// A segment passes through the network.
    fn transmit(&mut self, at: Time, segment: &Segment) {
        let new = self.transmissions.len() as u64;
        let known = self.transmissions.entry(segment.seq).or_insert((new, 0));
        let transmission = *known;
        known.1 += 1;
        let conditions = self.conditions;
        let mut leaves = at;
        if let Some((time, most)) = conditions.bottleneck {
            let begins = self.after_pause(at.max(self.free));
            if (begins - at).0 / time.0 >= most {
                return;
            }
            leaves = begins + time;
            self.free = leaves;
        }
        if conditions.lost.contains(&transmission) {
            return;
        }
        let late = conditions.late.get(&transmission).copied().unwrap_or(Time::ZERO);
        let data = Data {
            from: segment.seq,
            to: segment.seq + segment.len,
            timestamp: self.timestamp(at),
            is_marked: conditions.marked.contains(&transmission)
                && segment.ecn.is_some_and(|ecn| ecn != Ecn::NotEct),
            is_cwr: segment.flags.cwr,
        };
        self.schedule(leaves + late + Time(conditions.rtt.0 / 2), Next::Data(data));
    }

    /// When the bottleneck begins to serve a segment, which it could at this time if it did not stop.
    fn after_pause(&self, at: Time) -> Time {
        let (from, length) = self.conditions.pause;
        let from = BEGIN + self.conditions.rtt + from;
        if (from..from + length).contains(&at) { from + length } else { at }
    }

    /// Asserts what the host shows, if that has changed.
    fn check(&mut self, now: Time) {
        let shown = FIELDS.map(|name| self.host.field(now, name));
        if shown == self.shown {
            return;
        }
        self.shown = shown;
        let equal = |(name, value): (&&str, Option<i64>)| {
            let name = Expression::Name((*name).into());
            let value = Expression::Number(value?);
            Some(Expression::Pair(Operator::Equal, Box::new(name), Box::new(value)))
        };
        let and = |left, right| Expression::Pair(Operator::And, Box::new(left), Box::new(right));
        let all = FIELDS.iter().zip(shown).filter_map(equal).reduce(and);
        let statements: Vec<Statement> = all.into_iter().map(Statement::Assert).collect();
        self.script.events.push(event(now, Action::Check(statements)));
    }
}
