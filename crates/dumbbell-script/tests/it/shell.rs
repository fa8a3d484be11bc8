//! Commands of the shell in scripts: what they set, and how the rest is refused.

use dumbbell_script::{Failure, Setting, Simulator, Verdict, judge, settings};
use std::path::Path;

fn sysctl(name: &str, value: &str) -> Setting {
    Setting::Sysctl { name: name.into(), value: value.into(), may_fail: false }
}

fn refused(commands: &str, folder: Option<&Path>) -> String {
    settings(commands, folder).expect_err(commands)
}

#[test]
fn commands_are_split_into_words_as_by_the_shell() {
    for (commands, expected) in [
        (
            "sysctl -q net.ipv4.tcp_ecn=0 net/ipv4/tcp_sack=1",
            vec![sysctl("tcp_ecn", "0"), sysctl("tcp_sack", "1")],
        ),
        (
            "sysctl -q net.ipv4.tcp_wmem=\"4096 $((256*1024)) $((2*(1+3)))\"",
            vec![sysctl("tcp_wmem", "4096 262144 8")],
        ),
        ("sysctl -w net.ipv4.tcp_rmem='1 2 3' > /dev/null 2>&1", vec![sysctl("tcp_rmem", "1 2 3")]),
        ("# Nothing.\n\nsysctl \\\n  net.ipv4.tcp_ecn=1 # On.\n", vec![sysctl("tcp_ecn", "1")]),
        (
            "sysctl net.ipv4.tcp_ecn=1; sysctl net.ipv4.tcp_ecn=2",
            vec![sysctl("tcp_ecn", "1"), sysctl("tcp_ecn", "2")],
        ),
        (
            "../x/set_sysctls.py /proc/sys/net/ipv4/tcp_ecn=1 \\\n/proc/sys/net/ipv4/tcp_sack=0",
            vec![sysctl("tcp_ecn", "1"), sysctl("tcp_sack", "0")],
        ),
        ("ip link set dev tun0 gso_max_segs 7", vec![Setting::SegmentsAtOnce(7)]),
        ("ethtool -K tun0 gso off tso off", vec![Setting::SegmentsAtOnce(1)]),
        (
            "tc qdisc replace dev tun0 root pfifo limit 0 2>/dev/null",
            vec![Setting::Queue("pfifo limit 0".into())],
        ),
        ("ip tcp_metrics flush all &> /dev/null", vec![]),
        (
            "echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect",
            vec![Setting::Parameter("tcp_cubic".into(), "hystart_detect".into(), "3".into())],
        ),
    ] {
        assert_eq!(settings(commands, None), Ok(expected), "{commands}");
    }
}

#[test]
fn other_commands_are_named() {
    for (commands, reason) in [
        ("sysctl -q net.core.rmem_max=1", "the command `sysctl -q net.core.rmem_max=1`"),
        ("sysctl -q net.ipv4.tcp_ecn=1 || true", "the command `sysctl -q net.ipv4.tcp_ecn=1 || true`"),
        ("echo 1 > file", "the command `echo 1 > file`"),
        ("grep x y 2> file", "what a command writes to the file file"),
        ("sysctl -q net.ipv4.tcp_ecn=$ECN", "the variables of the command"),
        ("sysctl -q net.ipv4.tcp_ecn=$((1/0))", "the arithmetic of the command"),
        ("sysctl -q \"net.ipv4.tcp_ecn=1", "the quotes of the command"),
        ("ip route change 10.0.0.1 dev tun0", "the command `ip route change"),
    ] {
        let error = refused(commands, None);
        assert!(error.starts_with(reason), "{commands}: {error}");
    }
}

#[test]
fn files_of_commands_are_read_beside_the_script() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/commands");
    // The shell goes on in a file of commands if one fails.
    let ecn = Setting::Sysctl { name: "tcp_ecn".into(), value: "0".into(), may_fail: true };
    let sack = Setting::Sysctl { name: "tcp_sack".into(), value: "1".into(), may_fail: true };
    let wmem = sysctl("tcp_wmem", "1 2 3");
    let found = settings("./outer.sh\nsysctl -q net.ipv4.tcp_wmem=\"1 2 3\"", Some(&folder));
    assert_eq!(found, Ok(vec![ecn, sack, wmem]));
    for (file, reason) in [
        ("missing.sh", "the file of commands `missing.sh`: No such file"),
        ("/etc/x.sh", "the file of commands `/etc/x.sh`: its place is not relative to the script"),
        ("circle.sh", "the file of commands `./circle.sh`: files of commands name each other"),
    ] {
        let error = refused(file, Some(&folder));
        assert!(error.starts_with(reason), "{file}: {error}");
    }
    assert!(refused("a.sh", None).ends_with("the script itself is in no file"));
}

#[test]
fn a_setting_that_may_be_missing_is_one_of_an_option_or_a_file() {
    let may_fail = |commands| match settings(commands, None).as_deref() {
        Ok([Setting::Sysctl { may_fail, .. }]) => *may_fail,
        other => panic!("{other:?}"),
    };
    assert!(may_fail("sysctl -e -q net.ipv4.tcp_min_tso_segs=2"));
    assert!(!may_fail("sysctl -q net.ipv4.tcp_min_tso_segs=2"));
}

const OPENING: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 7
+.1 < SEW 0:0(0) win 65535 <mss 1000,sackOK>
";

/// The verdict of the simulator on a connection with these commands, beside the files of this test.
fn verdict(commands: &str, answer: &str) -> Verdict {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/commands");
    let text = format!("`{commands}`\n{OPENING}{answer}\n+0 < . 1:1(0) ack 1 win 4000\n`./missing.sh`\n");
    judge(&text, Some(&folder), Simulator::new)
}

#[test]
fn the_simulator_takes_settings_of_files_and_knows_which_have_no_effect() {
    assert_eq!(verdict("./outer.sh", "+0 > S. 0:0(0) ack 1 <...>"), Verdict::Passed);
    for ecn in ["1", "2"] {
        let commands = format!("sysctl -q net.ipv4.tcp_ecn={ecn}");
        assert_eq!(verdict(&commands, "+0 > SE. 0:0(0) ack 1 <...>"), Verdict::Passed);
    }
    for (commands, reason) in [
        ("sysctl -q net.ipv4.tcp_reordering=9", "the setting tcp_reordering=9"),
        ("sysctl -q net.ipv4.tcp_pacing_ss_ratio=150", "the setting tcp_pacing_ss_ratio=150"),
        ("tc qdisc add dev tun0 root fq", "the queue fq of the device"),
        ("echo 0 > /sys/module/tcp_cubic/parameters/hystart", "the parameter hystart=0 of tcp_cubic"),
    ] {
        let failure = Failure { line: 0, message: reason.into() };
        assert_eq!(verdict(commands, "+0 > S. 0:0(0) ack 1 <...>"), Verdict::NotExpressible(failure));
    }
}
