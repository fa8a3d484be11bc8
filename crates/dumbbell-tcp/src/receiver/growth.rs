//! The receive window of Linux as it grows [linux6 tcp_input.c], with the defaults of `tcp_rmem`.
//!
//! The window grows by two segments for each that arrives, up to what the receive buffer holds (`tcp_grow_window`). The
//! buffer grows with what the application reads per round trip (`tcp_rcv_space_adjust`).
//!
//! Where it departs: the overhead of buffers is a constant.

use crate::config::first_window;
use crate::rtt::HostClock;
use dumbbell_units::Time;

/// Initial and largest receive buffer (`tcp_rmem`), in bytes.
const BUFFER: u64 = 131_072;
const MAX_BUFFER: u64 = 6_291_456;
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
pub(super) struct Growth {
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
    pub(super) fn new(clock: HostClock, mss: u64) -> Self {
        let window = first_window(mss);
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

    /// What is advertised at most, in bytes.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// The first data follows a handshake that was requested at this time, after this delay of the request.
    pub(super) fn on_open(&mut self, sent: Time, opened: Time, request_delay: Time) {
        self.way_back = sent.since(opened);
        self.since = sent + request_delay;
    }

    /// A segment arrived. True if the window grows.
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        if bytes < LEAST_SEGMENT || self.window >= self.clamp {
            return false;
        }
        self.window = (self.window + 2 * self.mss.max(bytes)).min(self.clamp);
        true
    }

    /// The application has read so many bytes that were sent at this time.
    pub(super) fn on_read(&mut self, now: Time, bytes: u64, sent: Time) {
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
