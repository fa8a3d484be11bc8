//! Properties of every registered congestion control, whatever the events.

use dumbbell_cc::conformance::{Drive, MSS, PROPERTIES, setup, the_window_grows_while_nothing_is_lost};
use dumbbell_cc::{
    Algorithm, AlgorithmSpec, GrowPer, GrowWhen, Growth, Mechanisms, ProbeInfo, SlowStartSpec, WindowRules,
};
use std::collections::BTreeMap;

fn algorithm(rules: WindowRules, name: &str, bits: u16) -> Algorithm {
    let spec = AlgorithmSpec::named(name).expect("a registered name");
    Algorithm::new(&spec, &setup().with_mechanisms(Mechanisms::from_bits(bits)).with_rules(rules))
}

fn driven(rules: WindowRules, name: &str, bits: u16, seed: u64) -> Drive {
    Drive::new(algorithm(rules, name, bits), seed)
}

fn every_case(mut check: impl FnMut(&str, u16)) {
    for name in AlgorithmSpec::NAMES {
        for bits in [0, 0b01_1111_1111, 0b10_0000_0011, 0b00_0011_0000] {
            check(name, bits);
        }
    }
}

#[test]
fn every_algorithm_has_all_properties() {
    every_case(|name, bits| {
        for property in PROPERTIES {
            let found = property(&|| algorithm(WindowRules::default(), name, bits));
            assert_eq!(found, Ok(()), "{name}");
        }
    });
}

#[test]
fn every_window_grows_while_nothing_is_lost() {
    for name in AlgorithmSpec::NAMES {
        let found = the_window_grows_while_nothing_is_lost(&|| algorithm(WindowRules::default(), name, 0));
        assert_eq!(found, Ok(()), "{name}");
    }
}

#[test]
fn every_slow_start_grows_to_the_threshold_and_never_if_the_window_is_unused() {
    for name in SlowStartSpec::NAMES {
        let slow_start = SlowStartSpec::named(name).expect("a registered name");
        let rules = WindowRules { slow_start, ..WindowRules::default() };
        let taking = AlgorithmSpec::NAMES.iter().filter_map(|name| AlgorithmSpec::named(name));
        for spec in taking.filter(AlgorithmSpec::takes_slow_start) {
            let mut steady = driven(rules, spec.name(), 0, 0);
            for _ in 0..100 {
                steady.now += 10_000_000;
                steady.fill();
                steady.acknowledge(1, false);
            }
            assert!(steady.algorithm.cwnd() >= steady.algorithm.ssthresh(), "{name}");
            let mut random = driven(rules, spec.name(), 0, 1);
            for step in 0..20_000 {
                random.is_unused = step / 50 % 2 == 1;
                random.step();
                let cwnd = random.algorithm.cwnd();
                let may_grow = random.algorithm.grows_unused() || random.unused_growth <= 0.0;
                assert!(cwnd.is_finite() && cwnd >= MSS && may_grow, "{name}: {cwnd}");
            }
        }
    }
}

#[test]
fn windows_that_grow_by_segments_keep_all_properties() {
    for growth in [Growth::Real, Growth::Segments] {
        let rules = WindowRules { growth, grow_per: GrowPer::Segment, ..WindowRules::default() };
        every_case(|name, bits| {
            let mut drive = driven(rules, name, bits, 6);
            for step in 0..10_000 {
                drive.is_unused = step / 50 % 2 == 1;
                drive.step();
                let cwnd = drive.algorithm.cwnd();
                assert!(
                    cwnd.is_finite() && (MSS..=drive.max_window.max(40.0 * MSS)).contains(&cwnd),
                    "{name}: {cwnd}"
                );
                let may_grow = drive.algorithm.is_model_based() || drive.algorithm.grows_unused();
                assert!(may_grow || drive.unused_growth <= 0.0, "{name}: by {} bytes", drive.unused_growth);
            }
        });
    }
}

#[test]
fn every_unused_window_grows_if_the_rules_allow_it() {
    let rules = WindowRules { grow_when: GrowWhen::Always, ..WindowRules::default() };
    for name in AlgorithmSpec::NAMES {
        let mut drive = driven(rules, name, 0, 0);
        drive.is_unused = true;
        for _ in 0..50 {
            drive.now += 10_000_000;
            drive.fill();
            drive.acknowledge(1, false);
        }
        assert!(drive.algorithm.cwnd() > 2.0 * MSS, "{name}");
    }
}

#[test]
fn probes_have_one_meaning_and_a_value_per_index() {
    let mut known: BTreeMap<&str, ProbeInfo> = BTreeMap::new();
    for name in AlgorithmSpec::NAMES {
        let mut drive = driven(WindowRules::default(), name, 0b01_1111_1111, 5);
        for _ in 0..2000 {
            drive.step();
        }
        let declared = AlgorithmSpec::named(name).expect("a registered name").probes();
        assert_eq!(drive.algorithm.probes(), declared);
        for (index, probe) in declared.iter().enumerate() {
            assert_eq!(known.entry(probe.name).or_insert(*probe), probe, "{name}");
            assert!(drive.algorithm.probe(index).is_some_and(f64::is_finite), "{name}: {}", probe.name);
        }
        assert_eq!(drive.algorithm.probe(declared.len()), None, "{name} answers for more than it declares");
    }
}
