//! The transmitter of a link: serialization delays, rates and propagation delays that change at given times, and outages
//! that hold packets, as times with a rate of zero.
//!
//! Fractions of a nanosecond are carried over from packet to packet during a busy period, so that rates are exact over
//! any period. A transmission that spans a change continues at the new rate.

use crate::changes::Outage;
use crate::link_spec::LinkSpec;
use dumbbell_units::Time;

/// Rate and delay of a link from a given time on.
#[derive(Clone, Copy, Debug)]
struct Regime {
    from: Time,
    rate: u64,
    delay: Time,
}

/// Future changes of a link.
#[derive(Clone, Debug)]
struct Changes {
    /// Future regimes, the next one last.
    regimes: Vec<Regime>,
    last_arrival: Time,
}

/// The beginnings of outages, with true, and their ends, in order.
fn edges(outages: &[(Time, Time)]) -> impl Iterator<Item = (Time, bool)> + '_ {
    outages.iter().flat_map(|&(from, until)| [(from, true), (until, false)])
}

/// The changes of a link after its first regime; `None` if it never changes.
fn upcoming_changes(spec: &LinkSpec) -> Option<Box<Changes>> {
    let mut last = Regime { from: Time::ZERO, rate: spec.rate.0, delay: spec.delay };
    // Links with opportunities leave these unused in an outage; those of Wi-Fi hold no packets.
    let outages = if spec.opportunities.is_some() || spec.wifi.is_some() {
        Vec::new()
    } else {
        Outage::holding(&spec.outages)
    };
    let mut regimes = Vec::with_capacity(spec.changes.len() + 2 * outages.len());
    let (mut changes, mut edges) = (spec.changes.iter().peekable(), edges(&outages).peekable());
    let mut is_down = false;
    loop {
        let next_change = changes.peek().map_or(Time::NEVER, |change| change.at);
        let next_edge = edges.peek().map_or(Time::NEVER, |&(at, _)| at);
        last.from = next_change.min(next_edge);
        if let Some(change) = changes.next_if(|change| change.at == last.from) {
            last.rate = change.rate.map_or(last.rate, |rate| rate.0);
            last.delay = change.delay.unwrap_or(last.delay);
        } else if edges.peek().is_none() {
            break;
        }
        // An outage may end where the next one begins.
        while let Some((_, begins)) = edges.next_if(|&(at, _)| at == last.from) {
            is_down = begins;
        }
        regimes.push(Regime { rate: if is_down { 0 } else { last.rate }, ..last });
    }
    regimes.reverse();
    (!regimes.is_empty()).then(|| Box::new(Changes { regimes, last_arrival: Time::ZERO }))
}

/// The transmitter of one link.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    /// The current regime, which is that of the packet last transmitted.
    rate: u64,
    delay: Time,
    remainder: u64,
    /// Size of the last packet and its serialization delay: whole nanoseconds and remainder.
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

    /// Brings rate and delay up to `at`, for links whose transmissions take no time.
    pub(crate) fn catch_up(&mut self, at: Time) {
        self.apply_changes(at);
    }

    /// True if rate and delay never change.
    pub(crate) fn is_steady(&self) -> bool {
        self.changes.is_none()
    }

    /// The current rate, in bit/s.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// The current propagation delay.
    #[inline]
    pub(crate) fn delay(&self) -> Time {
        self.delay
    }

    /// A busy period begins after idle time: the remainder of the previous one is discarded.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.remainder = 0;
    }

    /// Serialization delay of a packet at the current rate.
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

    /// The end of a transmission that begins at `begins`, and its service time in whole nanoseconds. Carried-over
    /// fractions count as waiting, so that the service time is the same for all packets of the same size.
    #[inline]
    pub(crate) fn serve(&mut self, begins: Time, size: u32) -> (Time, Time) {
        if self.changes.as_ref().is_none_or(|changes| changes.regimes.is_empty()) {
            let ends = begins + self.serialization(size);
            (ends, Time(self.last_size.1))
        } else {
            self.serve_through_changes(begins, size)
        }
    }

    /// The same with future changes.
    #[inline(never)]
    fn serve_through_changes(&mut self, begins: Time, size: u32) -> (Time, Time) {
        if self.apply_changes(begins) {
            // The remainder is in units of the old rate, and less than a nanosecond.
            self.remainder = 0;
        }
        let mut at = self.wait_for_outage(begins);
        let bits = u128::from(size) * 8 * 1_000_000_000;
        // In units of bit/s times nanoseconds.
        let mut left = bits + u128::from(self.remainder);
        let mut service = Time((bits / u128::from(self.rate)) as u64);
        loop {
            let duration = Time((left / u128::from(self.rate)) as u64);
            let change = self.next_change();
            if at + duration < change || change == Time::NEVER {
                self.remainder = (left % u128::from(self.rate)) as u64;
                return (at + duration, service);
            }
            left -= u128::from(self.rate) * u128::from(change.since(at).0);
            at = change;
            if self.apply_changes(at) {
                at = self.wait_for_outage(at);
                let rest = Time((left / u128::from(self.rate)) as u64);
                service = (at + rest).since(begins);
            }
        }
    }

    /// The end of the outage, if `at` falls into one; otherwise `at`.
    fn wait_for_outage(&mut self, mut at: Time) -> Time {
        while self.rate == 0 {
            at = self.next_change();
            self.apply_changes(at);
        }
        at
    }

    /// Start of the next regime; [`Time::NEVER`] if there is none.
    fn next_change(&self) -> Time {
        let next = self.changes.as_ref().and_then(|changes| changes.regimes.last());
        next.map_or(Time::NEVER, |regime| regime.from)
    }

    /// Makes the regime of `at` the current one. True if the rate changes.
    fn apply_changes(&mut self, at: Time) -> bool {
        let before = self.rate;
        while let Some(changes) = &mut self.changes
            && let Some(regime) = changes.regimes.pop_if(|regime| regime.from <= at)
        {
            (self.rate, self.delay) = (regime.rate, regime.delay);
            self.last_size = (0, 0, 0);
        }
        self.rate != before
    }

    /// Arrival time of the last packet at the far end. Its transmission ended at `ends`. Packets stay in order when the
    /// delay decreases.
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
