//! A batch makes every job once, shares prefixes, and has the bits of single runs.

mod common;

use common::late;
use dumbbell_sim::{Batch, Job, Scenario};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

const VARIANTS: [&str; 3] = ["reno", "vegas", "sack"];

fn scenarios() -> Vec<Scenario> {
    VARIANTS.map(|variant| late(variant, json!({ "uniform": ["5 s", "6 s"] }))).to_vec()
}

/// Every scenario with runs 0 and 1, run by run or scenario by scenario.
fn jobs(by_run: bool) -> Vec<Job> {
    let all = |outer: usize, inner: usize| {
        (0..outer).flat_map(move |one| (0..inner).map(move |other| (one, other)))
    };
    match by_run {
        true => all(2, 3).map(|(run, scenario)| (scenario, 7, run as u64)).collect(),
        false => all(3, 2).map(|(scenario, run)| (scenario, 7, run as u64)).collect(),
    }
}

/// What a batch on some threads tells, by job, and how many prefixes it made.
fn made(scenarios: &[Scenario], jobs: &[Job], threads: usize) -> (BTreeMap<usize, String>, usize) {
    let batch = Batch::new(scenarios, jobs);
    let (never, told) = (AtomicBool::new(false), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                batch.work(&never, |job, outcome| {
                    let twice = told.lock().unwrap().insert(job, format!("{outcome:?}"));
                    assert!(twice.is_none());
                });
            });
        }
    });
    let prefixes = batch.prefixes();
    (told.into_inner().unwrap(), prefixes)
}

fn alone(scenarios: &[Scenario], jobs: &[Job]) -> BTreeMap<usize, String> {
    let run =
        |&(scenario, seed, run): &Job| format!("{:?}", dumbbell_sim::run(&scenarios[scenario], seed, run));
    jobs.iter().map(run).enumerate().collect()
}

#[test]
fn one_thread_makes_every_beginning_once_in_any_order_of_the_jobs() {
    let scenarios = scenarios();
    for jobs in [jobs(true), jobs(false)] {
        assert_eq!(made(&scenarios, &jobs, 1), (alone(&scenarios, &jobs), 2));
    }
}

#[test]
fn several_threads_make_each_job_once() {
    let (scenarios, jobs) = (scenarios(), jobs(false));
    for threads in [2, 3, 8] {
        let (told, prefixes) = made(&scenarios, &jobs, threads);
        assert_eq!(told, alone(&scenarios, &jobs));
        // A helper makes the beginning again, unless the job it gets is the group's last.
        assert!((2..=4).contains(&prefixes), "{prefixes}");
    }
}

#[test]
fn what_nobody_shares_has_no_beginning_of_its_own() {
    let scenarios = scenarios();
    let one_each = [(0, 7, 0), (1, 7, 1), (2, 8, 0)];
    assert_eq!(made(&scenarios, &one_each, 2), (alone(&scenarios, &one_each), 0));
    let at_once = VARIANTS.map(|variant| late(variant, Value::from("0 s")));
    assert_eq!(made(&at_once, &jobs(true), 1).1, 0);
    assert_eq!(made(&scenarios, &[], 2), (BTreeMap::new(), 0));
}

#[test]
fn a_stop_ends_a_batch() {
    let (scenarios, jobs) = (scenarios(), jobs(true));
    let (batch, stop) = (Batch::new(&scenarios, &jobs), AtomicBool::new(false));
    let mut told = Vec::new();
    batch.work(&stop, |job, _| {
        told.push(job);
        stop.store(told.len() == 2, Ordering::Relaxed);
    });
    assert_eq!(told, [0, 1]);
}
