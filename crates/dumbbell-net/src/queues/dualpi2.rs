//! DualPI2 [RFC 9332 appendix A]: a low-latency queue L for L4S beside a classic queue C, coupled by one controller.
//!
//! Packets with ECT(1) or CE enter L, all others C. A proportional-integral controller computes p' from the larger of
//! the ages of both head packets. C is dropped or marked with p_C = p'^2, L is marked with the larger of the coupled
//! probability p_CL = k p' and a ramp of the sojourn time in L. A scheduler gives L most of the link while both wait.
//! Under overload, when p_CL reaches 1, L drops with p_C like C, and C drops ECT(0) instead of marking it.
//!
//! Updates of p' are computed at the next packet that enters or departs. This gives the same bits as a timer, as the
//! queues do not change between packets. An update at the time of a packet precedes the packet.
//!
//! Linux (`sch_dualpi2`) has a step of 1 ms (`ramp_begin` 1 ms, `ramp` zero, `l_spare` zero), an update every 16 ms,
//! `signals = "random"`, `scheduler = "credit"` with `c_share` 0.1, `spare` 3000 bytes, and a limit of 10,000 packets.
//!
//! Departures: an arriving packet must fit with its own size instead of an MTU. Linux counts Ethernet headers of 14 bytes;
//! here, packets and MTUs have none.

use super::{AtDeparture, Backlog, Contradiction, Discipline, Fifo, Queued, Reason, Setup, Slot, has_room};
use dumbbell_units::{Bytes, Ecn, Limit, Stream, Time, choice, params};

choice! {
    /// How DualPI2 chooses packets to mark or drop.
    pub enum Signals {
        /// When the sum of the probabilities exceeds 1, separately for each queue.
        Accumulated = "accumulated",
        /// By random draws, as in Linux: one below p for L, two below p' for C.
        Random = "random",
    }
}

choice! {
    /// Which queue of DualPI2 sends next if both have packets.
    pub enum SchedulerKind {
        /// Weighted round robin of packets.
        Wrr = "wrr",
        /// As in Linux: a credit in bytes that starts in favour of L with an MTU.
        Credit = "credit",
    }
}

params! {
    /// The two coupled queues of L4S.
    pub struct DualPi2 {
        /// Capacity of both queues together; bytes that the link sends in 250 ms if not given, 10,000 packets in Linux.
        limit: Option<Limit> = None, "packets or bytes", "RFC 9332 §A.1";
        /// Target queueing delay of C.
        target: Time = Time(15_000_000), "s", "RFC 9332 §A.1";
        /// Time between two updates of p'; 16 ms in Linux.
        update: Time = Time(15_000_000), "s", "RFC 9332 §A.1",
            |update| (100_000..=10_000_000_000).contains(&update.0), "a time from 100 us to 10 s";
        /// Weight of the deviation of the delay from the target; 41/256 in Linux.
        alpha: f64 = 0.16, "Hz", "RFC 9332 §A.1", |alpha| (0.001..=1000.0).contains(alpha), "a number from 0.001 to 1000";
        /// Weight of the change of the delay since the last update; 819/256 in Linux.
        beta: f64 = 3.2, "Hz", "RFC 9332 §A.1", |beta| (0.0..=1000.0).contains(beta), "a number from 0 to 1000";
        /// Coupling factor k.
        coupling: f64 = 2.0, "-", "RFC 9332 §A.1", |k| (0.01..=100.0).contains(k), "a number from 0.01 to 100";
        /// Sojourn time in L above which the native marking probability rises; 1 ms in Linux.
        ramp_begin: Time = Time(800_000), "s", "RFC 9332 §A.1";
        /// Range of sojourn times in which it rises to 1; zero for a step, as in Linux.
        ramp: Time = Time(400_000), "s", "RFC 9332 §A.1";
        /// No native marks while at most this waits in L behind the departing packet; 0 in Linux.
        l_spare: Bytes = Bytes(1500), "bytes", "RFC 9332 §A.1";
        /// No marks or drops by p' while less than this waits in both queues; none in the RFC, two MTUs in Linux.
        spare: Bytes = Bytes(0), "bytes", "[linux6 sch_dualpi2]";
        /// How packets are chosen.
        signals: Signals = Signals::Accumulated, "-", "RFC 9332 §A.1";
        /// Which queue sends next.
        scheduler: SchedulerKind = SchedulerKind::Wrr, "-", "RFC 9332 §A.1";
        /// Share of C while both queues have packets; 0.1 in Linux.
        c_share: f64 = 0.0625, "-", "RFC 9332 §A.1", |share| *share > 0.0 && *share < 1.0, "a number above 0 and below 1";
        /// Drop from L under overload; otherwise, p' is at most 1/k, and only the limit drops from L.
        drop_overload: bool = true, "-", "RFC 9332 §4.2.3";
    }
}

impl Discipline for DualPi2 {
    const SUMMARY: &'static str =
        "Coupled queues of L4S: a low-latency queue for ECT(1) and CE, a classic one for the rest.";
    const SOURCE: &'static str = "RFC 9332";
    const IS_DUAL: bool = true;

    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        (self.ramp_begin >= self.target)
            .then(|| ("ramp_begin", format!("a time below the target, {}", self.target)))
    }
}

/// MTU of the scheduler's first credit.
const MTU: f64 = 1500.0;

/// The two queues.
#[derive(Clone, Debug)]
pub struct Coupled {
    params: DualPi2,
    limit: Limit,
    l: Fifo,
    c: Fifo,
    next_update: Time,
    /// The base probability p'.
    p: f64,
    last_delay: Time,
    /// Sums of the probabilities since the last signal, of L and C.
    sums: [f64; 2],
    /// Part of a round of the weighted round robin, in packets, or credit in bytes; L sends while it is not positive.
    balance: f64,
    last_queue: usize,
}

/// Number of the queue L.
const L: usize = 0;
/// Number of the queue C.
const C: usize = 1;

/// True when the sum of probabilities exceeds 1 [RFC 9332 §A.1].
fn recur(sum: &mut f64, p: f64) -> bool {
    *sum += p;
    let is_over = *sum > 1.0;
    if is_over {
        *sum -= 1.0;
    }
    is_over
}

impl Coupled {
    #[inline]
    fn catch_up(&mut self, now: Time, backlog: &Backlog) {
        if self.next_update <= now {
            self.update_until(now, backlog);
        }
    }

    #[cold]
    fn update_until(&mut self, now: Time, backlog: &Backlog) {
        let entered = [&self.l, &self.c].map(|queue| backlog.first(queue).map(|packet| packet.entered));
        let oldest = entered.into_iter().flatten().min();
        while self.next_update <= now {
            let before = (self.p, self.last_delay);
            let delay = oldest.map_or(Time::ZERO, |entered| self.next_update.since(entered));
            self.update(delay);
            self.next_update += self.params.update;
            let is_steady = match oldest {
                // The delay rises until the packet departs, and so does p'.
                Some(_) => self.p == self.highest() && delay > self.params.target,
                None => before == (self.p, self.last_delay),
            };
            if is_steady && self.next_update <= now {
                // The last update sets the delay.
                let periods = now.since(self.next_update).0 / self.params.update.0;
                self.next_update += Time(periods * self.params.update.0);
            }
        }
    }

    /// The highest value of p'.
    fn highest(&self) -> f64 {
        if self.params.drop_overload { 1.0 } else { (1.0 / self.params.coupling).min(1.0) }
    }

    /// Updates p' by the larger of both queueing delays.
    fn update(&mut self, delay: Time) {
        let DualPi2 { alpha, beta, target, .. } = &self.params;
        let seconds = delay.secs();
        let step = alpha * (seconds - target.secs()) + beta * (seconds - self.last_delay.secs());
        self.p = (self.p + step).clamp(0.0, self.highest());
        self.last_delay = delay;
    }

    /// Native marking probability of L for a sojourn time.
    fn ramp(&self, sojourn: Time) -> f64 {
        let DualPi2 { ramp_begin, ramp, .. } = self.params;
        if sojourn <= ramp_begin {
            0.0
        } else if sojourn >= ramp_begin + ramp {
            1.0
        } else {
            sojourn.since(ramp_begin).secs() / ramp.secs()
        }
    }

    /// The queue that sends next; `None` if both are empty.
    fn schedule(&mut self) -> Option<usize> {
        let is_credit = self.params.scheduler == SchedulerKind::Credit;
        match (self.l.packets() > 0, self.c.packets() > 0) {
            (false, false) => {
                if is_credit {
                    self.balance = self.first_credit();
                }
                None
            }
            (true, false) => Some(L),
            (false, true) => Some(C),
            (true, true) if is_credit => Some(if self.balance <= 0.0 { L } else { C }),
            (true, true) => {
                self.balance += self.params.c_share;
                if self.balance < 1.0 {
                    return Some(L);
                }
                self.balance -= 1.0;
                Some(C)
            }
        }
    }

    fn first_credit(&self) -> f64 {
        MTU * (2.0 * self.params.c_share - 1.0)
    }

    /// A packet departs from a queue: the credit changes if the other one has packets.
    fn charge(&mut self, from: usize, size: u32) {
        if self.params.scheduler == SchedulerKind::Credit {
            let share = self.params.c_share;
            match from {
                L if self.c.packets() > 0 => self.balance += share * f64::from(size),
                C if self.l.packets() > 0 => self.balance -= (1.0 - share) * f64::from(size),
                _ => {}
            }
        }
    }

    /// Marks or drops a departing packet. Returns true if it is dropped.
    fn signal(
        &mut self,
        from: usize,
        slot: Slot,
        now: Time,
        backlog: &mut Backlog,
        random: &mut Stream,
    ) -> bool {
        let is_spared = backlog.bytes() + u64::from(backlog.packet(slot).size) < self.params.spare.0;
        let p = if is_spared { 0.0 } else { self.p };
        let p_cl = self.params.coupling * p;
        let is_overload = p_cl >= 1.0 && self.params.drop_overload;
        let is_random = self.params.signals == Signals::Random;
        if from == C || is_overload {
            let is_chosen = match is_random {
                true => p > 0.0 && random.chance(p) && random.chance(p),
                false => recur(&mut self.sums[from], p * p),
            };
            if is_chosen && (is_overload || !backlog.mark(slot)) {
                return true;
            }
            if from == L {
                backlog.mark(slot);
            }
            return false;
        }
        let sojourn = now.since(backlog.packet(slot).entered);
        let native = if self.l.bytes() <= self.params.l_spare.0 && self.params.l_spare.0 > 0 {
            0.0
        } else {
            self.ramp(sojourn)
        };
        let is_chosen = match is_random {
            true => {
                native >= 1.0 || p_cl > 0.0 && random.chance(p_cl) || native > 0.0 && random.chance(native)
            }
            false => recur(&mut self.sums[L], native.max(p_cl.min(1.0))),
        };
        is_chosen && !backlog.mark(slot)
    }
}

impl AtDeparture for DualPi2 {
    type State = Coupled;

    fn start(&self, setup: &Setup, _random: &mut Stream) -> Coupled {
        let limit = self.limit.unwrap_or(Limit::Bytes((setup.rate.0 / 32).max(1)));
        let mut coupled = Coupled {
            params: self.clone(),
            limit,
            l: Fifo::default(),
            c: Fifo::default(),
            next_update: self.update,
            p: 0.0,
            last_delay: Time::ZERO,
            sums: [0.0; 2],
            balance: 0.0,
            last_queue: L,
        };
        if self.scheduler == SchedulerKind::Credit {
            coupled.balance = coupled.first_credit();
        }
        coupled
    }

    #[inline]
    fn enqueue(state: &mut Coupled, now: Time, packet: Queued, backlog: &mut Backlog, _random: &mut Stream) {
        state.catch_up(now, backlog);
        if !has_room(state.limit, (backlog.packets(), backlog.bytes()), packet.size) {
            backlog.drop_arriving(packet, Reason::NoRoom);
            return;
        }
        let queue = if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) { &mut state.l } else { &mut state.c };
        backlog.push(queue, packet);
    }

    #[inline]
    fn dequeue(state: &mut Coupled, now: Time, backlog: &mut Backlog, random: &mut Stream) -> Option<Slot> {
        state.catch_up(now, backlog);
        while let Some(from) = state.schedule() {
            let slot = backlog.pop(if from == L { &mut state.l } else { &mut state.c })?;
            if state.signal(from, slot, now, backlog, random) {
                backlog.drop(slot, Reason::Early);
                continue;
            }
            state.charge(from, backlog.packet(slot).size);
            state.last_queue = from;
            return Some(slot);
        }
        None
    }

    #[inline]
    fn last_queue(state: &Coupled) -> usize {
        state.last_queue
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Driven;
    use super::*;

    fn driven(discipline: &DualPi2) -> Driven<DualPi2> {
        Driven::new("dualpi2", discipline, 40_000_000)
    }

    impl Driven<DualPi2> {
        /// Marks and drops among `count` packets that depart immediately, with a fixed p'.
        fn signals(&mut self, p: f64, ecn: Ecn, count: u64) -> (u64, usize) {
            self.state.p = p;
            self.state.next_update = Time::NEVER;
            for _ in 0..count {
                self.enqueue(Time::ZERO, 0, 1000, ecn);
                self.dequeue(Time::ZERO);
            }
            let (dropped, marks) = self.backlog.take_uncollected();
            (marks, dropped.count())
        }
    }

    #[test]
    fn classic_signals_are_the_square_and_coupled_ones_k_times_the_base_probability() {
        // p' = 0.1: p_C = 0.01 and p_CL = 0.2. Accumulated, the number of signals is exact but for one.
        for (signals, tolerance) in [(Signals::Accumulated, 1), (Signals::Random, 500)] {
            let mut driven = driven(&DualPi2 { signals, ..DualPi2::default() });
            let near = |found: u64, expected: u64| assert!(found.abs_diff(expected) <= tolerance, "{found}");
            let (marks, drops) = driven.signals(0.1, Ecn::Ect1, 100_000);
            near(marks, 20_000);
            assert_eq!(drops, 0);
            let (marks, drops) = driven.signals(0.1, Ecn::Ect0, 100_000);
            near(marks, 1000);
            assert_eq!(drops, 0);
            let (marks, drops) = driven.signals(0.1, Ecn::NotEct, 100_000);
            near(drops as u64, 1000);
            assert_eq!(marks, 0);
            // Overload: p_CL = 1.2. Both queues drop with p_C = 0.36; what remains of L is marked.
            let (marks, drops) = driven.signals(0.6, Ecn::Ect1, 100_000);
            near(drops as u64, 36_000);
            assert_eq!(marks + drops as u64, 100_000);
            let (marks, drops) = driven.signals(0.6, Ecn::Ect0, 100_000);
            near(drops as u64, 36_000);
            assert_eq!(marks, 0);
        }
    }

    #[test]
    fn the_controller_integrates_the_delay() {
        let mut state = driven(&DualPi2::default()).state;
        // From 0 to 20 ms: 0.16 * 0.005 + 3.2 * 0.02 = 0.0648; then to 17 ms: 0.16 * 0.002 - 3.2 * 0.003 = -0.00928.
        state.update(Time(20_000_000));
        assert!((state.p - 0.0648).abs() < 1e-15);
        state.update(Time(17_000_000));
        assert!((state.p - 0.055_52).abs() < 1e-15);
        state.update(Time::ZERO);
        assert_eq!(state.p, 0.0);
    }

    #[test]
    fn the_ramp_rises_over_400_us_and_linux_has_a_step() {
        let state = driven(&DualPi2::default()).state;
        let at = [800, 900, 1000, 1200, 5000].map(|micros| state.ramp(Time(1000 * micros)));
        assert_eq!(at, [0.0, 0.25, 0.5, 1.0, 1.0]);
        let step = DualPi2 { ramp_begin: Time(1_000_000), ramp: Time::ZERO, ..DualPi2::default() };
        let state = driven(&step).state;
        assert_eq!([1_000_000, 1_000_001].map(|nanos| state.ramp(Time(nanos))), [0.0, 1.0]);
        // With 1500 bytes or fewer behind it, a packet is not marked.
        let mut driven = driven(&DualPi2::default());
        (0..3).for_each(|_| driven.enqueue(Time::ZERO, 0, 1000, Ecn::Ect1));
        let marks = [(); 3].map(|()| driven.dequeue(Time(2_000_000)).map(|packet| packet.ecn));
        // The first sum of probabilities, 1, does not exceed 1.
        assert_eq!(marks, [Some(Ecn::Ect1); 3]);
        (0..4).for_each(|_| driven.enqueue(Time(3_000_000), 0, 1000, Ecn::Ect1));
        let marks = [(); 4].map(|()| driven.dequeue(Time(5_000_000)).map(|packet| packet.ecn == Ecn::Ce));
        assert_eq!(marks, [Some(true), Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn classic_packets_get_their_share_while_low_latency_packets_wait() {
        for (scheduler, c_share) in
            [(SchedulerKind::Wrr, 0.0625), (SchedulerKind::Wrr, 0.1), (SchedulerKind::Credit, 0.1)]
        {
            let discipline =
                DualPi2 { scheduler, c_share, limit: Some(Limit::Unlimited), ..DualPi2::default() };
            let mut driven = driven(&discipline);
            driven.state.next_update = Time::NEVER;
            (0..4000).for_each(|_| driven.enqueue(Time::ZERO, 0, 1000, Ecn::Ect1));
            (0..4000).for_each(|_| driven.enqueue(Time::ZERO, 0, 1000, Ecn::Ect0));
            let classic =
                (0..3200).filter(|_| driven.dequeue(Time::ZERO).is_some_and(|p| p.ecn == Ecn::Ect0)).count();
            assert!((classic as f64 - 3200.0 * c_share).abs() <= 2.0, "{classic} of 3200 for {c_share}");
        }
    }

    #[test]
    fn credits_change_only_while_the_other_queue_has_packets() {
        let discipline = DualPi2 { scheduler: SchedulerKind::Credit, c_share: 0.1, ..DualPi2::default() };
        let mut driven = driven(&discipline);
        // A packet of 1000 bytes departs from L or C while the other queue is empty, or has a packet. With a credit, C is
        // next; without, L.
        for (entering, credit, after) in [
            (&[Ecn::Ect1][..], 50.0, 50.0),
            (&[Ecn::Ect0], 50.0, 50.0),
            (&[Ecn::Ect1, Ecn::Ect0], 50.0, -850.0),
            (&[Ecn::Ect1, Ecn::Ect0], -50.0, 50.0),
        ] {
            driven.state.balance = credit;
            entering.iter().for_each(|&ecn| driven.enqueue(Time::ZERO, 0, 1000, ecn));
            driven.dequeue(Time::ZERO);
            assert_eq!(driven.state.balance, after, "{entering:?} with {credit}");
            while driven.dequeue(Time::ZERO).is_some() {}
        }
    }

    /// Which packets of these sizes in bytes, from the head of a queue on, are marked when they have waited for 2 ms.
    fn marked(discipline: &DualPi2, p: f64, ecn: Ecn, sizes: &[u32]) -> Vec<bool> {
        let mut driven = driven(&DualPi2 { signals: Signals::Random, ..discipline.clone() });
        (driven.state.p, driven.state.next_update) = (p, Time::NEVER);
        sizes.iter().for_each(|&size| driven.enqueue(Time::ZERO, 0, size, ecn));
        sizes
            .iter()
            .map(|_| driven.dequeue(Time(2_000_000)).is_some_and(|packet| packet.ecn == Ecn::Ce))
            .collect()
    }

    #[test]
    fn nothing_is_signalled_by_p_while_less_than_the_spared_bytes_waits_with_the_packet() {
        let spare = DualPi2 { spare: Bytes(3000), drop_overload: false, ..DualPi2::default() };
        assert_eq!(marked(&spare, 1.0, Ecn::Ect0, &[1000; 4]), [true, true, false, false]);
        let none = DualPi2 { spare: Bytes(0), ..spare };
        assert_eq!(marked(&none, 1.0, Ecn::Ect0, &[1000; 4]), [true; 4]);
    }

    #[test]
    fn the_ramp_spares_a_packet_with_at_most_the_spared_bytes_behind_it_and_none_if_there_are_none() {
        let spare = DualPi2::default();
        assert_eq!(marked(&spare, 0.0, Ecn::Ect1, &[1000, 1000, 500]), [false; 3]);
        assert_eq!(marked(&spare, 0.0, Ecn::Ect1, &[1000, 1001, 500]), [true, false, false]);
        let none = DualPi2 { l_spare: Bytes(0), ..spare };
        assert_eq!(marked(&none, 0.0, Ecn::Ect1, &[1000, 1000]), [true; 2]);
    }

    #[test]
    fn lazy_updates_equal_periodic_ones() {
        let (mut timer, mut lazy) = (driven(&DualPi2::default()), driven(&DualPi2::default()));
        let mut random = Stream::new(5, 0, "lazy");
        let mut now = Time::ZERO;
        for step in 0..4000 {
            now += Time(random.exponential(if step % 500 == 0 { 4e10 } else { 3e6 }) as u64);
            while timer.state.next_update <= now {
                let at = timer.state.next_update;
                timer.state.update_until(at, &timer.backlog);
            }
            let ecn = if random.chance(0.5) { Ecn::Ect1 } else { Ecn::NotEct };
            let enters = random.chance(if step % 500 < 250 { 0.9 } else { 0.1 });
            for driven in [&mut timer, &mut lazy] {
                match enters {
                    true => driven.enqueue(now, 0, 1000, ecn),
                    false => drop(driven.dequeue(now)),
                }
            }
            assert_eq!(format!("{:?}", timer.state), format!("{:?}", lazy.state), "step {step}");
        }
    }
}
