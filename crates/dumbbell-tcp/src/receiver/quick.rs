//! When Linux acknowledges segments at once [linux6 tcp_input.c]: the first ones, after a long pause, after what has arrived
//! before, and while the receive window grows.
//!
//! The window grows by two segments for each that arrives, up to what the receive buffer holds (`tcp_grow_window`). The
//! buffer grows with what the application reads per round trip (`tcp_rcv_space_adjust`), which is at once here. Sizes are the
//! defaults of `tcp_rmem`.
//!
//! Where it departs: an acknowledgement is assumed to take as long to the sender as the answer to the connection request,
//! and the overhead of buffers is a constant. The window that the sender knows is the whole buffer from the beginning.

use crate::config::DelayedAck;
use crate::rtt::HostClock;
use dumbbell_units::Time;

/// Timeout of Linux before a round-trip time is known, and the least part of it beyond the round-trip time
/// [linux6 tcp_input.c].
const LINUX_TIMEOUT: Time = Time(1_000_000_000);
const LINUX_MARGIN: Time = Time(200_000_000);

/// Initial and largest receive buffer (`tcp_rmem`), in bytes.
const BUFFER: u64 = 131_072;
const MAX_BUFFER: u64 = 6_291_456;
/// Largest window without a scale, to which the first one is bound.
const FIRST_WINDOW: u64 = 65_535;
/// Part of a buffer that is window, in 256ths, with segments of 1448 bytes in buffers of 2206 (`scaling_ratio`).
const RATIO: u64 = 168;
/// Smallest segment that makes the window grow, in bytes.
const LEAST_SEGMENT: u64 = 128;

/// Clock of timestamps.
const TIMESTAMP: Time = Time(1_000_000);

/// The receiver's round-trip time, by timestamps: the minimum, or else an average of eight (`tcp_rcv_rtt_update`).
#[derive(Clone, Copy, Debug, Default)]
struct ReceiverRtt {
    /// Eight times the round-trip time in ns; 0 before the first.
    eighths: u64,
    /// The last timestamp echoed.
    echo: u64,
    /// Time to the first tick of the clock of timestamps, in ns.
    phase: u64,
}

impl ReceiverRtt {
    /// The timestamp of a time.
    #[inline]
    fn timestamp(&self, at: Time) -> u64 {
        (at.0 + TIMESTAMP.0 - self.phase) / TIMESTAMP.0
    }

    /// A segment arrived that echoes an acknowledgement sent at this time.
    #[inline]
    fn sample(&mut self, now: Time, echoed: Time) {
        let echo = self.timestamp(echoed);
        if self.eighths > 0 && echo == self.echo {
            return;
        }
        self.echo = echo;
        let rtt = self.timestamp(now).saturating_sub(echo) * TIMESTAMP.0;
        if rtt == 0 {
            return;
        }
        self.eighths = match 8 * rtt {
            eighths if self.eighths == 0 || eighths < self.eighths => eighths,
            _ => self.eighths - self.eighths / 8 + rtt,
        };
    }
}

/// The receive window as it grows, in bytes.
#[derive(Clone, Copy, Debug)]
struct Growth {
    mss: u64,
    /// What is advertised at most (`rcv_ssthresh`), and what it can grow to (`window_clamp`).
    window: u64,
    clamp: u64,
    /// What the application reads per round trip (`rcvq_space`), what it has read in this one, and when it began.
    space: u64,
    copied: u64,
    since: Time,
    rtt: ReceiverRtt,
    /// Time from an acknowledgement to the data that it releases, less the delay of that data.
    way_back: Time,
}

impl Growth {
    fn new(clock: HostClock, mss: u64) -> Self {
        let window = FIRST_WINDOW / mss * mss;
        Growth {
            mss,
            window,
            clamp: BUFFER * RATIO / 256,
            space: 10 * mss,
            copied: 0,
            since: Time::NEVER,
            rtt: ReceiverRtt { phase: clock.phase(TIMESTAMP), ..ReceiverRtt::default() },
            way_back: Time::ZERO,
        }
    }

    /// The first data follows a handshake that was requested at this time, after this delay of the request.
    fn on_open(&mut self, sent: Time, opened: Time, request_delay: Time) {
        self.way_back = sent.since(opened);
        self.since = sent + request_delay;
    }

    /// A segment arrived. True if the window grows.
    fn grow(&mut self, bytes: u64) -> bool {
        if bytes < LEAST_SEGMENT || self.window >= self.clamp {
            return false;
        }
        self.window = (self.window + 2 * self.mss.max(bytes)).min(self.clamp);
        true
    }

    /// The application has read so many bytes that were sent at this time.
    fn on_read(&mut self, now: Time, bytes: u64, sent: Time) {
        if self.since == Time::NEVER {
            self.since = now;
        }
        self.copied += bytes;
        self.rtt.sample(now, Time(sent.0.saturating_sub(self.way_back.0)));
        if self.rtt.eighths == 0 || now.since(self.since).0 < self.rtt.eighths / 8 {
            return;
        }
        if self.copied > self.space {
            let mut window = 2 * self.copied + 16 * self.mss;
            window += 2 * (window * (self.copied - self.space) / self.space);
            self.clamp = self.clamp.max(window.min(MAX_BUFFER * RATIO / 256));
            self.space = self.copied;
        }
        (self.copied, self.since) = (0, now);
    }
}

/// When segments are acknowledged at once.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    /// Segments in order left of those.
    left: u64,
    /// Their number when they begin again; zero if they do not.
    again: u64,
    /// Longest time between data in order without a new beginning.
    longest_gap: Time,
    /// Arrival of the last request for a connection, until data follows.
    opened: Time,
    /// Delay of that request.
    request_delay: Time,
    /// Arrival of the last data in order.
    last: Time,
    growth: Option<Box<Growth>>,
}

impl Quick {
    pub(super) fn new(params: &DelayedAck, clock: HostClock, mss: u64) -> Self {
        let (left, again, grows) = match params {
            DelayedAck::On(delayed) => {
                (delayed.quick, if delayed.quick_again { delayed.quick } else { 0 }, delayed.quick_growing)
            }
            DelayedAck::Off => (0, 0, false),
        };
        Quick {
            left,
            again,
            longest_gap: LINUX_TIMEOUT,
            opened: Time::NEVER,
            request_delay: Time::ZERO,
            last: Time::NEVER,
            growth: grows.then(|| Box::new(Growth::new(clock, mss))),
        }
    }

    /// True if data in order makes a difference.
    #[inline]
    pub(super) fn is_adaptive(&self) -> bool {
        self.again > 0 || self.growth.is_some()
    }

    /// A connection is requested.
    pub(super) fn on_open(&mut self, now: Time, sent: Time) {
        (self.opened, self.request_delay) = (now, now.since(sent));
    }

    /// Data that was sent at this time arrived in order. The first one ends the handshake, which gives the receiver its only round-trip
    /// time, and with it the timeout: the variation begins with twice the round-trip time.
    pub(super) fn on_data(&mut self, now: Time, sent: Time, bytes: u64) {
        if self.opened < Time::NEVER {
            let opened = std::mem::replace(&mut self.opened, Time::NEVER);
            let rtt = now.since(opened);
            self.longest_gap = rtt + Time(2 * rtt.0).max(LINUX_MARGIN);
            if let Some(growth) = &mut self.growth {
                growth.on_open(sent, opened, self.request_delay);
            }
        }
        if now.since(self.last) > self.longest_gap {
            self.begin();
        }
        self.last = now;
        if let Some(growth) = &mut self.growth {
            // As in the kernel, which sets a bit.
            self.left |= u64::from(growth.grow(bytes));
        }
    }

    /// True if the receive window grows.
    #[inline]
    pub(super) fn grows(&self) -> bool {
        self.growth.is_some()
    }

    /// The application reads so many bytes, the first of which were sent at this time.
    pub(super) fn on_read(&mut self, now: Time, sent: Time, bytes: u64) {
        if let Some(growth) = &mut self.growth {
            growth.on_read(now, bytes, sent);
        }
    }

    /// Data arrived out of order, and is acknowledged at once.
    pub(super) fn on_out_of_order(&mut self, bytes: u64) {
        if let Some(growth) = &mut self.growth {
            self.left |= u64::from(growth.grow(bytes));
        }
        self.spend();
    }

    /// An acknowledgement is sent at once for another reason, and is one of these in Linux.
    pub(super) fn spend(&mut self) {
        if self.again > 0 {
            self.take();
        }
    }

    /// They begin again.
    pub(super) fn begin(&mut self) {
        self.left = self.left.max(self.again);
    }

    /// An acknowledgement is sent. True if it is one of these.
    #[inline]
    pub(super) fn take(&mut self) -> bool {
        let has_any = self.left > 0;
        self.left -= u64::from(has_any);
        has_any
    }
}
