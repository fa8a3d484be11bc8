//! A unidirectional link: a queue, a transmitter of constant rate and a propagation delay.
//!
//! The queue is first-in first-out, so the time a packet leaves is known when it enters and a
//! link needs no event of its own but the arrival of its oldest packet in flight. At one instant
//! departures come before arrivals: a packet that enters when another's service ends finds that
//! one gone. Serialization delays carry their remainder below a nanosecond through a busy period.

use crate::impairment::{Impairment, ImpairmentSpec};
use crate::packet::{Packet, PacketKind};
use crate::queue::{DropTail, QueueSpec};
use dumbbell_units::{Rate, Stream, Time, params};
use std::collections::VecDeque;

params! {
    /// A unidirectional link.
    pub struct LinkSpec requires [name, from, to, rate, delay] {
        /// Name, unique among links.
        name: String = String::new(), "-", "-", |name| !name.is_empty(), "a name";
        /// Node at the sending end.
        from: String = String::new(), "-", "-";
        /// Node at the receiving end.
        to: String = String::new(), "-", "-";
        /// Rate of the transmitter.
        rate: Rate = Rate(1), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0, such as \"1.6 Mbit/s\"";
        /// Propagation delay.
        delay: Time = Time::ZERO, "s", "-";
        /// Queue discipline.
        queue: QueueSpec = QueueSpec::default(), "-", "-";
        /// Losses that are not the queue's.
        impairments: Vec<ImpairmentSpec> = Vec::new(), "-", "-";
    }
}

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It reaches the far end at this time.
    Arrives(Time),
    /// The queue had no room.
    DroppedByQueue,
    /// An impairment lost it.
    DroppedByImpairment,
}

/// What a link has counted within the measurement window.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkStats {
    /// Packets offered.
    pub packets: u64,
    /// Packets that found no room.
    pub drops_queue: u64,
    /// Packets lost by impairments.
    pub drops_impairment: u64,
    /// Nanoseconds of transmission.
    pub busy: u64,
    /// Nanoseconds that packets waited, summed.
    pub waited: u128,
    /// Most packets waiting behind the one in service.
    pub backlog_max: usize,
}

/// A packet in the system: when it entered, when it departs, and its size.
#[derive(Clone, Copy, Debug)]
struct Departure {
    entered: Time,
    at: Time,
    size: u32,
}

/// A change of the backlog, for probes.
#[derive(Clone, Copy, Debug)]
pub struct BacklogChange {
    /// When.
    pub at: Time,
    /// Packets waiting from then on, behind the one in service.
    pub waiting: usize,
}

/// One link of a running simulation. `P` is what packets carry.
#[derive(Clone, Debug)]
pub struct Link<P> {
    rate: u64,
    delay: Time,
    queue: DropTail,
    impairments: Vec<Impairment>,
    random: Stream,
    /// Packets in the system, oldest in service.
    departures: VecDeque<Departure>,
    bytes_in_system: u64,
    busy_until: Time,
    remainder: u64,
    /// Size of the last packet with its serialization delay: whole nanoseconds and remainder.
    last_size: (u32, u64, u64),
    in_flight: VecDeque<(Time, Packet<P>)>,
    window: (Time, Time),
    stats: LinkStats,
    /// Changes of the backlog since they were last taken, if a probe wants them.
    changes: Option<Vec<BacklogChange>>,
}

impl<P: Copy> Link<P> {
    /// An idle link. Only what happens within `window` is counted.
    pub fn new(spec: &LinkSpec, random: Stream, window: (Time, Time), traced: bool) -> Self {
        let QueueSpec::DropTail(queue) = spec.queue.clone();
        Link {
            rate: spec.rate.0,
            delay: spec.delay,
            queue,
            impairments: spec.impairments.iter().map(Impairment::new).collect(),
            random,
            departures: VecDeque::new(),
            bytes_in_system: 0,
            busy_until: Time::ZERO,
            remainder: 0,
            last_size: (0, 0, 0),
            in_flight: VecDeque::new(),
            window,
            stats: LinkStats::default(),
            changes: traced.then(Vec::new),
        }
    }

    /// What has been counted.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Packets on their way whose arrival is still to come.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Changes of the backlog up to `now`, if a probe wants them.
    pub fn take_changes(&mut self, now: Time) -> Vec<BacklogChange> {
        self.depart(now);
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A packet enters at `at`, no earlier than the one before it.
    #[inline]
    pub fn offer(&mut self, at: Time, packet: &Packet<P>) -> Offer {
        let counted = at >= self.window.0 && at < self.window.1;
        self.stats.packets += u64::from(counted);
        self.depart(at);
        let in_service = self.departures.front().map(|packet| packet.size);
        let waiting = self.departures.len().saturating_sub(1);
        let waiting_bytes = self.bytes_in_system - in_service.map_or(0, u64::from);
        if !self.queue.admits(packet.size, (waiting, waiting_bytes), in_service) {
            self.stats.drops_queue += u64::from(counted);
            return Offer::DroppedByQueue;
        }
        let begins = self.begin_service(at);
        let ends = begins + self.serialization(packet.size);
        self.busy_until = ends;
        self.departures.push_back(Departure { entered: at, at: ends, size: packet.size });
        self.bytes_in_system += u64::from(packet.size);
        self.count(at, begins, ends);
        let is_data = packet.kind != PacketKind::Ack;
        for impairment in &mut self.impairments {
            if impairment.strikes(is_data, &mut self.random) {
                self.stats.drops_impairment += u64::from(counted);
                return Offer::DroppedByImpairment;
            }
        }
        Offer::Arrives(ends + self.delay)
    }

    fn depart(&mut self, at: Time) {
        if self.changes.is_none() && self.busy_until <= at {
            self.departures.clear();
            self.bytes_in_system = 0;
            return;
        }
        while let Some(&departure) = self.departures.front()
            && departure.at <= at
        {
            self.departures.pop_front();
            self.bytes_in_system -= u64::from(departure.size);
            if let Some(changes) = &mut self.changes {
                let waiting = self.departures.len().saturating_sub(1);
                changes.push(BacklogChange { at: departure.at, waiting });
            }
        }
    }

    fn begin_service(&mut self, at: Time) -> Time {
        if self.busy_until > at {
            self.busy_until
        } else {
            if self.busy_until < at {
                self.remainder = 0;
            }
            at
        }
    }

    fn serialization(&mut self, size: u32) -> Time {
        if self.last_size.0 != size {
            let bits = u64::from(size) * 8 * 1_000_000_000;
            self.last_size = (size, bits / self.rate, bits % self.rate);
        }
        let (_, mut whole, part) = self.last_size;
        self.remainder += part;
        if self.remainder >= self.rate {
            self.remainder -= self.rate;
            whole += 1;
        }
        Time(whole)
    }

    fn count(&mut self, at: Time, begins: Time, ends: Time) {
        let (from, to) = self.window;
        let overlap = |start: Time, end: Time| end.min(to).since(start.max(from)).0;
        self.stats.busy += overlap(begins, ends);
        if begins > at {
            self.stats.waited += u128::from(overlap(at, begins));
            if at >= from && at < to {
                let waiting = self.departures.len() - 1;
                self.stats.backlog_max = self.stats.backlog_max.max(waiting);
            }
        }
        if let Some(changes) = &mut self.changes {
            changes.push(BacklogChange { at, waiting: self.departures.len() - 1 });
        }
    }

    /// Takes back what was counted beyond `end`, where a run has ended before its window.
    pub fn end(&mut self, end: Time) {
        self.depart(end);
        let (from, to) = self.window;
        let beyond = |begins: Time, ends: Time| ends.min(to).since(begins.max(end).max(from)).0;
        for packet in &self.departures {
            let begins = packet.at - Time(u64::from(packet.size) * 8_000_000_000 / self.rate);
            self.stats.busy = self.stats.busy.saturating_sub(beyond(begins, packet.at));
            let waited = u128::from(beyond(packet.entered, begins));
            self.stats.waited = self.stats.waited.saturating_sub(waited);
        }
    }

    /// Takes back a drop that the end of the run forestalled.
    pub fn forget_drop(&mut self, by_queue: bool) {
        let drops = if by_queue { &mut self.stats.drops_queue } else { &mut self.stats.drops_impairment };
        *drops = drops.saturating_sub(1);
    }

    /// Keeps a packet until it arrives at `at`. True if it is the oldest in flight, so that its
    /// arrival must be scheduled.
    #[inline]
    pub fn launch(&mut self, at: Time, packet: Packet<P>) -> bool {
        self.in_flight.push_back((at, packet));
        self.in_flight.len() == 1
    }

    /// The oldest packet in flight arrives. Also says when the next one will.
    #[inline]
    pub fn land(&mut self) -> Option<(Packet<P>, Option<Time>)> {
        let (_, packet) = self.in_flight.pop_front()?;
        Some((packet, self.in_flight.front().map(|&(at, _)| at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Limit;

    fn link(rate: u64, limit: Limit) -> Link<()> {
        let spec = LinkSpec {
            name: "l".into(),
            rate: Rate(rate),
            delay: Time(1000),
            queue: QueueSpec::DropTail(DropTail { limit, counts_service: false }),
            ..LinkSpec::default()
        };
        Link::new(&spec, Stream::new(1, 0, "l"), (Time::ZERO, Time::NEVER), true)
    }

    fn packet(size: u32) -> Packet<()> {
        Packet {
            size,
            hop: 0,
            owner: 0,
            generation: 0,
            kind: PacketKind::Data,
            sent_at: Time::ZERO,
            payload: (),
        }
    }

    #[test]
    fn a_packet_waits_for_the_ones_before_it() {
        // 1000 bytes at 8 Mbit/s take 1 ms.
        let mut link = link(8_000_000, Limit::Packets(1));
        assert_eq!(link.offer(Time(0), &packet(1000)), Offer::Arrives(Time(1_001_000)));
        assert_eq!(link.offer(Time(0), &packet(1000)), Offer::Arrives(Time(2_001_000)));
        assert_eq!(link.offer(Time(0), &packet(1000)), Offer::DroppedByQueue);
        assert_eq!(link.offer(Time(1_000_000), &packet(1000)), Offer::Arrives(Time(3_001_000)));
        assert_eq!(link.stats().waited, 1_000_000 + 1_000_000);
        // The last packet enters at 1 ms, waits until 2 ms and departs at 3 ms.
        link.end(Time(1_500_000));
        assert_eq!((link.stats().waited, link.stats().busy), (1_500_000, 1_500_000));
        assert_eq!(link.stats().backlog_max, 1);
    }

    #[test]
    fn remainders_add_up_over_a_busy_period() {
        // 1 byte at 3 bit/s takes 8/3 s: three of them take 8 s exactly.
        let mut link = link(3, Limit::Unlimited);
        let mut last = Offer::DroppedByQueue;
        for _ in 0..3 {
            last = link.offer(Time(0), &packet(1));
        }
        assert_eq!(last, Offer::Arrives(Time(8_000_001_000)));
    }

    #[test]
    fn the_backlog_is_traced_at_arrivals_and_departures() {
        let mut link = link(8_000_000, Limit::Unlimited);
        link.offer(Time(0), &packet(1000));
        link.offer(Time(0), &packet(1000));
        let changes = link.take_changes(Time(5_000_000));
        let seen: Vec<_> = changes.iter().map(|change| (change.at.0, change.waiting)).collect();
        assert_eq!(seen, [(0, 0), (0, 1), (1_000_000, 0), (2_000_000, 0)]);
    }
}
