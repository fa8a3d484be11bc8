//! Named random streams. Every component draws from its own stream, seeded by the run and the component's name, so a
//! new flow never shifts the draws of another.

use crate::math;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// FNV-1a of bytes: 64 bits, stable on every platform.
pub fn bytes_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A hash of bytes, eight at a time, for long ones: 64 bits, stable on every platform.
pub fn words_hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, bytes_hash(rest))
}

/// FNV-1a of a name.
pub fn name_hash(name: &str) -> u64 {
    bytes_hash(name.as_bytes())
}

/// A stream of random numbers that belongs to one named component of one run.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of the component `name` in run `run` of `seed`.
    pub fn new(seed: u64, run: u64, name: &str) -> Self {
        let mixed = name_hash(name)
            ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
            ^ run.wrapping_mul(0xd1b5_4a32_d192_ed03).rotate_left(41);
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// A separate stream for a component created during the run.
    pub fn fork(&mut self) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.0.next_u64()))
    }

    /// Uniform on [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on [low, high).
    pub fn uniform_between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Exponential with the given mean (any unit; the result has the same).
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.uniform())
    }

    /// A standard normal deviate [box1958].
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential(1.0)).sqrt();
        radius * math::cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_names_runs_and_seeds_differ() {
        let first = |seed, run, name| Stream::new(seed, run, name).uniform();
        assert_eq!(first(1, 0, "a"), first(1, 0, "a"));
        assert_ne!(first(1, 0, "a"), first(1, 0, "b"));
        assert_ne!(first(1, 0, "a"), first(1, 1, "a"));
        assert_ne!(first(1, 0, "a"), first(2, 0, "a"));
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut stream = Stream::new(7, 0, "mean");
        let mean = (0..200_000).map(|_| stream.exponential(3.0)).sum::<f64>() / 200_000.0;
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
    }
}
