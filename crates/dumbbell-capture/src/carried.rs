//! Packets of stacks that are not ours, between the nodes of a scenario.
//!
//! A stack has addresses of its own, which may be the same for several flows. In a capture, IPv4 packets get the addresses of
//! the nodes and, with TCP or UDP, the port of the receiver by which [`headers`](crate::headers) tells flows apart, and the
//! ECN codepoint with which they arrive. The port of the sender stays. Checksums are corrected, not computed: a wrong one
//! stays wrong.

use dumbbell_sim::transport::End;
use etherparse::{IpEcn, IpNumber, Ipv4HeaderSlice};
use std::net::Ipv4Addr;

/// Where a flow begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Address of the sender.
    pub sender: Ipv4Addr,
    /// Address of the receiver.
    pub receiver: Ipv4Addr,
    /// Port of the receiver.
    pub port: u16,
}

/// Places in an IPv4 header.
const IP_CHECKSUM: usize = 10;
const ADDRESSES: usize = 12;
/// Places of the checksum in the headers of TCP and UDP.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;

/// Puts an IPv4 packet between these ends, with the codepoint with which it arrives. Other bytes stay as they are.
pub fn move_between(ends: &Ends, to: End, ecn: IpEcn, packet: &mut [u8]) {
    let Ok(ip) = Ipv4HeaderSlice::from_slice(packet) else { return };
    let (begin, protocol, is_first) = (ip.slice().len(), ip.protocol(), ip.fragments_offset().value() == 0);
    let transport = match protocol {
        IpNumber::TCP => Some(begin + TCP_CHECKSUM),
        IpNumber::UDP => Some(begin + UDP_CHECKSUM),
        _ => None,
    };
    let transport = transport.filter(|place| is_first && place + 2 <= packet.len());
    let traffic = [packet[0], packet[1] & !3 | ecn.value()];
    replace(packet, 0, &traffic, &[IP_CHECKSUM]);
    let (from, to, port) = match to {
        End::Receiver => (ends.sender, ends.receiver, begin + 2),
        End::Sender => (ends.receiver, ends.sender, begin),
    };
    let addresses = [from.octets(), to.octets()].concat();
    let Some(checksum) = transport else { return replace(packet, ADDRESSES, &addresses, &[IP_CHECKSUM]) };
    // Without a checksum, UDP has zeros in its place, and all ones where the checksum is zero (RFC 768).
    let is_udp = protocol == IpNumber::UDP;
    let has_none = is_udp && packet[checksum..checksum + 2] == [0, 0];
    let of_transport: &[usize] = if has_none { &[] } else { &[checksum] };
    replace(packet, ADDRESSES, &addresses, &[&[IP_CHECKSUM], of_transport].concat());
    replace(packet, port, &ends.port.to_be_bytes(), of_transport);
    if is_udp && !has_none && packet[checksum..checksum + 2] == [0, 0] {
        packet[checksum..checksum + 2].fill(0xff);
    }
}

/// Replaces whole 16-bit words, and corrects the checksums at these places (RFC 1624 §3).
fn replace(packet: &mut [u8], at: usize, new: &[u8], checksums: &[usize]) {
    let word = |bytes: &[u8]| u32::from(bytes[0]) << 8 | u32::from(bytes[1]);
    let old = packet[at..at + new.len()].chunks_exact(2);
    let change: u32 = old.zip(new.chunks_exact(2)).map(|(old, new)| (!word(old) & 0xffff) + word(new)).sum();
    for &place in checksums {
        let mut sum = (!word(&packet[place..place + 2]) & 0xffff) + change;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        packet[place..place + 2].copy_from_slice(&(!sum as u16).to_be_bytes());
    }
    packet[at..at + new.len()].copy_from_slice(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4Header, SlicedPacket, TcpHeader, TransportSlice, UdpHeader};

    const ENDS: Ends =
        Ends { sender: Ipv4Addr::new(10, 0, 0, 1), receiver: Ipv4Addr::new(10, 0, 0, 2), port: 50_002 };

    /// A packet between addresses of a stack, with UDP or TCP.
    fn packet(is_udp: bool, payload: &[u8]) -> Vec<u8> {
        let (protocol, length) =
            if is_udp { (IpNumber::UDP, UdpHeader::LEN) } else { (IpNumber::TCP, TcpHeader::MIN_LEN) };
        let (source, destination) = ([172, 16, 0, 1], [172, 16, 0, 2]);
        let ip = Ipv4Header::new((length + payload.len()) as u16, 64, protocol, source, destination);
        let mut ip = ip.expect("short");
        ip.header_checksum = ip.calc_header_checksum();
        let transport = if is_udp {
            let udp = UdpHeader::with_ipv4_checksum(33_001, 50_001, &ip, payload).expect("short");
            udp.to_bytes().to_vec()
        } else {
            let mut tcp = TcpHeader::new(33_001, 50_001, 1, 1000);
            tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).expect("short");
            tcp.to_bytes().to_vec()
        };
        [&ip.to_bytes(), transport.as_slice(), payload].concat()
    }

    /// Whether the checksums of the headers are right.
    fn are_right(bytes: &[u8]) -> (bool, bool) {
        let sliced = SlicedPacket::from_ip(bytes).expect("an IP packet");
        let ip = Ipv4HeaderSlice::from_slice(bytes).expect("IPv4").to_header();
        let of_transport = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                tcp.to_header().calc_checksum_ipv4(&ip, tcp.payload()).expect("short") == tcp.checksum()
            }
            Some(TransportSlice::Udp(udp)) => {
                udp.to_header().calc_checksum_ipv4(&ip, udp.payload()).expect("short") == udp.checksum()
            }
            other => panic!("{other:?}"),
        };
        (ip.header_checksum == ip.calc_header_checksum(), of_transport)
    }

    #[test]
    fn a_packet_is_between_its_nodes_with_right_checksums() {
        // Every value of the last word, so that every checksum occurs, among them zero.
        for (is_udp, word) in
            [true, false].into_iter().flat_map(|is_udp| (0..=u16::MAX).map(move |n| (is_udp, n)))
        {
            let mut bytes = packet(is_udp, &word.to_be_bytes());
            move_between(&ENDS, End::Receiver, IpEcn::CongestionExperienced, &mut bytes);
            assert_eq!((&bytes[12..20], bytes[1]), (&[10, 0, 0, 1, 10, 0, 0, 2][..], 3));
            assert_eq!(bytes[20..24], [33_001_u16.to_be_bytes(), 50_002_u16.to_be_bytes()].concat());
            assert_eq!(are_right(&bytes), (true, true), "{bytes:?}");
        }
    }

    #[test]
    fn an_answer_has_the_port_of_the_receiver_as_its_source() {
        let mut bytes = packet(false, b"answer");
        move_between(&ENDS, End::Sender, IpEcn::NotEct, &mut bytes);
        assert_eq!(bytes[12..20], [10, 0, 0, 2, 10, 0, 0, 1]);
        assert_eq!(bytes[20..24], [50_002_u16.to_be_bytes(), 50_001_u16.to_be_bytes()].concat());
        assert_eq!(are_right(&bytes), (true, true));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong_and_a_missing_one_missing() {
        let mut wrong = packet(false, b"data");
        wrong[36] ^= 1;
        move_between(&ENDS, End::Receiver, IpEcn::NotEct, &mut wrong);
        assert_eq!(are_right(&wrong), (true, false));
        let mut missing = packet(true, b"data");
        missing[26..28].fill(0);
        move_between(&ENDS, End::Receiver, IpEcn::NotEct, &mut missing);
        assert_eq!(missing[26..28], [0, 0]);
    }

    #[test]
    fn what_is_not_a_whole_packet_of_ipv4_stays() {
        for mut bytes in [vec![], vec![0x45; 10], vec![0x60; 60]] {
            let before = bytes.clone();
            move_between(&ENDS, End::Receiver, IpEcn::NotEct, &mut bytes);
            assert_eq!(bytes, before);
        }
        // Of a later fragment, only the IP header changes.
        let mut fragment = packet(true, b"data");
        fragment[7] = 8;
        let rest = fragment[20..].to_vec();
        move_between(&ENDS, End::Receiver, IpEcn::NotEct, &mut fragment);
        assert_eq!((&fragment[20..], &fragment[12..16]), (&rest[..], &[10, 0, 0, 1][..]));
    }
}
