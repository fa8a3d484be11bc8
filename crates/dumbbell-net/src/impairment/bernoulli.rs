//! Independent random loss of each packet [mathis1997 §2].

use super::{Effect, Impair, Passing};
use dumbbell_units::{Stream, params};

params! {
    /// Independent random loss of each packet.
    pub struct Bernoulli {
        /// Probability of losing a packet.
        probability: f64 = 0.0, "-", "[mathis1997 §2]",
            |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
    }
}

impl Impair for Bernoulli {
    type State = f64;

    fn start(&self) -> f64 {
        self.probability
    }

    fn act(probability: &mut f64, _passing: &Passing, random: &mut Stream) -> Effect {
        Effect::lose_if(random.chance(*probability))
    }
}
