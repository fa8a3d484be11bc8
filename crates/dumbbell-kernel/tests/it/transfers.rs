//! What kernels do over a bottleneck.

use crate::harness::{
    Bench, DROP_TAIL, RATE, five_megabytes, guest, scenario, spec, started, transfer, trees,
};
use dumbbell_kernel::host::LinuxHost;
use dumbbell_units::Time;
use serde_json::json;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

#[test]
fn congestion_controls_complete_when_those_of_machines_do() {
    // Completion in milliseconds and drops, as measured with 6.1 by another program.
    let expected = [("cubic", 4_270, 5), ("bbr", 4_271, 74), ("reno", 4_278, 70)];
    for tree in trees() {
        for (congestion, completion_ms, drops) in expected {
            let run = five_megabytes(tree, congestion, 1);
            let (_, at) = run.acknowledged[0];
            assert!(at.0.abs_diff(completion_ms * 1_000_000) <= 2_000_000, "{tree} {congestion}: {at}");
            assert_eq!(run.delivered, 5_000_000, "{tree} {congestion}");
            // Reno of 6.1 loses one packet more without a tick while it is idle than with one.
            assert!(run.drops.abs_diff(drops) <= 1, "{tree} {congestion}: {} drops", run.drops);
        }
    }
}

#[test]
fn all_congestion_controls_of_the_kernel_work() {
    let Some(&tree) = trees().first() else { return };
    let host = LinuxHost::shared();
    for congestion in [
        "bic",
        "cdg",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "lp",
        "nv",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ] {
        let flow = spec(tree, &[("congestion", congestion.into())]);
        let mut stack = started(&host, &[flow], 1).unwrap_or_else(|why| panic!("{why}"));
        let run = transfer(&mut *stack, &scenario(1, RATE, DROP_TAIL), 1_000_000);
        assert_eq!((run.acknowledged.len(), run.delivered), (1, 1_000_000), "{congestion}");
    }
}

#[test]
fn fifty_flows_share_a_guest() {
    let Some(&tree) = trees().first() else { return };
    let congestion = |flow: usize| if flow.is_multiple_of(2) { "cubic" } else { "bbr" };
    let flows: Vec<_> = (0..50).map(|flow| spec(tree, &[("congestion", congestion(flow).into())])).collect();
    let mut stack = started(&LinuxHost::shared(), &flows, 1).unwrap_or_else(|why| panic!("{why}"));
    let links = scenario(50, "100 Mbit/s", r#"{ kind = "droptail", limit = "330 packets" }"#);
    let run = transfer(&mut *stack, &links, 500_000);
    assert_eq!((run.acknowledged.len(), run.delivered), (50, 25_000_000));
    // 25 MB with headers take 2.1 s at 100 Mbit/s.
    assert!(run.end.0 > 2 * SECOND && run.end.0 < 8 * SECOND, "{}", run.end);
}

#[test]
fn what_is_shown_and_read_agrees_with_the_packets() {
    for tree in trees() {
        let host = LinuxHost::shared();
        let mut stack = started(&host, &[spec(tree, &[])], 1).unwrap_or_else(|why| panic!("{why}"));
        stack.open(Time::ZERO, 0, 7, u64::MAX, false);
        let links = scenario(1, RATE, DROP_TAIL);
        let mut bench = Bench::new(&mut *stack, &links);
        bench.run_until(Time(2 * SECOND), |_| false);
        let shown = bench.stack.shown(bench.now, 7);
        assert_eq!(shown.mss, 1448);
        assert_eq!(shown.delivered, bench.run.delivered);
        assert!(shown.delivered > 1_500_000 && shown.acknowledged <= shown.delivered, "{shown:?}");
        assert!(shown.srtt.is_some_and(|srtt| (0.04..0.09).contains(&srtt)), "{shown:?}");
        assert!(shown.cwnd.is_some_and(|cwnd| cwnd > 20_000.0), "{shown:?}");
        assert_eq!(shown.segments_retransmitted, Some(bench.run.drops), "{shown:?}");
        // It was sent before: nothing follows on endless data that ends, and what was sent is acknowledged.
        bench.stack.close(bench.now, 7);
        bench.run_until(Time(5 * SECOND), |run| !run.acknowledged.is_empty());
        assert!(bench.now.0 < 4 * SECOND, "{}", bench.now);
        let shown = bench.stack.shown(bench.now, 7);
        assert_eq!(shown.acknowledged, bench.run.delivered);
    }
}

#[test]
fn the_agent_has_read_what_was_delivered() {
    let Some(&tree) = trees().first() else { return };
    let mut stack = guest(tree, Duration::from_secs(30));
    let run = transfer(&mut stack, &scenario(1, RATE, DROP_TAIL), 300_000);
    assert_eq!((run.delivered, stack.read(run.end, 0)), (300_000, 300_000));
}

#[test]
fn more_is_written_on_a_connection_that_is_kept() {
    let Some(&tree) = trees().first() else { return };
    let mut stack =
        started(&LinuxHost::shared(), &[spec(tree, &[])], 1).unwrap_or_else(|why| panic!("{why}"));
    stack.open(Time::ZERO, 0, 0, 20_000, true);
    let links = scenario(1, RATE, DROP_TAIL);
    let mut bench = Bench::new(&mut *stack, &links);
    bench.run_until(Time(SECOND), |_| false);
    assert_eq!((bench.run.acknowledged.len(), bench.run.delivered), (1, 20_000));
    bench.stack.write(bench.now, 0, 30_000);
    bench.run_until(Time(2 * SECOND), |_| false);
    assert_eq!((bench.run.acknowledged.len(), bench.run.delivered), (2, 50_000));
    let before = bench.run.packets;
    bench.stack.close(bench.now, 0);
    bench.run_until(Time(3 * SECOND), |_| false);
    // FIN, its acknowledgement with a FIN, and the last acknowledgement.
    let after = bench.run.packets;
    assert!((2..=3).contains(&(after.0 - before.0)) && (1..=2).contains(&(after.1 - before.1)), "{after:?}");
    assert_eq!(bench.run.delivered, 50_000);
}

#[test]
fn a_connection_without_answers_is_given_up() {
    let Some(&tree) = trees().first() else { return };
    let flow = spec(tree, &[("sysctl", json!({ "net.ipv4.tcp_retries2": 3 }))]);
    let mut stack = started(&LinuxHost::shared(), &[flow], 1).unwrap_or_else(|why| panic!("{why}"));
    stack.open(Time::ZERO, 0, 3, u64::MAX, false);
    let links = scenario(1, RATE, DROP_TAIL);
    let mut bench = Bench::new(&mut *stack, &links);
    bench.cut = Time(SECOND);
    bench.run_until(Time(60 * SECOND), |run| !run.given_up.is_empty());
    assert_eq!(bench.run.given_up.len(), 1, "{:?}", bench.run);
    assert_eq!(bench.run.given_up[0].0, 3);
}

#[test]
fn marks_of_a_queue_reach_the_sender() {
    let Some(&tree) = trees().first() else { return };
    let host = LinuxHost::shared();
    let drops = |ecn: bool| {
        let mut stack =
            started(&host, &[spec(tree, &[("ecn", ecn.into())])], 1).unwrap_or_else(|why| panic!("{why}"));
        transfer(&mut *stack, &scenario(1, RATE, r#"{ kind = "codel", ecn = true }"#), 3_000_000).drops
    };
    assert_eq!(drops(true), 0);
    assert!(drops(false) > 0);
}
