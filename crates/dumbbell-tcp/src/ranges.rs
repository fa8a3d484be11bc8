//! A sorted set of disjoint byte ranges, cheap at its upper end, where SACK blocks and
//! out-of-order data arrive.

use std::collections::VecDeque;

/// Disjoint, non-adjacent ranges `[start, end)` in ascending order.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
}

impl RangeSet {
    /// True if there is no range.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The ranges from the highest to the lowest.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().rev().copied()
    }

    /// The lowest range.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }

    /// End of the highest range, 0 if there is none.
    pub fn highest(&self) -> u64 {
        self.ranges.back().map_or(0, |range| range.1)
    }

    /// The range that contains `byte`.
    pub fn containing(&self, byte: u64) -> Option<(u64, u64)> {
        let at = self.first_ending_after(byte);
        self.ranges.get(at).copied().filter(|range| range.0 <= byte)
    }

    fn first_ending_after(&self, byte: u64) -> usize {
        match self.ranges.back() {
            Some(last) if last.0 <= byte => self.ranges.len() - usize::from(last.1 > byte),
            _ => self.ranges.partition_point(|range| range.1 <= byte),
        }
    }

    /// Adds `[start, end)` and calls `on_new` for every part that was not in the set. Returns the range that contains it.
    pub fn insert(&mut self, start: u64, end: u64, mut on_new: impl FnMut(u64, u64)) -> (u64, u64) {
        if start >= end {
            return self.containing(start).unwrap_or((start, start));
        }
        let from = match self.ranges.back_mut() {
            Some(last) if last.1 < start => self.ranges.len(),
            Some(last) if last.0 <= start => {
                if last.1 < end {
                    on_new(last.1, end);
                    last.1 = end;
                }
                return *last;
            }
            _ => self.ranges.partition_point(|range| range.1 < start),
        };
        let mut merged = (start, end);
        let mut covered = start;
        let mut to = from;
        while let Some(&(low, high)) = self.ranges.get(to).filter(|range| range.0 <= end) {
            if covered < low {
                on_new(covered, low);
            }
            covered = covered.max(high);
            merged = (merged.0.min(low), merged.1.max(high));
            to += 1;
        }
        if covered < end {
            on_new(covered, end);
        }
        if from == to {
            self.ranges.insert(from, merged);
        } else {
            self.ranges[from] = merged;
            if to > from + 1 {
                self.ranges.drain(from + 1..to);
            }
        }
        merged
    }

    /// Removes everything below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.1 <= bound {
                self.ranges.pop_front();
            } else {
                first.0 = first.0.max(bound);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(parts: &[(u64, u64)]) -> RangeSet {
        let mut set = RangeSet::default();
        for &(start, end) in parts {
            set.insert(start, end, |_, _| {});
        }
        set
    }

    fn ascending(set: &RangeSet) -> Vec<(u64, u64)> {
        let mut ranges: Vec<_> = set.descending().collect();
        ranges.reverse();
        ranges
    }

    #[test]
    fn touching_ranges_merge() {
        assert_eq!(ascending(&filled(&[(1, 2), (5, 6), (2, 5)])), [(1, 6)]);
        assert_eq!(ascending(&filled(&[(4, 6), (1, 2)])), [(1, 2), (4, 6)]);
        assert_eq!(ascending(&filled(&[(1, 3), (5, 8), (7, 9)])), [(1, 3), (5, 9)]);
    }

    #[test]
    fn only_new_parts_are_reported() {
        let mut set = filled(&[(2, 4), (6, 8)]);
        let mut new = Vec::new();
        set.insert(1, 9, |start, end| new.push((start, end)));
        assert_eq!(new, [(1, 2), (4, 6), (8, 9)]);
        set.insert(3, 5, |_, _| panic!("nothing is new"));
    }

    #[test]
    fn the_set_agrees_with_a_plain_list_of_bytes() {
        let mut random = dumbbell_units::Stream::new(3, 0, "ranges");
        for _ in 0..300 {
            let mut set = RangeSet::default();
            let mut bytes = [false; 64];
            for _ in 0..20 {
                let start = (random.uniform() * 60.0) as u64;
                let end = start + (random.uniform() * 8.0) as u64;
                let end = end.min(64);
                let mut new = Vec::new();
                set.insert(start, end, |low, high| new.extend(low..high));
                let expected: Vec<u64> = (start..end).filter(|&b| !bytes[b as usize]).collect();
                assert_eq!(new, expected);
                (start..end).for_each(|b| bytes[b as usize] = true);
                for b in 0..64 {
                    assert_eq!(set.containing(b).is_some(), bytes[b as usize]);
                }
            }
            set.remove_below(30);
            assert!((0..64).all(|b| set.containing(b).is_some() == (b >= 30 && bytes[b as usize])));
        }
    }
}
