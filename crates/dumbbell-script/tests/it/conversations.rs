//! Conversations drawn from a seed: their scripts, what two hosts have in common, and what a difference needs.

use dumbbell_script::{
    Comparison, Difference, KINDS, Kind, Script, Simulator, Verdict, compare, converse, minimize, parse, play,
};
use serde_json::json;

fn ours(script: &Script) -> Result<Simulator, String> {
    Simulator::with(script, json!({ "rules": "linux", "congestion": "cubic" }))
}

/// The same without early retransmissions, which repair tail losses after a timeout.
fn without_probes(script: &Script) -> Result<Simulator, String> {
    let recovery = json!({ "kind": "rack", "tlp": false });
    Simulator::with(script, json!({ "rules": "linux", "congestion": "cubic", "recovery": recovery }))
}

#[test]
fn a_host_agrees_with_itself_in_every_kind() {
    for kind in KINDS {
        for seed in 1..4 {
            let Comparison { script, difference } =
                compare(&kind.conditions(seed), ours, ours).expect("both are told everything");
            assert_eq!(difference, None, "{} {seed}", kind.name);
            assert!(script.events.len() > 10, "{} {seed}", kind.name);
        }
    }
}

#[test]
fn the_script_of_a_conversation_passes_as_text() {
    for kind in KINDS {
        let conditions = kind.conditions(5);
        let mut host = ours(&conditions.opening()).expect("a host");
        let script = converse(&conditions, &mut host).expect("a conversation");
        let read = parse(&script.to_string()).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        let mut host = ours(&read).expect("a host");
        assert_eq!(play(&read, &mut host), Verdict::Passed, "{}", kind.name);
    }
}

#[test]
fn the_same_seed_draws_the_same_and_another_one_something_else() {
    for kind in KINDS {
        assert_eq!(kind.conditions(7), kind.conditions(7));
        assert_ne!(kind.conditions(7), kind.conditions(8), "{}", kind.name);
    }
}

#[test]
fn a_difference_is_reduced_to_what_it_needs() {
    let mut conditions = Kind::named("tail-loss").expect("a kind").conditions(3);
    conditions.lost.insert((5, 0));
    let differs = |candidate: &_| {
        compare(candidate, ours, without_probes)
            .is_ok_and(|compared| matches!(compared.difference, Some(Difference::Segment(_))))
    };
    assert!(differs(&conditions));
    let least = minimize(&conditions, differs);
    assert!(differs(&least));
    assert!(least.lost.len() < conditions.lost.len() && least.writes <= conditions.writes, "{least:?}");
}
