//! What a guest costs: `cargo test --release -p dumbbell-kernel -- --ignored --nocapture speed`.

use crate::harness::{Bench, DROP_TAIL, RATE, guest, scenario, trees, with_descendants};
use dumbbell_sim::transport::Stack;
use dumbbell_units::Time;
use std::io::Write;
use std::time::{Duration, Instant};

/// CPU time that these processes have taken so far, in seconds.
fn cpu_s(processes: &[u32]) -> f64 {
    let threads = processes.iter().flat_map(|process| {
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten()
    });
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

/// Memory of processes, shared parts divided, in bytes.
fn memory(processes: &[u32]) -> u64 {
    let of = |process: &u32| -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or("0");
        line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    processes.iter().map(of).sum()
}

#[test]
#[ignore = "a measurement"]
#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
fn speed_of_five_megabytes() {
    for tree in trees() {
        for _ in 0..3 {
            let this = [std::process::id()];
            let (begin, cpu) = (Instant::now(), cpu_s(&this));
            let mut stack = guest(tree, Duration::from_secs(30));
            let started = begin.elapsed();
            let guest = with_descendants(stack.guest().process());
            let all = [&this[..], &guest].concat();
            let boot = cpu_s(&all) - cpu;
            stack.open(Time::ZERO, 0, 0, 5_000_000, false);
            let links = scenario(1, RATE, DROP_TAIL);
            let mut bench = Bench::new(&mut stack, &links);
            bench.run_until(Time(600_000_000_000), |run| run.delivered > 0);
            let first = begin.elapsed();
            bench.run_until(Time(600_000_000_000), |run| !run.acknowledged.is_empty());
            let transfer = cpu_s(&all) - cpu - boot;
            let packets = bench.run.packets.0 + bench.run.packets.1;
            let _ = writeln!(
                std::io::stderr(),
                "{tree}: started after {started:?}, data after {first:?}; CPU {boot:.3} s to start and {transfer:.3} s for \
                 {packets} packets, {:.0} per CPU second; {:.1} MB; all in {:?}",
                packets as f64 / transfer,
                memory(&guest) as f64 / 1e6,
                begin.elapsed(),
            );
        }
    }
}
