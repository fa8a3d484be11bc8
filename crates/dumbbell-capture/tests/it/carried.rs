//! Files of flows that stacks of others carry.

use crate::common::{TestFile, bound, carried, losses, write};
use dumbbell_capture::Outputs;
use dumbbell_sim::run;
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;

/// The transports that are tested.
fn transports() -> [Value; 2] {
    [json!({ "name": "quinn", "tls": "fixed" }), json!({ "name": "smoltcp" })]
}

/// The records of a file of events after the first one, which states no protocol.
fn events(file: &TestFile) -> Vec<Value> {
    let text = std::fs::read_to_string(&file.0).expect("a file of events");
    let records = text.split('\u{1e}').skip(1).map(|record| serde_json::from_str(record).expect("JSON"));
    let records: Vec<Value> = records.collect();
    assert_eq!(
        records[0]["trace"]["common_fields"],
        json!({ "time_format": "relative", "reference_time": 0.0 })
    );
    records[1..].to_vec()
}

#[test]
fn states_in_a_file_of_events_are_those_of_the_probe() {
    let [quinn, smoltcp] = transports();
    let (window, flight) = (("cwnd", "congestion_window"), ("flight_size", "bytes_in_flight"));
    // smoltcp does not show its window.
    for (transport, (quantity, metric)) in [(&quinn, window), (&quinn, flight), (&smoltcp, flight)] {
        let mut value = carried([transport.clone()], &json!("greedy"), losses(0.001), "5 s");
        value["probes"] = json!([{ "quantities": [quantity], "flows": ["f0"] }]);
        let (scenario, file) = (bound(&value), TestFile::new(&format!("events-{quantity}")));
        let (outcome, _) = write(&scenario, Outputs { events: Some(file.0.clone()), ..Outputs::default() });
        let events = events(&file);
        assert!(events.is_sorted_by(|one, next| one["time"].as_f64() <= next["time"].as_f64()));
        let logged: Vec<(f64, f64)> = events
            .iter()
            .filter(|event| event["name"] == "recovery:metrics_updated")
            .filter_map(|event| Some((event["time"].as_f64()?, event["data"].get(metric)?.as_f64()?)))
            .collect();
        let probe = &outcome.recordings[0];
        let segment = (logged[9].1 / probe.values[9]).round();
        assert!((1300.0..1500.0).contains(&segment), "{segment}");
        let recorded = probe.times.iter().zip(&probe.values).map(|(at, value)| (at * 1e3, value * segment));
        let recorded: Vec<(f64, f64)> = recorded.collect();
        assert_eq!(logged.len(), recorded.len(), "{transport}");
        for (logged, recorded) in logged.iter().zip(&recorded) {
            assert!((logged.0 - recorded.0).abs() < 1e-6 && (logged.1 - recorded.1).abs() < 1e-3);
        }
        assert!(logged.len() > 50, "{transport}: {}", logged.len());
    }
}

#[test]
fn every_packet_at_the_sender_is_an_event() {
    for transport in transports() {
        let scenario = bound(&carried(
            [transport],
            &json!({ "kind": "transfer", "size": "300 kB" }),
            losses(0.01),
            "5 s",
        ));
        let (packets, file) = (TestFile::new("every-packet"), TestFile::new("every-packet-events"));
        let outputs = Outputs {
            packets: Some((0, packets.0.clone())),
            events: Some(file.0.clone()),
            ..Outputs::default()
        };
        let (_, counts) = write(&scenario, outputs);
        let events = events(&file);
        let of_packets = events.iter().filter(|event| event["name"] != "recovery:metrics_updated");
        let lengths: Vec<u64> =
            of_packets.clone().filter_map(|event| event["data"]["raw"]["length"].as_u64()).collect();
        assert_eq!(lengths, kept(&packets).iter().map(|packet| u64::from(packet.0)).collect::<Vec<_>>());
        assert_eq!(lengths.len() as u64, counts.packets);
        let header = json!({ "packet_type": "unknown" });
        assert!(
            of_packets.clone().all(|event| event["data"]["header"] == header && event["group_id"] == "f0#1")
        );
        let names: BTreeSet<&str> = events.iter().filter_map(|event| event["name"].as_str()).collect();
        let all = ["recovery:metrics_updated", "transport:packet_received", "transport:packet_sent"];
        assert_eq!(names, BTreeSet::from(all));
    }
}

/// The length and the kept bytes of each packet in a file.
fn kept(file: &TestFile) -> Vec<(u32, Vec<u8>)> {
    let mut reader = PcapNgReader::new(File::open(&file.0).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push((packet.original_len, packet.data.into_owned()));
        }
    }
    packets
}

/// Two flows that are carried, and one of the TCP of the engine.
fn mixed() -> Value {
    let mut value = carried(transports(), &json!("greedy"), json!({}), "2 s");
    let ours = json!({ "name": "f2", "from": "a", "to": "b", "tcp": "newreno", "source": "greedy" });
    value["flows"].as_array_mut().expect("flows").push(ours);
    value
}

#[test]
fn packets_that_are_carried_are_kept_whole_unless_stated() {
    let scenario = bound(&mixed());
    for (snaplen, of_carried, of_ours) in [(None, 1500, 80), (Some(100), 100, 100)] {
        let file = TestFile::new("mixed");
        write(&scenario, Outputs { packets: Some((1, file.0.clone())), snaplen, ..Outputs::default() });
        let mut longest = [0; 3];
        for (length, bytes) in kept(&file) {
            let is_back = bytes[12..16] == [10, 0, 0, 3];
            assert_eq!(
                bytes[12..20],
                if is_back { [10, 0, 0, 3, 10, 0, 0, 1] } else { [10, 0, 0, 1, 10, 0, 0, 3] }
            );
            let port = if is_back { 20 } else { 22 };
            let flow = u16::from_be_bytes([bytes[port], bytes[port + 1]]) - 50_001;
            let limit = if flow == 2 { of_ours } else { of_carried };
            assert_eq!(bytes.len() as u32, length.min(limit));
            longest[usize::from(flow)] = longest[usize::from(flow)].max(length);
        }
        assert_eq!(longest, [1500; 3]);
    }
}

#[test]
fn a_capture_of_stacks_changes_nothing() {
    let scenario = bound(&mixed());
    let (packets, events) = (TestFile::new("unchanged"), TestFile::new("unchanged-events"));
    let outputs = Outputs {
        packets: Some((0, packets.0.clone())),
        events: Some(events.0.clone()),
        ..Outputs::default()
    };
    let (outcome, counts) = write(&scenario, outputs);
    let plain = run(&scenario, 1, 0);
    assert_eq!((outcome.fingerprint, outcome.failure), (plain.fingerprint, None));
    assert_eq!(format!("{:?}", outcome.flows), format!("{:?}", plain.flows));
    assert!(counts.packets > 1000);
}
