//! Periodic clocks of a host.

use dumbbell_units::Time;

/// Phase of a host's periodic clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostClock {
    /// At this fraction of every clock's period, in [0, 1).
    Fraction(f64),
    /// At this time, and whole periods before and after it.
    At(Time),
}

impl HostClock {
    /// The clock with this period; one of a nanosecond for a period of 0.
    pub(crate) fn ticking(self, period: Time) -> Ticks {
        let period = Time(period.0.max(1));
        Ticks { period: period.0, phase: self.phase(period), clock: self }
    }

    /// Time from 0 to the first tick of a period, in ns.
    pub(crate) fn phase(self, period: Time) -> u64 {
        match self {
            HostClock::Fraction(fraction) => (fraction * period.0 as f64) as u64,
            HostClock::At(at) => at.0 % period.0,
        }
    }
}

/// A periodic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// In ns, at least 1.
    period: u64,
    /// Time from 0 to the first tick, in ns.
    phase: u64,
    clock: HostClock,
}

/// Levels of Linux's timer wheel above the first, and the ticks of the first.
const WHEEL_LEVELS: u32 = 8;
const FIRST_LEVEL: u64 = 63;

impl Ticks {
    /// The clock with any period.
    pub(crate) fn host(&self) -> HostClock {
        self.clock
    }

    /// Its period.
    #[inline]
    pub(crate) fn period(&self) -> Time {
        Time(self.period)
    }

    /// Number of ticks up to and including `at`.
    #[inline]
    pub(crate) fn count(&self, at: Time) -> u64 {
        (at.0 + self.period - self.phase) / self.period
    }

    /// The number of ticks up to and including `at`, and the time of the next one.
    #[inline]
    pub(crate) fn count_and_next(&self, at: Time) -> (u64, Time) {
        let number = self.count(at);
        (number, Time(self.phase.saturating_add(number.saturating_mul(self.period))))
    }

    /// Ticks after `from`, up to and including `until`.
    #[inline]
    pub(crate) fn between(&self, from: Time, until: Time) -> u64 {
        self.count(until).saturating_sub(self.count(from))
    }

    /// The last tick up to and including `at`; 0 if there was none.
    #[inline]
    pub(crate) fn last(&self, at: Time) -> Time {
        Time(at.0.saturating_sub((at.0 + self.period - self.phase) % self.period))
    }

    /// The time of the `n`th tick after `now`, n at least 1.
    #[inline]
    pub(crate) fn after(&self, now: Time, n: u64) -> Time {
        let number = self.count(now).saturating_add(n);
        Time(self.phase.saturating_add((number - 1).saturating_mul(self.period)))
    }

    /// When a timer of Linux expires that is set at `now` for `at`: the wait in ticks, rounded up, is counted from the
    /// last tick, and the timer never expires early.
    pub(crate) fn expiry(&self, now: Time, at: Time) -> Time {
        self.after(now, at.since(now).0.div_ceil(self.period).saturating_add(1))
    }

    /// When a timer of Linux expires that was set at `now` for so long: its wheel rounds the expiry up to units that grow
    /// with the wait, and adds one (`calc_wheel_index`). While a timer expires, the wheel is a tick ahead
    /// (`__run_timers`), so that the wait of one that it sets, `by_timer`, counts one less.
    pub(crate) fn wheel(&self, now: Time, wait: Time, by_timer: bool) -> Time {
        let ticks = wait.0.div_ceil(self.period);
        let expires = self.after(now, ticks.max(1));
        let ahead = ticks.saturating_sub(u64::from(by_timer));
        if ahead < FIRST_LEVEL {
            return expires + Time(self.period);
        }
        let level = (0..WHEEL_LEVELS).take_while(|level| ahead >= FIRST_LEVEL << (3 * level)).count() as u32;
        let unit = self.period << (3 * level);
        let phase = match self.clock {
            HostClock::Fraction(_) => self.phase,
            HostClock::At(at) => at.0 % unit,
        };
        let units = (expires.0 + unit - phase) / unit;
        Time((phase + units.saturating_mul(unit)).max(expires.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Time = Time(500_000_000);

    #[test]
    fn ticks_count_from_the_phase_of_the_host() {
        let clock = HostClock::Fraction(0.5).ticking(TICK);
        assert_eq!(clock.count(Time(249_999_999)), 0);
        assert_eq!(clock.count(Time(250_000_000)), 1);
        assert_eq!(clock.after(Time(250_000_000), 1), Time(750_000_000));
        assert_eq!(clock.after(Time(249_999_999), 2), Time(750_000_000));
        assert_eq!(clock.last(Time(749_999_999)), Time(250_000_000));
    }

    #[test]
    fn a_timer_of_linux_expires_with_the_second_tick_at_the_earliest() {
        let clock = HostClock::Fraction(0.0).ticking(Time(4));
        let expiry = |now: u64, at: u64| clock.expiry(Time(now), Time(at)).0;
        // Ticks at 0, 4, 8 and so on. A wait of 1 to 4 is one tick, and the one in which it is set does not count.
        assert_eq!([expiry(8, 9), expiry(8, 12), expiry(11, 12), expiry(11, 15)], [16, 16, 16, 16]);
        assert_eq!([expiry(8, 13), expiry(11, 16), expiry(12, 13)], [20, 20, 20]);
    }

    #[test]
    fn the_wheel_of_linux_rounds_up_to_units_that_grow_with_the_wait() {
        let clock = HostClock::At(Time(2)).ticking(Time(4));
        let wheel = |wait: u64, by_timer| clock.wheel(Time(10), Time(4 * wait), by_timer).0;
        // Ticks at 2, 6, 10 and so on. Up to 62 ticks, the unit is a tick, and one is added.
        assert_eq!([wheel(0, false), wheel(1, false), wheel(62, false)], [18, 18, 262]);
        // From 63 on, the unit is 8 ticks: from 2 in steps of 32, what follows 10 + 252 = 262 is 290.
        assert_eq!([wheel(63, false), wheel(63, true)], [290, 266]);
        // From 504 on, it is 64 ticks: in steps of 256, what follows 10 + 2016 is 2 + 8 * 256.
        assert_eq!(wheel(504, false), 2050);
    }
}
