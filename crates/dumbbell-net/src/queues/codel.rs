//! CoDel [RFC 8289]: keeps the standing queue at a target delay.
//!
//! The sojourn time of a packet is known when it departs. Once sojourn times have been above the target for an
//! interval, packets are dropped from the head of the queue. The time between drops starts at one interval and
//! decreases with the inverse square root of their number, until the sojourn time of a packet is below the target.
//!
//! Linux has `strict`, and an optional `ce_threshold`. ECN follows Linux: an ECN-capable packet is marked instead of dropped, and is sent. The square root is exact; Linux
//! approximates it with Newton's method.

use super::{AtDeparture, Backlog, Contradiction, Discipline, Fifo, Queued, Reason, Setup, Slot, has_room};
use dumbbell_units::{Bytes, Ecn, Limit, Stream, Time, params};

params! {
    /// A queue with CoDel.
    pub struct CoDel {
        /// Target sojourn time; a queue above it is a standing queue.
        target: Time = Time(5_000_000), "s", "RFC 8289 §4.4";
        /// Time above the target before the first drop; about the maximum common round-trip time.
        interval: Time = Time(100_000_000), "s", "RFC 8289 §4.3",
            |interval| interval.0 > 0, "a time above 0";
        /// Capacity of the queue; packets that do not fit are dropped on arrival.
        limit: Limit = Limit::Packets(1000), "packets or bytes", "RFC 8289 §5";
        /// No drops while the backlog is at most this; the maximum packet size on the link.
        mtu: Bytes = Bytes(1514), "bytes", "RFC 8289 §5";
        /// Mark packets of ECN-capable transports instead of dropping them.
        ecn: bool = true, "-", "RFC 3168 §7";
        /// The first drop needs more than one interval above the target, as in Linux, not just one.
        strict: bool = false, "-", "[linux6 codel_impl.h]";
        /// Mark every ECN-capable packet with a longer sojourn time; none if not given.
        ce_threshold: Option<Time> = None, "s", "[linux6 codel_impl.h]";
    }
}

impl Discipline for CoDel {
    const SUMMARY: &'static str =
        "Controlled delay: drops or marks at departure while packets wait longer than a target.";
    const SOURCE: &'static str = "RFC 8289";

    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        target_contradiction(self.target, self.interval)
    }
}

/// With a target above the interval, standing queues would not be detected.
pub(super) fn target_contradiction(target: Time, interval: Time) -> Option<Contradiction> {
    (target > interval).then(|| ("target", format!("a time of at most the interval, {interval}")))
}

/// Parameters of the control law.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rule {
    /// Acceptable sojourn time.
    pub target: Time,
    /// Time before the first drop.
    pub interval: Time,
    /// No drops while the backlog is at most this many bytes.
    pub mtu: u64,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Time from the first packet above the target until drops begin.
    pub first_interval: Time,
    /// The backlog for `mtu` is that of all queues.
    pub counts_all: bool,
    /// Sojourn time above which every ECN-capable packet is marked.
    pub ce_threshold: Time,
}

impl Rule {
    /// A rule with `strict` and `ce_threshold` as for [`CoDel`]. The first interval ends a nanosecond later if strict.
    pub(super) fn with(self, strict: bool, ce_threshold: Option<Time>) -> Rule {
        let first_interval = self.interval + Time(u64::from(strict));
        Rule { first_interval, ce_threshold: ce_threshold.unwrap_or(Time::NEVER), ..self }
    }

    /// Marks a departing packet that has waited for longer than `ce_threshold`, unless it is marked.
    #[inline]
    pub(super) fn mark_late(&self, now: Time, slot: Slot, backlog: &mut Backlog) {
        if self.ce_threshold == Time::NEVER {
            return;
        }
        let packet = backlog.packet(slot);
        if now.since(packet.entered) > self.ce_threshold && packet.ecn != Ecn::Ce {
            backlog.mark(slot);
        }
    }

    /// Time of the next drop after `count` drops.
    fn control_law(&self, from: Time, count: u32) -> Time {
        from + Time((self.interval.0 as f64 / f64::from(count).sqrt()) as u64)
    }
}

/// The state of CoDel for one queue.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Time at which the sojourn time will have been above the target for an interval; [`Time::NEVER`] while it is below.
    first_above: Time,
    drop_next: Time,
    /// Packets dropped in this dropping state.
    count: u32,
    /// The count at the beginning of this dropping state.
    last_count: u32,
    is_dropping: bool,
}

impl Default for Controller {
    fn default() -> Self {
        Controller {
            first_above: Time::NEVER,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            is_dropping: false,
        }
    }
}

impl Controller {
    /// Dequeues a packet, and reports whether it may be dropped [RFC 8289 §5.6].
    #[inline(always)]
    fn pop(
        &mut self,
        rule: &Rule,
        now: Time,
        queue: &mut Fifo,
        backlog: &mut Backlog,
    ) -> Option<(Slot, bool)> {
        let Some(slot) = backlog.pop(queue) else {
            self.first_above = Time::NEVER;
            return None;
        };
        let waiting = if rule.counts_all { backlog.bytes() } else { queue.bytes() };
        if now.since(backlog.packet(slot).entered) < rule.target || waiting <= rule.mtu {
            self.first_above = Time::NEVER;
            return Some((slot, false));
        }
        if self.first_above == Time::NEVER {
            self.first_above = now + rule.first_interval;
        }
        Some((slot, now >= self.first_above))
    }

    /// Dequeues the packet that departs at `now` [RFC 8289 §5.5]; `None` if none is left.
    #[inline(always)]
    pub fn dequeue(
        &mut self,
        rule: &Rule,
        now: Time,
        queue: &mut Fifo,
        backlog: &mut Backlog,
    ) -> Option<Slot> {
        match self.pop(rule, now, queue, backlog) {
            Some((slot, true)) => self.dequeue_standing(rule, now, slot, queue, backlog),
            next => {
                self.is_dropping = false;
                next.map(|(slot, _)| slot)
            }
        }
    }

    /// The same for a queue that has been above the target for an interval; `slot` is its first packet.
    #[cold]
    fn dequeue_standing(
        &mut self,
        rule: &Rule,
        now: Time,
        mut slot: Slot,
        queue: &mut Fifo,
        backlog: &mut Backlog,
    ) -> Option<Slot> {
        if !self.is_dropping {
            let is_marked = rule.ecn && backlog.mark(slot);
            self.begin(rule, now);
            if is_marked {
                return Some(slot);
            }
            backlog.drop(slot, Reason::Early);
            return self.pop(rule, now, queue, backlog).map(|(next, _)| next);
        }
        while now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if rule.ecn && backlog.mark(slot) {
                self.drop_next = rule.control_law(self.drop_next, self.count);
                return Some(slot);
            }
            backlog.drop(slot, Reason::Early);
            let Some((next, may_drop)) = self.pop(rule, now, queue, backlog) else {
                self.is_dropping = false;
                return None;
            };
            slot = next;
            if !may_drop {
                self.is_dropping = false;
                break;
            }
            self.drop_next = rule.control_law(self.drop_next, self.count);
        }
        Some(slot)
    }

    /// Enters the dropping state, at the previous drop rate if the previous dropping state ended recently.
    fn begin(&mut self, rule: &Rule, now: Time) {
        self.is_dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now.since(self.drop_next).0 < rule.interval.0.saturating_mul(16);
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = rule.control_law(now, self.count);
        self.last_count = self.count;
    }
}

/// One queue with its controller.
#[derive(Clone, Debug)]
pub struct CoDelQueue {
    rule: Rule,
    limit: Limit,
    queue: Fifo,
    controller: Controller,
}

impl AtDeparture for CoDel {
    type State = CoDelQueue;

    fn start(&self, _setup: &Setup, _random: &mut Stream) -> CoDelQueue {
        let rule = Rule {
            target: self.target,
            interval: self.interval,
            mtu: self.mtu.0,
            ecn: self.ecn,
            ..Rule::default()
        };
        let rule = rule.with(self.strict, self.ce_threshold);
        CoDelQueue { rule, limit: self.limit, queue: Fifo::default(), controller: Controller::default() }
    }

    #[inline]
    fn enqueue(
        state: &mut CoDelQueue,
        _now: Time,
        packet: Queued,
        backlog: &mut Backlog,
        _random: &mut Stream,
    ) {
        let has_room = has_room(state.limit, (state.queue.packets(), state.queue.bytes()), packet.size);
        if has_room {
            backlog.push(&mut state.queue, packet);
        } else {
            backlog.drop_arriving(packet, Reason::NoRoom);
        }
    }

    #[inline]
    fn dequeue(
        state: &mut CoDelQueue,
        now: Time,
        backlog: &mut Backlog,
        _random: &mut Stream,
    ) -> Option<Slot> {
        let slot = state.controller.dequeue(&state.rule, now, &mut state.queue, backlog)?;
        state.rule.mark_late(now, slot, backlog);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Driven;
    use super::*;

    const RULE: Rule = Rule {
        target: Time(5_000_000),
        interval: Time(100_000_000),
        mtu: 1514,
        ecn: true,
        first_interval: Time(100_000_000),
        counts_all: false,
        ce_threshold: Time::NEVER,
    };

    /// A queue that is never empty. One packet is dequeued every microsecond.
    struct Fixture {
        controller: Controller,
        queue: Fifo,
        backlog: Backlog,
        /// Microseconds.
        now: u64,
        ecn: Ecn,
        rule: Rule,
    }

    impl Fixture {
        fn new(ecn: Ecn) -> Self {
            let (controller, queue) = (Controller::default(), Fifo::default());
            Fixture { controller, queue, backlog: Backlog::default(), now: 1_000_000, ecn, rule: RULE }
        }

        /// Dequeues packets for `duration` microseconds, each with a sojourn time of `waited` microseconds. Returns the
        /// times of drops and marks, in microseconds since the first of these packets.
        fn run(&mut self, duration: u64, waited: u64) -> Vec<u64> {
            let begin = self.now;
            let mut signals = Vec::new();
            while self.now < begin + duration {
                let entered = Time((self.now - waited) * 1000);
                // Enough packets to be sent and dropped, and three that remain.
                self.backlog = Backlog::default();
                self.queue = Fifo::default();
                for token in 0..6 {
                    let packet = Queued { token, entered, size: 1000, flow: 0, ecn: self.ecn, is_data: true };
                    self.backlog.push(&mut self.queue, packet);
                }
                let now = Time(self.now * 1000);
                let packet = self.controller.dequeue(&self.rule, now, &mut self.queue, &mut self.backlog);
                assert!(packet.is_some());
                let (dropped, marks) = self.backlog.take_uncollected();
                let count = dropped.count() as u64 + marks;
                signals.extend((0..count).map(|_| self.now - begin));
                self.now += 1;
            }
            signals
        }
    }

    /// The first drop comes one interval after the first sojourn time above the target, and the second one interval
    /// later. The times between the following drops are 100/sqrt(2) = 70.710678, 100/sqrt(3) = 57.735027, 50, 44.721360
    /// and 40.824829 ms. Their sums, 270.710678, 328.445705, 378.445705, 423.167065 and 463.991894 ms, are rounded up
    /// to the next dequeue.
    const DROPS: [u64; 7] = [100_000, 200_000, 270_711, 328_446, 378_446, 423_168, 463_992];

    #[test]
    fn drops_follow_the_control_law() {
        assert_eq!(Fixture::new(Ecn::NotEct).run(500_000, 6_000), DROPS);
    }

    #[test]
    fn marks_follow_the_control_law() {
        assert_eq!(Fixture::new(Ecn::Ect0).run(500_000, 6_000), DROPS);
    }

    #[test]
    fn nothing_is_dropped_if_one_packet_per_interval_meets_the_target() {
        let mut fixture = Fixture::new(Ecn::NotEct);
        for _ in 0..5 {
            assert!(fixture.run(99_999, 50_000).is_empty());
            assert!(fixture.run(1, 4_999).is_empty());
        }
    }

    #[test]
    fn dropping_resumes_at_its_last_rate() {
        let mut fixture = Fixture::new(Ecn::NotEct);
        assert_eq!(fixture.run(400_000, 6_000), DROPS[..5]);
        assert!(fixture.run(10, 1_000).is_empty());
        // Five drops, and the count began at the first: the count is now 4, and the next drop comes after
        // 100/sqrt(4) ms.
        assert_eq!(fixture.run(160_000, 6_000), [100_000, 150_000]);
        // After 16 intervals below the target, the count starts over.
        fixture.run(1_700_000, 1_000);
        assert_eq!(fixture.run(201_000, 6_000), [100_000, 200_000]);
    }

    #[test]
    fn nothing_is_dropped_while_one_packet_remains() {
        let mut fixture = Fixture::new(Ecn::NotEct);
        for now in (0..1_000_000).step_by(1000) {
            let packet = Queued {
                token: 0,
                entered: Time::ZERO,
                size: 1500,
                flow: 0,
                ecn: Ecn::NotEct,
                is_data: true,
            };
            fixture.backlog.push(&mut fixture.queue, packet);
            fixture.backlog.push(&mut fixture.queue, packet);
            let now = Time(now * 1000);
            let dequeued = fixture.controller.dequeue(&RULE, now, &mut fixture.queue, &mut fixture.backlog);
            assert!(dequeued.is_some() && fixture.backlog.pop(&mut fixture.queue).is_some());
            assert!(!fixture.backlog.has_uncollected());
        }
    }

    #[test]
    fn a_strict_comparison_waits_longer_than_an_interval() {
        // The packet exactly one interval after the first one above the target is dropped only without `strict`.
        for (rule, signals) in [(RULE, 1), (RULE.with(true, None), 0)] {
            let mut fixture = Fixture::new(Ecn::NotEct);
            fixture.rule = rule;
            assert_eq!(fixture.run(100_001, 6_000).len(), signals);
            assert_eq!(fixture.run(1, 6_000).len(), 1 - signals);
        }
    }

    #[test]
    fn packets_above_the_threshold_are_marked_once() {
        let codel = CoDel { ce_threshold: Some(Time(1_000_000)), ..CoDel::default() };
        let mut driven = Driven::new("codel", &codel, 1);
        for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct, Ecn::Ce] {
            driven.enqueue(Time::ZERO, 0, 1500, ecn);
        }
        let mut dequeue = |now: u64| driven.dequeue(Time(now)).map(|packet| packet.ecn);
        let seen = [1_000_000, 1_000_001, 1_000_001, 1_000_001].map(&mut dequeue);
        assert_eq!(seen, [Some(Ecn::Ect1), Some(Ecn::Ce), Some(Ecn::NotEct), Some(Ecn::Ce)]);
        assert_eq!(driven.backlog.take_uncollected().1, 1);
    }
}
