//! The flows of a run: what each has sent and received, and when it was active.

use super::counts::Counts;
use super::feedback::Feedback;
use super::messages::Messages;
use super::work::Work;
use crate::flows::{FlowSpec, Restart, Start};
use crate::network::{Names, Routes};
use crate::scenario::{Scenario, TickPhase};
use dumbbell_net::{DatagramState, Emission};
use dumbbell_tcp::{HostClock, WireSizes};
use dumbbell_units::random::name_hash;
use dumbbell_units::{Interval, Stream, Time};
use std::collections::BTreeSet;
use std::ops::{Index, IndexMut, Range};

/// The state of a flow besides that of its connections.
#[derive(Clone, Debug)]
pub(super) struct FlowState {
    /// A hash of its name, by which queues distinguish flows.
    pub label: u32,
    pub random: Option<Stream>,
    /// The stream from which each connection forks that of its congestion control.
    pub control_random: Stream,
    /// The clocks of the hosts of its sender and its receiver.
    pub clocks: (HostClock, HostClock),
    /// For a workload: its state and its transfers.
    pub work: Option<Box<Work>>,
    /// For a datagram source: its state and its next emission.
    pub datagrams: Option<Box<(DatagramState, Option<Emission>)>>,
    /// What such a source writes over TCP or another transport instead.
    pub messages: Option<Box<Messages>>,
    pub started_at: Time,
    /// Of a source that receives reports: what its receiver has seen since the last one.
    pub feedback: Option<Box<Feedback>>,
    /// The current start, a later one after restarts, and its stop.
    pub runs_since: Time,
    pub stop: Option<Time>,
    /// Time of the measurement window in which earlier starts were active.
    active_before: Time,
    /// Restarts, and the part of the window in the pause before each.
    pauses: Vec<(Time, Time)>,
    /// How many restarts have begun.
    pub restarts: usize,
    pub has_started: bool,
    pub has_stopped: bool,
    pub completed_at: Option<Time>,
    /// Counters of its sources and its closed connections.
    pub totals: Counts,
}

impl FlowState {
    /// A flow before its start; `stream` gives its random streams by their names.
    fn new(
        spec: &FlowSpec,
        clocks: (HostClock, HostClock),
        work: impl FnOnce(Time) -> Option<Box<Work>>,
        stream: impl Fn(&str) -> Stream,
    ) -> Self {
        let started_at = match spec.start {
            Start::At(at) => at,
            Start::Uniform(from, to) => {
                Time::from_secs(stream("start").uniform_between(from.secs(), to.secs()))
            }
        };
        FlowState {
            label: name_hash(&spec.name) as u32,
            random: Some(stream("traffic")),
            control_random: stream("control"),
            clocks,
            work: work(started_at),
            datagrams: None,
            messages: Messages::of(spec),
            feedback: spec.source.reports().map(|_| Box::default()),
            started_at,
            runs_since: started_at,
            stop: spec.stop,
            active_before: Time::ZERO,
            pauses: Vec::new(),
            restarts: 0,
            has_started: false,
            has_stopped: false,
            completed_at: None,
            totals: Counts::default(),
        }
    }

    /// Counts a new connection. Returns what identifies its packets in queues, and its number.
    pub(super) fn count_opened(&mut self) -> (u32, u64) {
        // Queues treat each connection of a flow as a separate flow.
        let label = self.label.wrapping_add((self.totals.connections as u32).wrapping_mul(0x9e37_79b9));
        self.totals.connections += 1;
        (label, self.totals.connections)
    }

    /// When the activity since the current start ends, at the latest now. Arrivals count after the stop if they were sent
    /// before it, and after the end of a workload if their connection was given up.
    fn activity_end(&self, last_delivery: Time, now: Time) -> Time {
        let stop = self.stop.map_or(Time::NEVER, |stop| stop.max(last_delivery));
        let gave_up = self.totals.connections_given_up > 0;
        let completed = self.completed_at.unwrap_or(Time::NEVER);
        stop.min(if gave_up { completed.max(last_delivery) } else { completed }).min(now)
    }

    /// Active time within the measurement window until now.
    pub(super) fn active(&self, last_delivery: Time, window: Interval, now: Time) -> Time {
        self.active_before + window.overlap(self.runs_since, self.activity_end(last_delivery, now))
    }

    /// Starts again after a stop.
    pub(super) fn restart(&mut self, restart: &Restart, last_delivery: Time, window: Interval, now: Time) {
        self.active_before = self.active(last_delivery, window, now);
        self.pauses.push((now, window.overlap(self.activity_end(last_delivery, now), now)));
        self.restarts += 1;
        self.runs_since = now;
        self.stop = restart.stop;
        self.has_started = false;
        self.has_stopped = false;
    }

    /// A packet sent before a restart arrives after it: the flow was active during the pause.
    pub(super) fn bridge_pauses(&mut self, sent: Time) {
        while let Some((_, pause)) = self.pauses.pop_if(|(restart, _)| *restart > sent) {
            self.active_before += pause;
        }
    }
}

/// Data and counters of a flow that each packet needs, in one cache line; see [`FlowState`] for the rest.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct HotFlowState {
    /// The first hops of the forward and reverse paths.
    pub begins: (u32, u32),
    pub sizes: WireSizes,
    /// A probe or the percentiles of delays follow its packets.
    pub is_traced: bool,
    /// Deliveries are traced or measured, or may bridge the pauses before restarts.
    pub is_followed: bool,
    /// Its receiver sends reports.
    pub has_reports: bool,
    /// Packets sent that have not arrived.
    pub undelivered: u64,
    pub bytes_on_wire: u64,
    pub bytes_delivered: u64,
    /// Those of the whole run, counted for probes only.
    pub delivered: u64,
    pub last_delivery: Time,
}

impl HotFlowState {
    /// Counts a packet that is sent.
    #[inline]
    pub(super) fn count_sent(&mut self, size: u32, is_measured: bool) {
        self.undelivered += 1;
        if is_measured {
            self.bytes_on_wire += u64::from(size);
        }
    }
}

/// All flows, in the order of the scenario.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    states: Vec<FlowState>,
    hot: Vec<HotFlowState>,
    /// Whether the run waits for each flow.
    is_awaited: Vec<bool>,
    /// Flows that it still waits for.
    awaited: usize,
}

impl Index<u32> for Flows {
    type Output = FlowState;

    #[inline(always)]
    fn index(&self, flow: u32) -> &FlowState {
        &self.states[flow as usize]
    }
}

impl IndexMut<u32> for Flows {
    #[inline(always)]
    fn index_mut(&mut self, flow: u32) -> &mut FlowState {
        &mut self.states[flow as usize]
    }
}

impl Flows {
    /// The flows of a scenario before the run. Packets of those that are traced are followed one by one.
    pub(super) fn new(
        scenario: &Scenario,
        routes: &Routes,
        (seed, run): (u64, u64),
        is_traced: impl Fn(usize) -> bool,
    ) -> Self {
        let nodes = Names::new(scenario.node_names());
        let clock = |name: &str| {
            let phase = nodes.index(name).map(|node| scenario.nodes[node].0.tick_phase);
            host_clock(phase.unwrap_or_default(), || Stream::new(seed, run, &format!("node:{name}")))
        };
        let state = |(index, spec): (usize, &FlowSpec)| {
            let stream = |part: &str| Stream::new(seed, run, &format!("flow:{}:{part}", spec.name));
            let clocks = (clock(&spec.from), clock(&spec.to));
            FlowState::new(spec, clocks, |start| Work::new(scenario, routes, index, start), stream)
        };
        let measures_delays = scenario.delay_percentiles;
        let hot = |(index, &begins): (usize, &(u32, u32))| {
            let (is_traced, spec) = (is_traced(index) || measures_delays, &scenario.flows[index]);
            HotFlowState {
                begins,
                is_traced,
                is_followed: is_traced
                    || !spec.restarts.is_empty()
                    || spec.messages.is_some()
                    || spec.tells_window(),
                has_reports: spec.source.reports().is_some(),
                ..HotFlowState::default()
            }
        };
        let awaited: BTreeSet<&String> = scenario.stop_when_complete.iter().collect();
        Flows {
            states: scenario.flows.iter().enumerate().map(state).collect(),
            hot: routes.begins.iter().enumerate().map(hot).collect(),
            is_awaited: scenario.flows.iter().map(|flow| awaited.contains(&flow.name)).collect(),
            awaited: scenario.stop_when_complete.len(),
        }
    }

    /// Their numbers.
    pub(super) fn numbers(&self) -> Range<u32> {
        0..self.states.len() as u32
    }

    /// Their states.
    pub(super) fn states(&self) -> impl Iterator<Item = &FlowState> {
        self.states.iter()
    }

    /// What each packet of a flow needs.
    #[inline(always)]
    pub(super) fn hot(&self, flow: u32) -> &HotFlowState {
        &self.hot[flow as usize]
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(super) fn hot_mut(&mut self, flow: u32) -> &mut HotFlowState {
        &mut self.hot[flow as usize]
    }

    /// True if none remains that the run waits for.
    #[inline(always)]
    pub(super) fn have_completed(&self) -> bool {
        self.awaited == 0
    }

    /// The last transfer of a flow has ended.
    pub(super) fn complete(&mut self, flow: u32, scenario: &Scenario, now: Time) {
        let restarts = scenario.flows[flow as usize].restarts.len();
        let state = &mut self[flow];
        if state.completed_at.is_none() && state.restarts >= restarts {
            state.completed_at = Some(now);
            self.awaited -= usize::from(self.is_awaited[flow as usize]);
        }
    }
}

/// The clock of a host. A host's phase is drawn from its own stream, once for all its flows.
fn host_clock(phase: TickPhase, random: impl Fn() -> Stream) -> HostClock {
    match phase {
        TickPhase::Random => HostClock::Fraction(random().uniform()),
        TickPhase::At(at) => HostClock::At(at),
    }
}
