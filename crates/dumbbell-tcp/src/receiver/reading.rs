//! How the application reads, and the receive window that follows from it.
//!
//! The application reads what has arrived in order, at once or at a rate. The window ends where the buffer does: a buffer
//! beyond what has been read. It never shrinks, and it moves on by a segment or half of the buffer at least
//! [RFC 1122 §4.2.3.3]. While little of it is left, the receiver says so without data once it can be twice as large, as
//! `tcp_cleanup_rbuf` of Linux does [linux6 tcp.c].
//!
//! With autotuning, the window begins small and grows as with the buffers of Linux's defaults, up to the buffer.

use super::growth::Growth;
use crate::clock::HostClock;
use crate::config::TcpParams;
use dumbbell_units::{Rate, Time};

/// Bits per byte times nanoseconds per second.
const BYTE_SECONDS: u128 = 8_000_000_000;

/// The application and the window of a receiver.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    rate: Option<Rate>,
    mss: u64,
    /// Size of the buffer, and what the window moves on by at least, in bytes.
    buffer: u64,
    step: u64,
    growth: Option<Box<Growth>>,
    /// Bytes that have arrived in order, and of these those that were read before `since`.
    arrived: u64,
    read: u64,
    since: Time,
    /// When the request for the connection arrived, until data follows, and how long it took.
    opened: Time,
    request_delay: Time,
    /// First byte after the window that the sender was told.
    edge: u64,
}

impl Reader {
    /// The reader of a receiver without data; `None` if its window is constant.
    pub(super) fn new(params: &TcpParams, clock: HostClock) -> Option<Box<Reader>> {
        let reading = params.reading.as_ref()?;
        let mss = params.mss.0;
        let buffer = params.receive_buffer.bytes(mss as u32).min(2e18) as u64;
        let growth = reading.autotuning.then(|| {
            let mut growth = Box::new(Growth::new(clock, mss));
            growth.on_size(mss);
            growth
        });
        let mut reader = Reader {
            rate: reading.rate,
            mss,
            buffer,
            step: mss.min(buffer / 2),
            growth,
            arrived: 0,
            read: 0,
            since: Time::ZERO,
            opened: Time::NEVER,
            request_delay: Time::ZERO,
            edge: 0,
        };
        reader.edge = params.first_window().min(2e18) as u64;
        Some(Box::new(reader))
    }

    /// First byte after the window that the sender was told.
    pub(super) fn edge(&self) -> u64 {
        self.edge
    }

    /// The largest window at the moment, in bytes.
    fn window(&self) -> u64 {
        self.growth.as_ref().map_or(self.buffer, |growth| growth.window().min(self.buffer))
    }

    /// The application has read until now.
    fn read_until(&mut self, now: Time) {
        let passed = u128::from(now.since(self.since).0);
        let read = match self.rate {
            None => self.arrived,
            Some(rate) => {
                let bytes = u128::from(rate.0) * passed / BYTE_SECONDS;
                self.arrived.min(self.read.saturating_add(bytes.min(u128::from(u64::MAX)) as u64))
            }
        };
        if read == self.arrived {
            self.since = now;
        } else if let Some(rate) = self.rate {
            // A fraction of a byte remains.
            let bytes = u128::from(read - self.read);
            self.since += Time((bytes * BYTE_SECONDS).div_ceil(u128::from(rate.0)) as u64);
        }
        self.read = read;
    }

    /// A connection is requested.
    pub(super) fn on_open(&mut self, now: Time, sent: Time) {
        (self.opened, self.request_delay) = (now, now.since(sent));
    }

    /// A segment of so many bytes arrives, which was sent at this time. Everything below `arrived` has then arrived in
    /// order.
    pub(super) fn on_segment(&mut self, now: Time, sent: Time, bytes: u64, arrived: u64) {
        self.read_until(now);
        let new = arrived - self.arrived;
        self.arrived = arrived;
        if let Some(growth) = &mut self.growth {
            if self.opened < Time::NEVER {
                let opened = std::mem::replace(&mut self.opened, Time::NEVER);
                growth.on_open(sent, opened, self.request_delay);
            }
            growth.sample(now, sent);
            growth.on_data(now, arrived, self.edge);
            growth.grow_in_order(bytes, self.mss, 0);
            growth.on_read(now, new, 0);
        }
        if self.rate.is_none() {
            self.read = arrived;
        }
    }

    /// An acknowledgement is sent. Returns when another one has to say that the window has moved on.
    pub(super) fn tell(&mut self, now: Time) -> Time {
        self.read_until(now);
        let edge = self.read + self.window();
        if edge >= self.edge + self.step {
            self.edge = edge;
        }
        let (Some(rate), left) = (self.rate, self.edge.saturating_sub(self.arrived)) else {
            return Time::NEVER;
        };
        if 2 * left > self.window() {
            return Time::NEVER;
        }
        // The window is at least twice as large, and has moved on by a step.
        let wanted = self.arrived + (2 * left).max(left + self.step);
        let missing = wanted.saturating_sub(self.window() + self.read);
        self.since + Time((u128::from(missing) * BYTE_SECONDS).div_ceil(u128::from(rate.0)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Reading, Rules};
    use dumbbell_units::{Bytes, Window};

    const MS: u64 = 1_000_000;

    /// A reader of 800 kbit/s, 100 bytes per ms, with a buffer of 10 segments of 1000 bytes.
    fn reader() -> Box<Reader> {
        let params = TcpParams {
            mss: Bytes(1000),
            receive_buffer: Window::Bytes(10_000),
            reading: Some(Reading { rate: Some(Rate(800_000)), autotuning: false }),
            ..Rules::Classic.defaults()
        };
        Reader::new(&params, HostClock::Fraction(0.0)).expect("a reader")
    }

    #[test]
    fn a_window_closes_as_data_waits_and_moves_on_by_segments() {
        let mut reader = reader();
        assert_eq!(reader.edge(), 10_000);
        // 10,000 bytes arrive at once: the window is closed, and the next news is due after a segment is read.
        reader.on_segment(Time(0), Time(0), 10_000, 10_000);
        assert_eq!((reader.tell(Time(0)), reader.edge()), (Time(10 * MS), 10_000));
        assert_eq!((reader.tell(Time(9 * MS)), reader.edge()), (Time(10 * MS), 10_000));
        // Now 1000 bytes are free; twice as much is after another segment.
        assert_eq!((reader.tell(Time(10 * MS)), reader.edge()), (Time(20 * MS), 11_000));
        assert_eq!((reader.tell(Time(20 * MS)), reader.edge()), (Time(40 * MS), 12_000));
        // With more than half of the buffer free, data will say so.
        assert_eq!((reader.tell(Time(60 * MS)), reader.edge()), (Time::NEVER, 16_000));
    }

    #[test]
    fn what_an_idle_application_does_not_read_it_does_not_save() {
        let mut reader = reader();
        reader.on_segment(Time(500 * MS), Time(0), 10_000, 10_000);
        assert_eq!((reader.tell(Time(501 * MS)), reader.edge()), (Time(510 * MS), 10_000));
    }

    #[test]
    fn fractions_of_a_byte_are_not_lost() {
        let mut reader = reader();
        reader.on_segment(Time(0), Time(0), 10_000, 10_000);
        // Asked every 7 us, in which 0.7 bytes are read.
        for n in 0..14_285 {
            reader.tell(Time(n * 7_000));
        }
        reader.tell(Time(100 * MS));
        assert!((9_999..=10_000).contains(&reader.read), "{}", reader.read);
    }
}
