//! A run in steps equals the complete run, and pauses where it should.

use crate::common::late;
use dumbbell_sim::{Excess, Steps, Supervision};
use dumbbell_units::Time;
use serde_json::json;
use std::sync::atomic::AtomicBool;

#[test]
fn pauses_change_no_bit() {
    let never = AtomicBool::new(false);
    for complete in [true, false] {
        let mut scenario = late("reno", json!("5 s"));
        if !complete {
            scenario.stop_when_complete.clear();
        }
        let whole = format!("{:?}", dumbbell_sim::run(&scenario, 3, 1));
        let mut regular = Steps::new(&scenario, 3, 1);
        while !regular.is_over() {
            let until = regular.now() + Time(7_300_000);
            regular.run_until(&never, until).unwrap();
        }
        assert_eq!(format!("{:?}", regular.finish(&never).unwrap()), whole);
        for count in [0, 100, 4_321] {
            let mut by_events = Steps::new(&scenario, 3, 1);
            while !by_events.is_over() {
                let before = (by_events.now(), by_events.events());
                by_events.run_events(&never, count).unwrap();
                assert!((by_events.now(), by_events.events()) > before);
                // A pause is looked for with every 64th event.
                assert!(by_events.events() < before.1 + count.max(64) + 64);
            }
            assert_eq!(format!("{:?}", by_events.finish(&never).unwrap()), whole);
        }
        let mut by_instant = Steps::new(&scenario, 3, 1);
        for _ in 0..1000 {
            let before = by_instant.now();
            by_instant.run_next(&never).unwrap();
            assert!(by_instant.now() >= before);
        }
        assert_eq!(format!("{:?}", by_instant.finish(&never).unwrap()), whole);
    }
}

#[test]
fn a_step_ends_at_its_time_or_with_the_run() {
    let never = AtomicBool::new(false);
    let mut scenario = late("reno", json!("5 s"));
    scenario.stop_when_complete.clear();
    let mut steps = Steps::new(&scenario, 1, 0);
    // A time at which nothing happens is the end of a step, too.
    steps.run_until(&never, Time(12_345)).unwrap();
    assert_eq!((steps.now(), steps.is_over()), (Time(12_345), false));
    steps.run_until(&never, Time::NEVER).unwrap();
    assert_eq!((steps.now(), steps.is_over()), (scenario.duration, true));
}

#[test]
fn a_stop_ends_a_step() {
    let (never, now) = (AtomicBool::new(false), AtomicBool::new(true));
    let scenario = late("reno", json!("0 s"));
    let mut steps = Steps::new(&scenario, 1, 0);
    assert!(steps.run_until(&now, scenario.duration).is_none());
    assert!(!steps.is_over());
    assert!(steps.run_until(&never, scenario.duration).is_some());
    assert!(steps.is_over());
}

#[test]
fn a_run_beyond_a_limit_is_over_and_says_so() {
    let never = AtomicBool::new(false);
    let mut scenario = late("reno", json!("5 s"));
    scenario.stop_when_complete.clear();
    let few = Supervision { max_in_flight: 3, ..Supervision::from(&never) };
    let mut steps = Steps::limited(&scenario, (1, 0), &few);
    while !steps.is_over() {
        steps.run_events(&never, 1_000).unwrap();
    }
    assert!(steps.now() < scenario.duration);
    assert_eq!(steps.finish(&never).unwrap().overflow.map(|overflow| overflow.of), Some(Excess::Packets));
}
