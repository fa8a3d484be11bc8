//! Random choices from a named stream.

use dumbbell_units::Stream;

/// Random choices. The same seed, number and name give the same choices.
#[derive(Clone, Debug)]
pub struct Draw(Stream);

impl Draw {
    /// The choices of `name` for a base seed and a number.
    pub fn new(base: u64, number: u64, name: &str) -> Self {
        Draw(Stream::new(base, number, name))
    }

    /// A number uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    /// A whole number below `bound`; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.0.uniform() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    /// A whole number between these, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// A number whose logarithm is uniform between those of two positive numbers.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        dumbbell_units::math::exp(
            self.0.uniform_between(dumbbell_units::math::ln(low), dumbbell_units::math::ln(high)),
        )
    }

    /// A random element; there must be at least one.
    pub fn pick<'a, T>(&mut self, elements: &'a [T]) -> &'a T {
        &elements[self.below(elements.len())]
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.0.uniform() * 256.0) as u8).collect()
    }

    /// Shuffles elements.
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            elements.swap(last, self.below(last + 1));
        }
    }
}

/// A number rounded to `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{:.*e}", digits.saturating_sub(1), value).parse().unwrap_or(value)
}
