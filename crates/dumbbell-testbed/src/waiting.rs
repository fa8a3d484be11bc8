//! Waiting for a moment, or until a host has sent something, whichever is first.
//!
//! The kernel wakes a thread some time after its timer: a few microseconds on bare metal, some tens in a virtual machine,
//! and never the same. Every packet would be late by that time. So the thread asks to be woken earlier, by a lead, and
//! spends the rest looking at the clock. The lead is learned: with the median of the timers' lateness, half of all packets
//! are on time, and little processor time is spent on looking.

use crate::clock::RunClock;
use dumbbell_units::Time;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::AsFd;

/// Waits for several hosts.
pub(crate) struct Waiting<'a> {
    clock: RunClock,
    polled: Vec<PollFd<'a>>,
    lead: Lead,
}

impl<'a> Waiting<'a> {
    /// Waits for these devices, by this clock.
    pub(crate) fn new(clock: RunClock, devices: impl Iterator<Item = &'a (impl AsFd + 'a)>) -> Self {
        let polled = devices.map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN)).collect();
        Waiting { clock, polled, lead: Lead::default() }
    }

    /// Waits until a device has something to read, or until this time.
    ///
    /// # Errors
    ///
    /// Waiting or reading the clock failed.
    pub(crate) fn until(&mut self, deadline: Time) -> io::Result<()> {
        let mut now = self.clock.now()?;
        let wake_at = deadline - self.lead.time.min(deadline);
        if now < wake_at {
            let is_readable = self.poll(wake_at.since(now))?;
            now = self.clock.now()?;
            if is_readable {
                return Ok(());
            }
            self.lead.learn(now.since(wake_at));
        }
        while now < deadline {
            if self.poll(Time::ZERO)? {
                return Ok(());
            }
            // Another emulator of this machine may have a packet that is due.
            let _ = nix::sched::sched_yield();
            now = self.clock.now()?;
        }
        Ok(())
    }

    /// The devices in order: true for each that had something to read when the latest wait ended.
    pub(crate) fn readable(&self) -> impl Iterator<Item = bool> + '_ {
        self.polled.iter().map(|polled| polled.any() == Some(true))
    }

    /// Waits for at most this time. True if a device has something to read.
    fn poll(&mut self, time: Time) -> io::Result<bool> {
        let (seconds, nanoseconds) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
        match ppoll(&mut self.polled, Some(TimeSpec::new(seconds as _, nanoseconds as _)), None) {
            Ok(readable) => Ok(readable > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// How much earlier than needed to wake: a running estimate of the timers' median lateness.
#[derive(Clone, Copy, Debug)]
struct Lead {
    time: Time,
}

impl Lead {
    const STEP: Time = Time(250);
    /// Later timers are disturbances, for which no wait is worth its processor time.
    const MAX: Time = Time(100_000);

    /// A timer was late by `lateness`.
    fn learn(&mut self, lateness: Time) {
        self.time = if lateness > self.time {
            (self.time + Self::STEP).min(Self::MAX)
        } else {
            self.time - Self::STEP.min(self.time)
        };
    }
}

impl Default for Lead {
    fn default() -> Self {
        Lead { time: Time(25_000) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Stream;

    #[test]
    fn the_lead_is_the_median_lateness() {
        // Uniform from 20 to 60 us: 40 us.
        let mut random = Stream::new(1, 0, "lateness");
        let mut lead = Lead::default();
        let mut leads = Vec::new();
        for _ in 0..20_000 {
            lead.learn(Time((20e3 + 40e3 * random.uniform()) as u64));
            leads.push(lead.time.0);
        }
        let late = &leads[2_000..];
        let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
        assert!((39e3..41e3).contains(&mean), "{mean}");
    }

    #[test]
    fn the_lead_ends_where_a_disturbance_begins() {
        let mut lead = Lead::default();
        for _ in 0..1_000 {
            lead.learn(Time(5_000_000));
        }
        assert_eq!(lead.time, Lead::MAX);
        for _ in 0..1_000 {
            lead.learn(Time::ZERO);
        }
        assert_eq!(lead.time, Time::ZERO);
    }
}
