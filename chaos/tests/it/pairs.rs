//! Every pair of things that a scenario may have acts together in one of the first scenarios of each base.

use dumbbell_chaos::generator;
use dumbbell_chaos::pairs::{ELEMENTS, Pair, acting, all_pairs, refusals, rows};
use dumbbell_sim::Scenario;
use std::collections::BTreeSet;

/// Scenarios of a base among which every pair occurs, as documented.
const SCENARIOS: u64 = 1_100;

fn named((one, other): &Pair) -> String {
    format!("{} with {}", ELEMENTS[*one], ELEMENTS[*other])
}

fn wanted() -> BTreeSet<Pair> {
    all_pairs().filter(|pair| !refusals().contains_key(pair)).collect()
}

#[test]
fn every_pair_that_the_parser_accepts_occurs_among_the_first_scenarios_of_a_base() {
    let mut missing = wanted();
    for number in 0..SCENARIOS {
        let value = generator::scenario(3, number).value.expect("a scenario");
        let scenario = Scenario::from_value(&value).expect("a valid scenario");
        let acting = acting(&value, &scenario);
        missing.retain(|pair| !acting.contains(pair));
    }
    let missing: Vec<String> = missing.iter().map(named).collect();
    assert!(missing.is_empty(), "{}: {missing:?}", missing.len());
}

#[test]
fn rows_plant_every_pair_and_are_few_enough() {
    let planted: BTreeSet<Pair> = rows().iter().flat_map(|row| row.pairs()).collect();
    let never: Vec<String> = wanted().difference(&planted).map(named).collect();
    assert!(never.is_empty(), "{never:?}");
    assert!(3 * rows().len() as u64 <= 2 * SCENARIOS, "{} rows", rows().len());
}

/// The rules that exclude pairs. With another one, the generator no longer draws what it excludes: it may be a fault of
/// the parser, or of the way in which pairs are planted.
const RULES: &[&str] = &[
    "changes: nothing: opportunities determine when the link transmits",
    "impairments: impairments, at most one of them duplicate",
    "one member of a flow states either",
    "probes: the flow has no such quantity",
    "quantities: a probe that the congestion control of some flow has",
    "quantities: a scenario with workloads, such as the source transfers",
    "restarts: nothing: a transfer runs once",
    "source: one of datagrams has no TCP",
    "stop_when_complete: flows that can complete: a transfer, or a workload with a `count`",
    "tcp: another rule, or a recovery that computes the pipe from a scoreboard, such as sack",
    "trace: a trace alone, without changes",
    "trace: a trace alone, without opportunities",
    "trace: a trace alone, without outages",
    "wifi: a link without opportunities",
    "wifi: a link without outages that hold packets",
];

#[test]
fn pairs_are_excluded_by_known_rules_only() {
    let rules: BTreeSet<&str> = refusals().values().map(String::as_str).collect();
    assert_eq!(rules, RULES.iter().copied().collect());
}
