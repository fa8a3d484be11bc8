//! The loss model of four states of netem [linux6 net/sched/sch_netem.c].
//!
//! Gap periods without losses except isolated ones (state 1, and 4 for an isolated loss) alternate with burst periods of
//! lost packets (state 3) among which some arrive (state 2). A packet is lost if the chain is in state 3 or 4 after the
//! packet's draw; an isolated loss is followed by a packet that arrives.

use super::{Contradiction, Effect, Impair, Passing};
use dumbbell_units::{Stream, params};

params! {
    /// Loss by a chain of four states that changes with packets.
    pub struct Markov {
        /// Probability that a burst begins with a packet of a gap period, in which the model starts.
        p13: f64 = 0.01, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability that the burst ends after a lost packet.
        p31: f64 = 0.2, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability that packets arrive within the burst after a lost one.
        p32: f64 = 0.0, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability that losses continue after a packet that has arrived within the burst.
        p23: f64 = 1.0, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability of an isolated loss in a gap period.
        p14: f64 = 0.0, "-", "[linux6 net/sched/sch_netem.c]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
    }
}

/// The states of the chain, in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub enum State {
    /// A packet has arrived in a gap period.
    Gap,
    /// A packet has arrived in a burst.
    BurstGap,
    /// A packet has been lost in a burst.
    Burst,
    /// A packet has been lost in a gap period.
    Isolated,
}

impl Impair for Markov {
    type State = (Markov, State);

    fn start(&self) -> Self::State {
        (self.clone(), State::Gap)
    }

    fn act((model, state): &mut Self::State, _passing: &Passing, random: &mut Stream) -> Effect {
        let drawn = random.uniform();
        *state = match *state {
            State::Gap if drawn < model.p14 => State::Isolated,
            State::Gap if drawn < model.p14 + model.p13 => State::Burst,
            State::BurstGap if drawn < model.p23 => State::Burst,
            State::BurstGap => State::BurstGap,
            State::Burst if drawn < model.p32 => State::BurstGap,
            State::Burst if drawn >= model.p32 + model.p31 => State::Burst,
            State::Gap | State::Burst | State::Isolated => State::Gap,
        };
        Effect::lose_if(matches!(state, State::Burst | State::Isolated))
    }

    fn contradiction(&self) -> Option<Contradiction> {
        let exceeds = |one: f64, other: f64| one + other > 1.0;
        if exceeds(self.p13, self.p14) {
            return Some(("p14", format!("at most 1 - p13 = {}", 1.0 - self.p13)));
        }
        exceeds(self.p31, self.p32).then(|| ("p32", format!("at most 1 - p31 = {}", 1.0 - self.p31)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{effects, loss_of};
    use super::*;

    #[test]
    fn the_fraction_lost_is_that_of_the_stationary_chain() {
        // In terms of the first state: the third is p13 / p31 = 0.2, the second that times p32 / p23 = 0.2 * 0.1 / 0.4 =
        // 0.05, the fourth p14 = 0.03; lost are 0.23 of 1 + 0.05 + 0.2 + 0.03 = 1.28.
        let model = Markov { p13: 0.04, p31: 0.2, p32: 0.1, p23: 0.4, p14: 0.03 };
        let measured = loss_of(&model, 2_000_000);
        assert!((measured / (0.23 / 1.28) - 1.0).abs() < 0.02, "{measured}");
    }

    #[test]
    fn isolated_losses_are_alone() {
        let model = Markov { p13: 0.0, p14: 0.5, ..Markov::default() };
        let effects = effects(&model, 1, 10_000);
        assert!(!effects.windows(2).any(|pair| pair == [Effect::Lose, Effect::Lose]));
        // Half of the packets after one that has arrived: 0.5 / 1.5 of all.
        assert!((loss_of(&model, 100_000) * 3.0 - 1.0).abs() < 0.02);
    }

    #[test]
    fn probabilities_out_of_one_state_exceed_one_together() {
        let model = Markov { p13: 0.6, p14: 0.5, ..Markov::default() };
        assert_eq!(model.contradiction().map(|(name, _)| name), Some("p14"));
        let model = Markov { p31: 0.6, p32: 0.5, ..Markov::default() };
        assert_eq!(model.contradiction().map(|(name, _)| name), Some("p32"));
        assert_eq!(Markov::default().contradiction(), None);
    }
}
