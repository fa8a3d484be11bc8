//! The event loop: plain components in vectors, packets moved by value, and one dispatch of all events.

mod capture;
mod changes;
mod connections;
mod counts;
mod feedback;
mod fingerprint;
mod flows;
mod ledger;
mod messages;
mod observing;
mod packets;
mod payload;
mod probes;
mod results;
mod sources;
mod stacks;
mod steps;
mod tcp;
mod work;

use crate::capture::Tap;
use crate::events::Event;
use crate::flows::FlowSpec;
use crate::forwarding::{Forwarding, Network};
use crate::journal::Journal;
use crate::network::Routes;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::supervision::{Excess, Overflow, Supervision};
use capture::Capture;
use changes::Changes;
use connections::Connections;
use dumbbell_net::Link;
use dumbbell_tcp::TcpParams;
use dumbbell_units::{Interval, Stream, Time};
use fingerprint::Fingerprint;
use flows::Flows;
use ledger::Ledger;
use payload::{Payload, Reports};
use probes::Probes;
use stacks::Stacks;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

pub use steps::Steps;

/// A run is composed of parts that own their state. What concerns several of them is decided here and in the files of
/// this folder: what happens when an event comes, a packet arrives, or a source acts.
#[derive(Clone, Debug)]
pub(crate) struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    run: u64,
    window: Interval,
    /// The clock, pending events, links and packets.
    network: Network<Payload>,
    /// What acknowledgements in flight report besides their numbers.
    reports: Reports,
    connections: Connections,
    /// What carries the flows that are not ours.
    stacks: Stacks,
    flows: Flows,
    changes: Changes,
    ledger: Ledger,
    fingerprint: Fingerprint,
    event_count: u64,
    probes: Probes,
    /// What a flow does, if the caller asks.
    journal: Option<Box<Journal>>,
    /// Packets and states of senders that are to be reported, if the caller asks.
    capture: Option<Box<Capture>>,
    /// There was more than is allowed.
    overflow: Option<Overflow>,
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
        let mut network = Network::new(scenario, &routes, (seed, run));
        let mut reports = Reports::default();
        let capture = supervision.tap.map(|tap| Box::new(Capture::new(scenario, tap.watch())));
        if capture.is_some() {
            reports.keep_times();
            network.links.iter_mut().for_each(Link::observe);
        }
        if scenario.flows.iter().any(FlowSpec::tells_window) {
            reports.keep_windows();
        }
        let journal = supervision.journal.map(|request| {
            let flow = scenario.flows.get(request.flow as usize);
            Box::new(Journal::new(request, flow.is_some_and(|flow| flow.transport.is_some())))
        });
        let probes = Probes::new(scenario, supervision.max_samples);
        probes.trace_links(&mut network.links);
        if scenario.may_end_early() {
            let earliest = scenario.earliest_end();
            network.links.iter_mut().for_each(|link| link.expect_early_end(earliest));
        }
        let is_traced = |flow: usize| {
            journal.as_ref().is_some_and(|journal| journal.is_of(flow as u32)) || probes.follow_packets(flow)
        };
        routes.find_receivers(scenario, is_traced);
        let flows = Flows::new(scenario, &routes, (seed, run), is_traced);
        for (index, flow) in (0_u32..).zip(flows.states()) {
            network.events.push(flow.started_at, Event::Flow(index));
        }
        network.hops = routes.hops;
        Simulation {
            scenario,
            seed,
            run,
            window: Interval { from: scenario.measure_from, until: scenario.measure_until() },
            network,
            reports,
            connections: Connections::new(scenario.flows.len()),
            stacks: Stacks::new(scenario, |name| Stream::new(seed, run, &format!("flow:{name}:transport"))),
            flows,
            changes: Changes::new(routes.reroutes),
            ledger: Ledger::new(scenario.flows.len()),
            fingerprint: Fingerprint::default(),
            event_count: 0,
            probes,
            journal,
            capture,
            overflow: None,
        }
    }

    /// Runs to the end, or until it needs too much memory. `None` if it was stopped before.
    pub(crate) fn run(&mut self, supervision: &Supervision<'_>) -> Option<()> {
        self.handle_until(supervision, self.scenario.duration)?;
        if !self.is_complete() {
            self.network.now = self.scenario.duration;
        }
        self.network.current_link = u32::MAX;
        if let Some(tap) = supervision.tap {
            self.merge_all_arrived();
            self.report_before(self.network.now + Time(1), tap);
        }
        Some(())
    }

    /// Runs until just before the first of these flows starts. `None` if it was stopped before.
    pub(crate) fn run_before_starts(
        &mut self,
        supervision: &Supervision<'_>,
        flows: &BTreeSet<u32>,
    ) -> Option<()> {
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
        self.flows.have_completed() && self.scenario.may_end_early()
    }

    /// Handles the events up to `last` or to the completion of the run, including all events at that time, or until it
    /// needs too much memory or has had its events. `None` if it was stopped before.
    fn handle_until(&mut self, supervision: &Supervision<'_>, mut last: Time) -> Option<()> {
        if self.is_complete() || self.overflow.is_some() || self.stacks.failure().is_some() {
            return Some(());
        }
        while let Some((at, event)) = self.network.events.peek() {
            if at > last {
                break;
            }
            self.network.now = at;
            self.event_count += 1;
            if self.changes.are_due(at) {
                self.apply_changes();
            }
            if self.event_count.is_multiple_of(EVENTS_PER_STOP_CHECK) {
                if let ControlFlow::Break(end) = self.go_on_or_pause(supervision) {
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
                Event::Stack(number) => self.on_stack_deadline(number),
                Event::CarriedWrite(connection) => self.on_carried_write(connection),
            }
            if self.is_complete() {
                last = at;
            }
        }
        Some(())
    }

    /// Applies what changes before the current event.
    #[cold]
    fn apply_changes(&mut self) {
        let (now, is_first_event) = (self.network.now, self.event_count <= 1);
        let counted = (&self.connections, &mut self.stacks);
        self.changes.apply((now, is_first_event), self.window, &mut self.flows, counted);
    }

    /// Whether the run goes on: the caller has not stopped it, and not too many packets are in flight.
    #[inline]
    fn go_on(&mut self, supervision: &Supervision<'_>) -> ControlFlow<Option<()>> {
        if supervision.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(None)
        } else if self.stacks.failure().is_none() && self.check_in_flight(supervision.max_in_flight) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(Some(()))
        }
    }

    /// The same, unless the run has had its events.
    fn go_on_or_pause(&mut self, supervision: &Supervision<'_>) -> ControlFlow<Option<()>> {
        if self.event_count > supervision.max_events && !self.is_complete() {
            // The event stays for the next call, which counts it again.
            self.event_count -= 1;
            return ControlFlow::Break(Some(()));
        }
        self.go_on(supervision)
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
            // No earlier sighting can precede these any more.
            self.report_before(self.network.now.since(self.network.in_flight.longest_lookahead()), tap);
        }
        self.probes.sample_backlogs(&mut self.network.links);
        self.overflow = self.probes.overflow(&self.network.links, self.network.now);
        self.overflow.is_none()
    }

    /// Reports what was seen before `end`, and before that the keys that stacks have logged so far.
    #[inline(never)]
    fn report_before(&mut self, end: Time, tap: &dyn Tap) {
        if let Some(capture) = &mut self.capture {
            let keys = self.stacks.take_keys();
            if !keys.is_empty() {
                tap.take_keys(&keys);
            }
            capture.report_before(end, tap);
        }
    }

    /// Finds out whether too many packets are in flight. False if they are.
    #[inline]
    fn check_in_flight(&mut self, limit: u64) -> bool {
        let count = self.network.in_flight.most();
        if count > limit {
            self.overflow = Some(Overflow { of: Excess::Packets, count, limit, at: self.network.now });
        }
        count <= limit
    }

    /// The time up to which results are final, however early the run ends.
    fn horizon(&self) -> Time {
        if self.scenario.may_end_early() { self.network.now } else { self.scenario.duration }
    }
}

/// Flows of datagrams have no TCP; nothing reads these parameters.
static TCP_OF_DATAGRAMS: std::sync::LazyLock<TcpParams> = std::sync::LazyLock::new(TcpParams::default);
