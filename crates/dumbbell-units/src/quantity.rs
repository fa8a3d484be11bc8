//! Quantities that carry their unit: written as `"50 ms"`, `"1.6 Mbit/s"`, `"10 packets"`,
//! kept as integers.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant or a duration of simulated time, in whole nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The origin, and the empty duration.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// From seconds, rounded to the nearest nanosecond; negative values become zero.
    pub fn from_secs(seconds: f64) -> Time {
        Time((seconds * 1e9 + 0.5) as u64)
    }

    /// As seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The duration since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        self.since(other)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.0, TIME_UNITS))
    }
}

/// An interval between two instants, both included. Empty if the end is before the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its first instant.
    pub from: Time,
    /// Its last instant.
    pub until: Time,
}

impl Interval {
    /// True for an instant within the interval, including its ends.
    #[inline]
    pub fn contains(self, at: Time) -> bool {
        at >= self.from && at <= self.until
    }

    /// Length of the interval; zero if it is empty.
    pub fn length(self) -> Time {
        self.until.since(self.from)
    }

    /// Length of the part of `begins..ends` within the interval.
    pub fn overlap(self, begins: Time, ends: Time) -> Time {
        ends.min(self.until).since(begins.max(self.from))
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.0, &RATE_UNITS[..4]))
    }
}

/// The capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(n) => write!(f, "{n} packets"),
            Limit::Bytes(n) => write!(f, "{n} bytes"),
            Limit::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// A window given in segments or in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// This many full segments.
    Segments(f64),
    /// This many bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl Window {
    /// In bytes for segments of `mss` bytes; infinite when unlimited.
    pub fn bytes(self, mss: u32) -> f64 {
        match self {
            Window::Segments(n) => n * f64::from(mss),
            Window::Bytes(n) => n as f64,
            Window::Unlimited => f64::INFINITY,
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Segments(n) => write!(f, "{n} segments"),
            Window::Bytes(n) => write!(f, "{n} bytes"),
            Window::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// A unit's spelling and its size in base units.
pub type Unit = (&'static str, f64);

/// Units of time; the base is the nanosecond.
pub const TIME_UNITS: &[Unit] =
    &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("min", 60e9), ("h", 3600e9)];
/// Units of rate; the base is the bit per second.
pub const RATE_UNITS: &[Unit] = &[
    ("Gbit/s", 1e9),
    ("Mbit/s", 1e6),
    ("kbit/s", 1e3),
    ("bit/s", 1.0),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("KiB/s", 8192.0),
    ("MiB/s", 8_388_608.0),
];
/// Units of size; the base is the byte.
pub const SIZE_UNITS: &[Unit] = &[
    ("bytes", 1.0),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
/// Units of a count of packets.
pub const PACKET_UNITS: &[Unit] = &[("packets", 1.0), ("packet", 1.0)];
/// Units of a count of segments.
pub const SEGMENT_UNITS: &[Unit] = &[("segments", 1.0), ("segment", 1.0)];

fn written(amount: u64, units: &[Unit]) -> String {
    let (name, factor) = units
        .iter()
        .take(4)
        .find(|(_, factor)| amount > 0 && amount.is_multiple_of(*factor as u64))
        .unwrap_or(&units[0]);
    format!("{} {name}", amount / *factor as u64)
}

/// Splits `"1.6 Mbit/s"` into number and factor of its unit. `None` if the text is not a
/// finite, non-negative number followed by one of the units.
pub fn amount(text: &str, units: &[Unit]) -> Option<f64> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|&(at, c)| {
            c.is_alphabetic()
                && !(matches!(c, 'e' | 'E')
                    && text[at + 1..]
                        .starts_with(['+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']))
        })?
        .0;
    let number: f64 = text[..split].trim().parse().ok()?;
    let unit = text[split..].trim();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let value = number * factor;
    (0.0..9.0e18).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_units() {
        assert_eq!(amount("1.6 Mbit/s", RATE_UNITS), Some(1.6e6));
        assert_eq!(amount("200kB/s", RATE_UNITS), Some(1.6e6));
        assert_eq!(amount("1e3 ms", TIME_UNITS), Some(1e9));
        assert_eq!(amount("-1 ms", TIME_UNITS), None);
        assert_eq!(amount("1", TIME_UNITS), None);
        assert_eq!(amount("ms", TIME_UNITS), None);
        assert_eq!(amount("1 KB", SIZE_UNITS), None);
    }

    #[test]
    fn an_interval_includes_both_ends() {
        let interval = Interval { from: Time(10), until: Time(30) };
        let within = [9, 10, 30, 31].map(|at| interval.contains(Time(at)));
        assert_eq!(within, [false, true, true, false]);
        let overlaps = [(0, 5), (0, 12), (12, 40), (0, 40), (35, 40)]
            .map(|(begins, ends)| interval.overlap(Time(begins), Time(ends)).0);
        assert_eq!(overlaps, [0, 2, 18, 20, 0]);
        assert_eq!(interval.length(), Time(20));
    }

    #[test]
    fn quantities_are_written_in_the_largest_whole_unit() {
        assert_eq!(Time(50_000_000).to_string(), "50 ms");
        assert_eq!(Time(0).to_string(), "0 s");
        assert_eq!(Rate(1_600_000).to_string(), "1600 kbit/s");
    }
}
