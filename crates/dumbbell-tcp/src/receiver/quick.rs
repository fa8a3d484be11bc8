//! When Linux acknowledges segments at once [linux6 tcp_input.c]: the first ones, after a long pause, after what has arrived
//! before, and while the receive window grows.
//!
//! Where it departs: an acknowledgement is assumed to take as long to the sender as the answer to the connection request.

use super::growth::Growth;
use crate::config::DelayedAck;
use crate::rtt::HostClock;
use dumbbell_units::Time;

/// Timeout of Linux before a round-trip time is known, and the least part of it beyond the round-trip time
/// [linux6 tcp_input.c].
const LINUX_TIMEOUT: Time = Time(1_000_000_000);
const LINUX_MARGIN: Time = Time(200_000_000);

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
