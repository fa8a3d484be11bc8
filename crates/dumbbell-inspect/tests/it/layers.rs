//! Every link layer, IPv4 and IPv6, fragments, cut packets, options.

use crate::build::{
    CLIENT, ETHERNET, IPV4, LOOP, NANOS, NULL, Order, RAW, SERVER, SLL, SLL2, in_v4, linked, one, pcap, read,
    v4, v6,
};
use dumbbell_inspect::{Flags, Options, Segment};
use dumbbell_units::{Ecn, Time};
use std::net::SocketAddr;

/// The segment in the packets of `build`.
fn expected(payload: u32) -> Segment {
    Segment {
        at: Time(5),
        interface: 0,
        from: SocketAddr::from((CLIENT, 443)),
        to: SocketAddr::from((SERVER, 50_000)),
        seq: 1_000,
        ack: 77,
        flags: Flags { ack: true, psh: true, ..Flags::default() },
        window: 512,
        payload,
        options: Options {
            timestamps: Some((100, 200)),
            sack: [(7_000, 8_000), (9_000, 9_500), (0, 0), (0, 0)],
            sack_count: 2,
            ..Options::default()
        },
        ecn: Ecn::NotEct,
        identification: Some(0),
        hops: 61,
    }
}

fn expected_v6(payload: u32) -> Segment {
    let (from, to) = (SocketAddr::from(([1; 16], 443)), SocketAddr::from(([2; 16], 50_000)));
    Segment { from, to, identification: None, ..expected(payload) }
}

/// The packet with its length in the header of IPv4 replaced, as the check sum is not looked at.
fn stating(mut packet: Vec<u8>, length: u16) -> Vec<u8> {
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet
}

#[test]
fn each_link_layer_leads_to_the_same_segment() {
    for link in [NULL, ETHERNET, RAW, 12, 14, LOOP, SLL, SLL2] {
        let interface = if link == SLL2 { 3 } else { 0 };
        assert_eq!(one(link, linked(link, &v4(100))), Segment { interface, ..expected(100) }, "{link}");
        assert_eq!(one(link, linked(link, &v6(100))), Segment { interface, ..expected_v6(100) }, "{link}");
    }
    assert_eq!(one(IPV4, v4(100)), expected(100));
    assert_eq!(one(229, v6(100)), expected_v6(100));
}

#[test]
fn tags_of_virtual_networks_are_stepped_over() {
    let ethernet = linked(ETHERNET, &v4(9));
    for tags in [&[0x81, 0, 0, 7][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 7], &[0x91, 0, 0, 1, 0x81, 0, 0, 7]] {
        let tagged = [&ethernet[..12], tags, &ethernet[12..]].concat();
        assert_eq!(one(ETHERNET, tagged), expected(9), "{tags:?}");
    }
    let sll = linked(SLL, &v4(9));
    assert_eq!(one(SLL, [&sll[..14], &[0x81, 0, 0, 7], &sll[14..]].concat()), expected(9));
}

#[test]
fn the_padding_of_short_frames_is_no_data() {
    let frame = [linked(ETHERNET, &v4(0)), vec![0; 46]].concat();
    assert_eq!(one(ETHERNET, frame), expected(0));
}

#[test]
fn a_cut_packet_has_the_payload_of_its_headers() {
    let whole = linked(ETHERNET, &v4(1400));
    let (segments, counts) = read(pcap(Order::Little, NANOS, ETHERNET, 100, &[(5, whole)]));
    assert_eq!((segments, counts.damaged), (vec![expected(1400)], 0));
}

#[test]
fn options_that_are_cut_are_missing() {
    // 14 bytes of Ethernet, 20 of IP, 20 of TCP, 12 with timestamps, 20 with ranges.
    let whole = linked(ETHERNET, &v4(1400));
    let without_sack = Options { timestamps: Some((100, 200)), ..Options::default() };
    for (kept, options) in [
        (54, Options::default()),
        (65, Options::default()),
        (66, without_sack),
        (85, without_sack),
        (86, expected(0).options),
    ] {
        let (segments, counts) = read(pcap(Order::Little, NANOS, ETHERNET, kept, &[(5, whole.clone())]));
        assert_eq!((segments, counts.damaged), (vec![Segment { options, ..expected(1400) }], 0), "{kept}");
    }
    let (segments, counts) = read(pcap(Order::Little, NANOS, ETHERNET, 53, &[(5, whole)]));
    assert_eq!((segments.len(), counts.damaged), (0, 1));
    assert_eq!(
        counts.first_damage.map(|damage| damage.to_string()).as_deref(),
        Some("packet 1: it ends within the first 20 bytes of the TCP header")
    );
}

#[test]
fn a_segment_that_the_card_was_to_split_has_the_length_of_its_packet() {
    let huge = linked(ETHERNET, &stating(v4(60_000), 0));
    assert_eq!(one(ETHERNET, huge.clone()), expected(60_000));
    let (segments, _) = read(pcap(Order::Little, NANOS, ETHERNET, 96, &[(5, huge)]));
    assert_eq!(segments, [expected(60_000)]);
    let mut jumbo = v6(60_000);
    jumbo[4..6].fill(0);
    assert_eq!(one(RAW, jumbo), expected_v6(60_000));
}

#[test]
fn extension_headers_of_v6_are_stepped_over() {
    let packet = v6(50);
    // Hop-by-hop and destination options of 8 bytes each, both padding.
    let (hop, destination) = ([60, 0, 1, 4, 0, 0, 0, 0], [6, 0, 1, 4, 0, 0, 0, 0]);
    let mut extended = [&packet[..40], &hop, &destination, &packet[40..]].concat();
    extended[6] = 0;
    let length = (packet.len() - 40 + 16) as u16;
    extended[4..6].copy_from_slice(&length.to_be_bytes());
    assert_eq!(one(RAW, extended), expected_v6(50));
}

#[test]
fn of_a_fragmented_segment_the_first_part_is_read() {
    let segment = v4(1000)[20..].to_vec();
    let head = segment.len() - 1000;
    let first = in_v4(6, 0, true, &segment[..800]);
    let second = in_v4(6, 100, false, &segment[800..]);
    let (segments, counts) = read(pcap(Order::Little, NANOS, RAW, 65_535, &[(5, first), (6, second)]));
    assert_eq!(segments, [expected((800 - head) as u32)]);
    assert_eq!((counts.tcp, counts.fragments, counts.damaged), (1, 2, 0));

    let segment = v6(1000)[40..].to_vec();
    let fragment = |offset: u16, flag: u16, data: &[u8]| {
        let [high, low] = ((offset << 3) | flag).to_be_bytes();
        let mut packet = [&v6(0)[..40], &[6, 0, high, low, 0, 0, 0, 1], data].concat();
        packet[6] = 44;
        packet[4..6].copy_from_slice(&((8 + data.len()) as u16).to_be_bytes());
        packet
    };
    let records = [(5, fragment(0, 1, &segment[..800])), (6, fragment(100, 0, &segment[800..]))];
    let (segments, counts) = read(pcap(Order::Little, NANOS, RAW, 65_535, &records));
    assert_eq!(segments, [expected_v6((800 - head) as u32)]);
    assert_eq!((counts.tcp, counts.fragments, counts.damaged), (1, 2, 0));
}

#[test]
fn what_is_no_segment_is_counted() {
    let udp = in_v4(17, 0, false, &[0, 1, 0, 2, 0, 8, 0, 0]);
    let icmp = in_v4(1, 0, false, &[8, 0, 0, 0, 0, 0, 0, 0]);
    let arp = [&[2; 12][..], &[8, 6], &[0; 28]].concat();
    let records =
        [(1, linked(ETHERNET, &udp)), (2, linked(ETHERNET, &icmp)), (3, arp), (2, linked(ETHERNET, &v4(1)))];
    let (segments, counts) = read(pcap(Order::Little, NANOS, ETHERNET, 65_535, &records));
    assert_eq!(segments.len(), 1);
    assert_eq!((counts.packets, counts.tcp, counts.udp, counts.other), (4, 1, 1, 2));
    assert_eq!((counts.damaged, counts.backwards), (0, 1));
}

#[test]
fn lengths_that_contradict_each_other_are_damage() {
    let short = stating(v4(10), 30);
    let mut no_header = v4(10);
    no_header[32] = 0x40;
    let (segments, counts) = read(pcap(Order::Little, NANOS, RAW, 65_535, &[(1, short), (2, no_header)]));
    assert_eq!((segments.len(), counts.damaged), (0, 2));
    assert!(
        counts
            .first_damage
            .is_some_and(|damage| damage.packet == 1 && damage.reason.contains("length that IP states"))
    );
}

/// A segment with these bytes as options.
fn with_options(bytes: &[u8]) -> Segment {
    let mut segment = v4(0)[20..40].to_vec();
    segment[12] = ((20 + bytes.len()) / 4 << 4) as u8;
    one(RAW, in_v4(6, 0, false, &[&segment, bytes].concat()))
}

#[test]
fn options_of_other_kinds_are_stepped_over() {
    let stamps = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    // Multipath TCP, an experiment, and a maximum segment size with a wrong length.
    for unknown in [&[30, 4, 9, 9, 1, 1][..], &[253, 6, 1, 2, 3, 4], &[2, 6, 1, 2, 3, 4]] {
        let options = with_options(&[unknown, &stamps].concat()).options;
        assert_eq!(options, Options { timestamps: Some((1, 2)), ..Options::default() }, "{unknown:?}");
    }
    // A length of zero would never end, and one past the header has no content.
    for broken in [[99, 0, 1, 1], [99, 40, 1, 1], [8, 10, 0, 0]] {
        assert_eq!(with_options(&broken).options, Options::default(), "{broken:?}");
    }
}

#[test]
fn the_options_of_a_handshake_are_read() {
    let options = with_options(&[2, 4, 5, 0xb4, 4, 2, 3, 3, 15, 1, 1, 1]).options;
    let expected = Options { mss: Some(1460), scale: Some(14), sack_permitted: true, ..Options::default() };
    assert_eq!(options, expected, "a shift is at most 14");
}

#[test]
fn four_ranges_fit() {
    let mut bytes = vec![1, 1, 5, 34];
    bytes.extend((1..=8_u32).flat_map(u32::to_be_bytes));
    let options = with_options(&bytes).options;
    assert_eq!((options.sack_count, options.sack), (4, [(1, 2), (3, 4), (5, 6), (7, 8)]));
}

#[test]
fn each_flag_and_codepoint_is_its_own() {
    let names: [fn(&Flags) -> bool; 9] = [
        |flags| flags.fin,
        |flags| flags.syn,
        |flags| flags.rst,
        |flags| flags.psh,
        |flags| flags.ack,
        |flags| flags.urg,
        |flags| flags.ece,
        |flags| flags.cwr,
        |flags| flags.ae,
    ];
    for (bit, is_set) in names.iter().enumerate() {
        let mut packet = v4(0);
        packet[32] &= 0xf0;
        packet[32] |= (1_u16 << bit >> 8) as u8;
        packet[33] = (1_u16 << bit) as u8;
        let flags = one(RAW, packet).flags;
        assert!(is_set(&flags), "bit {bit}: {flags:?}");
        assert_eq!(names.iter().filter(|is_set| is_set(&flags)).count(), 1, "bit {bit}");
    }
    for (bits, ecn) in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().enumerate() {
        let (mut four, mut six) = (v4(0), v6(0));
        four[1] = bits as u8;
        six[1] = (bits as u8) << 4;
        assert_eq!((one(RAW, four).ecn, one(RAW, six).ecn), (ecn, ecn));
    }
}
