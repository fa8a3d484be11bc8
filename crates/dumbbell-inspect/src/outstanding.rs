//! The data of one direction that was seen and is not acknowledged yet.

use dumbbell_units::Time;
use std::collections::VecDeque;

/// Ranges that are kept. A direction without acknowledgements in the capture would otherwise need memory without limit.
const MOST_RANGES: usize = 1 << 17;

/// A range of bytes that were sent together.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First byte.
    pub start: i64,
    /// The byte after the last one.
    pub end: i64,
    /// When it was seen last.
    pub at: Time,
    /// The clock of its sender when it was seen last.
    pub clock: Option<u32>,
    /// It was seen more than once.
    pub is_resent: bool,
    /// A selective acknowledgement reported it.
    pub is_sacked: bool,
    /// Bytes delivered when it was sent, and when the last of them were: see `rate` of [`Delivery`].
    pub delivered: Delivered,
    /// Its last transmission, by its place in the list of segments.
    pub row: usize,
}

/// The state of a delivery at one instant, for the rate of what is sent then [draft-ietf-ccwg-bbr §4.1.1].
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Bytes that were delivered so far.
    pub bytes: u64,
    /// When the latest of them were reported.
    pub at: Time,
    /// When the segment was sent whose delivery was reported then.
    pub sent_at: Time,
}

/// What an acknowledgement reports for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newly {
    /// Bytes.
    pub bytes: u64,
    /// Bytes that it acknowledges and that were seen, reported before or not.
    pub covered: u64,
    /// The range that was sent last among them.
    pub latest: Option<Sent>,
    /// The first range that it acknowledges, if it was sent more than once.
    pub first_resent: Option<Sent>,
}

impl Newly {
    fn add(&mut self, sent: &Sent) {
        self.bytes += (sent.end - sent.start) as u64;
        if self.latest.is_none_or(|latest| (latest.at, latest.end) <= (sent.at, sent.end)) {
            self.latest = Some(*sent);
        }
        if sent.is_resent && self.first_resent.is_none() {
            self.first_resent = Some(*sent);
        }
    }
}

/// Ranges of one direction in the order of their bytes.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    ranges: VecDeque<Sent>,
    /// Bytes reported by selective acknowledgements.
    sacked: u64,
    /// The byte after the last one that they reported.
    highest_sacked: i64,
    /// The ranges of the last selective acknowledgement.
    reported: [(i64, i64); crate::segment::MAX_SACK],
    /// Bytes before this one were forgotten.
    forgotten: i64,
    acknowledged: i64,
}

impl Outstanding {
    /// Bytes that selective acknowledgements reported beyond the cumulative one.
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// The byte after the last one that a selective acknowledgement reported.
    pub fn highest_sacked(&self) -> i64 {
        self.highest_sacked
    }

    /// The first of the ranges that end after a byte.
    fn position(&self, byte: i64) -> usize {
        self.ranges.partition_point(|sent| sent.end <= byte)
    }

    /// Bytes of a range that were seen.
    pub fn seen(&self, start: i64, end: i64) -> u64 {
        let from = self.position(start);
        let within = self.ranges.iter().skip(from).take_while(|sent| sent.start < end);
        within.map(|sent| (sent.end.min(end) - sent.start.max(start)) as u64).sum()
    }

    /// Adds what was sent, in place of what was known of these bytes.
    pub fn send(&mut self, sent: Sent) {
        if self.ranges.back().is_none_or(|last| last.end <= sent.start) {
            if self.ranges.len() == MOST_RANGES {
                self.forget_first();
            }
            self.ranges.push_back(sent);
            return;
        }
        self.split(sent.start);
        self.split(sent.end);
        let mut place = self.position(sent.start);
        let mut at = sent.start;
        while at < sent.end {
            match self.ranges.get_mut(place) {
                Some(known) if known.start <= at => {
                    at = known.end;
                    let (start, end, is_sacked) = (known.start, known.end, known.is_sacked);
                    *known = Sent { start, end, is_sacked, is_resent: true, ..sent };
                }
                next => {
                    // A hole: these bytes were not seen before.
                    let end = next.map_or(sent.end, |next| next.start.min(sent.end));
                    self.ranges.insert(place, Sent { start: at, end, ..sent });
                    at = end;
                }
            }
            place += 1;
        }
        while self.ranges.len() > MOST_RANGES {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some(first) = self.ranges.pop_front() else { return };
        self.forgotten = first.end;
        if first.is_sacked {
            self.sacked -= (first.end - first.start) as u64;
        }
    }

    /// Makes a range begin at a byte, if one contains it.
    fn split(&mut self, byte: i64) {
        let place = self.position(byte);
        if let Some(sent) = self.ranges.get_mut(place)
            && sent.start < byte
        {
            let rest = Sent { start: byte, ..*sent };
            sent.end = byte;
            self.ranges.insert(place + 1, rest);
        }
    }

    /// All bytes before this one are acknowledged.
    pub fn acknowledge(&mut self, byte: i64) -> Newly {
        // What was forgotten was seen.
        let forgotten = self.forgotten.min(byte).saturating_sub(self.acknowledged).max(0) as u64;
        self.acknowledged = self.acknowledged.max(byte);
        let mut newly = Newly { covered: forgotten, ..Newly::default() };
        while let Some(first) = self.ranges.front_mut() {
            if first.start >= byte {
                break;
            }
            let part = Sent { end: first.end.min(byte), ..*first };
            let is_whole = part.end == first.end;
            first.start = part.end;
            newly.covered += (part.end - part.start) as u64;
            if part.is_sacked {
                self.sacked -= (part.end - part.start) as u64;
            } else {
                newly.add(&part);
            }
            if is_whole {
                self.ranges.pop_front();
            }
        }
        newly
    }

    /// Ranges are reported as received beyond the cumulative acknowledgement. Adds to what is new.
    pub fn report(&mut self, reported: [(i64, i64); crate::segment::MAX_SACK], newly: &mut Newly) {
        for (start, end) in reported {
            // What the last acknowledgement said of the same range is known.
            let known = self.reported.iter().find(|known| known.0 <= start && start < known.1);
            let start = known.map_or(start, |known| known.1);
            if start < end {
                self.report_one(start, end, newly);
            }
        }
        self.reported = reported;
    }

    fn report_one(&mut self, start: i64, end: i64, newly: &mut Newly) {
        self.split(start);
        self.split(end);
        self.highest_sacked = self.highest_sacked.max(end);
        let from = self.position(start);
        for sent in self.ranges.range_mut(from..).take_while(|sent| sent.start < end) {
            if !sent.is_sacked {
                sent.is_sacked = true;
                self.sacked += (sent.end - sent.start) as u64;
                newly.add(sent);
            }
        }
    }

    /// Gives memory back.
    pub fn clear(&mut self) {
        *self = Outstanding::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(start: i64, end: i64, at: u64) -> Sent {
        let (at, delivered) = (Time(at), Delivered::default());
        Sent { start, end, at, clock: None, is_resent: false, is_sacked: false, delivered, row: 0 }
    }

    fn sacks(ranges: &[(i64, i64)]) -> [(i64, i64); 4] {
        let mut all = [(0, 0); 4];
        all[..ranges.len()].copy_from_slice(ranges);
        all
    }

    #[test]
    fn a_part_of_a_large_segment_can_be_acknowledged_and_sent_again() {
        let mut outstanding = Outstanding::default();
        outstanding.send(sent(0, 3000, 1));
        assert_eq!(outstanding.acknowledge(1000).bytes, 1000);
        outstanding.send(sent(1000, 2000, 5));
        let newly = outstanding.acknowledge(3000);
        assert_eq!(newly.bytes, 2000);
        assert_eq!(newly.first_resent.map(|sent| (sent.start, sent.end)), Some((1000, 2000)));
        assert_eq!(newly.latest.map(|sent| sent.at), Some(Time(5)));
    }

    #[test]
    fn a_byte_is_reported_once() {
        let mut outstanding = Outstanding::default();
        (0..10).for_each(|n| outstanding.send(sent(n * 100, n * 100 + 100, n as u64)));
        let mut newly = Newly::default();
        outstanding.report(sacks(&[(300, 500)]), &mut newly);
        assert_eq!((newly.bytes, outstanding.sacked()), (200, 200));
        let mut newly = Newly::default();
        outstanding.report(sacks(&[(300, 600), (800, 900)]), &mut newly);
        assert_eq!((newly.bytes, outstanding.sacked(), outstanding.highest_sacked()), (200, 400, 900));
        assert_eq!(outstanding.acknowledge(700).bytes, 400, "without the 300 that were reported");
        assert_eq!(outstanding.sacked(), 100);
    }

    #[test]
    fn a_hole_is_filled_where_it_is() {
        let mut outstanding = Outstanding::default();
        outstanding.send(sent(0, 100, 1));
        outstanding.send(sent(200, 300, 2));
        assert_eq!(outstanding.seen(0, 300), 200);
        outstanding.send(sent(50, 250, 3));
        assert_eq!(outstanding.seen(0, 300), 300);
        let newly = outstanding.acknowledge(300);
        assert_eq!(newly.bytes, 300);
        assert_eq!(newly.first_resent.map(|sent| (sent.start, sent.end)), Some((50, 100)));
    }

    #[test]
    fn memory_is_limited() {
        let mut outstanding = Outstanding::default();
        (0..MOST_RANGES as i64 + 10).for_each(|n| outstanding.send(sent(n, n + 1, 1)));
        assert_eq!(outstanding.seen(0, 100), 90);
    }
}
