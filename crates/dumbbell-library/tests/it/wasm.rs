//! WebAssembly modules: the bits of the registered algorithm, the properties of every algorithm, and errors in a sentence.

use dumbbell_cc::external::External;
use dumbbell_cc::{Algorithm, conformance};
use dumbbell_library::{Library, LibraryHost};
use dumbbell_sim::{Outcome, Scenario, Stated, run};
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Node, SpecError};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};

const AIMD: &str = include_str!("aimd.wat");

/// A host, and what its libraries did wrong.
fn host() -> (LibraryHost, Arc<Mutex<Vec<String>>>) {
    let faults = Arc::<Mutex<Vec<String>>>::default();
    let taken = Arc::clone(&faults);
    let on_fault = move |problem| taken.lock().expect("no panic").push(problem);
    (LibraryHost { on_fault: Arc::new(on_fault) }, faults)
}

fn value(text: &str) -> Value {
    text.parse().expect("JSON")
}

fn load(text: &str) -> Result<Arc<Library>, SpecError> {
    let bytes = wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"));
    Library::load(&bytes, "folder/aimd.wasm", "library")
}

/// What a scenario states of a module.
fn external(text: &str, parameters: &str) -> Value {
    let digest = load(text).unwrap_or_else(|error| panic!("{error}")).digest().to_owned();
    let name = "library:aimd.wasm";
    value(&format!(
        r#"{{"name": "{name}", "digest": "{digest}", "parameters": {parameters}, "probes": ["losses"]}}"#
    ))
}

fn stated(tcp: &str) -> Stated {
    let link = |from: &str, to: &str, rate: &str| {
        format!(
            r#"{{"name": "{from}-{to}", "from": "{from}", "to": "{to}", "rate": "{rate}", "delay": "20 ms",
            "queue": {{"kind": "droptail", "limit": "10 packets"}}}}"#
        )
    };
    let links = [link("a", "b", "4 Mbit/s"), link("b", "a", "4 Mbit/s")].join(", ");
    Stated::from_json(&format!(
        r#"{{"duration": "20 s", "rules": "classic", "nodes": ["a", "b"], "links": [{links}],
        "flows": [{{"name": "f", "from": "a", "to": "b", "tcp": {tcp}}}]}}"#
    ))
    .unwrap_or_else(|error| panic!("{error}"))
}

fn bound(text: &str, parameters: &str, host: &LibraryHost) -> Result<Scenario, SpecError> {
    stated(&format!(r#"{{"external": {}}}"#, external(text, parameters))).bind(&[host])
}

fn outcome(text: &str, parameters: &str) -> (Outcome, Vec<String>) {
    let (host, faults) = host();
    let scenario = bound(text, parameters, &host).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 1, 0);
    let faults = faults.lock().expect("no panic").clone();
    (outcome, faults)
}

/// The module with code inserted at a mark.
fn with(mark: &str, code: &str) -> String {
    assert!(AIMD.contains(mark), "{mark}");
    AIMD.replace(mark, code)
}

#[test]
fn aimd_has_the_bits_of_the_registered_one() {
    for (increase, decrease) in [(1.0, 0.5), (2.5, 0.7)] {
        let parameters = format!(r#"{{"increase": {increase}, "decrease": {decrease}}}"#);
        let (ours, faults) = outcome(AIMD, &parameters);
        assert_eq!(faults, [""; 0]);
        let members = &parameters[1..];
        let registered = stated(&format!(r#"{{"congestion": {{"name": "aimd", {members}}}"#));
        let theirs = run(&registered.bind(&[]).expect("a scenario"), 1, 0);
        assert_eq!(ours.fingerprint, theirs.fingerprint);
        assert!(
            ours.flows[0].timeouts.unwrap_or_default()
                + ours.flows[0].segments_retransmitted.unwrap_or_default()
                > 10
        );
    }
}

#[test]
fn it_has_the_properties_of_every_algorithm() {
    let (host, faults) = host();
    let stated = external(AIMD, "{}");
    let mut external = External::decode(&Node::root(&stated)).expect("a control");
    external.bind("f", &[&host]).expect("a loaded library");
    let setup = conformance::setup();
    for property in conformance::PROPERTIES {
        assert_eq!(property(&|| Algorithm::external(external.control(&setup), &setup)), Ok(()));
    }
    assert_eq!(*faults.lock().expect("no panic"), [""; 0]);
}

#[test]
fn what_a_module_does_wrong_is_told_in_a_sentence() {
    let nan = "(f64.store (local.get $window) (f64.const nan)) (return)";
    let zero = "(f64.store (local.get $window) (f64.const 0)) (return)";
    let cases = [
        (
            ";; in on_ack",
            "(loop $l (br $l))",
            "aimd.wasm: on_ack does not return within 10000000 instructions",
        ),
        (";; in on_ack", "(unreachable)", "aimd.wasm: on_ack fails: "),
        (
            ";; in on_congestion",
            nan,
            "on_congestion sets cwnd to NaN; expected a finite number of bytes, at least one segment (1460)",
        ),
        (";; in on_congestion", zero, "on_congestion sets cwnd to 0; "),
    ];
    for (mark, code, expected) in cases {
        let (_, faults) = outcome(&with(mark, code), "{}");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains(expected) && faults[0].contains("(flow \"f\", "), "{faults:?}");
    }
}

#[test]
fn an_unusable_module_is_refused() {
    let cases = [
        ("(memory (export", "(import \"env\" \"now\" (func)) (memory (export", "that imports env.now"),
        ("(export \"memory\")", "", "that does not export memory"),
        ("dumbbell_library", "other", "that does not export dumbbell_library"),
        (
            "\"\\01\\00\\00\\00\" \"\\54",
            "\"\\02\\00\\00\\00\" \"\\54",
            "with the ABI version 2 is not accepted; expected version 1",
        ),
        ("\"\\54\\00\\00\\00\"", "\"\\20\\00\\00\\00\"", "whose algorithm has a size of 32"),
        ("$start $on_ack", "$start $probe", "with a function of another signature"),
        ("\"\\02\\00\\00\\00\" \"\\03", "\"\\00\\00\\00\\00\" \"\\03", "whose algorithm has no on_ack"),
        ("\"\\80\\05\\00\\00\"", "\"\\80\\05\\00\\ff\"", "with a pointer outside of its memory"),
        ("\"decrease\\00\"", "\"increase\\00\"", "declares the name \"increase\""),
        ("\") 1)", "\") 1000)", "that does not start"),
        ("(i32.const 1024))", "(loop (br 0)) (unreachable))", "whose dumbbell_library fails"),
    ];
    for (text, replaced, expected) in cases {
        let error = load(&with(text, replaced)).expect_err(expected).to_string();
        assert!(error.starts_with("library: \"folder/aimd.wasm\" ") && error.contains(expected), "{error}");
    }
}

#[test]
fn a_parameter_that_is_not_accepted_is_refused() {
    let cases = [
        (
            r#"{"incease": 1}"#,
            "flows.f.tcp.external.parameters.incease: 1 is not accepted; expected one of the parameters \
            increase, decrease (did you mean `increase`?)",
        ),
        (
            r#"{"decrease": 1.5}"#,
            "flows.f.tcp.external.parameters.decrease: 1.5 is not accepted; expected a number from 0 \
            to 1 (unit: -)",
        ),
        (
            r#"{"decrease": "much"}"#,
            "flows.f.tcp.external.parameters.decrease: \"much\" is not accepted; expected a number \
            from 0 to 1 (unit: -)",
        ),
    ];
    for (parameters, expected) in cases {
        let (host, _) = host();
        assert_eq!(bound(AIMD, parameters, &host).expect_err(expected).to_string(), expected);
    }
}

#[test]
fn a_scenario_loads_no_library() {
    let (host, _) = host();
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut bytes = wat::parse_str(AIMD).unwrap_or_else(|error| panic!("{error}"));
    // A custom section: no other test has loaded these bytes.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(&file, &bytes).expect("a file");
    let digest = format!("{:x}", Sha256::digest(&bytes))[..16].to_owned();
    let name = file.path().display();
    let bind = || {
        stated(&format!(r#"{{"external": {{"name": "library:{name}", "digest": "{digest}"}}}}"#))
            .bind(&[&host])
    };
    let text = format!(
        "flows.f.tcp.external.digest: \"{digest}\" is not accepted; expected the digest of a library that this \
         process has loaded"
    );
    assert_eq!(bind().expect_err("a refusal").to_string(), text);
    Library::load(&bytes, "aimd.wasm", "library").expect("a module");
    assert!(bind().is_ok());
}
