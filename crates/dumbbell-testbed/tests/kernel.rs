//! Transfers of the kernel's TCP over emulated links. They need Linux, root and `/dev/net/tun`; without, they say so and
//! check nothing.

#![cfg(all(feature = "kernel", target_os = "linux"))]
#![allow(clippy::disallowed_macros, reason = "a skipped test says so")]

use dumbbell_sim::Scenario;
use dumbbell_sim::paths::Direction;
use dumbbell_testbed::Wire;
use dumbbell_testbed::emulator::{self, FlowHosts, Report, RunClock};
use dumbbell_testbed::space::{HostSpec, Peer, Space};
use dumbbell_testbed::wire::EndPoints;
use dumbbell_units::Time;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const PORT: u16 = 5000;

/// A host whose TCP is Reno, without what an earlier connection has learnt. `ecn` is its setting of ECN.
fn host(address: Ipv4Addr, peer: Ipv4Addr, ecn: &str) -> HostSpec {
    let settings = [
        ("ipv4/tcp_congestion_control", "reno"),
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/tcp_ecn", ecn),
        ("ipv4/tcp_wmem", "4096 16384 16777216"),
    ];
    HostSpec {
        address,
        mtu: 1500,
        peers: vec![Peer { address: peer, route: Vec::new() }],
        settings: settings.map(|(path, value)| (path.to_owned(), value.to_owned())).to_vec(),
    }
}

/// What a transfer showed.
struct Transfer {
    /// Bytes that the application received within the window, and its length in seconds.
    received: (u64, f64),
    report: Report,
    wire: Wire,
}

/// A greedy transfer of the kernel, with this setting of ECN, over a link of this rate in Mbit/s and this queue. It
/// takes `seconds` and is measured over the second half.
fn transfer(megabits: u64, queue: &str, ecn: &str, seconds: u64) -> Transfer {
    let scenario = Scenario::from_toml(&format!(
        r#"
        duration = "{seconds} s"
        nodes = ["a", "b"]
        links = [
            {{ name = "there", from = "a", to = "b", rate = "{megabits} Mbit/s", delay = "10 ms",
               queue = {queue} }},
            {{ name = "back", from = "b", to = "a", rate = "{megabits} Mbit/s", delay = "10 ms" }},
        ]
        flows = [{{ name = "f", from = "a", to = "b", tcp = "reno" }}]
        "#
    ));
    let scenario = scenario.expect("a scenario");
    let ends = EndPoints { sender: Some(SENDER.into()), receiver: Some(RECEIVER.into()), port: Some(PORT) };
    let mut wire = Wire::new(&scenario, (1, 0), vec![ends]).expect("a wire");
    let sender = Space::new(&host(SENDER, RECEIVER, ecn)).expect("a sender");
    let receiver = Space::new(&host(RECEIVER, SENDER, ecn)).expect("a receiver");
    let clock = RunClock::start().expect("a clock");
    let (stop, end) = (AtomicBool::new(false), Time::from_secs(seconds as f64));
    // The connection needs some round trips to fill the link.
    let from = Time::from_secs(seconds as f64 / 2.0);
    let (received, report) = thread::scope(|scope| {
        let (hosts, flows) = ([&sender, &receiver], [FlowHosts { sender: 0, receiver: 1 }]);
        let (wire_ref, stop_ref) = (&mut wire, &stop);
        let emulation = scope.spawn(move || emulator::run(wire_ref, &hosts, &flows, clock, (end, stop_ref)));
        let received = receiver.spawn(scope, || {
            let listener = TcpListener::bind(SocketAddr::from((RECEIVER, PORT))).expect("a port");
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
            let mut begun = Time::NEVER;
            loop {
                let count = stream.read(&mut buffer).expect("data") as u64;
                let now = clock.now().expect("a clock");
                if begun == Time::NEVER && now >= from {
                    begun = now;
                } else if begun < Time::NEVER {
                    bytes += count;
                }
                if now + Time(100_000_000) >= end {
                    stop.store(true, Ordering::Relaxed);
                    return (bytes, now.since(begun).secs());
                }
            }
        });
        sender.spawn(scope, || {
            let address = SocketAddr::from((RECEIVER, PORT));
            // The receiver may not be listening yet.
            let mut stream = loop {
                match TcpStream::connect(address) {
                    Ok(stream) => break stream,
                    Err(_) => thread::yield_now(),
                }
            };
            stream.set_write_timeout(Some(std::time::Duration::from_millis(200))).expect("a timeout");
            let bytes = vec![0; 1 << 16];
            while !stop.load(Ordering::Relaxed) {
                // A timeout only means that the window is full.
                let _ = stream.write(&bytes);
            }
        });
        let received = received.join().expect("no panic").expect("a namespace");
        let report = emulation.join().expect("no panic").expect("an emulation");
        (received, report)
    });
    Transfer { received, report, wire }
}

/// True if the machine can make hosts; says what is missing otherwise.
fn can_make_hosts() -> bool {
    match Space::new(&host(SENDER, RECEIVER, "0")) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            false
        }
    }
}

/// The goodput as a share of the rate that remains for payload. Of 1500 bytes, 52 are headers: 20 of IP, 20 of TCP and
/// 12 of timestamps.
fn share_of_ideal(megabits: u64, transfer: &Transfer) -> f64 {
    let ((bytes, seconds), lateness) = (transfer.received, transfer.wire.lateness());
    let share = bytes as f64 * 8.0 / seconds / (megabits as f64 * 1e6 * 1448.0 / 1500.0);
    println!(
        "{megabits} Mbit/s: goodput {share:.4} of the ideal; late p50 {} us, p99 {} us, max {} us; {:?}",
        lateness.quantile(0.5).0 / 1000,
        lateness.quantile(0.99).0 / 1000,
        lateness.max().0 / 1000,
        transfer.report,
    );
    share
}

/// A transfer whose packets were all read, written and accounted for.
fn assert_complete(transfer: &Transfer) {
    let refused = transfer.wire.refused();
    assert_eq!((transfer.report.write_errors, refused.not_ip, refused.length), (0, 0, 0));
    assert!(transfer.wire.conservation().holds());
}

#[test]
fn reno_of_the_kernel_fills_the_link_with_payload() {
    if !can_make_hosts() {
        return;
    }
    // Lateness of a busy machine does not bend rates, so a disturbed run counts here, too.
    for megabits in [10, 100] {
        let queue = format!("{{ kind = \"droptail\", limit = \"{} packets\" }}", 5 * megabits);
        let transfer = transfer(megabits, &queue, "0", 6);
        let share = share_of_ideal(megabits, &transfer);
        assert!((share - 1.0).abs() < 0.02, "{share}");
        let there = transfer.wire.flow_counters(0, 0, Direction::Forward);
        assert!(there.drops_queue > 0 && there.packets > 1000, "{there:?}");
        assert_complete(&transfer);
    }
}

#[test]
fn the_kernel_reacts_to_marks_in_place_of_drops() {
    if !can_make_hosts() {
        return;
    }
    let (marking, dropping) = (transfer(10, "\"codel\"", "1", 6), transfer(10, "\"codel\"", "0", 6));
    for (transfer, is_marking) in [(&marking, true), (&dropping, false)] {
        let stats = transfer.wire.stats(0);
        // A packet with a wrong header checksum would be lost behind the link, and the goodput with it.
        let share = share_of_ideal(10, transfer);
        assert!((0.8..1.01).contains(&share), "{share}");
        assert_eq!((stats.marks > 0, stats.drops_early > 0), (is_marking, !is_marking), "{stats:?}");
        assert_complete(transfer);
    }
}

#[test]
fn what_a_host_does_not_accept_is_named() {
    if !can_make_hosts() {
        return;
    }
    let mut spec = host(SENDER, RECEIVER, "0");
    spec.settings.push(("ipv4/tcp_congestion_control".into(), "nonesuch".into()));
    let error = Space::new(&spec).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("net/ipv4/tcp_congestion_control to \"nonesuch\""), "{error}");
    let mut spec = host(SENDER, RECEIVER, "0");
    spec.peers[0].route = vec!["initcwnd".into(), "many".into()];
    let error = Space::new(&spec).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("initcwnd many"), "{error}");
}
