//! The receiver at the other end of a conversation: it acknowledges what arrives as RFC 5681 §4.2, RFC 2018, RFC 2883
//! and RFC 7323 §4.3 say.

use dumbbell_units::Time;

/// Blocks in an option of SACK, with timestamps and without.
const BLOCKS: [usize; 2] = [4, 3];

/// When a segment that is not acknowledged at once is.
const DELAY: Time = Time(40_000_000);

/// Data that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Its timestamp.
    pub(crate) timestamp: u64,
    /// It was marked on its way.
    pub(crate) is_marked: bool,
    /// Its sender has reduced its window.
    pub(crate) is_cwr: bool,
}

/// What an acknowledgement says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) ack: u64,
    pub(crate) blocks: Vec<(u64, u64)>,
    pub(crate) echo: u64,
    pub(crate) is_ece: bool,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Segments in order per acknowledgement.
    every: u32,
    /// Every acknowledgement tells of its own segments alone, as for DCTCP (RFC 8257 §3.2); otherwise until the sender has
    /// reduced its window (RFC 3168 §6.1.3).
    is_exact: bool,
    has_timestamps: bool,
    most_blocks: usize,
    next: u64,
    /// Ranges beyond, the newest first.
    parts: Vec<(u64, u64)>,
    duplicate: Option<(u64, u64)>,
    echo: u64,
    is_ece: bool,
    waiting: u32,
    /// When what waits is acknowledged.
    pub(crate) deadline: Time,
}

impl Peer {
    pub(crate) fn new(every: u32, has_timestamps: bool, is_exact: bool) -> Self {
        Peer {
            every,
            is_exact,
            has_timestamps,
            most_blocks: BLOCKS[usize::from(has_timestamps)],
            next: 1,
            parts: Vec::new(),
            duplicate: None,
            echo: 0,
            is_ece: false,
            waiting: 0,
            deadline: Time::NEVER,
        }
    }

    /// A segment arrives: what is acknowledged now. One with an older timestamp than that of the last segment in order is not
    /// accepted (RFC 7323 §5).
    pub(crate) fn on_data(&mut self, now: Time, data: &Data) -> Option<Acknowledgement> {
        self.is_ece = data.is_marked || self.is_ece && !self.is_exact && !data.is_cwr;
        if self.has_timestamps && data.timestamp < self.echo {
            self.duplicate = (data.from < self.next).then_some((data.from, data.to.min(self.next)));
            return Some(self.acknowledge());
        }
        if data.from <= self.next && self.waiting == 0 {
            self.echo = data.timestamp;
        }
        let is_known = |&(from, to): &(u64, u64)| from <= data.from && data.to <= to;
        let is_old = data.to <= self.next || self.parts.iter().any(is_known);
        self.duplicate = is_old.then_some((data.from, data.to));
        let is_in_order = data.from <= self.next && !is_old && self.parts.is_empty();
        if !is_old {
            self.add(data.from, data.to);
        }
        self.waiting += 1;
        if is_in_order && self.waiting < self.every {
            self.deadline = self.deadline.min(now + DELAY);
            return None;
        }
        Some(self.acknowledge())
    }

    /// What waits is acknowledged.
    pub(crate) fn acknowledge(&mut self) -> Acknowledgement {
        self.waiting = 0;
        self.deadline = Time::NEVER;
        let blocks = self.duplicate.take().into_iter().chain(self.parts.iter().copied());
        Acknowledgement {
            ack: self.next,
            blocks: blocks.take(self.most_blocks).collect(),
            echo: self.echo,
            is_ece: self.is_ece,
        }
    }

    /// New data: parts that it touches become one with it.
    fn add(&mut self, mut from: u64, mut to: u64) {
        self.parts.retain(|&(begin, end)| {
            let is_apart = end < from || to < begin;
            if !is_apart {
                (from, to) = (from.min(begin), to.max(end));
            }
            is_apart
        });
        if from <= self.next {
            self.next = to;
        } else {
            self.parts.insert(0, (from, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(from: u64, to: u64) -> Data {
        Data { from, to, timestamp: from, is_marked: false, is_cwr: false }
    }

    fn answer(peer: &mut Peer, data: &Data) -> (u64, Vec<(u64, u64)>) {
        let answer = peer.on_data(Time::ZERO, data).expect("an acknowledgement");
        (answer.ack, answer.blocks)
    }

    #[test]
    fn the_newest_range_comes_first_and_a_duplicate_before_it() {
        let mut peer = Peer::new(1, true, false);
        assert_eq!(answer(&mut peer, &data(1, 11)), (11, vec![]));
        assert_eq!(answer(&mut peer, &data(21, 31)), (11, vec![(21, 31)]));
        assert_eq!(answer(&mut peer, &data(41, 51)), (11, vec![(41, 51), (21, 31)]));
        assert_eq!(answer(&mut peer, &data(31, 41)), (11, vec![(21, 51)]));
        assert_eq!(answer(&mut peer, &data(21, 31)), (11, vec![(21, 31), (21, 51)]));
        assert_eq!(answer(&mut peer, &data(11, 21)), (51, vec![]));
        assert_eq!(answer(&mut peer, &data(1, 11)), (51, vec![(1, 11)]));
    }

    #[test]
    fn the_timestamp_echoed_is_that_of_the_first_segment_in_order() {
        let mut peer = Peer::new(2, true, false);
        assert_eq!(peer.on_data(Time::ZERO, &data(1, 11)), None);
        assert_eq!(peer.on_data(Time(5), &data(11, 21)).map(|answer| answer.echo), Some(1));
        assert_eq!(peer.on_data(Time(9), &data(31, 41)).map(|answer| answer.echo), Some(1));
        assert_eq!(peer.on_data(Time(9), &data(21, 31)).map(|answer| answer.echo), Some(21));
        assert_eq!(peer.deadline, Time::NEVER);
    }

    #[test]
    fn a_segment_with_an_older_timestamp_is_a_duplicate_or_nothing() {
        let mut peer = Peer::new(1, true, false);
        let old = |from, to| Data { timestamp: 20, ..data(from, to) };
        assert_eq!(answer(&mut peer, &Data { timestamp: 30, ..data(1, 11) }), (11, vec![]));
        assert_eq!(answer(&mut peer, &old(1, 11)), (11, vec![(1, 11)]));
        assert_eq!(answer(&mut peer, &old(11, 21)), (11, vec![]));
    }

    #[test]
    fn a_mark_is_told_until_the_window_is_reduced() {
        let mut peer = Peer::new(1, true, false);
        let mut told = |from, is_marked, is_cwr| {
            let data = Data { is_marked, is_cwr, ..data(from, from + 10) };
            peer.on_data(Time::ZERO, &data).is_some_and(|answer| answer.is_ece)
        };
        assert_eq!(
            [told(1, true, false), told(11, false, false), told(21, false, true)],
            [true, true, false]
        );
        let mut exact = Peer::new(1, true, true);
        let marked = Data { is_marked: true, ..data(1, 11) };
        assert!(exact.on_data(Time::ZERO, &marked).is_some_and(|answer| answer.is_ece));
        assert!(!exact.on_data(Time::ZERO, &data(11, 21)).is_some_and(|answer| answer.is_ece));
    }
}
