//! Duplication as in netem [linux6 net/sched/sch_netem.c].
//!
//! The copy is a packet of its own for the impairments that follow in the list: list this one first for the order of
//! netem. If one of both is lost, the other takes its place, and neither a loss nor a copy is counted. Departure from
//! netem: there, the copy of a lost packet always arrives; here it may be lost as well.

use super::correlated::Correlated;
use super::{Effect, Impair, Passing};
use dumbbell_units::{Stream, params};

params! {
    /// Delivery of some packets twice.
    pub struct Duplicate {
        /// Probability that a packet is copied.
        probability: f64 = 0.01, "-", "[linux6 net/sched/sch_netem.c]",
            |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Weight of the previous number in each random number.
        correlation: f64 = 0.0, "-", "[linux6 net/sched/sch_netem.c]",
            |rho| (0.0..1.0).contains(rho), "a fraction from 0, below 1";
    }
}

impl Impair for Duplicate {
    type State = (f64, Correlated);

    fn start(&self) -> Self::State {
        (self.probability, Correlated::new(self.correlation))
    }

    fn act((probability, draws): &mut Self::State, _passing: &Passing, random: &mut Stream) -> Effect {
        if draws.chance(*probability, random) { Effect::Duplicate } else { Effect::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::super::effects;
    use super::*;

    #[test]
    fn packets_are_copied_with_their_probability() {
        let params = Duplicate { probability: 0.1, correlation: 0.0 };
        let copies =
            effects(&params, 1, 100_000).iter().filter(|&&effect| effect == Effect::Duplicate).count();
        assert!((copies as f64 / 10_000.0 - 1.0).abs() < 0.03, "{copies}");
    }
}
