//! Runs of scenarios with the TCP of the kernel. They need Linux, root and `/dev/net/tun`; without, they say so and check
//! nothing.

use dumbbell_sim::Scenario;
use dumbbell_testbed::doctor;
use dumbbell_testbed::error::RunError;
use dumbbell_testbed::plan::Replacements;
use dumbbell_testbed::run::{Done, Request, run};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_file::pcapng::PcapNgReader;
use std::time::Duration;

/// The rules that the kernel follows.
const RULES: &str = r#"recovery = "sack", timestamps = true, initial_window = "10 segments",
    timer = { minimum = "200 ms" }, window = { reduction_base = "real-window" }"#;
const SIZES: &str = r#"mss = "1448 bytes", headers = { data = "52 bytes", ack = "52 bytes" }"#;

/// Two hosts with 10 Mbit/s and 20 ms each way and a queue of 50 packets; `flows` are tables of TOML.
fn two_hosts(seconds: f64, from: f64, flows: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "{seconds} s"
        rules = "classic"
        measure_from = "{from} s"
        nodes = [{{ name = "a", aqt = true }}, {{ name = "b", aqt = true }}]
        links = [
            {{ name = "ab", from = "a", to = "b", rate = "10 Mbit/s", delay = "20 ms",
               queue = {{ kind = "droptail", limit = "50 packets" }} }},
            {{ name = "ba", from = "b", to = "a", rate = "10 Mbit/s", delay = "20 ms" }},
        ]
        probes = [{{ flows = ["*"], links = ["*"], quantities = ["cwnd", "delivered", "backlog", "drops"] }}]
        flows = [{flows}]
        "#
    );
    Scenario::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn flow(name: &str, congestion: &str, sizes: &str, more: &str) -> String {
    format!(
        r#"{{ name = "{name}", from = "a", to = "b", tcp = {{ congestion = "{congestion}", {RULES}, {sizes} }}{more} }}"#
    )
}

/// False, with the reason, if the machine lacks something.
fn can_run() -> bool {
    let missing = doctor::missing(cfg!(feature = "twins"));
    if let Some(reason) = &missing {
        println!("SKIPPED a test of the testbed: {reason}");
    }
    missing.is_none()
}

/// An undisturbed run, or the third one.
fn done(scenario: &Scenario, replacements: &Replacements) -> Done {
    let request = Request {
        scenario: scenario.clone(),
        seed: 1,
        run: 0,
        replacements: replacements.clone(),
        pcap: None,
    };
    let mut runs = (0..3).map(|_| run(&request).unwrap_or_else(|error| panic!("{error}")));
    let mut last = runs.next().expect("three runs");
    while last.wire.lateness().is_disturbed() {
        println!("a disturbed run: p99 {} us late", last.wire.lateness().quantile(0.99).0 / 1000);
        match runs.next() {
            Some(next) => last = next,
            None => break,
        }
    }
    last
}

#[test]
fn reno_of_the_kernel_agrees_with_the_simulator() {
    let _alone = crate::alone();
    if !can_run() {
        return;
    }
    let start = r#", start = { uniform = ["0 s", "500 ms"] }"#;
    let scenario = two_hosts(10.0, 3.0, &flow("f", "reno", SIZES, start));
    let done = done(&scenario, &Replacements::new());
    let simulated = dumbbell_sim::run(&scenario, 1, 0);
    let (own, expected) = (&done.outcome.flows[0], &simulated.flows[0]);
    // Of 1500 bytes, 1448 are payload.
    let ideal = 10e6 * 1448.0 / 1500.0;
    println!("goodput {} of the ideal, {} simulated", own.goodput_bps / ideal, expected.goodput_bps / ideal);
    assert!((own.goodput_bps / ideal - 1.0).abs() < 0.02, "{}", own.goodput_bps);
    assert_eq!(own.start_s, expected.start_s);
    let (backlog, of_simulator) =
        (done.outcome.links[0].backlog_mean_packets, simulated.links[0].backlog_mean_packets);
    assert!((backlog / of_simulator - 1.0).abs() < 0.1, "{backlog} {of_simulator}");
    assert!(done.outcome.conservation.holds() && done.report.write_errors == 0);
    let values = |quantity: &str| {
        let found = done.outcome.recordings.iter().find(|known| known.quantity.name() == quantity);
        found.map(|found| found.values.clone()).unwrap_or_default()
    };
    assert_eq!(values("cwnd").first(), Some(&10.0));
    assert!(values("backlog").contains(&50.0) && values("drops").len() > 10);
    assert!(values("delivered").windows(2).all(|pair| pair[0] < pair[1]));
    assert!(!values("retransmissions").is_empty());
}

#[cfg(feature = "twins")]
#[test]
fn twins_transfers_pauses_and_datagrams_run_side_by_side() {
    let _alone = crate::alone();
    if !can_run() {
        return;
    }
    let vegas =
        r#"mechanisms = "ABFI", mss = "1448 bytes", headers = { data = "52 bytes", ack = "52 bytes" }"#;
    let rovegas =
        r#"mechanisms = "ABFI", mss = "1440 bytes", headers = { data = "52 bytes", ack = "52 bytes" }"#;
    let flows = [
        flow("vegas", "vegas", vegas, ""),
        flow("transfer", "reno", SIZES, r#", source = { kind = "transfer", size = "100 kB" }, start = "1 s""#),
        flow("pause", "reno", SIZES, r#", stop = "1 s", restarts = [{ start = "2 s", stop = "3 s" }]"#),
        r#"{ name = "cbr", from = "a", to = "b", source = { kind = "cbr", rate = "1 Mbit/s", packet = "1000 bytes" } }"#
            .to_owned(),
    ];
    // Queueing times need a control group, which not every machine has.
    let with_aqt = dumbbell_testbed::control_group::mount().is_some();
    if !with_aqt {
        println!("SKIPPED the flow with queueing times: no mount of cgroup2");
    }
    let aqt = with_aqt.then(|| flow("rovegas", "rovegas", rovegas, ""));
    let scenario = two_hosts(5.0, 0.0, &flows.into_iter().chain(aqt).collect::<Vec<_>>().join(", "));
    let done = done(&scenario, &Replacements::new());
    let flows = &done.outcome.flows;
    assert!(done.controls[0].as_deref().is_some_and(|name| name.starts_with("db_vegas_")));
    assert!(flows[0].goodput_bps > 1e5, "{:?}", flows[0]);
    assert_eq!((flows[1].bytes_delivered, flows[1].connections), (100_000, 1));
    assert!(flows[1].completion_s.is_some_and(|time| (0.1..3.0).contains(&time)), "{:?}", flows[1]);
    assert_eq!(flows[2].connections, 2);
    assert!(flows[2].bytes_delivered > 10_000, "{:?}", flows[2]);
    // 1 Mbit/s for 5 s are 625 packets of 1000 bytes.
    assert!((600..=626).contains(&flows[3].segments_sent), "{:?}", flows[3]);
    if with_aqt {
        assert!(flows[4].goodput_bps > 1e5, "{:?}", flows[4]);
    }
    assert!(done.outcome.conservation.holds());
    // Nothing stays registered.
    let listed =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a list");
    for name in done.controls.iter().flatten().filter(|name| name.starts_with("db_")) {
        assert!(!listed.split_ascii_whitespace().any(|known| known == name), "{name} in {listed}");
    }
}

#[test]
fn packets_are_written_at_both_ends() {
    let _alone = crate::alone();
    if !can_run() {
        return;
    }
    let path = std::env::temp_dir().join(format!("dumbbell-packets-{}.pcapng", std::process::id()));
    let cbr = r#"{ name = "cbr", from = "a", to = "b", source = { kind = "cbr", rate = "1 Mbit/s", packet = "1000 bytes" } }"#;
    let scenario = two_hosts(1.0, 0.0, &format!("{}, {cbr}", flow("f", "reno", SIZES, "")));
    let replacements = Replacements::new();
    let request = Request { scenario, seed: 1, run: 0, replacements, pcap: Some(path.clone()) };
    let done = run(&request).unwrap_or_else(|error| panic!("{error}"));
    let bytes = std::fs::read(&path).expect("a file");
    std::fs::remove_file(&path).expect("a file");
    let mut reader = PcapNgReader::new(bytes.as_slice()).expect("pcapng");
    let mut seen = [0_u64; 4];
    let mut latest = Duration::ZERO;
    while let Some(block) = reader.next_block() {
        let Some(packet) = block.expect("a block").into_enhanced_packet() else { continue };
        assert!(packet.timestamp >= latest && packet.original_len as usize == packet.data.len());
        latest = packet.timestamp;
        seen[packet.interface_id as usize] += 1;
        let sliced = SlicedPacket::from_ip(&packet.data).expect("a packet");
        let (Some(NetSlice::Ipv4(ip)), Some(transport)) = (sliced.net, sliced.transport) else {
            panic!("another packet: {:?}", packet.data);
        };
        let ends = (ip.header().source(), ip.header().destination());
        match transport {
            TransportSlice::Tcp(tcp) => {
                assert_eq!(tcp.calc_checksum_ipv4(ends.0, ends.1), Ok(tcp.checksum()));
            }
            TransportSlice::Udp(udp) => assert_eq!((udp.destination_port(), udp.length()), (5002, 980)),
            _ => panic!("another transport"),
        }
    }
    let names: Vec<String> = reader.interfaces().iter().map(|one| format!("{:?}", one.options)).collect();
    assert!(names[0].contains("f sender") && names[3].contains("cbr receiver"), "{names:?}");
    // What entered the links was seen there, and once more when it was delivered, except what was due as the run ended.
    let conservation = &done.outcome.conservation;
    let expected = conservation.sent + conservation.delivered;
    assert!(expected.abs_diff(seen.iter().sum::<u64>()) <= 5, "{seen:?} {conservation:?}");
    // 1 Mbit/s for 1 s are 125 datagrams.
    assert!(seen[2] >= 124 && seen[3] >= 100 && seen[0] > 500 && seen[1] > 500, "{seen:?}");
}

#[cfg(not(feature = "twins"))]
#[test]
fn a_twin_that_was_not_built_is_missing() {
    let _alone = crate::alone();
    if !can_run() {
        return;
    }
    let scenario = two_hosts(1.0, 0.0, &flow("f", "reno", SIZES, ""));
    let replacements = Replacements::from([("f".to_owned(), "twin".to_owned())]);
    let refused = run(&Request { scenario, seed: 1, run: 0, replacements, pcap: None });
    let Err(RunError::Missing(reason)) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("built without the eBPF twins"), "{reason}");
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_refused() {
    let _alone = crate::alone();
    if !can_run() {
        return;
    }
    let scenario = two_hosts(1.0, 0.0, &flow("f", "reno", SIZES, ""));
    let replacements = Replacements::from([("f".to_owned(), "nonesuch".to_owned())]);
    let refused = run(&Request { scenario, seed: 1, run: 0, replacements, pcap: None });
    let Err(RunError::Refused(error)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.field.as_str(), error.value.as_str()), ("flows.f.tcp.congestion", "\"nonesuch\""));
    assert!(error.accepted.contains("reno"), "{error}");
}
