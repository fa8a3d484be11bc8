//! Distributes jobs to any number of threads. Jobs are independent and outcomes carry their job, so results do not
//! depend on the number of threads or their speed.

use crate::outcome::Outcome;
use crate::prefix::{Families, SharedPrefix};
use crate::scenario::Scenario;
use crate::supervision::Supervision;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The position of a scenario, a seed and a run.
pub type Job = (usize, u64, u64);

/// Jobs with a shared prefix, or a single job. One thread simulates the prefix and branches from it. Others help only
/// when nothing else is left, because they have to simulate the prefix again.
struct Group {
    jobs: Vec<usize>,
    next: AtomicUsize,
}

impl Group {
    /// The next job, and whether more jobs of its group follow.
    fn take(&self) -> Option<(usize, bool)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        self.jobs.get(at).map(|&job| (job, at + 1 < self.jobs.len()))
    }
}

/// Jobs in groups with a shared prefix.
pub struct Batch<'a> {
    scenarios: &'a [Scenario],
    jobs: &'a [Job],
    families: Families,
    groups: Vec<Group>,
    next_group: AtomicUsize,
    prefixes: AtomicUsize,
}

impl<'a> Batch<'a> {
    /// A batch of jobs, none of which has run. Every job names one of the scenarios.
    pub fn new(scenarios: &'a [Scenario], jobs: &'a [Job]) -> Self {
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
        let (next_group, prefixes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Batch { scenarios, jobs, families, groups, next_group, prefixes }
    }

    /// The number of jobs.
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// How many shared prefixes have been simulated.
    pub fn prefixes(&self) -> usize {
        self.prefixes.load(Ordering::Relaxed)
    }

    /// Runs jobs until none is left or they are to stop, and reports each outcome with the position of its job. Several
    /// threads may call this and share the jobs.
    pub fn work<'s>(
        &self,
        supervision: impl Into<Supervision<'s>>,
        mut on_outcome: impl FnMut(usize, Outcome),
    ) {
        let supervision = &supervision.into();
        while let Some(group) = self.groups.get(self.next_group.fetch_add(1, Ordering::Relaxed)) {
            self.work_on(group, supervision, &mut on_outcome);
        }
        self.groups.iter().for_each(|group| self.work_on(group, supervision, &mut on_outcome));
    }

    /// Runs the remaining jobs of a group.
    fn work_on(
        &self,
        group: &Group,
        supervision: &Supervision<'_>,
        on_outcome: &mut impl FnMut(usize, Outcome),
    ) {
        let mut prefix = None;
        while !supervision.stop.load(Ordering::Relaxed) {
            let Some((job, is_followed)) = group.take() else { break };
            let Some(outcome) = self.run(supervision, job, is_followed, &mut prefix) else { break };
            on_outcome(job, outcome);
        }
    }

    /// Runs a job, from the shared prefix of its group if that exists or other jobs need it.
    fn run(
        &self,
        supervision: &Supervision<'_>,
        job: usize,
        is_followed: bool,
        prefix: &mut Option<SharedPrefix<'a>>,
    ) -> Option<Outcome> {
        let (index, seed, run) = self.jobs[job];
        let scenario = &self.scenarios[index];
        if prefix.is_none()
            && is_followed
            && let Some(family) = self.families.of(index)
        {
            *prefix =
                Some(SharedPrefix::simulate(supervision, &self.families, family, scenario, (seed, run))?);
            self.prefixes.fetch_add(1, Ordering::Relaxed);
        }
        match prefix {
            Some(prefix) => prefix.branch(supervision, scenario),
            None => crate::run_unless(*supervision, scenario, seed, run),
        }
    }
}
