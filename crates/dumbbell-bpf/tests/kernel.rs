//! The twins in the running kernel: the verifier accepts them, sockets choose them, and nothing of them remains.
//!
//! The tests need root and skip loudly without. Traffic stays on the loopback device of network namespaces that end
//! with the process they were made for.
#![cfg(all(feature = "kernel", target_os = "linux"))]
#![allow(clippy::disallowed_macros, reason = "a skipped test says so")]
#![allow(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use dumbbell_bpf::Twin;
use dumbbell_bpf::loader::{LoadError, Options, RUNS, Record, Registration, parameters_of};
use dumbbell_units::Value;
use dumbbell_units::spec::Members;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Bytes of a transfer.
const TRANSFER: usize = 4 << 20;

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        eprintln!("SKIPPED: tests of the kernel need root");
    }
    is_root
}

/// A run of this process, so that several may test at the same time.
fn run(test: u32) -> u16 {
    u16::try_from((std::process::id() * 16 + test) % u32::from(RUNS)).expect("below the number of runs")
}

fn options(run: u16, settings: &[(&str, Value)]) -> Options<'static> {
    let settings: Members =
        settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Options { settings, run, ..Options::default() }
}

fn is_listed(name: &str) -> bool {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("the list");
    list.split_whitespace().any(|known| known == name)
}

/// True if the name is gone within seconds: a process that another test is starting holds copies of all descriptors
/// until it runs its program.
fn is_gone(name: &str) -> bool {
    (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !is_listed(name)
    })
}

/// A control group of version 2 that is removed with this value.
struct ControlGroup(PathBuf);

impl ControlGroup {
    fn new(name: &str) -> Option<ControlGroup> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("the mounts");
        let mount = mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[2] == "cgroup2").then(|| fields[1].to_owned())
        })?;
        let path = Path::new(&mount).join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("a new control group");
        Some(ControlGroup(path))
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // The last of its processes may not have been reaped yet; an empty group that stays is harmless.
        let _ = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            fs::remove_dir(&self.0).is_ok()
        });
    }
}

/// Transfers over loopback in a network namespace of its own, in a control group if there is one.
fn transfer(name: &str, group: Option<&Path>) -> Output {
    let this = std::env::current_exe().expect("this test");
    let join = group.map_or(String::new(), |group| format!("echo $$ > {}/cgroup.procs && ", group.display()));
    Command::new("sh")
        .arg("-c")
        .arg(format!(
            "{join}exec unshare --net -- \"$0\" --exact --ignored --nocapture transfers_in_a_namespace"
        ))
        .arg(this)
        .env("DUMBBELL_ALGORITHM", name)
        .output()
        .expect("a process in a new network namespace")
}

#[test]
#[ignore = "started by the other tests in a network namespace of its own"]
fn transfers_in_a_namespace() {
    let Ok(name) = std::env::var("DUMBBELL_ALGORITHM") else { return };
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("the program ip");
    assert!(up.success());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listening socket");
    let address = listener.local_addr().expect("its address");
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut received = 0;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match stream.read(&mut buffer).expect("data") {
                0 => return received,
                length => received += length,
            }
        }
    });
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.set_tcp_congestion(name.as_bytes()).expect("the algorithm can be chosen");
    socket.connect(&address.into()).expect("a connection");
    let chosen = socket.tcp_congestion().expect("the algorithm");
    assert!(String::from_utf8_lossy(&chosen).starts_with(&name));
    let mut stream = TcpStream::from(socket);
    for _ in 0..TRANSFER / (1 << 16) {
        stream.write_all(&[7; 1 << 16]).expect("data is sent");
    }
    drop(stream);
    assert_eq!(receiver.join().expect("the receiver ends"), TRANSFER);
}

fn assert_transfers(name: &str, group: Option<&Path>) {
    let output = transfer(name, group);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_twin_is_accepted_transfers_data_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    for twin in Twin::all() {
        let group = ControlGroup::new("dumbbell-all").expect("a mount of cgroup2");
        let options = Options { control_group: Some(&group.0), ..options(run(0), &[]) };
        let registration =
            Registration::of_twin(twin, &options).unwrap_or_else(|error| panic!("{}: {error}", twin.name()));
        let name = registration.name().to_owned();
        assert!(is_listed(&name));
        assert_transfers(&name, None);
        assert_eq!(registration.take_records().expect("no records"), []);
        drop(registration);
        assert!(is_gone(&name), "{name} is still registered");
    }
}

#[test]
fn objects_declare_the_parameters_and_probes_of_their_sources() {
    for twin in Twin::all() {
        let by_name = |mut parameters: Vec<dumbbell_bpf::Parameter>| {
            parameters.sort_by(|a, b| a.name.cmp(&b.name));
            parameters
        };
        let of_object =
            parameters_of(twin.object()).unwrap_or_else(|error| panic!("{}: {error}", twin.name()));
        assert_eq!(by_name(of_object), by_name(twin.parameters()), "{}", twin.name());
    }
}

#[test]
fn two_parameter_sets_of_one_twin_run_at_once() {
    if !is_root() {
        return;
    }
    let vegas = Twin::named("vegas").expect("a twin");
    let settings =
        [("alpha", Value::from(20.0)), ("beta", Value::from(40.0)), ("rtt", Value::from("minimum"))];
    let wide = Options { is_probing: true, ..options(run(1), &settings) };
    let wide = Registration::of_twin(vegas, &wide).expect("a registration");
    let narrow = Registration::of_twin(vegas, &options(run(2), &[])).expect("another one");
    assert_ne!(wide.name(), narrow.name());
    assert_transfers(wide.name(), None);
    assert_transfers(narrow.name(), None);
    // Only the first was asked for its probes.
    assert!(!wide.take_records().expect("records").is_empty());
    assert_eq!(narrow.take_records().expect("no records"), []);
}

#[test]
fn probes_report_a_base_rtt_that_falls_and_are_taken_once() {
    if !is_root() {
        return;
    }
    let twin = Twin::named("westwoodp").expect("a twin");
    let registration = Registration::of_twin(twin, &Options { is_probing: true, ..options(run(3), &[]) })
        .expect("a registration");
    assert_transfers(registration.name(), None);
    let records = registration.take_records().expect("records");
    let names: Vec<&str> = registration.probes().map(|probe| probe.name.as_str()).collect();
    assert_eq!(names, ["base_rtt", "bandwidth"]);
    let base: Vec<f64> = records.iter().filter_map(|record| record.values[0]).collect();
    assert!(!base.is_empty() && base.is_sorted_by(|before, after| before >= after), "{base:?}");
    assert!(base.iter().all(|rtt| (1e-6..0.1).contains(rtt)), "{base:?}");
    assert!(records.is_sorted_by_key(|record| record.at_ns));
    assert!(records.iter().all(|record| record.local_port != 0 && record.remote_port != 0));
    assert_eq!(registration.take_records().expect("no records"), []);
}

#[test]
fn queueing_times_travel_in_an_option_within_the_control_group() {
    if !is_root() {
        return;
    }
    let rovegas = Twin::named("rovegas").expect("a twin");
    let without = Registration::of_twin(rovegas, &options(run(4), &[]));
    assert!(matches!(without, Err(LoadError::NeedsControlGroup)), "{without:?}");
    let Some(group) = ControlGroup::new("dumbbell-aqt") else {
        eprintln!("SKIPPED: options need a mount of cgroup2");
        return;
    };
    let options = Options { is_probing: true, control_group: Some(&group.0), ..options(run(4), &[]) };
    let registration = Registration::of_twin(rovegas, &options).expect("a registration");
    let rises = |records: Vec<Record>| {
        let base: Vec<f64> = records.iter().filter_map(|record| record.values[0]).collect();
        assert!(!base.is_empty());
        base.windows(2).any(|pair| pair[1] > pair[0])
    };
    // Where the option is heard, each sample replaces the base RTT; elsewhere it only falls, as in Vegas.
    assert_transfers(registration.name(), None);
    assert!(!rises(registration.take_records().expect("records")));
    assert_transfers(registration.name(), Some(&group.0));
    assert!(rises(registration.take_records().expect("records")));
}

#[test]
fn refusals_state_their_reason() {
    let vegas = Twin::named("vegas").expect("a twin");
    let refused = |name: &str, value: Value| {
        let error =
            Registration::of_twin(vegas, &options(run(5), &[(name, value)])).expect_err("it is refused");
        error.to_string()
    };
    let text = refused("alfa", Value::from(1.0));
    assert!(text.contains("alfa") && text.contains("did you mean `alpha`?"), "{text}");
    let text = refused("alpha", Value::from(-1.0));
    assert!(text.contains("a multiple of 0.001 from 0.0 to 1000000.0"), "{text}");
    let error =
        Registration::of_object("tentletters", vegas.object(), &options(0, &[])).expect_err("too long");
    assert!(matches!(error, LoadError::Name(_)), "{error}");
    let error = Registration::of_object("none", b"no object", &options(0, &[])).expect_err("no object");
    assert!(error.to_string().starts_with("cannot open the object"), "{error}");
    let reno = Twin::named("reno").expect("a twin");
    let options = Options { is_probing: true, ..options(run(5), &[]) };
    assert!(matches!(Registration::of_twin(reno, &options), Err(LoadError::NoProbes)));
}

#[test]
#[ignore = "started by another test, which kills it"]
fn registers_and_waits() {
    if std::env::var_os("DUMBBELL_WAITS").is_none() {
        return;
    }
    let twin = Twin::named("code").expect("a twin");
    let registration = Registration::of_twin(twin, &options(run(7), &[])).expect("a registration");
    println!("registered {}", registration.name());
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_nothing() {
    if !is_root() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "--ignored", "--nocapture", "registers_and_waits"])
        .env("DUMBBELL_WAITS", "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("another process");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let name =
        lines.map_while(Result::ok).find_map(|line| Some(line.split_once("registered ")?.1.to_owned()));
    let name = name.expect("the name that it registered");
    assert!(is_listed(&name));
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert!(is_gone(&name), "{name} is still registered");
}

#[test]
fn a_name_is_registered_once() {
    if !is_root() {
        return;
    }
    let reno = Twin::named("reno").expect("a twin");
    let first = Registration::of_twin(reno, &options(run(6), &[])).expect("a registration");
    let second = Registration::of_twin(reno, &options(run(6), &[]));
    assert!(matches!(&second, Err(LoadError::Taken(name)) if name == first.name()), "{second:?}");
}
