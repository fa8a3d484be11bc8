//! COBALT, as in CAKE (Linux `sch_cake`): CoDel and BLUE on one queue.
//!
//! CoDel drops or marks while sojourn times exceed a target, at times that follow the inverse square root of a count.
//! Unlike in RFC 8289, the count decreases gradually while the queue is not dropping. BLUE handles traffic that does not
//! respond: a probability rises when the queue overflows and falls when it is empty; it drops even ECN-capable packets.
//!
//! As in CAKE, packets that waited for at most four transmissions of an MTU are exempt, target and interval grow on
//! links on which an MTU takes more than two thirds of the target, an overflow drops from the head, and the last packet
//! is never dropped by the control law.
//!
//! Departures: the square root is exact; the MTU's time is that at the initial rate of the link. CAKE's shaper, host
//! isolation, tins, set-associative flow queues and filter for acknowledgements are not part of this discipline.

use super::codel::target_contradiction;
use super::{AtDeparture, Backlog, Contradiction, Discipline, Fifo, Queued, Reason, Setup, Slot};
use dumbbell_units::{Bytes, Limit, Stream, Time, params};

params! {
    /// A queue with CoDel and BLUE.
    pub struct Cobalt {
        /// Target sojourn time.
        target: Time = Time(5_000_000), "s", "[linux6 sch_cake]";
        /// Time above the target before the first drop.
        interval: Time = Time(100_000_000), "s", "[linux6 sch_cake]", |interval| interval.0 > 0, "a time above 0";
        /// Capacity of the queue; when it is exceeded, packets are dropped from the head.
        limit: Limit = Limit::Packets(1000), "packets or bytes", "RFC 8289 §5",
            |limit| !matches!(limit, Limit::Packets(0) | Limit::Bytes(0)), "a limit above 0";
        /// Maximum packet size on the link.
        mtu: Bytes = Bytes(1514), "bytes", "[linux6 sch_cake]",
            |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Increase of BLUE's probability at an overflow, at most once per target.
        increase: f64 = 1.0 / 256.0, "-", "[linux6 sch_cake]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Decrease of BLUE's probability when the queue is empty, at most once per target.
        decrease: f64 = 1.0 / 4096.0, "-", "[linux6 sch_cake]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// CoDel marks packets of ECN-capable transports instead of dropping them.
        ecn: bool = true, "-", "RFC 3168 §7";
    }
}

impl Discipline for Cobalt {
    const SUMMARY: &'static str =
        "CoDel and BLUE: controls delay like CoDel, and drops traffic that does not respond.";
    const SOURCE: &'static str = "[linux6 sch_cake]";

    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        target_contradiction(self.target, self.interval)
    }
}

/// One queue with its controllers.
#[derive(Clone, Debug)]
pub struct CobaltQueue {
    target: Time,
    interval: Time,
    /// Packets that waited for at most this time are exempt.
    exempt: Time,
    limit: Limit,
    increase: f64,
    decrease: f64,
    ecn: bool,
    queue: Fifo,
    count: u32,
    drop_next: Time,
    is_dropping: bool,
    /// BLUE's probability, and the time of its last change.
    p: f64,
    changed: Option<Time>,
}

impl CobaltQueue {
    fn control_law(&self, from: Time) -> Time {
        from + Time((self.interval.0 as f64 / f64::from(self.count.max(1)).sqrt()) as u64)
    }

    /// True if BLUE may change its probability, at most once in a target time.
    fn may_change(&self, now: Time) -> bool {
        self.changed.is_none_or(|changed| now.since(changed) > self.target)
    }

    /// The queue overflows.
    fn on_overflow(&mut self, now: Time) {
        if self.may_change(now) {
            self.p = (self.p + self.increase).min(1.0);
            self.changed = Some(now);
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue is empty.
    fn on_empty(&mut self, now: Time) {
        if self.p > 0.0 && self.may_change(now) {
            self.p = (self.p - self.decrease).max(0.0);
            self.changed = Some(now);
        }
        self.is_dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control_law(self.drop_next);
        }
    }

    /// Marks a departing packet if CoDel wants to and can. Returns true if the packet is to be dropped.
    fn decide(&mut self, slot: Slot, now: Time, backlog: &mut Backlog, random: &mut Stream) -> bool {
        let sojourn = now.since(backlog.packet(slot).entered);
        let is_due = self.count > 0 && now >= self.drop_next;
        if sojourn > self.target && sojourn > self.exempt {
            if !self.is_dropping {
                self.is_dropping = true;
                self.drop_next = self.control_law(now);
            }
            self.count = self.count.max(1);
        } else {
            self.is_dropping = false;
        }
        let mut drops = self.p > 0.0 && random.chance(self.p);
        if is_due && self.is_dropping {
            drops |= !(self.ecn && !drops && backlog.mark(slot));
            self.count = self.count.saturating_add(1);
            self.drop_next = self.control_law(self.drop_next);
        } else {
            while self.count > 0 && now >= self.drop_next {
                self.count -= 1;
                self.drop_next = self.control_law(self.drop_next);
            }
        }
        // Without a count, the time of the next drop is that at which CoDel starts over.
        if self.count == 0 {
            self.drop_next = now + self.interval;
        } else if now > self.drop_next && !drops {
            self.drop_next = now;
        }
        drops
    }
}

impl AtDeparture for Cobalt {
    type State = CobaltQueue;

    fn start(&self, setup: &Setup, _random: &mut Stream) -> CobaltQueue {
        let mtu_time = Time((u128::from(self.mtu.0) * 8_000_000_000 / u128::from(setup.rate.0)) as u64);
        let target = self.target.max(Time(mtu_time.0.saturating_mul(3) / 2));
        let interval = Time(self.interval.0.saturating_add(target.since(self.target).0));
        CobaltQueue {
            target,
            interval: interval.max(Time(target.0.saturating_mul(2))),
            exempt: Time(mtu_time.0.saturating_mul(4)),
            limit: self.limit,
            increase: self.increase,
            decrease: self.decrease,
            ecn: self.ecn,
            queue: Fifo::default(),
            count: 0,
            drop_next: Time::ZERO,
            is_dropping: false,
            p: 0.0,
            changed: None,
        }
    }

    #[inline]
    fn enqueue(
        state: &mut CobaltQueue,
        now: Time,
        packet: Queued,
        backlog: &mut Backlog,
        _random: &mut Stream,
    ) {
        backlog.push(&mut state.queue, packet);
        let exceeds = |limit: Limit, queue: &Fifo| match limit {
            Limit::Unlimited => false,
            Limit::Packets(limit) => queue.packets() as u64 > limit,
            Limit::Bytes(limit) => queue.packets() > 1 && queue.bytes() > limit,
        };
        while exceeds(state.limit, &state.queue) {
            state.on_overflow(now);
            if let Some(slot) = backlog.pop(&mut state.queue) {
                backlog.drop(slot, Reason::NoRoom);
            }
        }
    }

    #[inline]
    fn dequeue(
        state: &mut CobaltQueue,
        now: Time,
        backlog: &mut Backlog,
        random: &mut Stream,
    ) -> Option<Slot> {
        while let Some(slot) = backlog.pop(&mut state.queue) {
            if !state.decide(slot, now, backlog, random) || state.queue.packets() == 0 {
                return Some(slot);
            }
            backlog.drop(slot, Reason::Early);
        }
        state.on_empty(now);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::{Ecn, Rate};

    fn queue(discipline: &Cobalt, rate: u64) -> CobaltQueue {
        discipline.start(&Setup { rate: Rate(rate) }, &mut Stream::new(1, 0, "cobalt"))
    }

    /// Dequeues a packet each microsecond, each of which has waited for 6 ms, from a queue that is never empty. Returns
    /// the times of drops and marks, in microseconds.
    fn standing(state: &mut CobaltQueue, micros: std::ops::Range<u64>, ecn: Ecn) -> Vec<u64> {
        let mut random = Stream::new(1, 0, "cobalt");
        let mut signals = Vec::new();
        for micro in micros {
            let (now, mut backlog) = (Time(1_000_000_000 + 1000 * micro), Backlog::default());
            state.queue = Fifo::default();
            for token in 0..6 {
                let packet = Queued {
                    token,
                    entered: now.since(Time(6_000_000)).max(Time(1)),
                    size: 1000,
                    flow: 0,
                    ecn,
                    is_data: true,
                };
                backlog.push(&mut state.queue, packet);
            }
            assert!(Cobalt::dequeue(state, now, &mut backlog, &mut random).is_some());
            let (dropped, marks) = backlog.take_uncollected();
            signals.extend((0..dropped.count() as u64 + marks).map(|_| micro));
        }
        signals
    }

    #[test]
    fn drops_follow_the_control_law() {
        // The count is 1 while the first drop is awaited, and 2 after it: 100, then 100/sqrt(2) = 70.710678, 57.735027,
        // 50 and 44.721360 ms later. CoDel of RFC 8289 would wait for 100 ms twice.
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let mut state = queue(&Cobalt::default(), 1_000_000_000);
            assert_eq!(standing(&mut state, 0..330_000, ecn), [100_000, 170_711, 228_446, 278_446, 323_168]);
            assert_eq!(state.count, 6);
        }
    }

    #[test]
    fn the_count_decreases_while_the_queue_is_short() {
        let mut state = queue(&Cobalt::default(), 1_000_000_000);
        standing(&mut state, 0..280_000, Ecn::NotEct);
        assert_eq!(state.count, 5);
        // The next drop would be at 323.17 ms. A packet that has not waited passes at 400 ms: one step at 323.17, by
        // 100/sqrt(4) = 50 ms to 373.17, another by 57.74 to 430.90.
        let (mut backlog, mut random) = (Backlog::default(), Stream::new(1, 0, "cobalt"));
        let now = Time(1_400_000_000);
        let packet = Queued { token: 0, entered: now, size: 1000, flow: 0, ecn: Ecn::NotEct, is_data: true };
        state.queue = Fifo::default();
        backlog.push(&mut state.queue, packet);
        assert!(Cobalt::dequeue(&mut state, now, &mut backlog, &mut random).is_some());
        assert_eq!((state.count, state.drop_next.0 / 1_000_000), (3, 1430));
    }

    #[test]
    fn blue_rises_at_overflows_and_falls_when_idle() {
        let mut state = queue(&Cobalt { limit: Limit::Packets(2), ..Cobalt::default() }, 1_000_000_000);
        let (mut backlog, mut random) = (Backlog::default(), Stream::new(1, 0, "cobalt"));
        let mut enter = |state: &mut CobaltQueue, now: u64, backlog: &mut Backlog| {
            let packet =
                Queued { token: now, entered: Time(now), size: 1000, flow: 0, ecn: Ecn::Ect0, is_data: true };
            Cobalt::enqueue(state, Time(now), packet, backlog, &mut random);
        };
        // Three overflows within a target time are one step; another comes 6 ms later. The oldest packets are dropped.
        [1, 2, 3, 4, 5, 6_000_000].into_iter().for_each(|now| enter(&mut state, now, &mut backlog));
        assert_eq!(state.p, 2.0 / 256.0);
        let dropped: Vec<u64> = backlog.take_uncollected().0.map(|(packet, _)| packet.token).collect();
        assert_eq!(dropped, [1, 2, 3, 4]);
        let mut random = Stream::new(2, 0, "cobalt");
        while Cobalt::dequeue(&mut state, Time(12_000_000), &mut backlog, &mut random).is_some() {}
        assert_eq!(state.p, 2.0 / 256.0 - 1.0 / 4096.0);
    }

    #[test]
    fn slow_links_have_a_larger_target() {
        // At 1 Mbit/s, 1514 bytes take 12.112 ms: a target of 18.168 ms, and an interval of 100 + 13.168 ms.
        let state = queue(&Cobalt::default(), 1_000_000);
        assert_eq!((state.target, state.interval), (Time(18_168_000), Time(113_168_000)));
        assert_eq!(queue(&Cobalt::default(), 100_000_000).target, Time(5_000_000));
    }
}
