//! Many jobs on threads. Jobs are independent and results are kept by job, so neither the number
//! of threads nor their pace shows in what comes back.

use crate::columns::{self, ArrowColumns};
use dumbbell_sim::{Families, Outcome, Scenario, Trunk};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often progress is reported and interrupts are seen.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Heartbeats, at most, between two times finished jobs are handed over to whoever wants them early.
const HAND_OVER: u32 = 10;

/// The outcomes of the jobs that were completed.
#[pyclass(frozen)]
pub struct ManyResult {
    outcomes: Arc<Vec<(u32, Outcome)>>,
    /// All that were completed, also those handed over before.
    completed: usize,
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

/// Jobs that begin alike, or one alone. One thread makes the beginning and goes on from there; others help only when nothing
/// else is left, as they have to make it again.
struct Group {
    jobs: Vec<usize>,
    next: AtomicUsize,
}

impl Group {
    /// The next job, and whether others follow it.
    fn take(&self) -> Option<(usize, bool)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        self.jobs.get(at).map(|&job| (job, at + 1 < self.jobs.len()))
    }
}

/// The jobs, in groups that begin alike.
struct Jobs<'a> {
    scenarios: &'a [Scenario],
    jobs: &'a [(usize, u64, u64)],
    families: Families,
    groups: Vec<Group>,
}

impl<'a> Jobs<'a> {
    fn new(scenarios: &'a [Scenario], jobs: &'a [(usize, u64, u64)]) -> Self {
        let families = Families::new(scenarios);
        let mut known = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        for (job, &(scenario, seed, run)) in jobs.iter().enumerate() {
            let new = groups.len();
            let group = match families.of(scenario) {
                Some(family) => *known.entry((family, seed, run)).or_insert(new),
                None => new,
            };
            if group == new {
                groups.push(Group { jobs: Vec::new(), next: AtomicUsize::new(0) });
            }
            groups[group].jobs.push(job);
        }
        Jobs { scenarios, jobs, families, groups }
    }

    /// Runs a job, from the beginning of its group if it is there or others will need it.
    fn run(
        &self,
        stop: &AtomicBool,
        job: usize,
        is_followed: bool,
        trunk: &mut Option<Trunk<'a>>,
    ) -> Option<Outcome> {
        let (index, seed, run) = self.jobs[job];
        let scenario = &self.scenarios[index];
        if trunk.is_none()
            && is_followed
            && let Some(family) = self.families.of(index)
        {
            *trunk = Some(Trunk::grow(stop, &self.families, family, scenario, (seed, run))?);
        }
        match trunk {
            Some(trunk) => trunk.branch(stop, scenario),
            None => dumbbell_sim::run_unless(stop, scenario, seed, run),
        }
    }
}

/// What the threads share.
struct Shared<'a> {
    jobs: Jobs<'a>,
    next_group: AtomicUsize,
    stop: AtomicBool,
    outcomes: Mutex<Vec<(u32, Outcome)>>,
    completed: AtomicUsize,
    /// Threads still at work, with a signal when one ends.
    working: Mutex<usize>,
    one_ended: Condvar,
}

impl Shared<'_> {
    fn work(&self) {
        let _guard = Ended(self);
        while let Some(group) = self.jobs.groups.get(self.next_group.fetch_add(1, Ordering::Relaxed)) {
            self.work_on(group);
        }
        self.jobs.groups.iter().for_each(|group| self.work_on(group));
    }

    /// Runs what is left of a group.
    fn work_on(&self, group: &Group) {
        let mut trunk = None;
        while !self.stop.load(Ordering::Relaxed) {
            let Some((job, is_followed)) = group.take() else { break };
            let Some(outcome) = self.jobs.run(&self.stop, job, is_followed, &mut trunk) else { break };
            let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.push((job as u32, outcome));
            self.completed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn completed(&self) -> usize {
        self.completed.load(Ordering::Relaxed)
    }

    /// Takes what is there, in the order of the jobs.
    fn take(&self) -> ManyResult {
        let mut outcomes = std::mem::take(&mut *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner));
        outcomes.sort_unstable_by_key(|(job, _)| *job);
        ManyResult { outcomes: Arc::new(outcomes), completed: self.completed() }
    }

    /// Puts back what nobody took over.
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

/// Says that a thread has ended, however it did.
struct Ended<'a>(&'a Shared<'a>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        *self.0.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.one_ended.notify_all();
    }
}

/// What is told of the jobs while they run.
#[derive(Default)]
pub struct Listeners {
    /// Called with the number of completed jobs and of all jobs.
    pub progress: Option<Py<PyAny>>,
    /// Called about once a second with the results of the jobs completed since, which are then not
    /// among those returned. What it raises an exception for, it is given once more at the end.
    pub finished: Option<Py<PyAny>>,
}

/// Runs every job. An interrupt, or an exception of a listener, stops all jobs. It is raised again,
/// but for an interrupt with `partial`, which returns what was completed.
pub fn run(
    py: Python<'_>,
    scenarios: &[Scenario],
    jobs: &[(usize, u64, u64)],
    threads: usize,
    listeners: &Listeners,
    partial: bool,
) -> PyResult<ManyResult> {
    let threads = threads.clamp(1, jobs.len().max(1));
    let shared = Shared {
        jobs: Jobs::new(scenarios, jobs),
        next_group: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        outcomes: Mutex::new(Vec::new()),
        completed: AtomicUsize::new(0),
        working: Mutex::new(threads),
        one_ended: Condvar::new(),
    };
    let watched = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| shared.work());
        }
        let watched = watch(py, &shared, listeners);
        shared.stop.store(true, Ordering::Relaxed);
        py.detach(|| while shared.wait() {});
        watched
    });
    if let Some(finished) = &listeners.finished {
        hand_over(py, &shared, finished)?;
    }
    match watched {
        Err(error) if !(partial && error.is_instance_of::<PyKeyboardInterrupt>(py)) => Err(error),
        _ => Ok(shared.take()),
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

/// Tells the listeners until no thread works, or until an exception.
fn watch(py: Python<'_>, shared: &Shared<'_>, listeners: &Listeners) -> PyResult<()> {
    let mut beats = 0;
    loop {
        let working = py.detach(|| shared.wait());
        beats += 1;
        py.check_signals()?;
        if let Some(finished) = &listeners.finished
            && beats >= HAND_OVER
        {
            hand_over(py, shared, finished)?;
            beats = 0;
        }
        if let Some(progress) = &listeners.progress {
            progress.call1(py, (shared.completed(), shared.jobs.jobs.len()))?;
        }
        if !working {
            return Ok(());
        }
    }
}
