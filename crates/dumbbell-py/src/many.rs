//! Many jobs on threads. Jobs are independent and results are kept by job, so neither the number
//! of threads nor their pace shows in what comes back.

use crate::columns::{self, ArrowColumns};
use dumbbell_sim::{Outcome, Scenario};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often progress is reported and interrupts are seen.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// The outcomes of the jobs that were completed.
#[pyclass(frozen)]
pub struct ManyResult(Vec<(u32, Outcome)>);

#[pymethods]
impl ManyResult {
    #[getter]
    fn flows(&self) -> PyResult<ArrowColumns> {
        columns::flows(self.0.iter().map(|(job, outcome)| (*job, outcome)))
    }

    #[getter]
    fn links(&self) -> PyResult<ArrowColumns> {
        columns::links(self.0.iter().map(|(job, outcome)| (*job, outcome)))
    }

    #[getter]
    fn completed(&self) -> usize {
        self.0.len()
    }
}

impl ManyResult {
    /// The outcomes with the jobs they belong to.
    pub fn into_outcomes(self) -> Vec<(u32, Outcome)> {
        self.0
    }
}

/// What the threads share.
struct Shared<'a> {
    scenarios: &'a [Scenario],
    jobs: &'a [(usize, u64, u64)],
    next: AtomicUsize,
    stop: AtomicBool,
    outcomes: Mutex<Vec<(u32, Outcome)>>,
    /// Threads still at work, with a signal when one ends.
    working: Mutex<usize>,
    one_ended: Condvar,
}

impl Shared<'_> {
    fn work(&self) {
        let _guard = Ended(self);
        while !self.stop.load(Ordering::Relaxed) {
            let job = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&(scenario, seed, run)) = self.jobs.get(job) else { break };
            let outcome = dumbbell_sim::run_unless(&self.stop, &self.scenarios[scenario], seed, run);
            let Some(mut outcome) = outcome else { break };
            if self.jobs.len() > 1 {
                // Many runs return their tables; only a single one hands its traces out.
                outcome.recordings.clear();
            }
            let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.push((job as u32, outcome));
        }
    }

    fn completed(&self) -> usize {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).len()
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

/// Says that a thread has ended, however it did.
struct Ended<'a>(&'a Shared<'a>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        *self.0.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.one_ended.notify_all();
    }
}

/// Runs every job. An interrupt, or an exception of `progress`, stops all jobs. It is raised again,
/// but for an interrupt with `partial`, which returns what was completed.
pub fn run(
    py: Python<'_>,
    scenarios: &[Scenario],
    jobs: &[(usize, u64, u64)],
    threads: usize,
    progress: Option<Py<PyAny>>,
    partial: bool,
) -> PyResult<ManyResult> {
    let threads = threads.clamp(1, jobs.len().max(1));
    let shared = Shared {
        scenarios,
        jobs,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        outcomes: Mutex::new(Vec::with_capacity(jobs.len())),
        working: Mutex::new(threads),
        one_ended: Condvar::new(),
    };
    let watched = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| shared.work());
        }
        let watched = watch(py, &shared, progress.as_ref());
        shared.stop.store(true, Ordering::Relaxed);
        py.detach(|| while shared.wait() {});
        watched
    });
    match watched {
        Err(error) if !(partial && error.is_instance_of::<PyKeyboardInterrupt>(py)) => return Err(error),
        _ => {}
    }
    let mut outcomes = shared.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_unstable_by_key(|(job, _)| *job);
    Ok(ManyResult(outcomes))
}

/// Reports progress until no thread works, or until an exception.
fn watch(py: Python<'_>, shared: &Shared<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    loop {
        let working = py.detach(|| shared.wait());
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1(py, (shared.completed(), shared.jobs.len()))?;
        }
        if !working {
            return Ok(());
        }
    }
}
