//! Parameters of a link.

use crate::changes::{Downtime, LinkChange, Outage};
use crate::impairment::ImpairmentSpec;
use crate::opportunities::OpportunitySpec;
use crate::queues::QueueSpec;
use crate::synthetic::SyntheticSpec;
use crate::wifi::WifiSpec;
use dumbbell_units::{Rate, Time, params};
use std::borrow::Cow;

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
        let delays =
            |spec: &ImpairmentSpec| matches!(spec, ImpairmentSpec::Jitter(_) | ImpairmentSpec::Slot(_));
        let is_delayed = || self.impairments.iter().any(delays);
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
    pub fn realized(&self, duration: Time, seed_and_run: (u64, u64)) -> Cow<'_, LinkSpec> {
        let Some(trace) = &self.trace else { return Cow::Borrowed(self) };
        let course = trace.course((&self.name, self.delay), duration, seed_and_run);
        let mut link = LinkSpec { trace: None, ..self.clone() };
        link.changes.extend(course.changes);
        link.outages.extend(course.outages);
        link.impairments.extend(course.impairments);
        link.opportunities = course.opportunities.or(link.opportunities);
        Cow::Owned(link)
    }

    /// Minimum propagation delay during the run.
    pub fn min_delay(&self) -> Time {
        let delays = self.changes.iter().filter_map(|change| change.delay);
        delays.chain([self.delay]).min().unwrap_or(self.delay)
    }
}
