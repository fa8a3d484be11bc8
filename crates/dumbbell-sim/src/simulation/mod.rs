//! The event loop: plain components in vectors, packets moved by value, and one dispatch of all events.

mod capture;
mod connections;
mod counts;
mod events;
mod feedback;
mod flows;
mod observing;
mod packets;
mod payload;
mod results;
mod steps;
mod work;

use crate::events::Event;
use crate::flows::{FlowSpec, Start};
use crate::forwarding::{Forwarding, Network};
use crate::journal::Journal;
use crate::network::{Names, NewRoute, Routes};
use crate::outcome::{Conservation, Outcome};
use crate::quantity::Measure;
use crate::scenario::{Scenario, TickPhase};
use crate::supervision::{Overflow, Supervision};
use crate::trace::Recording;
use capture::Capture;
use counts::{Counts, Edges};
use dumbbell_net::tcplib::Telnet;
use dumbbell_net::{DatagramState, Emission, Link};
use dumbbell_tcp::{HostClock, Receiver, Sender, TcpParams, WireSizes};
use dumbbell_units::random::name_hash;
use dumbbell_units::{Histogram, Interval, Stream, Time};
use events::Tracer;
use feedback::Feedback;
use payload::{Payload, Reports};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use work::{Task, Work};

pub use steps::Steps;

/// No connection.
const NONE: u32 = u32::MAX;

/// One TCP connection with both its ends. The fields are in the order stated, so that it can be prefetched from the first
/// on.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Connection {
    flow: u32,
    /// The open connections of the same flow before and after it.
    neighbours: (u32, u32),
    generation: u16,
    /// Identifies its packets in queues; packets of the reverse path have the complement.
    label: u32,
    is_open: bool,
    /// The application may write again.
    writes_on: bool,
    /// A window may have more segments than one event sends, so that they are counted.
    bursts: bool,
    /// The sender has sent a whole burst, and may have more segments at this instant.
    has_more: bool,
    sender: Sender,
    receiver: Receiver,
    /// Times of the pending deadline event and of the pacer's event. They are separate because a paced sender requests
    /// a release for every segment, and each request would leave an obsolete deadline event behind.
    deadline_at: Time,
    release_at: Time,
    /// The application of a self-driven conversation.
    writer: Option<Box<Writer>>,
    /// The transfer of a workload in progress.
    task: Option<Box<Task>>,
    /// Number of round-trip times measured for percentiles.
    rtts_measured: u64,
    /// Records events if a probe requests them.
    tracer: Option<Box<Tracer>>,
}

/// The application of a self-driven conversation.
#[derive(Clone, Debug)]
struct Writer {
    telnet: Telnet,
    /// The pending write: when, and how many bytes.
    next: Option<(Time, u64)>,
}

/// A packet that a link drops, possibly at a future time.
#[derive(Clone, Copy, Debug)]
struct Drop {
    at: Time,
    /// The flow of the packet, unless it is an acknowledgement.
    flow: Option<u32>,
    /// It carries data.
    is_segment: bool,
}

/// Counters of a flow besides those of its senders.
#[derive(Clone, Debug)]
struct FlowState {
    /// A hash of its name, by which queues distinguish flows.
    label: u32,
    random: Option<Stream>,
    /// The stream from which each connection forks that of its congestion control.
    control_random: Stream,
    /// For a workload: its state and its transfers.
    work: Option<Box<Work>>,
    /// For a datagram source: its state and its next emission.
    datagrams: Option<Box<(DatagramState, Option<Emission>)>>,
    started_at: Time,
    /// Of a source that receives reports: what its receiver has seen since the last one.
    feedback: Option<Box<Feedback>>,
    /// The current start, a later one after restarts, and its stop.
    runs_since: Time,
    stop: Option<Time>,
    /// Time of the measurement window in which earlier starts were active.
    active_before: Time,
    /// Restarts, and the part of the window in the pause before each.
    pauses: Vec<(Time, Time)>,
    /// How many restarts have begun.
    restarts: usize,
    has_started: bool,
    has_stopped: bool,
    /// The most recently opened connection.
    newest: u32,
    completed_at: Option<Time>,
    /// Counters of its sources and its closed connections.
    totals: Counts,
    /// Data packets dropped within the measurement window.
    segments_lost: u64,
    /// Packets dropped, including those without data.
    packets_dropped: u64,
}

/// Data and counters of a flow that each packet needs, in one cache line; see [`FlowState`] for the rest.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct HotFlowState {
    /// The first hops of the forward and reverse paths.
    begins: (u32, u32),
    sizes: WireSizes,
    /// A probe or the percentiles of delays follow its packets.
    is_traced: bool,
    /// Deliveries are traced or measured, or may bridge the pauses before restarts.
    is_followed: bool,
    /// Its receiver sends reports.
    has_reports: bool,
    /// Packets sent that have not arrived.
    undelivered: u64,
    bytes_on_wire: u64,
    bytes_delivered: u64,
    /// Those of the whole run, counted for probes only.
    delivered: u64,
    last_delivery: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    run: u64,
    /// The clock, pending events, links and packets.
    network: Network<Payload>,
    window: Interval,
    event_count: u64,
    fingerprint: u64,
    hot_flows: Vec<HotFlowState>,
    /// Round-trip times and one-way delays of each flow within the measurement window; empty if not requested.
    rtts: Vec<Histogram>,
    delays: Vec<Histogram>,
    reroutes: Vec<NewRoute>,
    edges: Edges,
    /// Time of the next change of a path or end of the window.
    next_change: Time,
    reports: Reports,
    flows: Vec<FlowState>,
    clocks: Vec<(HostClock, HostClock)>,
    connections: Vec<Connection>,
    free: Vec<u32>,
    conservation: Conservation,
    /// Drops that are not counted yet, because the run may end before them.
    unsettled_drops: Vec<Drop>,
    /// Drops within the measurement window.
    measured_drops: u64,
    to_complete: usize,
    recordings: Vec<Recording>,
    /// Recordings of each flow and of each link.
    flow_probes: Vec<Vec<u32>>,
    link_probes: Vec<Vec<u32>>,
    /// What a flow does, if the caller asks.
    journal: Option<Box<Journal>>,
    /// Samples that the probes may record.
    max_samples: u64,
    /// There was more than is allowed.
    overflow: Option<Overflow>,
    /// Packets and states of senders that are to be reported, if the caller asks.
    capture: Option<Box<Capture>>,
}

/// Runs a scenario once. The scenario must come from one of its checked constructors.
pub fn run(scenario: &Scenario, seed: u64, run: u64) -> Outcome {
    let never = AtomicBool::new(false);
    run_unless(Supervision::from(&never).without_limits(), scenario, seed, run).unwrap_or_default()
}

/// Like [`run`], but under supervision: `None` if it was stopped. If it needs too much memory, the outcome says only that.
pub fn run_unless<'a>(
    supervision: impl Into<Supervision<'a>>,
    scenario: &Scenario,
    seed: u64,
    run: u64,
) -> Option<Outcome> {
    let supervision = supervision.into();
    let mut simulation = Simulation::new(scenario, (seed, run), &supervision);
    simulation.run(&supervision)?;
    Some(simulation.finish())
}

/// Events between two checks of the stop flag and of the packets in flight, a power of two. An event may send a hundred
/// thousand packets.
const EVENTS_PER_STOP_CHECK: u64 = 1 << 6;
/// Segments that a sender sends in one event. The others of a window follow in more events of the same instant, with a check
/// after each.
const BURST: u32 = 100_000;
/// Events between two of the other checks, such as settlements if the run may end early; a multiple of the above.
const EVENTS_PER_SETTLEMENT: u64 = 1 << 10;

impl<'a> Simulation<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        (seed, run): (u64, u64),
        supervision: &Supervision<'_>,
    ) -> Self {
        let mut routes = Routes::new(scenario).unwrap_or_default();
        let network = Network::new(scenario, &routes, (seed, run));
        let window = Interval { from: scenario.measure_from, until: scenario.measure_until() };
        let mut simulation = Simulation {
            scenario,
            seed,
            run,
            network,
            window,
            event_count: 0,
            fingerprint: 0xcbf2_9ce4_8422_2325,
            hot_flows: Vec::new(),
            rtts: Vec::new(),
            delays: Vec::new(),
            edges: Edges::default(),
            next_change: Time::ZERO,
            reroutes: std::mem::take(&mut routes.reroutes),
            reports: Reports::default(),
            flows: Vec::with_capacity(scenario.flows.len()),
            clocks: Vec::with_capacity(scenario.flows.len()),
            connections: Vec::new(),
            free: Vec::new(),
            conservation: Conservation::default(),
            unsettled_drops: Vec::new(),
            measured_drops: 0,
            to_complete: scenario.stop_when_complete.len(),
            recordings: Vec::new(),
            flow_probes: vec![Vec::new(); scenario.flows.len()],
            link_probes: vec![Vec::new(); scenario.links.len()],
            journal: supervision.journal.map(|request| Box::new(Journal::new(request))),
            max_samples: supervision.max_samples,
            overflow: None,
            capture: supervision.tap.map(|tap| Box::new(Capture::new(scenario, tap.watch()))),
        };
        if simulation.capture.is_some() {
            simulation.reports.keep_times();
            simulation.network.links.iter_mut().for_each(Link::observe);
        }
        simulation.add_probes();
        // Transfers are recorded when they end, not with every packet.
        let of_packets =
            |&probe: &u32| !simulation.recordings[probe as usize].quantity.is(Measure::Transfers);
        let is_traced = |flow: usize| {
            simulation.is_journaled(flow as u32) || simulation.flow_probes[flow].iter().any(of_packets)
        };
        routes.find_receivers(scenario, is_traced);
        let measures_delays = scenario.delay_percentiles;
        let hot = |(flow, &begins)| {
            let (is_traced, restarts) = (is_traced(flow), &scenario.flows[flow].restarts);
            HotFlowState {
                begins,
                is_traced: is_traced || measures_delays,
                is_followed: is_traced || !restarts.is_empty() || measures_delays,
                has_reports: scenario.flows[flow].source.reports().is_some(),
                ..HotFlowState::default()
            }
        };
        simulation.hot_flows = routes.begins.iter().enumerate().map(hot).collect();
        if scenario.delay_percentiles {
            simulation.rtts = vec![Histogram::default(); scenario.flows.len()];
            simulation.delays = simulation.rtts.clone();
        }
        let nodes = Names::new(scenario.node_names());
        let early_end = scenario.may_end_early().then(|| scenario.earliest_end());
        for (link, probes) in simulation.network.links.iter_mut().zip(&simulation.link_probes) {
            let measures = |measure: Measure| {
                probes.iter().any(|&probe| simulation.recordings[probe as usize].quantity.is(measure))
            };
            if measures(Measure::Backlog) {
                link.trace_backlog();
            }
            if measures(Measure::Wait) || measures(Measure::Marks) {
                link.trace_samples(measures(Measure::Wait));
            }
            if let Some(earliest) = early_end {
                link.expect_early_end(earliest);
            }
        }
        for (index, flow) in scenario.flows.iter().enumerate() {
            simulation.add_flow(index as u32, flow, &nodes, (seed, run));
            let started_at = simulation.flows[index].started_at;
            simulation.flows[index].work = Work::new(scenario, &routes, index, started_at);
        }
        simulation.network.hops = routes.hops;
        simulation
    }

    fn add_probes(&mut self) {
        for probe in &self.scenario.probes {
            let chosen = |names: &[String], name: &str| names.iter().any(|n| n == "*" || n == name);
            for &quantity in &probe.quantities {
                let (names, wanted, probes) = if quantity.is_of_link() {
                    (self.scenario.link_names(), &probe.links, &mut self.link_probes)
                } else {
                    (self.scenario.flow_names(), &probe.flows, &mut self.flow_probes)
                };
                for (index, name) in names.iter().enumerate() {
                    if chosen(wanted, name) {
                        probes[index].push(self.recordings.len() as u32);
                        let recording = Recording::new(name, quantity, probe);
                        self.recordings.push(recording.limited_to(self.max_samples));
                    }
                }
            }
        }
    }

    fn add_flow(&mut self, index: u32, flow: &FlowSpec, nodes: &Names<'_>, (seed, run): (u64, u64)) {
        let stream = |part: &str| Stream::new(seed, run, &format!("flow:{}:{part}", flow.name));
        let started_at = match flow.start {
            Start::At(at) => at,
            Start::Uniform(from, to) => {
                Time::from_secs(stream("start").uniform_between(from.secs(), to.secs()))
            }
        };
        let clock = |name: &str| {
            let phase = nodes.index(name).map(|node| self.scenario.nodes[node].0.tick_phase);
            host_clock(phase.unwrap_or_default(), || Stream::new(seed, run, &format!("node:{name}")))
        };
        self.clocks.push((clock(&flow.from), clock(&flow.to)));
        self.flows.push(FlowState {
            label: name_hash(&flow.name) as u32,
            random: Some(stream("traffic")),
            control_random: stream("control"),
            work: None,
            datagrams: None,
            feedback: flow.source.reports().map(|_| Box::default()),
            started_at,
            runs_since: started_at,
            stop: flow.stop,
            active_before: Time::ZERO,
            pauses: Vec::new(),
            restarts: 0,
            has_started: false,
            has_stopped: false,
            newest: NONE,
            completed_at: None,
            totals: Counts::default(),
            segments_lost: 0,
            packets_dropped: 0,
        });
        self.network.events.push(started_at, Event::Flow(index));
    }

    /// Runs to the end, or until it needs too much memory. `None` if it was stopped before.
    pub(crate) fn run(&mut self, supervision: &Supervision<'_>) -> Option<()> {
        self.handle_until(supervision, self.scenario.duration)?;
        if !self.is_complete() {
            self.network.now = self.scenario.duration;
        }
        self.network.current_link = u32::MAX;
        if let Some(tap) = supervision.tap {
            self.report_all(tap);
        }
        Some(())
    }

    /// Runs until just before the first of these flows starts. `None` if it was stopped before.
    pub(crate) fn run_before_starts(&mut self, supervision: &Supervision<'_>, flows: &[usize]) -> Option<()> {
        let starts = flows.iter().map(|&flow| self.flows[flow].started_at);
        let before = starts.min().map_or(Time::ZERO, |start| Time(start.0.saturating_sub(1)));
        self.handle_until(supervision, before.min(self.scenario.duration))
    }

    /// Switches to another scenario with identical events up to now.
    pub(crate) fn take_scenario(&mut self, scenario: &'a Scenario) {
        self.scenario = scenario;
    }

    /// True once all flows that the run waits for have completed.
    fn is_complete(&self) -> bool {
        self.to_complete == 0 && self.scenario.may_end_early()
    }

    /// Handles the events up to `last` or to the completion of the run, including all events at that time, or until it
    /// needs too much memory. `None` if it was stopped before.
    fn handle_until(&mut self, supervision: &Supervision<'_>, mut last: Time) -> Option<()> {
        if self.is_complete() || self.overflow.is_some() {
            return Some(());
        }
        while let Some((at, event)) = self.network.events.peek() {
            if at > last {
                break;
            }
            self.network.now = at;
            self.event_count += 1;
            if at >= self.next_change {
                self.apply_changes();
            }
            if self.event_count.is_multiple_of(EVENTS_PER_STOP_CHECK) {
                if let ControlFlow::Break(end) = self.go_on(supervision) {
                    return end;
                }
                if self.event_count.is_multiple_of(EVENTS_PER_SETTLEMENT) && !self.look_around(supervision) {
                    return Some(());
                }
            }
            self.network.current_link = u32::MAX;
            match event {
                Event::Departure(link) => {
                    self.network.events.pop_other();
                    self.on_departure(link);
                }
                Event::Arrival(link) | Event::Unordered(link) => {
                    self.network.current_link = link;
                    self.on_arrival(link, matches!(event, Event::Arrival(_)));
                }
                Event::Merge(link) => {
                    self.network.events.pop_other();
                    self.on_merge(link);
                }
                Event::Deadline(connection) => {
                    self.network.events.pop_other();
                    self.prefetch_next(connection);
                    if self.on_deadline(connection)
                        && let ControlFlow::Break(end) = self.go_on(supervision)
                    {
                        return end;
                    }
                }
                Event::Write(connection) => {
                    self.network.events.pop_other();
                    self.on_write(connection);
                }
                Event::Flow(flow) => {
                    self.network.events.pop_other();
                    self.on_flow(flow);
                }
            }
            if self.is_complete() {
                last = at;
            }
        }
        Some(())
    }

    /// Whether the run goes on: the caller has not stopped it, and not too many packets are in flight.
    #[inline]
    fn go_on(&mut self, supervision: &Supervision<'_>) -> ControlFlow<Option<()>> {
        if supervision.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(None)
        } else if self.check_in_flight(supervision.max_in_flight) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(Some(()))
        }
    }

    /// What is done every thousand events. False if the probes have recorded too much.
    #[inline(never)]
    fn look_around(&mut self, supervision: &Supervision<'_>) -> bool {
        if let Some(clock) = supervision.clock {
            clock.store(self.network.now.0, Ordering::Relaxed);
        }
        if self.scenario.may_end_early() {
            self.settle_counts();
        }
        if let Some(tap) = supervision.tap {
            self.report_settled(tap);
        }
        self.check_samples();
        self.overflow.is_none()
    }

    /// Adds a current event to the fingerprint.
    #[inline]
    fn note(&mut self, what: u64, detail: u64) {
        self.note_at(self.network.now, what, detail);
    }

    /// Adds an event at a given time to the fingerprint, in any order.
    #[inline]
    fn note_at(&mut self, at: Time, what: u64, detail: u64) {
        let mixed = (at.0 ^ what.rotate_left(44)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ detail;
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.fingerprint = self.fingerprint.wrapping_add(mixed ^ mixed >> 32);
    }

    /// The time up to which results are final, however early the run ends.
    fn horizon(&self) -> Time {
        if self.scenario.may_end_early() { self.network.now } else { self.scenario.duration }
    }
}

/// Flows of datagrams have no TCP; nothing reads these parameters.
static TCP_OF_DATAGRAMS: std::sync::LazyLock<TcpParams> = std::sync::LazyLock::new(TcpParams::default);

/// The clock of a host. A host's phase is drawn from its own stream, once for all its flows.
fn host_clock(phase: TickPhase, random: impl Fn() -> Stream) -> HostClock {
    match phase {
        TickPhase::Random => HostClock::Fraction(random().uniform()),
        TickPhase::At(at) => HostClock::At(at),
    }
}
