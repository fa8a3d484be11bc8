//! From the bytes of a packet to its segment: link layer, IP, TCP.
//!
//! A capture that keeps only the start of each packet is normal. Lengths are therefore those of the headers, and only the
//! options that the capture has cut are missing. A segment that the network card was to split (segmentation offload) has
//! the length of the whole; if that does not fit the IP header, the header states zero, and the length of the packet
//! counts.

use crate::segment::{Flags, MAX_SACK, Options, Segment};
use dumbbell_units::{Ecn, Time};
use etherparse::{
    EtherType, Ethernet2HeaderSlice, IpNumber, Ipv4HeaderSlice, Ipv6ExtensionSlice, LaxIpSlice,
    SingleVlanHeaderSlice, TcpHeaderSlice, TcpOptionElement, TcpOptionReadError, TcpOptionsIterator,
    ether_type, ip_number,
};
use pcap_file::DataLink;
use std::net::SocketAddr;

/// What precedes the IP header in the packets of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    /// Nothing.
    Raw,
    /// Four bytes with the address family, in the byte order of the machine that captured, or in that of the network.
    Loopback,
    /// What Linux writes for all interfaces together.
    Sll,
    /// The same with the interface.
    Sll2,
}

/// Types in the header of pcap and pcapng [tcpdump.org/linktypes]. 12 and 14 are raw IP on some systems. The bits above
/// the first 16 tell of a check sum at the end of packets.
const LINKS: [(u32, Link); 10] = [
    (0, Link::Loopback),
    (1, Link::Ethernet),
    (12, Link::Raw),
    (14, Link::Raw),
    (101, Link::Raw),
    (108, Link::Loopback),
    (113, Link::Sll),
    (228, Link::Raw),
    (229, Link::Raw),
    (276, Link::Sll2),
];

impl Link {
    /// The link layer of a type, or the type and its name.
    pub(crate) fn of(number: u32) -> Result<Self, (u32, String)> {
        let number = number & 0xffff;
        let known = LINKS.iter().find(|(known, _)| *known == number);
        known.map(|(_, link)| *link).ok_or_else(|| (number, format!("{:?}", DataLink::from(number))))
    }
}

/// The bytes of a packet as they are in a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub at: Time,
    pub interface: u32,
    pub link: Link,
    /// Length on the wire.
    pub length: u32,
    pub bytes: &'a [u8],
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// A segment, and whether it is the first fragment of one.
    Tcp(Segment, bool),
    Udp,
    Other,
    /// A fragment without the header of its segment.
    Fragment,
    Damaged(&'static str),
}

const CUT_LINK: &str = "it ends within the header of its link";
const CUT_IP: &str = "it ends within the header of IP, or is no packet of IP";
const CUT_TCP: &str = "it ends within the first 20 bytes of the TCP header";
const SHORT_IP: &str = "the length that IP states is less than its headers";
const SHORT_TCP: &str = "the length that TCP states for its header is less than 20 bytes";

/// Reads a packet.
pub(crate) fn read(frame: &Frame<'_>) -> Packet {
    match frame.link {
        Link::Ethernet => match Ethernet2HeaderSlice::from_slice(frame.bytes) {
            Ok(header) => behind(frame, header.ether_type(), header.slice().len()),
            Err(_) => Packet::Damaged(CUT_LINK),
        },
        Link::Raw => ip(frame, 0),
        Link::Loopback => match frame.bytes.first_chunk() {
            Some(family) => loopback(frame, *family),
            None => Packet::Damaged(CUT_LINK),
        },
        Link::Sll => match frame.bytes.first_chunk::<16>() {
            Some(&[.., high, low]) => behind(frame, number(high, low), 16),
            None => Packet::Damaged(CUT_LINK),
        },
        Link::Sll2 => match frame.bytes.first_chunk::<20>() {
            Some(&[high, low, _, _, a, b, c, d, ..]) => {
                let interface = u32::from_be_bytes([a, b, c, d]);
                behind(&Frame { interface, ..*frame }, number(high, low), 20)
            }
            None => Packet::Damaged(CUT_LINK),
        },
    }
}

fn number(high: u8, low: u8) -> EtherType {
    EtherType(u16::from_be_bytes([high, low]))
}

/// Families of IPv4 and, by system, of IPv6.
fn loopback(frame: &Frame<'_>, family: [u8; 4]) -> Packet {
    let (big, little) = (u32::from_be_bytes(family), u32::from_le_bytes(family));
    match big.min(little) {
        2 | 10 | 24 | 28 | 30 => ip(frame, 4),
        _ => Packet::Other,
    }
}

/// Reads what follows the number of a protocol, at a position of the packet.
fn behind(frame: &Frame<'_>, protocol: EtherType, mut at: usize) -> Packet {
    let mut protocol = protocol;
    while let ether_type::VLAN_TAGGED_FRAME
    | ether_type::PROVIDER_BRIDGING
    | ether_type::VLAN_DOUBLE_TAGGED_FRAME = protocol
    {
        let Ok(tag) = SingleVlanHeaderSlice::from_slice(&frame.bytes[at..]) else {
            return Packet::Damaged(CUT_LINK);
        };
        protocol = tag.ether_type();
        at += tag.slice().len();
    }
    match protocol {
        ether_type::IPV4 | ether_type::IPV6 => ip(frame, at),
        _ => Packet::Other,
    }
}

/// What the header of IP says.
struct Network {
    /// Length of all but the link layer.
    length: usize,
    ecn: u8,
    hops: u8,
    identification: Option<u16>,
    /// It is a fragment, and whether the first.
    fragment: Option<bool>,
}

fn ip(frame: &Frame<'_>, at: usize) -> Packet {
    let bytes = &frame.bytes[at..];
    let Ok((ip, stopped)) = LaxIpSlice::from_slice(bytes) else { return Packet::Damaged(CUT_IP) };
    let payload = ip.payload();
    let network = match &ip {
        LaxIpSlice::Ipv4(ip) => v4(&ip.header()),
        LaxIpSlice::Ipv6(ip) => {
            let header = ip.header();
            let first = ip.extensions().clone().into_iter().find_map(|extension| match extension {
                Ipv6ExtensionSlice::Fragment(fragment) if fragment.is_fragmenting_payload() => {
                    Some(fragment.fragment_offset().value() == 0)
                }
                _ => None,
            });
            Network {
                length: if header.payload_length() == 0 {
                    0
                } else {
                    40 + usize::from(header.payload_length())
                },
                ecn: header.ecn().value(),
                hops: header.hop_limit(),
                identification: None,
                fragment: first,
            }
        }
    };
    match (network.fragment, payload.ip_number) {
        (Some(false), _) => Packet::Fragment,
        _ if stopped.is_some() => Packet::Damaged(CUT_IP),
        (_, ip_number::TCP) => {
            let before = payload.payload.as_ptr() as usize - bytes.as_ptr() as usize;
            let length =
                if network.length == 0 { (frame.length as usize).saturating_sub(at) } else { network.length };
            let Some(length) = length.checked_sub(before) else { return Packet::Damaged(SHORT_IP) };
            let ends = (ip.source_addr(), ip.destination_addr());
            tcp(frame, &network, ends, payload.payload, length)
        }
        (_, IpNumber(17)) => Packet::Udp,
        _ => Packet::Other,
    }
}

fn v4(header: &Ipv4HeaderSlice<'_>) -> Network {
    Network {
        length: usize::from(header.total_len()),
        ecn: header.ecn().value(),
        hops: header.ttl(),
        identification: Some(header.identification()),
        fragment: header.is_fragmenting_payload().then(|| header.fragments_offset().value() == 0),
    }
}

/// Longest header of TCP, in bytes.
const MAX_HEADER: usize = 60;

/// Reads a TCP header, of which the capture may have cut options, in a packet of IP with `length` bytes behind its headers.
fn tcp(
    frame: &Frame<'_>,
    network: &Network,
    ends: (std::net::IpAddr, std::net::IpAddr),
    bytes: &[u8],
    length: usize,
) -> Packet {
    if length < 20 {
        return Packet::Damaged(SHORT_IP);
    }
    let Some(offset) = bytes.get(12).filter(|_| bytes.len() >= 20) else { return Packet::Damaged(CUT_TCP) };
    let size = usize::from(offset >> 4) * 4;
    let mut whole = [0; MAX_HEADER];
    let header = if bytes.len() < size {
        whole[..bytes.len()].copy_from_slice(bytes);
        TcpHeaderSlice::from_slice(&whole[..size])
    } else {
        TcpHeaderSlice::from_slice(bytes)
    };
    let Ok(header) = header else { return Packet::Damaged(SHORT_TCP) };
    let Some(payload) = length.checked_sub(size) else { return Packet::Damaged(SHORT_IP) };
    let segment = Segment {
        at: frame.at,
        interface: frame.interface,
        from: SocketAddr::new(ends.0, header.source_port()),
        to: SocketAddr::new(ends.1, header.destination_port()),
        seq: header.sequence_number(),
        ack: header.acknowledgment_number(),
        flags: flags(&header),
        window: header.window_size(),
        payload: u32::try_from(payload).unwrap_or(u32::MAX),
        options: options(&bytes[20..size.min(bytes.len())]),
        ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(network.ecn & 3)],
        identification: network.identification,
        hops: network.hops,
    };
    Packet::Tcp(segment, network.fragment.is_some())
}

fn flags(header: &TcpHeaderSlice<'_>) -> Flags {
    Flags {
        syn: header.syn(),
        ack: header.ack(),
        fin: header.fin(),
        rst: header.rst(),
        psh: header.psh(),
        urg: header.urg(),
        ece: header.ece(),
        cwr: header.cwr(),
        ae: header.ns(),
    }
}

/// Largest shift of a window [RFC 7323 §2.3].
const MAX_SCALE: u8 = 14;

/// Reads options up to their end, or to where they are cut. Those of other kinds are stepped over.
fn options(bytes: &[u8]) -> Options {
    let mut options = Options::default();
    let mut rest = TcpOptionsIterator::from_slice(bytes);
    loop {
        let here = rest.rest();
        match rest.next() {
            Some(Ok(option)) => note(&mut options, option),
            Some(Err(TcpOptionReadError::UnknownId(_) | TcpOptionReadError::UnexpectedSize { .. })) => {
                let Some(next) =
                    here.get(1).filter(|size| **size >= 2).and_then(|size| here.get(usize::from(*size)..))
                else {
                    return options;
                };
                rest = TcpOptionsIterator::from_slice(next);
            }
            Some(Err(TcpOptionReadError::UnexpectedEndOfSlice { .. })) | None => return options,
        }
    }
}

fn note(options: &mut Options, option: TcpOptionElement) {
    match option {
        TcpOptionElement::Noop => {}
        TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
        TcpOptionElement::WindowScale(scale) => options.scale = Some(scale.min(MAX_SCALE)),
        TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
        TcpOptionElement::Timestamp(clock, echo) => options.timestamps = Some((clock, echo)),
        TcpOptionElement::SelectiveAcknowledgement(first, more) => {
            let ranges = std::iter::once(first).chain(more.into_iter().flatten()).take(MAX_SACK);
            options.sack_count = 0;
            for range in ranges {
                options.sack[usize::from(options.sack_count)] = range;
                options.sack_count += 1;
            }
        }
    }
}
