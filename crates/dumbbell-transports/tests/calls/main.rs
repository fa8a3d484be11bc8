//! A run reads no clock and draws nothing from the system, and repeats in another process.
//!
//! This test has no harness, which would read the clock. It starts itself several times, with a library preloaded that
//! counts calls: for a run that ends before its connection opens, and for a whole run. Both must make the same calls.
//! BBR of quinn draws once, which shows that the library counts.

#[path = "../it/harness.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod harness;

use dumbbell_units::{Time, Value};
use harness::{Run, scenario};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A run of a transport: prints the hash of all its datagrams.
fn run(stated: &str, is_whole: bool) {
    let stated: Value = serde_json::from_str(stated).expect("a transport");
    let mut run = Run::new(&scenario(""), stated, 1);
    if is_whole {
        run.open(0, 2_000_000, false);
        run.until(Time(100_000_000_000));
        assert_eq!(run.report.delivered, 2_000_000);
    }
    write!(std::io::stdout(), "{:016x}", run.report.hash).expect("it is read");
}

/// What a process of this test prints, and the calls for the time and for random numbers that it makes.
struct Seen {
    hash: String,
    clocks: u64,
    draws: u64,
}

fn start(library: &Path, stated: &Value, mode: &str) -> Seen {
    let counts = library.with_extension("counts");
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args([mode, &stated.to_string()])
        .env("LD_PRELOAD", library)
        .env("COUNTED_CALLS", &counts)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&counts).expect("counts");
    let counts: Vec<u64> = text.split(' ').map(|count| count.parse().expect("a count")).collect();
    Seen { hash: String::from_utf8(output.stdout).expect("a hash"), clocks: counts[0], draws: counts[1] }
}

/// The library that counts.
fn counting_library() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls/counted.c");
    let library = folder.join("counted.so");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").status();
    compiled.is_ok_and(|status| status.success()).then_some(library)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, stated] = arguments.as_slice()
        && ["start", "whole"].contains(&mode.as_str())
    {
        return run(stated, mode == "whole");
    }
    let library = if cfg!(target_os = "linux") { counting_library() } else { None };
    let Some(library) = library else {
        writeln!(std::io::stderr(), "SKIPPED: calls for time and random numbers (needs Linux and cc)")
            .expect("it is read");
        return;
    };
    for (stated, extra_draws) in [
        (json!({ "name": "quinn" }), 0..=0),
        (json!({ "name": "quinn", "congestion": "newreno" }), 0..=0),
        (json!({ "name": "quinn", "congestion": "bbr" }), 1..=2),
        (json!({ "name": "quinn", "tls": "fixed" }), 0..=0),
        (json!({ "name": "smoltcp" }), 0..=0),
    ] {
        if stated["tls"] == "fixed" && !cfg!(feature = "tls") {
            continue;
        }
        let idle = start(&library, &stated, "start");
        let [first, second] = ["whole"; 2].map(|mode| start(&library, &stated, mode));
        assert_eq!(first.hash, second.hash, "{stated} differs in another process");
        assert_eq!(first.clocks, idle.clocks, "{stated} reads the clock during a run");
        assert!(idle.clocks > 0, "the base of instants is one reading");
        let draws = first.draws - idle.draws;
        assert!(extra_draws.contains(&draws), "{stated} draws {draws} times during a run");
    }
}
