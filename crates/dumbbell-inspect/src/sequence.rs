//! Sequence numbers of one direction as offsets.

/// Turns sequence numbers, which begin again after 4 GiB, into offsets from the first byte of data [RFC 9293 §3.4].
///
/// A number is taken for the offset that is nearest to the highest one so far, which is right as long as fewer than 2 GiB
/// are in flight, as TCP demands [RFC 7323 §2.3].
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    origin: u32,
    highest: i64,
}

impl Numbers {
    /// The byte with this number gets offset 0.
    pub fn beginning_at(seq: u32) -> Self {
        Numbers { origin: seq, highest: 0 }
    }

    /// The offset of a number.
    pub fn offset(&self, seq: u32) -> i64 {
        let known = self.origin.wrapping_add(self.highest as u32);
        self.highest.saturating_add(i64::from(seq.wrapping_sub(known) as i32))
    }

    /// The byte with this number has offset 0.
    pub fn begins_at(&self, seq: u32) -> bool {
        self.origin == seq
    }

    /// Numbers up to this offset were seen.
    pub fn advance(&mut self, offset: i64) {
        self.highest = self.highest.max(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_continue_where_numbers_begin_again() {
        let mut numbers = Numbers::beginning_at(u32::MAX - 9);
        assert_eq!(numbers.offset(u32::MAX), 9);
        assert_eq!(numbers.offset(5), 15);
        assert_eq!(numbers.offset(u32::MAX - 10), -1);
        // Each step is less than 2 GiB; together they pass 2^32 twice.
        for step in 1..=5 {
            let offset = step * 2_000_000_000_i64;
            assert_eq!(numbers.offset((u32::MAX - 9).wrapping_add(offset as u32)), offset);
            numbers.advance(offset);
        }
    }

    #[test]
    fn offsets_never_overflow() {
        let mut numbers = Numbers::beginning_at(0);
        numbers.advance(i64::MAX - 5);
        assert_eq!(numbers.offset(((i64::MAX - 5) as u32).wrapping_add(100)), i64::MAX);
    }
}
