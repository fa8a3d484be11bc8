//! One shell from its options to the exit code of its program.

use super::carrier::{self, Stop};
use super::ends::Ends;
use super::environment::{self, Variable};
use super::internet::Internet;
use super::options::{Options, Plan, Status};
use super::program::{self, Identity, Rights};
use super::records;
use crate::clock::RunClock;
use crate::emulator;
use crate::files::{self, Caller, Report};
use crate::space::SpaceError;
use crate::wire::{EndPoints, LinkCounters, Wire};
use dumbbell_sim::paths::Direction;
use dumbbell_units::{Time, Value};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::utsname::uname;
use serde_json::json;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;

/// Exit code if the input was rejected.
pub const REJECTED: i32 = 2;
/// Exit code if the machine cannot make the link: root, the kernel, TUN or a command is missing.
pub const UNAVAILABLE: i32 = 3;

/// Why no program was run, or its link failed.
#[derive(Debug)]
pub struct Failure {
    /// One sentence for the user.
    pub text: String,
    /// Exit code of the shell.
    pub code: i32,
}

impl Failure {
    fn rejected(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), code: REJECTED }
    }
}

impl From<SpaceError> for Failure {
    fn from(error: SpaceError) -> Failure {
        Failure { text: error.to_string(), code: UNAVAILABLE }
    }
}

/// Runs a program behind a link, and returns its exit code.
///
/// # Errors
///
/// The options are rejected, the machine cannot make the link, or the link failed while it carried packets.
pub fn run(options: &Options) -> Result<i32, Failure> {
    let caller = Caller::of_process().map_err(Failure::rejected)?;
    let plan = caller.act(|| options.plan()).map_err(|error| unavailable("read as the caller", error))?;
    let plan = plan.map_err(|rejection| Failure::rejected(rejection.0))?;
    let identity = Identity::of(options.user.as_deref(), &caller).map_err(Failure::rejected)?;
    let passed = environment::passed_on(&options.env, env::vars_os()).map_err(Failure::rejected)?;
    let mut wire = Wire::new(&plan.scenario, (options.seed, 0), vec![EndPoints::default()])
        .map_err(|error| Failure::rejected(error.to_string()))?;
    if !plan.ignored.is_empty() {
        say(&format!("warning: flows of the scenario are not emulated: {}", plan.ignored.join(", ")));
    }
    // Before any thread starts, so that all leave these signals to the one that waits for them.
    let signals = awaited_signals();
    signals.thread_block().map_err(|error| unavailable("block signals", error))?;
    let ends = Ends::new(options.mtu)?;
    let _internet = options.internet.then(|| Internet::open(&ends)).transpose()?;
    let (log, pcap) =
        (output(&options.log, &caller, files::create)?, output(&options.pcap, &caller, files::create)?);
    let report_file = output(&options.report, &caller, Report::prepare)?;
    let clock = RunClock::start().map_err(|error| unavailable("read the clock", error))?;
    let (recorder, writer) = records::recorder(log, pcap, status_of(options))
        .map_err(|error| Failure::rejected(format!("cannot write records: {error}")))?;
    let stop = Stop::default();
    let (code, report, written) = thread::scope(|scope| {
        let writing = scope.spawn(move || writer.run());
        let (wire, ends, stop) = (&mut wire, &ends, &stop);
        let sizes = (plan.scenario.links.len(), Time(plan.interval));
        let carrying = scope.spawn(move || {
            // The recorder ends with this thread, and the writer with the recorder.
            let report = carrier::run(wire, ends, (clock, stop), sizes, recorder);
            if report.is_err() {
                raise_end();
            }
            report
        });
        let code = run_program(options, ends, (&identity, passed), &signals, stop);
        stop.when_empty();
        (code, joined(carrying), joined(writing))
    });
    let report = report.map_err(|error| unavailable("carry packets", error))?;
    if let Some(file) = report_file {
        let value = summary(&plan, &wire, &report);
        file.write(format!("{value:#}\n").as_bytes())
            .map_err(|error| Failure::rejected(format!("cannot write the report: {error}")))?;
    }
    written.map_err(|error| Failure::rejected(format!("cannot write records: {error}")))?;
    if io::stderr().is_terminal() && options.status != Some(Status::None) {
        say(&sentence(&wire, &report));
    }
    code
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn unavailable(action: &str, cause: impl Into<io::Error>) -> Failure {
    SpaceError { action: action.into(), cause: cause.into() }.into()
}

/// Tells the user something, on standard error.
#[allow(clippy::disallowed_macros, reason = "a command speaks to its user")]
pub fn say(text: &str) {
    eprintln!("{text}");
}

/// Opens a file that an option names.
fn output<T>(
    path: &Option<PathBuf>,
    caller: &Caller,
    open: impl FnOnce(&Path, &Caller) -> io::Result<T>,
) -> Result<Option<T>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let failed = |error| Failure::rejected(format!("cannot write {}: {error}", path.display()));
    open(path, caller).map(Some).map_err(failed)
}

/// Where live statistics go.
fn status_of(options: &Options) -> Status {
    let usual = if options.command.is_empty() { Status::Title } else { Status::Line };
    let wanted = options.status.unwrap_or(usual);
    if io::stderr().is_terminal() { wanted } else { Status::None }
}

/// The end of the program, and signals that end the shell or, as SIGINT, are for the program alone.
fn awaited_signals() -> SigSet {
    [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT].into_iter().collect()
}

/// Ends the wait for the program.
fn raise_end() {
    let _ = nix::sys::signal::kill(nix::unistd::getpid(), Signal::SIGTERM);
}

/// Runs the program, and returns its exit code.
fn run_program(
    options: &Options,
    ends: &Ends,
    (identity, passed): (&Identity, Vec<Variable>),
    signals: &SigSet,
    stop: &Stop,
) -> Result<i32, Failure> {
    let addresses = [
        ("DUMBBELL_HOST", ends.block.host()),
        ("DUMBBELL_LOOPBACK", ends.block.loopback()),
        ("DUMBBELL_ADDRESS", ends.block.program()),
    ];
    let addresses = addresses.map(|(name, address)| (name.into(), address.to_string().into()));
    // What the user states replaces what is there.
    let environment = identity.environment().into_iter().chain(addresses).chain(passed).collect();
    let mut command: Vec<OsString> = options.command.iter().map(OsString::from).collect();
    if command.is_empty() {
        command.push(identity.shell());
    }
    let rights = if options.no_new_privileges { Rights::Fixed } else { Rights::OfPrograms };
    let started = program::start(&ends.namespace, (identity, rights), &command, environment);
    let warden = started.map_err(|error| unavailable("make the namespaces of the program", error))?;
    wait(warden, signals, stop)
}

/// Waits for the program, or for a signal that ends it.
fn wait(mut warden: Child, signals: &SigSet, stop: &Stop) -> Result<i32, Failure> {
    let mut ended_by = None;
    loop {
        let ended = warden.try_wait().map_err(|error| unavailable("wait for the program", error))?;
        if let Some(status) = ended {
            return Ok(ended_by.unwrap_or_else(|| program::exit_code(status)));
        }
        match signals.wait() {
            Ok(signal @ (Signal::SIGTERM | Signal::SIGHUP)) => {
                ended_by = Some(128 + signal as i32);
                stop.now();
                program::end(&warden);
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(unavailable("wait for signals", error)),
        }
    }
}

/// Counters of a direction, of all links together, except packets that merely pass from one link to the next.
fn totals(plan: &Plan, wire: &Wire, direction: Direction) -> Value {
    let links = (0..plan.scenario.links.len() as u32).map(|link| wire.flow_counters(link, 0, direction));
    let rows: Vec<LinkCounters> = links.collect();
    let sum = |count: fn(&LinkCounters) -> u64| rows.iter().map(count).sum::<u64>();
    json!({
        "drops_queue": sum(|row| row.drops_queue),
        "drops_early": sum(|row| row.drops_early),
        "drops_policer": sum(|row| row.drops_policer),
        "drops_impairment": sum(|row| row.drops_impairment),
        "links": plan.scenario.links.iter().zip(&rows).filter(|(_, row)| row.packets > 0).map(|(link, row)| json!({
            "name": link.name, "packets": row.packets, "bytes": row.bytes,
            "packets_sent": row.packets_sent, "bytes_sent": row.bytes_sent,
        })).collect::<Vec<_>>(),
    })
}

/// The report: totals of both directions, and how late packets were.
fn summary(plan: &Plan, wire: &Wire, report: &emulator::Report) -> Value {
    let (lateness, refused) = (wire.lateness(), wire.refused());
    let ms = |time: Time| time.secs() * 1e3;
    json!({
        "elapsed_s": report.elapsed.secs(),
        "up": totals(plan, wire, Direction::Forward),
        "down": totals(plan, wire, Direction::Reverse),
        "packets": lateness.packets(),
        "late_p50_ms": ms(lateness.quantile(0.5)),
        "late_p99_ms": ms(lateness.quantile(0.99)),
        "late_max_ms": ms(lateness.max()),
        "late_over_1ms": lateness.over_1_ms(),
        "disturbed": lateness.is_disturbed(),
        "fifo": report.granted.is_fifo,
        "write_errors": report.write_errors,
        "refused": refused.not_ip + refused.length + refused.no_flow,
        "kernel": uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default(),
    })
}

/// The end of a shell, in one line.
fn sentence(wire: &Wire, report: &emulator::Report) -> String {
    let (lateness, conservation) = (wire.lateness(), wire.conservation());
    let fifo = if report.granted.is_fifo { "" } else { "; the kernel did not grant SCHED_FIFO" };
    format!(
        "link closed after {:.1} s: {} packets delivered, {} dropped, late p99 {:.2} ms, max {:.2} ms{fifo}",
        report.elapsed.secs(),
        conservation.delivered,
        conservation.dropped,
        lateness.quantile(0.99).secs() * 1e3,
        lateness.max().secs() * 1e3,
    )
}
