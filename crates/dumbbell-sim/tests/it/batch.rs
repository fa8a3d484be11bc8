//! A batch runs every job once, shares prefixes, and gives results bit-identical to single runs.

use crate::common::{late, unlimited};
use dumbbell_sim::{Batch, Job, Scenario};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

const VARIANTS: [&str; 3] = ["reno", "vegas", "sack"];

fn scenarios() -> Vec<Scenario> {
    VARIANTS.map(|variant| late(variant, json!({ "uniform": ["5 s", "6 s"] }))).to_vec()
}

/// Every scenario with runs 0 and 1, ordered by run or by scenario.
fn jobs(by_run: bool) -> Vec<Job> {
    let all = |outer: usize, inner: usize| {
        (0..outer).flat_map(move |one| (0..inner).map(move |other| (one, other)))
    };
    match by_run {
        true => all(2, 3).map(|(run, scenario)| (scenario, 7, run as u64)).collect(),
        false => all(3, 2).map(|(scenario, run)| (scenario, 7, run as u64)).collect(),
    }
}

/// The results of a batch by job, and the number of prefixes simulated.
fn run_batch(scenarios: &[Scenario], jobs: &[Job], threads: usize) -> (BTreeMap<usize, String>, usize) {
    let batch = Batch::new(scenarios, jobs);
    let (never, results) = (AtomicBool::new(false), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                batch.work(unlimited(&never), |job, outcome| {
                    let twice = results.lock().unwrap().insert(job, format!("{outcome:?}"));
                    assert!(twice.is_none());
                });
            });
        }
    });
    let prefixes = batch.prefixes();
    (results.into_inner().unwrap(), prefixes)
}

fn alone(scenarios: &[Scenario], jobs: &[Job]) -> BTreeMap<usize, String> {
    let run =
        |&(scenario, seed, run): &Job| format!("{:?}", dumbbell_sim::run(&scenarios[scenario], seed, run));
    jobs.iter().map(run).enumerate().collect()
}

#[test]
fn one_thread_simulates_each_prefix_once_in_any_job_order() {
    let scenarios = scenarios();
    for jobs in [jobs(true), jobs(false)] {
        assert_eq!(run_batch(&scenarios, &jobs, 1), (alone(&scenarios, &jobs), 2));
    }
}

#[test]
fn several_threads_run_each_job_once() {
    let (scenarios, jobs) = (scenarios(), jobs(false));
    for threads in [2, 3, 8] {
        let (results, prefixes) = run_batch(&scenarios, &jobs, threads);
        assert_eq!(results, alone(&scenarios, &jobs));
        // A helping thread simulates the prefix again, unless it takes the last job of the group.
        assert!((2..=4).contains(&prefixes), "{prefixes}");
    }
}

#[test]
fn scenarios_without_a_family_have_no_prefix() {
    let scenarios = scenarios();
    let one_each = [(0, 7, 0), (1, 7, 1), (2, 8, 0)];
    assert_eq!(run_batch(&scenarios, &one_each, 2), (alone(&scenarios, &one_each), 0));
    let at_once = VARIANTS.map(|variant| late(variant, Value::from("0 s")));
    assert_eq!(run_batch(&at_once, &jobs(true), 1).1, 0);
    assert_eq!(run_batch(&scenarios, &[], 2), (BTreeMap::new(), 0));
}

#[test]
fn a_stop_ends_a_batch() {
    let (scenarios, jobs) = (scenarios(), jobs(true));
    let (batch, stop) = (Batch::new(&scenarios, &jobs), AtomicBool::new(false));
    let mut completed = Vec::new();
    batch.work(&stop, |job, _| {
        completed.push(job);
        stop.store(completed.len() == 2, Ordering::Relaxed);
    });
    assert_eq!(completed, [0, 1]);
}
