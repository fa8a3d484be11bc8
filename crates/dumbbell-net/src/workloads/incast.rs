//! Incast: a request that many senders answer at the same time. The request is complete when all answers are; the next
//! one follows after a pause.
//!
//! The senders are connections of one flow and share its path from its first link on. Their host stands for a switch, so
//! that its link should be several times as fast as the bottleneck. Persistent connections keep their windows from one
//! request to the next, as between the aggregators and workers of [alizadeh2010 §2.2].

use super::{Ended, Order, Turn, Workload, of_sizes};
use crate::sizes::SizeSpec;
use crate::sizes::fixed::Fixed;
use dumbbell_units::{Bytes, Interval, Time, params};

params! {
    /// Requests that many senders answer at the same time.
    pub struct Incast {
        /// Number of senders, each with a connection.
        senders: u64 = 32, "-", "-", |senders| (1..=10_000).contains(senders), "a whole number from 1 to 10000";
        /// Sizes of the answers.
        sizes: SizeSpec = SizeSpec::Fixed(Fixed { size: Bytes(32_000) }), "bytes", "-";
        /// Time from the end of a request to the next one.
        pause: Time = Time(100_000_000), "s", "-";
        /// Keep the connections from one request to the next.
        persistent: bool = true, "-", "[alizadeh2010 §2.2]";
        /// Number of requests; unlimited if not given.
        count: Option<u64> = None, "-", "-",
            |count| count.is_none_or(|count| count > 0), "a whole number, at least 1";
    }
}

/// The current request, and when the next one begins.
#[derive(Clone, Debug)]
pub struct State {
    next: Time,
    requests: u64,
    active: u64,
    bytes: u64,
    is_complete: bool,
}

impl Incast {
    fn is_over(&self, state: &State) -> bool {
        self.count.is_some_and(|count| state.requests >= count)
    }
}

impl Workload for Incast {
    type State = State;
    const TRANSFER: &'static str = "answer";
    const GROUP: Option<&'static str> = Some("request");

    fn start(&self, turn: &mut Turn<'_>, _window: Interval) -> State {
        State { next: turn.now, requests: 0, active: 0, bytes: 0, is_complete: true }
    }

    fn next(&self, state: &State) -> Time {
        state.next
    }

    fn on_time(&self, state: &mut State, turn: &mut Turn<'_>) {
        *state = State {
            next: Time::NEVER,
            requests: state.requests + 1,
            active: self.senders,
            bytes: 0,
            is_complete: true,
        };
        turn.orders.push(Order::Begin);
        for sender in 0..self.senders as u32 {
            let bytes = self.sizes.draw(turn.random);
            state.bytes += bytes;
            if self.persistent { turn.send_over(sender, bytes) } else { turn.send(bytes) }
        }
    }

    fn on_end(&self, state: &mut State, ended: &Ended, turn: &mut Turn<'_>) {
        state.active -= 1;
        state.is_complete &= ended.is_complete;
        if state.active > 0 {
            return;
        }
        if self.is_over(state) && self.persistent {
            turn.orders.extend((0..self.senders as u32).map(Order::Close));
        }
        turn.orders.push(Order::End(state.bytes, state.is_complete));
        if !self.is_over(state) {
            state.next = turn.now + self.pause;
        }
    }

    fn is_finished(&self, state: &State) -> bool {
        self.is_over(state) && state.active == 0
    }

    fn is_finite(&self) -> bool {
        self.count.is_some()
    }

    fn contradiction(&self) -> Option<(String, String)> {
        of_sizes("sizes", &self.sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ALWAYS, ended, turn};
    use super::*;
    use dumbbell_units::Stream;

    #[test]
    fn a_request_ends_with_its_last_answer_and_the_next_follows_after_the_pause() {
        let incast = Incast { senders: 3, pause: Time(40), count: Some(2), ..Incast::default() };
        let mut random = Stream::new(1, 0, "incast");
        let (mut state, _) = turn(0, &mut random, |turn| incast.start(turn, ALWAYS));
        let (_, orders) = turn(0, &mut random, |turn| incast.on_time(&mut state, turn));
        assert_eq!(orders.len(), 4);
        let mut end = |at, sender, state: &mut State| {
            turn(at, &mut random, |turn| incast.on_end(state, &ended(32_000, Some(sender)), turn)).1
        };
        assert_eq!((end(10, 2, &mut state), end(20, 0, &mut state)), (vec![], vec![]));
        assert_eq!(end(30, 1, &mut state), [Order::End(96_000, true)]);
        assert_eq!(incast.next(&state), Time(70));
        turn(70, &mut Stream::new(1, 0, "again"), |turn| incast.on_time(&mut state, turn));
        (0..2).for_each(|sender| assert_eq!(end(80, sender, &mut state), []));
        let last = end(90, 2, &mut state);
        assert_eq!(last, [Order::Close(0), Order::Close(1), Order::Close(2), Order::End(96_000, true)]);
        assert!(incast.is_finished(&state));
    }
}
