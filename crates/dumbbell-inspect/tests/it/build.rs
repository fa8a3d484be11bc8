//! Writes packets and captures, by nothing but the specifications.

use dumbbell_inspect::{Counts, ReadError, Reader, Segment};
use etherparse::{IpFragOffset, Ipv4Header, PacketBuilder, TcpOptionElement};
use std::io::Cursor;

/// The link types that tests write.
pub const NULL: u32 = 0;
pub const ETHERNET: u32 = 1;
pub const RAW: u32 = 101;
pub const LOOP: u32 = 108;
pub const SLL: u32 = 113;
pub const IPV4: u32 = 228;
pub const SLL2: u32 = 276;

/// Addresses of both ends.
pub const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub const SERVER: [u8; 4] = [192, 168, 7, 9];

/// The options of the segments of tests.
pub fn options() -> Vec<TcpOptionElement> {
    use TcpOptionElement::{Noop, SelectiveAcknowledgement, Timestamp};
    let sack = SelectiveAcknowledgement((7_000, 8_000), [Some((9_000, 9_500)), None, None]);
    vec![Noop, Noop, Timestamp(100, 200), Noop, Noop, sack]
}

/// A packet of IPv4 with a segment of so many bytes.
pub fn v4(payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4(CLIENT, SERVER, 61).tcp(443, 50_000, 1_000, 512);
    let builder = builder.ack(77).psh().options(&options()).expect("40 bytes of options at most");
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![b'x'; payload]).expect("a vector takes all");
    bytes
}

/// The same with IPv6.
pub fn v6(payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 61).tcp(443, 50_000, 1_000, 512);
    let builder = builder.ack(77).psh().options(&options()).expect("40 bytes of options at most");
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![b'x'; payload]).expect("a vector takes all");
    bytes
}

/// A header of IPv4 in front of bytes.
pub fn in_v4(protocol: u8, offset: u16, has_more: bool, payload: &[u8]) -> Vec<u8> {
    let mut header =
        Ipv4Header::new(payload.len() as u16, 61, protocol.into(), CLIENT, SERVER).expect("short enough");
    header.fragment_offset = IpFragOffset::try_new(offset).expect("13 bits");
    header.more_fragments = has_more;
    header.header_checksum = header.calc_header_checksum();
    [header.to_bytes().as_slice(), payload].concat()
}

/// A packet in front of which is the header of a link.
pub fn linked(link: u32, packet: &[u8]) -> Vec<u8> {
    let kind: [u8; 2] = if packet[0] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] };
    let family = if packet[0] >> 4 == 4 { 2_u32 } else { 30 };
    let header = match link {
        NULL => family.to_le_bytes().to_vec(),
        LOOP => family.to_be_bytes().to_vec(),
        ETHERNET => [&[2; 12], kind.as_slice()].concat(),
        SLL => [&[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0], kind.as_slice()].concat(),
        SLL2 => [kind.as_slice(), &[0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0]].concat(),
        _ => Vec::new(),
    };
    [&header, packet].concat()
}

/// Numbers in a byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn i64(self, value: i64) -> [u8; 8] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// A packet of a capture: time in nanoseconds, and bytes.
pub type Record = (u64, Vec<u8>);

pub const MICROS: u32 = 0xa1b2_c3d4;
pub const NANOS: u32 = 0xa1b2_3c4d;

/// A file of pcap, whose packets keep `snaplen` bytes.
pub fn pcap(order: Order, magic: u32, link: u32, snaplen: usize, records: &[Record]) -> Vec<u8> {
    let mut file =
        [order.u32(magic), [order.u16(2), order.u16(4)].concat().try_into().expect("4 bytes")].concat();
    for word in [0, 0, snaplen as u32, link] {
        file.extend(order.u32(word));
    }
    let unit = if magic == NANOS { 1 } else { 1000 };
    for (at, bytes) in records {
        let kept = &bytes[..bytes.len().min(snaplen)];
        let words = [
            (at / 1_000_000_000) as u32,
            (at % 1_000_000_000 / unit) as u32,
            kept.len() as u32,
            bytes.len() as u32,
        ];
        file.extend(words.into_iter().flat_map(|word| order.u32(word)));
        file.extend(kept);
    }
    file
}

/// A block of pcapng.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = (4 - body.len() % 4) % 4;
    let length = order.u32((12 + body.len() + padding) as u32);
    [&order.u32(kind), length.as_slice(), body, &[0; 3][..padding], &length].concat()
}

pub fn section(order: Order) -> Vec<u8> {
    let body = [order.u32(0x1a2b_3c4d).as_slice(), &order.u16(1), &order.u16(0), &order.i64(-1)].concat();
    block(order, 0x0a0d_0d0a, &body)
}

/// An interface whose options have no end, which is allowed.
pub fn interface(order: Order, link: u32, resolution: u8, offset: i64) -> Vec<u8> {
    let resolution = [order.u16(9).as_slice(), &order.u16(1), &[resolution, 0, 0, 0]].concat();
    let offset = [order.u16(14).as_slice(), &order.u16(8), &order.i64(offset)].concat();
    let name = [order.u16(2).as_slice(), &order.u16(3), &[0xff, 0xfe, b'x', 0]].concat();
    let head = [order.u16(link as u16).as_slice(), &[0, 0], &order.u32(0)].concat();
    block(order, 1, &[head, name, resolution, offset].concat())
}

/// An enhanced packet block.
pub fn enhanced(order: Order, interface: u32, units: u64, bytes: &[u8], length: u32) -> Vec<u8> {
    let words = [interface, (units >> 32) as u32, units as u32, bytes.len() as u32, length];
    let head: Vec<u8> = words.into_iter().flat_map(|word| order.u32(word)).collect();
    block(order, 6, &[&head, bytes].concat())
}

/// A section with one interface with nanoseconds, and enhanced packet blocks.
pub fn pcapng(order: Order, link: u32, records: &[Record]) -> Vec<u8> {
    let mut file = [section(order), interface(order, link, 9, 0)].concat();
    for (at, bytes) in records {
        file.extend(enhanced(order, 0, *at, bytes, bytes.len() as u32));
    }
    file
}

/// What a capture contains.
pub type Content = (Vec<Segment>, Counts);

/// Reads a capture.
pub fn try_read(file: Vec<u8>) -> Result<Content, ReadError> {
    let size = file.len() as u64;
    let mut reader = Reader::new("the capture".to_owned(), Cursor::new(file), Some(size))?;
    let mut segments = Vec::new();
    while let Some(segment) = reader.next_segment()? {
        segments.push(segment);
    }
    Ok((segments, *reader.counts()))
}

pub fn read(file: Vec<u8>) -> Content {
    try_read(file).expect("a capture")
}

/// The segment of a capture with one packet.
pub fn one(link: u32, bytes: Vec<u8>) -> Segment {
    let (segments, counts) = read(pcap(Order::Little, NANOS, link, 262_144, &[(5, bytes)]));
    assert_eq!((segments.len(), counts.tcp, counts.damaged), (1, 1, 0), "{counts:?}");
    segments[0]
}
