//! Workloads: carries out their orders, and measures their transfers.

use super::Simulation;
use crate::events::Event;
use crate::network::Routes;
use crate::outcome::{Percentiles, TransfersOutcome};
use crate::scenario::Scenario;
use crate::trace::TransferRow;
use dumbbell_net::{Ended, Order, Playback, SourceSpec, Turn, WorkloadState};
use dumbbell_tcp::{SackBlocks, SenderStats, TcpParams};
use dumbbell_units::{Histogram, Time};

/// Unit of slowdowns in a histogram of whole numbers.
const SLOWDOWN: f64 = 1e-6;

/// A transfer in progress on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    began: Time,
    bytes: u64,
    /// First byte after the transfer.
    end: u64,
    /// The kept connection, if it uses one.
    over: Option<u32>,
    /// Number of the connection within the flow.
    number: u64,
    /// The connection opened for it.
    opens: bool,
    /// Restarts of the flow before it.
    restarts: usize,
    /// Counters of the sender when it began: segments retransmitted and timeouts.
    before: (u64, u64),
}

/// A group of transfers in progress.
#[derive(Clone, Copy, Debug)]
struct Group {
    began: Time,
    opens: bool,
    /// Segments retransmitted and timeouts.
    counts: (u64, u64),
}

impl Group {
    /// Its row while it has not ended.
    fn row(&self, kind: &'static str) -> TransferRow {
        TransferRow {
            began: self.began,
            kind,
            connection: None,
            bytes: None,
            completion: None,
            slowdown: None,
            segments_retransmitted: self.counts.0,
            timeouts: self.counts.1,
        }
    }
}

/// A connection that stays open between transfers.
#[derive(Clone, Copy, Debug)]
struct Kept {
    owner: u32,
    number: u64,
}

/// The workload of a flow, and what was measured.
#[derive(Clone, Debug)]
pub(super) struct Work {
    state: Option<WorkloadState>,
    /// The pending event of the flow that counts; others are obsolete.
    due: Time,
    orders: Vec<Order>,
    kept: Vec<Option<Kept>>,
    group: Option<Group>,
    /// What the viewer saw before the last stop of the flow.
    played: Option<Playback>,
    ideal: IdealPath,
    begun: u64,
    refused: u64,
    completions: Histogram,
    slowdowns: Histogram,
}

impl Work {
    /// The workload of a flow that starts at `start`; `None` for other sources.
    pub(super) fn new(scenario: &Scenario, routes: &Routes, flow: usize, start: Time) -> Option<Box<Work>> {
        let spec = &scenario.flows[flow];
        spec.source.is_workload().then(|| {
            Box::new(Work {
                state: None,
                due: start,
                orders: Vec::new(),
                kept: Vec::new(),
                group: None,
                played: None,
                ideal: IdealPath::new(scenario, routes, flow),
                begun: 0,
                refused: 0,
                completions: Histogram::default(),
                slowdowns: Histogram::default(),
            })
        })
    }
}

/// The initial path of a flow without queues, impairments, changes of links, and limits of the window.
#[derive(Clone, Debug)]
struct IdealPath {
    /// Seconds per byte of the links from sender to receiver.
    forward: Vec<f64>,
    /// Seconds per byte of the links from receiver to sender, added up.
    reverse: f64,
    /// Propagation of both directions, in seconds.
    propagation: f64,
}

impl IdealPath {
    fn new(scenario: &Scenario, routes: &Routes, flow: usize) -> Self {
        let (there, back) = routes.begins[flow];
        let seconds_per_byte = |link: usize| {
            let spec = &scenario.links[link];
            8.0 / spec.opportunities.as_ref().map_or(spec.rate, |trace| trace.mean_rate()).0 as f64
        };
        let links = routes.links_from(there).chain(routes.links_from(back));
        IdealPath {
            forward: routes.links_from(there).map(seconds_per_byte).collect(),
            reverse: routes.links_from(back).map(seconds_per_byte).sum(),
            propagation: links.map(|link| scenario.links[link].delay.secs()).sum(),
        }
    }

    /// Time until `bytes` bytes are acknowledged that are sent back to back, in seconds, with a handshake if the
    /// connection opens with them.
    fn time(&self, tcp: &TcpParams, bytes: u64, opens: bool) -> f64 {
        let (sizes, mss) = (tcp.wire_sizes(), tcp.mss.0);
        let segments = bytes.div_ceil(mss).max(1);
        let full = f64::from(sizes.segment(mss as u32));
        let last = f64::from(sizes.segment((bytes - (segments - 1) * mss) as u32));
        let (mut first, mut slowest, mut departed) = (0.0_f64, 0.0_f64, 0.0_f64);
        for &seconds in &self.forward {
            first += full * seconds;
            slowest = slowest.max(full * seconds);
            if segments > 1 {
                // The last segment waits for the one before it.
                departed = departed.max(first + (segments - 2) as f64 * slowest);
            }
            departed += last * seconds;
        }
        let acknowledgement = f64::from(sizes.acknowledgement(&SackBlocks::default())) * self.reverse;
        let back = self.propagation + acknowledgement;
        let syn = f64::from(sizes.segment(0)) * self.forward.iter().sum::<f64>();
        departed + back + if opens && tcp.handshake { syn + back } else { 0.0 }
    }
}

fn counters(stats: &SenderStats) -> (u64, u64) {
    (stats.segments_retransmitted, stats.timeouts)
}

impl Simulation<'_> {
    /// The event of a workload has come: its start, or its next action.
    pub(super) fn on_work(&mut self, flow: u32, is_start: bool) {
        let window = self.window;
        if is_start {
            self.drop_group(flow);
        }
        if let Some(work) = &mut self.flows[flow].work {
            work.due = Time::NEVER;
            if is_start {
                work.state = None;
                work.kept.clear();
            }
        }
        self.take_turn(flow, |source, state, turn| {
            let state = match state {
                Some(state) => state,
                None => match source.start_workload(turn, window) {
                    Some(started) => state.insert(started),
                    None => return,
                },
            };
            if source.next_action(state) <= turn.now {
                source.on_time(state, turn);
            }
        });
    }

    /// The flow of a workload has stopped, and starts again at `restart`.
    pub(super) fn stop_work(&mut self, flow: u32, restart: Option<Time>) {
        let source = &self.scenario.flows[flow as usize].source;
        if let Some(work) = &mut self.flows[flow].work {
            work.played = work.playback(source, self.network.now);
            work.state = None;
            work.due = restart.unwrap_or(Time::NEVER);
        }
    }

    /// Lets the workload of a flow act, and carries out its orders.
    fn take_turn(
        &mut self,
        flow: u32,
        act: impl FnOnce(&SourceSpec, &mut Option<WorkloadState>, &mut Turn<'_>),
    ) {
        let now = self.network.now;
        if self.flows[flow].has_stopped {
            return;
        }
        let source = &self.scenario.flows[flow as usize].source;
        let Some(mut random) = self.flows[flow].random.take() else { return };
        let mut orders = Vec::new();
        if let Some(work) = &mut self.flows[flow].work {
            orders = std::mem::take(&mut work.orders);
            act(source, &mut work.state, &mut Turn { now, random: &mut random, orders: &mut orders });
        }
        self.flows[flow].random = Some(random);
        for order in orders.drain(..) {
            self.carry_out(flow, order);
        }
        let state = &mut self.flows[flow];
        let Some(work) = &mut state.work else { return };
        work.orders = orders;
        let Some(workload) = &work.state else { return };
        let next = source.next_action(workload).min(state.stop.unwrap_or(Time::NEVER));
        if next < work.due {
            work.due = next.max(now);
            self.network.events.push(work.due, Event::Flow(flow));
        }
        if source.is_finished(workload) {
            self.flows.complete(flow, self.scenario, now);
        }
    }

    fn carry_out(&mut self, flow: u32, order: Order) {
        let (now, is_measured) = (self.network.now, self.window.contains(self.network.now));
        let counts_groups = self.counts_groups(flow);
        match order {
            Order::Send { bytes, over } => {
                self.count_work(flow, |work| work.begun += u64::from(is_measured && !counts_groups));
                self.begin_transfer(flow, bytes, over);
            }
            Order::Close(slot) => {
                let kept = self.kept(flow, slot);
                self.count_work(flow, |work| {
                    work.kept.get_mut(slot as usize).map(Option::take);
                });
                match kept {
                    Some(kept) if self.stacks.of(flow).is_some() => self.close_kept(kept.owner),
                    Some(kept) => self.close(kept.owner),
                    None => {}
                }
            }
            Order::Begin => self.count_work(flow, |work| {
                work.begun += u64::from(is_measured);
                work.group = Some(Group { began: now, opens: false, counts: (0, 0) });
            }),
            Order::End(bytes, is_complete) => self.end_group(flow, bytes, is_complete),
            Order::Refuse => self.count_work(flow, |work| work.refused += u64::from(is_measured)),
        }
    }

    fn count_work(&mut self, flow: u32, count: impl FnOnce(&mut Work)) {
        if let Some(work) = &mut self.flows[flow].work {
            count(work);
        }
    }

    fn counts_groups(&self, flow: u32) -> bool {
        let names = self.scenario.flows[flow as usize].source.transfer_names();
        names.is_some_and(|(_, group)| group.is_some())
    }

    fn kept(&self, flow: u32, slot: u32) -> Option<Kept> {
        self.flows[flow].work.as_ref()?.kept.get(slot as usize).copied().flatten()
    }

    /// Begins a transfer. The end of every transfer is sent at once, in spite of Nagle's algorithm, also on a connection
    /// that is kept, because `open` tells the sender that everything is written.
    fn begin_transfer(&mut self, flow: u32, bytes: u64, over: Option<u32>) {
        let used = over.and_then(|slot| self.kept(flow, slot));
        let is_carried = self.stacks.of(flow).is_some();
        let (owner, number) = match used {
            Some(Kept { owner, number }) => {
                if is_carried {
                    self.write_carried(owner, bytes);
                } else {
                    self.connections[owner].sender.write(bytes);
                }
                (owner, number)
            }
            None => {
                let owner = if is_carried {
                    self.open_carried(flow, bytes, over.is_some())
                } else {
                    self.open(flow, bytes, false)
                };
                (owner, self.flows[flow].totals.connections)
            }
        };
        let opens = used.is_none();
        self.count_work(flow, |work| {
            if let Some(group) = &mut work.group {
                group.opens |= opens;
            }
            if let Some(slot) = over.filter(|_| opens) {
                let slot = slot as usize;
                work.kept.resize(work.kept.len().max(slot + 1), None);
                work.kept[slot] = Some(Kept { owner, number });
            }
        });
        let (began, restarts) = (self.network.now, self.flows[flow].restarts);
        let task = Task { began, bytes, end: 0, over, number, opens, restarts, before: (0, 0) };
        if is_carried {
            let before = if opens { (0, 0) } else { self.counters_of_carried(owner) };
            self.stacks.connection_mut(owner).task = Some(Box::new(Task { before, ..task }));
            return;
        }
        let connection = &mut self.connections[owner];
        let before = counters(connection.sender.stats());
        let end = connection.sender.snd_max() + bytes;
        connection.task = Some(Box::new(Task { end, before, ..task }));
        connection.writes_on = false;
        self.pump(owner);
    }

    /// A connection has sent all that it will or, if it is kept, all that it has.
    #[cold]
    #[inline(never)]
    pub(super) fn on_all_acknowledged(&mut self, owner: u32) {
        let connection = &mut self.connections[owner];
        let Some(task) = connection.task.take() else {
            self.close(owner);
            return;
        };
        let flow = connection.flow;
        let is_complete = connection.sender.snd_una() >= task.end;
        let is_kept = self.keeps(flow, &task);
        let connection = &mut self.connections[owner];
        connection.writes_on = is_kept;
        let counters = counters(connection.sender.stats());
        self.end_transfer(flow, &task, counters, is_complete);
        if !is_kept {
            self.close(owner);
        }
        self.tell_end(flow, &task, is_complete);
    }

    /// A connection with a transfer is given up.
    pub(super) fn give_up_transfer(&mut self, owner: u32) {
        let connection = &mut self.connections[owner];
        let Some(task) = connection.task.take() else { return };
        let (flow, counters) = (connection.flow, counters(connection.sender.stats()));
        self.give_up_task(flow, &task, counters);
    }

    /// The connection of a transfer is given up, whose counters are now these.
    pub(super) fn give_up_task(&mut self, flow: u32, task: &Task, counters: (u64, u64)) {
        if let Some(slot) = task.over {
            self.count_work(flow, |work| {
                work.kept.get_mut(slot as usize).map(Option::take);
            });
        }
        self.end_transfer(flow, task, counters, false);
        self.tell_end(flow, task, false);
    }

    /// True if the connection of a transfer stays open after it.
    pub(super) fn keeps(&self, flow: u32, task: &Task) -> bool {
        task.over.is_some() && self.is_current(flow, task)
    }

    /// True unless the flow has stopped since a transfer began.
    fn is_current(&self, flow: u32, task: &Task) -> bool {
        let state = &self.flows[flow];
        !state.has_stopped && state.restarts == task.restarts
    }

    pub(super) fn tell_end(&mut self, flow: u32, task: &Task, is_complete: bool) {
        if !self.is_current(flow, task) {
            return;
        }
        let ended = Ended { bytes: task.bytes, over: task.over, is_complete, began: task.began };
        self.take_turn(flow, |source, state, turn| {
            if let Some(state) = state {
                source.on_transfer_end(state, &ended, turn);
            }
        });
    }

    /// Measures a transfer that has ended; the counters of its connection are now these.
    pub(super) fn end_transfer(
        &mut self,
        flow: u32,
        task: &Task,
        (retransmitted, timeouts): (u64, u64),
        is_complete: bool,
    ) {
        let counts = (retransmitted - task.before.0, timeouts - task.before.1);
        let completion = is_complete.then(|| self.network.now.since(task.began));
        let (tcp, counts_groups) = (self.tcp(flow), self.counts_groups(flow));
        let is_same_run = self.flows[flow].restarts == task.restarts;
        let is_measured = self.window.contains(task.began);
        let mut slowdown = None;
        self.count_work(flow, |work| {
            slowdown = completion.map(|took| took.secs() / work.ideal.time(tcp, task.bytes, task.opens));
            if let Some(group) = work.group.as_mut().filter(|_| is_same_run) {
                group.counts = (group.counts.0 + counts.0, group.counts.1 + counts.1);
            }
            if !counts_groups && is_measured {
                work.measure(completion, slowdown);
            }
        });
        let Some((kind, _)) = self.scenario.flows[flow as usize].source.transfer_names() else { return };
        self.probes.record_transfer(
            flow,
            TransferRow {
                began: task.began,
                kind,
                connection: Some(task.number),
                bytes: Some(task.bytes),
                completion,
                slowdown,
                segments_retransmitted: counts.0,
                timeouts: counts.1,
            },
        );
    }

    /// Measures a group that has ended.
    fn end_group(&mut self, flow: u32, bytes: u64, is_complete: bool) {
        let (now, window, tcp) = (self.network.now, self.window, self.tcp(flow));
        let Some((_, Some(kind))) = self.scenario.flows[flow as usize].source.transfer_names() else {
            return;
        };
        let Some(work) = &mut self.flows[flow].work else { return };
        let Some(group) = work.group.take() else { return };
        let completion = is_complete.then(|| now.since(group.began));
        let slowdown = completion.map(|took| took.secs() / work.ideal.time(tcp, bytes, group.opens));
        if window.contains(group.began) {
            work.measure(completion, slowdown);
        }
        let row = TransferRow { bytes: Some(bytes), completion, slowdown, ..group.row(kind) };
        self.probes.record_transfer(flow, row);
    }

    /// Records the transfers and groups that are in progress at the end.
    pub(super) fn record_unfinished(&mut self) {
        for owner in self.connections.owners() {
            let connection = &mut self.connections[owner];
            if connection.is_open
                && let Some(task) = connection.task.take()
            {
                let (flow, counters) = (connection.flow, counters(connection.sender.stats()));
                self.end_transfer(flow, &task, counters, false);
            }
        }
        self.flows.numbers().for_each(|flow| self.drop_group(flow));
    }

    /// Records the group of a flow that is in progress and will not end.
    fn drop_group(&mut self, flow: u32) {
        let Some((_, Some(kind))) = self.scenario.flows[flow as usize].source.transfer_names() else {
            return;
        };
        let Some(group) = self.flows[flow].work.as_mut().and_then(|work| work.group.take()) else {
            return;
        };
        self.probes.record_transfer(flow, group.row(kind));
    }
}

impl Work {
    /// True if its pending event is the one that has come at `now`, not an obsolete one.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due == now
    }

    /// The transfers of the workload.
    pub(super) fn outcome(&self) -> TransfersOutcome {
        TransfersOutcome {
            begun: self.begun,
            completed: self.completions.count(),
            refused: self.refused,
            completion_s: Percentiles::of_times(&self.completions),
            slowdown: Percentiles::of(&self.slowdowns, SLOWDOWN),
        }
    }

    /// What the viewer of adaptive video has seen until now.
    pub(super) fn playback(&self, source: &SourceSpec, now: Time) -> Option<Playback> {
        let present = self.state.as_ref().and_then(|state| source.playback(state, now));
        match (&self.played, present) {
            (Some(played), Some(present)) => Some(played.and(&present)),
            (played, present) => present.or(*played),
        }
    }

    fn measure(&mut self, completion: Option<Time>, slowdown: Option<f64>) {
        if let (Some(took), Some(slowdown)) = (completion, slowdown) {
            self.completions.add(took.0);
            self.slowdowns.add((slowdown / SLOWDOWN + 0.5) as u64);
        }
    }
}
