//! The blocks of selective acknowledgements in Linux [linux6 tcp_input.c]: the four that changed last, of which others are
//! forgotten (`tcp_sack_new_ofo_skb`).

/// Blocks that are known (`TCP_NUM_SACKS`).
const MOST: usize = 4;

/// A block at this place or later that changes ends the compression of acknowledgements (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// The blocks, the one that changed last first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocks {
    blocks: [(u64, u64); MOST],
    count: usize,
}

impl Blocks {
    /// True if a compressed acknowledgement leaves before this segment is in the blocks.
    pub(super) fn ends_compression(&self, start: u64, end: u64) -> bool {
        self.place(start, end).unwrap_or(self.count) >= EXPECTED
    }

    /// The first block that a segment touches.
    fn place(&self, start: u64, end: u64) -> Option<usize> {
        self.known().iter().position(|&(from, to)| start <= to && from <= end)
    }

    pub(super) fn known(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count]
    }

    /// A segment arrived out of order.
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        let Some(place) = self.place(start, end) else {
            self.count = (self.count + 1).min(MOST);
            self.blocks[..self.count].rotate_right(1);
            self.blocks[0] = (start, end);
            return;
        };
        self.blocks[..=place].rotate_right(1);
        let (mut from, mut to) = self.blocks[0];
        (from, to) = (from.min(start), to.max(end));
        let mut kept = 1;
        for other in 1..self.count {
            let (start, end) = self.blocks[other];
            if start <= to && from <= end {
                (from, to) = (from.min(start), to.max(end));
            } else {
                self.blocks[kept] = (start, end);
                kept += 1;
            }
        }
        self.blocks[0] = (from, to);
        self.count = kept;
    }

    /// Everything below `next` has arrived, and nothing above if `is_all`.
    pub(super) fn remove_below(&mut self, next: u64, is_all: bool) {
        let mut kept = 0;
        for at in 0..self.count {
            if self.blocks[at].0 > next && !is_all {
                self.blocks[kept] = self.blocks[at];
                kept += 1;
            }
        }
        self.count = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifth_range_is_forgotten_and_what_touches_it_is_a_range_of_its_own() {
        let mut blocks = Blocks::default();
        [10, 30, 50, 70, 90].into_iter().for_each(|start| blocks.insert(start, start + 10));
        assert_eq!(blocks.known(), [(90, 100), (70, 80), (50, 60), (30, 40)]);
        blocks.insert(20, 25);
        assert_eq!(blocks.known(), [(20, 25), (90, 100), (70, 80), (50, 60)]);
        assert!(blocks.ends_compression(60, 70) && !blocks.ends_compression(100, 110));
        blocks.insert(60, 70);
        assert_eq!(blocks.known(), [(50, 80), (20, 25), (90, 100)]);
        blocks.remove_below(25, false);
        assert_eq!(blocks.known(), [(50, 80), (90, 100)]);
    }
}
