//! The loss model of Gilbert and Elliott as netem has it [linux6 net/sched/sch_netem.c].
//!
//! Each packet first draws whether the state changes for the next packet, then whether it is lost in the state that it
//! has found. In the long run a fraction (p `loss` + r `good_loss`) / (p + r) is lost, and a bad state lasts 1/r
//! packets on average.

use super::{Effect, Impair, Passing};
use dumbbell_units::{Stream, params};

params! {
    /// Loss by a chain of two states that changes with packets.
    pub struct Gilbert {
        /// Probability of a change from the good state, in which the model starts, to the bad one.
        p: f64 = 0.01, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability of a change from the bad state to the good one.
        r: f64 = 0.2, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability of losing a packet in the bad state; 1 - h of the model.
        loss: f64 = 1.0, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability of losing a packet in the good state; 1 - k of the model.
        good_loss: f64 = 0.0, "-", "[linux6 net/sched/sch_netem.c]",
            |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
    }
}

impl Impair for Gilbert {
    /// The parameters, and whether the state is bad.
    type State = (Gilbert, bool);

    fn start(&self) -> Self::State {
        (self.clone(), false)
    }

    fn act((model, is_bad): &mut Self::State, _passing: &Passing, random: &mut Stream) -> Effect {
        let (change, loss) = if *is_bad { (model.r, model.loss) } else { (model.p, model.good_loss) };
        *is_bad ^= random.chance(change);
        Effect::lose_if(random.chance(loss))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{effects, loss_of};
    use super::*;

    #[test]
    fn the_fraction_lost_is_that_of_the_stationary_chain() {
        // (0.02 * 0.5 + 0.1 * 0.01) / 0.12 = 0.011 / 0.12.
        let model = Gilbert { p: 0.02, r: 0.1, loss: 0.5, good_loss: 0.01 };
        let measured = loss_of(&model, 2_000_000);
        assert!((measured / (0.011 / 0.12) - 1.0).abs() < 0.02, "{measured}");
    }

    #[test]
    fn a_bad_state_lasts_the_inverse_of_its_probability_to_end() {
        let model = Gilbert { p: 0.01, r: 0.2, ..Gilbert::default() };
        let lost: Vec<bool> =
            effects(&model, 1, 1_000_000).iter().map(|&effect| effect == Effect::Lose).collect();
        let runs = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let mean = lost.iter().filter(|&&is_lost| is_lost).count() as f64 / runs;
        assert!((mean / 5.0 - 1.0).abs() < 0.03, "{mean}");
    }
}
