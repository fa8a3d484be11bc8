//! Cut and damaged captures: what is whole is read, the rest is counted, and nothing panics.

use crate::build::{
    Content, ETHERNET, NANOS, Order, RAW, block, enhanced, interface, linked, pcap, pcapng, read, section,
    try_read, v4, v6,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn small() -> Vec<(u64, Vec<u8>)> {
    vec![(5, linked(ETHERNET, &v4(3))), (6, linked(ETHERNET, &v6(0))), (7, linked(ETHERNET, &v4(1)))]
}

fn files() -> Vec<Vec<u8>> {
    let order = Order::Big;
    let simple = [order.u32(90).as_slice(), &linked(ETHERNET, &v4(4))].concat();
    vec![
        pcap(Order::Little, NANOS, ETHERNET, 65_535, &small()),
        pcapng(Order::Little, ETHERNET, &small()),
        [pcapng(order, ETHERNET, &small()), block(order, 3, &simple), block(order, 2, &[0; 40])].concat(),
    ]
}

#[test]
fn a_cut_file_gives_the_packets_before_the_cut() {
    for file in files() {
        let (all, whole) = read(file.clone());
        assert_eq!((whole.cut_tail, whole.unread_from), (0, None));
        let mut cuts = 0;
        for end in 0..file.len() {
            if let Ok((segments, counts)) = try_read(file[..end].to_vec()) {
                assert_eq!(segments, all[..segments.len()], "cut at {end}");
                assert!(
                    counts.damaged <= whole.damaged && counts.unread_from.is_none(),
                    "cut at {end}: {counts:?}"
                );
                cuts += counts.cut_tail;
            }
        }
        // Each position is one within a record, except the ends of records and what is in the file's header.
        assert!(cuts as usize > file.len() / 2, "{cuts} of {}", file.len());
    }
}

#[test]
fn a_file_that_ends_at_a_packet_is_not_cut() {
    let file = pcap(Order::Little, NANOS, ETHERNET, 65_535, &small());
    let last = 16 + small()[2].1.len();
    let (segments, counts) = read(file[..file.len() - last].to_vec());
    assert_eq!((segments.len(), counts.cut_tail), (2, 0));
    let (segments, counts) = read(file[..file.len() - 1].to_vec());
    assert_eq!((segments.len(), counts.cut_tail), (2, 1));
}

#[test]
fn no_bit_makes_the_reader_panic() {
    for file in files() {
        for position in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[position] ^= 1 << bit;
                if let Ok((segments, counts)) = try_read(damaged) {
                    assert_eq!(segments.len() as u64, counts.tcp);
                    assert!(counts.tcp + counts.udp + counts.other <= counts.packets, "{counts:?}");
                }
            }
        }
    }
}

/// A capture whose second packet block is replaced.
fn with_second(second: &[u8]) -> Content {
    let order = Order::Little;
    let packet = linked(ETHERNET, &v4(3));
    let whole = enhanced(order, 0, 9, &packet, packet.len() as u32);
    read([section(order), interface(order, ETHERNET, 9, 0), whole.clone(), second.to_vec(), whole].concat())
}

#[test]
fn reading_goes_on_behind_a_damaged_block() {
    let order = Order::Little;
    let packet = linked(ETHERNET, &v4(3));
    let good = enhanced(order, 0, 9, &packet, packet.len() as u32);
    let mut longer_than_its_block = good.clone();
    longer_than_its_block[20..24].copy_from_slice(&order.u32(5_000));
    let mut ends_differ = good.clone();
    let end = ends_differ.len() - 4;
    ends_differ[end..].copy_from_slice(&order.u32(16));
    for (block, reason) in [
        (longer_than_its_block, "its block cannot be read"),
        (ends_differ, "its block cannot be read"),
        (block(order, 6, &[0; 8]), "its block cannot be read"),
        (block(order, 2, &[0; 8]), "its block is shorter than the packet that it states"),
        (enhanced(order, 1, 9, &packet, 99), "its interface is not declared"),
        (enhanced(order, u32::MAX, 9, &packet, 99), "its interface is not declared"),
        (enhanced(order, 0, u64::MAX, &packet, 99), "its time is before 1970 or after 2554"),
    ] {
        let (segments, counts) = with_second(&block);
        assert_eq!((segments.len(), counts.damaged), (2, 1), "{reason}: {counts:?}");
        let damage = counts.first_damage.expect("damage");
        assert_eq!((damage.packet, damage.reason), (2, reason));
    }
}

#[test]
fn reading_ends_where_no_next_packet_can_be_found() {
    let order = Order::Little;
    let mut impossible = block(order, 6, &[0; 40]);
    impossible[4..8].copy_from_slice(&order.u32(0xffff_fff0));
    let (segments, counts) = with_second(&impossible);
    assert_eq!((segments.len(), counts.damaged, counts.cut_tail), (1, 1, 0));
    let before = section(order).len() + interface(order, ETHERNET, 9, 0).len();
    assert!(counts.unread_from.is_some_and(|at| at as usize > before));

    let mut file = pcap(order, NANOS, ETHERNET, 65_535, &small());
    file[24 + 8..24 + 12].copy_from_slice(&order.u32(0x7fff_ffff));
    let (segments, counts) = read(file);
    assert_eq!((segments.len(), counts.damaged, counts.unread_from), (0, 1, Some(24)));
}

#[test]
fn records_may_be_larger_than_the_buffer() {
    let order = Order::Little;
    let packet = [v4(3), vec![7; 3_000_000]].concat();
    let big = [
        pcap(order, NANOS, RAW, 4_000_000, &[(5, packet.clone()), (6, v4(1))]),
        [pcapng(order, RAW, &[(5, packet)]), enhanced(order, 0, 6, &v4(1), 99)].concat(),
    ];
    for file in big {
        let (segments, counts) = read(file);
        assert_eq!(segments.iter().map(|segment| segment.payload).collect::<Vec<_>>(), [3, 1], "{counts:?}");
        assert_eq!((counts.damaged, counts.cut_tail), (0, 0));
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}

#[test]
fn a_cut_compressed_file_is_a_cut_capture() {
    let records: Vec<_> =
        (0..500).map(|index| (index, linked(ETHERNET, &v4((index * 7 % 90) as usize)))).collect();
    let file = gzip(&pcap(Order::Little, NANOS, ETHERNET, 65_535, &records));
    let (segments, counts) = read(file[..file.len() * 2 / 3].to_vec());
    assert!((100..500).contains(&segments.len()), "{}", segments.len());
    assert_eq!((counts.cut_tail, counts.damaged), (1, 0));
    // Without the last bytes, all packets are there, but the check sum is not.
    let (segments, counts) = read(file[..file.len() - 3].to_vec());
    assert_eq!((segments.len(), counts.cut_tail, counts.damaged), (500, 1, 0));
}

#[test]
fn a_damaged_compressed_file_ends_with_damage() {
    let records: Vec<_> =
        (0..500).map(|index| (index, linked(ETHERNET, &v4((index * 7 % 90) as usize)))).collect();
    let mut file = gzip(&pcap(Order::Little, NANOS, ETHERNET, 65_535, &records));
    let end = file.len();
    file[end - 6] ^= 1;
    let (segments, counts) = read(file);
    assert_eq!((segments.len(), counts.cut_tail, counts.damaged), (500, 0, 1));
    assert_eq!(counts.first_damage.map(|damage| damage.reason), Some("the compressed bytes are damaged"));
}
