//! Rules that show with a tick of 1 ms only.

use dumbbell_script::{Kind, Script, Simulator, Verdict, converse, judge};
use serde_json::json;

fn simulator(script: &Script) -> Result<Simulator, String> {
    Simulator::with(script, json!({ "rules": "linux", "congestion": "reno", "hz": 1000 }))
}

const OPENING: &str = "\
`sysctl -q net.ipv4.tcp_congestion_control=reno
ip link set dev tun0 gso_max_segs 1`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
";

fn assert_passes(events: &str) {
    assert_eq!(judge(&format!("{OPENING}{events}"), None, simulator), Verdict::Passed);
}

#[test]
fn a_probe_of_new_data_takes_the_place_of_a_timeout_that_is_due_with_it() {
    // Written at 0.1875 s, the first segment has a timeout of 260 ms, which the wheel lets expire at 0.448 s. The probe of
    // the data written at 0.3972 s is limited to what is left, 50.3 ms, and is due at 0.449 s [linux6 tcp_output.c].
    assert_passes(
        "+.060 < . 1:1(0) ack 1 win 4000
+0 accept(3, ..., ...) = 4
+.0275 write(4, ..., 1000) = 1000
+.2097 write(4, ..., 3000) = 3000
+.055 %{ assert tcpi_ca_state == TCP_CA_Open and tcpi_total_retrans == 1, (tcpi_ca_state, tcpi_total_retrans) }%
",
    );
}

#[test]
fn the_wheel_is_a_tick_ahead_while_a_timer_expires() {
    // The timeout of 252 ms is doubled: 504 ticks after a timeout are 503 for the wheel, whose unit then is 8 ticks, not 64
    // [linux6 timer.c].
    assert_passes(
        "+.052 < . 1:1(0) ack 1 win 4000
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.2~+.4 > P. 1:1001(1000) ack 1
+.2~+.3 > P. 1:1001(1000) ack 1
+.500~+.513 > P. 1:1001(1000) ack 1
",
    );
}

#[test]
fn an_acknowledgement_that_shows_no_loss_ends_the_timer_of_reordering() {
    // A segment that was sent twice again is acknowledged by the first of these, which tells nothing of what was sent before:
    // the hole above it waits for the next report, as in kernel 6.12, and not for the timer of reordering, due at 0.294 s.
    let conditions = Kind::named("reordering").expect("a kind").conditions(470);
    let mut host = Simulator::with(
        &conditions.opening(),
        json!({ "rules": "linux", "congestion": "cubic", "hz": 1000 }),
    )
    .expect("a host");
    let text = converse(&conditions, &mut host).expect("a conversation").to_string();
    let again: Vec<&str> = text.lines().filter(|line| line.contains("> . 133217:134665(")).collect();
    let times: Vec<&str> = again.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(times, ["0.256074653", "0.29638147"]);
}
