//! Transfers that arrive over time, each on its own TCP connection: the short flows of evaluations, with flow-completion
//! times.

use super::arrivals::ArrivalSpec;
use super::{Ended, Order, Turn, Workload, of_sizes};
use crate::sizes::SizeSpec;
use dumbbell_units::{Interval, Time, params};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

params! {
    /// Transfers that arrive over time, each on its own TCP connection.
    pub struct Transfers {
        /// When transfers arrive.
        arrivals: ArrivalSpec = ArrivalSpec::default(), "-", "-";
        /// Sizes of the transfers.
        sizes: SizeSpec = SizeSpec::default(), "bytes", "-";
        /// Number of transfers; unlimited if not given.
        count: Option<u64> = None, "-", "-",
            |count| count.is_none_or(|count| count > 0), "a whole number, at least 1";
        /// Transfers in progress at the same time; a further arrival is refused and counted.
        most_open: u64 = 10_000, "-", "-", |most| (1..=1_000_000).contains(most), "a whole number from 1 to 1000000";
    }
}

/// Arrivals so far, and those to come.
#[derive(Clone, Debug)]
pub struct State {
    /// Mean time between arrivals, in seconds, of an open loop.
    interval: Option<f64>,
    /// When the next transfers begin; of an open loop, at most one.
    next: BinaryHeap<Reverse<u64>>,
    arrived: u64,
    open: u64,
}

impl Transfers {
    fn is_over(&self, state: &State) -> bool {
        self.count.is_some_and(|count| state.arrived >= count)
    }

    /// A user of a closed loop pauses.
    fn pause(&self, state: &mut State, turn: &mut Turn<'_>) {
        if let ArrivalSpec::Closed(closed) = &self.arrivals {
            let pause = turn.exponential(closed.pause);
            state.next.push(Reverse((turn.now + pause).0));
        }
    }

    fn arrive(&self, state: &mut State, turn: &mut Turn<'_>) {
        if self.is_over(state) {
            return;
        }
        state.arrived += 1;
        let bytes = self.sizes.draw(turn.random);
        if state.open >= self.most_open {
            turn.orders.push(Order::Refuse);
            return;
        }
        state.open += 1;
        turn.send(bytes);
    }
}

impl Workload for Transfers {
    type State = State;
    const TRANSFER: &'static str = "transfer";

    fn start(&self, turn: &mut Turn<'_>, _window: Interval) -> State {
        let interval = self.arrivals.interval(&self.sizes);
        let mut state = State { interval, next: BinaryHeap::new(), arrived: 0, open: 0 };
        match &self.arrivals {
            ArrivalSpec::Closed(closed) => (0..closed.users).for_each(|_| self.pause(&mut state, turn)),
            ArrivalSpec::Regular(_) => state.next.push(Reverse(turn.now.0)),
            ArrivalSpec::Poisson(_) | ArrivalSpec::Load(_) => {
                let gap = self.arrivals.gap(interval.unwrap_or_default(), turn.random);
                state.next.push(Reverse((turn.now + gap).0));
            }
        }
        state
    }

    fn next(&self, state: &State) -> Time {
        match state.next.peek() {
            Some(&Reverse(at)) if !self.is_over(state) => Time(at),
            _ => Time::NEVER,
        }
    }

    fn on_time(&self, state: &mut State, turn: &mut Turn<'_>) {
        while let Some(&Reverse(at)) = state.next.peek()
            && at <= turn.now.0
        {
            state.next.pop();
            self.arrive(state, turn);
            if let Some(interval) = state.interval {
                let gap = self.arrivals.gap(interval, turn.random);
                state.next.push(Reverse((Time(at) + gap).0));
            }
        }
    }

    fn on_end(&self, state: &mut State, _ended: &Ended, turn: &mut Turn<'_>) {
        state.open -= 1;
        self.pause(state, turn);
    }

    fn is_finished(&self, state: &State) -> bool {
        self.is_over(state) && state.open == 0
    }

    fn is_finite(&self) -> bool {
        self.count.is_some()
    }

    fn contradiction(&self) -> Option<(String, String)> {
        of_sizes("sizes", &self.sizes).or_else(|| self.arrivals.contradiction(&self.sizes)).or_else(|| {
            let ArrivalSpec::Closed(closed) = &self.arrivals else { return None };
            (closed.users > self.most_open)
                .then(|| ("most_open".into(), format!("at least the number of users, {}", closed.users)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::{ClosedArrivals, LoadArrivals, RegularArrivals};
    use super::super::testing::{ALWAYS, ended, turn};
    use super::*;
    use crate::sizes::fixed::Fixed;
    use dumbbell_units::{Bytes, Rate, Stream};

    fn fixed(bytes: u64) -> SizeSpec {
        SizeSpec::Fixed(Fixed { size: Bytes(bytes) })
    }

    /// Runs an open loop until `end` in nanoseconds; every transfer ends at once. Returns arrivals and bytes.
    fn run(source: &Transfers, end: u64) -> (u64, u64) {
        let mut random = Stream::new(1, 0, "flow:f:traffic");
        let (mut state, _) = turn(0, &mut random, |turn| source.start(turn, ALWAYS));
        let (mut arrivals, mut bytes) = (0, 0);
        while source.next(&state).0 <= end {
            let at = source.next(&state).0;
            let (_, orders) = turn(at, &mut random, |turn| source.on_time(&mut state, turn));
            for order in orders {
                let Order::Send { bytes: size, .. } = order else { panic!("{order:?}") };
                (arrivals, bytes) = (arrivals + 1, bytes + size);
                turn(at, &mut random, |turn| source.on_end(&mut state, &ended(size, None), turn));
            }
        }
        (arrivals, bytes)
    }

    #[test]
    fn the_load_is_arrivals_times_the_mean_size() {
        // 60 % of 10 Mbit/s are 750 kB/s: 25 transfers of 30 kB per second.
        let load = LoadArrivals { load: 0.6, capacity: Rate(10_000_000) };
        let source =
            Transfers { arrivals: ArrivalSpec::Load(load), sizes: fixed(30_000), ..Transfers::default() };
        assert!((source.arrivals.interval(&source.sizes).unwrap() - 0.04).abs() < 1e-12);
        // In 4000 s, 100 000 arrivals with a standard deviation of 316.
        let (arrivals, bytes) = run(&source, 4_000_000_000_000);
        assert!((arrivals as f64 / 1e5 - 1.0).abs() < 0.012, "{arrivals}");
        assert_eq!(bytes, arrivals * 30_000);
    }

    #[test]
    fn the_load_of_a_published_distribution_is_the_stated_one() {
        let load = LoadArrivals { load: 0.5, capacity: Rate(1_000_000_000) };
        let sizes = SizeSpec::WebSearch(Default::default());
        let source = Transfers { arrivals: ArrivalSpec::Load(load), sizes, ..Transfers::default() };
        // 62.5 MB/s over 10 000 s; 375 000 transfers, whose sizes have a standard deviation of twice their mean.
        let (_, bytes) = run(&source, 10_000_000_000_000);
        assert!((bytes as f64 / 62.5e10 - 1.0).abs() < 0.02, "{bytes}");
    }

    #[test]
    fn regular_arrivals_begin_at_the_start_and_end_after_their_number() {
        let regular = RegularArrivals { interval: Time(10) };
        let source = Transfers {
            arrivals: ArrivalSpec::Regular(regular),
            sizes: fixed(5),
            count: Some(3),
            ..Transfers::default()
        };
        let mut random = Stream::new(1, 0, "regular");
        let (mut state, _) = turn(100, &mut random, |turn| source.start(turn, ALWAYS));
        let mut times = Vec::new();
        while source.next(&state) < Time::NEVER {
            let at = source.next(&state).0;
            let (_, orders) = turn(at, &mut random, |turn| source.on_time(&mut state, turn));
            assert_eq!(orders, [Order::Send { bytes: 5, over: None }]);
            times.push(at);
        }
        assert_eq!(times, [100, 110, 120]);
        assert!(!source.is_finished(&state));
        for _ in 0..3 {
            turn(130, &mut random, |turn| source.on_end(&mut state, &ended(5, None), turn));
        }
        assert!(source.is_finished(&state) && source.is_finite());
    }

    #[test]
    fn users_of_a_closed_loop_wait_for_the_end_of_their_transfer() {
        let closed = ClosedArrivals { users: 2, pause: Time::ZERO };
        let source =
            Transfers { arrivals: ArrivalSpec::Closed(closed), sizes: fixed(5), ..Transfers::default() };
        let mut random = Stream::new(1, 0, "closed");
        let (mut state, _) = turn(7, &mut random, |turn| source.start(turn, ALWAYS));
        let (_, orders) = turn(7, &mut random, |turn| source.on_time(&mut state, turn));
        assert_eq!(orders.len(), 2);
        assert_eq!(source.next(&state), Time::NEVER);
        turn(50, &mut random, |turn| source.on_end(&mut state, &ended(5, None), turn));
        assert_eq!(source.next(&state), Time(50));
    }

    #[test]
    fn arrivals_beyond_the_largest_number_of_transfers_are_refused() {
        let arrivals = ArrivalSpec::Regular(RegularArrivals { interval: Time(10) });
        let source = Transfers { arrivals, most_open: 1, ..Transfers::default() };
        let mut random = Stream::new(1, 0, "refused");
        let (mut state, _) = turn(0, &mut random, |turn| source.start(turn, ALWAYS));
        let (_, orders) = turn(10, &mut random, |turn| source.on_time(&mut state, turn));
        assert_eq!(orders, [Order::Send { bytes: 100_000, over: None }, Order::Refuse]);
    }
}
