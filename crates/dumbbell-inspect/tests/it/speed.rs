//! What reading costs: `cargo test --release -p dumbbell-inspect --test it -- --ignored --nocapture speed`.

use crate::build::{ETHERNET, NANOS, Order, linked, pcap, pcapng, v4};
use dumbbell_inspect::Reader;
use std::io::{Cursor, Write};

/// CPU time that this process has taken so far, in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

#[test]
#[ignore = "a measurement"]
fn speed_of_a_million_packets_of_100_bytes() {
    let record = linked(ETHERNET, &v4(14));
    assert_eq!(record.len(), 100);
    let records: Vec<_> = (0..1_000_000).map(|index| (index * 1000, record.clone())).collect();
    let files = [
        ("pcap", pcap(Order::Little, NANOS, ETHERNET, 65_535, &records)),
        ("pcapng", pcapng(Order::Little, ETHERNET, &records)),
    ];
    for (name, file) in files {
        for _ in 0..3 {
            let begin = cpu_s();
            let mut reader =
                Reader::new(name.to_owned(), Cursor::new(file.clone()), None).expect("a capture");
            let mut bytes = 0;
            while let Some(segment) = reader.next_segment().expect("a capture") {
                bytes += u64::from(segment.payload);
            }
            assert_eq!(bytes, 14_000_000);
            let rate = reader.counts().packets as f64 / (cpu_s() - begin);
            let _ = writeln!(std::io::stderr(), "{name}: {:.2} million packets per CPU second", rate / 1e6);
        }
    }
}
