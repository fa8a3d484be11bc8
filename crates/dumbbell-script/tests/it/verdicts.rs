//! How the player judges: segments, their times, assertions, and what a host cannot be told.

use dumbbell_script::{Failure, Simulator, Verdict, parse, play};
use serde_json::json;

const OPENING: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.060 < . 1:1(0) ack 1 win 4000
+0 accept(3, ..., ...) = 4
";

/// The verdict on a connection on which these lines follow; the first of them is line 8.
fn verdict(lines: &str) -> Verdict {
    let script = parse(&format!("{OPENING}{lines}")).expect("a script");
    let mut host = Simulator::new(&script).expect("a host");
    play(&script, &mut host)
}

fn failed(lines: &str) -> (usize, String) {
    match verdict(lines) {
        Verdict::Failed(Failure { line, message }) => (line, message),
        other => panic!("{lines}: {other:?}"),
    }
}

#[test]
fn a_segment_longer_than_the_maximum_is_those_sent_together() {
    assert_eq!(verdict("+0 write(4, ..., 3000) = 3000\n+0 > P. 1:3001(3000) ack 1\n"), Verdict::Passed);
    // Not of one that is sent later.
    let (line, message) = failed("+0 write(4, ..., 2000) = 2000\n+0 > . 1:3001(3000) ack 1\n");
    assert_eq!(
        (line, message.contains("expected `. 1:3001(3000) ack 1`, but `. 1:2001(2000)")),
        (9, true),
        "{message}"
    );
}

/// The verdict on a kilobyte after an opening with these options, or why there is no host.
fn opening_with(options: &str) -> Result<Verdict, String> {
    let opening = OPENING.replace("mss 1000,sackOK,nop,nop,nop,wscale 7", options);
    let sent = "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n";
    let script = parse(&format!("{opening}{sent}")).expect("a script");
    Ok(play(&script, &mut Simulator::new(&script)?))
}

#[test]
fn a_window_is_shifted_by_14_at_most() {
    // 4000 << 14 is in bounds of a buffer, and 4000 << 99 would be none.
    assert_eq!(opening_with("mss 1000,sackOK,nop,nop,nop,wscale 99"), Ok(Verdict::Passed));
    // Timestamps leave nothing of a segment of 10 bytes.
    let refused = opening_with("mss 10,sackOK,TS val 1 ecr 0,nop,wscale 7").expect_err("no room");
    assert!(refused.starts_with("mss: \"0 bytes\" is not accepted"), "{refused}");
}

#[test]
fn segments_are_compared_in_their_order_and_at_their_time() {
    let (line, message) = failed("+0 write(4, ..., 2000) = 2000\n+0 > . 1001:2001(1000) ack 1\n");
    assert_eq!(
        (line, message.contains("but `. 1:1001(1000) ack 1` is sent at 0.160000 s")),
        (9, true),
        "{message}"
    );
    let (line, message) = failed("+0 write(4, ..., 1000) = 1000\n+.5 > . 1:1001(1000) ack 1\n");
    assert_eq!(
        (line, message.contains("is sent at 0.160000 s, not from 0.660000 s")),
        (9, true),
        "{message}"
    );
    let (_, message) = failed("+0 > . 1:1001(1000) ack 1\n");
    assert!(message.contains("nothing is sent until 0.164000 s"), "{message}");
    // Whatever follows the last segment of the script is not looked at.
    assert_eq!(verdict("+0 write(4, ..., 9000) = 9000\n+0 > . 1:1001(1000) ack 1\n"), Verdict::Passed);
}

#[test]
fn names_keep_the_values_that_statements_give_them() {
    let lines = "+0 %{ least = 8; least += 2; assert tcpi_snd_cwnd == least }%\n";
    assert_eq!(verdict(lines), Verdict::Passed);
    let (_, message) = failed(&format!("{lines}+0 %{{ assert tcpi_snd_cwnd == least + 1 }}%\n"));
    assert_eq!(message, "`assert tcpi_snd_cwnd == (least + 1)` fails: tcpi_snd_cwnd is 10, least is 10");
}

#[test]
fn a_call_that_blocks_returns_at_its_time() {
    // Data arrives after 50 ms.
    let read = |end: &str, result: &str| {
        verdict(&format!("+0...{end} read(4, ..., 500) = {result}\n+.05 < P. 1:301(300) ack 1 win 4000\n"))
    };
    assert_eq!(read("0.050", "300"), Verdict::Passed);
    for (end, result, expected) in [
        ("0.080", "300", "read returns at 0.210000 s, not at 0.240000 s"),
        ("0.020", "300", "read returns at 0.210000 s, not at 0.180000 s"),
        ("0.050", "200", "read returns 300, not 200"),
    ] {
        let failure = Failure { line: 8, message: expected.into() };
        assert_eq!(read(end, result), Verdict::Failed(failure));
    }
    let failure = Failure { line: 8, message: "read does not return".into() };
    assert_eq!(verdict("+0...0.1 read(4, ..., 500) = 500\n"), Verdict::Failed(failure));
    assert_eq!(failed("+0 read(4, ..., 500) = 500\n").1, "read returns -1, not 500");
}

#[test]
fn the_host_that_asks_waits_for_the_connection() {
    let script = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 9\n+.1...0.14 connect(9, ..., ...) = 0\n\
                  +0 > S 0:0(0) <...>\n+.04 < S. 0:0(0) ack 1 win 4000 <mss 1000,sackOK>\n+0 > . 1:1(0) ack 1\n";
    let play_it = |script: &str| {
        let script = parse(script).expect("a script");
        play(&script, &mut Simulator::new(&script).expect("a host"))
    };
    assert_eq!(play_it(script), Verdict::Passed);
    let late = script.replace("0.14", "0.16");
    assert!(matches!(play_it(&late), Verdict::Failed(Failure { line: 2, .. })));
}

#[test]
fn the_tolerance_is_an_option() {
    let late = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+.1 < S 0:0(0) win 65535 <mss 1000,sackOK>\n\
                +.01 > S. 0:0(0) ack 1 <...>\n+0 < . 1:1(0) ack 1 win 4000\n";
    let play_with = |option: &str| {
        let script = parse(&format!("{option}{late}")).expect("a script");
        play(&script, &mut Simulator::new(&script).expect("a host"))
    };
    assert!(matches!(play_with(""), Verdict::Failed(_)));
    assert_eq!(play_with("--tolerance_usecs=10000\n"), Verdict::Passed);
}

#[test]
fn an_assertion_that_fails_shows_its_values() {
    let (line, message) = failed("+0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%\n");
    assert_eq!((line, message.as_str()), (8, "`assert tcpi_snd_cwnd == 11` fails: tcpi_snd_cwnd is 10"));
}

#[test]
fn what_the_simulator_cannot_be_told_is_not_expressible() {
    for (lines, reason) in [
        ("+0 < F. 1:1(0) ack 1 win 4000\n", "a FIN before one was sent"),
        ("+0 < R. 1:1(0) ack 1 win 4000\n", "a reset"),
        ("+0 < - 1:101(100) win 4000\n", "a segment without flags"),
        (
            "+0 < . 1:2001(2000) ack 1 win 4000\n",
            "a segment of 2000 bytes that arrives, where 1460 are the most",
        ),
        ("+0 send(4, ..., 100, MSG_MORE) = 100\n", "send with flags"),
        ("+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n", "setsockopt of TCP_NODELAY"),
        ("+0...0.1 write(4, ..., 100) = 100\n", "write that blocks"),
        ("+0 epoll_ctl(3, 1) = 0\n", "the call epoll_ctl"),
        ("+0 `ip link set dev tun0 down`\n", "the command `ip link set dev tun0 down`"),
        ("+0 `sysctl -q net.ipv4.tcp_ecn=1`\n", "the setting tcp_ecn=1 during the connection"),
        ("+0 %{ assert tcpi_bytes_sent == 0 }%\n", "tcpi_bytes_sent"),
    ] {
        match verdict(lines) {
            Verdict::NotExpressible(Failure { line: 8, message }) => {
                assert!(message.contains(reason), "{message}");
            }
            other => panic!("{lines}: {other:?}"),
        }
    }
    let script = parse(&format!("`sysctl -q net.ipv4.tcp_abc=2`\n{OPENING}")).expect("a script");
    assert_eq!(Simulator::new(&script).err().as_deref(), Some("the setting tcp_abc=2"));
}

#[test]
fn other_rules_than_those_of_linux_can_be_played() {
    let lines = "+0 write(4, ..., 9000) = 9000\n+0 %{ assert tcpi_snd_cwnd == 2 and tcpi_unacked == 2 }%\n";
    let script = parse(&format!("{OPENING}{lines}")).expect("a script");
    let tcp = json!({ "rules": "classic", "congestion": "reno", "handshake": true });
    assert_eq!(play(&script, &mut Simulator::with(&script, tcp).expect("a host")), Verdict::Passed);
}
