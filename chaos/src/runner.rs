//! Runs of scenarios that may panic or not end, and the worker process that repeats them.

use crate::exit::Exit;
use crate::packets::{Packet, Packets};
use dumbbell_sim::capture::Tap;
use dumbbell_sim::{Outcome, Scenario, Supervision, run_unless};
use dumbbell_units::Value;
use dumbbell_units::random::name_hash;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Interval between two checks of the watchdog.
const LOOK: Duration = Duration::from_millis(100);
/// Marks that nothing is running.
const IDLE: u64 = u64::MAX;

/// Runs scenarios for one thread, and counts the runs.
#[derive(Debug)]
pub struct Runner {
    watch: Arc<Watch>,
    worker_program: Option<PathBuf>,
    worker: RefCell<Option<Worker>>,
    runs: Cell<u64>,
    packets: Cell<u64>,
}

/// The watchdog of a run.
#[derive(Debug)]
struct Watch {
    stop: AtomicBool,
    /// Number of checks during the current run so far.
    looks: AtomicU64,
    most_looks: u64,
    /// Simulated time of the current run, and that after half of the limit.
    clock: AtomicU64,
    halfway: AtomicU64,
}

impl Watch {
    /// Watches in a separate thread until no other owner of the watch is left.
    fn start(limit: Duration) -> Arc<Watch> {
        let most_looks = (limit.as_millis() / LOOK.as_millis()).max(1) as u64;
        let watch = Arc::new(Watch {
            stop: AtomicBool::new(false),
            looks: AtomicU64::new(IDLE),
            most_looks,
            clock: AtomicU64::new(0),
            halfway: AtomicU64::new(0),
        });
        let watched = Arc::downgrade(&watch);
        std::thread::spawn(move || {
            while let Some(watch) = watched.upgrade() {
                let looked = watch.looks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |looks| {
                    (looks != IDLE).then(|| looks + 1)
                });
                if looked == Ok(watch.most_looks / 2) {
                    watch.halfway.store(watch.clock.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                if looked.is_ok_and(|looks| looks >= watch.most_looks) {
                    watch.stop.store(true, Ordering::Relaxed);
                }
                drop(watch);
                std::thread::park_timeout(LOOK);
            }
        });
        watch
    }
}

impl Runner {
    /// A runner that stops runs after `limit`. `worker_program` is the command of the worker process; `None` for no
    /// worker.
    pub fn new(limit: Duration, worker_program: Option<PathBuf>) -> Self {
        Runner {
            watch: Watch::start(limit),
            worker_program,
            worker: RefCell::new(None),
            runs: Cell::new(0),
            packets: Cell::new(0),
        }
    }

    /// Runs a scenario to its end. It takes too long if it has too many packets in flight.
    pub fn run(&self, scenario: &Scenario, seed: u64, run: u64) -> Result<Outcome, Exit> {
        self.run_tapped(scenario, (seed, run), None)
    }

    /// Runs a scenario to its end, and returns also its packets at all nodes. It takes too long if they are too many.
    pub fn run_with_packets(
        &self,
        scenario: &Scenario,
        seed: u64,
        run: u64,
    ) -> Result<(Outcome, Vec<Packet>), Exit> {
        let packets = Packets::new(scenario);
        let outcome = self.run_tapped(scenario, (seed, run), Some(&packets))?;
        Ok((outcome, packets.into_seen().ok_or(Exit::TooLong)?))
    }

    fn run_tapped(
        &self,
        scenario: &Scenario,
        (seed, run): (u64, u64),
        tap: Option<&dyn Tap>,
    ) -> Result<Outcome, Exit> {
        let outcome = self.watched(|stop| {
            let supervision = Supervision { tap, clock: Some(&self.watch.clock), ..of_checks(stop) };
            run_unless(supervision, scenario, seed, run)
        })?;
        let outcome = outcome.ok_or_else(|| self.unended())?;
        if outcome.overflow.is_some() {
            return Err(Exit::TooLong);
        }
        self.count(&outcome);
        Ok(outcome)
    }

    /// Why a run was stopped.
    fn unended(&self) -> Exit {
        let [now, halfway] =
            [&self.watch.clock, &self.watch.halfway].map(|time| time.load(Ordering::Relaxed));
        if now > halfway {
            Exit::TooLong
        } else {
            Exit::Broken(format!("a run does not end: its clock stays at {now} ns"))
        }
    }

    /// Whether the last work was stopped because it took too long.
    pub fn was_stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed)
    }

    /// Runs engine code that is stopped when it takes too long. A panic becomes an error message.
    pub fn watched<T>(&self, work: impl FnOnce(&AtomicBool) -> T) -> Result<T, Exit> {
        self.watch.stop.store(false, Ordering::Relaxed);
        for count in [&self.watch.clock, &self.watch.halfway, &self.watch.looks] {
            count.store(0, Ordering::Relaxed);
        }
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| work(&self.watch.stop)));
        self.watch.looks.store(IDLE, Ordering::Relaxed);
        result.map_err(|panic| Exit::Broken(format!("a panic: {}", crate::panics::message(&*panic))))
    }

    /// Counts a run made elsewhere.
    pub fn count(&self, outcome: &Outcome) {
        self.runs.set(self.runs.get() + 1);
        self.packets.set(self.packets.get() + outcome.conservation.sent);
    }

    /// Runs and packets since the last call.
    pub fn take_counts(&self) -> (u64, u64) {
        (self.runs.take(), self.packets.take())
    }

    /// The digest of a run in the worker process; `None` without one.
    pub fn digest_elsewhere(&self, scenario: &Scenario, seed: u64, run: u64) -> Option<Result<String, Exit>> {
        let program = self.worker_program.as_ref()?;
        let mut worker = self.worker.borrow_mut();
        if worker.is_none() {
            *worker = Worker::start(program).ok();
        }
        let request = json!({ "scenario": scenario.to_json(), "seed": seed, "run": run }).to_string();
        let answer = worker.as_mut()?.ask(&request);
        Some(answer.ok_or_else(|| {
            *worker = None;
            Exit::Broken("the other process ended".to_owned())
        }))
    }
}

/// The supervision of all runs that are compared: they may record any number of samples, as those of the worker do.
pub fn of_checks(stop: &AtomicBool) -> Supervision<'_> {
    Supervision { max_samples: u64::MAX, ..stop.into() }
}

/// A digest of all results of a run.
pub fn digest(outcome: &Outcome) -> String {
    format!("{:016x}", name_hash(&format!("{outcome:?}")))
}

/// A worker process that runs scenarios.
#[derive(Debug)]
struct Worker {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The argument that starts the command as a worker.
pub const WORKER: &str = "worker";

impl Worker {
    fn start(program: &PathBuf) -> std::io::Result<Worker> {
        let mut process =
            Command::new(program).arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let none = || std::io::Error::other("a pipe is missing");
        let requests = Some(process.stdin.take().ok_or_else(none)?);
        let answers = BufReader::new(process.stdout.take().ok_or_else(none)?);
        Ok(Worker { process, requests, answers })
    }

    fn ask(&mut self, request: &str) -> Option<String> {
        let requests = self.requests.as_mut()?;
        writeln!(requests, "{request}").ok()?;
        requests.flush().ok()?;
        let mut answer = String::new();
        let read = self.answers.read_line(&mut answer).ok()?;
        (read > 0).then(|| answer.trim_end().to_owned())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker ends when there are no more requests.
        drop(self.requests.take());
        self.process.wait().ok();
    }
}

/// Answers requests, one per line, until there are no more.
pub fn serve(requests: impl BufRead, mut answers: impl Write) -> std::io::Result<()> {
    for request in requests.lines() {
        let request: Value = serde_json::from_str(&request?)?;
        let number = |name: &str| request[name].as_u64().unwrap_or_default();
        let scenario = Scenario::from_json(request["scenario"].as_str().unwrap_or_default());
        let answer = match scenario {
            Ok(scenario) => digest(&dumbbell_sim::run(&scenario, number("seed"), number("run"))),
            Err(error) => format!("refused: {error}"),
        };
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: &str, to: &str) -> Value {
        json!({ "name": from, "from": from, "to": to, "rate": "1 Gbit/s", "delay": "1 ms",
                "queue": { "kind": "droptail", "limit": "20 packets" } })
    }

    #[test]
    fn more_packets_than_can_be_compared_take_too_long() {
        let scenario = json!({
            "duration": "1 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [{ "name": "f", "from": "a", "to": "b",
                        "source": { "kind": "cbr", "rate": "900 Mbit/s", "packet": "100 bytes" } }],
        });
        let runner = Runner::new(Duration::from_secs(20), None);
        let packets = |duration: &str| {
            let mut scenario = scenario.clone();
            scenario["duration"] = json!(duration);
            let scenario = Scenario::from_value(&scenario).expect("a valid scenario");
            runner.run_with_packets(&scenario, 1, 0).map(|(_, packets)| packets.len())
        };
        assert!(packets("0.5 s").is_ok_and(|seen| seen > 1_000_000));
        assert_eq!(packets("1 s"), Err(Exit::TooLong));
    }

    #[test]
    fn a_run_that_takes_long_is_told_from_one_that_does_not_end() {
        let scenario = json!({
            "duration": "1000000 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "reno" }],
        });
        let scenario = Scenario::from_value(&scenario).expect("a valid scenario");
        let runner = Runner::new(Duration::from_secs(1), None);
        assert_eq!(runner.run(&scenario, 1, 0).map(|_| ()), Err(Exit::TooLong));
        // A clock that has not moved since half of the time.
        runner.watch.halfway.store(runner.watch.clock.load(Ordering::Relaxed), Ordering::Relaxed);
        assert!(matches!(runner.unended(), Exit::Broken(_)));
    }
}
