//! One run of a scenario in real time: its links, its hosts, its connections, and what came out.

use crate::doctor;
use crate::emulator::{self, FlowHosts, Report};
use crate::error::RunError;
use crate::files::{self, Caller};
use crate::pcap::{self, Capture, CaptureWriter, PacketFile};
use crate::plan::{Control, FlowPlan, Plan, Replacements};
use crate::sample::{Samples, recordings};
use crate::space::{Space, SpaceError};
use crate::traffic::{Acceptor, Counts, Course, Live, Sending};
use crate::twins::{Reported, Twins};
use crate::wire::{EndPoints, Wire};
use dumbbell_net::LinkSpec;
use dumbbell_sim::Scenario;
use dumbbell_sim::flows::FlowSpec;
use dumbbell_sim::outcome::{FlowOutcome, LinkOutcome, Outcome};
use dumbbell_sim::paths::Direction;
use dumbbell_sim::quantity::Measure;
use dumbbell_sim::trace::Recording;
use dumbbell_units::spec::{Members, SpecError};
use dumbbell_units::{Interval, Time, Value};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::utsname::uname;
use serde_json::json;
use socket2::{Domain, Socket, Type};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

/// How often the probes of congestion controls are read: their buffer in the kernel is small.
const REPORT_PERIOD: Time = Time(100_000_000);

/// A scenario to be run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The scenario.
    pub scenario: Scenario,
    /// Seed of the random streams.
    pub seed: u64,
    /// Number of the replication.
    pub run: u64,
    /// Congestion controls that replace those of the scenario.
    pub replacements: Replacements,
    /// A file for all packets, as pcapng.
    pub pcap: Option<PathBuf>,
}

/// The results of a run.
#[derive(Debug)]
pub struct Done {
    /// In the form of the simulator. It has no fingerprint and no events.
    pub outcome: Outcome,
    /// Name of each flow's congestion control in the kernel; none for datagrams.
    pub controls: Vec<Option<String>>,
    /// Links, lateness and packets that were not carried.
    pub wire: Wire,
    /// What the loop of the emulator counted.
    pub report: Report,
    /// Packets whose checksum a host found wrong.
    pub checksum_errors: u64,
}

/// Runs a scenario in real time.
///
/// # Errors
///
/// The kernel cannot follow the scenario, the machine lacks something, or something failed. Nothing is left in the kernel
/// then.
pub fn run(request: &Request) -> Result<Done, RunError> {
    let Request { scenario, seed, run, pcap, .. } = request;
    let plan = plan_of(request)?;
    let mut samples = Samples::new(scenario);
    let twins = Twins::register(&plan, &samples, *run)?;
    let controls: Vec<Option<String>> =
        (0..plan.flows.len()).map(|flow| twins.name(&plan.flows[flow], flow)).collect();
    check_controls(scenario, &plan)?;

    let mut of_links = recordings(scenario, true);
    let mut wire = make_wire(scenario, (*seed, *run), &plan, &of_links)?;
    allow_descriptors()?;
    let hosts = make_hosts(&plan)?;
    let acceptors = open_ports(&plan, &hosts)?;
    let lives: Vec<Live> = plan.flows.iter().map(|_| Live::default()).collect();
    let pcap_failed = |error| pcap_failed(pcap.as_deref(), error);
    let caller = Caller::of_process().map_err(RunError::Failed)?;
    let file = pcap.as_ref().map(|path| files::create(path, &caller)).transpose().map_err(pcap_failed)?;
    let course = Course::begin()?;
    let file = file.map(|file| begin_packets(file, scenario)).transpose().map_err(pcap_failed)?;
    let (capture, writer) = file.map(CaptureWriter::new).unzip();

    let report = thread::scope(|scope| {
        let writing = writer.map(|writer| scope.spawn(move || writer.run()));
        let (wire, samples, course, lives) = (&mut wire, &mut samples, &course, &lives);
        let hosts = hosts.as_slice();
        let emulation = scope.spawn(move || {
            // The writer ends with this thread.
            let report = emulate(wire, hosts, scenario.duration, course, capture.unwrap_or_default());
            course.end();
            report
        });
        let sending = |flow: usize| Sending {
            flow: &plan.flows[flow],
            name: &scenario.flows[flow].name,
            source: &scenario.flows[flow].source,
            control: controls[flow].as_deref().unwrap_or_default(),
            seed: (*seed, *run),
        };
        let threads = start_flows(scope, hosts, sending, acceptors, lives, course);
        let sampling = scope.spawn(move || sample(samples, lives, course));
        let watched = watch(scenario, lives, course, &twins);
        course.end();
        let (samples, sampled) = joined(sampling);
        let report = joined(emulation)?;
        for thread in threads {
            joined(thread)??;
        }
        writing.map_or(Ok(()), joined).map_err(pcap_failed)?;
        sampled?;
        for (at, flow, name, value) in watched? {
            samples.report(at, flow, &name, value);
        }
        Ok::<Report, RunError>(report)
    })?;
    let outcome = outcome(request, &plan, &mut wire, &report, &lives, samples, &mut of_links);
    let checksum_errors = lives.iter().map(Live::checksum_errors).sum();
    Ok(Done { outcome, controls, wire, report, checksum_errors })
}

/// The plan of a run that this machine can carry out.
fn plan_of(request: &Request) -> Result<Plan, RunError> {
    let plan = Plan::new(&request.scenario, (request.seed, request.run), &request.replacements)?;
    let needs_twins = plan.flows.iter().any(|flow| flow.twin().is_some());
    match doctor::missing(needs_twins) {
        Some(missing) => Err(RunError::Missing(missing)),
        None => Ok(plan),
    }
}

fn pcap_failed(path: Option<&Path>, error: io::Error) -> RunError {
    RunError::Failed(format!("cannot write {}: {error}", path.unwrap_or(Path::new("")).display()))
}

/// The links of a scenario, which record what is asked of them.
fn make_wire(
    scenario: &Scenario,
    seed: (u64, u64),
    plan: &Plan,
    of_links: &[(usize, Recording)],
) -> Result<Wire, RunError> {
    let ends = |flow: &FlowPlan| EndPoints {
        sender: Some(flow.sender.address.into()),
        receiver: Some(flow.receiver.address.into()),
        port: None,
    };
    let mut wire = Wire::new(scenario, seed, plan.flows.iter().map(ends).collect())?;
    for (link, recording) in of_links {
        match recording.quantity.is(Measure::Backlog) {
            true => wire.trace_backlog(*link as u32),
            false => wire.trace_drops(),
        }
    }
    Ok(wire)
}

/// Takes samples until the run has ended, and gives them back.
fn sample<'a>(
    samples: &'a mut Samples,
    lives: &[Live],
    course: &Course,
) -> (&'a mut Samples, io::Result<()>) {
    emulator::claim_priority();
    let sampled = samples.record(lives, course);
    (samples, sampled)
}

/// Carries packets between the hosts until the run has ended.
fn emulate(
    wire: &mut Wire,
    hosts: &[Space],
    duration: Time,
    course: &Course,
    capture: Capture,
) -> io::Result<Report> {
    let hosts: Vec<&Space> = hosts.iter().collect();
    let flows: Vec<FlowHosts> =
        (0..hosts.len() / 2).map(|flow| FlowHosts { sender: 2 * flow, receiver: 2 * flow + 1 }).collect();
    emulator::run(wire, &hosts, &flows, course.clock, (duration, &course.has_ended), &capture)
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Begins a file of packets, with an interface for each host, in the order of [`make_hosts`].
fn begin_packets(file: File, scenario: &Scenario) -> io::Result<PacketFile> {
    let ends = |flow: &FlowSpec| ["sender", "receiver"].map(|end| format!("{} {end}", flow.name));
    let names: Vec<String> = scenario.flows.iter().flat_map(ends).collect();
    pcap::begin(file, names.iter().map(String::as_str))
}

/// Refuses congestion controls that the kernel does not have. Choosing one loads its module.
fn check_controls(scenario: &Scenario, plan: &Plan) -> Result<(), RunError> {
    for (spec, flow) in scenario.flows.iter().zip(&plan.flows) {
        let Some(Control::Kernel(name)) = flow.tcp.as_ref().map(|tcp| &tcp.control) else { continue };
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        if socket.set_tcp_congestion(name.as_bytes()).is_err() {
            let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
            return Err(RunError::Refused(SpecError {
                field: format!("flows.{}.tcp.congestion", spec.name),
                value: format!("\"{name}\""),
                accepted: format!("a congestion control of this kernel, such as {}", known.trim()),
                suggestion: None,
            }));
        }
    }
    Ok(())
}

/// Allows as many open files as this process may have: a flow needs about seven, and the usual limit is 1024.
fn allow_descriptors() -> Result<(), RunError> {
    let of = Resource::RLIMIT_NOFILE;
    let (_, most) = getrlimit(of).map_err(io::Error::from)?;
    Ok(setrlimit(of, most, most).map_err(io::Error::from)?)
}

/// The hosts of all flows: sender and receiver of the first, and so on.
fn make_hosts(plan: &Plan) -> Result<Vec<Space>, SpaceError> {
    plan.flows.iter().flat_map(|flow| [&flow.sender, &flow.receiver]).map(Space::new).collect()
}

/// Opens the ports of all receivers.
fn open_ports(plan: &Plan, hosts: &[Space]) -> Result<Vec<Acceptor>, RunError> {
    let opened = |(index, flow): (usize, &FlowPlan)| {
        let host = &hosts[2 * index + 1];
        thread::scope(|scope| joined(host.spawn(scope, || Acceptor::new(flow))))
    };
    let mut acceptors = Vec::new();
    for flow in plan.flows.iter().enumerate() {
        acceptors.push(opened(flow)??);
    }
    Ok(acceptors)
}

type FlowThread<'scope> = ScopedJoinHandle<'scope, Result<io::Result<()>, SpaceError>>;

/// Starts the sender and the receiver of every flow. One that fails ends the run.
fn start_flows<'scope, 'env>(
    scope: &'scope thread::Scope<'scope, 'env>,
    hosts: &'scope [Space],
    sending: impl Fn(usize) -> Sending<'scope>,
    acceptors: Vec<Acceptor>,
    lives: &'scope [Live],
    course: &'scope Course,
) -> Vec<FlowThread<'scope>> {
    let checked = move |result: io::Result<()>| {
        if result.is_err() {
            course.end();
        }
        result
    };
    let mut threads = Vec::new();
    for ((index, live), acceptor) in lives.iter().enumerate().zip(acceptors) {
        let sending = sending(index);
        threads.push(hosts[2 * index + 1].spawn(scope, move || checked(acceptor.receive(live, course))));
        threads.push(hosts[2 * index].spawn(scope, move || checked(sending.send(live, course))));
    }
    threads
}

/// Waits for the end of the run, and collects what congestion controls report.
fn watch(
    scenario: &Scenario,
    lives: &[Live],
    course: &Course,
    twins: &Twins<'_>,
) -> Result<Vec<Reported>, RunError> {
    let awaited: Vec<usize> = (0..lives.len())
        .filter(|&flow| scenario.stop_when_complete.contains(&scenario.flows[flow].name))
        .collect();
    let mut reported = Vec::new();
    loop {
        let is_complete =
            !awaited.is_empty() && awaited.iter().all(|&flow| lives[flow].completed().is_some());
        let next = course.clock.now()? + if awaited.is_empty() { REPORT_PERIOD } else { Time(1_000_000) };
        let is_over = is_complete || !course.wait_until(next)?;
        reported.extend(twins.reports(course)?);
        if is_over {
            return Ok(reported);
        }
    }
}

/// The results in the form of the simulator.
fn outcome(
    request: &Request,
    plan: &Plan,
    wire: &mut Wire,
    report: &Report,
    lives: &[Live],
    samples: Samples,
    of_links: &mut [(usize, Recording)],
) -> Outcome {
    let scenario = &request.scenario;
    let end = report.elapsed.min(scenario.duration);
    let window = Interval { from: scenario.measure_from, until: scenario.measure_until().min(end) };
    let flow = |(index, live): (usize, &Live)| FlowOutcome {
        name: scenario.flows[index].name.clone(),
        segments_lost: wire.losses(index as u32, Direction::Forward),
        ..flow_outcome(&plan.flows[index], live, index, &samples, window, end)
    };
    let flows = lives.iter().enumerate().map(flow).collect();
    let link = |(index, spec): (u32, &LinkSpec)| {
        LinkOutcome::new(&spec.name, wire.stats(index), wire.waits(index), window.length())
    };
    let links = (0..).zip(&scenario.links).map(link).collect();
    let mut recorded = samples.finish(end);
    recorded.extend(link_recordings(wire, of_links, end));
    Outcome {
        scenario: scenario.name.clone(),
        seed: request.seed,
        run: request.run,
        simulated_s: end.secs(),
        flows,
        links,
        conservation: wire.conservation(),
        recordings: recorded,
        ..Outcome::default()
    }
}

/// What the hosts counted of a flow.
fn flow_outcome(
    plan: &FlowPlan,
    live: &Live,
    index: usize,
    samples: &Samples,
    window: Interval,
    end: Time,
) -> FlowOutcome {
    // The times at which the counters were read may differ from the window by the lateness of a thread.
    let (window, counts) = match &samples.edges {
        (Some(opening), Some(closing)) => (
            Interval { from: opening.at, until: closing.at },
            closing.counts[index].since(&opening.counts[index]),
        ),
        _ => (window, Counts::default()),
    };
    let active = active_time(plan, live, window, end).secs();
    let rate = |bytes: u64| if active > 0.0 { bytes as f64 * 8.0 / active } else { 0.0 };
    let headers = plan.tcp.as_ref().map_or(crate::plan::DATAGRAM_HEADERS, |tcp| tcp.headers);
    let Counts { segments_sent, bytes_sent, bytes_delivered, .. } = counts;
    let start = plan.periods[0].start;
    FlowOutcome {
        goodput_bps: rate(bytes_delivered),
        throughput_bps: rate(bytes_sent + segments_sent * u64::from(headers)),
        bytes_delivered,
        segments_sent,
        segments_retransmitted: Some(counts.segments_retransmitted),
        bytes_retransmitted: Some(counts.bytes_retransmitted),
        timeouts: Some(counts.timeouts),
        fast_retransmits: Some(counts.fast_retransmits),
        completion_s: live.completed().map(|at| at.since(start).secs()),
        start_s: start.secs(),
        rtt_mean_s: samples.srtt_mean(index),
        rtt_min_s: live.rtt_min(),
        connections: counts.connections,
        connections_given_up: counts.connections_given_up,
        ..FlowOutcome::default()
    }
}

/// Time within the window in which a flow was active: in each of its periods until everything was delivered.
fn active_time(flow: &FlowPlan, live: &Live, window: Interval, end: Time) -> Time {
    let ended = live.ended();
    let mut active = Time::ZERO;
    for (index, period) in flow.periods.iter().enumerate() {
        let delivered = live.completed().or(ended.get(index).copied());
        let next = flow.periods.get(index + 1).map_or(end, |next| next.start);
        let until = match (period.stop, delivered) {
            (_, Some(delivered)) => delivered,
            // Datagrams have no connection that ends.
            (Some(stop), None) if flow.tcp.is_none() => stop,
            _ => end,
        };
        active += window.overlap(period.start, until.min(next).min(end));
    }
    active
}

/// Completes the recordings of links.
fn link_recordings(wire: &mut Wire, of_links: &mut [(usize, Recording)], end: Time) -> Vec<Recording> {
    let mut drops = wire.take_drops();
    drops.sort_unstable();
    let mut backlogs: Vec<(usize, Vec<_>)> = Vec::new();
    for (link, recording) in of_links.iter_mut() {
        if recording.quantity.is(Measure::Backlog) {
            if !backlogs.iter().any(|(known, _)| known == link) {
                backlogs.push((*link, wire.take_backlog(*link as u32)));
            }
            let changes = backlogs.iter().filter(|(known, _)| known == link).flat_map(|(_, changes)| changes);
            for change in changes.filter(|change| change.at <= end) {
                recording.record(change.at, Some(change.waiting as f64));
            }
        } else {
            let own = drops.iter().filter(|(_, of)| *of as usize == *link);
            for (count, (at, _)) in (1_u64..).zip(own) {
                recording.record(*at, Some(count as f64));
            }
        }
        recording.finish(end);
    }
    of_links.iter().map(|(_, recording)| recording.clone()).collect()
}

impl Done {
    /// The results as one JSON object: the `summary` of `dumbbell run --json` with the columns of the testbed, the rows
    /// of the tables `flows` and `links`, and the `traces`, each with its quantity, name, times and values.
    pub fn json(&self) -> Value {
        let testbed = self.testbed();
        let mut summary = self.outcome.summary();
        if let Some(members) = summary.as_object_mut() {
            // A run in real time is never repeated bit by bit.
            members.shift_remove("fingerprint");
            members.shift_remove("events");
            members.insert("testbed".into(), Value::Object(testbed.clone()));
            let flows = members.get_mut("flows").and_then(Value::as_array_mut);
            for (flow, control) in flows.into_iter().flatten().zip(&self.controls) {
                flow["congestion"] = json!(control);
            }
        }
        let row = |columns: Value| {
            let mut row = testbed.clone();
            row.extend(columns.as_object().cloned().unwrap_or_default());
            Value::Object(row)
        };
        let flows: Vec<Value> = self
            .outcome
            .flows
            .iter()
            .zip(&self.controls)
            .map(|(flow, control)| row(flow_row(flow, control)))
            .collect();
        let links: Vec<Value> = self.outcome.links.iter().map(|link| row(link_row(link))).collect();
        let traces: Vec<Value> = self.outcome.recordings.iter().map(trace).collect();
        json!({ "summary": summary, "flows": flows, "links": links, "traces": traces })
    }

    /// What a table of the testbed has besides the columns of the simulator.
    fn testbed(&self) -> Members {
        let (late, refused) = (self.wire.lateness(), self.wire.refused());
        let micros = |time: Time| time.0 as f64 / 1e3;
        let share = late.over_1_ms() as f64 / late.packets().max(1) as f64;
        let kernel = uname().map(|names| names.release().to_string_lossy().into_owned()).unwrap_or_default();
        let members = json!({
            "late_p50_us": micros(late.quantile(0.5)),
            "late_p99_us": micros(late.quantile(0.99)),
            "late_max_us": micros(late.max()),
            "late_over_1ms": share,
            "disturbed": late.is_disturbed() || self.report.write_errors > 0,
            "write_errors": self.report.write_errors,
            "checksum_errors": self.checksum_errors,
            "refused": refused.not_ip + refused.length + refused.no_flow,
            "kernel": kernel,
            "fifo": self.report.granted.is_fifo,
        });
        members.as_object().cloned().unwrap_or_default()
    }
}

/// The columns of a flow, as in the tables of the simulator. The kernel does not count how often the receive window
/// stopped a sender.
fn flow_row(flow: &FlowOutcome, control: &Option<String>) -> Value {
    json!({
        "name": flow.name,
        "goodput_bps": flow.goodput_bps,
        "throughput_bps": flow.throughput_bps,
        "bytes_delivered": flow.bytes_delivered,
        "segments_sent": flow.segments_sent,
        "segments_retransmitted": flow.segments_retransmitted,
        "bytes_retransmitted": flow.bytes_retransmitted,
        "timeouts": flow.timeouts,
        "fast_retransmits": flow.fast_retransmits,
        "completion_s": flow.completion_s,
        "start_s": flow.start_s,
        "rtt_mean_s": flow.rtt_mean_s,
        "rtt_min_s": flow.rtt_min_s,
        "segments_lost": flow.segments_lost,
        "connections": flow.connections,
        "connections_given_up": flow.connections_given_up,
        "congestion": control,
    })
}

/// The columns of a link, as in the tables of the simulator.
fn link_row(link: &LinkOutcome) -> Value {
    json!({
        "name": link.name,
        "utilization": link.utilization,
        "drops_queue": link.drops_queue,
        "drops_early": link.drops_early,
        "drops_policer": link.drops_policer,
        "drops_impairment": link.drops_impairment,
        "duplicates": link.duplicates,
        "marks": link.marks,
        "packets": link.packets,
        "backlog_mean_packets": link.backlog_mean_packets,
        "backlog_max_packets": link.backlog_max_packets,
        "wait_mean_s": link.wait_mean_s,
        "wait_p50_s": link.wait_p50_s,
        "wait_p95_s": link.wait_p95_s,
        "wait_p99_s": link.wait_p99_s,
        "wait_max_s": link.wait_max_s,
        "wait_l_mean_s": link.wait_l_mean_s,
        "wait_l_p99_s": link.wait_l_p99_s,
        "wait_c_mean_s": link.wait_c_mean_s,
        "wait_c_p99_s": link.wait_c_p99_s,
    })
}

fn trace(recording: &Recording) -> Value {
    json!({
        "quantity": recording.quantity.name(),
        "name": recording.name,
        "times": recording.times,
        "values": recording.values,
    })
}
