//! A run branched from a shared prefix equals the complete run.

use crate::common::{late, unlimited};
use dumbbell_sim::{Families, Scenario, SharedPrefix};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

fn between() -> Value {
    json!({ "uniform": ["5 s", "6 s"] })
}

#[test]
fn a_branch_is_bit_identical_to_a_complete_run() {
    let scenarios = ["reno", "vegas", "sack", "tahoe"].map(|variant| late(variant, between()));
    let families = Families::new(&scenarios);
    let never = AtomicBool::new(false);
    for run in 0..3 {
        let prefix =
            SharedPrefix::simulate(&unlimited(&never), &families, 0, &scenarios[0], (7, run)).unwrap();
        let mut fingerprints = Vec::new();
        for scenario in &scenarios {
            let branch = prefix.branch(&unlimited(&never), scenario).unwrap();
            let whole = dumbbell_sim::run(scenario, 7, run);
            assert_eq!(format!("{branch:?}"), format!("{whole:?}"));
            fingerprints.push(branch.fingerprint);
        }
        fingerprints.dedup();
        assert_eq!(fingerprints.len(), 4);
    }
}

#[test]
fn only_scenarios_with_a_common_prefix_form_a_family() {
    let family = |scenarios: &[Scenario]| {
        let families = Families::new(scenarios);
        (0..scenarios.len()).map(|index| families.of(index)).collect::<Vec<_>>()
    };
    let mut other = late("vegas", between());
    other.links[0].delay.0 += 1;
    let of_both = family(&[late("reno", between()), late("vegas", between()), other]);
    assert_eq!(of_both, [Some(0), Some(0), None]);
    // A difference at time 0 leaves no shared prefix, and two equal scenarios have nothing to branch for.
    assert_eq!(family(&[late("reno", json!("0 s")), late("vegas", json!("0 s"))]), [None, None]);
    assert_eq!(family(&[late("reno", between()), late("reno", between())]), [None, None]);
    assert_eq!(family(&[late("reno", between())]), [None]);
}

#[test]
fn a_run_that_ends_within_the_prefix_is_complete() {
    let mut scenarios = ["reno", "vegas"].map(|variant| late(variant, json!("40 s")));
    scenarios.iter_mut().for_each(|scenario| scenario.stop_when_complete.clear());
    let families = Families::new(&scenarios);
    let never = AtomicBool::new(false);
    let prefix = SharedPrefix::simulate(&unlimited(&never), &families, 0, &scenarios[0], (1, 0)).unwrap();
    let branch = prefix.branch(&unlimited(&never), &scenarios[1]).unwrap();
    assert_eq!(format!("{branch:?}"), format!("{:?}", dumbbell_sim::run(&scenarios[1], 1, 0)));
}

#[test]
fn a_stop_ends_prefix_and_branch() {
    let scenarios = ["reno", "vegas"].map(|variant| late(variant, between()));
    let families = Families::new(&scenarios);
    let (never, now) = (AtomicBool::new(false), AtomicBool::new(true));
    let prefix = SharedPrefix::simulate(&unlimited(&never), &families, 0, &scenarios[0], (1, 0)).unwrap();
    assert!(prefix.branch(&unlimited(&never), &scenarios[1]).is_some());
    let mut busy = scenarios.clone();
    for scenario in &mut busy {
        scenario.duration.0 *= 100;
        scenario.stop_when_complete.clear();
    }
    let families = Families::new(&busy);
    let prefix = SharedPrefix::simulate(&unlimited(&never), &families, 0, &busy[0], (1, 0)).unwrap();
    assert!(prefix.branch(&unlimited(&now), &busy[1]).is_none());
}
