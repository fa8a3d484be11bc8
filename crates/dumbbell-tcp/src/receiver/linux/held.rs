//! The memory that data takes in Linux until it is read [linux6 tcp_input.c]: segments that continue what is held are
//! copied behind it if they are short, or else share its description (`tcp_try_coalesce`).

use crate::receiver::growth::{DESCRIPTION, memory_of, room_behind};
use std::collections::VecDeque;

/// Segments beyond the first that one description takes (`MAX_SKB_FRAGS`).
const MOST_PARTS: u64 = 17;

/// Data that shares a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Segments beyond the first.
    more: u64,
    /// Bytes that can be copied behind the first.
    room: u64,
    /// In bytes.
    pub(super) memory: u64,
}

impl Part {
    /// A segment.
    pub(super) fn new(start: u64, end: u64) -> Self {
        Part { start, end, more: 0, room: room_behind(end - start), memory: memory_of(end - start) }
    }

    /// Takes what follows, if it can. Returns the memory that is free then.
    fn join(&mut self, next: &Part) -> Option<u64> {
        let bytes = next.end - next.start;
        if self.end != next.start {
            return None;
        }
        let free = if bytes <= self.room {
            self.room -= bytes;
            next.memory
        } else if self.more + next.more < MOST_PARTS {
            self.more += next.more + 1;
            // What is shared has no room behind it.
            self.room = 0;
            DESCRIPTION
        } else {
            return None;
        };
        self.end = next.end;
        self.memory += next.memory - free;
        Some(free)
    }
}

/// Data out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// In the order of their first bytes.
    parts: Vec<Part>,
}

/// A segment that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    /// Memory that it takes beyond what was taken, in bytes, and what those release that it replaces.
    pub(super) taken: u64,
    pub(super) released: u64,
    /// It shares the description of what it continues.
    pub(super) is_shared: bool,
}

impl Held {
    /// A segment with data that is not held.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> Insertion {
        let part = Part::new(start, end);
        let at = self.parts.partition_point(|part| part.start <= start);
        let before = at.checked_sub(1).map(|before| &mut self.parts[before]);
        if let Some(free) = before.and_then(|before| before.join(&part)) {
            return Insertion { taken: part.memory - free, released: 0, is_shared: true };
        }
        let covered = |part: &Part| start <= part.start && part.end <= end;
        let released = self.parts.iter().filter(|part| covered(part)).map(|part| part.memory).sum();
        self.parts.retain(|part| !covered(part));
        let at = self.parts.partition_point(|part| part.start <= start);
        self.parts.insert(at, part);
        Insertion { taken: part.memory, released, is_shared: false }
    }

    /// The data that begins below `next`, in the order of its bytes, which is held no longer.
    pub(super) fn release(&mut self, next: u64) -> impl Iterator<Item = Part> + '_ {
        let count = self.parts.partition_point(|part| part.start < next);
        self.parts.drain(..count)
    }
}

/// Data in order that the application has not read.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    /// What is read first: nearly always all.
    first: Option<Part>,
    rest: VecDeque<Part>,
}

impl Unread {
    /// Data follows. Returns the memory that is free, because it shares a description.
    pub(super) fn push(&mut self, part: Part) -> u64 {
        let Some(first) = &mut self.first else {
            self.first = Some(part);
            return 0;
        };
        let tail = self.rest.back_mut().unwrap_or(first);
        if let Some(free) = tail.join(&part) {
            return free;
        }
        self.rest.push_back(part);
        0
    }

    /// End of what the application reads next at once, if it has read up to `read`, may read `most` bytes; and the
    /// memory that is free then.
    pub(super) fn pop(&mut self, read: u64, most: u64) -> Option<(u64, u64)> {
        let first = self.first.filter(|_| most > 0)?;
        let end = first.end.min(read.saturating_add(most));
        if end < first.end {
            return Some((end, 0));
        }
        self.first = self.rest.pop_front();
        Some((end, first.memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of a segment of 1000 bytes: 1600 bytes of buffer, 256 and 320 to describe it.
    const ONE: u64 = 2176;

    #[test]
    fn short_segments_are_copied_behind_what_they_continue() {
        let mut unread = Unread::default();
        // 1600 less 144 for headers and the space before them leave 456 behind 1000 bytes.
        assert_eq!(unread.push(Part::new(0, 1000)), 0);
        assert_eq!(unread.push(Part::new(1000, 1400)), ONE);
        assert_eq!(unread.push(Part::new(1400, 1457)), 256);
        // Behind what is shared, nothing is left.
        assert_eq!(unread.push(Part::new(1457, 1458)), 256);
        assert_eq!(unread.pop(0, 9000), Some((1458, 3 * ONE - 512)));
    }

    #[test]
    fn eighteen_segments_share_a_description() {
        let mut held = Held::default();
        let taken: Vec<u64> =
            (1..21).map(|number| held.insert(number * 1000, (number + 1) * 1000).taken).collect();
        let expected = |number| if number == 0 || number == 18 { ONE } else { ONE - 256 };
        assert_eq!(taken, (0..20).map(expected).collect::<Vec<_>>());
        // The segment before takes 17 more segments at most, so that 18 are read apart from it, and the last two with none.
        let mut unread = Unread::default();
        let mut shared = unread.push(Part::new(0, 1000));
        held.release(21_000).for_each(|part| shared += unread.push(part));
        assert_eq!(shared, 0);
        let read: Vec<_> = [(0, 50_000), (1000, 7), (1007, 50_000), (19_000, 50_000), (21_000, 50_000)]
            .map(|(read, most)| unread.pop(read, most))
            .into();
        let of = |count: u64| count * ONE - (count - 1) * 256;
        let expected =
            [Some((1000, ONE)), Some((1007, 0)), Some((19_000, of(18))), Some((21_000, of(2))), None];
        assert_eq!(read, expected);
    }

    #[test]
    fn what_fills_a_hole_is_read_with_what_is_held() {
        let mut held = Held::default();
        held.insert(1000, 2000);
        assert!(!held.insert(4000, 5000).is_shared);
        let mut unread = Unread::default();
        unread.push(Part::new(0, 1000));
        let shared: u64 = held.release(2000).map(|part| unread.push(part)).sum();
        assert_eq!((shared, unread.pop(0, 9000)), (256, Some((2000, 2 * ONE - 256))));
        // A segment that covers another replaces it.
        let replaced = held.insert(3000, 6000);
        assert_eq!((replaced.released, replaced.is_shared), (ONE, false));
    }
}
