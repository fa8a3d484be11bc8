//! What reading costs: `cargo test --release -p dumbbell-inspect --test it -- --ignored --nocapture speed`.

use crate::build::{ETHERNET, NANOS, Order, linked, pcap, pcapng, v4};
use dumbbell_inspect::{Connections, Reader};
use std::io::{Cursor, Read, Write};

/// CPU time that this thread has taken so far, in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
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

/// A capture without end: the same record of one connection over and over, with numbers that go on.
struct Endless {
    record: Vec<u8>,
    at: usize,
    left: u64,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let mut count = 0;
        while count < into.len() && self.left > 0 {
            let part = (self.record.len() - self.at).min(into.len() - count);
            into[count..count + part].copy_from_slice(&self.record[self.at..self.at + part]);
            count += part;
            self.at += part;
            if self.at == self.record.len() {
                self.at = 0;
                self.left -= 1;
            }
        }
        Ok(count)
    }
}

/// Memory that this process holds, in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[test]
#[ignore = "a measurement"]
fn speed_of_connections_and_memory_of_ten_gigabytes() {
    let record = linked(ETHERNET, &v4(1400));
    let records: Vec<_> = (0..100).map(|index| (index * 1000, record.clone())).collect();
    let file = pcap(Order::Little, NANOS, ETHERNET, 65_535, &records);
    let (header, records) = file.split_at(24);
    let repeats = 10_000_000_000 / records.len() as u64;
    let endless = Endless { record: records.to_vec(), at: 0, left: repeats };
    let mut reader = Reader::new("endless".to_owned(), Cursor::new(header.to_vec()).chain(endless), None)
        .expect("a capture");
    let (begin, before) = (cpu_s(), memory());
    let mut connections = Connections::new(None);
    while let Some(segment) = reader.next_segment().expect("a capture") {
        connections.on_segment(&segment);
    }
    let packets = reader.counts().packets;
    let rate = packets as f64 / (cpu_s() - begin);
    let grown = memory().saturating_sub(before);
    let _ = writeln!(
        std::io::stderr(),
        "{packets} packets of 1,454 bytes: {:.2} million per CPU second, {:.1} MB more memory",
        rate / 1e6,
        grown as f64 / 1e6
    );
    assert_eq!(packets, repeats * 100);
}
