//! A cumulative distribution by points. Between two points sizes are equally likely; the first point has its whole share
//! at its size.

use super::Sizes;
use dumbbell_units::{Bytes, Stream, params};

params! {
    /// A cumulative distribution by points.
    pub struct Empirical {
        /// Sizes of the points, ascending.
        sizes: Vec<Bytes> = vec![Bytes(10_000), Bytes(100_000), Bytes(1_000_000)], "bytes", "-",
            |sizes| !sizes.is_empty() && sizes.is_sorted() && sizes.iter().all(|size| size.0 > 0),
            "at least one size above 0, in ascending order";
        /// Share of sizes up to each point, ascending to 1.
        shares: Vec<f64> = vec![0.0, 0.9, 1.0], "-", "-",
            |shares| shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share))
                && shares.last() == Some(&1.0),
            "shares from 0 to 1 in ascending order, the last one 1";
    }
}

/// Mean of a distribution by points `(size, cumulative share)`.
pub(super) fn mean(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut mean = 0.0;
    let mut before: Option<(f64, f64)> = None;
    for (size, share) in points {
        let (low, below) = before.unwrap_or((size, 0.0));
        mean += (share - below) * 0.5 * (low + size);
        before = Some((size, share));
    }
    mean
}

/// The size below which a share `p` lies.
pub(super) fn quantile(points: impl Iterator<Item = (f64, f64)>, p: f64) -> f64 {
    let mut before: Option<(f64, f64)> = None;
    for (size, share) in points {
        if p < share {
            let (low, below) = before.unwrap_or((size, 0.0));
            return low + (size - low) * (p - below) / (share - below);
        }
        before = Some((size, share));
    }
    before.map_or(1.0, |(size, _)| size)
}

impl Empirical {
    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.sizes.iter().map(|size| size.0 as f64).zip(self.shares.iter().copied())
    }
}

impl Sizes for Empirical {
    fn mean(&self) -> f64 {
        mean(self.points())
    }

    fn draw(&self, random: &mut Stream) -> f64 {
        quantile(self.points(), random.uniform())
    }

    fn contradiction(&self) -> Option<(&'static str, String)> {
        let points = self.sizes.len();
        (self.shares.len() != points).then(|| ("shares", format!("one share for each of the {points} sizes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_quantiles_follow_the_straight_lines_between_points() {
        let sizes =
            Empirical { sizes: vec![Bytes(1_000), Bytes(3_000), Bytes(11_000)], shares: vec![0.2, 0.7, 1.0] };
        // 0.2 * 1000 + 0.5 * 2000 + 0.3 * 7000 = 3300.
        assert!((sizes.mean() - 3_300.0).abs() < 1e-9);
        let quantiles = [0.0, 0.1999, 0.2, 0.45, 0.85].map(|p| quantile(sizes.points(), p));
        assert_eq!(quantiles[..3], [1_000.0, 1_000.0, 1_000.0]);
        assert!((quantiles[3] - 2_000.0).abs() < 1e-9 && (quantiles[4] - 7_000.0).abs() < 1e-9);
    }
}
