//! Results that queueing theory and the sawtooth model predict.

use crate::common::{flow, outcome, trace, two_hosts, with_flow};
use serde_json::json;

#[test]
fn waiting_time_of_poisson_arrivals_agrees_with_m_d_1() {
    // 1000 bytes at 8 Mbit/s: a service time of 1 ms. W = rho / (2 (1 - rho)) service times.
    for (load, rate) in [(0.5, "4 Mbit/s"), (0.8, "6.4 Mbit/s")] {
        let mut scenario = two_hosts("8 Mbit/s", "10 ms", json!({}));
        scenario["duration"] = json!("20000 s");
        scenario["measure_from"] = json!("10 s");
        let source = json!({ "kind": "poisson", "rate": rate, "packet": "1000 bytes" });
        scenario["flows"] = json!([{ "name": "p", "from": "h1", "to": "h2", "source": source }]);
        let outcome = outcome(&scenario);
        let arrivals = outcome.links[1].packets as f64 / 19_990.0;
        let waiting_ms = outcome.links[1].backlog_mean_packets / arrivals * 1e3;
        let theory_ms = load / (2.0 * (1.0 - load));
        assert!((waiting_ms / theory_ms - 1.0).abs() < 0.01, "{waiting_ms} ms against {theory_ms} ms");
    }
}

#[test]
fn a_reno_flow_agrees_with_the_sawtooth() {
    // C = 1250 packets/s, RTT without queueing 100 ms + 0.8 ms + 0.032 ms of the ACK: the pipe holds P packets. With a
    // buffer of 40, the window oscillates between W/2 and W = P + 40 + 1, the last for the packet in service.
    let capacity = 1250.0_f64;
    let rtt = 0.100_832_8_f64;
    let pipe = capacity * rtt;
    let peak = pipe + 40.0;
    let mut scenario =
        two_hosts("10 Mbit/s", "50 ms", json!({ "queue": { "kind": "droptail", "limit": "40 packets" } }));
    scenario["duration"] = json!("1000 s");
    scenario["measure_from"] = json!("100 s");
    let tcp = json!({ "variant": "reno", "mss": "960 bytes", "initial_ssthresh": "80 segments", "limited_transmit": false });
    let mut scenario = with_flow(scenario, "f", tcp, json!("greedy"));
    scenario["probes"] = json!([{ "flows": ["f"], "quantities": ["cwnd"], "period": "10 ms" }]);
    let outcome = outcome(&scenario);

    // Below the pipe the window grows by a packet per constant RTT; above it, by one per W / C.
    let below = (pipe - peak / 2.0).max(0.0);
    let time_below = below * rtt;
    let time_above = (peak * peak - pipe * pipe) / (2.0 * capacity);
    let area_below = (pipe * pipe - peak * peak / 4.0) / 2.0 * rtt;
    let area_above = (peak * peak * peak - pipe * pipe * pipe) / (3.0 * capacity);
    let period = time_below + time_above;
    let mean_window = (area_below + area_above) / period;
    let throughput = (area_below / rtt + capacity * time_above) / period;

    let samples: Vec<f64> =
        trace(&outcome, "cwnd").into_iter().filter(|&(at, _)| at > 100.0).map(|(_, cwnd)| cwnd).collect();
    let measured_window = samples.iter().sum::<f64>() / samples.len() as f64;
    let measured_throughput = flow(&outcome).goodput_bps / (8.0 * 960.0);
    assert_eq!(flow(&outcome).timeouts, Some(0));
    let close = |measured: f64, expected: f64| {
        assert!((measured / expected - 1.0).abs() < 0.02, "{measured} against {expected}");
    };
    close(measured_window, mean_window);
    close(measured_throughput, throughput);
}

#[test]
fn a_vegas_flow_keeps_between_alpha_and_beta_packets_queued() {
    for (alpha, beta) in [(1.0, 3.0), (2.0, 4.0), (4.0, 6.0)] {
        let mut scenario = two_hosts("10 Mbit/s", "20 ms", json!({}));
        scenario["measure_from"] = json!("20 s");
        let tcp =
            json!({ "variant": "vegas", "congestion": { "name": "vegas", "alpha": alpha, "beta": beta } });
        let outcome = outcome(&with_flow(scenario, "f", tcp, json!("greedy")));
        let queued = outcome.links[1].backlog_mean_packets;
        assert!(queued >= alpha && queued <= beta, "{queued} against {alpha} to {beta}");
        assert!(outcome.links[1].utilization > 0.999);
    }
}

#[test]
fn scaling_rates_and_times_together_changes_nothing() {
    let at_scale = |rate: &str, delay: &str, duration: &str, minimum: &str| {
        let queue = json!({ "queue": { "kind": "droptail", "limit": "20 packets" } });
        let mut scenario = two_hosts(rate, delay, queue);
        for (link, _) in [0, 2, 3, 5].iter().zip(0..) {
            scenario["links"][*link]["rate"] = json!(rate.replace(" M", "0 M"));
        }
        scenario["duration"] = json!(duration);
        let timer =
            json!({ "kind": "rfc6298", "minimum": minimum, "initial": minimum, "granularity": "0 s" });
        let tcp = json!({ "variant": "newreno", "timer": timer });
        let outcome = outcome(&with_flow(scenario, "f", tcp, json!("greedy")));
        (flow(&outcome).segments_sent, flow(&outcome).segments_retransmitted, flow(&outcome).timeouts)
    };
    let slow = at_scale("8 Mbit/s", "40 ms", "100 s", "800 ms");
    assert_eq!(at_scale("16 Mbit/s", "20 ms", "50 s", "400 ms"), slow);
    assert_eq!(at_scale("32 Mbit/s", "10 ms", "25 s", "200 ms"), slow);
}
