//! Programs behind a link. They need Linux, root, `/dev/net/tun` and the commands `ip`, `sh` and `cat`; without, they say
//! so and check nothing. Rates and delays are compared loosely, because machines that run tests are busy, and printed.

use clap::CommandFactory;
use dumbbell_testbed::shell::options::Options;
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::MutexGuard;
use std::thread;
use std::time::{Duration, Instant};

const SHELL: &str = env!("CARGO_BIN_EXE_dumbbell-shell");

fn shell(arguments: &[&str]) -> Command {
    let mut command = Command::new(SHELL);
    // The one who runs the tests is who the programs run as.
    command.env_remove("SUDO_UID").env_remove("SUDO_GID").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    shell(arguments).output().expect("the shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// The right to test alone, if the machine can make links; says what is missing otherwise.
fn links() -> Option<MutexGuard<'static, ()>> {
    let guard = crate::alone();
    let output = run(&["--", "true"]);
    if !output.status.success() {
        println!("SKIPPED a test of the shell: {}", text(&output.stderr));
    }
    output.status.success().then_some(guard)
}

/// A program that runs until it is dropped.
struct Running {
    child: Child,
    /// Addresses of the host and of the program.
    addresses: [Ipv4Addr; 2],
}

impl Running {
    /// Starts a shell whose program runs `script` after it has told its addresses.
    fn start(arguments: &[&str], script: &str) -> Running {
        let script = format!("echo $DUMBBELL_HOST $DUMBBELL_ADDRESS; {script}");
        let all = [arguments, &["--", "sh", "-c", &script]].concat();
        let mut child = shell(&all).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the shell");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        let mut addresses = line.split_whitespace().map(|word| word.parse().expect("an address"));
        let addresses = [0; 2].map(|_| addresses.next().expect("two addresses"));
        Running { child, addresses }
    }

    /// A program that waits for its input to end.
    fn waiting(arguments: &[&str]) -> Running {
        Running::start(arguments, "exec cat")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The time in which a host answers that no one listens at a port, in milliseconds; the least of several.
fn round_trip(address: Ipv4Addr) -> f64 {
    let once = || {
        let begin = Instant::now();
        let refused = TcpStream::connect_timeout(&SocketAddr::from((address, 9)), Duration::from_secs(5));
        assert!(refused.is_err());
        begin.elapsed().as_secs_f64() * 1e3
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// A file that is removed when it is dropped.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        TestFile(std::env::temp_dir().join(format!("dumbbell-shell-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path")
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&fs::read(&self.0).expect("a file")).expect("JSON")
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// True if a device of this machine has this address.
fn has_address(address: Ipv4Addr) -> bool {
    let output = Command::new("ip").args(["-json", "address"]).output().expect("ip");
    text(&output.stdout).contains(&format!("\"{address}\""))
}

#[test]
fn a_transfer_fills_200_megabits_with_payload() {
    let Some(_alone) = links() else { return };
    let report = TestFile::new("report");
    // One BDP of 20 ms is 333 packets.
    let arguments =
        ["--rate", "200Mbit", "--delay", "10ms", "--queue", "droptail:limit=500p", "--report", report.path()];
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let script = format!("exec bash -c 'exec cat /dev/zero > /dev/tcp/'$DUMBBELL_HOST/{port}");
    let mut running = Running::start(&arguments, &script);
    let (mut stream, _) = listener.accept().expect("a connection");
    let (mut bytes, mut buffer, mut begin) = (0, vec![0; 1 << 18], Instant::now());
    let opened = Instant::now();
    while opened.elapsed() < Duration::from_secs(6) {
        let count = stream.read(&mut buffer).expect("data");
        // The window has opened by then.
        if opened.elapsed() < Duration::from_secs(2) {
            (begin, bytes) = (Instant::now(), 0);
        } else {
            bytes += count;
        }
    }
    let goodput = bytes as f64 * 8.0 / begin.elapsed().as_secs_f64();
    drop(stream);
    let _ = running.child.wait();
    drop(running);
    // Of 1500 bytes, 52 are headers of IP and TCP with timestamps.
    let (share, report) = (goodput / (200e6 * 1448.0 / 1500.0), report.json());
    println!(
        "200 Mbit/s: {share:.4} of the payload rate; late p99 {} ms, max {} ms",
        report["late_p99_ms"], report["late_max_ms"]
    );
    assert!((0.95..1.01).contains(&share), "{share}");
    assert_eq!((report["write_errors"].as_u64(), report["refused"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn the_round_trip_is_twice_the_delay() {
    let Some(_alone) = links() else { return };
    let running = Running::waiting(&["--delay", "20ms"]);
    let inside = round_trip(running.addresses[1]);
    println!("round trip of 40 ms: {inside:.3} ms");
    assert!((40.0..42.0).contains(&inside), "{inside}");
}

#[test]
fn opportunities_of_a_trace_come_at_their_times() {
    let Some(_alone) = links() else { return };
    let (trace, report) = (TestFile::new("trace"), TestFile::new("trace-report"));
    // 500 opportunities a second, unevenly: one after 1 ms, and two after 3 more, again and again.
    let times: String =
        (0..250).map(|number| format!("{0}\n{1}\n{1}\n", number * 6 + 1, number * 6 + 6)).collect();
    fs::write(trace.path(), times).expect("a file");
    let running = Running::waiting(&["--down-trace", trace.path(), "--report", report.path(), "--seed", "3"]);
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let begin = Instant::now();
    let mut sent = 0u64;
    // Full packets at about the mean rate, 500 per second, for 3 s; nobody inside reads them.
    while begin.elapsed() < Duration::from_secs(3) {
        while sent < begin.elapsed().as_millis() as u64 / 2 {
            let _ = socket.send_to(&[0; 1472], (running.addresses[1], 9));
            sent += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    drop(running);
    let report = report.json();
    let late =
        report["late_over_1ms"].as_f64().expect("a number") / report["packets"].as_f64().expect("a number");
    println!(
        "trace: {} packets, {late:.4} of them later than 1 ms; p99 {} ms",
        report["packets"], report["late_p99_ms"]
    );
    // Each packet takes one opportunity, and unreachable ports answer.
    assert!(report["packets"].as_u64() > Some(1200), "{report}");
    assert!(late < 0.05, "{report}");
}

#[test]
fn shells_work_side_by_side_and_inside_each_other() {
    let Some(_alone) = links() else { return };
    let first = Running::waiting(&["--delay", "5ms"]);
    let second = Running::waiting(&["--delay", "15ms"]);
    assert_ne!(first.addresses[0], second.addresses[0]);
    let both = [&first, &second].map(|running| round_trip(running.addresses[1]));
    println!("round trips of 10 and 30 ms: {both:.2?} ms");
    assert!((10.0..12.0).contains(&both[0]) && (30.0..32.0).contains(&both[1]), "{both:?}");
    // The inner program is reached through both links, and its packets find their way back.
    let mut outer = shell(&["--delay", "5ms", "--", SHELL, "--delay", "10ms", "--", "sh", "-c"]);
    outer.arg("echo $DUMBBELL_ADDRESS; exec cat").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut outer = outer.spawn().expect("the shell");
    let mut line = String::new();
    BufReader::new(outer.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    let address: Ipv4Addr = line.trim().parse().expect("an address");
    let nested = round_trip(address);
    println!("round trip of 30 ms through two shells: {nested:.2} ms");
    drop(outer.stdin.take());
    assert!(outer.wait().expect("a status").success());
    assert!((30.0..32.5).contains(&nested), "{nested}");
}

#[test]
fn services_on_loopback_addresses_are_reached_by_their_alias() {
    let Some(_alone) = links() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = thread::spawn(move || {
        let (mut stream, peer) = listener.accept().expect("a connection");
        stream.write_all(b"hello\n").expect("a socket");
        peer
    });
    let script = format!("exec bash -c 'exec cat < /dev/tcp/'$DUMBBELL_LOOPBACK/{port}");
    let output = run(&["--delay", "1ms", "--", "sh", "-c", &script]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("hello", Some(0)), "{output:?}");
    server.join().expect("a server");
}

/// A network of its own with a server, and a host with a shell whose default route leads there.
#[test]
fn hosts_beyond_this_one_are_reached_with_internet() {
    let Some(_alone) = links() else { return };
    if Command::new("nft").arg("--version").output().is_err() {
        println!("SKIPPED a test of the shell: the command nft of nftables is missing");
        return;
    }
    let ip = |arguments: &str| {
        let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip");
        assert!(status.success(), "ip {arguments}");
    };
    let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/net")).expect("a process");
    // The thread is the world beyond: 203.0.113.0/24 is reserved for documentation.
    let beyond = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a namespace");
        let own = fs::read_link("/proc/thread-self/ns/net").expect("a namespace");
        let script = "read -r _; ip address add 203.0.113.2/24 dev eth0; ip link set eth0 up; \
                      ip route add default via 203.0.113.1; exec \"$0\" \"$@\"";
        let mut host = Command::new("unshare");
        host.args(["--net", "sh", "-c", script, SHELL, "--internet", "--delay", "10ms", "--", "bash", "-c"]);
        host.arg("exec cat < /dev/tcp/203.0.113.1/7");
        host.env_remove("SUDO_UID").env_remove("SUDO_GID");
        host.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut host = host.spawn().expect("the command unshare");
        while namespace(host.id()) == own {
            thread::sleep(Duration::from_millis(1));
        }
        ip(&format!("link add far type veth peer name eth0 netns {}", host.id()));
        ip("address add 203.0.113.1/24 dev far");
        ip("link set far up");
        let listener = TcpListener::bind("203.0.113.1:7").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        host.stdin.take().expect("a pipe").write_all(b"go\n").expect("the host reads");
        let begin = Instant::now();
        // Without a connection, the shell says why.
        while begin.elapsed() < Duration::from_secs(20) && host.try_wait().expect("a process").is_none() {
            if let Ok((mut stream, peer)) = listener.accept() {
                stream.write_all(peer.ip().to_string().as_bytes()).expect("a socket");
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        host.wait_with_output().expect("the shell")
    });
    let output = beyond.join().expect("no panic");
    if text(&output.stderr).contains("masquerade with nftables") {
        println!("SKIPPED a test of the shell: {}", text(&output.stderr));
        return;
    }
    // The server sees the address of the host.
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("203.0.113.2", Some(0)), "{output:?}");
}

#[test]
fn the_exit_code_is_that_of_the_program() {
    let Some(_alone) = links() else { return };
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)] {
        assert_eq!(run(&["--", "sh", "-c", script]).status.code(), Some(code), "{script}");
    }
    let missing = run(&["--", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("cannot run no-such-program"));
    // What the program leaves behind ends with it.
    let begin = Instant::now();
    assert!(run(&["--", "sh", "-c", "sleep 60 >/dev/null 2>&1 &"]).status.success());
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_program_runs_as_an_unprivileged_user_if_asked() {
    let Some(_alone) = links() else { return };
    let output = run(&["--user", "65534:65534", "--", "sh", "-c", "id -u; id -G; ip link add x type dummy"]);
    assert_eq!(text(&output.stdout), "65534\n65534");
    assert!(!output.status.success());
    let sudo = shell(&["--", "id", "-u"]).env("SUDO_UID", "65534").env("SUDO_GID", "65534").output();
    assert_eq!(text(&sudo.expect("the shell").stdout), "65534");
}

#[test]
fn the_program_has_a_clean_environment() {
    let Some(_alone) = links() else { return };
    let path = std::env::var("PATH").expect("a path");
    let invoking = [("SECRET", "x"), ("LANGUAGES", "x"), ("PASSED", "y"), ("TERM", "dumb"), ("LC_ALL", "C")];
    let mut command = shell(&["--user", "root", "--env", "PASSED", "--env", "STATED=a=b", "--", "env"]);
    let output = command.env_clear().env("PATH", &path).envs(invoking).output().expect("the shell");
    let text = text(&output.stdout);
    let (addresses, mut rest): (Vec<_>, Vec<_>) =
        text.lines().partition(|line| line.starts_with("DUMBBELL_"));
    rest.sort_unstable();
    // Those of the account, whatever they are.
    let account = ["HOME=", "LOGNAME=root", "SHELL=", "USER=root"];
    let is_of_account = |line: &&str| account.iter().any(|beginning| line.starts_with(beginning));
    let (account, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_of_account);
    assert_eq!((addresses.len(), account.len()), (3, 4), "{text}");
    let path = format!("PATH={path}");
    assert_eq!(rest, ["LC_ALL=C", "PASSED=y", &path, "STATED=a=b", "TERM=dumb"]);
    let unknown =
        shell(&["--env", "MISSING", "--", "true"]).env_remove("MISSING").output().expect("the shell");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(self::text(&unknown.stderr).starts_with("error: --env: \"MISSING\" is not accepted"));
}

#[test]
fn the_program_has_no_open_descriptors_of_its_caller() {
    let Some(_alone) = links() else { return };
    // Its own shell lists what it has inherited.
    let program = [SHELL, "--user", "65534:65534", "--", "sh", "-c", "ls /proc/$$/fd; true"];
    let mut caller = Command::new("sh");
    caller.args(["-c", "exec \"$@\" 7</dev/null 9</dev/null", "sh"]).args(program);
    let output = caller.env_remove("SUDO_UID").env_remove("SUDO_GID").stdin(Stdio::null()).output();
    assert_eq!(text(&output.expect("the shell").stdout), "0\n1\n2");
}

#[test]
fn the_program_gains_no_rights_if_asked() {
    let Some(_alone) = links() else { return };
    let line = |arguments: &[&str]| {
        text(&run(&[arguments, &["--", "grep", "NoNewPrivs", "/proc/self/status"]].concat()).stdout)
    };
    assert_eq!(line(&["--no-new-privileges"]), "NoNewPrivs:\t1");
    let own = fs::read_to_string("/proc/self/status").expect("a status");
    assert!(own.contains(&line(&[])), "{own}");
}

#[test]
fn rejected_input_and_missing_rights_have_their_exit_codes() {
    let rejected = run(&["--rate", "fast", "--", "true"]);
    assert_eq!(rejected.status.code(), Some(2));
    assert!(text(&rejected.stderr).starts_with("error: --rate: \"fast\" is not accepted"), "{rejected:?}");
    let Some(_alone) = links() else { return };
    // A user without rights, inside.
    let output = run(&["--user", "65534:65534", "--", SHELL, "--", "true"]);
    if output.status.code() != Some(126) {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(text(&output.stderr).contains("needs root") && text(&output.stderr).lines().count() == 1);
    }
}

#[test]
fn under_sudo_each_file_is_opened_with_the_rights_of_the_caller() {
    let Some(_alone) = links() else { return };
    let place = PathBuf::from(TestFile::new("rights").path());
    let theirs = place.join("theirs");
    fs::create_dir_all(&theirs).expect("a folder");
    chown(&theirs, Some(65534), Some(65534)).expect("root");
    fs::write(place.join("ours"), "ours").expect("a file");
    symlink(place.join("ours"), theirs.join("link")).expect("a link");
    let command = Options::command();
    let files = command.get_arguments().filter(|argument| {
        let names_a_file = argument.get_value_names().is_some_and(|names| names[0] == "FILE");
        names_a_file && argument.get_help_heading() == Some("Records")
    });
    let names: Vec<String> =
        files.filter_map(|file| file.get_long().map(|name| format!("--{name}"))).collect();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        let written = |path: &Path| {
            let path = path.to_str().expect("a path");
            let mut command = shell(&[&name, path, "--", "true"]);
            command.env("SUDO_UID", "65534").env("SUDO_GID", "65534").output().expect("the shell")
        };
        for refused in [place.join("new"), place.join("ours"), theirs.join("link")] {
            let output = written(&refused);
            assert_eq!(output.status.code(), Some(2), "{name}: {output:?}");
            let expected = format!("error: cannot write {}: Permission denied", refused.display());
            assert!(text(&output.stderr).starts_with(&expected), "{name}: {output:?}");
        }
        assert_eq!(fs::read_to_string(place.join("ours")).expect("a file"), "ours");
        assert!(!place.join("new").exists());
        let output = written(&theirs.join("folder").join(&name));
        assert!(output.status.success(), "{name}: {output:?}");
        let file = fs::metadata(theirs.join("folder").join(&name)).expect("a file");
        assert_eq!((file.uid(), file.gid(), file.len() > 0), (65534, 65534, true), "{name}");
    }
    fs::remove_dir_all(place).expect("root");
}

#[test]
fn logs_and_packets_are_written() {
    let Some(_alone) = links() else { return };
    let (log, pcap) = (TestFile::new("log"), TestFile::new("pcap"));
    let arguments = [
        "--rate",
        "8Mbit",
        "--delay",
        "5ms",
        "--interval",
        "50ms",
        "--log",
        log.path(),
        "--pcap",
        pcap.path(),
    ];
    let running = Running::waiting(&arguments);
    for _ in 0..3 {
        round_trip(running.addresses[1]);
    }
    drop(running);
    let text = fs::read_to_string(log.path()).expect("a log");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0].len(), 11);
    assert!(lines.len() > 5 && lines.iter().all(|line| line.len() == 11), "{text}");
    let packets = |way| {
        let rows = lines.iter().filter(|line| line[1] == way);
        rows.map(|line| line[4].parse::<u64>().expect("a number")).sum::<u64>()
    };
    // A SYN and its refusal each time.
    assert_eq!((packets("down"), packets("up")), (15, 15));
    let bytes = fs::read(pcap.path()).expect("a file");
    let mut reader = pcap_file::pcapng::PcapNgReader::new(bytes.as_slice()).expect("pcapng");
    let mut blocks = 0;
    while let Some(block) = reader.next_block() {
        blocks += usize::from(block.expect("a block").into_enhanced_packet().is_some());
    }
    // Each packet at both ends.
    assert_eq!(blocks, 60);
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn nothing_is_left_of_a_shell_that_is_killed() {
    let Some(_alone) = links() else { return };
    let mut slowest = Duration::ZERO;
    for turn in 0..20 {
        let mut running = Running::start(&["--delay", "1ms"], "setsid sleep 300 & sleep 300 & exec cat");
        let host = running.addresses[0];
        assert!(has_address(host));
        let own = running.child.id();
        let warden = children(own)[0];
        let first = children(warden)[0];
        let program = children(first)[0];
        // The program tells its addresses before it starts the others.
        while children(program).len() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        let processes = [vec![own, warden, first, program], children(program)].concat();
        // A namespace lives as long as a process that is in it or holds it.
        let is_left = || {
            // A process that has ended and is not yet collected has no namespaces.
            let is_alive = |pid: &u32| fs::read_link(format!("/proc/{pid}/ns/net")).is_ok();
            processes.iter().any(is_alive) || has_address(host)
        };
        // One of the three processes of the shell is killed.
        let victim = [own, warden, first][turn % 3];
        let killed = Command::new("kill").args(["-9", &victim.to_string()]).status().expect("kill");
        assert!(killed.success());
        let begin = Instant::now();
        let _ = running.child.wait();
        while is_left() && begin.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_left(), "processes or devices are left after a kill of process {}", turn % 3);
        slowest = slowest.max(begin.elapsed());
    }
    println!("20 kills: nothing is left after {slowest:.1?} at the latest");
}
