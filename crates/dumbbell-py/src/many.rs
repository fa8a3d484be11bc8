//! Runs a batch on threads, with progress reports to Python and interruptions.

use crate::columns::{self, ArrowColumns};
use crate::control::Fault;
use crate::{EngineError, TransportError, refused};
use dumbbell_sim::capture::Tap;
use dumbbell_sim::journal::Request;
use dumbbell_sim::supervision::{MAX_IN_FLIGHT, MAX_SAMPLES};
use dumbbell_sim::{Batch, Excess, Job, Outcome, Overflow, Scenario, Supervision};
use dumbbell_units::Time;
use dumbbell_units::spec::SpecError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable that states how many samples the probes of a run may record.
const MAX_SAMPLES_NAME: &str = "DUMBBELL_MAX_SAMPLES";
/// The environment variable that limits the packets in flight.
const MAX_IN_FLIGHT_NAME: &str = "DUMBBELL_MAX_IN_FLIGHT";

/// Interval between progress reports and checks for interrupts.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Shortest time between two deliveries of completed jobs to the listener.
const HAND_OVER: Duration = Duration::from_secs(1);

/// The listener takes at most one part in so many of the time of a core: what it does once for each delivery adds up.
const LISTENER_SHARE: u32 = 10;

/// The outcomes of the jobs that were completed.
#[pyclass(frozen)]
pub struct ManyResult {
    outcomes: Arc<Vec<(u32, Outcome)>>,
    /// All completed jobs, including those delivered before.
    completed: usize,
    /// An interrupt stopped the batch; all jobs may have completed meanwhile.
    interrupted: bool,
}

#[pymethods]
impl ManyResult {
    #[getter]
    fn flows(&self) -> PyResult<ArrowColumns> {
        columns::flows(self.each())
    }

    #[getter]
    fn links(&self) -> PyResult<ArrowColumns> {
        columns::links(self.each())
    }

    #[getter]
    fn traces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let recordings = self
            .each()
            .flat_map(|(job, outcome)| outcome.recordings.iter().map(move |recording| (job, recording)));
        columns::traces(py, &recordings.collect::<Vec<_>>(), true)
    }

    #[getter]
    fn completed(&self) -> usize {
        self.completed
    }

    #[getter]
    fn interrupted(&self) -> bool {
        self.interrupted
    }
}

impl ManyResult {
    /// The outcomes with the jobs they belong to.
    pub fn into_outcomes(self) -> Vec<(u32, Outcome)> {
        Arc::unwrap_or_clone(self.outcomes)
    }

    fn each(&self) -> impl Iterator<Item = (u32, &Outcome)> {
        self.outcomes.iter().map(|(job, outcome)| (*job, outcome))
    }
}

/// The message of a panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "no message".to_owned())
}

/// The exception of an engine that failed.
pub fn internal_error(text: &str) -> PyErr {
    EngineError::new_err(format!("internal error of the engine, please report it: {text}"))
}

/// State shared by the threads.
struct Shared<'a> {
    batch: Batch<'a>,
    /// Stops the batch, possibly with an exception of a control in Python.
    end: &'a Fault,
    outcomes: Mutex<Vec<(u32, Outcome)>>,
    completed: AtomicUsize,
    /// Simulated time of the run in progress, in ns; of any run if there are several.
    clock: AtomicU64,
    max_samples: u64,
    max_in_flight: u64,
    journal: Option<Request>,
    tap: Option<&'a dyn Tap>,
    /// The error message of a failed engine.
    fault: Mutex<Option<String>>,
    /// Threads still at work, with a signal when one ends.
    working: Mutex<usize>,
    one_ended: Condvar,
}

impl Shared<'_> {
    /// Runs jobs. If the engine fails, no thread starts another one.
    fn work(&self) {
        let _guard = Ended(self);
        let on_outcome = |job, outcome: Outcome| {
            if let Some(overflow) = outcome.overflow {
                self.end.set(refused(&too_many(overflow)));
                return;
            }
            if let Some(failure) = outcome.failure {
                self.end.set(TransportError::new_err(failure));
                return;
            }
            let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.push((job as u32, outcome));
            self.completed.fetch_add(1, Ordering::Relaxed);
        };
        let supervision = Supervision {
            clock: Some(&self.clock),
            max_samples: self.max_samples,
            max_in_flight: self.max_in_flight,
            journal: self.journal,
            tap: self.tap,
            ..Supervision::from(&self.end.stop)
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.batch.work(supervision, on_outcome))) {
            self.end.stop.store(true, Ordering::Relaxed);
            let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.get_or_insert_with(|| message(&*panic));
        }
    }

    /// The error of an engine that failed.
    fn fault(&self) -> Option<PyErr> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(internal_error(&fault))
    }

    fn completed(&self) -> usize {
        self.completed.load(Ordering::Relaxed)
    }

    /// Takes the completed jobs, in order.
    fn take(&self) -> ManyResult {
        let mut outcomes = std::mem::take(&mut *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner));
        outcomes.sort_unstable_by_key(|(job, _)| *job);
        ManyResult { outcomes: Arc::new(outcomes), completed: self.completed(), interrupted: false }
    }

    /// Puts back outcomes that were not accepted.
    fn put_back(&self, outcomes: &[(u32, Outcome)]) {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(outcomes);
    }

    /// Waits a heartbeat, or less if a thread ends. True while threads work.
    fn wait(&self) -> bool {
        let working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        if *working == 0 {
            return false;
        }
        let waited = self.one_ended.wait_timeout(working, HEARTBEAT);
        *waited.unwrap_or_else(PoisonError::into_inner).0 > 0
    }
}

/// The error of a run that needs too much memory.
fn too_many(overflow: Overflow) -> SpecError {
    let Overflow { of, count, limit, at } = overflow;
    let (field, what, accepted, name) = match of {
        Excess::Samples => (
            "probes",
            "samples in the first",
            "samples in a run: a period, fewer flows, links or quantities",
            MAX_SAMPLES_NAME,
        ),
        Excess::Packets => (
            "flows",
            "packets in flight after",
            "packets in flight and in queues: smaller windows, bursts or rates",
            MAX_IN_FLIGHT_NAME,
        ),
    };
    SpecError {
        field: field.to_owned(),
        value: format!("{count} {what} {:.6} s", at.secs()),
        accepted: format!(
            "at most {limit} {accepted}, or a larger number in the environment variable {name}"
        ),
        suggestion: None,
    }
}

/// A limit that an environment variable may replace.
pub fn limit(name: &str, default: u64) -> PyResult<u64> {
    let Some(stated) = std::env::var_os(name) else { return Ok(default) };
    let stated = stated.to_string_lossy().into_owned();
    stated.trim().parse().ok().filter(|&limit| limit > 0).ok_or_else(|| {
        refused(&SpecError {
            field: name.to_owned(),
            value: format!("\"{stated}\""),
            accepted: "a whole number, at least 1".to_owned(),
            suggestion: None,
        })
    })
}

/// Signals that a thread has ended for any reason.
struct Ended<'a>(&'a Shared<'a>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        *self.0.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.one_ended.notify_all();
    }
}

/// Listeners for running jobs, and what they want to know.
#[derive(Default)]
pub struct Listeners<'a> {
    /// Called with the number of completed jobs and of all jobs.
    pub progress: Option<Py<PyAny>>,
    /// Called about once per second, or less often if that would take more than a tenth of a core, with the results of the
    /// jobs completed since, which are then not among those returned. Results for which it raises an exception are passed
    /// again at the end.
    pub finished: Option<Py<PyAny>>,
    /// Called with the simulated time of the run in progress, in seconds.
    pub clock: Option<Py<PyAny>>,
    /// The flow and the time for which runs keep a journal.
    pub journal: Option<Request>,
    /// What receives the packets, if there is a single job.
    pub tap: Option<&'a dyn Tap>,
}

/// Runs every job. An interrupt, an exception of a listener or of a control in Python, or a fault of the engine stops
/// all jobs and is raised again, except an interrupt with `partial`, which returns the completed jobs.
pub fn run(
    py: Python<'_>,
    scenarios: &[Scenario],
    jobs: &[Job],
    threads: usize,
    listeners: &Listeners<'_>,
    partial: bool,
    end: &Fault,
) -> PyResult<ManyResult> {
    let threads = threads.clamp(1, jobs.len().max(1));
    let shared = Shared {
        batch: Batch::new(scenarios, jobs),
        end,
        outcomes: Mutex::new(Vec::new()),
        completed: AtomicUsize::new(0),
        clock: AtomicU64::new(0),
        max_samples: limit(MAX_SAMPLES_NAME, MAX_SAMPLES)?,
        max_in_flight: limit(MAX_IN_FLIGHT_NAME, MAX_IN_FLIGHT)?,
        journal: listeners.journal,
        tap: listeners.tap,
        fault: Mutex::new(None),
        working: Mutex::new(threads),
        one_ended: Condvar::new(),
    };
    // Threads detach from the interpreter before they end, so whoever joins them must not hold its lock.
    let watched = py.detach(|| {
        std::thread::scope(|scope| {
            let mut unstarted = Vec::new();
            for _ in 0..threads {
                // Controls in Python attach at less cost from a thread that the interpreter knows.
                let work = || Python::attach(|py| py.detach(|| shared.work()));
                if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                    drop(Ended(&shared));
                    unstarted.push(error);
                }
            }
            let watched = if unstarted.len() < threads {
                // Those that could be started do all of the work.
                Python::attach(|py| watch(py, &shared, listeners))
            } else {
                Err(PyMemoryError::new_err(format!("no thread: {}", unstarted[0])))
            };
            end.stop.store(true, Ordering::Relaxed);
            while shared.wait() {}
            watched
        })
    });
    if let Some(finished) = &listeners.finished {
        hand_over(py, &shared, finished)?;
    }
    if let Some(error) = shared.fault().or_else(|| end.take()) {
        return Err(error);
    }
    match watched {
        Err(error) if !(partial && error.is_instance_of::<PyKeyboardInterrupt>(py)) => Err(error),
        watched => Ok(ManyResult { interrupted: watched.is_err(), ..shared.take() }),
    }
}

fn hand_over(py: Python<'_>, shared: &Shared<'_>, finished: &Py<PyAny>) -> PyResult<()> {
    let results = shared.take();
    let outcomes = Arc::clone(&results.outcomes);
    if outcomes.is_empty() {
        return Ok(());
    }
    finished.call1(py, (results,)).map(drop).inspect_err(|_| shared.put_back(&outcomes))
}

#[expect(clippy::disallowed_methods, reason = "when results are delivered is no part of them")]
fn now() -> Instant {
    Instant::now()
}

/// Calls the listeners until no thread is running, or until an exception.
fn watch(py: Python<'_>, shared: &Shared<'_>, listeners: &Listeners<'_>) -> PyResult<()> {
    let mut due = now() + HAND_OVER;
    loop {
        let working = py.detach(|| shared.wait());
        py.check_signals()?;
        let begin = now();
        if let Some(finished) = &listeners.finished
            && begin >= due
        {
            hand_over(py, shared, finished)?;
            let end = now();
            due = end + HAND_OVER.max((end - begin) * LISTENER_SHARE);
        }
        if let Some(progress) = &listeners.progress {
            progress.call1(py, (shared.completed(), shared.batch.jobs()))?;
        }
        if let Some(clock) = &listeners.clock {
            let reached = Time(shared.clock.load(Ordering::Relaxed));
            clock.call1(py, (reached.secs(),))?;
        }
        if !working {
            return Ok(());
        }
    }
}
