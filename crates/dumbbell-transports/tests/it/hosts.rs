//! What hosts accept, and that their versions are those of the build.

use crate::harness::bound;
use dumbbell_sim::transport::{Transport, TransportSpec};
use dumbbell_transports::{Host, Library, quinn::Quinn, smoltcp::Smoltcp};
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Node, SpecError};
use serde_json::json;
use std::path::Path;
use toml::Table;

fn refused(stated: Value) -> SpecError {
    let mut transport = Transport::decode(&Node::root(&stated)).expect("a transport");
    transport.bind("f", &dumbbell_transports::hosts()).expect_err("refused")
}

#[test]
fn a_completed_transport_states_everything_and_stays_as_it_is() {
    let (_, transport) = bound(json!("quinn"));
    let TransportSpec { version, digest, parameters, .. } = &*transport.spec;
    assert_eq!((version.as_str(), digest.len()), (Quinn::VERSION, 16));
    assert_eq!((&parameters["congestion"], &parameters["mtu"]), (&json!("cubic"), &json!("1500 bytes")));
    let again = bound(transport.encode()).1;
    assert_eq!(again, transport);
}

#[test]
fn errors_name_the_field_and_what_is_accepted() {
    let error = refused(json!({ "name": "quinn", "congestion": "cubics" }));
    assert_eq!(
        error.to_string(),
        "flows.f.transport.congestion: \"cubics\" is not accepted; expected one of cubic, newreno, bbr (did you mean \
         `cubic`?)"
    );
    let error = refused(json!({ "name": "smoltcp", "nagel": true }));
    assert_eq!(
        (error.field.as_str(), error.suggestion.as_deref()),
        ("flows.f.transport.nagel", Some("nagle"))
    );
    let error = refused(json!({ "name": "quinn", "mtu": "1200 bytes" }));
    assert_eq!(
        (error.field.as_str(), error.accepted.as_str()),
        ("flows.f.transport.mtu", "1228 to 65535 bytes")
    );
    assert_eq!(refused(json!("quin")).suggestion.as_deref(), Some("quinn"));
}

#[test]
fn another_version_or_digest_is_refused_with_both_named() {
    let error = refused(json!({ "name": "quinn", "version": "0.11.8" })).to_string();
    assert!(error.contains("\"0.11.8\"") && error.contains(Quinn::VERSION), "{error}");
    let error = refused(json!({ "name": "smoltcp", "digest": "0" })).to_string();
    assert!(error.contains("\"0\"") && error.contains(&Host::<Smoltcp>::digest()), "{error}");
    assert_ne!(Host::<Smoltcp>::digest(), Host::<Quinn>::digest());
}

/// A file of the workspace.
fn table(path: &str) -> Table {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect("it exists").parse().expect("TOML")
}

fn check_build<L: Library>() {
    let lock = table("Cargo.lock");
    let packages = lock["package"].as_array().expect("packages").iter();
    let versions: Vec<&str> = packages
        .filter(|package| package["name"].as_str() == Some(L::CRATE))
        .filter_map(|package| package["version"].as_str())
        .collect();
    assert_eq!(versions, [L::VERSION], "the version of {} in Cargo.lock", L::CRATE);
    let manifest = table("crates/dumbbell-transports/Cargo.toml");
    let dependency = &manifest["dependencies"][L::CRATE];
    let features = dependency.get("features").and_then(toml::Value::as_array);
    let features: Vec<&str> = features.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    assert_eq!(features, L::FEATURES, "the features of {} in Cargo.toml", L::CRATE);
    assert_eq!(dependency["default-features"].as_bool(), Some(false));
}

#[test]
fn versions_and_features_are_those_of_the_build() {
    check_build::<Quinn>();
    check_build::<Smoltcp>();
}
