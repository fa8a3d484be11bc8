//! A link of either kind that is driven by an external clock, without an event loop or a scenario.
//!
//! The driver enqueues packets, reads the time of the next event, and at that time or later polls for packets that have
//! arrived at the far end and for drops.
//!
//! ```
//! use dumbbell_net::{ClockedLink, LinkSpec, Packet, QueueSpec};
//! use dumbbell_units::{Interval, Rate, Stream, Time};
//!
//! let queue = QueueSpec::named("codel").unwrap_or_default();
//! let spec = LinkSpec { rate: Rate(8_000_000), delay: Time(5_000_000), queue, ..LinkSpec::default() };
//! let always = Interval { from: Time::ZERO, until: Time::NEVER };
//! let mut link = ClockedLink::new(&spec, Stream::new(1, 0, "link"), always);
//!
//! // 1000 bytes at 8 Mbit/s take 1 ms; propagation takes another 5 ms.
//! link.enqueue(Time::ZERO, &Packet::of_size(1000, "a frame"));
//! let mut now = link.next_departure();
//! assert_eq!((now, link.poll_departure(now).is_none()), (Time(1_000_000), true));
//! now = link.next_departure();
//! let packet = link.poll_departure(now);
//! assert_eq!((now, packet.map(|packet| packet.payload)), (Time(6_000_000), Some("a frame")));
//! assert_eq!(link.next_departure(), Time::NEVER);
//! ```

use crate::fifo::Offer;
use crate::flight::Flights;
use crate::link::Link;
use crate::link_spec::LinkSpec;
use crate::link_stats::{DropReason, LinkStats};
use crate::packet::Packet;
use dumbbell_units::{Interval, Stream, Time};
use std::collections::VecDeque;

/// A link with its packets.
#[derive(Clone, Debug)]
pub struct ClockedLink<P> {
    link: Link,
    /// Packets on the link, by token.
    packets: Flights<P>,
    /// Packets in flight to the far end, with their arrival times.
    arriving: VecDeque<(Time, Packet<P>)>,
    dropped: VecDeque<(Time, DropReason, Packet<P>)>,
}

/// Adds an arrival in order of time, behind others of the same time.
fn arrive<P>(arriving: &mut VecDeque<(Time, Packet<P>)>, at: Time, packet: Packet<P>) {
    let place = match arriving.back() {
        Some(&(last, _)) if last > at => arriving.partition_point(|&(other, _)| other <= at),
        _ => arriving.len(),
    };
    arriving.insert(place, (at, packet));
}

impl<P: Copy> ClockedLink<P> {
    /// An idle link. Counters cover only `window`.
    pub fn new(spec: &LinkSpec, random: Stream, window: Interval) -> Self {
        let link = Link::new(spec, random, window);
        ClockedLink { link, packets: Flights::default(), arriving: VecDeque::new(), dropped: VecDeque::new() }
    }

    /// Adds the queueing time at this link to every packet.
    pub fn stamp_queueing(&mut self) {
        self.link.stamp_queueing();
    }

    /// A packet enters at `now`, no earlier than the time of any previous call.
    pub fn enqueue(&mut self, now: Time, packet: &Packet<P>) {
        match &mut self.link {
            Link::Fifo(link) => {
                let mut packet = *packet;
                match link.offer(now, &mut packet) {
                    Offer::Arrives(at) => arrive(&mut self.arriving, at, packet),
                    Offer::ArrivesTwice => {
                        let both = link.both_arrivals();
                        both.into_iter().for_each(|at| arrive(&mut self.arriving, at, packet));
                    }
                    Offer::Dropped(reason) => self.dropped.push_back((now, reason, packet)),
                }
            }
            Link::Scheduled(link) => {
                let token = u64::from(self.packets.put(packet));
                link.enqueue(now, token, packet);
                self.collect(now);
            }
        }
    }

    /// Time of the next poll; [`Time::NEVER`] if the link is empty.
    pub fn next_departure(&self) -> Time {
        let departure = match &self.link {
            Link::Fifo(_) => Time::NEVER,
            Link::Scheduled(link) => link.next_departure(),
        };
        self.arriving.front().map_or(departure, |&(at, _)| at.min(departure))
    }

    /// The next packet that has arrived at the far end by `now`.
    pub fn poll_departure(&mut self, now: Time) -> Option<Packet<P>> {
        self.poll_arrival(now).map(|(_, packet)| packet)
    }

    /// The same with its arrival time, for drivers that poll late.
    pub fn poll_arrival(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        self.collect(now);
        self.arriving.front().filter(|&&(at, _)| at <= now)?;
        self.arriving.pop_front()
    }

    /// The next dropped packet, with time and reason.
    pub fn poll_drop(&mut self) -> Option<(Time, DropReason, Packet<P>)> {
        self.dropped.pop_front()
    }

    /// The counters.
    pub fn stats(&self) -> &LinkStats {
        self.link.stats()
    }

    /// Collects the departures of a scheduled link up to `now`.
    fn collect(&mut self, now: Time) {
        let Link::Scheduled(link) = &mut self.link else { return };
        while let Some(departed) = link.poll_departure(now) {
            let mut packet = *self.packets.packet(departed.token as u32);
            self.packets.release(departed.token as u32);
            packet.ecn = departed.ecn;
            packet.queueing += departed.waited;
            arrive(&mut self.arriving, departed.arrives, packet);
            if departed.arrives_again < Time::NEVER {
                arrive(&mut self.arriving, departed.arrives_again, packet);
            }
        }
        while let Some(dropped) = link.poll_drop() {
            let packet = *self.packets.packet(dropped.token as u32);
            self.packets.release(dropped.token as u32);
            self.dropped.push_back((dropped.at, dropped.reason, packet));
        }
    }
}
