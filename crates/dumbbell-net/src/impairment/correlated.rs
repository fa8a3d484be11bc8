//! The correlated random numbers of netem [linux6 net/sched/sch_netem.c].
//!
//! With the correlation rho, a number is (1 - rho) times a uniform one plus rho times the number before. These numbers
//! are no longer uniform, and their autocorrelation is not rho in general: small probabilities with high correlation
//! come out far below their nominal values, as they do in netem.

use dumbbell_units::Stream;

/// Numbers of 32 bits, of which each depends on the one before.
#[derive(Clone, Debug)]
pub struct Correlated {
    rho: f64,
    /// The number before, once there is one; the first one is that of a new generator.
    last: Option<u32>,
}

/// Numbers of 32 bits.
const RANGE: f64 = 4_294_967_296.0;

impl Correlated {
    pub(crate) fn new(rho: f64) -> Self {
        Correlated { rho, last: None }
    }

    /// The next number.
    pub(crate) fn draw(&mut self, random: &mut Stream) -> u32 {
        let mut fresh = || (random.uniform() * RANGE) as u32;
        if self.rho == 0.0 {
            return fresh();
        }
        let last = self.last.unwrap_or_else(&mut fresh);
        let mixed = (1.0 - self.rho) * f64::from(fresh()) + self.rho * f64::from(last);
        *self.last.insert(mixed as u32)
    }

    /// True with a probability, which is exact only without correlation.
    pub(crate) fn chance(&mut self, probability: f64, random: &mut Stream) -> bool {
        probability > 0.0 && f64::from(self.draw(random)) < probability * RANGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_narrows_the_distribution() {
        let (mut draws, mut random) = (Correlated::new(0.75), Stream::new(1, 0, "rho"));
        let drawn: Vec<f64> = (0..200_000).map(|_| f64::from(draws.draw(&mut random)) / RANGE).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / drawn.len() as f64;
        // A first-order process: the variance of a uniform number, 1/12, times (1 - rho) / (1 + rho) = 1/7.
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        assert!((variance * 84.0 - 1.0).abs() < 0.03, "{variance}");
        let lagged = drawn.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        assert!((lagged / drawn.len() as f64 / variance - 0.75).abs() < 0.01);
    }
}
