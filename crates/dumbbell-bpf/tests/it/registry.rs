//! The twins declare what the registry declares: the same algorithms, parameters, defaults, ranges and probes, up to
//! their scales and to the stated list of what is missing.

use dumbbell_bpf::{MISSING, Missing, Parameter, Scale, Twin};
use dumbbell_cc::{AlgorithmSpec, Mechanisms};
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members, Node};

fn spec(twin: Twin) -> AlgorithmSpec {
    AlgorithmSpec::named(twin.name()).unwrap_or_else(|| panic!("{} is in no registry", twin.name()))
}

/// The declared parameters of an algorithm with their defaults.
fn declared(name: &str) -> Members {
    let algorithms = AlgorithmSpec::algorithms();
    let entries = algorithms.as_array().expect("a list");
    let entry = entries.iter().find(|entry| entry["name"] == name).expect("a registered name");
    let parameters = entry["parameters"].as_array().expect("a list");
    parameters
        .iter()
        .map(|parameter| {
            (parameter["name"].as_str().expect("a name").to_owned(), parameter["default"].clone())
        })
        .collect()
}

/// True if the registry accepts the value. A band may be contradictory beside a default: that is another check.
fn registry_accepts(algorithm: &str, parameter: &str, value: Value) -> bool {
    let mut table = Members::new();
    table.insert("name".into(), algorithm.into());
    table.insert(parameter.into(), value);
    AlgorithmSpec::decode(&Node::root(&Value::Object(table))).is_ok()
}

fn of_scenario(twin: Twin) -> Vec<Parameter> {
    twin.parameters().into_iter().filter(|parameter| parameter.mechanism.is_none()).collect()
}

fn is_missing(what: Missing) -> bool {
    MISSING.iter().any(|(missing, _)| *missing == what)
}

#[test]
fn every_twin_has_an_algorithm_and_none_is_listed_as_missing() {
    for (missing, _) in MISSING {
        if let Missing::Algorithm(name) = missing {
            assert!(AlgorithmSpec::NAMES.contains(name) && Twin::named(name).is_none(), "{name}");
        }
    }
    for twin in Twin::all() {
        assert!(AlgorithmSpec::NAMES.contains(&twin.name()), "{} is in no registry", twin.name());
        assert!(twin.name().len() <= 9, "{} does not fit into a name of the kernel", twin.name());
    }
}

#[test]
fn parameters_have_the_names_and_scaled_defaults_of_the_registry() {
    for twin in Twin::all() {
        let carried: Members = of_scenario(twin)
            .iter()
            .map(|parameter| (parameter.name.clone(), parameter.scale.value(parameter.default)))
            .collect();
        let mut expected = declared(twin.name());
        for (missing, _) in MISSING {
            if let Missing::Parameter(algorithm, name) = missing
                && *algorithm == twin.name()
            {
                assert!(expected.shift_remove(*name).is_some(), "{algorithm}.{name} is not missing");
            }
        }
        assert_eq!(carried, expected, "{}", twin.name());
    }
}

#[test]
fn the_registry_accepts_the_ends_of_every_range_and_nothing_below_it() {
    for twin in Twin::all() {
        for parameter in of_scenario(twin) {
            let name = format!("{}.{}", twin.name(), parameter.name);
            for end in [parameter.least, parameter.most] {
                assert!(
                    registry_accepts(twin.name(), &parameter.name, parameter.scale.value(end)),
                    "{name}: {end}"
                );
            }
            if parameter.scale == Scale::Thousandths
                || (parameter.scale == Scale::Microseconds && parameter.least > 0)
            {
                let below = parameter.scale.value(parameter.least - 1);
                assert!(!registry_accepts(twin.name(), &parameter.name, below), "{name} below its range");
            }
        }
    }
}

#[test]
fn choices_are_those_of_the_registry_in_their_order() {
    let algorithms = AlgorithmSpec::algorithms();
    for twin in Twin::all() {
        let entries = algorithms.as_array().expect("a list");
        let entry = entries.iter().find(|entry| entry["name"] == twin.name()).expect("a registered name");
        let declared = entry["parameters"].as_array().expect("a list");
        for parameter in of_scenario(twin) {
            if let Scale::Choice(names) = &parameter.scale {
                let name = format!("{}.{}", twin.name(), parameter.name);
                assert_eq!((parameter.least, parameter.most), (0, names.len() as i64 - 1), "{name}");
                let known = declared.iter().find(|known| known["name"] == parameter.name.as_str());
                let accepted = known.expect("a declared parameter")["accepted"].as_str();
                assert_eq!(accepted, Some(parameter.accepted().as_str()), "{name}");
            }
        }
    }
}

#[test]
fn mechanisms_are_switches_of_the_registry_or_missing_with_a_reason() {
    for twin in Twin::all() {
        let default = spec(twin).mechanisms();
        let carried: Vec<Parameter> =
            twin.parameters().into_iter().filter(|parameter| parameter.mechanism.is_some()).collect();
        assert_eq!(carried.is_empty(), default.is_empty(), "{}", twin.name());
        for parameter in &carried {
            let letter = parameter.mechanism.as_deref().expect("a letter");
            assert!(!is_missing(Missing::Mechanism(known_letter(letter))), "{letter} is listed as missing");
            assert_eq!(parameter.default, i64::from(default.contains(letter)), "{} {letter}", twin.name());
        }
        if !carried.is_empty() {
            for (letter, _) in Mechanisms::ALL {
                let is_carried =
                    carried.iter().any(|parameter| parameter.mechanism.as_deref() == Some(*letter));
                assert_ne!(is_carried, is_missing(Missing::Mechanism(letter)), "{} {letter}", twin.name());
            }
        }
    }
}

#[test]
fn mechanisms_of_a_scenario_become_settings() {
    let settings = |twin: &str| {
        let mechanisms = Mechanisms::from_letters("ACFH").expect("known letters");
        Value::Object(Twin::named(twin).expect("a twin").mechanisms(mechanisms)).to_string()
    };
    // A and F on, B, G and I off; C and H are not carried.
    assert_eq!(
        settings("vegas"),
        "{\"slow_start_detection\":true,\"avoidance_detection\":false,\"quarter_cut\":true,\
         \"window_of_two\":false,\"growth_guard\":false}"
    );
    assert_eq!(settings("reno"), "{}");
}

fn known_letter(letter: &str) -> &'static str {
    let known = Mechanisms::ALL.iter().find(|(known, _)| *known == letter);
    known.unwrap_or_else(|| panic!("{letter} is no mechanism")).0
}

#[test]
fn probes_have_the_names_and_units_of_the_registry() {
    for twin in Twin::all() {
        let carried: Vec<(String, &str)> = twin
            .probes()
            .into_iter()
            .map(|probe| {
                let unit = match probe.scale {
                    Scale::Microseconds => "s",
                    Scale::Thousandths => "segments",
                    Scale::BitsPerSecond => "bit/s",
                    other => panic!("{other:?} is no scale of a probe"),
                };
                (probe.name, unit)
            })
            .collect();
        let spec = spec(twin);
        let expected: Vec<(String, &str)> =
            spec.probes().iter().map(|probe| (probe.name.to_owned(), probe.unit)).collect();
        assert_eq!(carried, expected, "{}", twin.name());
    }
}

#[test]
fn every_file_states_its_licence_and_every_twin_its_departures() {
    for twin in Twin::all() {
        let text = twin.text();
        let headers = text.matches("SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause").count();
        assert!(headers >= 3, "{}: the licence is missing in a file", twin.name());
        assert!(text.contains(" * Departures from the twin: "), "{}", twin.name());
    }
}
