//! Workloads: arrivals, completion times, pages, video, incast, and percentiles of delays.

use crate::common::{described, flow, outcome, outcome_of, two_hosts, with_flow};
use dumbbell_sim::outcome::TransfersOutcome;
use dumbbell_sim::trace::TransferRow;
use dumbbell_sim::{Outcome, Scenario};
use serde_json::{Value, json};

/// Time in seconds until a segment of 1000 bytes is acknowledged on the idle path of [`network`]: 1040 bytes at
/// 10 Mbit/s and twice at 10 Gbit/s, 40 bytes back, and twice 50 ms.
const ROUND: f64 = 0.1 + 832e-6 + 32e-6 + 2.0 * 832e-9 + 2.0 * 32e-9;
/// Transmission of a segment at the bottleneck, in seconds.
const SEGMENT: f64 = 832e-6;

fn network() -> Value {
    two_hosts("10 Mbit/s", "50 ms", json!({ "queue": { "kind": "droptail", "limit": "1000 packets" } }))
}

fn tcp() -> Value {
    json!({ "variant": "reno", "mss": "1000 bytes", "initial_window": "2 segments", "handshake": false,
            "delayed_ack": "off" })
}

fn with_source(source: Value) -> Value {
    let mut scenario = with_flow(network(), "f", tcp(), source);
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["transfers"] }]);
    scenario
}

fn transfers(outcome: &Outcome) -> TransfersOutcome {
    flow(outcome).transfers.expect("a workload")
}

fn rows(outcome: &Outcome) -> &[TransferRow] {
    &outcome.recordings[0].transfers
}

fn close(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.expect("a value");
    assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
}

#[test]
fn a_transfer_on_an_idle_path_takes_the_rounds_of_slow_start() {
    // 14 segments are rounds of 2, 4 and 8. Each round begins a round-trip time after the one before, and its segments
    // leave the bottleneck back to back: the last of the third round is acknowledged at 3 R + 7 S.
    let arrivals = json!({ "kind": "regular", "interval": "1 s" });
    let sizes = json!({ "kind": "fixed", "size": "14 kB" });
    let source = json!({ "kind": "transfers", "arrivals": arrivals, "sizes": sizes, "count": 3 });
    let mut scenario = with_source(source);
    let expected = 3.0 * ROUND + 7.0 * SEGMENT;
    let result = outcome(&scenario);
    let measured = transfers(&result);
    assert_eq!((measured.begun, measured.completed, measured.refused), (3, 3, 0));
    close(measured.completion_s.mean, expected, 1e-7);
    // All are equal, so that every percentile is exact.
    close(measured.completion_s.p99, expected, 1e-7);
    // On an empty path without slow start, 14 segments back to back take R + 13 S.
    close(measured.slowdown.mean, expected / (ROUND + 13.0 * SEGMENT), 1e-5);
    assert_eq!(flow(&result).bytes_delivered, 3 * 14_000);
    assert_eq!(flow(&result).connections, 3);
    assert_eq!(rows(&result).len(), 3);
    for (number, row) in rows(&result).iter().enumerate() {
        assert_eq!(
            (row.kind, row.connection, row.bytes),
            ("transfer", Some(number as u64 + 1), Some(14_000))
        );
        assert_eq!((row.began.secs(), row.segments_retransmitted, row.timeouts), (number as f64, 0, 0));
        close(row.completion.map(|took| took.secs()), expected, 1e-7);
    }
    // A handshake takes 40 bytes each way more, in both.
    scenario["flows"][0]["tcp"]["handshake"] = json!(true);
    let handshake = 0.1 + 64e-6 + 4.0 * 32e-9;
    let measured = transfers(&outcome(&scenario));
    close(measured.completion_s.mean, handshake + expected, 1e-7);
    close(measured.slowdown.mean, (handshake + expected) / (handshake + ROUND + 13.0 * SEGMENT), 1e-5);
}

#[test]
fn the_offered_load_arrives_and_is_the_same_in_every_run() {
    // 40 % of 10 Mbit/s over 59 s: 29.5 MB, of exponential sizes with mean 20 kB; 1475 transfers, standard deviation of
    // the sum sqrt(2 * 1475) * 20 kB = 1.1 MB.
    let arrivals = json!({ "kind": "load", "load": 0.4, "capacity": "10 Mbit/s" });
    let sizes = json!({ "kind": "exponential", "mean": "20 kB" });
    let mut scenario = with_source(json!({ "kind": "transfers", "arrivals": arrivals, "sizes": sizes }));
    scenario["flows"][0]["stop"] = json!("59 s");
    let first = outcome(&scenario);
    let measured = transfers(&first);
    let sent: u64 = rows(&first).iter().filter_map(|row| row.bytes).sum();
    assert!((sent as f64 / 29.5e6 - 1.0).abs() < 0.11, "{sent}");
    assert_eq!(measured.begun, rows(&first).len() as u64);
    let complete = rows(&first).iter().filter(|row| row.completion.is_some());
    assert_eq!(measured.completed, complete.clone().count() as u64);
    // What was delivered is what complete transfers had, and at most the rest.
    let complete: u64 = complete.filter_map(|row| row.bytes).sum();
    assert!(complete <= flow(&first).bytes_delivered && flow(&first).bytes_delivered <= sent);
    assert_eq!(described(&first), described(&outcome(&scenario)));
    // Connections end, so that a slot serves many of them.
    assert!(flow(&first).connections > 1000);
    assert_ne!(described(&first), described(&outcome_of(&scenario, 2)));
}

#[test]
fn transfers_count_in_the_window_in_which_they_begin() {
    let arrivals = json!({ "kind": "regular", "interval": "1 s" });
    let sizes = json!({ "kind": "fixed", "size": "14 kB" });
    let mut scenario = with_source(json!({ "kind": "transfers", "arrivals": arrivals, "sizes": sizes }));
    scenario["measure_from"] = json!("9.5 s");
    scenario["measure_until"] = json!("20.1 s");
    // Those of 10, 11, ... 20 s; the last one ends at 20.3 s.
    let measured = transfers(&outcome(&scenario));
    assert_eq!((measured.begun, measured.completed), (11, 11));
}

#[test]
fn a_run_ends_with_the_last_transfer_of_a_workload() {
    let arrivals = json!({ "kind": "closed", "users": 2, "pause": "10 ms" });
    let source = json!({ "kind": "transfers", "arrivals": arrivals, "count": 9 });
    let mut scenario = with_source(source);
    scenario["stop_when_complete"] = json!(["f"]);
    let result = outcome(&scenario);
    let last = rows(&result).iter().map(|row| row.began + row.completion.expect("complete")).max();
    assert_eq!(rows(&result).len(), 9);
    close(flow(&result).completion_s, last.expect("transfers").secs(), 1e-12);
    close(Some(result.simulated_s), last.expect("transfers").secs(), 1e-12);
}

#[test]
fn a_stopped_workload_restarts_and_loses_what_was_not_sent() {
    let arrivals = json!({ "kind": "regular", "interval": "100 ms" });
    let sizes = json!({ "kind": "fixed", "size": "50 kB" });
    for source in [
        json!({ "kind": "transfers", "arrivals": arrivals, "sizes": sizes }),
        json!({ "kind": "web", "pause": "100 ms" }),
        json!({ "kind": "streaming" }),
        json!({ "kind": "incast", "pause": "0 s" }),
    ] {
        let mut scenario = with_source(source);
        scenario["flows"][0]["stop"] = json!("5 s");
        scenario["flows"][0]["restarts"] =
            json!([{ "start": "5010 ms", "stop": "5100 ms" }, { "start": "5101 ms", "stop": "30 s" }]);
        let result = outcome(&scenario);
        let measured = transfers(&result);
        assert!(measured.completed > 0 && measured.completed < measured.begun, "{measured:?}");
        let late = rows(&result).iter().filter(|row| row.began.secs() > 5.2).count();
        assert!(late > 0);
        let in_pause = |row: &&TransferRow| row.began.secs() > 5.1 && row.began.secs() < 5.101;
        assert_eq!(rows(&result).iter().filter(in_pause).count(), 0);
        assert!(rows(&result).iter().all(|row| row.began.secs() <= 30.0));
    }
}

#[test]
fn a_page_uses_six_connections_and_ends_with_its_last_object() {
    // The document takes one segment; then 12 objects of one segment on 6 connections, twice. Every object is requested
    // when the one before is acknowledged. Six segments leave the bottleneck back to back, so the first ones of the
    // second round are acknowledged at 3 R, the last one at 3 R + 5 S.
    let one = json!({ "kind": "fixed", "size": "1000 bytes" });
    let source =
        json!({ "kind": "web", "document": one, "objects": 12, "sizes": one, "count": 2, "pause": "1 s" });
    let result = outcome(&with_source(source));
    let measured = transfers(&result);
    assert_eq!((measured.begun, measured.completed, flow(&result).connections), (2, 2, 12));
    let expected = 3.0 * ROUND + 5.0 * SEGMENT;
    close(measured.completion_s.max, expected, 1e-6);
    // 13 kB without slow start take R + 12 S.
    close(measured.slowdown.mean, expected / (ROUND + 12.0 * SEGMENT), 1e-5);
    let pages: Vec<&TransferRow> = rows(&result).iter().filter(|row| row.kind == "page").collect();
    assert_eq!((pages.len(), pages[0].bytes, pages[0].connection), (2, Some(13_000), None));
    assert_eq!(rows(&result).iter().filter(|row| row.kind == "object").count(), 26);
    // The page is listed before its transfers, and its first connection has the document and two objects.
    assert_eq!(rows(&result)[0].kind, "page");
    assert_eq!(rows(&result).iter().filter(|row| row.connection == Some(1)).count(), 3);
}

#[test]
fn a_request_of_incast_ends_with_the_last_answer() {
    // 20 answers of two segments fit into the initial windows: 40 segments back to back take R + 39 S.
    let answer = json!({ "kind": "fixed", "size": "2000 bytes" });
    for persistent in [true, false] {
        let source =
            json!({ "kind": "incast", "senders": 20, "sizes": answer, "count": 3, "persistent": persistent });
        let result = outcome(&with_source(source));
        let measured = transfers(&result);
        assert_eq!((measured.begun, measured.completed), (3, 3));
        close(measured.completion_s.mean, ROUND + 39.0 * SEGMENT, 1e-6);
        close(measured.slowdown.max, 1.0, 1e-5);
        assert_eq!(flow(&result).connections, if persistent { 20 } else { 60 });
    }
    // With room for 10 packets, answers are lost: the request waits for retransmissions, which its row counts.
    let source = json!({ "kind": "incast", "senders": 20, "sizes": answer, "count": 1 });
    let mut scenario = with_source(source);
    scenario["links"][1]["queue"] = json!({ "kind": "droptail", "limit": "10 packets" });
    let result = outcome(&scenario);
    let row = rows(&result)[0];
    assert_eq!(
        (row.kind, Some(row.segments_retransmitted)),
        ("request", flow(&result).segments_retransmitted)
    );
    assert!(row.timeouts > 0 && row.completion.is_some_and(|took| took.secs() > 1.0), "{row:?}");
}

#[test]
fn video_plays_at_the_bitrate_that_the_link_carries() {
    let seen = |rate: &str, duration: &str| {
        let mut scenario = with_flow(two_hosts(rate, "20 ms", json!({})), "f", tcp(), json!("streaming"));
        scenario["duration"] = json!(duration);
        flow(&outcome(&scenario)).playback.expect("a video")
    };
    // Far more than the highest bitrate: the buffer fills, and the highest bitrate follows without a stall.
    let fast = seen("100 Mbit/s", "600 s");
    assert_eq!(fast.rebuffering.0, 0);
    close(fast.bitrate_mean_bps(), 5.8e6, 0.05);
    // 2 Mbit/s carry 1.923 Mbit/s of payload: the mean bitrate is below that, but not by far.
    let slow = seen("2 Mbit/s", "600 s");
    assert_eq!(slow.rebuffering.0, 0);
    let mean = slow.bitrate_mean_bps().expect("segments");
    assert!(mean > 1.5e6 && mean < 1.95e6, "{mean}");
    assert!(slow.switches > 2, "{slow:?}");
    // The lowest bitrate needs 235 kbit/s; 200 kbit/s carry 192.3 kbit/s of payload, so that at least 18 % of the time
    // passes without playback.
    let starved = seen("200 kbit/s", "600 s");
    assert!(starved.rebuffering.secs() > 100.0 && starved.rebuffering.secs() < 125.0, "{starved:?}");
    assert_eq!((starved.bitrate_mean_bps(), starved.switches), (Some(235_000.0), 0));
    // The first segment of 117.5 kB.
    close(starved.startup.map(|time| time.secs()), 117_500.0 / 1000.0 * 1040.0 * 8.0 / 200e3, 0.05);
}

#[test]
fn a_workload_whose_connections_are_given_up_goes_on() {
    for source in [
        json!({ "kind": "transfers", "arrivals": { "kind": "closed", "users": 3, "pause": "1 ms" } }),
        json!({ "kind": "web", "objects": 4 }),
        json!({ "kind": "streaming" }),
        json!({ "kind": "incast", "senders": 3 }),
    ] {
        let mut scenario = with_source(source);
        scenario["duration"] = json!("4000 s");
        scenario["links"][1]["impairments"] = json!([{ "kind": "bernoulli", "probability": 1.0 }]);
        let result = outcome(&scenario);
        let measured = transfers(&result);
        assert!(flow(&result).connections_given_up > 1, "{measured:?}");
        assert_eq!((measured.completed, measured.completion_s.mean), (0, None));
        assert!(flow(&result).connections > flow(&result).connections_given_up);
        assert!(rows(&result).iter().all(|row| row.completion.is_none()));
    }
}

#[test]
fn data_that_arrives_after_the_end_of_a_workload_is_no_faster_than_the_link() {
    // Every connection is given up after about 12 s; the first segment arrives after 240 s.
    let mut scenario = with_source(json!({ "kind": "web", "count": 1, "objects": 1 }));
    scenario["duration"] = json!("1000 s");
    scenario["links"][2]["rate"] = json!("50 bit/s");
    scenario["flows"][0]["tcp"]["timer"] = json!({ "kind": "linux", "maximum": "1 s" });
    let result = outcome(&scenario);
    let f = flow(&result);
    assert_eq!(f.connections, f.connections_given_up);
    assert!(f.bytes_delivered > 0 && f.completion_s.is_some_and(|ended| ended < 100.0), "{f:?}");
    assert!(f.goodput_bps < 50.0, "{f:?}");
}

#[test]
fn percentiles_of_delays_are_those_of_an_idle_path_if_only_one_segment_is_in_flight() {
    let mut tcp = tcp();
    tcp["receive_buffer"] = json!("1 segments");
    let mut scenario = with_flow(network(), "f", tcp, json!("greedy"));
    let flows = scenario["flows"].as_array_mut().expect("flows");
    flows.push(json!({ "name": "x", "from": "h1", "to": "h2", "source": { "kind": "cbr", "rate": "8 kbit/s",
                       "packet": "1250 bytes" } }));
    let plain = outcome(&scenario);
    assert_eq!((flow(&plain).rtt.p50, flow(&plain).delay.p99), (None, None));
    scenario["delay_percentiles"] = json!(true);
    let measured = outcome(&scenario);
    assert_eq!(plain.fingerprint, measured.fingerprint);
    let f = flow(&measured);
    close(f.rtt.p50, ROUND, 0.008);
    // A datagram of 1250 bytes takes 1 ms, and may be in the way.
    assert!(f.rtt.max.expect("samples") <= ROUND + 1.1e-3 + 1e-9);
    close(f.rtt.mean, f.rtt_mean_s.expect("samples"), 1e-9);
    close(f.delay.p50, 0.05 + SEGMENT + 2.0 * 832e-9, 0.008);
    // 1250 bytes at 10 Mbit/s and twice at 10 Gbit/s.
    let x = &measured.flows[1];
    close(x.delay.p50, 0.05 + 1e-3 + 2e-6, 0.008);
    assert_eq!(x.rtt.p50, None);
}

#[test]
fn percentiles_do_not_change_a_run_and_follow_the_window() {
    // A window that fills the queue: round-trip times grow from the idle path to the full queue.
    let mut scenario = with_flow(
        two_hosts("10 Mbit/s", "50 ms", json!({ "queue": { "kind": "droptail", "limit": "50 packets" } })),
        "f",
        tcp(),
        json!("greedy"),
    );
    scenario["measure_from"] = json!("20 s");
    let plain = outcome(&scenario);
    scenario["delay_percentiles"] = json!(true);
    let measured = outcome(&scenario);
    assert_eq!(plain.fingerprint, measured.fingerprint);
    let rtt = flow(&measured).rtt;
    let (p50, p95, p99, max) = (
        rtt.p50.expect("samples"),
        rtt.p95.expect("samples"),
        rtt.p99.expect("samples"),
        rtt.max.expect("samples"),
    );
    assert!(p50 <= p95 && p95 <= p99 && p99 <= max);
    close(rtt.mean, flow(&plain).rtt_mean_s.expect("samples"), 1e-9);
    // 50 packets wait behind the one in service.
    assert!(max <= ROUND + 51.0 * SEGMENT + 1e-6 && max > ROUND + 45.0 * SEGMENT, "{max}");
}

#[test]
fn what_a_workload_cannot_have_is_refused() {
    let refused = |scenario: &Value| Scenario::from_value(scenario).expect_err("a refusal");
    let sizes = json!({ "kind": "uniform", "min": "9 kB", "max": "1 kB" });
    let error = refused(&with_source(json!({ "kind": "transfers", "sizes": sizes })));
    assert_eq!((error.field.as_str(), error.value.as_str()), ("flows.f.source.sizes.max", "1000 bytes"));
    let arrivals = json!({ "kind": "load", "load": 90.0, "capacity": "1000 Gbit/s" });
    let error = refused(&with_source(json!({ "kind": "transfers", "arrivals": arrivals })));
    assert_eq!(error.field, "flows.f.source.arrivals.load");
    let error = refused(&with_source(json!({ "kind": "streaming", "buffer": "7 s" })));
    assert_eq!((error.field.as_str(), error.accepted.contains("8 s")), ("flows.f.source.buffer", true));
    assert_eq!(refused(&with_source(json!("greedy"))).field, "probes.0.quantities");
    let mut scenario = with_source(json!("transfers"));
    scenario["stop_when_complete"] = json!(["f"]);
    assert_eq!(refused(&scenario).field, "stop_when_complete");
    let mut scenario = with_source(json!("transfers"));
    scenario["probes"][0]["period"] = json!("1 s");
    assert_eq!(refused(&scenario).field, "probes.0.period");
}

/// Adaptive media over a bottleneck of 1 Mbit/s for 60 s, with members of the link.
fn media(bottleneck: Value) -> Outcome {
    let mut scenario = two_hosts("1 Mbit/s", "20 ms", bottleneck);
    scenario["flows"] = json!([{ "name": "m", "from": "h1", "to": "h2",
        "source": { "kind": "media", "rate": "300 kbit/s", "max": "5 Mbit/s" } }]);
    scenario["measure_from"] = json!("30 s");
    scenario["delay_percentiles"] = json!(true);
    outcome(&scenario)
}

#[test]
fn media_adapt_to_a_bottleneck_by_delay() {
    let result = media(json!({ "queue": { "kind": "droptail", "limit": "1000 packets" } }));
    let m = flow(&result);
    // The rate stays near that of the link, and the queue near the threshold of 25 ms: the delay is 20 ms, 9.6 ms for a
    // packet of 1200 bytes, and the queue.
    assert!(m.throughput_bps > 0.7e6 && m.throughput_bps < 1.05e6, "{m:?}");
    assert!(m.delay.p95.is_some_and(|delay| delay < 0.12), "{:?}", m.delay);
    assert_eq!(m.segments_lost, 0);
    // Reports are packets: about 10 per second on the way back.
    let reports = result.links[4].packets;
    assert!((250..=301).contains(&reports), "{reports}");
}

#[test]
fn media_adapt_to_losses() {
    let lossy = |probability: f64| {
        media(json!({ "impairments": [{ "kind": "bernoulli", "probability": probability }] }))
    };
    // 30 % lost: the rate falls to the lowest one, 50 kbit/s. 0.5 % do not keep it from the link's rate.
    let bad = lossy(0.3);
    assert!(flow(&bad).throughput_bps < 0.08e6, "{:?}", flow(&bad));
    assert!(flow(&bad).segments_lost > 0);
    assert!(flow(&lossy(0.005)).throughput_bps > 0.7e6);
}
