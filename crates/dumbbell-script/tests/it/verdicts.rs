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
        ("+0 < F. 1:1(0) ack 1 win 4000\n", "the end of a connection"),
        ("+0 epoll_ctl(3, 1) = 0\n", "the call epoll_ctl"),
        ("+0 `ip link set dev tun0 down`\n", "during the connection"),
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
