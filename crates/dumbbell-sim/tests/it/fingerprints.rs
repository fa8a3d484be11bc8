//! Trajectories that must not change unnoticed: `tests/fingerprints.csv` contains the fingerprint of every example. A
//! change needs a line under "Changes to results" in the changelog. `DUMBBELL_BLESS=1 cargo test` rewrites the file.

use dumbbell_sim::{Scenario, run};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples() -> Vec<(String, Scenario)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("examples"))
        .expect("the folder of examples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("an example");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let scenario = Scenario::from_toml(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, scenario)
    };
    files.iter().map(read).collect()
}

#[test]
fn examples_keep_their_fingerprints() {
    let mut table = String::from("scenario,seed,run,fingerprint\n");
    for (name, scenario) in examples() {
        for run_number in 0..2 {
            let outcome = run(&scenario, 1, run_number);
            assert!(outcome.conservation.holds());
            assert_eq!(outcome.fingerprint, run(&scenario, 1, run_number).fingerprint);
            writeln!(table, "{name},1,{run_number},{:016x}", outcome.fingerprint).expect("a string");
        }
    }
    let path = root().join("tests/fingerprints.csv");
    if std::env::var_os("DUMBBELL_BLESS").is_some() {
        std::fs::write(&path, &table).expect("the table of fingerprints");
    }
    let expected = std::fs::read_to_string(&path).expect("the table of fingerprints");
    assert_eq!(table, expected, "a trajectory changed");
}

#[test]
fn probes_and_names_do_not_change_a_run() {
    for (_, scenario) in examples() {
        let plain = run(&Scenario { probes: Vec::new(), ..scenario.clone() }, 1, 0);
        assert_eq!(run(&scenario, 1, 0).fingerprint, plain.fingerprint);
        let named = Scenario { name: "another name".into(), ..scenario.clone() };
        assert_eq!(run(&named, 1, 0).fingerprint, plain.fingerprint);
    }
}

#[test]
fn the_canonical_form_parses_to_the_same_run() {
    for (name, scenario) in examples() {
        let again =
            Scenario::from_json(&scenario.to_json()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again, scenario);
        assert_eq!(again.hash(), scenario.hash());
    }
}
