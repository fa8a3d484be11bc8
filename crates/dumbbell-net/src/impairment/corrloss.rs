//! Random loss with correlation, as in netem [linux6 net/sched/sch_netem.c].
//!
//! A packet is lost if its number is below the probability; see `correlated` for the numbers. Losses come in runs, but
//! the fraction lost is below the probability, the more so the smaller the probability and the higher the correlation.

use super::correlated::Correlated;
use super::{Effect, Impair, Passing};
use dumbbell_units::{Stream, params};

params! {
    /// Random loss with correlation, as in netem. The fraction lost is the probability only without correlation.
    pub struct CorrelatedLoss {
        /// Nominal probability of losing a packet.
        probability: f64 = 0.01, "-", "[linux6 net/sched/sch_netem.c]",
            |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Weight of the previous number in each random number.
        correlation: f64 = 0.25, "-", "[linux6 net/sched/sch_netem.c]",
            |rho| (0.0..1.0).contains(rho), "a fraction from 0, below 1";
    }
}

impl Impair for CorrelatedLoss {
    type State = (f64, Correlated);

    fn start(&self) -> Self::State {
        (self.probability, Correlated::new(self.correlation))
    }

    fn act((probability, draws): &mut Self::State, _passing: &Passing, random: &mut Stream) -> Effect {
        Effect::lose_if(draws.chance(*probability, random))
    }
}

#[cfg(test)]
mod tests {
    use super::super::loss_of;
    use super::*;

    #[test]
    fn correlation_lowers_small_probabilities() {
        let loss = |probability, correlation| loss_of(&CorrelatedLoss { probability, correlation }, 400_000);
        assert!((loss(0.1, 0.0) / 0.1 - 1.0).abs() < 0.03);
        assert!((loss(0.5, 0.5) / 0.5 - 1.0).abs() < 0.03, "the distribution is symmetrical");
        // With rho = 1/2, a number below 0.02 needs a previous one below 0.04 and a draw below 0.04 less that: the
        // number is the sum of u/2 + v/4 + w/8 + ..., and to be below x, u < 2x, v < 4x, w < 8x, ... all small.
        assert!(loss(0.02, 0.5) < 0.001, "{}", loss(0.02, 0.5));
    }
}
