//! Every check holds for every scenario in `cases/`, and two kinds of them have additional requirements.

#![allow(clippy::disallowed_methods, reason = "an interruption is measured in time")]

use dumbbell_chaos::checks::{CHECKS, Tried, try_checks};
use dumbbell_chaos::exit::Exit;
use dumbbell_chaos::runner::Runner;
use dumbbell_chaos::violation;
use dumbbell_sim::{Scenario, run_unless};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(name)
}

fn scenario(name: &str) -> (Scenario, (u64, u64)) {
    let text = std::fs::read_to_string(file(name)).expect("the file can be read");
    let (value, seed_and_run) = violation::read(&text).expect("the scenario is valid");
    (Scenario::from_value(&value).expect("the scenario is valid"), seed_and_run)
}

#[test]
fn every_check_holds_for_every_case() {
    let worker = PathBuf::from(env!("CARGO_BIN_EXE_dumbbell-chaos"));
    let runner = Runner::new(Duration::from_secs(20), Some(worker));
    let mut broken = Vec::new();
    let mut names: Vec<String> = std::fs::read_dir(file(""))
        .expect("the directory can be read")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".toml") && name != INTERRUPT)
        .collect();
    names.sort();
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        let (scenario, seed_and_run) = scenario(&name);
        for Tried { check, verdict, .. } in try_checks(&scenario, seed_and_run, &runner, CHECKS.iter()) {
            if let Err(Exit::Broken(difference)) = verdict {
                broken.push(format!("{name}: {}: {difference}", check.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_transfer_that_makes_progress_is_not_given_up() {
    for name in ["giveup.toml", "given-up.toml"] {
        let (scenario, (seed, run)) = scenario(name);
        let outcome = dumbbell_sim::run(&scenario, seed, run);
        assert!(
            outcome.flows[0].completion_s.is_some(),
            "{name}: {} bytes",
            outcome.flows[0].bytes_delivered
        );
    }
}

/// A run of years, which is only interrupted.
const INTERRUPT: &str = "interrupt.toml";

#[test]
fn a_run_stops_within_a_second_of_the_flag() {
    let (scenario, (seed, run)) = scenario(INTERRUPT);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_unless(&stop, &scenario, seed, run).is_none());
        std::thread::park_timeout(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        let told = Instant::now();
        assert!(running.join().expect("no panic"), "the run ended by itself");
        let took = told.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    });
}
