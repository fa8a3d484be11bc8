//! How many packets a second of processor time carries, with both ends and the links.

use crate::harness::{Run, scenario};
use dumbbell_units::Time;
use serde_json::json;
use std::io::Write;

/// Processor time of this thread so far, in seconds.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds: u64 = text.split(' ').next().and_then(|count| count.parse().ok()).expect("a number");
    nanoseconds as f64 * 1e-9
}

#[test]
#[ignore = "measures; run with --release"]
fn packets_per_second_of_processor_time() {
    let window = ["send_buffer", "receive_buffer"].map(|name| (name.to_owned(), json!("4 MB")));
    for mut stated in [
        json!({ "name": "quinn" }),
        json!({ "name": "quinn", "congestion": "newreno" }),
        json!({ "name": "quinn", "congestion": "bbr" }),
        json!({ "name": "quinn", "tls": "fixed" }),
        json!({ "name": "smoltcp" }),
        json!({ "name": "smoltcp", "congestion": "none" }),
    ] {
        if stated["tls"] == "fixed" && !cfg!(feature = "tls") {
            continue;
        }
        if stated["name"] == "smoltcp" {
            stated.as_object_mut().expect("a table").extend(window.clone());
        }
        let link =
            r#"rate = "1 Gbit/s", delay = "5 ms", queue = { kind = "droptail", limit = "1000 packets" }"#;
        let mut run = Run::new(&scenario(link), stated.clone(), 1).reusing();
        let before = processor_time();
        run.open(0, u64::MAX, false);
        run.until(Time(5_000_000_000));
        let seconds = processor_time() - before;
        let (packets, delivered) = (run.report.datagrams, run.report.delivered);
        let rate = packets as f64 / seconds;
        writeln!(
            std::io::stderr(),
            "{stated}: {packets} packets, {delivered} bytes, {seconds:.2} s, {rate:.0} per s"
        )
        .expect("it is read");
    }
}
