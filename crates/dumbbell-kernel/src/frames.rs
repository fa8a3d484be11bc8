//! Headers of the packets between the two hosts of a guest.

use dumbbell_units::Ecn;
use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice};

/// Size of an Ethernet header, in bytes.
pub const ETHERNET: usize = 14;

/// Ethernet type of IPv4.
const IPV4: [u8; 2] = [8, 0];

/// Protocol number of TCP.
const TCP: u8 = 6;

/// What a TCP segment says, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number of its first byte, or of the SYN.
    pub seq: u32,
    /// The next sequence number that its sender expects, if it acknowledges anything.
    pub ack: Option<u32>,
    /// Bytes of data.
    pub data: u32,
    /// It opens a connection.
    pub is_syn: bool,
    /// It ends the data of its sender.
    pub is_fin: bool,
    /// ECN codepoint of the packet.
    pub ecn: Ecn,
}

impl Segment {
    /// Reads the headers of an IP packet; `None` if it is not a whole TCP segment over IPv4.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let length = usize::from(ip.total_len());
        if ip.protocol().0 != TCP || ip.is_fragmenting_payload() || packet.len() != length {
            return None;
        }
        let rest = packet.get(ip.slice().len()..)?;
        let tcp = TcpHeaderSlice::from_slice(rest).ok()?;
        Some(Segment {
            source: tcp.source_port(),
            destination: tcp.destination_port(),
            seq: tcp.sequence_number(),
            ack: tcp.ack().then(|| tcp.acknowledgment_number()),
            data: (rest.len() - tcp.slice().len()) as u32,
            is_syn: tcp.syn(),
            is_fin: tcp.fin(),
            ecn: ecn_of(packet[1]),
        })
    }
}

/// The codepoint in the second byte of an IPv4 header [RFC 3168 §5].
pub fn ecn_of(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Gives an IPv4 packet a codepoint, and its header the checksum that follows.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let bits = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let header = usize::from(packet[0] & 15) * 4;
    if ecn_of(packet[1]) == ecn || packet.len() < header {
        return;
    }
    packet[1] = packet[1] & !3 | bits;
    packet[10..12].fill(0);
    let sum = !folded(sum_of(&packet[..header]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Writes the checksum over everything from `start` on, of which the guest has written the part of the pseudo header
/// [VIRTIO 1.2 §5.1.6.2]; nothing if it would be outside.
pub fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) {
    let Some(place) = start.checked_add(offset).filter(|place| place + 2 <= frame.len()) else { return };
    // A sum of zero is sent as all ones by UDP alone.
    let sum = !folded(sum_of(&frame[start..]));
    frame[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The sum of 16-bit words [RFC 1071].
fn sum_of(bytes: &[u8]) -> u64 {
    let (words, last) = bytes.as_chunks::<2>();
    let sum: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    sum + last.first().map_or(0, |last| u64::from(*last) << 8)
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The IP packet in an Ethernet frame, if it is one.
pub fn packet_in(frame: &[u8]) -> Option<&[u8]> {
    frame.get(ETHERNET..).filter(|_| frame[12..ETHERNET] == IPV4)
}

/// Begins a frame to a hardware address with a type.
pub fn begin(frame: &mut Vec<u8>, to: [u8; 6], kind: [u8; 2]) {
    frame.extend(to);
    frame.extend([2, 0, 0, 0, 0, 0xff]);
    frame.extend(kind);
}

/// Begins a frame of IPv4.
pub fn begin_ip(frame: &mut Vec<u8>, to: [u8; 6]) {
    begin(frame, to, IPV4);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.0.0.1:1000 to 10.0.0.2:5000, sequence number 7, acknowledgement 9, flags ACK, 3 bytes, ECT(0).
    fn packet() -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 43, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([3, 0xe8, 0x13, 0x88, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        packet.extend(*b"abc");
        packet
    }

    #[test]
    fn a_segment_is_read() {
        let segment = Segment::parse(&packet()).expect("a segment");
        let expected = Segment {
            source: 1000,
            destination: 5000,
            seq: 7,
            ack: Some(9),
            data: 3,
            is_syn: false,
            is_fin: false,
            ecn: Ecn::Ect0,
        };
        assert_eq!(segment, expected);
    }

    #[test]
    fn what_is_no_whole_segment_is_nothing() {
        let whole = packet();
        assert!((0..whole.len()).all(|length| Segment::parse(&whole[..length]).is_none()));
        let with = |at: usize, byte: u8| {
            let mut bytes = packet();
            bytes[at] = byte;
            Segment::parse(&bytes)
        };
        assert_eq!(with(9, 17), None, "UDP");
        assert_eq!(with(6, 0x20), None, "a fragment");
        assert_eq!(with(32, 0xf0), None, "a header longer than the packet");
    }

    #[test]
    fn a_mark_keeps_the_checksum_of_the_header_valid() {
        let mut marked = packet();
        set_ecn(&mut marked, Ecn::Ce);
        assert_eq!(Segment::parse(&marked).map(|segment| segment.ecn), Some(Ecn::Ce));
        assert_eq!(folded(sum_of(&marked[..20])), 0xffff);
    }

    #[test]
    fn a_checksum_is_completed_inside_a_frame_only() {
        // The words 0x0001, 0x0003 and a last byte 0x05: 0x0504, inverted 0xfafb.
        let mut frame = [9, 9, 0, 1, 0, 3, 5];
        complete_checksum(&mut frame, 2, 2);
        assert_eq!(frame, [9, 9, 0, 1, 0xfa, 0xfb, 5]);
        for (start, offset) in [(2, 4), (9, 0), (usize::MAX, 1)] {
            let before = frame;
            complete_checksum(&mut frame, start, offset);
            assert_eq!(frame, before);
        }
    }

    #[test]
    fn frames_of_other_types_have_no_packet() {
        let mut frame = Vec::new();
        begin_ip(&mut frame, [1; 6]);
        assert_eq!(packet_in(&frame), Some(&[][..]));
        frame[12] = 9;
        assert_eq!(packet_in(&frame), None);
        assert_eq!(packet_in(&frame[..3]), None);
    }
}
