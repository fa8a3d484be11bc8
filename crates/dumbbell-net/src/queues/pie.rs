//! PIE [RFC 8033]: drops or marks at random on arrival, with a probability that a proportional-integral controller
//! adjusts so that the queueing delay stays at a target.
//!
//! At each update, the probability p changes by `alpha` times the deviation from the target and `beta` times the change
//! since the last update, both scaled down while p is small (§4.2). After a quiet period, a burst passes without drops
//! (§4.4). Marks and drops are spread by accumulating p (§5.4).
//!
//! Updates are computed at the next packet that enters or departs. This gives the same bits as a timer, since the queue
//! does not change between packets: each update uses the queue as it was, at its own time. An update at the time of a
//! packet precedes the packet. Once an update of an empty queue changes nothing, the remaining ones are skipped.
//!
//! Departures: the queueing delay is the age of the oldest packet instead of an estimate from the departure rate, which
//! `delay` offers as well. Linux has `delay = "departed"`, an update every 16 ms (its 15 ms rounded up to ticks of 4 ms),
//! the first one after 500 ms, `steep_above` 250 ms, a `decay` of 63/64, and ECN off. Linux compares p with `mark_below`
//! inclusively. Linux counts Ethernet headers in the bytes of the queue; here, bytes are those on the wire.

use super::{
    AtDeparture, Backlog, Contradiction, Discipline, Fifo, Queued, Reason, Setup, Slot, Verdict, has_room,
};
use dumbbell_units::{Bytes, Ecn, Limit, Stream, Time, choice, params};

choice! {
    /// How PIE measures the queueing delay.
    pub enum DelayMeasure {
        /// Age of the oldest packet in the queue at each update.
        Head = "head",
        /// As in Linux: sojourn time of the packet that departed last, zero if it left the queue empty. Conditions for
        /// passing packets use the current value instead of that of the last update, p does not decay while packets
        /// wait, and the burst allowance decreases by the times between departures.
        Departed = "departed",
        /// Bytes in the queue divided by an estimate of the departure rate, RFC 8033 §5.2: measurements of 16 KiB
        /// that begin with as many bytes in the queue, with a weight of 1/4.
        Rate = "rate",
    }
}

params! {
    /// A queue with PIE.
    pub struct Pie {
        /// Capacity of the queue; packets that do not fit are dropped on arrival.
        limit: Limit = Limit::Packets(1000), "packets or bytes", "[linux6 sch_pie]";
        /// Target queueing delay.
        target: Time = Time(15_000_000), "s", "RFC 8033 §4.2";
        /// Time between two updates of the drop probability; 16 ms in Linux.
        update: Time = Time(15_000_000), "s", "RFC 8033 §4.2",
            |update| (100_000..=10_000_000_000).contains(&update.0), "a time from 100 us to 10 s";
        /// Time of the first update; one `update` if not given, 500 ms in Linux.
        first_update: Option<Time> = None, "s", "[linux6 sch_pie]";
        /// Weight of the deviation of the delay from the target.
        alpha: f64 = 0.125, "Hz", "RFC 8033 §4.2", |alpha| (0.001..=1000.0).contains(alpha), "a number from 0.001 to 1000";
        /// Weight of the change of the delay since the last update.
        beta: f64 = 1.25, "Hz", "RFC 8033 §4.2", |beta| (0.0..=1000.0).contains(beta), "a number from 0 to 1000";
        /// Time after a quiet period during which nothing is dropped early.
        max_burst: Time = Time(150_000_000), "s", "RFC 8033 §4.4";
        /// Nothing is dropped early while at most two packets of this size wait; 1500 bytes in Linux.
        mean_packet: Bytes = Bytes(1000), "bytes", "RFC 8033 §4.1",
            |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Factor by which the drop probability decreases in an update after two delays of zero; 63/64 in Linux.
        decay: f64 = 0.98, "-", "RFC 8033 §4.2", |decay| (0.0..=0.99).contains(decay), "a number from 0 to 0.99";
        /// Delay above which every update adds another 0.02 to the probability; none in the RFC, 250 ms in Linux.
        steep_above: Option<Time> = None, "s", "[linux6 sch_pie]";
        /// How the queueing delay is measured.
        delay: DelayMeasure = DelayMeasure::Head, "-", "RFC 8033 §4.3";
        /// Spread drops instead of drawing each independently.
        derandomize: bool = true, "-", "RFC 8033 §5.4";
        /// PIE becomes active when more than this waits, and inactive when probability and delays are zero; always
        /// active if not given. The RFC suggests a third of the limit.
        active_above: Option<Bytes> = None, "bytes", "RFC 8033 §5.3";
        /// Mark packets of ECN-capable transports instead of dropping them.
        ecn: bool = true, "-", "RFC 8033 §5.1";
        /// Probability from which ECN-capable packets are dropped as well.
        mark_below: f64 = 0.1, "-", "RFC 8033 §5.1", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
    }
}

impl Pie {
    pub(super) fn rule(&self) -> Rule {
        Rule {
            target: self.target,
            update: self.update,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            spare: 2 * self.mean_packet.0,
            decay: self.decay,
            steep_above: self.steep_above.unwrap_or(Time::NEVER),
            delay: self.delay,
            derandomize: self.derandomize,
            active_above: self.active_above.map(|bytes| bytes.0),
            mark_below: if self.ecn { self.mark_below } else { 0.0 },
        }
    }
}

impl Discipline for Pie {
    const SUMMARY: &'static str =
        "Proportional integral controller enhanced: drops or marks on arrival to hold a delay.";
    const SOURCE: &'static str = "RFC 8033";

    fn contradiction(&self, _setup: &Setup) -> Option<Contradiction> {
        match (self.active_above, self.limit) {
            (Some(bytes), Limit::Bytes(limit)) if bytes.0 >= limit => {
                Some(("active_above", format!("a size below the limit, {limit} bytes")))
            }
            _ => None,
        }
    }
}

/// Parameters of the control law.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    target: Time,
    update: Time,
    alpha: f64,
    beta: f64,
    max_burst: Time,
    /// Nothing is dropped early while at most this many bytes wait.
    spare: u64,
    decay: f64,
    steep_above: Time,
    delay: DelayMeasure,
    derandomize: bool,
    active_above: Option<u64>,
    /// ECN-capable packets are marked while the probability is below this.
    mark_below: f64,
}

/// Factor of `alpha` and `beta` for a drop probability [RFC 8033 §4.2].
fn scale(p: f64) -> f64 {
    const STEPS: [(f64, f64); 6] = [
        (0.000_001, 1.0 / 2048.0),
        (0.000_01, 1.0 / 512.0),
        (0.000_1, 1.0 / 128.0),
        (0.001, 1.0 / 32.0),
        (0.01, 1.0 / 8.0),
        (0.1, 1.0 / 2.0),
    ];
    STEPS.iter().find(|(below, _)| p < *below).map_or(1.0, |&(_, scale)| scale)
}

/// Bytes of a measurement of the departure rate [RFC 8033 §5.2].
const MEASURED: u64 = 16_384;

/// An estimate of the departure rate.
#[derive(Clone, Copy, Debug, Default)]
struct Departures {
    /// Smoothed time for [`MEASURED`] bytes, in seconds; 0 before the first measurement.
    time: f64,
    /// Beginning of a measurement, and bytes since then.
    measurement: Option<(Time, u64)>,
}

impl Departures {
    /// A packet of `size` bytes departs; `waiting` bytes remain.
    fn count(&mut self, now: Time, size: u32, waiting: u64) {
        if self.measurement.is_none() && waiting >= MEASURED {
            self.measurement = Some((now, 0));
        }
        let Some((since, bytes)) = &mut self.measurement else { return };
        *bytes += u64::from(size);
        if *bytes >= MEASURED {
            let time = now.since(*since).secs();
            self.time = if self.time == 0.0 { time } else { 0.75 * self.time + 0.25 * time };
            self.measurement = None;
        }
    }

    /// Time in which `bytes` bytes depart.
    fn delay(&self, bytes: u64) -> Time {
        Time::from_secs(bytes as f64 * self.time / MEASURED as f64)
    }
}

/// The state of PIE for one queue.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    next_update: Time,
    /// Drop probability.
    p: f64,
    /// Sum of the probabilities since the last drop or mark.
    accumulated: f64,
    /// Remaining burst allowance.
    burst: Time,
    /// Current queueing delay, and that of the last update.
    delay: Time,
    last_delay: Time,
    last_departure: Option<Time>,
    departures: Departures,
    is_active: bool,
}

impl Default for Controller {
    fn default() -> Self {
        Controller {
            next_update: Time::ZERO,
            p: 0.0,
            accumulated: 0.0,
            burst: Time::ZERO,
            delay: Time::ZERO,
            last_delay: Time::ZERO,
            last_departure: None,
            departures: Departures::default(),
            is_active: false,
        }
    }
}

impl Controller {
    /// The state before the first update.
    pub(super) fn starting(first_update: Time) -> Self {
        Controller { next_update: first_update, ..Controller::default() }
    }

    /// Makes up for the updates until `now`, at which time the queue is about to change.
    #[inline]
    pub(super) fn catch_up(&mut self, rule: &Rule, now: Time, queue: &Fifo, backlog: &Backlog) {
        if self.next_update <= now {
            self.update_until(rule, now, queue, backlog);
        }
    }

    #[cold]
    fn update_until(&mut self, rule: &Rule, now: Time, queue: &Fifo, backlog: &Backlog) {
        let entered = backlog.first(queue).map(|packet| packet.entered);
        while self.next_update <= now {
            let before = (self.p, self.delay, self.last_delay);
            let delay = match rule.delay {
                DelayMeasure::Head => entered.map_or(Time::ZERO, |entered| self.next_update.since(entered)),
                DelayMeasure::Departed => self.delay,
                DelayMeasure::Rate => self.departures.delay(queue.bytes()),
            };
            self.update(rule, delay, queue.bytes() > 0);
            self.next_update += rule.update;
            let is_steady = if rule.delay == DelayMeasure::Head && entered.is_some() {
                // The delay rises until the packet departs, and so does the probability.
                self.p == 1.0 && delay > rule.target
            } else {
                before == (self.p, self.delay, self.last_delay)
            };
            if is_steady && self.next_update <= now {
                // The last update sets the delay.
                let skipped = Time(now.since(self.next_update).0 / rule.update.0 * rule.update.0);
                self.next_update += skipped;
                if rule.delay != DelayMeasure::Departed {
                    self.burst = self.burst.since(skipped);
                }
            }
        }
    }

    /// Updates the drop probability [RFC 8033 §4.2].
    fn update(&mut self, rule: &Rule, delay: Time, has_packets: bool) {
        let (seconds, last) = (delay.secs(), self.last_delay.secs());
        let mut step =
            scale(self.p) * (rule.alpha * (seconds - rule.target.secs()) + rule.beta * (seconds - last));
        if self.p >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        if delay > rule.steep_above {
            step += 0.02;
        }
        self.p += step;
        let is_quiet = delay == Time::ZERO && self.last_delay == Time::ZERO;
        if is_quiet && !(rule.delay == DelayMeasure::Departed && has_packets) {
            self.p *= rule.decay;
        }
        self.p = self.p.clamp(0.0, 1.0);
        if rule.delay != DelayMeasure::Departed {
            self.burst = self.burst.since(rule.update);
        }
        (self.delay, self.last_delay) = (delay, delay);
        if rule.active_above.is_some() && self.p == 0.0 && is_quiet {
            self.is_active = false;
        }
    }

    /// Decides about an arriving packet that fits into the queue, in which `waiting` bytes wait.
    #[inline]
    pub(super) fn admit(&mut self, rule: &Rule, ecn: Ecn, waiting: u64, random: &mut Stream) -> Verdict {
        if let Some(above) = rule.active_above
            && !self.is_active
        {
            if waiting <= above {
                return Verdict::Enqueue;
            }
            self.is_active = true;
            (self.p, self.accumulated, self.burst) = (0.0, 0.0, rule.max_burst);
        }
        // Twice the delay, not half of the target, which is whole nanoseconds.
        let is_low = |delay: Time| delay.0.saturating_mul(2) < rule.target.0;
        if self.p == 0.0 && is_low(self.delay) && is_low(self.last_delay) {
            self.burst = rule.max_burst;
        }
        if self.burst > Time::ZERO || waiting <= rule.spare || is_low(self.delay) && self.p < 0.2 {
            return Verdict::Enqueue;
        }
        if !self.is_chosen(rule, random) {
            return Verdict::Enqueue;
        }
        if self.p < rule.mark_below && ecn.is_capable() {
            Verdict::Mark
        } else {
            Verdict::Drop(Reason::Early)
        }
    }

    /// True if a packet is chosen for a drop or a mark [RFC 8033 §5.4].
    fn is_chosen(&mut self, rule: &Rule, random: &mut Stream) -> bool {
        if !rule.derandomize {
            return random.chance(self.p);
        }
        self.accumulated = if self.p == 0.0 { 0.0 } else { self.accumulated + self.p };
        let is_chosen = self.accumulated >= 0.85 && (self.accumulated >= 8.5 || random.chance(self.p));
        if is_chosen {
            self.accumulated = 0.0;
        }
        is_chosen
    }

    /// A packet has departed and left `waiting` bytes.
    #[inline]
    pub(super) fn on_departure(&mut self, rule: &Rule, now: Time, packet: &Queued, waiting: u64) {
        match rule.delay {
            DelayMeasure::Head => {}
            DelayMeasure::Departed => {
                self.delay = if waiting == 0 { Time::ZERO } else { now.since(packet.entered) };
                let gap = self.last_departure.map_or(Time::ZERO, |last| now.since(last));
                self.last_departure = Some(now);
                self.burst = self.burst.since(gap);
            }
            DelayMeasure::Rate => self.departures.count(now, packet.size, waiting),
        }
    }
}

/// One queue with its controller.
#[derive(Clone, Debug)]
pub struct PieQueue {
    rule: Rule,
    limit: Limit,
    queue: Fifo,
    controller: Controller,
}

impl AtDeparture for Pie {
    type State = PieQueue;

    fn start(&self, _setup: &Setup, _random: &mut Stream) -> PieQueue {
        let controller = Controller::starting(self.first_update.unwrap_or(self.update));
        PieQueue { rule: self.rule(), limit: self.limit, queue: Fifo::default(), controller }
    }

    #[inline]
    fn enqueue(state: &mut PieQueue, now: Time, packet: Queued, backlog: &mut Backlog, random: &mut Stream) {
        let PieQueue { rule, limit, queue, controller } = state;
        controller.catch_up(rule, now, queue, backlog);
        let verdict = if has_room(*limit, (queue.packets(), queue.bytes()), packet.size) {
            controller.admit(rule, packet.ecn, queue.bytes(), random)
        } else {
            Verdict::Drop(Reason::NoRoom)
        };
        backlog.take(verdict, packet, queue);
    }

    #[inline]
    fn dequeue(state: &mut PieQueue, now: Time, backlog: &mut Backlog, _random: &mut Stream) -> Option<Slot> {
        let PieQueue { rule, queue, controller, .. } = state;
        controller.catch_up(rule, now, queue, backlog);
        let slot = backlog.pop(queue)?;
        controller.on_departure(rule, now, backlog.packet(slot), queue.bytes());
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(entered: Time, ecn: Ecn) -> Queued {
        Queued { token: 0, entered, size: 1000, flow: 0, ecn, is_data: true }
    }

    #[test]
    fn the_probability_moves_by_steps_scaled_by_its_size() {
        // A delay of 35 ms for the second time: 0.125 Hz * 20 ms = 0.0025, scaled by 1/2048 to 1.
        let rule = Pie::default().rule();
        for (p, scale) in [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.5, 1.0),
        ] {
            let delay = Time(35_000_000);
            let mut controller = Controller { p, delay, last_delay: delay, ..Controller::default() };
            controller.update(&rule, delay, true);
            assert!((controller.p - p - 0.0025 / scale).abs() < 1e-15, "{} from {p}", controller.p);
        }
        // From 15 to 25 ms, both terms count: 0.125 * 0.01 + 1.25 * 0.01 = 0.01375, halved below 0.1.
        let mut controller = Controller { p: 0.05, last_delay: Time(15_000_000), ..Controller::default() };
        controller.update(&rule, Time(25_000_000), true);
        assert!((controller.p - 0.056_875).abs() < 1e-15);
        // From 0.1, a step is at most 0.02: 0.125 * 0.185 + 1.25 * 0.2 = 0.273125 would be more.
        let mut controller = Controller { p: 0.1, ..Controller::default() };
        controller.update(&rule, Time(200_000_000), true);
        assert!((controller.p - 0.12).abs() < 1e-15);
        // Twice without delay: 0.4 - 0.125 * 0.015 = 0.398125, times 0.98.
        let mut controller = Controller { p: 0.4, ..Controller::default() };
        controller.update(&rule, Time::ZERO, false);
        assert!((controller.p - 0.390_162_5).abs() < 1e-15);
        // As in Linux: another 0.02 above 250 ms, and no decay while packets wait.
        let linux =
            Pie { steep_above: Some(Time(250_000_000)), delay: DelayMeasure::Departed, ..Pie::default() }
                .rule();
        let mut controller = Controller { p: 0.1, ..Controller::default() };
        controller.update(&linux, Time(250_000_001), true);
        assert!((controller.p - 0.14).abs() < 1e-15);
        let mut controller = Controller { p: 0.4, ..Controller::default() };
        controller.update(&linux, Time::ZERO, true);
        assert!((controller.p - 0.398_125).abs() < 1e-15);
    }

    #[test]
    fn lazy_updates_equal_periodic_ones() {
        let mut random = Stream::new(5, 0, "lazy");
        for delay in [DelayMeasure::Head, DelayMeasure::Departed, DelayMeasure::Rate] {
            let pie = Pie { delay, ..Pie::default() };
            let (rule, mut now) = (pie.rule(), Time::ZERO);
            let mut timer = Controller::starting(pie.update);
            let mut lazy = timer;
            let (mut queue, mut backlog) = (Fifo::default(), Backlog::default());
            for step in 0..4000 {
                // Bursts and pauses, some of them long enough for the probability to become 0.
                let gap = if step % 500 == 0 { 40_000_000_000.0 } else { 3_000_000.0 };
                now += Time(random.exponential(gap) as u64);
                while timer.next_update <= now {
                    let at = timer.next_update;
                    timer.update_until(&rule, at, &queue, &backlog);
                }
                lazy.catch_up(&rule, now, &queue, &backlog);
                assert_eq!(format!("{timer:?}"), format!("{lazy:?}"), "step {step}");
                if random.chance(if step % 500 < 250 { 0.9 } else { 0.1 }) {
                    backlog.push(&mut queue, packet(now, Ecn::NotEct));
                } else if let Some(slot) = backlog.pop(&mut queue) {
                    let packet = backlog.release(slot);
                    for of in [&mut timer, &mut lazy] {
                        of.on_departure(&rule, now, &packet, queue.bytes());
                    }
                }
            }
        }
    }

    #[test]
    fn signals_are_spread_by_accumulating_the_probability() {
        let rule = Pie::default().rule();
        let mut controller = Controller { p: 0.05, ..Controller::default() };
        let mut random = Stream::new(1, 0, "pie");
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() < 2000 {
            gap += 1;
            if controller.is_chosen(&rule, &mut random) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        // 17 * 0.05 = 0.85 and 170 * 0.05 = 8.5; the mean of a geometric distribution beyond 16 packets is 16 + 20.
        let (least, most) = (gaps.iter().min(), gaps.iter().max());
        assert!(least.is_some_and(|&gap| (17..=18).contains(&gap)), "{least:?}");
        assert!(most.is_some_and(|&gap| gap <= 171), "{most:?}");
        let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        assert!((mean - 36.0).abs() < 1.5, "{mean}");
    }

    #[test]
    fn a_burst_after_a_quiet_period_passes_and_marks_become_drops_at_ten_percent() {
        let rule = Pie { derandomize: false, ..Pie::default() }.rule();
        let mut random = Stream::new(1, 0, "pie");
        let mut controller = Controller::default();
        assert_eq!(controller.admit(&rule, Ecn::NotEct, 50_000, &mut random), Verdict::Enqueue);
        assert_eq!(controller.burst, Time(150_000_000));
        // Ten updates of 15 ms use up the allowance.
        for update in 1..=10 {
            controller.update(&rule, Time(40_000_000), true);
            assert_eq!(controller.burst, Time(150_000_000 - 15_000_000 * update));
        }
        let mut verdicts = |p: f64, ecn: Ecn, waiting: u64| {
            controller.p = p;
            let mut seen: Vec<Verdict> =
                (0..2000).map(|_| controller.admit(&rule, ecn, waiting, &mut random)).collect();
            seen.retain(|verdict| *verdict != Verdict::Enqueue);
            seen.dedup();
            seen
        };
        assert_eq!(verdicts(0.099, Ecn::Ect0, 50_000), [Verdict::Mark]);
        assert_eq!(verdicts(0.1, Ecn::Ect0, 50_000), [Verdict::Drop(Reason::Early)]);
        assert_eq!(verdicts(0.099, Ecn::NotEct, 50_000), [Verdict::Drop(Reason::Early)]);
        assert_eq!(verdicts(0.5, Ecn::NotEct, 2000), []);
        // Below half of the target, only from 0.2.
        (controller.p, controller.delay) = (0.199, Time(7_000_000));
        assert_eq!(controller.admit(&rule, Ecn::NotEct, 50_000, &mut random), Verdict::Enqueue);
    }

    #[test]
    fn a_burst_passes_again_only_after_two_delays_below_half_of_the_target() {
        let rule = Pie::default().rule();
        let mut random = Stream::new(1, 0, "pie");
        // The target is 15 ms.
        for (delay, last_delay, burst) in [(7, 7, 150), (7, 8, 0), (8, 7, 0)] {
            let [delay, last_delay] = [delay, last_delay].map(|ms| Time(1_000_000 * ms));
            let mut controller = Controller { delay, last_delay, ..Controller::default() };
            controller.admit(&rule, Ecn::NotEct, 50_000, &mut random);
            assert_eq!(controller.burst, Time(1_000_000 * burst), "{last_delay}, then {delay}");
        }
    }

    #[test]
    fn the_departure_rate_is_measured_over_16_kib() {
        // 1024 bytes every millisecond: 16 packets take 15 ms after the first, and 32,768 bytes twice as long.
        let mut departures = Departures::default();
        (0..16).for_each(|number| departures.count(Time(1_000_000 * number), 1024, 20_000));
        assert_eq!(departures.delay(32_768), Time(30_000_000));
        // Another measurement at half the rate has a weight of 1/4: 0.75 * 15 + 0.25 * 30 = 18.75 ms.
        (0..16).for_each(|number| departures.count(Time(1_000_000_000 + 2_000_000 * number), 1024, 20_000));
        assert_eq!(departures.delay(16_384), Time(18_750_000));
    }

    #[test]
    fn years_without_a_packet_take_no_time() {
        for delay in [DelayMeasure::Head, DelayMeasure::Departed, DelayMeasure::Rate] {
            let pie = Pie { delay, max_burst: Time(1 << 57), ..Pie::default() };
            let (rule, mut queue, mut backlog) = (pie.rule(), Fifo::default(), Backlog::default());
            for waiting in 0..2 {
                let mut controller = Controller::starting(pie.update);
                controller.burst = rule.max_burst;
                controller.catch_up(&rule, Time(1 << 58), &queue, &backlog);
                assert!(controller.next_update > Time(1 << 58), "{delay:?} with {waiting} packets");
                backlog.push(&mut queue, packet(Time::ZERO, Ecn::NotEct));
            }
        }
    }
}
