//! The same packets through every format.

use crate::build::{
    Content, ETHERNET, LOOP, MICROS, NANOS, Order, RAW, Record, SLL2, block, enhanced, interface, linked,
    pcap, pcapng, read, section, try_read, v4, v6,
};
use dumbbell_inspect::{ReadError, Reader, Segment};
use dumbbell_units::Time;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Cursor, Read, Write};

const SECOND: u64 = 1_000_000_000;

/// Packets at whole microseconds, which every format can state.
fn records() -> Vec<Record> {
    let at = |index: u64| 1_700_000_000 * SECOND + index * 1_234_000;
    (0..20)
        .map(|index| {
            (
                at(index),
                linked(ETHERNET, &if index % 3 == 0 { v6(index as usize) } else { v4(index as usize) }),
            )
        })
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}

fn check(content: Content, reference: &[Segment], what: &str) {
    let (segments, counts) = content;
    assert_eq!(segments, reference, "{what}");
    assert_eq!((counts.damaged, counts.cut_tail, counts.backwards), (0, 0, 0), "{what}");
}

#[test]
fn every_format_gives_the_same_segments() {
    let records = records();
    let (reference, _) = read(pcap(Order::Little, NANOS, ETHERNET, 262_144, &records));
    assert_eq!(reference.len(), records.len());
    let times: Vec<u64> = reference.iter().map(|segment| segment.at.0).collect();
    assert_eq!(times, records.iter().map(|(at, _)| *at).collect::<Vec<_>>());
    for order in [Order::Little, Order::Big] {
        for magic in [MICROS, NANOS] {
            let file = pcap(order, magic, ETHERNET, 262_144, &records);
            check(read(gzip(&file)), &reference, "compressed");
            check(read(file), &reference, &format!("{order:?} {magic:x}"));
        }
        check(read(pcapng(order, ETHERNET, &records)), &reference, "enhanced");
        check(read(gzip(&pcapng(order, ETHERNET, &records))), &reference, "enhanced and compressed");
        check(read(old_packets(order, &records)), &reference, "packet blocks");
        check(read(in_units(order, &records)), &reference, "other units and offsets");
        check(read(many_sections(order, &records)), &reference, "sections");
    }
}

/// The packet block of old, with a count of drops.
fn old_packets(order: Order, records: &[Record]) -> Vec<u8> {
    let mut file = [section(order), interface(order, ETHERNET, 9, 0)].concat();
    for (at, bytes) in records {
        let words = [(at >> 32) as u32, *at as u32, bytes.len() as u32, bytes.len() as u32];
        let words: Vec<u8> = words.into_iter().flat_map(|word| order.u32(word)).collect();
        let body = [order.u16(0).as_slice(), &order.u16(7), &words, bytes].concat();
        file.extend(block(order, 2, &body));
    }
    file
}

/// Packets in turn of interfaces with microseconds, with 2^-40 s, and with an offset.
fn in_units(order: Order, records: &[Record]) -> Vec<u8> {
    let offset = 1_600_000_000;
    let mut file = [
        section(order),
        interface(order, ETHERNET, 6, 0),
        interface(order, ETHERNET, 9, offset),
        interface(order, ETHERNET, 9, -50),
    ]
    .concat();
    for (index, (at, bytes)) in records.iter().enumerate() {
        let units = [at / 1000, at - offset as u64 * SECOND, at + 50 * SECOND][index % 3];
        file.extend(enhanced(order, (index % 3) as u32, units, bytes, bytes.len() as u32));
    }
    // All segments of the reference are of the first interface.
    let (mut segments, counts) = read(file);
    assert!(
        segments.iter().enumerate().all(|(index, segment)| segment.interface as usize == index % 3),
        "{counts:?}"
    );
    segments.iter_mut().for_each(|segment| segment.interface = 0);
    let again = records
        .iter()
        .zip(&segments)
        .map(|((_, bytes), segment)| (segment.at.0, bytes.clone()))
        .collect::<Vec<_>>();
    pcapng(order, ETHERNET, &again)
}

/// Sections in turn of both byte orders, each with other interfaces, and blocks between that are no packets.
fn many_sections(order: Order, records: &[Record]) -> Vec<u8> {
    let other = if order == Order::Little { Order::Big } else { Order::Little };
    let mut file = Vec::new();
    for (index, (at, bytes)) in records.iter().enumerate() {
        let order = [order, other][index % 2];
        let resolution = [9, 6][index % 2];
        file.extend([section(order), interface(order, ETHERNET, resolution, 0)].concat());
        file.extend(block(order, 5, &[0; 12]));
        file.extend(block(order, 0x0bad, &[1; 40_000]));
        file.extend(enhanced(order, 0, at / [1, 1000][index % 2], bytes, bytes.len() as u32));
    }
    file
}

#[test]
fn a_binary_clock_is_exact_to_its_unit() {
    let order = Order::Little;
    let packet = linked(ETHERNET, &v4(3));
    let units = 5_u64 << 30 | 1 << 29;
    let file =
        [section(order), interface(order, ETHERNET, 0x80 | 30, 0), enhanced(order, 0, units, &packet, 99)]
            .concat();
    assert_eq!(read(file).0[0].at, Time(5_500_000_000));
}

#[test]
fn a_packet_without_a_time_has_that_before_it() {
    let order = Order::Big;
    let packet = linked(ETHERNET, &v4(3));
    let simple = [order.u32(packet.len() as u32).as_slice(), &packet].concat();
    let file = [
        pcapng(order, ETHERNET, &[(77, packet.clone())]),
        block(order, 3, &simple),
        block(order, 3, &simple),
    ]
    .concat();
    let (segments, counts) = read(file);
    assert_eq!(segments.len(), 3);
    assert!(segments.iter().all(|segment| *segment == segments[0] && segment.at == Time(77)));
    assert_eq!((counts.untimed, counts.backwards, counts.damaged), (2, 0, 0));
}

#[test]
fn a_cut_simple_packet_has_the_length_of_its_headers() {
    let order = Order::Little;
    let packet = linked(ETHERNET, &v4(1000));
    let mut interface = interface(order, ETHERNET, 9, 0);
    // 89 bytes are kept, which a block pads to 92.
    interface[12..16].copy_from_slice(&order.u32(89));
    let simple = [order.u32(packet.len() as u32).as_slice(), &packet[..89], &[0xff; 3]].concat();
    let (segments, _) = read([section(order), interface, block(order, 3, &simple)].concat());
    assert_eq!((segments[0].payload, segments[0].options.sack_count), (1000, 2));
}

#[test]
fn the_linktype_of_pcap_is_in_its_low_bits() {
    // The upper bits tell of 4 bytes of check sum behind each packet.
    let records = [(5, [linked(ETHERNET, &v4(3)), vec![9; 4]].concat())];
    let file = pcap(Order::Little, NANOS, ETHERNET | 0x2400_0000, 65_535, &records);
    assert_eq!(read(file).0[0].payload, 3);
}

#[test]
fn interfaces_of_one_capture_may_differ() {
    let order = Order::Little;
    let usb = interface(order, 220, 9, 0);
    let file = [
        section(order),
        usb.clone(),
        interface(order, RAW, 9, 0),
        interface(order, SLL2, 9, 0),
        interface(order, LOOP, 9, 0),
        enhanced(order, 0, 1, &[1; 64], 64),
        enhanced(order, 1, 2, &v4(1), 99),
        enhanced(order, 2, 3, &linked(SLL2, &v4(2)), 99),
        enhanced(order, 3, 4, &linked(LOOP, &v4(3)), 99),
    ]
    .concat();
    let (segments, counts) = read(file);
    assert_eq!(
        segments.iter().map(|segment| (segment.interface, segment.payload)).collect::<Vec<_>>(),
        [(1, 1), (3, 2), (3, 3)]
    );
    assert_eq!((counts.packets, counts.other, counts.damaged), (4, 1, 0));

    let alone = [section(order), usb, enhanced(order, 0, 1, &[1; 64], 64)].concat();
    assert!(matches!(try_read(alone), Err(ReadError::LinkType { number: 220, .. })));
}

#[test]
fn errors_say_what_is_wrong_with_which_file() {
    let message = |file: &[u8]| try_read(file.to_vec()).expect_err("no capture").to_string();
    let unknown = "the capture is not a capture: pcap and pcapng are read, also compressed with gzip";
    for file in
        [&b""[..], b"GIF", b"GET / HTTP/1.1\r\n\r\n", &[0; 500], &gzip(b"text"), &[0x1f, 0x8b], &[0x1f]]
    {
        assert_eq!(message(file), unknown);
    }
    let header = pcap(Order::Little, MICROS, ETHERNET, 100, &[]);
    assert_eq!(
        message(&header[..20]),
        "the capture is no whole capture: it ends within the header of the file"
    );
    let wireless = pcap(Order::Little, MICROS, 105, 100, &[]);
    assert_eq!(
        message(&wireless),
        "the capture has packets of link type 105 (IEEE802_11): Ethernet, Linux SLL and SLL2, raw IP, and BSD loopback are \
         read"
    );
    let missing = Reader::open("/none/such.pcap".as_ref()).err().map(|error| error.to_string());
    assert_eq!(
        missing.as_deref(),
        Some("/none/such.pcap could not be read: No such file or directory (os error 2)")
    );
}

#[test]
fn a_capture_without_packets_is_empty() {
    for file in
        [pcap(Order::Big, NANOS, ETHERNET, 0, &[]), section(Order::Little), pcapng(Order::Big, ETHERNET, &[])]
    {
        let (segments, counts) = read(file);
        assert_eq!((segments.len(), counts.packets, counts.damaged, counts.cut_tail), (0, 0, 0, 0));
    }
}

/// Gives one byte at a time, and fails after some.
struct Slow(Cursor<Vec<u8>>, u64);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.position() == self.1 {
            return Err(std::io::Error::other("the disk is on fire"));
        }
        self.0.read(&mut buffer[..1])
    }
}

#[test]
fn a_source_may_give_little_at_a_time_and_an_error_of_it_is_told() {
    for file in [
        pcapng(Order::Little, ETHERNET, &records()),
        gzip(&pcap(Order::Big, NANOS, ETHERNET, 65_535, &records())),
    ] {
        let (reference, _) = read(file.clone());
        let size = file.len() as u64;
        let read = |end: u64| -> Result<(Vec<Segment>, u64), ReadError> {
            let mut reader = Reader::new("slow".to_owned(), Slow(Cursor::new(file.clone()), end), None)?;
            let mut segments = Vec::new();
            while let Some(segment) = reader.next_segment()? {
                segments.push(segment);
            }
            Ok((segments, reader.bytes_read()))
        };
        assert_eq!(read(u64::MAX).expect("a capture"), (reference, size));
        for end in [0, 1, 3, 30, size - 1] {
            let error = read(end).expect_err("a failing source").to_string();
            assert!(error.starts_with("slow could not be read: "), "{error}");
        }
    }
}

#[test]
fn a_compressed_file_may_have_several_parts() {
    let file = pcap(Order::Little, NANOS, ETHERNET, 65_535, &records());
    let (reference, _) = read(file.clone());
    let parts = [gzip(&file[..100]), gzip(&file[100..])].concat();
    assert_eq!(read(parts).0, reference);
}
