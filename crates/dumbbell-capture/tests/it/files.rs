//! Files of packets, read by libraries: every header is valid, and their contents agree with the engine.

use crate::common::{TestFile, capture, losses, scenario};
use dumbbell_capture::files::CaptureError;
use dumbbell_capture::{Files, Outputs};
use dumbbell_sim::Scenario;
use dumbbell_sim::capture::{Content, Seen, SeenPacket, Sighting};
use dumbbell_tcp::DataSegment;
use dumbbell_units::{Ecn, Time};
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// The times and the bytes of the packets of a file.
fn packets(path: &Path) -> Vec<(Duration, Vec<u8>)> {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            assert_eq!(packet.original_len as usize, packet.data.len());
            packets.push((packet.timestamp, packet.data.into_owned()));
        }
    }
    packets
}

/// Parses a segment, and checks its checksums.
fn with_tcp<T>(bytes: &[u8], look: impl FnOnce(&TcpSlice<'_>, Ecn) -> T) -> T {
    let sliced = SlicedPacket::from_ip(bytes).unwrap();
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (&sliced.net, &sliced.transport) else {
        panic!("not TCP over IPv4: {sliced:?}");
    };
    let header = ip.header().to_header();
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    assert_eq!(tcp.checksum(), tcp.to_header().calc_checksum_ipv4(&header, tcp.payload()).unwrap());
    let codepoints = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    look(tcp, codepoints[usize::from(header.ecn.value())])
}

#[test]
fn every_segment_is_valid_and_counts_agree() {
    let tcp = json!({ "variant": "sack", "handshake": true, "timestamps": true, "ecn": "classic" });
    let mut members = losses(0.01);
    members["queue"] = json!({ "kind": "codel", "target": "2 ms", "interval": "20 ms" });
    let file = TestFile::new("files");
    let (outcome, counts) = capture(&scenario([tcp], members, "5 s"), 0, 65_535, &file.0);
    let packets = packets(&file.0);
    assert!(packets.is_sorted_by_key(|(at, _)| *at));
    assert_eq!(packets.len() as u64, counts.packets);
    let (mut bytes, mut retransmissions, mut next, mut acknowledged) = (0, 0, 0, 0);
    let (mut duplicates, mut with_ranges, mut echoes, mut reductions) = (0, 0, 0, 0);
    let (mut last_value, mut last_echo) = ([0; 2], [0; 2]);
    for (_, packet) in &packets {
        with_tcp(packet, |tcp, ecn| {
            let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
            let stamps = options.iter().find_map(|option| match option {
                TcpOptionElement::Timestamp(value, echo) => Some((*value, *echo)),
                _ => None,
            });
            let (value, echo) = stamps.expect("timestamps");
            let (is_data, other) = (!tcp.payload().is_empty(), usize::from(tcp.source_port() == 50_001));
            // Neither clock goes back; an echo is a value that the other end has sent.
            assert!(value >= last_value[other] && echo >= last_echo[other]);
            assert!(echo <= last_value[1 - other]);
            (last_value[other], last_echo[other]) = (value, echo);
            if tcp.syn() {
                assert!(tcp.ece() && tcp.cwr() != tcp.ack());
            } else if is_data {
                let end = tcp.sequence_number() + tcp.payload().len() as u32;
                bytes += tcp.payload().len() as u64;
                retransmissions += u64::from(end <= next);
                reductions += u64::from(tcp.cwr());
                // RFC 3168 §6.1.5: what is sent again is not ECN-capable.
                assert_eq!(ecn, if end <= next { Ecn::NotEct } else { Ecn::Ect0 });
                next = next.max(end);
            } else {
                let ack = tcp.acknowledgment_number();
                duplicates += u64::from(ack == acknowledged && next > ack);
                with_ranges += u64::from(
                    options.iter().any(|o| matches!(o, TcpOptionElement::SelectiveAcknowledgement(..))),
                );
                echoes += u64::from(tcp.ece());
                acknowledged = ack;
            }
        });
    }
    assert_eq!(
        (bytes, retransmissions),
        (counts.bytes, outcome.flows[0].segments_retransmitted.unwrap_or_default())
    );
    assert_eq!(duplicates, counts.duplicate_acks);
    let seen = [retransmissions, with_ranges, echoes, reductions];
    assert!(seen.iter().all(|count| *count > 2), "{seen:?}");
}

fn begin(scenario: &Value, outputs: &Outputs) -> Result<Files, CaptureError> {
    Files::begin(&Scenario::from_value(scenario).unwrap(), outputs)
}

#[test]
fn too_many_packets_and_events_are_an_error() {
    let (packets, events) = (TestFile::new("limited"), TestFile::new("limited-events"));
    let outputs = Outputs {
        packets: Some((0, packets.0.clone())),
        events: Some(events.0.clone()),
        max_records: 4,
        ..Outputs::default()
    };
    let mut files = begin(&scenario([json!("reno")], json!({}), "1 s"), &outputs).unwrap();
    let mut write = |at: u64| {
        let content = Content::Segment(DataSegment::new(at * 1000, 1000));
        let seen =
            Seen::Packet(SeenPacket { size: 1040, ecn: Ecn::NotEct, sent: Time(at), echo: None, content });
        files.write(&Sighting { at: Time(at), node: 0, is_at_sender: true, flow: 0, connection: 1, seen })
    };
    // Each is a packet and an event.
    assert!(write(1).is_ok() && write(2).is_ok());
    assert!(matches!(write(3), Err(CaptureError::TooMany { max_records: 4, at: Time(3) })));
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let missing = TestFile::new("missing").0.join("f.pcapng");
    let outputs = Outputs { packets: Some((0, missing.clone())), ..Outputs::default() };
    let Err(CaptureError::Failed { path, .. }) =
        begin(&scenario([json!("reno")], json!({}), "1 s"), &outputs)
    else {
        panic!("the folder does not exist");
    };
    assert_eq!(path, missing);
}
