//! Transfers over one bottleneck: how much arrives, how fast, and what the connections show.

use crate::harness::{Report, Run, all, scenario, transfer};
#[cfg(any(feature = "tls", feature = "qlog"))]
use dumbbell_sim::transport::Log;
use dumbbell_sim::transport::StackEvent;
use dumbbell_units::{Time, Value};
use serde_json::json;

const SIZE: u64 = 5_000_000;

/// A transfer of 5 MB, which must be complete.
fn complete(link: &str, stated: &Value) -> Report {
    let report = transfer(link, stated.clone(), SIZE);
    let acknowledged = StackEvent::Acknowledged { connection: 0 };
    assert_eq!(report.events.iter().map(|(_, event)| *event).collect::<Vec<_>>(), [acknowledged], "{stated}");
    assert_eq!(report.delivered, SIZE, "{stated}");
    assert_eq!((report.shown.acknowledged, report.shown.delivered), (SIZE, SIZE), "{stated}");
    report
}

/// Megabits per second of a transfer of 5 MB.
fn rate(report: &Report) -> f64 {
    SIZE as f64 * 8e-6 / report.completion()
}

#[test]
fn five_megabytes_fill_ten_megabits_per_second() {
    // Rates and drops of a transfer on its own, from connect to the last acknowledgement.
    for (stated, rates, drops) in [
        (json!({ "name": "quinn" }), 9.2..9.4, 90..115),
        (json!({ "name": "quinn", "congestion": "newreno" }), 9.2..9.4, 65..85),
        (json!({ "name": "quinn", "congestion": "bbr" }), 9.0..9.3, 300..450),
        (json!({ "name": "smoltcp" }), 8.9..9.1, 0..1),
        (json!({ "name": "smoltcp", "congestion": "reno" }), 8.9..9.1, 0..1),
    ] {
        let report = complete("", &stated);
        assert!(rates.contains(&rate(&report)), "{stated}: {} Mbit/s", rate(&report));
        assert!(drops.contains(&report.drops), "{stated}: {} drops", report.drops);
        assert!(report.deadlines < report.datagrams, "{stated}: a busy loop");
    }
}

#[test]
fn what_is_sent_again_after_losses_in_a_large_window_slows_smoltcp() {
    let stated = |congestion: &str| json!({ "name": "smoltcp", "congestion": congestion, "send_buffer": "256 KiB", "receive_buffer": "256 KiB" });
    for congestion in ["cubic", "reno"] {
        let report = complete("", &stated(congestion));
        assert!(rate(&report) < 7.0, "{congestion}: {}", rate(&report));
        assert!(report.shown.segments_retransmitted > Some(report.drops), "{report:?}");
    }
}

#[test]
fn losses_copies_and_changes_of_order_lose_no_data() {
    for impairment in [
        r#"{ kind = "bernoulli", probability = 0.02 }"#,
        r#"{ kind = "duplicate", probability = 0.1 }"#,
        r#"{ kind = "reorder", probability = 0.05, delay = "15 ms" }"#,
    ] {
        for stated in all() {
            complete(&format!("impairments = [{impairment}]"), &stated);
        }
    }
}

#[test]
fn a_transfer_of_any_size_arrives() {
    for size in [0, 1, 1200, 65_535, 65_536, 300_000, 2 << 20] {
        for stated in all() {
            let link = r#"impairments = [{ kind = "bernoulli", probability = 0.05 }]"#;
            let report = transfer(link, stated.clone(), size);
            let events: Vec<StackEvent> = report.events.iter().map(|(_, event)| *event).collect();
            assert_eq!(events, [StackEvent::Acknowledged { connection: 0 }], "{stated} {size}");
            let bytes = [report.delivered, report.shown.delivered, report.shown.acknowledged];
            assert_eq!(bytes, [size; 3], "{stated}");
        }
    }
}

#[test]
fn one_stream_with_too_many_gaps_ends_a_connection_of_quinn_and_many_streams_do_not() {
    // Slow start overshoots a path of 12.5 MB and its queue by some thousand packets, of which every other one is lost.
    let link = r#"rate = "1 Gbit/s", delay = "50 ms", queue = { kind = "droptail", limit = "1000 packets" }"#;
    let run = |stated: Value| {
        let mut run = Run::new(&scenario(link), stated, 1).reusing();
        run.open(0, u64::MAX, false);
        run.until(Time(2_000_000_000));
        run.report
    };
    let one = run(json!({ "name": "quinn", "stream_size": "1 GiB" }));
    assert_eq!(
        one.events.iter().map(|(_, event)| *event).collect::<Vec<_>>(),
        [StackEvent::GivenUp { connection: 0 }]
    );
    let many = run(json!({ "name": "quinn" }));
    assert_eq!(many.events, []);
    assert!(many.delivered > 100_000_000, "{}", many.delivered);
}

#[test]
fn quinn_reacts_to_marks_instead_of_losses() {
    let queue = r#"queue = "codel""#;
    let marked = complete(queue, &json!({ "name": "quinn" }));
    assert!(marked.marked > 0 && marked.drops == 0, "{marked:?}");
    assert_eq!(marked.shown.lost, Some(0));
    let unmarked = complete(queue, &json!({ "name": "quinn", "ecn": false }));
    assert!(unmarked.marked == 0 && unmarked.drops > 0, "{unmarked:?}");
}

#[test]
fn what_a_connection_shows_is_in_its_units() {
    let mut run = Run::new(&scenario(""), json!({ "name": "quinn" }), 1);
    run.open(0, u64::MAX, false);
    assert_eq!(run.shown(0).srtt, None);
    run.until(Time(3_000_000_000));
    let shown = run.shown(0);
    let (cwnd, in_flight) = (shown.cwnd.expect("cwnd"), shown.in_flight.expect("in flight") as f64);
    // The path holds 50 kB and the queue 33 packets.
    assert!((50e3..110e3).contains(&cwnd) && in_flight <= cwnd && in_flight > cwnd / 2.0, "{shown:?}");
    let (latest, least) = shown.latest_rtt.zip(shown.min_rtt).expect("samples");
    assert!((0.041..0.0415).contains(&least) && (least..0.09).contains(&latest), "{shown:?}");
    assert!(shown.srtt.is_some_and(|srtt| (least..0.09).contains(&srtt)), "{shown:?}");
    assert!(
        shown.acknowledged <= shown.delivered && shown.delivered < shown.acknowledged + 100_000,
        "{shown:?}"
    );
    assert_eq!(shown.mss, 1472);
    // Every data packet but those lost and those in flight has brought at most 1472 bytes.
    let arrived = shown.segments_sent.expect("sent") - shown.lost.expect("lost");
    assert!(shown.delivered < arrived * 1472 && shown.delivered > (arrived - 100) * 1400, "{shown:?}");
}

#[test]
fn the_pacing_rate_of_bbr_is_shown_without_the_cycle_that_the_system_draws() {
    let rates = || -> Vec<f64> {
        let mut run = Run::new(&scenario(""), json!({ "name": "quinn", "congestion": "bbr" }), 1);
        run.open(0, u64::MAX, false);
        let mut rates = Vec::new();
        for at in 10..80 {
            run.until(Time(at * 100_000_000));
            rates.extend(run.shown(0).pacing_rate);
        }
        rates
    };
    let shown = rates();
    assert_eq!(rates(), shown);
    // Its gains are 1.25 and 0.75 in two of eight phases.
    assert!(shown.len() == 70 && shown.iter().all(|rate| (9.4e6..10.2e6).contains(rate)), "{shown:?}");
    let mut cubic = Run::new(&scenario(""), json!({ "name": "quinn" }), 1);
    cubic.open(0, u64::MAX, false);
    cubic.until(Time(1_000_000_000));
    assert_eq!(cubic.shown(0).pacing_rate, None);
}

#[test]
fn endless_data_ends_within_a_second_after_its_application() {
    for stated in all() {
        let mut run = Run::new(&scenario(""), stated.clone(), 1);
        run.open(0, u64::MAX, false);
        run.until(Time(5_000_000_000));
        assert_eq!(run.report.events, []);
        run.close(0);
        run.until(Time(60_000_000_000));
        let (at, event) = run.report.events[0];
        assert_eq!(event, StackEvent::Acknowledged { connection: 0 });
        assert!(at < Time(6_000_000_000), "{stated}: {at}");
        let shown = run.shown(0);
        assert_eq!(
            (shown.acknowledged, shown.delivered),
            (run.report.delivered, run.report.delivered),
            "{stated}"
        );
        assert!(run.report.delivered > 5_000_000, "{stated}");
    }
}

#[test]
fn a_kept_connection_acknowledges_every_write() {
    for stated in all() {
        let mut run = Run::new(&scenario(""), stated.clone(), 1);
        run.open(7, 10_000, true);
        run.until(Time(2_000_000_000)).write(7, 20_000);
        run.until(Time(4_000_000_000)).close(7);
        run.until(Time(60_000_000_000));
        let seconds: Vec<u64> = run.report.events.iter().map(|(at, _)| at.0 / 1_000_000_000).collect();
        assert_eq!(seconds, [0, 2, 4], "{stated}: {:?}", run.report.events);
        assert_eq!(run.report.delivered, 30_000, "{stated}");
        assert_eq!(run.next(), (Time::NEVER, Time::NEVER), "{stated}: the connection is not over");
    }
}

#[test]
fn connections_beside_each_other_share_the_flow() {
    for stated in all() {
        let mut run = Run::new(&scenario(""), stated.clone(), 1);
        for connection in [3, 1, 20] {
            run.open(connection, 100_000 * u64::from(connection), false);
        }
        run.until(Time(100_000_000_000));
        let mut done: Vec<StackEvent> = run.report.events.iter().map(|(_, event)| *event).collect();
        done.sort_by_key(|event| format!("{event:?}").len());
        assert_eq!(done.len(), 3, "{stated}: {done:?}");
        for connection in [3, 1, 20] {
            assert_eq!(run.shown(connection).delivered, 100_000 * u64::from(connection), "{stated}");
        }
        assert_eq!(run.report.delivered, 2_400_000);
    }
}

#[test]
fn a_connection_without_answers_is_given_up() {
    let link = r#"impairments = [{ kind = "bernoulli", probability = 1.0 }]"#;
    for (name, limit) in [("quinn", "idle_timeout"), ("smoltcp", "timeout")] {
        let report = transfer(link, json!({ "name": name, limit: "30 s" }), SIZE);
        let (at, event) = report.events[0];
        assert_eq!((event, report.events.len()), (StackEvent::GivenUp { connection: 0 }, 1), "{name}");
        assert!((30..60).contains(&(at.0 / 1_000_000_000)), "{name}: {at}");
        assert_eq!(report.delivered, 0);
    }
}

#[test]
fn a_run_may_end_at_any_time() {
    for stated in all() {
        for end in [0, 1, 20_000_000, 41_000_000, 1_000_000_000] {
            let mut run = Run::new(&scenario(""), stated.clone(), 1);
            run.open(0, SIZE, false);
            run.until(Time(end));
            let shown = run.shown(0);
            assert!(
                shown.acknowledged <= shown.delivered && shown.delivered == run.report.delivered,
                "{shown:?}"
            );
        }
    }
}

#[cfg(feature = "tls")]
#[test]
fn tls_has_the_sizes_of_the_null_session_and_logs_its_keys() {
    let [null, fixed] = ["null", "fixed"].map(|tls| complete("", &json!({ "name": "quinn", "tls": tls })));
    assert!(null.shown.segments_sent.expect("sent").abs_diff(fixed.shown.segments_sent.expect("sent")) < 50);
    let mut run = Run::new(&scenario(""), json!({ "name": "quinn", "tls": "fixed" }), 1);
    run.open(0, 1000, false);
    run.open(1, 1000, false);
    run.until(Time(10_000_000_000));
    let log = run.take_log(Log::Keys);
    let lines: Vec<&str> = log.lines().collect();
    let of_label = |label: &str| lines.iter().filter(|line| line.starts_with(label)).count();
    // The client logs the secrets of both directions.
    for label in ["CLIENT_HANDSHAKE_TRAFFIC_SECRET ", "SERVER_TRAFFIC_SECRET_0 "] {
        assert_eq!(of_label(label), 2, "{lines:?}");
    }
    assert!(
        lines.iter().all(|line| line.split(' ').nth(1).is_some_and(|random| random.len() == 64)),
        "{lines:?}"
    );
    assert_eq!(run.take_log(Log::Keys), "");
}

#[cfg(feature = "qlog")]
#[test]
fn quinn_writes_its_events_as_qlog() {
    let log = || {
        let mut run = Run::new(&scenario(""), json!({ "name": "quinn", "congestion": "bbr" }), 1);
        run.open(0, 100_000, false);
        run.until(Time(10_000_000_000));
        run.take_log(Log::Events)
    };
    let events = log();
    assert!(
        events.contains("recovery:metrics_updated") && events.contains("transport:packet_sent"),
        "{events}"
    );
    assert!(!events.contains("pacing_rate"), "it depends on a draw from the system");
    for record in events.split('\u{1e}').skip(1) {
        serde_json::from_str::<Value>(record).expect("JSON");
    }
    assert_eq!(log(), events);
}
