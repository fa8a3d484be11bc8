//! Any TCP rules, and any sequence of acknowledgements (from an honest receiver or random, with marks and reports of
//! duplicates), losses, reordering, repetition, expired deadlines, writes and polls. The sender never panics, keeps its sequence numbers in order and its window at one segment or
//! more, stops sending when its window is full, never requests a deadline in the past, and behaves identically when the
//! sequence is repeated.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use dumbbell_chaos::schema::value_of;
use dumbbell_fuzz::count_events;
use dumbbell_tcp::{AckSegment, DataSegment, HostClock, Receiver, SackBlocks, Sender, Tcp, TcpParams};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Ecn, Stream, Time, Value, Window};
use libfuzzer_sys::{Corpus, fuzz_target};
use std::collections::VecDeque;
use std::sync::LazyLock;

/// Steps of one sequence, which repeats the input.
const STEPS: usize = 1000;
/// Maximum window in segments.
const SEGMENTS: u32 = 200;
/// Number of requests for the same instant after which a sender counts as stuck.
const REPEATS: usize = 40;
/// Upper limit of times, so that a timeout can always be added: about nine years.
const END: u64 = 1 << 58;

/// The parser, the catalogue and this generator share the schema, so new parameters and algorithms are covered without
/// a change.
static SCHEMA: LazyLock<Value> = LazyLock::new(Tcp::schema);

/// The `tcp` field of a scenario.
#[derive(Debug)]
struct TcpTable(Value);

impl<'a> Arbitrary<'a> for TcpTable {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // The only text in this table that is neither a quantity nor a choice is a list of mechanisms.
        let bits = u16::arbitrary(u)?;
        let letters = ('A'..='J').enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        let mechanisms = [letters.map(|(_, letter)| letter).collect::<String>()];
        value_of(&SCHEMA, &mechanisms, u).map(TcpTable)
    }
}

/// A byte of the sequence space.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Byte {
    Una,
    Nxt,
    Max,
    SegmentsAboveUna(u8),
    BytesAboveUna(u16),
    BytesBelowUna(u16),
    Any(u64),
}

/// A distance in the sequence space.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Distance {
    Segments(u8),
    Bytes(u32),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Span {
    Nanoseconds(u8),
    Microseconds(u16),
    Milliseconds(u16),
    Seconds(u16),
    Any(u64),
}

/// Transmission time of the segment that an acknowledgement answers.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Echo {
    Before(Span),
    Any(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    Pass(Span),
    Acknowledge {
        ack: Byte,
        echo: Echo,
        sack: [Option<(Distance, Distance)>; 4],
        /// A range that arrived twice.
        twice: Option<(Byte, Distance)>,
        is_ece: bool,
        /// Counted marks: packets and bytes.
        marks: (u16, u32),
    },
    AcknowledgeSegments(u8),
    Duplicate {
        sack: (Distance, Distance),
    },
    AcceptOpening,
    /// The oldest segments in flight reach an honest receiver, whose answers return immediately.
    Deliver(u8),
    Lose(u8),
    /// The oldest segment in flight falls behind so many others.
    Delay(u8),
    /// The oldest segment in flight is repeated.
    Repeat,
    /// The oldest segments in flight are marked.
    Mark(u8),
    ReceiverDeadline,
    Deadline,
    Poll(u8),
    PollAll,
    Write(u16),
    WriteSegments(u8),
    WriteWithoutEnd,
    Close,
}

#[derive(Arbitrary, Debug)]
struct Input {
    tcp: TcpTable,
    /// Phase of the host's clock, in parts of 256.
    phase: u8,
    steps: Vec<Step>,
}

fuzz_target!(|input: Input| -> Corpus {
    let Ok(Tcp(params)) = Tcp::decode(&Node::root(&input.tcp.0)) else { return Corpus::Reject };
    if params.external.is_some() {
        // It has no host here.
        return Corpus::Reject;
    }
    let first = drive(params.clone(), &input);
    assert_eq!(first, drive(params, &input), "the same sequence gives the same output");
    count_events(2 * first.1.len() as u64);
    Corpus::Keep
});

/// The output of a sequence: segments with their times, and the state after each step.
type Output = (Vec<(Time, DataSegment)>, Vec<(Time, u64)>);

fn drive(mut params: TcpParams, input: &Input) -> Output {
    let mss = params.mss.0 as u32;
    if params.receive_buffer.bytes(mss).min(params.send_buffer.bytes(mss)) > f64::from(SEGMENTS * mss) {
        params.send_buffer = Window::Segments(f64::from(SEGMENTS));
    }
    let now = Time::ZERO;
    let mut host = Host {
        sender: Sender::new(
            &params,
            HostClock::Fraction(f64::from(input.phase) / 256.0),
            now,
            Stream::new(1, 0, "sender"),
        ),
        max_window: params.receive_buffer.bytes(mss).min(params.send_buffer.bytes(mss)),
        // ns-2's Vegas has no window after a timeout.
        least_window: if params.recovery.name() == "ns2vegas" { 0.0 } else { f64::from(mss) },
        mss,
        now,
        written: 0,
        receiver: Receiver::new(&params, HostClock::Fraction(f64::from(input.phase) / 256.0)),
        in_flight: VecDeque::new(),
        outstanding: Vec::new(),
        output: Output::default(),
    };
    for &step in input.steps.iter().cycle().take(STEPS) {
        host.take(step);
        host.check();
    }
    host.output
}

struct Host {
    sender: Sender,
    max_window: f64,
    least_window: f64,
    mss: u32,
    now: Time,
    written: u64,
    receiver: Receiver,
    /// Segments in flight, with their transmission times.
    in_flight: VecDeque<(Time, DataSegment)>,
    /// Ends of the segments sent and not acknowledged.
    outstanding: Vec<u64>,
    output: Output,
}

impl Host {
    fn take(&mut self, step: Step) {
        match step {
            Step::Pass(span) => self.now = Time((self.now + self.span(span)).0.min(END)),
            Step::Acknowledge { ack, echo, sack, twice, is_ece, marks } => {
                let ack = AckSegment {
                    is_ece,
                    ce_packets: marks.0,
                    ce_bytes: marks.1,
                    ..self.random_ack(ack, echo, sack, twice)
                };
                self.acknowledge(ack);
            }
            Step::AcknowledgeSegments(count) => {
                let ack = (self.sender.snd_una() + u64::from(count) * u64::from(self.mss))
                    .min(self.sender.snd_max());
                self.acknowledge(AckSegment { timestamp_echo: self.now, ..AckSegment::of(ack) });
            }
            Step::Duplicate { sack: (offset, len) } => {
                let mut sack = SackBlocks::default();
                sack.push(self.distance(offset), self.distance(len));
                let ack = self.sender.snd_una();
                self.acknowledge(AckSegment { timestamp_echo: self.now, sack, ..AckSegment::of(ack) });
            }
            Step::AcceptOpening => {
                let opening = AckSegment { timestamp_echo: self.now, is_syn: true, ..AckSegment::of(0) };
                self.acknowledge(opening);
            }
            Step::Deliver(count) => {
                let _ = (0..count).take_while(|_| self.deliver()).count();
            }
            Step::Lose(count) => {
                let count = usize::from(count).min(self.in_flight.len());
                self.in_flight.drain(..count);
            }
            Step::Delay(count) => {
                let last = usize::from(count).min(self.in_flight.len().saturating_sub(1));
                if let Some(segment) = self.in_flight.pop_front() {
                    self.in_flight.insert(last, segment);
                }
            }
            Step::Repeat => self.in_flight.extend(self.in_flight.front().copied()),
            Step::Mark(count) => self.mark(count),
            Step::ReceiverDeadline => self.expire_receiver(),
            Step::Deadline => self.expire(),
            Step::Poll(count) => {
                let _ = (0..count).take_while(|_| self.poll()).count();
            }
            Step::PollAll => self.poll_all(),
            Step::Write(bytes) => self.write(u64::from(bytes)),
            Step::WriteSegments(count) => self.write(u64::from(count) * u64::from(self.mss)),
            Step::WriteWithoutEnd => self.write(u64::MAX),
            Step::Close => {
                self.sender.close();
                self.written = self.written.min(self.sender.snd_max());
            }
        }
    }

    /// An acknowledgement that no receiver needs to have sent.
    fn random_ack(
        &self,
        ack: Byte,
        echo: Echo,
        sack: [Option<(Distance, Distance)>; 4],
        twice: Option<(Byte, Distance)>,
    ) -> AckSegment {
        let timestamp_echo = match echo {
            Echo::Before(span) => self.now - self.span(span),
            Echo::Any(at) => Time(at),
        };
        let ack = self.byte(ack);
        let mut blocks = SackBlocks::default();
        if let Some((start, len)) = twice {
            blocks.push_duplicate(ack, self.byte(start), self.distance(len));
        }
        for (offset, len) in sack.into_iter().flatten() {
            blocks.push(self.distance(offset), self.distance(len));
        }
        AckSegment { timestamp_echo, sack: blocks, queueing_echo: timestamp_echo, ..AckSegment::of(ack) }
    }

    /// The oldest segment in flight reaches the receiver. False if there is none.
    fn deliver(&mut self) -> bool {
        let Some((sent, segment)) = self.in_flight.pop_front() else { return false };
        let early = self.receiver.acknowledge_before(segment.ecn);
        self.answer(early);
        let ack = self.receiver.on_segment(self.now, &segment, sent, self.now.since(sent));
        self.answer(ack);
        true
    }

    fn mark(&mut self, count: u8) {
        let oldest = self.in_flight.iter_mut().take(usize::from(count));
        oldest.filter(|(_, segment)| segment.ecn.is_capable()).for_each(|(_, segment)| segment.ecn = Ecn::Ce);
    }

    fn expire_receiver(&mut self) {
        let deadline = self.receiver.next_deadline();
        if deadline.0 <= END {
            self.now = self.now.max(deadline);
            let ack = self.receiver.on_deadline(self.now);
            assert!(
                ack.is_some() && self.receiver.next_deadline() > self.now,
                "{deadline} is asked for again"
            );
            self.answer(ack);
        }
    }

    fn span(&self, span: Span) -> Time {
        match span {
            Span::Nanoseconds(n) => Time(u64::from(n)),
            Span::Microseconds(n) => Time(u64::from(n) * 1000),
            Span::Milliseconds(n) => Time(u64::from(n) * 1_000_000),
            Span::Seconds(n) => Time(u64::from(n) * 1_000_000_000),
            Span::Any(n) => Time(n % END),
        }
    }

    fn distance(&self, distance: Distance) -> u32 {
        match distance {
            Distance::Segments(n) => u32::from(n) * self.mss,
            Distance::Bytes(n) => n,
        }
    }

    fn byte(&self, byte: Byte) -> u64 {
        let una = self.sender.snd_una();
        match byte {
            Byte::Una => una,
            Byte::Nxt => self.sender.snd_nxt(),
            Byte::Max => self.sender.snd_max(),
            Byte::SegmentsAboveUna(n) => una + u64::from(n) * u64::from(self.mss),
            Byte::BytesAboveUna(n) => una + u64::from(n),
            Byte::BytesBelowUna(n) => una.saturating_sub(u64::from(n)),
            Byte::Any(byte) => byte,
        }
    }

    fn acknowledge(&mut self, ack: AckSegment) {
        let before = self.sender.snd_una();
        // Any time is valid as the queueing time of the ACK.
        self.sender.on_ack(self.now, &ack, ack.timestamp_echo);
        let una = self.sender.snd_una();
        assert!(una == before || una == ack.ack, "snd_una went from {before} to {una} by {ack:?}");
        self.outstanding.retain(|&end| end > una);
    }

    /// The receiver's answer reaches the sender, which then sends what it may.
    fn answer(&mut self, ack: Option<AckSegment>) {
        assert!(self.receiver.rcv_nxt() <= self.sender.snd_max(), "bytes that were never sent");
        if let Some(ack) = ack {
            self.acknowledge(ack);
            self.poll_all();
        }
    }

    fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.written = self.written.saturating_add(bytes);
    }

    /// Like the event loop, advances to the deadline of the sender, which must then request a later one.
    fn expire(&mut self) {
        let mut repeats = 0;
        while !self.sender.has_given_up() {
            let deadline = self.sender.next_deadline();
            if repeats == 0 {
                if deadline.0 > END {
                    return;
                }
                self.now = self.now.max(deadline);
            } else if deadline > self.now {
                return;
            }
            self.sender.on_deadline(self.now);
            self.poll_all();
            repeats += 1;
            assert!(repeats < REPEATS, "at {} the sender asks for {deadline} again and again", self.now);
        }
    }

    fn poll_all(&mut self) {
        let window = (self.max_window / f64::from(self.mss)) as usize;
        let bound = self.outstanding.len() + window + 4;
        let count = (0..=bound).take_while(|_| self.poll()).count();
        assert!(count <= bound, "{count} segments without an acknowledgement in between");
    }

    /// Polls one segment and checks it.
    fn poll(&mut self) -> bool {
        let before = self.sender.snd_max();
        let Some(segment) = self.sender.poll_transmit(self.now) else { return false };
        let end = segment.seq + u64::from(segment.len);
        let una = self.sender.snd_una();
        if segment.is_syn {
            assert_eq!((segment.seq, segment.len), (0, 0));
        } else if segment.is_retransmission {
            assert!(
                una <= segment.seq && segment.seq < end && end <= before,
                "{segment:?} of {una}..{before}"
            );
        } else {
            assert!(segment.seq == before && end == self.sender.snd_max(), "{segment:?} after {before}");
            assert!((1..=self.mss).contains(&segment.len), "{segment:?}");
            assert!(end <= self.written, "{segment:?} of {} bytes written", self.written);
            assert!((end - una) as f64 <= self.max_window, "{segment:?} beyond the buffers from {una}");
            self.outstanding.push(end);
        }
        self.in_flight.push_back((self.now, segment));
        self.output.0.push((self.now, segment));
        true
    }

    fn check(&mut self) {
        let sender = &self.sender;
        let (una, nxt, max) = (sender.snd_una(), sender.snd_nxt(), sender.snd_max());
        assert!(una <= nxt && nxt <= max, "snd_una {una}, snd_nxt {nxt}, snd_max {max}");
        let (cwnd, inflated, mss) = (sender.congestion().cwnd(), sender.cwnd(), f64::from(self.mss));
        // Written so that NaN as a window fails as well.
        let least = self.least_window;
        assert!(
            cwnd >= least && inflated >= least,
            "window {cwnd}, inflated {inflated}, of segments of {mss}"
        );
        assert!(sender.congestion().ssthresh() >= mss, "threshold {}", sender.congestion().ssthresh());
        assert!(sender.rto() > Time::ZERO, "a timeout of nothing");
        assert!(sender.srtt().is_none_or(|srtt| srtt >= 0.0), "{:?}", sender.srtt());
        assert_eq!(sender.flight_size(), nxt - una);
        let control = sender.congestion();
        for index in 0..=control.probes().len() {
            let _ = control.probe(index);
        }
        let _ = (sender.stats(), sender.is_complete());
        self.output.1.push((sender.next_deadline(), cwnd.to_bits()));
    }
}
