//! The receive window of Linux as it grows [linux6 tcp_input.c], with the defaults of `tcp_rmem`.
//!
//! The window grows by two segments for each that arrives, up to what the receive buffer holds beside what is held
//! (`tcp_grow_window`). The buffer grows with what the application reads per round trip (`tcp_rcv_space_adjust`).
//!
//! Where it departs: every packet of up to 1518 bytes has a buffer of 1600 bytes, as of a virtual network device
//! (`virtio_net`). Other devices have others.

use crate::clock::HostClock;
use crate::config::first_window;
use dumbbell_units::Time;

/// Initial and largest receive buffer (`tcp_rmem`), in bytes.
const BUFFER: u64 = 131_072;
const MAX_BUFFER: u64 = 6_291_456;
/// Smallest segment in order that makes the window grow, in bytes.
const LEAST_SEGMENT: u64 = 128;
/// Unit of a window that is told: the scale is 7.
const WINDOW_UNIT: u64 = 128;

/// A window in whole units, rounded up.
fn whole_units(window: u64) -> u64 {
    window.saturating_add(WINDOW_UNIT - 1) / WINDOW_UNIT * WINDOW_UNIT
}

/// A packet with the headers of Ethernet, IP and TCP, space before it, and the unit of its buffer.
const HEADERS: u64 = 14 + 20 + 32;
const LEAST_PACKET: u64 = 1518;
const HEADROOM: u64 = 78;
const BUFFER_UNIT: u64 = 64;
/// What describes a buffer (`struct sk_buff` and `struct skb_shared_info`), in bytes.
pub(super) const DESCRIPTION: u64 = 256;
const SHARED: u64 = 320;

/// Buffer of a segment, in bytes.
fn buffer_of(segment: u64) -> u64 {
    ((segment + HEADERS).max(LEAST_PACKET) + HEADROOM).next_multiple_of(BUFFER_UNIT)
}

/// Memory of a segment that arrives (`truesize`), in bytes.
pub(super) fn memory_of(segment: u64) -> u64 {
    buffer_of(segment) + DESCRIPTION + SHARED
}

/// What is left of the buffer of a segment behind its data (`skb_tailroom`), in bytes.
pub(super) fn room_behind(segment: u64) -> u64 {
    buffer_of(segment) - HEADROOM - HEADERS - segment
}

/// Clock of timestamps.
const TIMESTAMP: Time = Time(1_000_000);

/// The receiver's round-trip time: by timestamps the minimum, or else an average of eight; by windows the minimum
/// (`tcp_rcv_rtt_update`).
#[derive(Clone, Copy, Debug)]
struct ReceiverRtt {
    /// Eight times the round-trip time in microseconds; 0 before the first.
    eighths: u64,
    /// The last timestamp echoed.
    echo: u64,
    /// Time to the first tick of the clock of timestamps, in ns.
    phase: u64,
    /// First byte after the window that is measured, and when it was told.
    edge: u64,
    since: Time,
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
        let rtt = self.timestamp(now).saturating_sub(echo) * 1000;
        if rtt == 0 {
            return;
        }
        self.eighths = match 8 * rtt {
            eighths if self.eighths == 0 || eighths < self.eighths => eighths,
            _ => self.eighths - self.eighths / 8 + rtt,
        };
    }

    /// Everything below `next` has arrived, and the window ends at `edge`.
    #[inline]
    fn on_data(&mut self, now: Time, next: u64, edge: u64) {
        if self.since < Time::NEVER {
            if next < self.edge {
                return;
            }
            let eighths = 8 * microseconds(self.since, now).max(1);
            if self.eighths == 0 || eighths < self.eighths {
                self.eighths = eighths;
            }
        }
        (self.edge, self.since) = (edge, now);
    }
}

/// Microseconds of a clock between two times.
fn microseconds(from: Time, to: Time) -> u64 {
    (to.0 / 1000).saturating_sub(from.0 / 1000)
}

/// The receive window as it grows, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    mss: u64,
    /// What is advertised at most (`rcv_ssthresh`), and what it can grow to (`window_clamp`).
    window: u64,
    clamp: u64,
    /// The receive buffer, and the part of a buffer that is window, in 256ths (`scaling_ratio`).
    buffer: u64,
    ratio: u64,
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
        // Half of a buffer is window at first, and a segment of it is reserved (`tcp_init_buffer_space`).
        let clamp = (BUFFER / 2).saturating_sub(mss).max(2 * mss);
        let window = first_window(mss).min(clamp);
        Growth {
            mss,
            window,
            clamp,
            buffer: BUFFER,
            ratio: 128,
            space: window.min(10 * mss),
            copied: 0,
            since: Time::NEVER,
            rtt: ReceiverRtt {
                eighths: 0,
                echo: 0,
                phase: clock.phase(TIMESTAMP),
                edge: 0,
                since: Time::NEVER,
            },
            way_back: Time::ZERO,
        }
    }

    /// What is advertised at most, in bytes.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Eight times the round-trip time in microseconds; 0 before the first.
    pub(super) fn rtt_eighths(&self) -> u64 {
        self.rtt.eighths
    }

    /// The part of a buffer that is window.
    fn of_space(&self, space: u64) -> u64 {
        space * self.ratio / 256
    }

    /// What is left beside data that takes `held` bytes of memory.
    fn free(&self, held: u64) -> u64 {
        self.of_space(self.buffer.saturating_sub(held))
    }

    /// The connection was requested at this time, and its first data sent at that one, after this delay of the request.
    pub(super) fn on_open(&mut self, sent: Time, opened: Time, request_delay: Time) {
        self.on_established(sent + request_delay, sent.since(opened));
    }

    /// The handshake ends, and data arrives so long after what it echoes was sent, less its delay.
    pub(super) fn on_established(&mut self, now: Time, way_back: Time) {
        (self.since, self.way_back) = (now, way_back);
    }

    /// Segments are of another size than those before, so that a buffer holds another part of it (`tcp_measure_rcv_mss`).
    pub(super) fn on_size(&mut self, bytes: u64) {
        let ratio = (bytes * 256 / memory_of(bytes)).clamp(1, 255);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.of_space(self.buffer);
            self.space = self.space.min(self.clamp).max(1);
        }
    }

    /// A segment arrived that was sent at this time.
    #[inline]
    pub(super) fn sample(&mut self, now: Time, sent: Time) {
        self.rtt.sample(now, Time(sent.0.saturating_sub(self.way_back.0)));
    }

    /// Data arrived in order: everything below `next` has, and the window ends at `edge`.
    pub(super) fn on_data(&mut self, now: Time, next: u64, edge: u64) {
        self.rtt.on_data(now, next, edge);
    }

    /// A segment arrived in order. True if the window grows.
    pub(super) fn grow_in_order(&mut self, bytes: u64, rcv_mss: u64, held: u64) -> bool {
        bytes >= LEAST_SEGMENT && self.grow(bytes, rcv_mss, held)
    }

    /// A segment arrived, while data takes `held` bytes of memory. True if the window grows.
    pub(super) fn grow(&mut self, bytes: u64, rcv_mss: u64, held: u64) -> bool {
        if self.window >= self.clamp {
            return false;
        }
        let room = self.clamp.min(self.free(held)).saturating_sub(self.window);
        let step = if room > 0 { self.step(bytes, rcv_mss) } else { 0 };
        if step == 0 {
            return false;
        }
        self.window += room.min(step.max(2 * bytes));
        true
    }

    /// What the window grows by with a segment: nothing if the buffers of such segments would not hold a larger window
    /// (`__tcp_grow_window`).
    fn step(&self, bytes: u64, rcv_mss: u64) -> u64 {
        let mut memory = self.of_space(memory_of(bytes));
        if memory <= bytes {
            return 2 * self.mss;
        }
        let mut window = self.of_space(MAX_BUFFER) / 2;
        memory /= 2;
        while self.window <= window {
            if memory <= bytes {
                return 2 * rcv_mss;
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// The window that would be told now, and whether less than half of it is free (`__tcp_select_window`).
    pub(super) fn select(&self, rcv_mss: u64, held: u64) -> (u64, bool) {
        let mut free = self.free(held);
        let allowed = self.of_space(self.buffer);
        let full = self.clamp.min(allowed);
        let is_short = free < full / 2;
        if is_short {
            free -= free % WINDOW_UNIT;
            if free < allowed / 16 || free < rcv_mss.min(full) {
                return (0, true);
            }
        }
        (whole_units(free.min(self.window)), is_short)
    }

    /// The window that is told if that of now ends so many bytes beyond what has arrived: it does not shrink.
    pub(super) fn told(&self, left: u64, rcv_mss: u64, held: u64) -> (u64, bool) {
        let (window, is_short) = self.select(rcv_mss, held);
        let window = if window < left { whole_units(left) } else { window };
        (window, is_short)
    }

    /// True if an application that has read tells that the window has grown to twice what is left of it
    /// (`tcp_cleanup_rbuf`).
    pub(super) fn tells(&self, left: u64, rcv_mss: u64, held: u64) -> bool {
        2 * left <= self.clamp && {
            let (window, _) = self.select(rcv_mss, held);
            window > 0 && window >= 2 * left
        }
    }

    /// The application has read so many bytes, and has so many left to read.
    pub(super) fn on_read(&mut self, now: Time, bytes: u64, left: u64) {
        if self.since == Time::NEVER {
            self.since = now;
        }
        self.copied += bytes;
        let is_round = microseconds(self.since, now) >= self.rtt.eighths / 8;
        if self.rtt.eighths == 0 || !is_round {
            return;
        }
        let copied = self.copied.saturating_sub(left);
        if copied > self.space {
            let mut window = 2 * copied + 16 * self.mss;
            window += 2 * (window * (copied - self.space) / self.space);
            let buffer = (window * 256 / self.ratio).min(MAX_BUFFER);
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = self.of_space(buffer);
            }
            self.space = copied;
        }
        (self.copied, self.since) = (0, now);
    }
}
