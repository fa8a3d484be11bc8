//! What a guest costs: `cargo test --release -p dumbbell-kernel -- --ignored --nocapture speed`.

use crate::harness::{DROP_TAIL, RATE, guest, scenario, transfer, trees};
use dumbbell_sim::transport::Stack;
use dumbbell_units::Time;
use std::io::Write;
use std::time::{Duration, Instant};

/// CPU time of this process and of those that it has waited for, in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name: user and system time, and those of children, in hundredths of a second.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(4);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Memory of the processes of a guest, shared parts divided, in bytes.
fn memory(starter: u32) -> u64 {
    let text = |process: &str, file: &str| {
        std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default()
    };
    let mut all = vec![starter.to_string()];
    let mut at = 0;
    while at < all.len() {
        let process = all[at].clone();
        let children = text(&process, &format!("task/{process}/children"));
        all.extend(children.split_whitespace().map(str::to_owned));
        at += 1;
    }
    let of = |process: &String| -> u64 {
        let text = text(process, "smaps_rollup");
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or("0");
        line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    all.iter().map(of).sum()
}

#[test]
#[ignore = "a measurement"]
#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
fn speed_of_five_megabytes() {
    for tree in trees() {
        for _ in 0..3 {
            let (begin, cpu) = (Instant::now(), cpu_s());
            let mut stack = guest(tree, Duration::from_secs(30));
            let booted = begin.elapsed();
            stack.open(Time::ZERO, 0, 1, 1000, false);
            while stack.poll_transmit(Time::ZERO, &mut Vec::new()).is_none() {
                let next = stack.next_deadline();
                assert!(next < Time(10_000), "{:?}", stack.failure());
                stack.on_deadline(next);
            }
            let syn = begin.elapsed();
            drop(stack);
            let mut stack = guest(tree, Duration::from_secs(30));
            let run = transfer(&mut stack, &scenario(1, RATE, DROP_TAIL), 5_000_000);
            let memory = memory(stack.guest().process());
            drop(stack);
            let cpu = cpu_s() - cpu;
            let packets = run.packets.0 + run.packets.1;
            let _ = writeln!(
                std::io::stderr(),
                "{tree}: booted after {booted:?}, SYN after {syn:?}; {cpu:.2} s of CPU, {packets} packets, {:.0} per CPU \
                 second; {:.1} MB; all in {:?}",
                packets as f64 / cpu,
                memory as f64 / 1e6,
                begin.elapsed(),
            );
        }
    }
}
