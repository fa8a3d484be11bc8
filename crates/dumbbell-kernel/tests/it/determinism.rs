//! The same seed gives the same bits.

use crate::harness::{Bench, DROP_TAIL, RATE, Run, five_megabytes, scenario, spec, started, trees};
use dumbbell_kernel::host::LinuxHost;
use dumbbell_units::Time;
use std::sync::atomic::{AtomicBool, Ordering};

/// Transfers that must be equal; 20 were made when this was written.
const RUNS: usize = 3;

#[test]
fn time_and_bytes_of_every_packet_repeat() {
    for tree in trees() {
        let first = five_megabytes(tree, "cubic", 1);
        for _ in 1..runs() {
            assert_eq!(five_megabytes(tree, "cubic", 1), first, "{tree}");
        }
        let other = five_megabytes(tree, "cubic", 2);
        assert_ne!(other.hash, first.hash, "sequence numbers follow from the seed");
    }
}

#[test]
fn they_repeat_on_a_busy_machine() {
    let Some(&tree) = trees().first() else { return };
    let first = five_megabytes(tree, "bbr", 1);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Two at once share the processors with the threads above.
        let runs = [(); 2].map(|()| scope.spawn(|| five_megabytes(tree, "bbr", 1)));
        let runs = runs.map(|run| run.join());
        is_done.store(true, Ordering::Relaxed);
        for run in runs {
            assert_eq!(run.expect("no panic"), first);
        }
    });
}

/// Number of runs: `DUMBBELL_KERNEL_RUNS`, for a long test.
fn runs() -> usize {
    std::env::var("DUMBBELL_KERNEL_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS)
}

#[test]
fn looking_changes_no_packet() {
    for tree in trees() {
        assert_eq!(looked_at(tree, 1), looked_at(tree, 300), "{tree}");
    }
}

#[test]
fn a_kernel_can_be_asked_after_every_event() {
    for tree in trees() {
        let after_every_event = asked(tree, |bench| bench.next().min(END));
        assert_eq!(after_every_event, looked_at(tree, 1), "{tree}");
    }
}

/// When a flow is left.
const END: Time = Time(3_000_000_000);

/// A flow that is asked so often what it shows.
fn looked_at(tree: &str, looks: u64) -> Run {
    let mut look = 0;
    asked(tree, |_| {
        look += 1;
        Time(END.0 / looks * look)
    })
}

/// A flow that is asked at these times what it shows.
fn asked(tree: &str, mut next: impl FnMut(&Bench<'_>) -> Time) -> Run {
    let flow = spec(tree, &[("congestion", "bbr".into())]);
    let mut stack = started(&LinuxHost::shared(), &[flow], 1).unwrap_or_else(|why| panic!("{why}"));
    stack.open(Time::ZERO, 0, 0, u64::MAX, false);
    let links = scenario(1, RATE, DROP_TAIL);
    let mut bench = Bench::new(&mut *stack, &links);
    while bench.now < END {
        bench.run_until(next(&bench), |_| false);
        bench.stack.shown(bench.now, 0);
    }
    assert_eq!(bench.stack.failure(), None);
    bench.run
}
