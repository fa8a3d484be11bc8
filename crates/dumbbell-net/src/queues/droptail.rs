//! Drop-tail: a first-in, first-out queue that drops packets that do not fit.

use super::{Arrival, AtArrival, Discipline, Reason, Service, Setup, Verdict};
use dumbbell_units::{Limit, Stream, params};

params! {
    /// A first-in, first-out queue that drops packets that do not fit.
    pub struct DropTail {
        /// Capacity of the queue.
        limit: Limit = Limit::Unlimited, "packets or bytes", "[brakmo1994 §4]";
        /// The packet in service counts towards the limit.
        counts_service: bool = false, "-", "[brakmo1994 §4]";
    }
}

impl DropTail {
    /// True if a packet of `size` bytes fits. `waiting` is the number of packets and bytes behind the packet in
    /// service, and `in_service` is the size of that packet, if there is one.
    #[inline]
    pub fn admits(&self, size: u32, waiting: (usize, u64), in_service: Option<u32>) -> bool {
        let Some(served) = in_service else {
            return true;
        };
        let extra = if self.counts_service { (1, u64::from(served)) } else { (0, 0) };
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => (waiting.0 + extra.0) < limit as usize,
            Limit::Bytes(limit) => waiting.1 + extra.1 + u64::from(size) <= limit,
        }
    }
}

impl Discipline for DropTail {
    const SUMMARY: &'static str = "First in, first out; packets that do not fit are dropped.";
    const SOURCE: &'static str = "[brakmo1994 §4]";

    fn room(&self) -> Limit {
        self.limit
    }
}

impl AtArrival for DropTail {
    type State = DropTail;

    fn start(&self, _setup: &Setup) -> DropTail {
        self.clone()
    }

    #[inline]
    fn admit(state: &mut DropTail, arrival: &Arrival, _random: &mut Stream) -> Verdict {
        let in_service = match arrival.service {
            Service::Busy(size) => Some(size),
            Service::IdleSince(_) => None,
        };
        if state.admits(arrival.size, arrival.waiting, in_service) {
            Verdict::Enqueue
        } else {
            Verdict::Drop(Reason::NoRoom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(limit: Limit, counts_service: bool) -> DropTail {
        DropTail { limit, counts_service }
    }

    #[test]
    fn the_packet_in_service_counts_only_if_configured() {
        let waiting = (9, 9000);
        assert!(queue(Limit::Packets(10), false).admits(1000, waiting, Some(1000)));
        assert!(!queue(Limit::Packets(10), true).admits(1000, waiting, Some(1000)));
        assert!(queue(Limit::Bytes(10_000), false).admits(1000, waiting, Some(1000)));
        assert!(!queue(Limit::Bytes(10_000), true).admits(1000, waiting, Some(1000)));
        assert!(queue(Limit::Packets(1), true).admits(1000, (0, 0), None));
    }
}
