//! Run in a copy of the checkout to which CONTRIBUTING's tutorial was applied: the new queue discipline is listed, and a
//! scenario that names it runs.

use dumbbell_sim::{Scenario, catalogue, run};

const NAME: &str = "NEW_DISCIPLINE";

#[test]
fn the_new_discipline_is_listed_and_carries_a_transfer() {
    let entries = catalogue::entries();
    let listed = entries["queues"].as_array().expect("a list");
    let entry = listed.iter().find(|entry| entry["name"] == NAME).expect("it is listed");
    assert!(entry["parameters"].as_array().is_some_and(|parameters| !parameters.is_empty()));
    assert!(catalogue::schema().to_string().contains(NAME));
    let text = format!(
        r#"
        duration = "60 s"
        rules = "classic"
        stop_when_complete = ["flow"]
        nodes = ["sender", "receiver"]
        links = [
            {{ name = "there", from = "sender", to = "receiver", rate = "8 Mbit/s", delay = "20 ms", queue = "{NAME}" }},
            {{ name = "back", from = "receiver", to = "sender", rate = "8 Mbit/s", delay = "20 ms" }},
        ]
        flows = [
            {{ name = "flow", from = "sender", to = "receiver", tcp = "sack", source = {{ kind = "transfer", size = "4 MB" }} }},
        ]
        "#
    );
    let scenario = Scenario::from_toml(&text).expect("a scenario may name the new discipline");
    let outcome = run(&scenario, 1, 0);
    assert!(outcome.flows[0].completion_s.is_some() && outcome.links[0].drops() > 0);
    assert_eq!(run(&scenario, 1, 0).fingerprint, outcome.fingerprint);
}
