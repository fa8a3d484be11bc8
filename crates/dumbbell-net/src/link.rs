//! Unidirectional links: a queue, a transmitter and a propagation delay.
//!
//! There are two kinds. A [`FifoLink`] is first in, first out and decides at arrival. The departure time of a packet is
//! known when it enters, so no departure events are needed. A [`ScheduledLink`] decides at departure. A link is scheduled
//! if its queue discipline decides at departure, if it has delivery opportunities instead of a rate, or if it aggregates
//! packets as on Wi-Fi.

use crate::fifo::FifoLink;
use crate::impairment::ImpairmentSpec;
use crate::opportunities::OpportunitySpec;
use crate::queues::{QueueSpec, Reason};
use crate::scheduled::ScheduledLink;
use crate::synthetic::SyntheticSpec;
use crate::waits::{Samples, Waits};
use crate::wifi::WifiSpec;
use dumbbell_units::{Interval, Rate, Stream, Time, choice, params};
use std::borrow::Cow;

params! {
    /// A change of a link while the simulation runs.
    pub struct LinkChange requires [at] {
        /// Time of the change; a packet in transmission continues at the new rate.
        at: Time = Time::ZERO, "s", "-";
        /// Rate from then on; unchanged if not given.
        rate: Option<Rate> = None, "bit/s", "-",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0, such as \"1.6 Mbit/s\"";
        /// Propagation delay of packets that are transmitted completely at this time or later; unchanged if not given.
        delay: Option<Time> = None, "s", "-";
    }
}

impl LinkChange {
    /// True if it gives neither a rate nor a delay.
    fn is_empty(&self) -> bool {
        self.rate.is_none() && self.delay.is_none()
    }
}

choice! {
    /// What happens to packets while a link is down.
    pub enum Downtime {
        /// The transmitter stops, and continues with the same packet afterwards; the queue fills meanwhile.
        Hold = "hold",
        /// Packets whose transmission ends in the meantime are lost.
        Drop = "drop",
    }
}

params! {
    /// A time in which a link is down.
    pub struct Outage requires [from, until] {
        /// Beginning.
        from: Time = Time::ZERO, "s", "-";
        /// End: packets pass again from this time on.
        until: Time = Time::ZERO, "s", "-";
        /// What happens to packets. With `hold`, opportunities within the outage are unused.
        packets: Downtime = Downtime::Drop, "-", "-";
    }
}

impl Outage {
    /// True if outages are in order, disjoint, and last for a time.
    fn are_ordered(outages: &[Outage]) -> bool {
        outages.iter().all(|outage| outage.from < outage.until && outage.until < Time::NEVER)
            && outages.windows(2).all(|pair| pair[0].until <= pair[1].from)
    }

    /// Beginnings and ends of the outages that hold packets, in order.
    pub(crate) fn holding(outages: &[Outage]) -> Vec<(Time, Time)> {
        Outage::of_kind(outages, Downtime::Hold)
    }

    /// Beginnings and ends of the outages that lose packets, in order.
    pub(crate) fn losing(outages: &[Outage]) -> Vec<(Time, Time)> {
        Outage::of_kind(outages, Downtime::Drop)
    }

    fn of_kind(outages: &[Outage], kind: Downtime) -> Vec<(Time, Time)> {
        outages.iter().filter(|outage| outage.packets == kind).map(|o| (o.from, o.until)).collect()
    }
}

params! {
    /// A unidirectional link.
    pub struct LinkSpec requires [name, from, to, rate, delay] {
        /// Name, unique among links.
        name: String = String::new(), "-", "-", |name| !name.is_empty(), "a name";
        /// Node at the sending end.
        from: String = String::new(), "-", "-";
        /// Node at the receiving end.
        to: String = String::new(), "-", "-";
        /// Rate of the transmitter. With `opportunities` or `trace`, the nominal rate for queue disciplines.
        rate: Rate = Rate(1), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0, such as \"1.6 Mbit/s\"";
        /// Propagation delay.
        delay: Time = Time::ZERO, "s", "-";
        /// Queue discipline.
        queue: QueueSpec = QueueSpec::default(), "-", "-";
        /// Losses other than queue drops, varying delays, reordering and duplication, applied in this order.
        impairments: Vec<ImpairmentSpec> = Vec::new(), "-", "-",
            |specs| ImpairmentSpec::duplicate_at_most_once(specs), "impairments, at most one of them duplicate";
        /// Delivery opportunities in place of the rate.
        opportunities: Option<OpportunitySpec> = None, "ms", "[netravali2015 §3.2]";
        /// Record the distribution of queueing times, for the percentiles in the results.
        wait_percentiles: bool = false, "-", "-";
        /// Changes of rate and delay, in order of time.
        changes: Vec<LinkChange> = Vec::new(), "-", "-",
            |changes| changes.windows(2).all(|pair| pair[0].at < pair[1].at)
                && !changes.iter().any(LinkChange::is_empty),
            "changes at ascending times, each with a rate or a delay";
        /// Times in which the link is down, in order.
        outages: Vec<Outage> = Vec::new(), "s", "-",
            |outages| Outage::are_ordered(outages), "disjoint times in order, each with `from` before `until`";
        /// A synthetic link that changes by itself, in place of rate, opportunities and changes.
        trace: Option<SyntheticSpec> = None, "-", "-";
        /// Aggregation of packets as on Wi-Fi; the rate is that of the physical layer.
        wifi: Option<WifiSpec> = None, "-", "-";
    }
}

impl LinkSpec {
    /// True if the link decides at departure.
    pub fn is_scheduled(&self) -> bool {
        self.queue.is_scheduled()
            || self.opportunities.is_some()
            || self.wifi.is_some()
            || self.trace.as_ref().is_some_and(SyntheticSpec::has_opportunities)
    }

    /// True if packets arrive at the far end in the order in which they were transmitted, and each at most once.
    pub fn keeps_order(&self) -> bool {
        // A packet that an impairment delays is overtaken when the delay of the link decreases.
        let changes_delay = self.trace.is_some() || self.changes.iter().any(|change| change.delay.is_some());
        let is_delayed = || self.impairments.iter().any(|spec| matches!(spec, ImpairmentSpec::Jitter(_)));
        ImpairmentSpec::keep_order(&self.impairments) && !(changes_delay && is_delayed())
    }

    /// True if packets may be lost after their transmission.
    pub fn loses_packets(&self) -> bool {
        let has_losing_trace = self.trace.as_ref().is_some_and(SyntheticSpec::loses_packets);
        has_losing_trace
            || !self.impairments.is_empty()
            || self.wifi.is_some()
            || self.outages.iter().any(|outage| outage.packets == Downtime::Drop)
    }

    /// The link with what its trace consists of in a run of this length.
    pub fn realized(&self, duration: Time, (seed, run): (u64, u64)) -> Cow<'_, LinkSpec> {
        let Some(trace) = &self.trace else { return Cow::Borrowed(self) };
        let mut link = LinkSpec { trace: None, ..self.clone() };
        trace.add_to(&mut link, duration, (seed, run));
        Cow::Owned(link)
    }

    /// Minimum propagation delay during the run.
    pub fn min_delay(&self) -> Time {
        let delays = self.changes.iter().filter_map(|change| change.delay);
        delays.chain([self.delay]).min().unwrap_or(self.delay)
    }
}

/// Why a link dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue dropped it.
    Queue(Reason),
    /// An impairment lost it after its transmission.
    Impairment,
}

/// Counters of a link within the measurement window.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkStats {
    /// Packets offered.
    pub packets: u64,
    /// Packets dropped because the queue was full.
    pub drops_queue: u64,
    /// Packets that active queue management dropped early.
    pub drops_early: u64,
    /// Packets that a policer dropped.
    pub drops_policer: u64,
    /// Packets lost by impairments and in outages.
    pub drops_impairment: u64,
    /// Packets marked "congestion experienced".
    pub marks: u64,
    /// Transmission time, in nanoseconds. On a link with opportunities, the same fraction of the window as that of their
    /// bytes which packets used; known at the end.
    pub busy: u64,
    /// Total queueing time of all packets, in nanoseconds.
    pub waited: u128,
    /// Maximum number of packets waiting behind the one in service, including those waiting when the window begins.
    pub backlog_max: u32,
    /// Copies that impairments have made and that arrive besides their packets; saturates.
    pub duplicates: u32,
}

impl LinkStats {
    /// Packets dropped for any reason.
    pub fn drops(&self) -> u64 {
        self.drops_queue + self.drops_early + self.drops_policer + self.drops_impairment
    }

    /// Mean queueing time of a packet, in seconds: by Little's law, the total queueing time divided by the number of
    /// packets that the queue did not drop.
    pub fn wait_mean(&self) -> Option<f64> {
        let dropped = self.drops_queue + self.drops_early + self.drops_policer;
        let sent = self.packets.saturating_sub(dropped);
        (sent > 0).then(|| self.waited as f64 * 1e-9 / sent as f64)
    }

    pub(crate) fn count_duplicate(&mut self, is_counted: bool) {
        self.duplicates = self.duplicates.saturating_add(u32::from(is_counted));
    }

    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        *match reason {
            DropReason::Queue(Reason::NoRoom) => &mut self.drops_queue,
            DropReason::Queue(Reason::Early) => &mut self.drops_early,
            DropReason::Queue(Reason::Policer) => &mut self.drops_policer,
            DropReason::Impairment => &mut self.drops_impairment,
        } += 1;
    }
}

/// A change of the backlog, for probes.
#[derive(Clone, Copy, Debug)]
pub struct BacklogChange {
    /// Time of the change.
    pub at: Time,
    /// Packets waiting behind the one in service from then on.
    pub waiting: usize,
}

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

    /// Records every change of the backlog for [`take_changes`](Self::take_changes).
    pub fn trace_backlog(&mut self) {
        match self {
            Link::Fifo(link) => link.trace_backlog(),
            Link::Scheduled(link) => link.trace_backlog(),
        }
    }

    /// Records every mark, and every queueing time if requested, for [`take_samples`](Self::take_samples).
    pub fn trace_samples(&mut self, with_waits: bool) {
        match self {
            Link::Fifo(link) => link.trace_samples(with_waits),
            Link::Scheduled(link) => link.trace_samples(with_waits),
        }
    }

    /// Number of changes of the backlog, queueing times and marks recorded so far.
    pub fn samples(&self) -> usize {
        match self {
            Link::Fifo(link) => link.samples(),
            Link::Scheduled(link) => link.samples(),
        }
    }

    /// Queueing times and marks so far, some of them ahead of the clock, if a probe requests them.
    pub fn take_samples(&mut self) -> Samples {
        match self {
            Link::Fifo(link) => link.take_samples(),
            Link::Scheduled(link) => link.take_samples(),
        }
    }

    /// The distribution of queueing times, if the link records it.
    pub fn waits(&self) -> Option<&Waits> {
        match self {
            Link::Fifo(link) => link.waits(),
            Link::Scheduled(link) => link.waits(),
        }
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
            Link::Scheduled(link) => link.take_changes(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_in_order_disjoint_and_last_for_a_time() {
        let are_ordered = |times: &[(u64, u64)]| {
            let outage =
                |&(from, until)| Outage { from: Time(from), until: Time(until), ..Outage::default() };
            Outage::are_ordered(&times.iter().map(outage).collect::<Vec<_>>())
        };
        assert!(are_ordered(&[(0, 1), (1, 3), (5, 6)]));
        for wrong in
            [[(2, 2), (3, 4)], [(2, 1), (3, 4)], [(0, 2), (1, 3)], [(3, 4), (0, 1)], [(0, 1), (2, u64::MAX)]]
        {
            assert!(!are_ordered(&wrong), "{wrong:?}");
        }
    }
}
