//! The core of the emulator: bytes in, bytes out at their times, over the links of a scenario. It performs no input or
//! output and reads no clock; the driver does both.
//!
//! The driver hands every packet that a host sends to [`Wire::read`] with the time of the reading. At
//! [`Wire::next_deadline`] it calls [`Wire::poll`] until nothing is left, and writes what it gets to the receiving host.
//! A late driver delays packets, which [`Wire::lateness`] records, but it never changes the rate of a link: departures
//! follow the times of the readings (see [`dumbbell_sim::paths`]).

use crate::packet::{Headers, Refusal};
use dumbbell_net::queues::Reason;
use dumbbell_net::waits::Waits;
use dumbbell_net::{BacklogChange, LinkStats};
use dumbbell_net::{DropReason, ImpairmentSpec, Packet};
use dumbbell_sim::Scenario;
use dumbbell_sim::outcome::Conservation;
use dumbbell_sim::paths::{Crossing, Direction, LinkEvent, Paths};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Ecn, Interval, Time};
use hdrhistogram::Histogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

/// How packets of a flow are recognized. What is `None` is not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndPoints {
    /// Address of the sender.
    pub sender: Option<IpAddr>,
    /// Address of the receiver.
    pub receiver: Option<IpAddr>,
    /// Port of the receiver.
    pub port: Option<u16>,
}

impl EndPoints {
    /// The direction of a packet, if it belongs to this flow. A packet that matches both ways travels forward.
    fn direction(&self, headers: &Headers) -> Option<Direction> {
        let is_way = |from: IpAddr, to: IpAddr, port: Option<u16>| {
            self.sender.is_none_or(|sender| sender == from)
                && self.receiver.is_none_or(|receiver| receiver == to)
                && self.port.is_none_or(|of_receiver| port == Some(of_receiver))
        };
        let (source_port, destination_port) = headers.ports.unzip();
        if is_way(headers.source, headers.destination, destination_port) {
            Some(Direction::Forward)
        } else if is_way(headers.destination, headers.source, source_port) {
            Some(Direction::Reverse)
        } else {
            None
        }
    }
}

/// A packet to be written to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// When it entered its first link.
    pub entered: Time,
    /// When it was due, no later than the poll.
    pub due: Time,
    /// Index of its flow in the scenario.
    pub flow: u32,
    /// Its direction: the receiver of the flow gets what travels forward.
    pub direction: Direction,
    /// The packet, with the marks and queueing times of its path.
    pub bytes: &'a [u8],
}

/// Counters of a link from the beginning, independent of any measurement window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets that entered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that left.
    pub packets_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Packets dropped because the queue was full.
    pub drops_queue: u64,
    /// Packets that active queue management dropped early.
    pub drops_early: u64,
    /// Packets that a policer dropped.
    pub drops_policer: u64,
    /// Packets lost by impairments.
    pub drops_impairment: u64,
    /// Packets in the queue or in transmission.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
}

impl LinkCounters {
    fn count(&mut self, crossing: Crossing, size: u64) {
        if crossing == Crossing::Enters {
            self.packets += 1;
            self.bytes += size;
            self.backlog_packets += 1;
            self.backlog_bytes += size;
            return;
        }
        self.backlog_packets -= 1;
        self.backlog_bytes -= size;
        match crossing {
            Crossing::Enters => {}
            Crossing::Departs => {
                self.packets_sent += 1;
                self.bytes_sent += size;
            }
            Crossing::Dropped(DropReason::Queue(Reason::NoRoom)) => self.drops_queue += 1,
            Crossing::Dropped(DropReason::Queue(Reason::Early)) => self.drops_early += 1,
            Crossing::Dropped(DropReason::Queue(Reason::Policer)) => self.drops_policer += 1,
            Crossing::Dropped(DropReason::Impairment) => self.drops_impairment += 1,
        }
    }

    fn add(&mut self, other: &LinkCounters) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.packets_sent += other.packets_sent;
        self.bytes_sent += other.bytes_sent;
        self.drops_queue += other.drops_queue;
        self.drops_early += other.drops_early;
        self.drops_policer += other.drops_policer;
        self.drops_impairment += other.drops_impairment;
        self.backlog_packets += other.backlog_packets;
        self.backlog_bytes += other.backlog_bytes;
    }
}

/// How late packets were written: the time of the poll minus the time at which they were due.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// In nanoseconds, with two significant digits.
    histogram: Histogram<u64>,
    over_1_ms: u64,
    max: Time,
}

/// Bounds of the histogram, in nanoseconds; longer times count as the longest.
const SHORTEST: u64 = 100;
const LONGEST: u64 = 100_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 2;

/// A run with more lateness than this is disturbed: the 99th percentile, the share of packets later than 1 ms, and the
/// maximum.
const DISTURBED_P99: Time = Time(500_000);
const DISTURBED_SHARE: f64 = 0.005;
const DISTURBED_MAX: Time = Time(50_000_000);

impl Default for Lateness {
    /// No packets.
    ///
    /// # Panics
    ///
    /// Never: the constant bounds are valid.
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(SHORTEST, LONGEST, SIGNIFICANT_DIGITS);
        Lateness { histogram: histogram.expect("valid bounds"), over_1_ms: 0, max: Time::ZERO }
    }
}

impl Lateness {
    fn record(&mut self, late: Time) {
        self.histogram.saturating_record(late.0);
        self.over_1_ms += u64::from(late > Time(1_000_000));
        self.max = self.max.max(late);
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.histogram.len()
    }

    /// The lateness that this share of the packets, from 0 to 1, does not exceed, with two significant digits; zero
    /// without packets.
    pub fn quantile(&self, share: f64) -> Time {
        if self.histogram.is_empty() { Time::ZERO } else { Time(self.histogram.value_at_quantile(share)) }
    }

    /// Number of packets that were more than 1 ms late.
    pub fn over_1_ms(&self) -> u64 {
        self.over_1_ms
    }

    /// The latest packet; zero without packets.
    pub fn max(&self) -> Time {
        self.max
    }

    /// True if a run should be repeated: the 99th percentile exceeds 0.5 ms, more than 0.5 % of the packets are more
    /// than 1 ms late, or one is more than 50 ms late.
    pub fn is_disturbed(&self) -> bool {
        self.quantile(0.99) > DISTURBED_P99
            || self.over_1_ms as f64 > DISTURBED_SHARE * self.packets() as f64
            || self.max > DISTURBED_MAX
    }
}

/// Numbers of packets that were not carried, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Bytes that are not an IP packet.
    pub not_ip: u64,
    /// Packets whose stated length differs from their number of bytes.
    pub length: u64,
    /// Packets that belong to no flow.
    pub no_flow: u64,
}

/// A packet on its way.
#[derive(Clone, Debug)]
struct Buffer {
    bytes: Vec<u8>,
    headers: Headers,
}

/// A step of a packet at a link: its time, its serial number, the position of its counters, the size of the packet, and
/// the position of the step in [`CROSSINGS`].
type Step = (Time, u64, usize, u32, usize);

/// Packets of real hosts on the links of a scenario.
#[derive(Clone, Debug)]
pub struct Wire {
    paths: Paths<u32>,
    end_points: Vec<EndPoints>,
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    /// The buffer of the last output, which is free once the output is no longer borrowed.
    returned: Option<u32>,
    /// Steps at links that may be in the future.
    steps: BinaryHeap<Reverse<Step>>,
    step_count: u64,
    /// Counters of each link, flow and direction.
    counters: Vec<LinkCounters>,
    /// The measurement window of the scenario.
    window: Interval,
    /// Packets dropped within the window, of each flow and direction.
    losses: Vec<u64>,
    /// Drops with their links, if they are traced.
    drops: Option<Vec<(Time, u32)>>,
    refused: Refused,
    lateness: Lateness,
}

/// Steps as numbers, for their order in the heap.
const CROSSINGS: [Crossing; 6] = [
    Crossing::Enters,
    Crossing::Departs,
    Crossing::Dropped(DropReason::Queue(Reason::NoRoom)),
    Crossing::Dropped(DropReason::Queue(Reason::Early)),
    Crossing::Dropped(DropReason::Queue(Reason::Policer)),
    Crossing::Dropped(DropReason::Impairment),
];

impl Wire {
    /// The idle links of a scenario. `end_points` recognizes the packets of its flows, in their order; a packet belongs
    /// to the first flow that matches. `seed` and `run` determine random losses and queues.
    ///
    /// # Errors
    ///
    /// A flow has no path, or an impairment copies packets. The error names the field, its value and what is accepted.
    pub fn new(
        scenario: &Scenario,
        (seed, run): (u64, u64),
        end_points: Vec<EndPoints>,
    ) -> Result<Wire, SpecError> {
        for link in &scenario.links {
            let mut impairments = link.impairments.iter();
            if let Some(index) = impairments.position(|spec| matches!(spec, ImpairmentSpec::Duplicate(_))) {
                return Err(SpecError {
                    field: format!("links.{}.impairments.{index}", link.name),
                    value: "\"duplicate\"".into(),
                    accepted: "other impairments: the emulator keeps the bytes of a packet once".into(),
                    suggestion: None,
                });
            }
        }
        let mut paths = Paths::new(scenario, seed, run)?;
        paths.watch_links();
        let counters = vec![LinkCounters::default(); scenario.links.len() * end_points.len() * 2];
        let window = Interval { from: scenario.measure_from, until: scenario.measure_until() };
        Ok(Wire {
            paths,
            losses: vec![0; end_points.len() * 2],
            window,
            drops: None,
            end_points,
            buffers: Vec::new(),
            free: Vec::new(),
            returned: None,
            steps: BinaryHeap::new(),
            step_count: 0,
            counters,
            refused: Refused::default(),
            lateness: Lateness::default(),
        })
    }

    /// A host has sent a packet, which was read at `now`. The bytes are copied.
    ///
    /// # Errors
    ///
    /// The bytes are not carried: they are not an IP packet, or no flow with a path in their direction matches.
    pub fn read(&mut self, now: Time, bytes: &[u8]) -> Result<(), Refusal> {
        let entered = Headers::parse(bytes).and_then(|headers| {
            let mut flows = (0..).zip(&self.end_points);
            let found = flows.find_map(|(flow, ends)| Some((flow, ends.direction(&headers)?)));
            let (flow, direction) = found.ok_or(Refusal::NoFlow)?;
            self.enter(now, flow, direction, headers, bytes)
        });
        self.count(now, entered)
    }

    /// The same for a packet that belongs to this flow and direction whatever its addresses, as when everything that
    /// comes from one device is one direction of one flow.
    ///
    /// # Errors
    ///
    /// The bytes are not an IP packet, or the flow has no path in this direction.
    pub fn read_as(
        &mut self,
        now: Time,
        (flow, direction): (u32, Direction),
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let entered =
            Headers::parse(bytes).and_then(|headers| self.enter(now, flow, direction, headers, bytes));
        self.count(now, entered)
    }

    /// Counts what happened to a packet that was read at `now`.
    fn count(&mut self, now: Time, entered: Result<(), Refusal>) -> Result<(), Refusal> {
        match entered {
            Ok(()) => self.follow(now),
            Err(Refusal::NotIp) => self.refused.not_ip += 1,
            Err(Refusal::Length) => self.refused.length += 1,
            Err(Refusal::NoFlow) => self.refused.no_flow += 1,
        }
        entered
    }

    fn enter(
        &mut self,
        now: Time,
        flow: u32,
        direction: Direction,
        headers: Headers,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let buffer = self.put(bytes, headers);
        let packet = Packet {
            kind: headers.kind,
            ecn: headers.ecn,
            flow: headers.flow_label(),
            timestamp: now,
            ..Packet::of_size(headers.size, buffer)
        };
        if self.paths.enter(now, flow, direction, &packet).is_none() {
            self.free.push(buffer);
            return Err(Refusal::NoFlow);
        }
        Ok(())
    }

    /// Copies a packet into a free buffer.
    fn put(&mut self, bytes: &[u8], headers: Headers) -> u32 {
        self.recycle();
        if let Some(number) = self.free.pop() {
            let buffer = &mut self.buffers[number as usize];
            buffer.bytes.clear();
            buffer.bytes.extend_from_slice(bytes);
            buffer.headers = headers;
            return number;
        }
        self.buffers.push(Buffer { bytes: bytes.to_vec(), headers });
        (self.buffers.len() - 1) as u32
    }

    fn recycle(&mut self) {
        self.free.extend(self.returned.take());
    }

    /// Time of the next poll; [`Time::NEVER`] if no packet is on its way. The poll may return nothing.
    pub fn next_deadline(&self) -> Time {
        self.paths.next_deadline()
    }

    /// The next packet that is due by `now`, the time at which it is written.
    pub fn poll(&mut self, now: Time) -> Option<Output<'_>> {
        self.recycle();
        let delivery = self.paths.poll(now);
        self.follow(now);
        let delivery = delivery?;
        self.lateness.record(now.since(delivery.at));
        let number = delivery.packet.payload;
        self.returned = Some(number);
        let Buffer { bytes, headers } = &mut self.buffers[number as usize];
        if delivery.packet.ecn == Ecn::Ce {
            headers.mark_ce(bytes);
        }
        if delivery.packet.queueing > Time::ZERO {
            headers.add_queueing(bytes, delivery.packet.queueing);
        }
        let entered = delivery.packet.timestamp;
        Some(Output { entered, due: delivery.at, flow: delivery.flow, direction: delivery.direction, bytes })
    }

    /// Frees the buffers of dropped packets, and counts steps at links up to `now`.
    fn follow(&mut self, now: Time) {
        while let Some(loss) = self.paths.poll_loss() {
            self.free.push(loss.packet.payload);
        }
        while let Some(LinkEvent { at, link, flow, direction, size, crossing }) = self.paths.poll_link_event()
        {
            let counters = self.index(link, flow, direction);
            let kind = CROSSINGS.iter().position(|known| *known == crossing).unwrap_or_default();
            self.step_count += 1;
            self.steps.push(Reverse((at, self.step_count, counters, size, kind)));
        }
        while let Some(&Reverse((at, _, counters, size, kind))) = self.steps.peek()
            && at <= now
        {
            self.steps.pop();
            self.counters[counters].count(CROSSINGS[kind], u64::from(size));
            if let Crossing::Dropped(_) = CROSSINGS[kind] {
                let ways = self.losses.len();
                self.losses[counters % ways] += u64::from(self.window.contains(at));
                if let Some(drops) = &mut self.drops {
                    drops.push((at, (counters / ways) as u32));
                }
            }
        }
    }

    /// Position of the counters of a link, flow and direction.
    fn index(&self, link: u32, flow: u32, direction: Direction) -> usize {
        let way = flow as usize * 2 + usize::from(direction == Direction::Reverse);
        link as usize * self.end_points.len() * 2 + way
    }

    /// Brings all counters up to `now`, also those of links that take in arrivals late. No packet may be read before
    /// `now` afterwards; it would enter at `now`.
    pub fn settle(&mut self, now: Time) {
        self.paths.settle(now);
        self.follow(now);
    }

    /// The run ends at `end`.
    pub fn end(&mut self, end: Time) {
        self.paths.end(end);
        self.follow(end);
    }

    /// Counters of a link, given by its index in the scenario, as of the latest [`settle`](Self::settle).
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn counters(&self, link: u32) -> LinkCounters {
        let ways = self.end_points.len() * 2;
        let mut sum = LinkCounters::default();
        self.counters[link as usize * ways..][..ways].iter().for_each(|way| sum.add(way));
        sum
    }

    /// The share of a flow and direction in the counters of a link.
    ///
    /// # Panics
    ///
    /// There is no such link or flow.
    pub fn flow_counters(&self, link: u32, flow: u32, direction: Direction) -> LinkCounters {
        self.counters[self.index(link, flow, direction)]
    }

    /// Counters of a link within the measurement window of the scenario, as the simulator reports them.
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn stats(&self, link: u32) -> &LinkStats {
        self.paths.stats(link)
    }

    /// The distribution of queueing times of a link, if it records it.
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn waits(&self, link: u32) -> Option<&Waits> {
        self.paths.waits(link)
    }

    /// Packets of a flow and direction that links dropped within the measurement window of the scenario.
    ///
    /// # Panics
    ///
    /// There is no such flow.
    pub fn losses(&self, flow: u32, direction: Direction) -> u64 {
        self.losses[self.index(0, flow, direction)]
    }

    /// Records every drop from now on, for [`take_drops`](Self::take_drops).
    pub fn trace_drops(&mut self) {
        self.drops.get_or_insert_default();
    }

    /// Times of drops with the indices of their links, if they are traced.
    pub fn take_drops(&mut self) -> Vec<(Time, u32)> {
        self.drops.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records changes of a link's backlog for [`take_backlog`](Self::take_backlog).
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn trace_backlog(&mut self, link: u32) {
        self.paths.trace_backlog(link);
    }

    /// Changes of a link's backlog up to now, if they are traced.
    ///
    /// # Panics
    ///
    /// There is no such link.
    pub fn take_backlog(&mut self, link: u32) -> Vec<BacklogChange> {
        self.paths.take_backlog(link)
    }

    /// Packets so far: read and carried, due, dropped, and in flight.
    pub fn conservation(&self) -> Conservation {
        self.paths.conservation()
    }

    /// Packets that were not carried.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// How late packets were written.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4Header, PacketBuilder, SlicedPacket, TransportSlice};
    use serde_json::{Value, json};

    const MS: u64 = 1_000_000;
    const A: [u8; 4] = [10, 1, 0, 1];
    const B: [u8; 4] = [10, 1, 0, 2];

    /// Two hosts with 8 Mbit/s and 5 ms there, and 80 Mbit/s and 5 ms back; `link` overrides members of the first link.
    fn scenario(link: Value) -> Scenario {
        let mut scenario = json!({
            "duration": "10 s", "rules": "classic", "nodes": [{ "name": "a", "aqt": true }, { "name": "b", "aqt": true }],
            "links": [
                { "name": "ab", "from": "a", "to": "b", "rate": "8 Mbit/s", "delay": "5 ms" },
                { "name": "ba", "from": "b", "to": "a", "rate": "80 Mbit/s", "delay": "5 ms" },
            ],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "reno" }, { "name": "g", "from": "a", "to": "b", "tcp": "reno" }],
        });
        for (key, value) in link.as_object().expect("a table") {
            scenario["links"][0][key] = value.clone();
        }
        Scenario::from_value(&scenario).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A wire whose flows have ports 5000 and 5001.
    fn wire(link: Value) -> Wire {
        let ends = |port| EndPoints { sender: Some(A.into()), receiver: Some(B.into()), port: Some(port) };
        Wire::new(&scenario(link), (1, 0), vec![ends(5000), ends(5001)]).expect("a wire")
    }

    /// A segment of `size` bytes with an AQT option of 7 us that belongs to the flow with this port.
    fn segment(from: [u8; 4], port: u16, size: usize, ecn: u8) -> Vec<u8> {
        let (to, ports) = if from == A { (B, (40_000, port)) } else { (A, (port, 40_000)) };
        let mut ip = Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, from, to).expect("a header");
        ip.ecn = etherparse::IpEcn::try_new(ecn).expect("a codepoint");
        let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
        let builder =
            builder.tcp(ports.0, ports.1, 1, 1000).options_raw(&[200, 8, 0, 0, 7, 0, 0, 0]).expect("options");
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![0xa5; size - 48]).expect("a packet");
        bytes
    }

    /// True if the checksums of a packet are those that its bytes should have.
    fn is_intact(bytes: &[u8]) -> bool {
        let packet = SlicedPacket::from_ip(bytes).expect("a packet");
        let (Some(etherparse::NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) =
            (packet.net, packet.transport)
        else {
            return false;
        };
        let header = ip.header().to_header();
        tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()) == Ok(tcp.checksum())
            && header.calc_header_checksum() == header.header_checksum
    }

    /// The option's queueing time of a packet, in microseconds.
    fn aqt(bytes: &[u8]) -> u32 {
        Headers::parse(bytes).ok().and_then(|headers| headers.queueing_times(bytes)).expect("an option").0
    }

    #[test]
    fn copies_are_refused() {
        let scenario = scenario(json!({ "impairments": ["bernoulli", "duplicate"] }));
        let error = Wire::new(&scenario, (1, 0), vec![EndPoints::default()]).expect_err("a refusal");
        assert_eq!((error.field.as_str(), error.value.as_str()), ("links.ab.impairments.1", "\"duplicate\""));
    }

    #[test]
    fn packets_come_out_after_service_and_propagation_with_their_queueing_time() {
        let mut wire = wire(json!({}));
        // 1000 bytes take 1 ms.
        for port in [5000, 5001, 5000] {
            assert_eq!(wire.read(Time(2 * MS), &segment(A, port, 1000, 0)), Ok(()));
        }
        let mut seen = Vec::new();
        while wire.next_deadline() < Time::NEVER {
            let now = wire.next_deadline();
            while let Some(output) = wire.poll(now) {
                assert!(is_intact(output.bytes) && output.bytes.len() == 1000);
                assert_eq!(output.direction, Direction::Forward);
                seen.push((output.due.0, output.flow, aqt(output.bytes)));
            }
        }
        // Zero, 1 and 2 ms of waiting beside the 7 us of the sender.
        assert_eq!(seen, [(8 * MS, 0, 7), (9 * MS, 1, 1007), (10 * MS, 0, 2007)]);
        // The other direction has ten times the rate.
        assert_eq!(wire.read(Time(20 * MS), &segment(B, 5001, 1000, 0)), Ok(()));
        let output = wire.poll(wire.next_deadline()).expect("a packet");
        assert_eq!((output.due.0, output.flow, output.direction), (25 * MS + MS / 10, 1, Direction::Reverse));
        assert_eq!(wire.lateness().max(), Time::ZERO);
        assert!(wire.conservation().holds());
    }

    #[test]
    fn a_million_packets_with_queueing_times_and_marks_keep_their_checksums() {
        let queue =
            json!({ "kind": "red", "minimum": "5 packets", "maximum": "40 packets", "limit": "60 packets" });
        let mut wire = wire(json!({ "queue": queue }));
        let mut random = dumbbell_units::Stream::new(1, 0, "packets");
        let (mut now, mut read, mut seen, mut waited) = (0, 0, 0, 0);
        while seen < 1_000_000 {
            // Short packets, as many as the link of 8 Mbit/s carries on average, in bursts; a third travels back.
            let size = 48 + (random.uniform() * 80.0) as usize;
            let from = if random.uniform() < 0.33 { B } else { A };
            let mut bytes = segment(from, 5000 + u16::from(random.uniform() < 0.5), size, 2);
            // Multiples of 2^16 us beside the 7 us of the segment, so that the rest shows the wait at the link.
            let earlier = ((random.uniform() * 200.0) as u64) << 16;
            Headers::parse(&bytes).expect("a packet").add_queueing(&mut bytes, Time(earlier * 1000));
            wire.read(Time(now), &bytes).expect("carried");
            read += 1;
            if read % 40 == 0 {
                now += 2_400_000;
            }
            while let Some(output) = wire.poll(Time(now)) {
                assert!(is_intact(output.bytes), "packet {seen}");
                waited += u32::from(aqt(output.bytes) & 0xffff > 7);
                seen += 1;
            }
        }
        assert!(wire.stats(0).marks > 1000 && waited > 500_000, "{} {waited}", wire.stats(0).marks);
    }

    #[test]
    fn a_late_driver_delays_packets_and_never_bends_the_rate() {
        let mut wire = wire(json!({}));
        let mut random = dumbbell_units::Stream::new(1, 0, "late");
        let (mut now, mut sent, mut dues) = (0, 0, Vec::new());
        // A sender that keeps the link busy, and a driver that wakes up to 3 ms late.
        while dues.len() < 2000 {
            now += (random.uniform() * 3e6) as u64;
            while sent * MS <= now + 20 * MS {
                wire.read(Time(now), &segment(A, 5000, 1000, 0)).expect("carried");
                sent += 1;
            }
            while let Some(output) = wire.poll(Time(now)) {
                dues.push(output.due.0);
            }
        }
        assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == MS), "a packet departs every millisecond");
        let lateness = wire.lateness();
        assert!(lateness.is_disturbed() && lateness.max() > Time(2 * MS) && lateness.max() < Time(3 * MS));
        assert_eq!(lateness.packets(), dues.len() as u64);
        assert!(lateness.quantile(0.5) > Time(MS / 2) && lateness.quantile(0.5) < Time(2 * MS));
    }

    #[test]
    fn a_congested_link_marks_capable_packets_and_drops_others() {
        for (ecn, marks) in [(0, 0), (2, 1)] {
            let mut wire =
                wire(json!({ "queue": { "kind": "codel", "target": "1 ms", "interval": "10 ms" } }));
            let (mut marked, mut delivered) = (0, 0);
            for number in 0..200 {
                // Twice the rate of the link.
                let now = Time(number * MS / 2);
                wire.read(now, &segment(A, 5000, 1000, ecn)).expect("carried");
                while let Some(output) = wire.poll(now) {
                    assert!(is_intact(output.bytes));
                    marked += u32::from(output.bytes[1] & 3 == 3);
                    delivered += 1;
                }
            }
            wire.end(Time(100 * MS));
            assert_eq!(marked.min(1), marks, "{marked} of {delivered} marked");
            let counters = wire.counters(0);
            assert_eq!(counters.drops_early > 0, marks == 0, "{counters:?}");
            assert!(wire.stats(0).marks >= u64::from(marked) && wire.conservation().holds());
        }
    }

    #[test]
    fn backlogs_and_drops_are_counted_by_flow() {
        let mut wire = wire(json!({ "queue": { "kind": "droptail", "limit": "3 packets" } }));
        for number in 0..6 {
            wire.read(Time(0), &segment(A, 5000 + number % 2, 1000, 0)).expect("carried");
        }
        // One in service, three waiting, two dropped: f enters first and has two, g has two.
        wire.settle(Time(MS / 2));
        let flow = |wire: &Wire, flow| wire.flow_counters(0, flow, Direction::Forward);
        let shown =
            |counters: LinkCounters| (counters.backlog_packets, counters.drops_queue, counters.packets_sent);
        assert_eq!((shown(flow(&wire, 0)), shown(flow(&wire, 1))), ((2, 1, 0), (2, 1, 0)));
        wire.settle(Time(3 * MS / 2));
        assert_eq!((shown(flow(&wire, 0)), shown(flow(&wire, 1))), ((1, 1, 1), (2, 1, 0)));
        let all = wire.counters(0);
        assert_eq!((all.packets, all.bytes, all.backlog_bytes, all.bytes_sent), (6, 6000, 3000, 1000));
        assert_eq!(wire.counters(1), LinkCounters::default());
        wire.settle(Time(MS * 10));
        assert_eq!(shown(wire.counters(0)), (0, 2, 4));
    }

    #[test]
    fn buffers_are_used_again() {
        let mut wire = wire(json!({ "impairments": [{ "kind": "bernoulli", "probability": 0.1 }],
                                    "queue": { "kind": "droptail", "limit": "5 packets" } }));
        for number in 0..5000 {
            let now = Time(number * MS / 2);
            wire.read(now, &segment(A, 5000, 1000, 0)).expect("carried");
            while wire.poll(now).is_some() {}
        }
        wire.end(Time(2500 * MS));
        let (counters, stats) = (wire.counters(0), wire.stats(0));
        assert!(counters.drops_queue > 1000 && counters.drops_impairment > 100, "{counters:?}");
        assert_eq!((counters.packets, counters.drops_queue), (stats.packets, stats.drops_queue));
        assert_eq!(counters.drops_impairment, stats.drops_impairment);
        // Six packets at the link, five in flight, and one being written.
        assert!(wire.buffers.len() <= 13, "{} buffers", wire.buffers.len());
    }

    #[test]
    fn packets_that_are_not_carried_are_counted_by_reason() {
        let mut wire = wire(json!({}));
        let good = segment(A, 5000, 1000, 0);
        assert_eq!(wire.read(Time(0), &[]), Err(Refusal::NotIp));
        assert_eq!(wire.read(Time(0), &good[..999]), Err(Refusal::Length));
        assert_eq!(wire.read(Time(0), &segment(A, 5002, 1000, 0)), Err(Refusal::NoFlow));
        assert_eq!(wire.refused(), Refused { not_ip: 1, length: 1, no_flow: 1 });
        assert_eq!(wire.next_deadline(), Time::NEVER);
    }

    #[test]
    fn a_stated_flow_and_direction_carry_packets_of_any_addresses() {
        let mut wire = wire(json!({}));
        let of_nobody = segment(B, 5002, 1000, 0);
        assert_eq!(wire.read(Time(0), &of_nobody), Err(Refusal::NoFlow));
        assert_eq!(wire.read_as(Time(MS), (1, Direction::Forward), &of_nobody), Ok(()));
        let output = wire.poll(wire.next_deadline()).expect("a packet");
        assert_eq!((output.entered, output.due, output.flow), (Time(MS), Time(7 * MS), 1));
        assert_eq!(wire.read_as(Time(0), (2, Direction::Forward), &of_nobody), Err(Refusal::NoFlow));
        assert_eq!(wire.read_as(Time(0), (0, Direction::Forward), &[0; 20]), Err(Refusal::NotIp));
    }

    #[test]
    fn end_points_that_are_not_given_are_not_compared() {
        let headers = Headers::parse(&segment(B, 5000, 100, 0)).expect("a packet");
        let any = EndPoints::default();
        assert_eq!(any.direction(&headers), Some(Direction::Forward));
        let of_sender = EndPoints { sender: Some(A.into()), ..any };
        assert_eq!(of_sender.direction(&headers), Some(Direction::Reverse));
        let of_other_port = EndPoints { port: Some(40_001), ..of_sender };
        assert_eq!(of_other_port.direction(&headers), None);
    }
}
