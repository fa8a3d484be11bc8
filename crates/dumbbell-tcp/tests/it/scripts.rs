//! Conformance cases of the sender as readable segment scripts, one file per case in `scripts/`.
//!
//! The first line that is not a comment contains the TCP rules as JSON. Every other line begins with a time in
//! milliseconds: `write BYTES`, `finish` when everything is written, `ack BYTE [START:END ...]` with SACK blocks, or
//! `expire` for a deadline that must be reached there. The segments that the sender then sends follow as
//! `> START:END`, complete and in order; `cwnd BYTES` states the window including its inflation.

use crate::common;
use dumbbell_tcp::{AckSegment, SackBlocks};
use dumbbell_units::Time;
use std::collections::VecDeque;
use std::path::Path;

fn range(text: &str) -> (u64, u64) {
    let (start, end) = text.split_once(':').unwrap_or_else(|| panic!("{text}: a range START:END"));
    (start.parse().expect("a first byte"), end.parse().expect("a last byte"))
}

fn ack(words: &[&str]) -> AckSegment {
    if words == ["syn"] {
        return AckSegment { is_syn: true, ..AckSegment::of(0) };
    }
    let number: u64 = words[0].parse().expect("an acknowledgement");
    let mut sack = SackBlocks::default();
    for (start, end) in words[1..].iter().map(|word| range(word)) {
        sack.push((start - number) as u32, (end - start) as u32);
    }
    AckSegment { sack, ..AckSegment::of(number) }
}

fn play(name: &str, script: &str) {
    let mut lines = script.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let rules = lines.by_ref().find(|line| !line.is_empty()).expect("the rules of TCP");
    let rules = serde_json::from_str(rules).expect("rules in JSON");
    let mut sender = common::sender(&rules);
    let mut sent: VecDeque<(u64, u64)> = VecDeque::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let place = format!("{name}: {line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [">", expected] => assert_eq!(sent.pop_front(), Some(range(expected)), "{place}"),
            ["cwnd", bytes] => assert_eq!(sender.cwnd(), bytes.parse::<f64>().expect("bytes"), "{place}"),
            [at, event, ref rest @ ..] => {
                assert!(sent.is_empty(), "{sent:?} sent before `{place}`, but not in the script");
                let now = Time(at.parse::<u64>().expect("milliseconds") * 1_000_000);
                match event {
                    "write" => sender.write(rest[0].parse().expect("bytes")),
                    "finish" => sender.finish(),
                    "ack" => sender.on_ack(now, &ack(rest), Time::ZERO),
                    "expire" => {
                        assert_eq!(sender.next_deadline(), now, "{place}");
                        sender.on_deadline(now);
                    }
                    other => panic!("{place}: {other}: write, finish, ack or expire"),
                }
                while let Some(segment) = sender.poll_transmit(now) {
                    sent.push_back((segment.seq, segment.seq + u64::from(segment.len)));
                }
                assert!(sender.next_deadline() > now, "{place}: it waits for what has come");
            }
            _ => panic!("{place}: not a line of a script"),
        }
    }
    assert!(sent.is_empty(), "{name}: {sent:?} sent at the end, but not in the script");
}

#[test]
fn every_script_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of scripts") {
        let path = entry.expect("a script").path();
        let script = std::fs::read_to_string(&path).expect("a script");
        play(&path.file_stem().unwrap_or_default().to_string_lossy(), &script);
        played += 1;
    }
    assert!(played >= 10, "{played} scripts");
}
