//! Round-trip estimation and the retransmission timeout: the coarse ticking clock of BSD, and
//! [RFC 6298 §2] with its granularity and minimum as parameters.

use crate::clock::{HostClock, Ticks};
use crate::scoreboard::Echo;
use dumbbell_units::{Time, choice, params, tagged};

params! {
    /// The BSD estimator in scaled ticks [jacobson1988 appendix A].
    pub struct BsdTimer {
        /// Length of a slow tick.
        tick: Time = Time(500_000_000), "s", "[brakmo1995b §2]", |tick| tick.0 > 0, "a time above 0";
        /// Keep two more bits of both averages, so that truncation does not increase the timeout, and wait for at least
        /// two ticks more than the sample.
        precision_fix: bool = true, "-", "[brakmo1995b §3]";
        /// What a sample counts that ends before the next tick: 1 as in FreeBSD, 0 as in NetBSD. Only the first sample, which
        /// sets both averages, and the two ticks that the fix adds to every sample depend on it.
        sample_origin: u64 = 1, "ticks", "[jacobson1988 appendix A]", |n| *n <= 1, "0 or 1";
        /// Multiple of the mean deviation in the timeout.
        variation: u64 = 4, "-", "[hengartner2000 §IV.B]", |n| *n == 2 || *n == 4, "2 or 4";
        /// Smallest timeout.
        min_ticks: u64 = 2, "ticks", "[jacobson1988 appendix A]", |n| *n >= 1, "at least 1";
        /// Largest timeout.
        max_ticks: u64 = 128, "ticks", "[jacobson1988 appendix A]", |n| *n >= 1, "at least 1";
        /// Timeout before the first sample.
        initial: Time = Time(6_000_000_000), "s", "[jacobson1988 appendix A]", |t| t.0 > 0, "a time above 0";
    }
}

choice! {
    /// What the minimum of a timeout bounds.
    pub enum MinimumBounds {
        /// The timeout (RFC 6298 §2).
        Timeout = "timeout",
        /// The part of the timeout that is added to the smoothed round-trip time, as in Linux.
        Variation = "variation",
    }
}

params! {
    /// The estimator of RFC 6298.
    pub struct RfcTimer {
        /// Granularity of the clock.
        granularity: Time = Time(1_000_000), "s", "[RFC 6298 §2]";
        /// Measure in whole ticks of the granularity, at least one.
        whole_ticks: bool = false, "-", "[RFC 6298 §4]";
        /// Keep the averages as whole eighths and quarters of a tick, as BSD does; only with
        /// whole ticks.
        scaled_ticks: bool = false, "-", "[jacobson1988 appendix A]";
        /// Smallest timeout.
        minimum: Time = Time(1_000_000_000), "s", "[RFC 6298 §2]", |t| t.0 > 0, "a time above 0";
        /// What the minimum bounds.
        minimum_bounds: MinimumBounds = MinimumBounds::Timeout, "-", "[RFC 6298 §2]";
        /// Largest timeout.
        maximum: Time = Time(60_000_000_000), "s", "[RFC 6298 §2]", |t| t.0 > 0, "a time above 0";
        /// Timeout before the first sample.
        initial: Time = Time(1_000_000_000), "s", "[RFC 6298 §2]", |t| t.0 > 0, "a time above 0";
    }
}

impl RfcTimer {
    /// True if the averages are kept in scaled ticks.
    fn is_scaled(&self) -> bool {
        self.scaled_ticks && self.whole_ticks && self.granularity.0 > 0
    }

    /// The timeout with these averages, in nanoseconds.
    fn timeout(&self, srtt: u64, variation: u64) -> Time {
        match self.minimum_bounds {
            MinimumBounds::Timeout => Time(srtt.saturating_add(variation).max(self.minimum.0)),
            MinimumBounds::Variation => Time(srtt.saturating_add(variation.max(self.minimum.0))),
        }
    }
}

params! {
    /// The estimator of Linux: every sample counts, a falling round-trip time raises the variation little, and the largest
    /// variation of a round trip counts [linux6 tcp_input.c].
    pub struct LinuxTimer {
        /// Smallest variation that is added to the smoothed round-trip time.
        minimum: Time = Time(200_000_000), "s", "[linux6 tcp_input.c]", |t| t.0 > 0, "a time above 0";
        /// Largest timeout.
        maximum: Time = Time(120_000_000_000), "s", "[linux6 tcp.h]", |t| t.0 > 0, "a time above 0";
        /// Timeout before the first sample.
        initial: Time = Time(1_000_000_000), "s", "[RFC 6298 §2]", |t| t.0 > 0, "a time above 0";
        /// Unit of the clock of timestamps. The congestion control is told of the round-trip time of data that was sent
        /// again, by timestamps, in whole units.
        timestamp_unit: Time = Time(1_000_000), "s", "[linux6 tcp_input.c]", |t| t.0 > 0, "a time above 0";
        /// Clock of the timers of timeouts and probes, 4 ms for 250 Hz: they expire with the next tick, and those of 63 ticks
        /// and more with one of every 8, then 64; 0 for exact timers.
        tick: Time = Time(0), "s", "[linux6 kernel/time/timer.c]";
        /// Connection requests and giving up are timed as in Linux: the first five requests are a second apart, a repeated one
        /// is timed by timestamps, more than one repetition leaves an initial window of one segment, and data is
        /// retransmitted for 924.6 s.
        requests: bool = false, "-", "[linux6 tcp_timer.c]";
    }
}

/// The averages of Linux, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxAverages {
    /// Eight times the smoothed round-trip time.
    srtt: i64,
    /// Four times the mean deviation.
    mdev: i64,
    /// Its maximum in this round trip, at least the minimum.
    mdev_max: i64,
    /// What is added to the smoothed round-trip time.
    rttvar: i64,
}

impl TimerSpec {
    /// True if connection requests and giving up are timed as in Linux.
    pub(crate) fn times_requests(&self) -> bool {
        matches!(self, TimerSpec::Linux(linux) if linux.requests)
    }
}

impl LinuxAverages {
    fn sample(&mut self, rtt: i64, begins_round: bool, minimum: i64) {
        if self.srtt == 0 {
            self.srtt = rtt << 3;
            self.mdev = rtt << 1;
            self.rttvar = self.mdev.max(minimum);
            self.mdev_max = self.rttvar;
            return;
        }
        let error = rtt - (self.srtt >> 3);
        self.srtt = (self.srtt + error).max(1);
        let mut deviation = error.abs() - (self.mdev >> 2);
        if error < 0 && deviation > 0 {
            deviation >>= 3;
        }
        self.mdev += deviation;
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if begins_round {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.mdev_max = minimum;
        }
    }
}

tagged! {
    /// How the retransmission timeout is computed.
    pub enum TimerSpec by "kind" {
        /// Averages in scaled ticks of a coarse clock with the phase of the host.
        Bsd(BsdTimer) = "bsd",
        /// Averages in real time with a granularity and a minimum.
        Rfc6298(RfcTimer) = "rfc6298",
        /// Averages in real time as in Linux.
        Linux(LinuxTimer) = "linux",
    }
}

/// Maximum number of doublings of the timeout of RFC 6298.
const MAX_DOUBLINGS: u32 = 12;
/// Longest round-trip time that enters the averages, in ticks, so that their scaled arithmetic stays
/// within 64 bits.
const LONGEST_TICKS: u64 = 1 << 50;
/// The same limit in nanoseconds: about 36 years.
const LONGEST_NANOSECONDS: u64 = 1 << 60;

/// The same for the scaled averages of Linux: about four years.
const LONGEST_LINUX: u64 = 1 << 57;

/// Ticks of a clock between two times, as far as they enter the averages.
fn ticks_between(clock: &Ticks, sent: Time, now: Time) -> u64 {
    clock.between(sent.min(now), now).min(LONGEST_TICKS)
}

/// The estimator of one connection.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    spec: TimerSpec,
    /// The clocks of the timer and of timestamps.
    clock: Ticks,
    stamps: Ticks,
    /// BSD, and RFC 6298 with `scaled_ticks`: scaled ticks. RFC 6298: nanoseconds.
    srtt: i64,
    rttvar: i64,
    has_sample: bool,
    /// The last sample in ticks, counted from the origin; for BSD only.
    last_ticks: u64,
    /// The smoothed round-trip time in seconds, infinite before the first sample.
    srtt_secs: f64,
    backoffs: u32,
    linux: LinuxAverages,
    /// The resulting timeout; for BSD also in ticks.
    timeout: Time,
    ticks: u64,
}

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(spec: &TimerSpec, clock: HostClock) -> Self {
        let (tick, stamp) = match spec {
            TimerSpec::Bsd(bsd) => (bsd.tick, bsd.tick),
            TimerSpec::Rfc6298(rfc) => (rfc.granularity, rfc.granularity),
            TimerSpec::Linux(linux) => (linux.tick, linux.timestamp_unit),
        };
        let mut estimator = RttEstimator {
            spec: spec.clone(),
            clock: clock.ticking(tick),
            stamps: clock.ticking(stamp),
            srtt: 0,
            rttvar: 0,
            has_sample: false,
            last_ticks: 0,
            srtt_secs: f64::INFINITY,
            backoffs: 0,
            linux: LinuxAverages::default(),
            timeout: Time::ZERO,
            ticks: 0,
        };
        estimator.set_timeout();
        estimator
    }

    /// Adds the sample of a segment sent once at `sent` and acknowledged at `now`, and ends the back-off. An echoed
    /// time may have any value: a future one counts as now.
    pub fn sample(&mut self, sent: Time, now: Time) {
        self.sample_in_round(sent, now, false);
    }

    /// The clock of the host.
    pub fn clock(&self) -> HostClock {
        self.clock.host()
    }

    /// When a timer expires that was set for `wait` and is due at `due`, by the timer wheel of Linux; `due` for other
    /// environments.
    pub fn expiry(&self, due: Time, wait: Time) -> Time {
        match &self.spec {
            TimerSpec::Linux(linux) if linux.tick.0 > 0 => {
                let set = Time(due.0.saturating_sub(wait.0));
                self.clock.wheel(set, wait, self.backoffs > 0).max(due)
            }
            _ => due,
        }
    }

    /// True if [`sample_in_round`](Self::sample_in_round) makes use of round trips.
    pub fn counts_rounds(&self) -> bool {
        matches!(self.spec, TimerSpec::Linux(_))
    }

    /// The same; `begins_round` if a round trip has passed since it was last true.
    pub fn sample_in_round(&mut self, sent: Time, now: Time, begins_round: bool) {
        self.backoffs = 0;
        match &self.spec {
            TimerSpec::Linux(linux) => {
                let rtt = now.since(sent).0.clamp(1, LONGEST_LINUX) as i64;
                let minimum = linux.minimum.0.min(LONGEST_NANOSECONDS) as i64;
                self.linux.sample(rtt, begins_round, minimum);
                self.srtt = self.linux.srtt;
            }
            TimerSpec::Bsd(bsd) => {
                let elapsed = ticks_between(&self.clock, sent, now);
                let (fix, origin) = (bsd.precision_fix, bsd.sample_origin);
                self.last_ticks = elapsed + origin;
                self.bsd_sample(self.last_ticks as i64, origin as i64, fix);
            }
            TimerSpec::Rfc6298(rfc) => {
                let mut rtt = now.since(sent).0;
                let is_scaled = rfc.is_scaled();
                if rfc.whole_ticks && rfc.granularity.0 > 0 {
                    let ticks = ticks_between(&self.clock, sent, now).max(1);
                    rtt = if is_scaled { ticks } else { ticks.saturating_mul(rfc.granularity.0) };
                }
                let rtt = rtt.min(LONGEST_NANOSECONDS) as i64;
                if is_scaled {
                    self.scaled_sample(rtt);
                } else {
                    self.rfc_sample(rtt);
                }
            }
        }
        self.has_sample = true;
        if self.srtt > 0 {
            self.srtt_secs = self.srtt_secs();
        }
        self.set_timeout();
    }

    /// The round-trip time of data sent again at `sent`, which timestamps tell, for the congestion control: whole units
    /// of their clock, at least one [linux6 tcp_input.c].
    pub fn by_timestamps(&self, sent: Time, now: Time) -> Option<Time> {
        let TimerSpec::Linux(_) = &self.spec else { return None };
        let units = ticks_between(&self.stamps, sent, now).max(1);
        Some(Time(units.saturating_mul(self.stamps.period().0)))
    }

    /// The time that a timestamp sent at `at` tells: that of the last tick of its clock, if it has one.
    pub fn stamped(&self, at: Time) -> Time {
        match &self.spec {
            TimerSpec::Linux(_) if at < Time::NEVER => self.stamps.last(at),
            _ => at,
        }
    }

    /// What an ACK with the timestamp of a segment sent at `at` echoes.
    pub fn echo(&self, at: Time) -> Echo {
        match &self.spec {
            TimerSpec::Linux(_) => Echo { at, end: self.stamps.after(at, 1) },
            _ => Echo::exact(at),
        }
    }

    /// The time from `since` to `now`, and the timeout, as the clock of the timer shows them: in Linux, both in ticks.
    pub fn elapsed(&self, since: Time, now: Time) -> (Time, Time) {
        let elapsed = self.tick().map(|tick| Time(ticks_between(&self.clock, since, now) * tick.0));
        (elapsed.unwrap_or(now.since(since)), self.timeout)
    }

    /// The period of the timer's clock, if it ticks: what lasts a timeout is then longer.
    pub fn tick(&self) -> Option<Time> {
        match &self.spec {
            TimerSpec::Linux(linux) if linux.tick.0 > 0 => Some(linux.tick),
            _ => None,
        }
    }

    /// `ticks` counts from `origin`: counted from 1, a value r means between r - 1 and r ticks.
    fn bsd_sample(&mut self, ticks: i64, origin: i64, precision_fix: bool) {
        let (mean_scale, variation_scale, gain) = if precision_fix { (32, 8, 4) } else { (8, 2, 1) };
        if self.srtt == 0 {
            self.srtt = ticks * mean_scale;
            self.rttvar = ticks * variation_scale;
        } else {
            let error = gain * (ticks - origin) - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            let deviation = error.abs() - (self.rttvar >> 2);
            self.rttvar = (self.rttvar + deviation).max(1);
        }
    }

    /// `ticks` counts from 0; the mean in eighths, the deviation in quarters.
    fn scaled_sample(&mut self, ticks: i64) {
        if self.srtt == 0 {
            self.srtt = ticks << 3;
            self.rttvar = ticks << 1;
        } else {
            let error = ticks - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
        }
    }

    fn rfc_sample(&mut self, rtt: i64) {
        if self.has_sample && self.srtt > 0 {
            self.rttvar += ((self.srtt - rtt).abs() - self.rttvar) / 4;
            self.srtt += (rtt - self.srtt) / 8;
        } else {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        }
    }

    fn bsd_ticks(&self, bsd: &BsdTimer) -> u64 {
        let ticks = if !self.has_sample {
            (bsd.initial.0 / bsd.tick.0) as i64
        } else {
            // Scaled so that rttvar counts four deviations; with a factor of two it is halved.
            match (bsd.precision_fix, bsd.variation) {
                (true, 4) => ((self.srtt >> 3) + self.rttvar) >> 2,
                (true, _) => ((self.srtt >> 3) + (self.rttvar >> 1)) >> 2,
                (false, 4) => (self.srtt >> 3) + self.rttvar,
                (false, _) => ((self.srtt >> 2) + self.rttvar) >> 1,
            }
        };
        let most = bsd.max_ticks.max(bsd.min_ticks);
        let bounded = (ticks.max(0) as u64).clamp(bsd.min_ticks, most);
        // A sample bounds the timeout that it yields, not the one that doubles afterwards.
        let bounds_sample = bsd.precision_fix && self.has_sample && self.backoffs == 0;
        let least = if bounds_sample { self.last_ticks + 2 } else { bsd.min_ticks };
        bounded.saturating_mul(1 << self.backoffs.min(6)).max(least).min(most)
    }

    /// When a timer that starts at `now` expires.
    #[inline]
    pub fn deadline(&self, now: Time) -> Time {
        match &self.spec {
            TimerSpec::Bsd(_) => self.clock.after(now, self.ticks),
            TimerSpec::Rfc6298(_) | TimerSpec::Linux(_) => now + self.timeout,
        }
    }

    /// The timeout with its back-off.
    pub fn timeout(&self) -> Time {
        self.timeout
    }

    /// Computes the timeout from the averages and the back-off.
    fn set_timeout(&mut self) {
        self.timeout = match &self.spec {
            TimerSpec::Bsd(bsd) => {
                self.ticks = self.bsd_ticks(bsd);
                Time(self.ticks.saturating_mul(bsd.tick.0))
            }
            TimerSpec::Linux(linux) => {
                let base = if self.has_sample {
                    Time((self.linux.srtt >> 3).saturating_add(self.linux.rttvar).max(0) as u64)
                } else {
                    linux.initial
                };
                // Whole ticks are doubled (`icsk_rto`).
                let tick = linux.tick.0.max(1);
                let base = Time(base.0.div_ceil(tick).saturating_mul(tick));
                Time(base.0.saturating_mul(1 << self.backoffs.min(MAX_DOUBLINGS)).min(linux.maximum.0))
            }
            TimerSpec::Rfc6298(rfc) => {
                let base = if self.has_sample && rfc.is_scaled() {
                    let duration = |ticks: i64| (ticks as u64).saturating_mul(rfc.granularity.0);
                    rfc.timeout(duration(self.srtt >> 3), duration(self.rttvar))
                } else if self.has_sample {
                    let variation = (4 * self.rttvar).max(rfc.granularity.0 as i64);
                    rfc.timeout(self.srtt as u64, variation as u64)
                } else {
                    rfc.initial
                };
                // RFC 6298 doubles up to the maximum. With whole ticks averaged as real numbers, it doubles at most six
                // times.
                let doublings = if rfc.whole_ticks && !rfc.scaled_ticks { 6 } else { MAX_DOUBLINGS };
                Time(base.0.saturating_mul(1 << self.backoffs.min(doublings)).min(rfc.maximum.0))
            }
        };
    }

    /// Doubles the timeout after an expiry.
    pub fn back_off(&mut self) {
        self.backoffs = self.backoffs.saturating_add(1);
        if self.backoffs == 4 && self.srtt > 0 {
            // The route may have changed: BSD restarts its estimate and keeps the timeout until then.
            match &self.spec {
                TimerSpec::Bsd(_) => {
                    self.rttvar += self.srtt >> 3;
                    self.srtt = 0;
                }
                TimerSpec::Rfc6298(rfc) if rfc.is_scaled() => {
                    self.rttvar += self.srtt >> 3;
                    self.srtt = 0;
                }
                TimerSpec::Rfc6298(rfc) if rfc.whole_ticks => {
                    self.rttvar += self.srtt / 4;
                    self.srtt = 0;
                }
                TimerSpec::Rfc6298(_) | TimerSpec::Linux(_) => {}
            }
        }
        self.set_timeout();
    }

    /// The timeout until there is a sample, without a back-off; for Linux only.
    pub fn fall_back(&mut self, timeout: Time) {
        if let TimerSpec::Linux(linux) = &mut self.spec {
            linux.initial = timeout;
            self.backoffs = 0;
            self.set_timeout();
        }
    }

    /// Smoothed round-trip time in seconds, infinite before the first sample.
    #[inline]
    pub fn srtt_or_infinity(&self) -> f64 {
        self.srtt_secs
    }

    fn srtt_secs(&self) -> f64 {
        match &self.spec {
            TimerSpec::Bsd(bsd) => {
                let scale = if bsd.precision_fix { 32.0 } else { 8.0 };
                self.srtt as f64 / scale * bsd.tick.secs()
            }
            TimerSpec::Rfc6298(rfc) if rfc.is_scaled() => self.srtt as f64 / 8.0 * rfc.granularity.secs(),
            TimerSpec::Rfc6298(_) => self.srtt as f64 * 1e-9,
            TimerSpec::Linux(_) => self.srtt as f64 / 8.0 * 1e-9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Time = Time(500_000_000);

    fn bsd(precision_fix: bool, variation: u64) -> RttEstimator {
        let timer = BsdTimer { precision_fix, variation, ..BsdTimer::default() };
        RttEstimator::new(&TimerSpec::Bsd(timer), HostClock::Fraction(0.0))
    }

    #[test]
    fn a_minimum_that_bounds_the_variation_is_added_to_the_round_trip_time() {
        let timeouts = |minimum_bounds, samples: &[u64]| {
            let timer = RfcTimer { minimum: Time(200_000_000), minimum_bounds, ..RfcTimer::default() };
            let mut estimator = RttEstimator::new(&TimerSpec::Rfc6298(timer), HostClock::Fraction(0.0));
            let timeout = |millis: &u64| {
                estimator.sample(Time::ZERO, Time(millis * 1_000_000));
                estimator.timeout().0 / 1_000
            };
            samples.iter().map(timeout).collect::<Vec<u64>>()
        };
        // 40 ms: srtt 40, four deviations 80. 120 ms: the deviation becomes 20 + (80 - 20) / 4 = 35, srtt 50. 600 ms:
        // 35 + (550 - 35) / 4 = 163.75, srtt 50 + 550 / 8 = 118.75.
        let samples = [40, 120, 600];
        assert_eq!(timeouts(MinimumBounds::Timeout, &samples), [200_000, 200_000, 773_750]);
        assert_eq!(timeouts(MinimumBounds::Variation, &samples), [240_000, 250_000, 773_750]);
    }

    #[test]
    fn the_first_timeout_is_twelve_ticks() {
        // 6 s are 12 ticks. Set at 0.1 s, after the tick at 0 s, the timer expires at the twelfth tick: 6 s.
        assert_eq!(bsd(true, 4).deadline(Time(100_000_000)), Time(6_000_000_000));
    }

    #[test]
    fn bsd_averages_follow_the_scaled_arithmetic() {
        // No tick between transmission and acknowledgement: r = 1.
        let within_a_tick = |estimator: &mut RttEstimator| estimator.sample(TICK, TICK);
        // r = 1 first: srtt 1*8 = 8, rttvar 1*2 = 2; timeout 8/8 + 2 = 3 ticks.
        let mut plain = bsd(false, 4);
        within_a_tick(&mut plain);
        assert_eq!((plain.srtt, plain.rttvar), (8, 2));
        assert_eq!(plain.timeout(), Time(3 * TICK.0));
        // r = 1 again: error = 1 - 1 - 8/8 = -1, srtt 7; deviation = 1 - 2/4 = 1, rttvar 3;
        // timeout 7/8 + 3 = 3 ticks.
        within_a_tick(&mut plain);
        assert_eq!((plain.srtt, plain.rttvar), (7, 3));
        assert_eq!(plain.timeout(), Time(3 * TICK.0));
        // With the fix, r = 1 first: 32 and 8; timeout (32/8 + 8) / 4 = 3 ticks.
        let mut fixed = bsd(true, 4);
        within_a_tick(&mut fixed);
        assert_eq!((fixed.srtt, fixed.rttvar), (32, 8));
        assert_eq!(fixed.timeout(), Time(3 * TICK.0));
        // r = 1 again: error = 0 - 4 = -4, srtt 28; deviation = 4 - 2 = 2, rttvar 10; timeout (3 + 10) / 4 = 3 ticks.
        // After many samples the computed timeout falls to the minimum of 2 ticks, which plain arithmetic never reaches.
        // The sample keeps it at r + 2 = 3 ticks; doubled once, it is 4.
        for _ in 0..100 {
            within_a_tick(&mut fixed);
            within_a_tick(&mut plain);
        }
        assert_eq!(fixed.timeout(), Time(3 * TICK.0));
        fixed.back_off();
        assert_eq!(fixed.timeout(), Time(4 * TICK.0));
        plain.back_off();
        assert_eq!(plain.timeout(), Time(6 * TICK.0));
    }

    #[test]
    fn samples_that_count_from_zero_leave_the_smallest_timeout() {
        let timer = BsdTimer { sample_origin: 0, ..BsdTimer::default() };
        let mut estimator = RttEstimator::new(&TimerSpec::Bsd(timer), HostClock::Fraction(0.0));
        // Before a sample 12 ticks, doubled 24.
        assert_eq!(estimator.timeout(), Time(12 * TICK.0));
        estimator.back_off();
        assert_eq!(estimator.timeout(), Time(24 * TICK.0));
        // No tick between transmission and acknowledgement: r = 0 sets both averages to 0, and r + 2 = 2 ticks.
        estimator.sample(TICK, TICK);
        assert_eq!((estimator.srtt, estimator.rttvar), (0, 0));
        assert_eq!(estimator.timeout(), Time(2 * TICK.0));
        // Averages of 0 are no averages yet: one tick, r = 1, sets srtt 32 and rttvar 8; timeout (32/8 + 8) / 4 = 3 ticks.
        estimator.sample(Time::ZERO, TICK);
        assert_eq!((estimator.srtt, estimator.rttvar), (32, 8));
        assert_eq!(estimator.timeout(), Time(3 * TICK.0));
        // r = 0: error = 0 - 4 = -4, srtt 28; deviation = 4 - 2 = 2, rttvar 10; timeout (3 + 10) / 4 = 3 ticks.
        estimator.sample(TICK, TICK);
        assert_eq!((estimator.srtt, estimator.rttvar), (28, 10));
        assert_eq!(estimator.timeout(), Time(3 * TICK.0));
        // Many of them: both averages decay, and the timeout is the least one again. Doubled, it is four ticks.
        (0..100).for_each(|_| estimator.sample(TICK, TICK));
        assert_eq!(estimator.timeout(), Time(2 * TICK.0));
        estimator.back_off();
        assert_eq!(estimator.timeout(), Time(4 * TICK.0));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_timeout() {
        let mut estimator = bsd(true, 4);
        estimator.sample(Time(0), Time(1_000_000));
        let first = estimator.timeout();
        estimator.back_off();
        assert_eq!(estimator.timeout().0, 2 * first.0);
        (0..12).for_each(|_| estimator.back_off());
        assert_eq!(estimator.timeout(), Time(64_000_000_000));
    }

    #[test]
    fn times_of_any_size_keep_the_timeout_above_zero() {
        let ticking = RfcTimer {
            whole_ticks: true,
            granularity: Time(9_000_000_000_000_000_000),
            ..RfcTimer::default()
        };
        let huge = BsdTimer {
            tick: Time(9_000_000_000_000_000_000),
            min_ticks: u64::MAX,
            max_ticks: u64::MAX,
            ..BsdTimer::default()
        };
        let fine = BsdTimer { tick: Time(1), ..BsdTimer::default() };
        let timers = [
            TimerSpec::Rfc6298(ticking),
            TimerSpec::Rfc6298(RfcTimer::default()),
            TimerSpec::Bsd(huge),
            TimerSpec::Bsd(fine),
        ];
        let times = [Time(0), Time(1), Time(1 << 62), Time::NEVER];
        for timer in timers {
            let mut estimator = RttEstimator::new(&timer, HostClock::Fraction(0.9));
            for (step, sent) in times.into_iter().cycle().take(16).enumerate() {
                let now = Time(step as u64 * (1 << 58));
                estimator.sample(sent, now);
                assert!(estimator.timeout() > Time::ZERO && estimator.deadline(now) > now);
                estimator.back_off();
                assert!(estimator.timeout() > Time::ZERO && estimator.deadline(now) > now);
            }
        }
    }

    #[test]
    fn scaled_ticks_round_down_and_double_up_to_the_maximum() {
        let timer = RfcTimer {
            granularity: Time(10_000_000),
            whole_ticks: true,
            scaled_ticks: true,
            minimum: Time(1),
            ..RfcTimer::default()
        };
        let mut estimator = RttEstimator::new(&TimerSpec::Rfc6298(timer), HostClock::Fraction(0.0));
        // Two ticks pass from 0 to 25 ms: mean 16/8, deviation 4/4, RTO 2 + 4 ticks.
        estimator.sample(Time(0), Time(25_000_000));
        assert_eq!(estimator.timeout(), Time(60_000_000));
        // Five ticks: mean (16 + 3)/8, deviation (4 + 3 - 1)/4, RTO 2 + 6 ticks, not 83.75 ms.
        estimator.sample(Time(0), Time(50_000_000));
        assert_eq!(estimator.timeout(), Time(80_000_000));
        // The fourth expiration moves the mean into the deviation, which leaves the timeout unchanged; 80 ms times 2^10
        // exceed 60 s.
        for expiries in 1..=9 {
            estimator.back_off();
            assert_eq!(estimator.timeout(), Time(80_000_000 << expiries));
        }
        estimator.back_off();
        assert_eq!(estimator.timeout(), Time(60_000_000_000));
        // A new mean begins: 3 ticks, deviation 6/4.
        estimator.sample(Time(0), Time(30_000_000));
        assert_eq!(estimator.timeout(), Time(90_000_000));
    }

    #[test]
    fn rfc_6298_follows_its_text() {
        // R = 100 ms: SRTT 100, RTTVAR 50, RTO 300 -> minimum 200 leaves 300.
        let timer = RfcTimer { minimum: Time(200_000_000), ..RfcTimer::default() };
        let mut estimator = RttEstimator::new(&TimerSpec::Rfc6298(timer), HostClock::Fraction(0.0));
        assert_eq!(estimator.timeout(), Time(1_000_000_000));
        estimator.sample(Time(0), Time(100_000_000));
        assert_eq!(estimator.timeout(), Time(300_000_000));
        // R = 180: RTTVAR 50 + (80 - 50)/4 = 57.5, SRTT 100 + 80/8 = 110, RTO 110 + 230 = 340.
        estimator.sample(Time(0), Time(180_000_000));
        assert_eq!(estimator.timeout(), Time(340_000_000));
    }

    #[test]
    fn linux_bounds_the_variation_and_forgets_it_slowly() {
        let spec = TimerSpec::Linux(LinuxTimer::default());
        let mut estimator = RttEstimator::new(&spec, HostClock::Fraction(0.0));
        let ms = |ms: f64| Time((ms * 1e6) as u64);
        let mut timeout = |rtt: f64, begins_round| {
            estimator.sample_in_round(ms(1000.0), ms(1000.0 + rtt), begins_round);
            (estimator.timeout().0 as f64 / 1e4).round() / 100.0
        };
        // The first sample of 100 ms: 100 + 2 * 100 ms, as RFC 6298.
        assert_eq!(timeout(100.0, false), 300.0);
        // 40 ms less, which is less than the deviation of 50: mdev 200 - 10, srtt 95; the variation is at least 200 ms.
        assert_eq!(timeout(60.0, false), 295.0);
        // 75 less: 27.5 above the deviation of 47.5 count an eighth; srtt 85.625, mdev 193.4375.
        assert_eq!(timeout(20.0, false), 285.63);
        // 200 more: srtt 110.625, mdev 193.4375 + 200 - 48.359375 = 345.078.
        assert_eq!(timeout(285.625, false), 455.7);
        // A round trip ends with 110.625: mdev 258.809. What is added is the largest, 345.078.
        assert_eq!(timeout(110.625, true), 455.7);
        // The next ends with the same: mdev 194.106 or 200 at least: 345.078 - 145.078 / 4 = 308.809.
        assert_eq!(timeout(110.625, true), 419.43);
    }

    #[test]
    fn linux_times_data_sent_again_in_whole_milliseconds() {
        let spec = TimerSpec::Linux(LinuxTimer::default());
        let estimator = RttEstimator::new(&spec, HostClock::Fraction(0.0));
        let told = |sent: u64, now: u64| estimator.by_timestamps(Time(sent), Time(now));
        // 12.4 ms, in which the clock of milliseconds advances 12 or 13 times.
        assert_eq!(told(100_000_000, 112_400_000), Some(Time(12_000_000)));
        assert_eq!(told(100_700_000, 113_100_000), Some(Time(13_000_000)));
        assert_eq!(told(100_100_000, 100_200_000), Some(Time(1_000_000)));
        let other = RttEstimator::new(&TimerSpec::Rfc6298(RfcTimer::default()), HostClock::Fraction(0.0));
        assert_eq!(other.by_timestamps(Time(0), Time(12_400_000)), None);
    }

    #[test]
    fn linux_waits_200_ms_longer_than_a_constant_round_trip_time() {
        let spec = TimerSpec::Linux(LinuxTimer::default());
        let mut estimator = RttEstimator::new(&spec, HostClock::Fraction(0.0));
        for n in 0..200 {
            estimator.sample_in_round(Time(n), Time(n + 50_000_000), n % 10 == 0);
        }
        assert_eq!(estimator.timeout(), Time(250_000_000));
        assert!((estimator.srtt_or_infinity() - 0.05).abs() < 1e-9);
        (0..20).for_each(|_| estimator.back_off());
        assert_eq!(estimator.timeout(), Time(120_000_000_000));
    }

    #[test]
    fn linux_doubles_whole_ticks_and_counts_idle_time_in_them() {
        let linux = LinuxTimer { tick: Time(4_000_000), ..LinuxTimer::default() };
        let mut estimator = RttEstimator::new(&TimerSpec::Linux(linux), HostClock::At(Time::ZERO));
        estimator.sample(Time::ZERO, Time(10_000_000));
        // 10 ms + 200 ms are 53 ticks.
        assert_eq!(estimator.timeout(), Time(212_000_000));
        estimator.back_off();
        assert_eq!(estimator.timeout(), Time(424_000_000));
        // From tick 0 to tick 3.
        assert_eq!(estimator.elapsed(Time(3_900_000), Time(12_100_000)).0, Time(12_000_000));
    }
}
