//! Sizes with a power law between two bounds: the bounded Pareto distribution.
//!
//! With bounds L and H and shape a, the share of sizes up to x is (1 - (L/x)^a) / (1 - (L/H)^a). The default shape, 1.2,
//! is that of [crovella1997 table 2] for the sizes of files in the web, rounded.

use super::Sizes;
use dumbbell_units::{Bytes, Stream, math, params};

params! {
    /// Sizes with a power law between two bounds.
    pub struct Pareto {
        /// Smallest size.
        min: Bytes = Bytes(10_000), "bytes", "-", |size| size.0 > 0, "a size above 0";
        /// Largest size.
        max: Bytes = Bytes(100_000_000), "bytes", "-", |size| size.0 > 0, "a size above 0";
        /// Exponent of the tail; the smaller, the heavier.
        shape: f64 = 1.2, "-", "[crovella1997]", |shape| (0.01..=100.0).contains(shape), "a number from 0.01 to 100";
    }
}

impl Pareto {
    /// Share of an unbounded Pareto distribution below the largest size.
    fn bounded(&self) -> f64 {
        1.0 - math::pow(self.min.0 as f64 / self.max.0 as f64, self.shape)
    }
}

impl Sizes for Pareto {
    fn mean(&self) -> f64 {
        let (low, high, a) = (self.min.0 as f64, self.max.0 as f64, self.shape);
        let ratio = low / high;
        // The integral of x^-a from low to high, over low^(1-a).
        let integral = if (a - 1.0).abs() < 1e-9 {
            -math::ln(ratio)
        } else {
            (1.0 - math::pow(ratio, a - 1.0)) / (a - 1.0)
        };
        low * a * integral / self.bounded()
    }

    fn draw(&self, random: &mut Stream) -> f64 {
        let low = self.min.0 as f64;
        low / math::pow(1.0 - random.uniform() * self.bounded(), 1.0 / self.shape)
    }

    fn contradiction(&self) -> Option<(&'static str, String)> {
        (self.max <= self.min).then(|| ("max", format!("above min, {}", self.min)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_bounded_distribution() {
        let mean = |shape| Pareto { min: Bytes(1_000), max: Bytes(4_000), shape }.mean();
        // Shape 2: density 2 L^2 x^-3 / (1 - 1/16); the mean is 2 L (1 - 1/4) / (15/16) = 1600.
        assert!((mean(2.0) - 1600.0).abs() < 1e-9);
        // Shape 1: L ln 4 / (1 - 1/4) = 1848.39.
        assert!((mean(1.0) - 1848.392).abs() < 1e-3);
    }

    #[test]
    fn draws_stay_within_the_bounds_and_have_the_median() {
        // Shape 1 on 1000 to 4000: half of the sizes are below x with 1 - 1000/x = 3/8, hence 1600.
        let pareto = Pareto { min: Bytes(1_000), max: Bytes(4_000), shape: 1.0 };
        let mut random = Stream::new(1, 0, "pareto");
        let draws: Vec<f64> = (0..100_000).map(|_| pareto.draw(&mut random)).collect();
        assert!(draws.iter().all(|size| (1_000.0..=4_000.0).contains(size)));
        let below = draws.iter().filter(|&&size| size < 1_600.0).count() as f64 / 1e5;
        assert!((below - 0.5).abs() < 0.006, "{below}");
    }
}
