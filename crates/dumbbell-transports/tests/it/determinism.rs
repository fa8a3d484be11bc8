//! Equal runs send equal datagrams at equal times.

use crate::harness::{Run, all, scenario, transfer};
use dumbbell_units::Value;
use serde_json::json;

fn hash(stated: &Value) -> u64 {
    transfer(r#"impairments = [{ kind = "bernoulli", probability = 0.01 }]"#, stated.clone(), 1_000_000).hash
}

#[test]
fn threads_see_the_same_datagrams() {
    for stated in all() {
        let alone = hash(&stated);
        let beside: Vec<u64> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| hash(&stated))).collect();
            runs.into_iter().map(|run| run.join().expect("it ends")).collect()
        });
        assert_eq!(beside, [alone; 4], "{stated}");
    }
}

#[test]
fn parameters_and_seeds_matter() {
    assert_ne!(hash(&json!({ "name": "quinn" })), hash(&json!({ "name": "quinn", "mtu": "1400 bytes" })));
    let of_seed = |seed| {
        let mut run = Run::new(&scenario(""), json!({ "name": "quinn" }), seed);
        run.open(0, 1000, false);
        run.report.hash
    };
    assert_ne!(of_seed(1), of_seed(2));
}
