//! Sizes whose logarithm is normal.

use super::Sizes;
use dumbbell_units::{Bytes, Stream, math, params};

params! {
    /// Sizes whose logarithm is normal.
    pub struct LogNormal {
        /// Median size. The mean is larger by the factor exp(sigma^2 / 2).
        median: Bytes = Bytes(10_000), "bytes", "-", |size| size.0 > 0, "a size above 0";
        /// Standard deviation of the natural logarithm.
        sigma: f64 = 1.0, "-", "-", |sigma| (0.0..=5.0).contains(sigma), "a number from 0 to 5";
    }
}

impl Sizes for LogNormal {
    fn mean(&self) -> f64 {
        self.median.0 as f64 * math::exp(0.5 * self.sigma * self.sigma)
    }

    fn draw(&self, random: &mut Stream) -> f64 {
        self.median.0 as f64 * math::exp(self.sigma * random.normal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_exceeds_the_median() {
        // exp(1/2) = 1.648721.
        let sizes = LogNormal { median: Bytes(10_000), sigma: 1.0 };
        assert!((sizes.mean() - 16_487.21).abs() < 0.01);
        // 84.13 % of the sizes are below the median times e.
        let mut random = Stream::new(1, 0, "lognormal");
        let below = (0..100_000).filter(|_| sizes.draw(&mut random) < 27_182.8).count() as f64 / 1e5;
        assert!((below - 0.8413).abs() < 0.004, "{below}");
    }
}
