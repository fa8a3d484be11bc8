//! Web pages: a document, then its objects over several persistent connections, then a pause of the user.
//!
//! As with HTTP/1.1 (RFC 9112 §9.3), a connection carries one object at a time, and the next one follows the request of
//! the client. All objects are known once the document is complete; they use as many connections as browsers open to a
//! server, six. Every page begins with new connections. The defaults describe the median page on desktops as measured
//! in 2024: 71 requests, a document of 18 kB, 2.65 MB in all [httparchive2024]. That object sizes are lognormal, and their
//! spread, are assumptions: a median of 10 kB and a mean of 37 kB.
//!
//! Departures from browsers: no dependencies between objects, no time to compute, one server, no caching, and requests
//! take no capacity.

use super::{Ended, Order, Turn, Workload, of_sizes};
use crate::sizes::SizeSpec;
use crate::sizes::fixed::Fixed;
use crate::sizes::lognormal::LogNormal;
use dumbbell_units::{Bytes, Interval, Time, params};

params! {
    /// Web pages, each with its connections.
    pub struct Web {
        /// Size of the document that begins a page.
        document: SizeSpec = SizeSpec::Fixed(Fixed { size: Bytes(18_000) }), "bytes", "[httparchive2024]";
        /// Number of further objects of a page.
        objects: u64 = 70, "-", "[httparchive2024]", |objects| *objects <= 100_000, "a whole number up to 100000";
        /// Sizes of these objects.
        sizes: SizeSpec = SizeSpec::LogNormal(LogNormal { median: Bytes(10_000), sigma: 1.62 }), "bytes", "-";
        /// Number of connections that a page uses at most.
        connections: u64 = 6, "-", "[RFC 9112 §9.4]", |number| (1..=1000).contains(number), "a whole number from 1 to 1000";
        /// Mean of the exponential pause between two pages.
        pause: Time = Time(5_000_000_000), "s", "-";
        /// Number of pages; unlimited if not given.
        count: Option<u64> = None, "-", "-",
            |count| count.is_none_or(|count| count > 0), "a whole number, at least 1";
    }
}

/// The current page, and when the next one begins.
#[derive(Clone, Debug)]
pub struct State {
    next: Time,
    pages: u64,
    /// Objects of the current page that have not begun.
    waiting: u64,
    /// Transfers of the current page in progress.
    active: u64,
    /// Connections that the page has used.
    used: u32,
    bytes: u64,
    is_complete: bool,
}

impl Web {
    fn is_over(&self, state: &State) -> bool {
        self.count.is_some_and(|count| state.pages >= count)
    }

    fn send(&self, state: &mut State, connection: u32, bytes: u64, turn: &mut Turn<'_>) {
        state.active += 1;
        state.bytes += bytes;
        state.used = state.used.max(connection + 1);
        turn.send_over(connection, bytes);
    }

    fn send_object(&self, state: &mut State, connection: u32, turn: &mut Turn<'_>) {
        if state.waiting > 0 {
            state.waiting -= 1;
            let bytes = self.sizes.draw(turn.random);
            self.send(state, connection, bytes, turn);
        }
    }
}

impl Workload for Web {
    type State = State;
    const TRANSFER: &'static str = "object";
    const GROUP: Option<&'static str> = Some("page");

    fn start(&self, turn: &mut Turn<'_>, _window: Interval) -> State {
        State { next: turn.now, pages: 0, waiting: 0, active: 0, used: 0, bytes: 0, is_complete: true }
    }

    fn next(&self, state: &State) -> Time {
        state.next
    }

    fn on_time(&self, state: &mut State, turn: &mut Turn<'_>) {
        *state = State {
            next: Time::NEVER,
            pages: state.pages + 1,
            waiting: self.objects,
            active: 0,
            used: 0,
            bytes: 0,
            is_complete: true,
        };
        turn.orders.push(Order::Begin);
        let document = self.document.draw(turn.random);
        self.send(state, 0, document, turn);
    }

    fn on_end(&self, state: &mut State, ended: &Ended, turn: &mut Turn<'_>) {
        state.active -= 1;
        state.is_complete &= ended.is_complete;
        if state.waiting == self.objects {
            // The document is complete, and its connection is free.
            (0..self.connections as u32).for_each(|connection| self.send_object(state, connection, turn));
        } else if let Some(connection) = ended.over {
            self.send_object(state, connection, turn);
        }
        if state.active == 0 {
            turn.orders.extend((0..state.used).map(Order::Close));
            turn.orders.push(Order::End(state.bytes, state.is_complete));
            if !self.is_over(state) {
                state.next = turn.now + turn.exponential(self.pause);
            }
        }
    }

    fn is_finished(&self, state: &State) -> bool {
        self.is_over(state) && state.active == 0
    }

    fn is_finite(&self) -> bool {
        self.count.is_some()
    }

    fn contradiction(&self) -> Option<(String, String)> {
        of_sizes("document", &self.document).or_else(|| of_sizes("sizes", &self.sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ALWAYS, ended, turn};
    use super::*;
    use dumbbell_units::Stream;

    fn over(orders: &[Order]) -> Vec<u32> {
        let connection = |order: &Order| match order {
            Order::Send { over, .. } => *over,
            _ => None,
        };
        orders.iter().filter_map(connection).collect()
    }

    #[test]
    fn a_page_is_a_document_and_then_objects_one_at_a_time_on_each_connection() {
        let sizes = SizeSpec::Fixed(Fixed { size: Bytes(2_000) });
        let page = Web { objects: 3, sizes, connections: 2, count: Some(1), ..Web::default() };
        let mut random = Stream::new(1, 0, "web");
        let (mut state, _) = turn(0, &mut random, |turn| page.start(turn, ALWAYS));
        let (_, orders) = turn(0, &mut random, |turn| page.on_time(&mut state, turn));
        assert_eq!(orders, [Order::Begin, Order::Send { bytes: 18_000, over: Some(0) }]);
        let mut end = |bytes, connection| {
            turn(10, &mut random, |turn| page.on_end(&mut state, &ended(bytes, Some(connection)), turn)).1
        };
        assert_eq!(over(&end(18_000, 0)), [0, 1]);
        assert_eq!(over(&end(2_000, 1)), [1]);
        assert_eq!(end(2_000, 0), []);
        // 18 000 bytes of the document and three objects of 2 000 bytes.
        assert_eq!(end(2_000, 1), [Order::Close(0), Order::Close(1), Order::End(24_000, true)]);
        assert!(page.is_finished(&state) && page.next(&state) == Time::NEVER);
    }

    #[test]
    fn a_page_without_objects_ends_with_its_document() {
        let page = Web { objects: 0, ..Web::default() };
        let mut random = Stream::new(1, 0, "web");
        let (mut state, _) = turn(0, &mut random, |turn| page.start(turn, ALWAYS));
        turn(0, &mut random, |turn| page.on_time(&mut state, turn));
        let (_, orders) = turn(9, &mut random, |turn| page.on_end(&mut state, &ended(18_000, Some(0)), turn));
        assert_eq!(orders, [Order::Close(0), Order::End(18_000, true)]);
        assert!(page.next(&state) > Time(9) && page.next(&state) < Time::NEVER);
    }

    #[test]
    fn the_median_page_has_the_measured_size() {
        // exp(1.62^2 / 2) = 3.714: 70 objects of 37.1 kB and a document of 18 kB, 2.62 MB.
        let page = Web::default();
        let mean = page.document.mean() + page.objects as f64 * page.sizes.mean();
        assert!((mean / 2.65e6 - 1.0).abs() < 0.02, "{mean}");
    }
}
