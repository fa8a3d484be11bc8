//! Delivery opportunities: instants at which a link passes up to a given number of bytes, in place of a rate.
//!
//! They replay the capacity of real links, above all cellular ones, as recorded in the traces of Mahimahi
//! [netravali2015 §3.2]. A trace has one line per opportunity, the time in milliseconds, in ascending order; the same
//! time may occur several times. When it ends, it starts over: its last time is its length.
//!
//! At an opportunity, packets are taken from the queue as long as bytes of it are left. The last packet may be taken in
//! part; its remaining bytes use the following opportunities, and it departs with the last one. Bytes that find no
//! packet are lost. A packet that enters at the time of an opportunity is too late for it.

use crate::changes::Outage;
use dumbbell_units::{Bytes, Interval, Rate, Time, params};

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

params! {
    /// Delivery opportunities of a link, repeated for as long as the run lasts.
    pub struct OpportunitySpec requires [times] {
        /// Times of the opportunities, in milliseconds, in ascending order. The last one is the length of the trace.
        times: Vec<u64> = vec![1], "ms", "[netravali2015 §3.2]",
            |times| times.is_sorted() && times.last().is_some_and(|last| (1..=LONGEST_TRACE).contains(last)),
            "at least one time in whole milliseconds, ascending, the last one from 1 to 10^12";
        /// Bytes that an opportunity carries.
        size: Bytes = Bytes(1504), "bytes", "[netravali2015 §3.2]",
            |size| (1..=1_000_000_000).contains(&size.0), "a size from 1 byte to 1 GB";
        /// Bytes that every packet takes besides its own. In Mahimahi, packets have the 4 bytes of a TUN header.
        overhead: Bytes = Bytes(4), "bytes", "[netravali2015 §3.2]",
            |overhead| overhead.0 <= 65_535, "a size up to 65535 bytes";
    }
}

/// Maximum length of a trace, in milliseconds.
const LONGEST_TRACE: u64 = 1_000_000_000_000;

impl OpportunitySpec {
    /// Reads a trace of Mahimahi: one time in milliseconds per line.
    ///
    /// # Errors
    ///
    /// The number of the line that is wrong, counted from 1, and what is accepted.
    pub fn from_trace(text: &str) -> Result<OpportunitySpec, (usize, &'static str)> {
        let mut times: Vec<u64> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let accepted = "a whole number of milliseconds";
            let time: u64 = line.trim().parse().map_err(|_| (number, accepted))?;
            if times.last().is_some_and(|&last| time < last) {
                return Err((number, "times in ascending order"));
            }
            times.push(time);
        }
        match times.last() {
            Some(last) if (1..=LONGEST_TRACE).contains(last) => {
                Ok(OpportunitySpec { times, ..OpportunitySpec::default() })
            }
            _ => Err((times.len().max(1), "at least one time, the last one from 1 to 10^12")),
        }
    }

    /// The mean rate of the trace, at least 1 bit/s.
    pub fn mean_rate(&self) -> Rate {
        let bits = u128::from(self.size.0) * 8 * self.times.len() as u128;
        let milliseconds = u128::from(self.times.last().copied().unwrap_or_default().max(1));
        Rate(u64::try_from(bits * 1000 / milliseconds).unwrap_or(u64::MAX).max(1))
    }
}

/// The opportunities of a link in a run.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    times: Vec<u64>,
    size: u64,
    overhead: u64,
    /// Start of the current repetition, in milliseconds.
    origin: u64,
    /// The next unused opportunity.
    next: usize,
    /// Bytes left of the current opportunity.
    left: u64,
    /// Bytes of the packet in service that have not been sent.
    unsent: u64,
    /// Bytes sent within the measurement window, overhead included.
    used: u64,
    /// Beginnings and ends of the times in which the link is down, in order.
    outages: Vec<(Time, Time)>,
}

impl Opportunities {
    pub(crate) fn new(spec: &OpportunitySpec, outages: &[Outage]) -> Self {
        let outages = Outage::holding(outages);
        let OpportunitySpec { times, size, overhead } = spec.clone();
        Opportunities {
            times,
            size: size.0,
            overhead: overhead.0,
            origin: 0,
            next: 0,
            left: 0,
            unsent: 0,
            used: 0,
            outages,
        }
    }

    /// The end of the outage that `at` falls into, if there is one.
    pub(crate) fn down_until(&self, at: Time) -> Option<Time> {
        let next = self.outages.partition_point(|&(_, until)| until <= at);
        self.outages.get(next).filter(|&&(from, _)| from <= at).map(|&(_, until)| until)
    }

    /// Time of the next unused opportunity.
    fn next_time(&self) -> Time {
        let milliseconds = self.times.get(self.next).map(|time| self.origin.saturating_add(*time));
        milliseconds.map_or(Time::NEVER, |time| Time(time.saturating_mul(MILLISECOND)))
    }

    /// Goes to the next opportunity; after the last one, the trace starts over.
    fn advance(&mut self) {
        self.next += 1;
        if self.next == self.times.len() {
            self.next = 0;
            self.origin = self.origin.saturating_add(self.length());
        }
    }

    /// Length of the trace, in milliseconds.
    fn length(&self) -> u64 {
        self.times.last().copied().unwrap_or(1).max(1)
    }

    /// Skips the opportunities up to `now`, which found no packet, and returns the time of the next one.
    pub(crate) fn skip(&mut self, now: Time) -> Time {
        self.left = 0;
        if self.next_time() > now {
            return self.next_time();
        }
        let elapsed = now.0 / MILLISECOND;
        let whole = elapsed.saturating_sub(self.origin) / self.length();
        if whole > 0 {
            // The last time of a repetition is the origin of the next one, and has passed.
            self.origin = self.origin.saturating_add(whole.saturating_mul(self.length()));
            self.next = 0;
        }
        let since = elapsed.saturating_sub(self.origin);
        self.next = self.next.max(self.times.partition_point(|&time| time <= since));
        if self.next == self.times.len() {
            self.next -= 1;
            self.advance();
        }
        self.next_time()
    }

    /// An opportunity begins, unless bytes of one are left.
    pub(crate) fn begin(&mut self) {
        if self.left == 0 {
            self.left = self.size;
            self.advance();
        }
    }

    /// A packet of `size` bytes is to be sent.
    pub(crate) fn take(&mut self, size: u32) {
        self.unsent = u64::from(size) + self.overhead;
    }

    /// Sends as much of the packet as the opportunity carries, and counts it if `is_within` the measurement window. True
    /// if the packet has been sent completely.
    pub(crate) fn send(&mut self, is_within: bool) -> bool {
        let sent = self.left.min(self.unsent);
        self.left -= sent;
        self.unsent -= sent;
        self.used += if is_within { sent } else { 0 };
        self.unsent == 0
    }

    /// Number of opportunities up to a time.
    fn count_until(&self, at: Time) -> u128 {
        let elapsed = at.0 / MILLISECOND;
        let rest = self.times.partition_point(|&time| time <= elapsed % self.length());
        u128::from(elapsed / self.length()) * self.times.len() as u128 + rest as u128
    }

    /// The part of the measurement window that is as large as the part of its bytes that packets used. Opportunities in an
    /// outage count as unused.
    pub(crate) fn busy_time(&self, window: Interval) -> Time {
        let before = window.from.0.checked_sub(1).map_or(0, |before| self.count_until(Time(before)));
        let offered = self.count_until(window.until).saturating_sub(before) * u128::from(self.size);
        let busy = (u128::from(window.length().0) * u128::from(self.used)).checked_div(offered);
        Time(busy.unwrap_or(0) as u64)
    }

    /// The time at which sending continues after `now`, the time of the current opportunity: now, if bytes of it are
    /// left, or at the next one.
    pub(crate) fn continues(&self, now: Time) -> Time {
        if self.left > 0 { now } else { self.next_time().max(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_line_by_line() {
        let spec = OpportunitySpec::from_trace("0\n5\n5\n12\n").expect("a trace");
        assert_eq!(
            (spec.times.as_slice(), spec.size, spec.overhead),
            (&[0, 5, 5, 12][..], Bytes(1504), Bytes(4))
        );
        // Four opportunities of 12 032 bits in 12 ms.
        assert_eq!(spec.mean_rate(), Rate(4_010_666));
        for (text, line) in [("", 1), ("0\n", 1), ("3\n\n", 2), ("5\n4\n", 2), ("1\n2 ms\n", 2), ("-1\n", 1)]
        {
            assert_eq!(OpportunitySpec::from_trace(text).map_err(|(line, _)| line), Err(line), "{text:?}");
        }
    }

    #[test]
    fn skipping_finds_the_next_opportunity_of_any_repetition() {
        let spec = OpportunitySpec::from_trace("0\n3\n3\n10").expect("a trace");
        let after = |times: &[u64]| {
            let mut opportunities = Opportunities::new(&spec, &[]);
            times.iter().map(|&time| opportunities.skip(Time(time)).0 / MILLISECOND).collect::<Vec<_>>()
        };
        // The repetitions begin at 10, 20 and 30 ms, where the previous ones end.
        let ms = MILLISECOND;
        assert_eq!(after(&[0, 3 * ms - 1, 3 * ms, 10 * ms - 1]), [3, 3, 10, 10]);
        assert_eq!(after(&[10 * ms, 13 * ms, 20 * ms]), [13, 20, 23]);
        assert_eq!(after(&[1_000_000 * ms + 5 * ms, 1_000_010 * ms]), [1_000_010, 1_000_013]);
    }
}
