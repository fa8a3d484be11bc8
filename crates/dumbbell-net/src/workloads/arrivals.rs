//! When transfers arrive: at random, at regular times, as a share of a rate, or each after the end of another one.

use crate::sizes::SizeSpec;
use dumbbell_units::{Rate, Stream, Time, params, tagged};

params! {
    /// A Poisson process.
    pub struct PoissonArrivals {
        /// Mean time between two arrivals.
        interval: Time = Time(100_000_000), "s", "-",
            |interval| interval.0 >= SHORTEST, "a time of at least 1 us";
    }
}

params! {
    /// A Poisson process whose mean load is a share of a rate.
    pub struct LoadArrivals {
        /// Arrivals per second times the mean size, as a share of `capacity`. Headers and retransmissions come on top.
        load: f64 = 0.5, "-", "-", |load| *load > 0.0 && *load <= 100.0, "a share above 0, at most 100";
        /// Rate to which the load refers.
        capacity: Rate = Rate(10_000_000), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0";
    }
}

params! {
    /// One arrival per interval, the first one at the start.
    pub struct RegularArrivals {
        /// Time between two arrivals.
        interval: Time = Time(100_000_000), "s", "-",
            |interval| interval.0 >= SHORTEST, "a time of at least 1 us";
    }
}

params! {
    /// Users that each wait for the end of their transfer, pause, and begin the next one.
    pub struct ClosedArrivals {
        /// Number of users.
        users: u64 = 10, "-", "-", |users| (1..=100_000).contains(users), "a whole number from 1 to 100000";
        /// Mean of the exponential pause before every transfer.
        pause: Time = Time(1_000_000_000), "s", "-";
    }
}

/// Shortest mean time between two arrivals, in nanoseconds.
const SHORTEST: u64 = 1_000;

tagged! {
    /// When transfers arrive.
    pub enum ArrivalSpec by "kind" {
        /// A Poisson process with a given interval.
        Poisson(PoissonArrivals) = "poisson",
        /// A Poisson process with a given load.
        Load(LoadArrivals) = "load",
        /// Regular times.
        Regular(RegularArrivals) = "regular",
        /// A closed loop: each user begins a transfer after the end of the previous one and a pause.
        Closed(ClosedArrivals) = "closed",
    }
}

impl Default for ArrivalSpec {
    fn default() -> Self {
        ArrivalSpec::Poisson(PoissonArrivals::default())
    }
}

impl ArrivalSpec {
    /// Mean time between two arrivals, in seconds; `None` in a closed loop.
    pub fn interval(&self, sizes: &SizeSpec) -> Option<f64> {
        match self {
            ArrivalSpec::Poisson(poisson) => Some(poisson.interval.secs()),
            ArrivalSpec::Load(load) => Some(sizes.mean() * 8.0 / (load.load * load.capacity.0 as f64)),
            ArrivalSpec::Regular(regular) => Some(regular.interval.secs()),
            ArrivalSpec::Closed(_) => None,
        }
    }

    /// The time to the next arrival of an open loop with this mean interval.
    pub(super) fn gap(&self, interval: f64, random: &mut Stream) -> Time {
        Time::from_secs(match self {
            ArrivalSpec::Regular(_) => interval,
            _ => random.exponential(interval),
        })
    }

    /// The parameter that contradicts the sizes, and what is accepted.
    pub(super) fn contradiction(&self, sizes: &SizeSpec) -> Option<(String, String)> {
        let shortest = Time(SHORTEST).secs();
        let is_short = self.interval(sizes).is_some_and(|interval| interval < shortest);
        is_short.then(|| ("arrivals.load".into(), "a load with at most one arrival per microsecond".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::fixed::Fixed;
    use dumbbell_units::Bytes;

    #[test]
    fn a_load_has_at_most_one_arrival_per_microsecond() {
        // 1000 bytes take 1 us at 8 Gbit/s.
        let sizes = SizeSpec::Fixed(Fixed { size: Bytes(1000) });
        let field_of = |load| {
            let spec = ArrivalSpec::Load(LoadArrivals { load, capacity: Rate(8_000_000_000) });
            spec.contradiction(&sizes).map(|(field, _)| field)
        };
        assert_eq!([0.5, 0.99].map(field_of), [None, None]);
        assert_eq!([1.01, 2.0].map(field_of), [Some("arrivals.load".into()), Some("arrivals.load".into())]);
    }
}
