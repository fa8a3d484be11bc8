//! Unidirectional links: a queue, a transmitter and a propagation delay.
//!
//! There are two kinds. A [`FifoLink`] is first in, first out and decides at arrival. The departure time of a packet is
//! known when it enters, so no departure events are needed. A [`ScheduledLink`] decides at departure. A link is scheduled
//! if its queue discipline decides at departure, if it has delivery opportunities instead of a rate, or if it aggregates
//! packets as on Wi-Fi.

use crate::fifo::FifoLink;
use crate::link_spec::LinkSpec;
use crate::link_stats::{BacklogChange, LinkStats};
use crate::scheduled::ScheduledLink;
use crate::waits::{Records, Samples, Waits};
use dumbbell_units::{Interval, Stream, Time};

/// One link of a running simulation.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all links are FIFO links, which need no indirection")]
pub enum Link {
    /// Decides at arrival.
    Fifo(FifoLink),
    /// Decides at departure.
    Scheduled(Box<ScheduledLink>),
}

impl Link {
    /// An idle link. Counters cover only `window`.
    pub fn new(spec: &LinkSpec, random: Stream, window: Interval) -> Self {
        match ScheduledLink::new(spec, &random, window) {
            Some(link) => Link::Scheduled(Box::new(link)),
            None => Link::Fifo(FifoLink::new(spec, random, window)),
        }
    }

    /// The fast path of [`FifoLink::offer_plain`].
    #[inline(always)]
    pub fn offer_plain(&mut self, at: Time, size: u32) -> Option<Time> {
        match self {
            Link::Fifo(link) => link.offer_plain(at, size),
            Link::Scheduled(_) => None,
        }
    }

    /// Lets no packet take the fast path.
    pub fn observe(&mut self) {
        if let Link::Fifo(link) = self {
            link.observe();
        }
    }

    /// What it records, if it records anything.
    pub fn records(&self) -> Option<&Records> {
        match self {
            Link::Fifo(link) => link.records(),
            Link::Scheduled(link) => link.records(),
        }
    }

    /// What it records, for requests of more.
    pub fn records_mut(&mut self) -> &mut Records {
        match self {
            Link::Fifo(link) => link.records_mut(),
            Link::Scheduled(link) => link.records_mut(),
        }
    }

    fn recorded(&mut self) -> Option<&mut Records> {
        if self.records().is_some() { Some(self.records_mut()) } else { None }
    }

    /// Queueing times and marks so far, some of them ahead of the clock, if a probe requests them.
    pub fn take_samples(&mut self) -> Samples {
        self.recorded().map(Records::take_samples).unwrap_or_default()
    }

    /// The distribution of queueing times, if the link records it.
    pub fn waits(&self) -> Option<&Waits> {
        self.records()?.waits.as_ref()
    }

    /// The run may end before the window does, but not before `earliest`. The counting of what leaves later is deferred
    /// to [`settle`](Self::settle).
    pub fn expect_early_end(&mut self, earliest: Time) {
        if let Link::Fifo(link) = self {
            link.expect_early_end(earliest);
        }
    }

    /// Adds the queueing time at this link to every packet.
    pub fn stamp_queueing(&mut self) {
        match self {
            Link::Fifo(link) => link.stamp_queueing(),
            Link::Scheduled(link) => link.stamp_queueing(),
        }
    }

    /// The counters.
    pub fn stats(&self) -> &LinkStats {
        match self {
            Link::Fifo(link) => link.stats(),
            Link::Scheduled(link) => link.stats(),
        }
    }

    /// Changes of the backlog up to `now`, if a probe requests them.
    pub fn take_changes(&mut self, now: Time) -> Vec<BacklogChange> {
        match self {
            Link::Fifo(link) => link.take_changes(now),
            Link::Scheduled(_) => self.recorded().map(Records::take_changes).unwrap_or_default(),
        }
    }

    /// Counts packets that have left by `now`, which is no later than the end of the run.
    pub fn settle(&mut self, now: Time) {
        if let Link::Fifo(link) = self {
            link.settle(now);
        }
    }

    /// The run ends at `end`: counts packets that have entered by then, and their times up to the end. A scheduled link
    /// must have been advanced to `end`.
    pub fn end(&mut self, end: Time) {
        match self {
            Link::Fifo(link) => link.end(end),
            Link::Scheduled(link) => link.end(end),
        }
    }
}
