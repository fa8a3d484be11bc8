//! The order in which a sender sent its segments, as their clocks and numbers tell.

use crate::segment::Segment;

/// So many packets in a row that are numbered one after the other show that a host numbers them so.
const STEADY: u8 = 8;
/// Numbers of successive packets of a connection differ by at most this, as other connections may share them.
const NEXT: u16 = 64;

/// What the latest segments say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// The largest clock [RFC 7323 §3.2].
    clock: Option<u32>,
    /// Identification of the segment that was sent last, and how many followed each other before it.
    identification: Option<u16>,
    steady: u8,
}

impl Order {
    /// A segment was seen.
    pub fn on_segment(&mut self, segment: &Segment) {
        if let Some((clock, _)) = segment.options.timestamps
            && self.clock.is_none_or(|latest| clock.wrapping_sub(latest).cast_signed() > 0)
        {
            self.clock = Some(clock);
        }
        let Some(number) = segment.identification.filter(|number| *number != 0) else { return };
        match self.identification.map(|latest| number.wrapping_sub(latest)) {
            Some(1..=NEXT) => self.steady = (self.steady + 1).min(STEADY),
            // Overtaken, or seen twice.
            Some(step) if self.steady == STEADY && (step == 0 || step.cast_signed() < 0) => return,
            _ => self.steady = 0,
        }
        self.identification = Some(number);
    }

    /// Whether a segment was sent before one that was seen already; `None` if nothing tells.
    pub fn is_older(&self, segment: &Segment) -> Option<bool> {
        let clocks = self.clock.zip(segment.options.timestamps);
        let by_clock = clocks.map_or(0, |(latest, (clock, _))| clock.wrapping_sub(latest).cast_signed());
        if by_clock != 0 {
            return Some(by_clock < 0);
        }
        let number = segment.identification.filter(|number| *number != 0 && self.steady == STEADY);
        number.zip(self.identification).map(|(number, latest)| number.wrapping_sub(latest).cast_signed() < 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Flags, Options};
    use dumbbell_units::{Ecn, Time};
    use std::net::{Ipv4Addr, SocketAddr};

    fn segment(clock: Option<u32>, number: u16) -> Segment {
        let end = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        Segment {
            at: Time(0),
            interface: 0,
            from: end,
            to: end,
            seq: 0,
            ack: 0,
            flags: Flags::default(),
            window: 0,
            payload: 1,
            options: Options { timestamps: clock.map(|clock| (clock, 0)), ..Options::default() },
            ecn: Ecn::NotEct,
            identification: Some(number),
            hops: 64,
        }
    }

    /// After these segments.
    fn after(segments: impl IntoIterator<Item = (Option<u32>, u16)>) -> Order {
        let mut order = Order::default();
        segments.into_iter().for_each(|(clock, number)| order.on_segment(&segment(clock, number)));
        order
    }

    #[test]
    fn an_earlier_clock_is_older_and_a_later_one_is_not() {
        let order = after([(Some(u32::MAX), 0), (Some(1), 0)]);
        assert_eq!(order.is_older(&segment(Some(u32::MAX), 0)), Some(true));
        assert_eq!(order.is_older(&segment(Some(2), 0)), Some(false));
        assert_eq!(order.is_older(&segment(Some(1), 0)), None, "in the same tick, nothing tells");
        assert_eq!(order.is_older(&segment(None, 0)), None);
    }

    #[test]
    fn numbers_tell_only_of_a_host_that_counts() {
        let counting = |from: u16| (0..9).map(move |n| (None, from.wrapping_add(3 * n)));
        let order = after(counting(u16::MAX - 9));
        // The last has the number 14.
        assert_eq!(order.is_older(&segment(None, 13)), Some(true));
        assert_eq!(order.is_older(&segment(None, 15)), Some(false));
        let random =
            after([7000, 200, 41_000, 9, 30_000, 65_000, 123, 50_000, 4].map(|number| (None, number)));
        assert_eq!(random.is_older(&segment(None, 3)), None);
        assert_eq!(after([(None, 0); 20]).is_older(&segment(None, 0)), None);
    }

    #[test]
    fn what_was_overtaken_does_not_make_numbers_unsteady() {
        let mut order = after((0..12).map(|n| (None, 100 + n)));
        order.on_segment(&segment(None, 105));
        assert_eq!(order.is_older(&segment(None, 110)), Some(true));
    }
}
