//! Transfers of the kernel's TCP over emulated links. They need Linux, root and `/dev/net/tun`; without, they say so and
//! check nothing.

use dumbbell_sim::Scenario;
use dumbbell_sim::paths::Direction;
use dumbbell_testbed::Wire;
use dumbbell_testbed::clock::RunClock;
use dumbbell_testbed::emulator::{self, FlowHosts, Report};
use dumbbell_testbed::pcap::Capture;
use dumbbell_testbed::space::{HostSpec, Peer, Space};
use dumbbell_testbed::wire::EndPoints;
use dumbbell_units::Time;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const PORT: u16 = 5000;

/// Addresses of the sender and the receiver of a flow.
fn addresses(flow: u8) -> (Ipv4Addr, Ipv4Addr) {
    (Ipv4Addr::new(10, 77, flow, 1), Ipv4Addr::new(10, 77, flow, 2))
}

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

/// What transfers showed.
struct Transfers {
    /// Goodput of each flow in the second half, in bit/s.
    goodput: Vec<f64>,
    report: Report,
    wire: Wire,
}

/// Reads what arrives until `end`, and returns the goodput in its second half, in bit/s.
fn receive(address: Ipv4Addr, clock: RunClock, end: Time) -> f64 {
    let listener = TcpListener::bind(SocketAddr::from((address, PORT))).expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) if clock.now().expect("a clock") < end => thread::yield_now(),
            Err(error) => panic!("no connection: {error}"),
        }
    };
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
    let mut begun = Time::NEVER;
    loop {
        // A timeout only means that nothing has arrived.
        let count = stream.read(&mut buffer).unwrap_or_default();
        let now = clock.now().expect("a clock");
        if begun == Time::NEVER {
            begun = if now.0 >= end.0 / 2 { now } else { begun };
        } else {
            bytes += count;
        }
        if now >= end {
            return bytes as f64 * 8.0 / now.since(begun).secs();
        }
    }
}

/// Sends as much as the window allows until `stop`.
fn send(address: Ipv4Addr, stop: &AtomicBool) {
    // The receiver may not be listening yet.
    let mut stream = loop {
        match TcpStream::connect_timeout(&SocketAddr::from((address, PORT)), Duration::from_secs(1)) {
            Ok(stream) => break stream,
            Err(_) if stop.load(Ordering::Relaxed) => return,
            Err(_) => thread::yield_now(),
        }
    };
    stream.set_write_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let bytes = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        // A timeout only means that the window is full.
        let _ = stream.write(&bytes);
    }
}

/// Greedy transfers of the kernel, with this setting of ECN, over the links of a scenario, one for each of its flows.
/// They are measured over the second half of `seconds`.
fn transfer(scenario: &str, ecn: &str, seconds: f64) -> Transfers {
    let scenario = Scenario::from_toml(scenario).unwrap_or_else(|error| panic!("{error}"));
    let flows: Vec<(Ipv4Addr, Ipv4Addr)> = (0..scenario.flows.len() as u8).map(addresses).collect();
    let ends = flows.iter().map(|&(sender, receiver)| EndPoints {
        sender: Some(sender.into()),
        receiver: Some(receiver.into()),
        port: Some(PORT),
    });
    let mut wire = Wire::new(&scenario, (1, 0), ends.collect()).expect("a wire");
    let both = |&(sender, receiver): &(Ipv4Addr, Ipv4Addr)| {
        [host(sender, receiver, ecn), host(receiver, sender, ecn)]
            .map(|spec| Space::new(&spec).expect("a host"))
    };
    let hosts: Vec<Space> = flows.iter().flat_map(both).collect();
    let hosts_of: Vec<FlowHosts> =
        (0..flows.len()).map(|flow| FlowHosts { sender: 2 * flow, receiver: 2 * flow + 1 }).collect();
    let clock = RunClock::start().expect("a clock");
    let (stop, end) = (AtomicBool::new(false), Time::from_secs(seconds));
    let (goodput, report) = thread::scope(|scope| {
        let (wire, hosts, stop, hosts_of) = (&mut wire, &hosts, &stop, &hosts_of);
        let emulation = scope.spawn(move || {
            let hosts: Vec<&Space> = hosts.iter().collect();
            emulator::run(wire, &hosts, hosts_of, clock, (Time::NEVER, stop), &Capture::default())
        });
        let mut receivers = Vec::new();
        for (ends, &(_, address)) in hosts_of.iter().zip(&flows) {
            receivers.push(hosts[ends.receiver].spawn(scope, move || receive(address, clock, end)));
            hosts[ends.sender].spawn(scope, move || send(address, stop));
        }
        let done: Vec<_> = receivers.into_iter().map(|receiver| receiver.join()).collect();
        // The emulation ends even if a receiver panicked.
        stop.store(true, Ordering::Relaxed);
        let goodput = done.into_iter().map(|done| done.expect("no panic").expect("a namespace")).collect();
        (goodput, emulation.join().expect("no panic").expect("an emulation"))
    });
    Transfers { goodput, report, wire }
}

/// Two hosts with 10 ms each way and this rate in Mbit/s, with this queue on the way there.
fn two_hosts(megabits: u64, queue: &str) -> String {
    format!(
        r#"
        duration = "60 s"
        rules = "classic"
        nodes = ["a", "b"]
        links = [
            {{ name = "there", from = "a", to = "b", rate = "{megabits} Mbit/s", delay = "10 ms", queue = {queue} }},
            {{ name = "back", from = "b", to = "a", rate = "{megabits} Mbit/s", delay = "10 ms" }},
        ]
        flows = [{{ name = "f", from = "a", to = "b", tcp = "reno" }}]
        "#
    )
}

/// Two flows that share a link of 20 Mbit/s, and share the way back.
const DUMBBELL: &str = r#"
    duration = "60 s"
    rules = "classic"
    nodes = ["s0", "s1", "r1", "r2", "d0", "d1"]
    links = [
        { name = "r1-r2", from = "r1", to = "r2", rate = "20 Mbit/s", delay = "5 ms", queue = { kind = "droptail", limit = "80 packets" } },
        { name = "r2-r1", from = "r2", to = "r1", rate = "20 Mbit/s", delay = "5 ms" },
        { name = "s0-r1", from = "s0", to = "r1", rate = "100 Mbit/s", delay = "2 ms" },
        { name = "s1-r1", from = "s1", to = "r1", rate = "100 Mbit/s", delay = "3 ms" },
        { name = "r1-s0", from = "r1", to = "s0", rate = "100 Mbit/s", delay = "2 ms" },
        { name = "r1-s1", from = "r1", to = "s1", rate = "100 Mbit/s", delay = "3 ms" },
        { name = "r2-d0", from = "r2", to = "d0", rate = "100 Mbit/s", delay = "1 ms" },
        { name = "r2-d1", from = "r2", to = "d1", rate = "100 Mbit/s", delay = "1 ms" },
        { name = "d0-r2", from = "d0", to = "r2", rate = "100 Mbit/s", delay = "1 ms" },
        { name = "d1-r2", from = "d1", to = "r2", rate = "100 Mbit/s", delay = "1 ms" },
    ]
    flows = [{ name = "f0", from = "s0", to = "d0", tcp = "reno" }, { name = "f1", from = "s1", to = "d1", tcp = "reno" }]
"#;

/// True if the machine can make hosts; says what is missing otherwise.
fn can_make_hosts() -> bool {
    let (sender, receiver) = addresses(0);
    match Space::new(&host(sender, receiver, "0")) {
        Ok(_) => true,
        Err(error) => {
            println!("SKIPPED a test of the testbed: {error}");
            false
        }
    }
}

/// The goodput of all flows as a share of the rate that remains for payload. Of 1500 bytes, 52 are headers: 20 of IP,
/// 20 of TCP and 12 of timestamps.
fn share_of_ideal(megabits: u64, transfers: &Transfers) -> f64 {
    let lateness = transfers.wire.lateness();
    let share = transfers.goodput.iter().sum::<f64>() / (megabits as f64 * 1e6 * 1448.0 / 1500.0);
    println!(
        "{megabits} Mbit/s: goodput {share:.4} of the ideal; late p50 {} us, p99 {} us, max {} us; {:?}",
        lateness.quantile(0.5).0 / 1000,
        lateness.quantile(0.99).0 / 1000,
        lateness.max().0 / 1000,
        transfers.report,
    );
    share
}

/// Every packet was read, written and accounted for.
fn assert_complete(transfers: &Transfers) {
    let refused = transfers.wire.refused();
    assert_eq!((transfers.report.write_errors, refused.not_ip, refused.length), (0, 0, 0));
    assert!(transfers.wire.conservation().holds());
}

#[test]
fn reno_of_the_kernel_fills_the_link_with_payload() {
    let _alone = crate::alone();
    if !can_make_hosts() {
        return;
    }
    // Lateness of a busy machine does not bend rates, so a disturbed run counts here, too.
    for megabits in [10, 100] {
        let queue = format!("{{ kind = \"droptail\", limit = \"{} packets\" }}", 5 * megabits);
        let transfers = transfer(&two_hosts(megabits, &queue), "0", 6.0);
        let share = share_of_ideal(megabits, &transfers);
        assert!((share - 1.0).abs() < 0.02, "{share}");
        let there = transfers.wire.flow_counters(0, 0, Direction::Forward);
        assert!(there.drops_queue > 0 && there.packets > 1000, "{there:?}");
        assert_complete(&transfers);
    }
}

#[test]
fn flows_that_merge_share_the_bottleneck() {
    let _alone = crate::alone();
    if !can_make_hosts() {
        return;
    }
    let transfers = transfer(DUMBBELL, "0", 6.0);
    let share = share_of_ideal(20, &transfers);
    assert!((share - 1.0).abs() < 0.02, "{share}");
    for flow in 0..2 {
        let there = transfers.wire.flow_counters(0, flow, Direction::Forward);
        assert!(there.packets_sent > 1000, "{there:?}");
    }
    assert_complete(&transfers);
}

#[test]
fn the_kernel_reacts_to_marks_in_place_of_drops() {
    let _alone = crate::alone();
    if !can_make_hosts() {
        return;
    }
    for (ecn, is_marking) in [("1", true), ("0", false)] {
        let transfers = transfer(&two_hosts(10, "\"codel\""), ecn, 6.0);
        // A packet with a wrong header checksum would be lost behind the link, and the goodput with it.
        let share = share_of_ideal(10, &transfers);
        assert!((0.8..1.01).contains(&share), "{share}");
        let stats = transfers.wire.stats(0);
        assert_eq!((stats.marks > 0, stats.drops_early > 0), (is_marking, !is_marking), "{stats:?}");
        assert_complete(&transfers);
    }
}

#[test]
fn what_a_host_does_not_accept_is_named() {
    let _alone = crate::alone();
    if !can_make_hosts() {
        return;
    }
    let (sender, receiver) = addresses(0);
    let mut spec = host(sender, receiver, "0");
    spec.settings.push(("ipv4/tcp_congestion_control".into(), "nonesuch".into()));
    let error = Space::new(&spec).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("net/ipv4/tcp_congestion_control to \"nonesuch\""), "{error}");
    let mut spec = host(sender, receiver, "0");
    spec.peers[0].route = vec!["initcwnd".into(), "many".into()];
    let error = Space::new(&spec).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("initcwnd many"), "{error}");
}
