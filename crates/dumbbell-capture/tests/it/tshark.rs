//! Wireshark's analysis of captures agrees with the engine. Without `tshark`, nothing is checked, and the tests say so.
//!
//! Three rules of Wireshark (`packet-tcp.c`) differ from those of TCP and are accounted for here:
//!
//! * It calls a retransmission *out of order* if it comes less than the first round-trip time, or 3 ms without a handshake,
//!   after the segment with the highest sequence number. At the node of a sender nothing can be out of order, so both
//!   counts together are ours.
//! * The first acknowledgement that it sees cannot be a duplicate. Ours is one if no byte has arrived (RFC 5681 §2).
//! * A repeated acknowledgement is a duplicate for it even if no data is outstanding; RFC 5681 §2 requires that there is.

use crate::common::{TestFile, bound, capture, carried, losses, scenario, write};
use dumbbell_capture::Outputs;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// True if `tshark` is installed.
#[allow(clippy::disallowed_macros, reason = "a skipped test says so")]
fn has_tshark(test: &str) -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|done| done.status.success());
    if !found {
        eprintln!("SKIPPED {test}: tshark is not installed; the Debian package is `tshark`");
    }
    found
}

/// What Wireshark says of a capture.
#[derive(Debug, Default)]
struct Analysis {
    packets: u64,
    bytes: u64,
    retransmissions: u64,
    out_of_order: u64,
    duplicate_acks: u64,
    lost_segments: u64,
    /// Malformed packets, and those whose checksums are not verified to be good.
    malformed: u64,
    bad_checksums: u64,
}

/// Fields of a packet, in the order in which `tshark` is asked for them.
const FIELDS: [&str; 11] = [
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
    "_ws.malformed",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "tcp.analysis.flags",
];
/// A checksum that was verified (`PROTO_CHECKSUM_E_GOOD`), and one of a packet that was cut.
const GOOD: &str = "1";
const UNVERIFIED: &str = "2";

fn analyze(path: &Path, is_cut: bool) -> Analysis {
    let preferences = ["tcp", "ip", "udp"].map(|layer| format!("{layer}.check_checksum:TRUE"));
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(path).args(["-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]);
    command.args(preferences.iter().flat_map(|preference| ["-o", preference]));
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let done = command.output().expect("tshark starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut analysis = Analysis::default();
    for line in String::from_utf8(done.stdout).expect("text").lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let has = |field: usize| u64::from(!fields[field].is_empty());
        analysis.packets += 1;
        analysis.bytes += fields[0].parse().unwrap_or(0);
        analysis.retransmissions += has(1);
        analysis.out_of_order += has(2);
        analysis.duplicate_acks += has(3);
        analysis.lost_segments += has(4) + has(5);
        analysis.malformed += has(6);
        let transport = fields[8].to_owned() + fields[9];
        let is_verified = transport == GOOD || is_cut && transport == UNVERIFIED;
        analysis.bad_checksums += u64::from(fields[7] != GOOD || !is_verified);
    }
    analysis
}

/// Captures at the sender and compares.
fn agree(name: &str, scenario: &Value) -> Analysis {
    let file = TestFile::new(name);
    let (outcome, counts) = capture(scenario, 0, 65_535, &file.0);
    let analysis = analyze(&file.0, false);
    assert_eq!((analysis.malformed, analysis.bad_checksums), (0, 0), "{name}: {analysis:?}");
    assert_eq!((analysis.packets, analysis.bytes), (counts.packets, counts.bytes), "{name}");
    let retransmitted: u64 = outcome.flows.iter().filter_map(|flow| flow.segments_retransmitted).sum();
    assert_eq!(counts.retransmissions, retransmitted, "{name}: {counts:?}");
    let all = analysis.retransmissions + analysis.out_of_order;
    assert_eq!(all, retransmitted, "{name}: {analysis:?} {counts:?}");
    let duplicates = counts.duplicate_acks - counts.first_duplicates + counts.idle_repetitions;
    assert_eq!(analysis.duplicate_acks, duplicates, "{name}: {analysis:?} {counts:?}");
    assert_eq!(analysis.lost_segments, 0, "{name}: nothing is missing at the sender");
    analysis
}

#[test]
fn a_hundred_thousand_packets_are_valid_and_counted_alike() {
    if !has_tshark("a hundred thousand packets") {
        return;
    }
    let tcp = json!({ "variant": "sack", "handshake": true, "timestamps": true,
                      "delayed_ack": { "segments": 2, "timer": "100 ms" } });
    let analysis = agree("many", &scenario([tcp], losses(0.0005), "95 s"));
    assert!(analysis.packets > 100_000 && analysis.retransmissions > 40, "{analysis:?}");
    assert!(analysis.duplicate_acks > 1000, "{analysis:?}");
}

#[test]
fn every_recovery_is_counted_alike() {
    if !has_tshark("recoveries") {
        return;
    }
    let tcps = [
        json!({ "variant": "tahoe" }),
        json!({ "variant": "reno", "handshake": true }),
        json!({ "variant": "newreno", "delayed_ack": { "segments": 2, "timer": "200 ms" } }),
        json!({ "variant": "sack", "timestamps": true, "handshake": true }),
        json!({ "variant": "cubic", "rules": "linux" }),
        json!({ "variant": "bbr", "rules": "linux" }),
        json!({ "variant": "vegas", "handshake": true }),
    ];
    let analysis = agree("recoveries", &scenario(tcps, losses(0.01), "10 s"));
    assert!(analysis.retransmissions > 50 && analysis.duplicate_acks > 300, "{analysis:?}");
}

#[test]
fn marks_and_reordering_are_valid() {
    if !has_tshark("marks") {
        return;
    }
    let red =
        json!({ "kind": "red", "minimum": "5 packets", "maximum": "15 packets", "limit": "60 packets" });
    let marked = ["classic", "dctcp", "accurate"]
        .map(|ecn| json!({ "variant": "sack", "ecn": ecn, "handshake": true }));
    agree("marks", &scenario(marked, json!({ "queue": red }), "10 s"));
    // Segments that arrive late are taken for lost, sent again, and reported as duplicates.
    let reordered = json!({ "impairments": [{ "kind": "reorder", "probability": 0.02, "delay": "15 ms" }] });
    agree("reorder", &scenario([json!({ "variant": "cubic", "rules": "linux" })], reordered, "10 s"));
}

#[test]
fn datagrams_and_cut_packets_are_valid_at_a_router() {
    if !has_tshark("datagrams") {
        return;
    }
    let mut value = scenario([json!({ "variant": "sack", "handshake": true })], losses(0.01), "5 s");
    if let Value::Array(flows) = &mut value["flows"] {
        let source = json!({ "kind": "cbr", "rate": "1 Mbit/s", "packet": "200 bytes" });
        flows.push(json!({ "name": "u", "from": "a", "to": "b", "source": source }));
    }
    for snaplen in [80, 65_535] {
        let file = TestFile::new(&format!("router-{snaplen}"));
        let (_, counts) = capture(&value, 1, snaplen, &file.0);
        let analysis = analyze(&file.0, snaplen == 80);
        assert_eq!((analysis.malformed, analysis.bad_checksums), (0, 0), "{analysis:?}");
        assert_eq!((analysis.packets, analysis.bytes), (counts.packets, counts.bytes));
    }
}

#[test]
fn segments_of_smoltcp_are_valid() {
    if !has_tshark("smoltcp") {
        return;
    }
    let stacks = [json!({ "name": "smoltcp" }), json!({ "name": "smoltcp" })];
    let scenario = carried(stacks, &json!({ "kind": "transfer", "size": "1 MB" }), losses(0.005), "20 s");
    for node in [0, 2] {
        let file = TestFile::new(&format!("smoltcp-{node}"));
        let (outcome, counts) = capture(&scenario, node, 65_535, &file.0);
        let analysis = analyze(&file.0, false);
        assert_eq!((analysis.malformed, analysis.bad_checksums), (0, 0), "{analysis:?}");
        assert_eq!(analysis.packets, counts.packets);
        let delivered: u64 = outcome.flows.iter().map(|flow| flow.bytes_delivered).sum();
        assert_eq!(delivered, 2_000_000);
        assert!(analysis.bytes >= delivered && analysis.retransmissions > 0, "{analysis:?}");
    }
}

#[test]
fn packets_of_quinn_are_decrypted_with_the_keys_in_the_file() {
    if !has_tshark("quinn") {
        return;
    }
    let quinn = || json!({ "name": "quinn", "tls": "fixed" });
    let transfer = json!({ "kind": "transfer", "size": "1 MB" });
    let scenario = bound(&carried([quinn(), quinn()], &transfer, losses(0.005), "20 s"));
    let file = TestFile::new("quinn");
    let (outcome, counts) =
        write(&scenario, Outputs { packets: Some((2, file.0.clone())), ..Outputs::default() });
    let analysis = analyze(&file.0, false);
    assert_eq!((analysis.malformed, analysis.bad_checksums), (0, 0), "{analysis:?}");
    assert_eq!((analysis.packets, counts.packets > 1000), (counts.packets, true));
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&file.0).args(["-Y", "quic", "-T", "fields", "-E", "separator=;"]);
    let fields = [
        "udp.dstport",
        "quic.packet_number",
        "quic.decryption_failed",
        "quic.stream_data",
        "_ws.expert.message",
    ];
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let done = command.output().expect("tshark starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("text");
    let mut bytes = [0; 2];
    for line in text.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        assert!(!fields[1].is_empty() && fields[2].is_empty() && !fields[4].contains("ecrypt"), "{line}");
        if let Some(flow) = fields[0].parse::<usize>().ok().and_then(|port| port.checked_sub(50_001)) {
            bytes[flow] += fields[3].split(',').map(|data| data.len() as u64 / 2).sum::<u64>();
        }
    }
    assert_eq!(text.lines().count() as u64, counts.packets);
    // What arrives twice counts twice.
    for (flow, received) in outcome.flows.iter().zip(bytes) {
        assert_eq!(flow.bytes_delivered, 1_000_000);
        assert!((1_000_000..1_050_000).contains(&received), "{received}");
    }
}
