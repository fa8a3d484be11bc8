//! Reordering as in netem [linux6 net/sched/sch_netem.c].
//!
//! All packets are delayed except for some, which are sent at once and so overtake those within the delay. After each of
//! these, `gap` - 1 packets are delayed in any case; then every packet draws whether it is sent at once. To vary the
//! delay, add an impairment of kind `jitter`; unlike in netem, it also varies that of the packets sent at once.

use super::correlated::Correlated;
use super::{Effect, Impair, Passing};
use dumbbell_units::{Stream, Time, params};

params! {
    /// A delay for all packets but some.
    pub struct Reorder {
        /// Delay of the others, in addition to the propagation delay of the link.
        delay: Time = Time(10_000_000), "s", "[linux6 net/sched/sch_netem.c]",
            |t| (1..=100_000_000_000).contains(&t.0), "a time above 0, up to 100 s";
        /// Probability that a packet is sent at once.
        probability: f64 = 0.01, "-", "[linux6 net/sched/sch_netem.c]",
            |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Weight of the previous number in each random number.
        correlation: f64 = 0.0, "-", "[linux6 net/sched/sch_netem.c]",
            |rho| (0.0..1.0).contains(rho), "a fraction from 0, below 1";
        /// Minimum distance of two packets sent at once, counted in packets.
        gap: u64 = 1, "packets", "[linux6 net/sched/sch_netem.c]", |gap| *gap >= 1, "a number of at least 1";
    }
}

/// The state on one link.
#[derive(Clone, Debug)]
pub struct Overtaking {
    params: Reorder,
    draws: Correlated,
    /// Packets delayed since the last one that was not.
    delayed: u64,
}

impl Impair for Reorder {
    type State = Overtaking;

    fn start(&self) -> Overtaking {
        Overtaking { params: self.clone(), draws: Correlated::new(self.correlation), delayed: 0 }
    }

    fn act(state: &mut Overtaking, _passing: &Passing, random: &mut Stream) -> Effect {
        let Overtaking { params, draws, delayed } = state;
        if *delayed >= params.gap - 1 && draws.chance(params.probability, random) {
            *delayed = 0;
            return Effect::Pass;
        }
        *delayed += 1;
        Effect::Delay(params.delay)
    }

    fn keeps_order(&self, _enter_in_order: bool) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::effects;
    use super::*;

    #[test]
    fn every_packet_after_the_gap_may_overtake() {
        let at_once = |probability, gap| {
            let params = Reorder { probability, gap, ..Reorder::default() };
            let effects = effects(&params, 1, 60_000);
            (0..)
                .zip(effects)
                .filter(|(_, effect)| *effect == Effect::Pass)
                .map(|(n, _)| n)
                .collect::<Vec<_>>()
        };
        // Every fifth packet; a gap of 1 leaves the choice to the probability.
        assert_eq!(at_once(1.0, 5)[..3], [4, 9, 14]);
        assert!((at_once(0.25, 1).len() as f64 / 15_000.0 - 1.0).abs() < 0.03);
        // Four packets are delayed for certain, then one in two is sent at once: one in six on average.
        let sparse = at_once(0.5, 5);
        assert!(sparse.windows(2).all(|pair| pair[1] - pair[0] >= 5));
        assert!((sparse.len() as f64 / 10_000.0 - 1.0).abs() < 0.03, "{}", sparse.len());
    }
}
