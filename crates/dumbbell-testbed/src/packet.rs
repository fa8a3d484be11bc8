//! Headers of real packets: what links need to know of them, and what links change in them.
//!
//! Bytes are an IPv4 or IPv6 packet as a TUN device gives it, without a link-layer header.
//!
//! * **Refused** ([`Refusal`]): bytes that are not such a packet, or whose stated length differs from their number. They
//!   never enter a link.
//! * **Carried unread**: a packet whose transport header is missing, damaged, in a fragment, or of a protocol other than
//!   TCP and UDP. It is a datagram without ports, and nothing behind its IP header is changed.
//!
//! Two fields are changed in flight: the ECN codepoint becomes CE (RFC 3168), and the accumulated queueing time in the
//! AQT option [chan2004 §3.1] grows. Checksums are updated from the words that change (RFC 1624 §3), never computed
//! anew, so that a damaged packet stays damaged.
//!
//! The AQT option has kind 200, which is not assigned and must not leave a testbed, and 8 bytes: kind, length, AQT and
//! its echo, each 24 bits in microseconds.

use dumbbell_net::PacketKind;
use dumbbell_units::{Ecn, Time};
use etherparse::{IpEcn, LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

/// Kind of the TCP option for queueing times.
pub const AQT_KIND: u8 = 200;
/// Its length, in bytes.
pub const AQT_LENGTH: u8 = 8;
/// Maximum queueing time that it can state, in microseconds: 16.8 s.
pub const AQT_MAX: u32 = (1 << 24) - 1;

/// TCP options that end the list or pad it, one byte each (RFC 9293 §3.2).
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;

/// Protocol numbers of ports.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Why bytes are not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// They do not begin with an IPv4 or IPv6 header.
    NotIp,
    /// The header states another length than the number of bytes.
    Length,
    /// No flow of the scenario has these addresses and ports.
    NoFlow,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Refusal::NotIp => "not an IPv4 or IPv6 packet",
            Refusal::Length => "the stated length is not the number of bytes",
            Refusal::NoFlow => "no flow of the scenario has these addresses and ports",
        })
    }
}

impl std::error::Error for Refusal {}

/// An end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sending host.
    Source,
    /// The receiving host.
    Destination,
}

/// The TCP header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TcpHeader {
    /// Position of the header in the packet.
    at: usize,
    /// Position of the AQT option in the packet.
    aqt: Option<usize>,
}

/// What links need to know of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Address of the sending host.
    pub source: IpAddr,
    /// Address of the receiving host.
    pub destination: IpAddr,
    /// Number of the transport protocol, as in the IP header: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Ports of source and destination; `None` if the packet is carried unread.
    pub ports: Option<(u16, u16)>,
    /// Size of the packet, in bytes.
    pub size: u32,
    /// Bytes behind the transport header, or behind the IP header of a packet carried unread.
    pub payload: u32,
    /// Kind of the packet. A segment with payload is data, a SYN without ACK is a SYN, and any other segment is an
    /// acknowledgement.
    pub kind: PacketKind,
    /// ECN codepoint.
    pub ecn: Ecn,
    tcp: Option<TcpHeader>,
}

/// Position in `bytes` of a part of it.
fn position(bytes: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr())
}

fn ecn_of(ecn: IpEcn) -> Ecn {
    match ecn {
        IpEcn::NotEct => Ecn::NotEct,
        IpEcn::Ect1 => Ecn::Ect1,
        IpEcn::Ect0 => Ecn::Ect0,
        IpEcn::CongestionExperienced => Ecn::Ce,
    }
}

/// Position of the AQT option among the options of a TCP header; `None` if it is missing or an option is damaged.
fn find_aqt(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *options.get(at..)? {
            [NO_OPERATION, ..] => at += 1,
            [END_OF_OPTIONS, ..] | [] | [_] | [_, 0 | 1, ..] => return None,
            [AQT_KIND, AQT_LENGTH, ..] if options.len() >= at + usize::from(AQT_LENGTH) => return Some(at),
            [_, length, ..] => at += usize::from(length),
        }
    }
}

impl Headers {
    /// Reads the headers of a packet.
    ///
    /// # Errors
    ///
    /// The bytes are not an IP packet of the stated length.
    pub fn parse(bytes: &[u8]) -> Result<Headers, Refusal> {
        let packet = LaxSlicedPacket::from_ip(bytes).map_err(|_| Refusal::NotIp)?;
        let (source, destination, ecn, stated, ip_payload): (IpAddr, IpAddr, _, _, _) = match &packet.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                let stated = usize::from(header.total_len());
                (
                    header.source_addr().into(),
                    header.destination_addr().into(),
                    header.ecn(),
                    stated,
                    ip.payload(),
                )
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                let stated = header.slice().len() + usize::from(header.payload_length());
                (
                    header.source_addr().into(),
                    header.destination_addr().into(),
                    header.ecn(),
                    stated,
                    ip.payload(),
                )
            }
            _ => return Err(Refusal::NotIp),
        };
        if stated != bytes.len() {
            return Err(Refusal::Length);
        }
        let unread = Headers {
            source,
            destination,
            protocol: ip_payload.ip_number.0,
            ports: None,
            size: bytes.len() as u32,
            payload: ip_payload.payload.len() as u32,
            kind: PacketKind::Datagram,
            ecn: ecn_of(ecn),
            tcp: None,
        };
        Ok(match packet.transport {
            Some(TransportSlice::Tcp(tcp)) => unread.with_tcp(position(bytes, tcp.slice()), &tcp),
            Some(TransportSlice::Udp(udp)) => Headers {
                ports: Some((udp.source_port(), udp.destination_port())),
                payload: udp.payload().len() as u32,
                ..unread
            },
            _ => unread,
        })
    }

    fn with_tcp(self, at: usize, tcp: &TcpSlice<'_>) -> Headers {
        let payload = tcp.payload().len() as u32;
        let kind = match payload {
            0 if tcp.syn() && !tcp.ack() => PacketKind::Syn,
            0 => PacketKind::Ack,
            _ => PacketKind::Data,
        };
        let options = at + tcp.header_len() - tcp.options().len();
        let aqt = find_aqt(tcp.options()).map(|option| options + option);
        let ports = Some((tcp.source_port(), tcp.destination_port()));
        Headers { ports, payload, kind, tcp: Some(TcpHeader { at, aqt }), ..self }
    }

    /// True if it is a TCP segment that was read.
    pub fn is_tcp(&self) -> bool {
        self.protocol == TCP && self.ports.is_some()
    }

    /// True if it is a UDP datagram that was read.
    pub fn is_udp(&self) -> bool {
        self.protocol == UDP && self.ports.is_some()
    }

    /// Identifies connection and direction for queues that distinguish flows: a hash of addresses, protocol and ports.
    pub fn flow_label(&self) -> u32 {
        // `DefaultHasher::new` has fixed keys: equal packets have equal labels in every process.
        let mut hasher = DefaultHasher::new();
        (self.source, self.destination, self.protocol, self.ports).hash(&mut hasher);
        hasher.finish() as u32
    }

    /// The queueing time and its echo in the AQT option, in microseconds, if the packet has one. `bytes` is the packet
    /// that was parsed.
    pub fn queueing_times(&self, bytes: &[u8]) -> Option<(u32, u32)> {
        let at = self.tcp?.aqt?;
        let number = |at: usize| match *bytes.get(at..at + 3)? {
            [high, middle, low] => Some(u32::from_be_bytes([0, high, middle, low])),
            _ => None,
        };
        Some((number(at + 2)?, number(at + 5)?))
    }

    /// Replaces the source or the destination address of an IPv4 packet, and updates the checksums of its IP, TCP and UDP
    /// headers. `bytes` is the packet that was parsed. An IPv6 packet stays unchanged.
    pub fn replace_address(&self, bytes: &mut [u8], end: End, address: Ipv4Addr) {
        let (IpAddr::V4(_), Some(&first)) = (self.source, bytes.first()) else { return };
        let (at, new) = (if end == End::Source { 12 } else { 16 }, address.octets());
        let transport = usize::from(first & 0xf) * 4;
        // Behind an extension header, such as that of authentication, the transport header is elsewhere.
        let is_next = self.ports.is_some() && bytes.get(9) == Some(&self.protocol);
        let checksum = match self.protocol {
            TCP if is_next => Some(transport + 16),
            // A datagram without a checksum has zero there (RFC 768).
            UDP if is_next && bytes.get(transport + 6..transport + 8) != Some(&[0, 0]) => Some(transport + 6),
            _ => None,
        };
        if let Some(checksum) = checksum {
            // The transport's checksum covers the addresses as well. Each checksum is updated from the old address.
            let Some(old) = bytes.get(at..at + 4).map(<[u8]>::to_vec) else { return };
            replace(bytes, at, &new, checksum..checksum + 2);
            if let Some(place) = bytes.get_mut(at..at + 4) {
                place.copy_from_slice(&old);
            }
            if self.protocol == UDP
                && let Some(stored @ [0, 0]) = bytes.get_mut(checksum..checksum + 2)
            {
                // The other zero of one's complement, because this one means that there is none.
                stored.fill(0xff);
            }
        }
        replace(bytes, at, &new, 10..12);
    }

    /// Adds a queueing time to the AQT option, if the packet has one, and updates the TCP checksum. The sum is rounded
    /// to microseconds and stays at [`AQT_MAX`] if it would exceed it. `bytes` is the packet that was parsed.
    pub fn add_queueing(&self, bytes: &mut [u8], waited: Time) {
        let Some((before, _)) = self.queueing_times(bytes) else { return };
        let Some(TcpHeader { at, aqt: Some(option) }) = self.tcp else { return };
        let micros = waited.0.saturating_add(500) / 1000;
        let after = micros.saturating_add(u64::from(before)).min(u64::from(AQT_MAX)) as u32;
        let [_, new @ ..] = after.to_be_bytes();
        let Some(segment) = bytes.get_mut(at..) else { return };
        replace(segment, option + 2 - at, &new, 16..18);
    }

    /// Marks the packet "congestion experienced" and updates the IPv4 header checksum. `bytes` is the packet that was
    /// parsed. A packet that is not ECN-capable stays unchanged (RFC 3168 §5).
    pub fn mark_ce(&self, bytes: &mut [u8]) {
        if !self.ecn.is_capable() {
            return;
        }
        match (self.source, bytes) {
            (IpAddr::V4(_), bytes @ [_, _, ..]) => {
                let service = bytes[1] | 0b11;
                replace(bytes, 1, &[service], 10..12);
            }
            // The traffic class is in the middle of the first four bytes, and there is no checksum.
            (IpAddr::V6(_), [_, second, ..]) => *second |= 0b11 << 4,
            _ => {}
        }
    }
}

/// Sum of 16-bit words in network order, with the carries not yet added; an odd last byte is followed by zero.
fn sum_of_words(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))).sum()
}

/// Replaces bytes at `at` and updates the Internet checksum at `checksum`, equation 3 of RFC 1624 §3:
/// HC' = ~(~HC + ~m + m') over the words that contain them. Does nothing if one of them is outside.
fn replace(bytes: &mut [u8], at: usize, new: &[u8], checksum: Range<usize>) {
    // The words that contain the bytes. Words are counted from the beginning of what the checksum covers.
    let words = at & !1..(at + new.len()).next_multiple_of(2).min(bytes.len());
    let (Some(before), Some(stored)) = (bytes.get(words.clone()), bytes.get(checksum.clone())) else {
        return;
    };
    let count = words.len().div_ceil(2) as u64;
    let mut sum = (0xffff - sum_of_words(stored)) + (count * 0xffff - sum_of_words(before));
    let Some(replaced) = bytes.get_mut(at..at + new.len()) else { return };
    replaced.copy_from_slice(new);
    sum += bytes.get(words).map_or(0, sum_of_words);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    if let Some(stored) = bytes.get_mut(checksum) {
        stored.copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Header length, flags and checksum of this segment are filled in. Options have a multiple of four bytes.
    fn tcp(options: &[u8], payload: &[u8], flags: u8) -> Vec<u8> {
        let mut segment = vec![0x13, 0x88, 0xc0, 0x00, 0, 0, 0, 1, 0, 0, 0, 2];
        segment.extend([(5 + options.len() as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend(options);
        segment.extend(payload);
        segment
    }

    fn ipv4(protocol: u8, tos: u8, payload: &[u8]) -> Vec<u8> {
        let length = (20 + payload.len() as u16).to_be_bytes();
        let mut packet = vec![0x45, tos, length[0], length[1], 0, 7, 0x40, 0, 64, protocol, 0, 0];
        packet.extend([10, 1, 0, 1, 10, 1, 0, 2]);
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(payload);
        packet
    }

    fn ipv6(next: u8, class: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u16).to_be_bytes();
        let mut packet = vec![0x60 | class >> 4, class << 4, 0, 0, length[0], length[1], next, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend(payload);
        packet
    }

    /// RFC 1071: the complement of the sum in one's complement.
    fn checksum(bytes: &[u8]) -> u16 {
        let mut sum = sum_of_words(bytes);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// A segment with the checksum of its packet.
    fn packet_of(mut segment: Vec<u8>, tos: u8) -> Vec<u8> {
        let sum = tcp_checksum(&segment);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        ipv4(TCP, tos, &segment)
    }

    /// The TCP checksum that a segment between these hosts should have.
    fn tcp_checksum(segment: &[u8]) -> u16 {
        let length = (segment.len() as u16).to_be_bytes();
        let mut covered = vec![10, 1, 0, 1, 10, 1, 0, 2, 0, TCP, length[0], length[1]];
        covered.extend(segment);
        covered[12 + 16..12 + 18].fill(0);
        checksum(&covered)
    }

    fn has_valid_checksums(packet: &[u8]) -> bool {
        let stored = u16::from_be_bytes([packet[36], packet[37]]);
        checksum(&packet[..20]) == 0 && tcp_checksum(&packet[20..]) == stored
    }

    /// Timestamps (10 bytes) behind two bytes of padding, and AQT.
    fn options(aqt: u32, echo: u32) -> Vec<u8> {
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8, AQT_KIND, AQT_LENGTH];
        options.extend(&aqt.to_be_bytes()[1..]);
        options.extend(&echo.to_be_bytes()[1..]);
        options.extend([NO_OPERATION, END_OF_OPTIONS, 0, 0]);
        options
    }

    #[test]
    fn a_segment_is_read() {
        let packet = packet_of(tcp(&options(5, 6), &[7; 1000], 0x10), 0x02);
        let headers = Headers::parse(&packet).expect("a packet");
        assert_eq!(headers.source, IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1)));
        assert_eq!(headers.ports, Some((5000, 49_152)));
        // 20 bytes of IP, 20 of TCP and 24 of options.
        assert_eq!((headers.size, headers.payload), (1064, 1000));
        assert_eq!((headers.kind, headers.ecn), (PacketKind::Data, Ecn::Ect0));
        assert_eq!(headers.queueing_times(&packet), Some((5, 6)));
        assert!(headers.is_tcp() && !headers.is_udp());
    }

    #[test]
    fn kinds_follow_flags_and_payload() {
        let kind = |flags, payload: &[u8]| {
            Headers::parse(&packet_of(tcp(&[], payload, flags), 0)).map(|headers| headers.kind)
        };
        assert_eq!(kind(0x02, &[]), Ok(PacketKind::Syn));
        assert_eq!(kind(0x12, &[]), Ok(PacketKind::Ack));
        assert_eq!(kind(0x10, &[]), Ok(PacketKind::Ack));
        assert_eq!(kind(0x11, &[1]), Ok(PacketKind::Data));
    }

    #[test]
    fn queueing_times_add_up_and_the_checksum_stays_valid() {
        // Any position of the option, also at an odd byte, where its words are shared with others.
        for pad in 0..4 {
            let mut padded = vec![NO_OPERATION; pad];
            padded.extend([AQT_KIND, AQT_LENGTH, 0, 0, 9, 1, 2, 3]);
            padded.resize(12, END_OF_OPTIONS);
            let mut packet = packet_of(tcp(&padded, &[0xab; 33], 0x10), 0);
            assert!(has_valid_checksums(&packet));
            let headers = Headers::parse(&packet).expect("a packet");
            // 9 us and 1234.5 us, rounded up.
            headers.add_queueing(&mut packet, Time(1_234_500));
            assert_eq!(headers.queueing_times(&packet), Some((1244, 0x01_02_03)));
            assert!(has_valid_checksums(&packet), "with {pad} bytes of padding");
            headers.add_queueing(&mut packet, Time::from_secs(16.0));
            headers.add_queueing(&mut packet, Time::NEVER);
            assert_eq!(headers.queueing_times(&packet), Some((AQT_MAX, 0x01_02_03)));
            assert!(has_valid_checksums(&packet));
        }
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut packet = packet_of(tcp(&options(1, 2), &[3; 10], 0x10), 0);
        packet[70] ^= 0x40;
        let headers = Headers::parse(&packet).expect("a packet");
        headers.add_queueing(&mut packet, Time(5_000_000));
        assert!(!has_valid_checksums(&packet));
        packet[70] ^= 0x40;
        assert!(has_valid_checksums(&packet));
    }

    #[test]
    fn only_capable_packets_are_marked() {
        for (tos, marked) in [(0xb8, 0xb8), (0xb9, 0xbb), (0xba, 0xbb), (0xbb, 0xbb)] {
            let mut packet = packet_of(tcp(&[], &[1], 0x10), tos);
            Headers::parse(&packet).expect("a packet").mark_ce(&mut packet);
            assert_eq!((packet[1], has_valid_checksums(&packet)), (marked, true));
            let mut packet = ipv6(TCP, tos, &tcp(&[], &[1], 0x10));
            let headers = Headers::parse(&packet).expect("a packet");
            headers.mark_ce(&mut packet);
            assert_eq!(packet[0] << 4 | packet[1] >> 4, marked);
        }
    }

    #[test]
    fn an_update_equals_the_checksum_computed_anew() {
        // The words of RFC 1624 §4: the header checksum 0xdd2f and a word that changes from 0x5555 to 0x3285.
        let mut bytes = [0xdd, 0x2f, 0x55, 0x55];
        replace(&mut bytes, 2, &[0x32, 0x85], 0..2);
        assert_eq!(bytes, [0x00, 0x00, 0x32, 0x85]);
        replace(&mut bytes, 3, &[0, 0], 0..2);
        assert_eq!(bytes, [0x00, 0x00, 0x32, 0x85], "a change outside does nothing");
    }

    #[test]
    fn packets_with_unreadable_transport_are_carried_unread() {
        let carried = |packet: &[u8]| {
            let headers = Headers::parse(packet).expect("a packet");
            (headers.ports, headers.kind, headers.payload)
        };
        // ICMP, a TCP header cut short, one with a header longer than the packet, and a fragment.
        assert_eq!(carried(&ipv4(1, 0, &[8, 0, 0, 0, 0, 0, 0, 0])), (None, PacketKind::Datagram, 8));
        assert_eq!(carried(&ipv4(TCP, 0, &[1; 12])), (None, PacketKind::Datagram, 12));
        let mut segment = tcp(&[], &[], 0x10);
        segment[12] = 0xf0;
        assert_eq!(carried(&ipv4(TCP, 0, &segment)), (None, PacketKind::Datagram, 20));
        let mut fragment = ipv4(TCP, 0, &tcp(&[], &[], 0x10));
        fragment[7] = 1;
        assert_eq!(carried(&fragment), (None, PacketKind::Datagram, 20));
    }

    #[test]
    fn a_replaced_address_leaves_the_packet_that_would_have_been_sent() {
        use etherparse::PacketBuilder;
        let (here, there, other) = ([100, 64, 0, 2], [100, 64, 0, 3], [127, 0, 0, 1]);
        let tcp = |from, to| {
            let mut bytes = Vec::new();
            let builder = PacketBuilder::ipv4(from, to, 64).tcp(40_000, 80, 7, 1000);
            builder.write(&mut bytes, b"GET").expect("a packet");
            bytes
        };
        let udp = |from, to| {
            let mut bytes = Vec::new();
            PacketBuilder::ipv4(from, to, 64).udp(40_000, 53).write(&mut bytes, b"a").expect("a packet");
            bytes
        };
        let echo = |from, to| {
            let mut bytes = Vec::new();
            let builder = PacketBuilder::ipv4(from, to, 64).icmpv4_echo_request(1, 2);
            builder.write(&mut bytes, b"ping").expect("a packet");
            bytes
        };
        for make in [&tcp as &dyn Fn([u8; 4], [u8; 4]) -> Vec<u8>, &udp, &echo] {
            let mut bytes = make(here, there);
            let headers = Headers::parse(&bytes).expect("a packet");
            headers.replace_address(&mut bytes, End::Destination, other.into());
            assert_eq!(bytes, make(here, other));
            headers.replace_address(&mut bytes, End::Source, there.into());
            assert_eq!(bytes, make(there, other));
        }
        // A datagram without a checksum keeps none.
        let mut bytes = udp(here, there);
        bytes[26..28].fill(0);
        let headers = Headers::parse(&bytes).expect("a packet");
        headers.replace_address(&mut bytes, End::Destination, other.into());
        assert_eq!((&bytes[26..28], &bytes[16..20]), (&[0, 0][..], &other[..]));
    }

    #[test]
    fn datagrams_have_ports() {
        let packet = ipv4(UDP, 0, &[0, 53, 0x10, 0, 0, 12, 0, 0, 1, 2, 3, 4]);
        let headers = Headers::parse(&packet).expect("a packet");
        assert_eq!((headers.ports, headers.payload), (Some((53, 4096)), 4));
        assert!(headers.is_udp() && headers.kind == PacketKind::Datagram);
    }

    #[test]
    fn other_bytes_are_refused() {
        let refused = |bytes: &[u8]| Headers::parse(bytes).err();
        assert_eq!(refused(&[]), Some(Refusal::NotIp));
        assert_eq!(refused(&[0x45; 19]), Some(Refusal::NotIp));
        assert_eq!(refused(&[0x05; 40]), Some(Refusal::NotIp));
        assert_eq!(refused(&[0x60; 39]), Some(Refusal::NotIp));
        let packet = packet_of(tcp(&[], &[1; 30], 0x10), 0);
        assert_eq!(refused(&packet[..69]), Some(Refusal::Length));
        let longer: Vec<u8> = packet.iter().copied().chain([0]).collect();
        assert_eq!(refused(&longer), Some(Refusal::Length));
        assert_eq!(Refusal::Length.to_string(), "the stated length is not the number of bytes");
    }

    #[test]
    fn options_before_aqt_may_be_damaged() {
        for options in [[5, 0, 0, 0], [5, 40, 0, 0], [AQT_KIND, AQT_LENGTH, 0, 0], [AQT_KIND, 0, 0, 0]] {
            let packet = packet_of(tcp(&options, &[0; 4], 0x10), 0);
            assert_eq!(Headers::parse(&packet).map(|headers| headers.queueing_times(&packet)), Ok(None));
        }
    }

    #[test]
    fn labels_distinguish_direction_and_ports() {
        let packet = packet_of(tcp(&[], &[], 0x10), 0);
        let headers = Headers::parse(&packet).expect("a packet");
        let back = Headers { source: headers.destination, destination: headers.source, ..headers };
        let other = Headers { ports: Some((5001, 49_152)), ..headers };
        assert_eq!(headers.flow_label(), Headers { size: 40, ..headers }.flow_label());
        assert_ne!(headers.flow_label(), back.flow_label());
        assert_ne!(headers.flow_label(), other.flow_label());
    }
}
