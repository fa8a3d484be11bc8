//! HighSpeed TCP by the table of RFC 3649 appendix B [linux6 tcp_highspeed.c].
//!
//! A row begins above its window. It adds one more segment per round trip than the row before, by its number for each
//! acknowledgement, whatever that acknowledges; what it takes from a loss counts in 1/256. The row changes with
//! acknowledgements above the threshold alone.

use super::{Module, Segments, before_loss};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context};

/// The largest window of each row, in segments, and what a loss takes, in 1/256.
#[rustfmt::skip]
const ROWS: [(u64, u64); 72] = [
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83), (1284, 81), (1529, 78),
    (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68), (3778, 66), (4177, 65), (4596, 64),
    (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58), (7558, 57), (8130, 56), (8726, 55), (9346, 54),
    (9991, 53), (10661, 52), (11358, 52), (12082, 51), (12834, 50), (13614, 49), (14424, 48), (15265, 48), (16137, 47),
    (17042, 46), (17981, 45), (18955, 45), (19965, 44), (21013, 43), (22101, 43), (23230, 42), (24402, 41), (25618, 41),
    (26881, 40), (28193, 39), (29557, 39), (30975, 38), (32450, 38), (33986, 37), (35586, 36), (37253, 36), (38992, 35),
    (40808, 35), (42707, 34), (44694, 33), (46776, 33), (48961, 32), (51258, 32), (53677, 31), (56230, 30), (58932, 30),
    (61799, 29), (64851, 28), (68113, 28), (71617, 27), (75401, 26), (79517, 26), (84035, 25), (89053, 24),
];

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct HighSpeed {
    row: usize,
}

impl HighSpeed {
    /// The increase, in segments per round trip.
    pub fn increase(&self) -> f64 {
        (self.row + 1) as f64
    }

    /// The row of a window: that of the largest window for all above.
    fn follow(&mut self, cwnd: u64) {
        let row = ROWS.partition_point(|(window, _)| *window < cwnd);
        self.row = row.min(ROWS.len() - 1);
    }
}

impl Module for HighSpeed {
    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        if window.in_slow_start() {
            window.slow_start(context, ack);
            return;
        }
        let mut segments = Segments::of(window, context);
        if !segments.is_limiting {
            return;
        }
        let cwnd = segments.cwnd();
        self.follow(cwnd);
        let counted = segments.counted() + self.row as u64 + 1;
        if counted >= cwnd {
            segments.set_counted(counted - cwnd);
            segments.add(1);
        } else {
            segments.set_counted(counted);
        }
    }

    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        let cwnd = before_loss(window, context);
        let (_, taken) = ROWS[self.row];
        super::reduce(window, cwnd - cwnd * taken / 256, context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::linux::tests::window;

    #[test]
    fn an_acknowledgement_counts_the_number_of_its_row_once() {
        // Above 118 segments, the third row: 3 per acknowledgement of three segments.
        let (mut highspeed, mut window) = (HighSpeed::default(), window(120.0, 2.0));
        for _ in 0..39 {
            highspeed.on_ack(&mut window, &context(120.0 * MSS), &Ack::new(3000, 3000));
        }
        assert_eq!((window.cwnd / MSS, *window.counted()), (120.0, 117.0));
        highspeed.on_ack(&mut window, &context(120.0 * MSS), &Ack::new(3000, 3000));
        assert_eq!(window.cwnd / MSS, 121.0);
    }

    #[test]
    fn a_loss_takes_what_the_row_of_the_last_growth_says() {
        let mut highspeed = HighSpeed::default();
        let mut after = |row| {
            highspeed.row = row;
            let mut window = window(120.0, 2.0);
            highspeed.on_congestion(&mut window, &context(0.0), &Congestion::new(Signal::FastRetransmit));
            window.ssthresh / MSS
        };
        // 120 * 128 / 256 = 60, and 120 * 104 / 256 = 48.
        assert_eq!((after(0), after(2)), (60.0, 72.0));
        let row = |cwnd| {
            let mut highspeed = HighSpeed::default();
            highspeed.follow(cwnd);
            highspeed.row
        };
        assert_eq!([38, 39, 118, 119, 89_053, 100_000].map(row), [0, 1, 1, 2, 71, 71]);
    }
}
