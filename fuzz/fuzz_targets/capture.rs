//! Any bytes as a capture. Reading them never panics and is repeatable, and of a cut file it gives the first segments of
//! the whole one. What is counted is what the file contains.

#![no_main]

use dumbbell_fuzz::count_events;
use dumbbell_inspect::{Counts, Reader, Segment};
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
    if let Some((segments, _)) = read(&bytes[..bytes.len() * 2 / 3]) {
        assert!(whole.starts_with(&segments));
    }
    count_events(counts.packets);
    Corpus::Keep
});

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
