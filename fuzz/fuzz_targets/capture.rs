//! Any bytes as a capture. Reading them never panics and is repeatable, and of a cut file it gives the first segments of
//! the whole one. What is counted is what the file contains. Whatever the segments are, their connections are found: each
//! segment is of one, and no direction has more repeated than sent.

#![no_main]

use dumbbell_fuzz::count_events;
use dumbbell_inspect::rows::{COLUMNS, Column, Row};
use dumbbell_inspect::{Connections, Counts, Reader, Segment};
use dumbbell_units::Time;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((whole, counts)) = read(bytes) else { return Corpus::Reject };
    assert_eq!(read(bytes), Some((whole.clone(), counts)), "the same bytes are the same capture");
    assert_eq!(whole.len() as u64, counts.tcp);
    // A fragment is a segment or none. A block may be damaged without being a packet.
    let read_as = counts.tcp + counts.udp + counts.other;
    assert!(
        read_as <= counts.packets && counts.packets <= read_as + counts.fragments + counts.damaged,
        "{counts:?}"
    );
    assert_eq!(counts.first_damage.is_some(), counts.damaged > 0);
    assert!(counts.unread_from.is_none() || counts.cut_tail == 0, "{counts:?}");
    check_connections(&whole);
    if let Some((segments, _)) = read(&bytes[..bytes.len() * 2 / 3]) {
        assert!(whole.starts_with(&segments));
    }
    count_events(counts.packets);
    Corpus::Keep
});

fn check_connections(segments: &[Segment]) {
    let mut connections = Connections::new(Some(1));
    segments.iter().for_each(|segment| connections.on_segment(segment));
    let omitted = connections.omitted;
    let found = connections.finish();
    let listed: u64 = found.iter().map(|connection| connection.segments + connection.captured_twice).sum();
    assert_eq!(listed + omitted, segments.len() as u64);
    for (place, connection) in found.iter().enumerate() {
        for half in 0..2 {
            let counts = &connection.halves[half].counts;
            assert!(counts.retransmitted + counts.out_of_order <= counts.segments, "{counts:?}");
            assert!(counts.duplicate_acks <= counts.acks, "{counts:?}");
            let row = Row { number: place as u64 + 1, connection, half, epoch: Time::ZERO };
            for (name, _, _, column) in COLUMNS {
                if let Column::Real(value) = column {
                    assert!(value(&row).is_none_or(f64::is_finite), "{name}");
                }
            }
        }
    }
}

/// Segments and counts, or none if the bytes are no capture that is read.
fn read(bytes: &[u8]) -> Option<(Vec<Segment>, Counts)> {
    let mut reader =
        Reader::new("input".to_owned(), Cursor::new(bytes.to_vec()), Some(bytes.len() as u64)).ok()?;
    let mut segments = Vec::new();
    while let Some(segment) = reader.next_segment().ok()? {
        segments.push(segment);
    }
    Some((segments, *reader.counts()))
}
