//! The transmitter of a link: serialization with its remainders, and rates and delays that change at given times.
//!
//! Serialization delays carry their fraction of a nanosecond through a busy period, so that rates are exact over
//! any length. A transmission that spans a change continues at the new rate.

use crate::link::LinkSpec;
use dumbbell_units::Time;

/// Rate and delay of a link from a time on.
#[derive(Clone, Copy, Debug)]
struct Regime {
    from: Time,
    rate: u64,
    delay: Time,
}

/// What is left of the changes of a link.
#[derive(Clone, Debug)]
struct Changes {
    /// Future regimes, the next one last.
    regimes: Vec<Regime>,
    last_arrival: Time,
}

/// The changes of a link after its first regime, if it changes at all.
fn upcoming_changes(spec: &LinkSpec) -> Option<Box<Changes>> {
    let mut last = Regime { from: Time::ZERO, rate: spec.rate.0, delay: spec.delay };
    let mut regimes = Vec::with_capacity(spec.changes.len());
    for change in &spec.changes {
        last.from = change.at;
        last.rate = change.rate.map_or(last.rate, |rate| rate.0);
        last.delay = change.delay.unwrap_or(last.delay);
        regimes.push(last);
    }
    regimes.reverse();
    (!regimes.is_empty()).then(|| Box::new(Changes { regimes, last_arrival: Time::ZERO }))
}

/// The transmitter of one link.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    /// The present regime, that of the packet last served.
    rate: u64,
    delay: Time,
    remainder: u64,
    /// Size of the last packet with its serialization delay: whole nanoseconds and remainder.
    last_size: (u32, u64, u64),
    changes: Option<Box<Changes>>,
}

impl Transmitter {
    pub(crate) fn new(spec: &LinkSpec) -> Self {
        Transmitter {
            rate: spec.rate.0,
            delay: spec.delay,
            remainder: 0,
            last_size: (0, 0, 0),
            changes: upcoming_changes(spec),
        }
    }

    /// True if neither rate nor delay ever changes.
    pub(crate) fn is_steady(&self) -> bool {
        self.changes.is_none()
    }

    /// The present propagation delay.
    #[inline]
    pub(crate) fn delay(&self) -> Time {
        self.delay
    }

    /// A busy period begins after idle time: the remainder of the previous one is discarded.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.remainder = 0;
    }

    /// How long the transmission of a packet takes at the present rate.
    #[inline]
    pub(crate) fn serialization(&mut self, size: u32) -> Time {
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

    /// When a transmission ends that begins at `begins`, and how many whole nanoseconds of the time since then are
    /// service. The rest is a remainder, which counts as waiting, so that service is the same for all packets of a size.
    #[inline]
    pub(crate) fn serve(&mut self, begins: Time, size: u32) -> (Time, Time) {
        if self.changes.as_ref().is_none_or(|changes| changes.regimes.is_empty()) {
            let ends = begins + self.serialization(size);
            (ends, Time(self.last_size.1))
        } else {
            self.serve_through_changes(begins, size)
        }
    }

    /// The same with changes still to come.
    #[inline(never)]
    fn serve_through_changes(&mut self, begins: Time, size: u32) -> (Time, Time) {
        if self.take_over_changes(begins) {
            // What is left of the old rate's last nanosecond is less than that.
            self.remainder = 0;
        }
        let bits = u128::from(size) * 8 * 1_000_000_000;
        // In bits times nanoseconds, so that a rate times a span is one of them.
        let mut left = bits + u128::from(self.remainder);
        let mut service = Time((bits / u128::from(self.rate)) as u64);
        let mut at = begins;
        loop {
            let duration = Time((left / u128::from(self.rate)) as u64);
            let change = self.next_change();
            if at + duration < change || change == Time::NEVER {
                self.remainder = (left % u128::from(self.rate)) as u64;
                return (at + duration, service);
            }
            left -= u128::from(self.rate) * u128::from(change.since(at).0);
            at = change;
            if self.take_over_changes(at) {
                let rest = Time((left / u128::from(self.rate)) as u64);
                service = (at + rest).since(begins);
            }
        }
    }

    /// When the next regime begins; [`Time::NEVER`] without one.
    fn next_change(&self) -> Time {
        let next = self.changes.as_ref().and_then(|changes| changes.regimes.last());
        next.map_or(Time::NEVER, |regime| regime.from)
    }

    /// Makes the regime of `at` the current one. True if the rate changes.
    fn take_over_changes(&mut self, at: Time) -> bool {
        let before = self.rate;
        while let Some(changes) = &mut self.changes
            && let Some(regime) = changes.regimes.pop_if(|regime| regime.from <= at)
        {
            (self.rate, self.delay) = (regime.rate, regime.delay);
            self.last_size = (0, 0, 0);
        }
        self.rate != before
    }

    /// When the packet last served, whose transmission ended at `ends`, reaches the far end. Packets stay in order
    /// when the delay falls.
    #[inline]
    pub(crate) fn arrival(&mut self, ends: Time) -> Time {
        let arrival = ends + self.delay;
        match &mut self.changes {
            None => arrival,
            Some(changes) => {
                changes.last_arrival = changes.last_arrival.max(arrival);
                changes.last_arrival
            }
        }
    }
}
