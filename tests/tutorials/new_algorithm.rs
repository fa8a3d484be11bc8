//! Run in a copy of the checkout to which CONTRIBUTING's tutorial was applied: the new algorithm is
//! listed, and a scenario that names it runs.

use dumbbell_sim::{Scenario, catalogue, run};

const NAME: &str = "NEW_ALGORITHM";

fn scenario(tcp: &str) -> Scenario {
    let text = format!(
        r#"
        name = "a new algorithm"
        duration = "60 s"
        rules = "classic"
        stop_when_complete = ["flow"]
        nodes = ["sender", "receiver"]

        [[links]]
        name = "there"
        from = "sender"
        to = "receiver"
        rate = "8 Mbit/s"
        delay = "20 ms"
        queue = {{ kind = "droptail", limit = "20 packets" }}

        [[links]]
        name = "back"
        from = "receiver"
        to = "sender"
        rate = "8 Mbit/s"
        delay = "20 ms"

        [[flows]]
        name = "flow"
        from = "sender"
        to = "receiver"
        tcp = {tcp}
        source = {{ kind = "transfer", size = "4 MB" }}
        "#
    );
    Scenario::from_toml(&text).expect("a scenario may name the new algorithm")
}

#[test]
fn the_new_algorithm_is_listed_with_its_parameters() {
    let entries = catalogue::entries();
    let listed = entries["algorithms"].as_array().expect("a list");
    let entry = listed.iter().find(|entry| entry["name"] == NAME).expect("it is listed");
    assert!(entry["source"].as_str().is_some_and(|source| source.starts_with('[')));
    assert!(entry["parameters"].as_array().is_some_and(|parameters| !parameters.is_empty()));
    assert!(catalogue::schema().to_string().contains(NAME));
}

#[test]
fn the_new_algorithm_carries_a_transfer_and_meets_losses() {
    for tcp in [format!("\"{NAME}\""), format!("{{ congestion = \"{NAME}\", recovery = \"sack\" }}")] {
        let scenario = scenario(&tcp);
        let outcome = run(&scenario, 1, 0);
        let flow = &outcome.flows[0];
        assert!(flow.completion_s.is_some(), "{tcp}: {flow:?}");
        assert!(flow.segments_lost > 0, "{tcp}: the queue of 20 packets never overflowed");
        assert!(flow.goodput_bps > 4e6, "{tcp}: {flow:?}");
        assert_eq!(run(&scenario, 1, 0).fingerprint, outcome.fingerprint, "{tcp}");
    }
}
