//! Packets are real: captures of them can be read.

use crate::harness::{Run, scenario};
use dumbbell_units::{Time, Value};
use serde_json::json;
use smoltcp::wire::{IpAddress, IpProtocol, Ipv4Packet, TcpPacket, UdpPacket};

fn packets(stated: Value) -> Vec<(Time, Vec<u8>)> {
    let mut run = Run::new(&scenario(""), stated, 1);
    run.packets = Some(Vec::new());
    run.open(0, 100_000, false);
    run.until(Time(30_000_000_000));
    run.packets.take().expect("recorded")
}

#[test]
fn headers_and_checksums_are_right() {
    for (stated, protocol) in
        [(json!({ "name": "quinn" }), IpProtocol::Udp), (json!({ "name": "smoltcp" }), IpProtocol::Tcp)]
    {
        let packets = packets(stated);
        assert!(packets.len() > 100);
        for (_, packet) in packets {
            let ip = Ipv4Packet::new_checked(packet.as_slice()).expect("IPv4");
            assert_eq!((usize::from(ip.total_len()), ip.next_header()), (packet.len(), protocol));
            assert!(ip.verify_checksum() && packet.len() <= 1500);
            let (source, destination) = (IpAddress::Ipv4(ip.src_addr()), IpAddress::Ipv4(ip.dst_addr()));
            if protocol == IpProtocol::Udp {
                let udp = UdpPacket::new_checked(ip.payload()).expect("UDP");
                assert!(udp.verify_checksum(&source, &destination));
                assert_eq!(ip.ecn(), 0b10, "quinn sends ECT(0)");
            } else {
                let tcp = TcpPacket::new_checked(ip.payload()).expect("TCP");
                assert!(tcp.verify_checksum(&source, &destination));
                assert_eq!(ip.ecn(), 0);
            }
        }
    }
}
