//! Synthetic variable-rate video: frame sizes with a heavy tail and long-range dependence [garrett1994 §4].
//!
//! A Gaussian sequence with the correlation of fractionally differenced noise is mapped, value by value, to a gamma
//! distribution with a Pareto tail. Frames are scaled to the given mean rate, clipped, divided into packets, and sent
//! at fixed intervals.
//!
//! Departures from the source: the moving average that creates the correlation is truncated after 4096 frames, and its
//! variance is scaled back to one. Quantiles of the gamma distribution are approximated by the formula of Wilson and
//! Hilferty, within 0.3 % from the first to the 97th percentile at the shape of the source.

use super::{Codepoint, Datagrams, Emission, Packets, packet_count};
use dumbbell_units::{Bytes, Rate, Stream, Time, math, params};

params! {
    /// Synthetic video: frames of random size at fixed intervals.
    pub struct Video {
        /// Mean rate on the wire.
        rate: Rate = Rate(1_000_000), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0";
        /// Frames per second.
        frame_rate: f64 = 24.0, "1/s", "[garrett1994 §2]", |rate| (1e-3..=1e6).contains(rate), "a number from 0.001 to 1000000";
        /// Maximum packet size on the wire.
        packet: Bytes = Bytes(1000), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Shape of the gamma body.
        shape: f64 = 19.75, "-", "[garrett1994 §3]", |shape| (5.0..=1e6).contains(shape), "a number from 5 to 1000000";
        /// Fraction of frames in the Pareto tail.
        tail: f64 = 0.03, "-", "[garrett1994 §3]", |share| *share > 0.0 && *share < 0.5, "a share above 0 and below 0.5";
        /// Slope of the tail.
        slope: f64 = 12.0, "-", "[garrett1994 §3]", |slope| (1.1..=1e3).contains(slope), "a number from 1.1 to 1000";
        /// Fractional differencing parameter; the Hurst parameter is this plus 1/2.
        memory: f64 = 0.3, "-", "[garrett1994 §4]", |d| *d >= 0.0 && *d < 0.5, "a number from 0, and below 0.5";
        /// Minimum frame size divided by the mean frame size.
        smallest: f64 = 0.31, "-", "[garrett1994 §2]", |x| *x > 0.0 && *x <= 1.0, "a number above 0, at most 1";
        /// Maximum frame size divided by the mean frame size.
        largest: f64 = 2.82, "-", "[garrett1994 §2]", |x| (1.0..=1e6).contains(x), "a number from 1 to 1000000";
        /// ECN codepoint of the packets.
        ecn: Codepoint = Codepoint::NotEct, "-", "RFC 9331 §4.1";
    }
}

/// Length of the moving average, in frames.
const MEMORY: usize = 4096;

/// The moving average and the scale of frame sizes.
#[derive(Clone, Debug)]
pub struct State {
    weights: Vec<f64>,
    /// Ring buffer of the last [`MEMORY`] innovations.
    innovations: Vec<f64>,
    newest: usize,
    /// Number of frames so far.
    passed: u64,
    /// Beginning of the tail: normal quantile, and size in means of the gamma distribution.
    join: (f64, f64),
    /// Mean of the combined, clipped distribution, in means of the gamma distribution.
    mean: f64,
}

/// Probability that a standard normal deviate exceeds `z`.
fn normal_tail(z: f64) -> f64 {
    0.5 * math::erfc(z / std::f64::consts::SQRT_2)
}

impl Video {
    /// Mean frame size, in bytes.
    pub fn mean_frame(&self) -> f64 {
        self.rate.0 as f64 / 8.0 / self.frame_rate
    }

    /// Quantile of the gamma distribution divided by its mean, at the normal quantile `z` [wilson1931].
    fn gamma_quantile(&self, z: f64) -> f64 {
        let ninth = 1.0 / (9.0 * self.shape);
        let root = (1.0 - ninth + z * ninth.sqrt()).max(0.0);
        root * root * root
    }

    /// Size at the normal quantile `z`, in means of the gamma distribution.
    fn size(&self, z: f64, join: (f64, f64)) -> f64 {
        if z < join.0 {
            self.gamma_quantile(z)
        } else {
            join.1 * math::pow(self.tail / normal_tail(z).max(1e-300), 1.0 / self.slope)
        }
    }

    /// Beginning of the tail, by bisection: normal quantile, and size in means of the gamma distribution.
    fn join(&self) -> (f64, f64) {
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if normal_tail(middle) > self.tail { low = middle } else { high = middle }
        }
        (low, self.gamma_quantile(low))
    }

    /// Mean by which sizes are divided so that, after clipping, their mean is one.
    fn mean(&self, join: (f64, f64)) -> f64 {
        let steps = 2000;
        let grid = |step: i32| -8.0 + 16.0 * f64::from(step) / f64::from(steps);
        let nodes: Vec<(f64, f64)> = (0..=steps)
            .map(|step| (self.size(grid(step), join), math::exp(-0.5 * grid(step) * grid(step))))
            .collect();
        let mass: f64 = nodes.iter().map(|node| node.1).sum();
        let mut mean = 1.0;
        for _ in 0..30 {
            let clipped = |size: f64| (size / mean).clamp(self.smallest, self.largest);
            mean *= nodes.iter().map(|&(size, weight)| clipped(size) * weight).sum::<f64>() / mass;
        }
        mean
    }
}

impl Datagrams for Video {
    type State = State;

    fn start(&self, random: &mut Stream) -> State {
        let mut weights = Vec::with_capacity(MEMORY);
        let mut weight = 1.0;
        for j in 0..MEMORY {
            weights.push(weight);
            weight *= (j as f64 + self.memory) / (j as f64 + 1.0);
        }
        let deviation = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        weights.iter_mut().for_each(|weight| *weight /= deviation);
        let join = self.join();
        State {
            weights,
            innovations: (0..MEMORY).map(|_| random.normal()).collect(),
            newest: 0,
            passed: 0,
            join,
            mean: self.mean(join),
        }
    }

    fn packets(&self) -> Packets {
        Packets { size: self.packet, ecn: self.ecn, rate: None }
    }

    fn largest_emission(&self) -> u64 {
        packet_count(self.mean_frame() * self.largest, self.packet)
    }

    fn next(&self, state: &mut State, random: &mut Stream) -> Option<Emission> {
        state.newest = (state.newest + MEMORY - 1) % MEMORY;
        state.innovations[state.newest] = random.normal();
        let (older, newer) = state.innovations.split_at(state.newest);
        let values = newer.iter().chain(older);
        let z: f64 = values.zip(&state.weights).map(|(innovation, weight)| innovation * weight).sum();
        let size = (self.size(z, state.join) / state.mean).clamp(self.smallest, self.largest);
        let after_start = Time::from_secs(state.passed as f64 / self.frame_rate);
        state.passed += 1;
        let bytes = ((self.mean_frame() * size + 0.5) as u64).max(1);
        Some(Emission { after_start, bytes, packet: self.packet.0 as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(source: &Video, n: usize) -> Vec<f64> {
        let mut random = Stream::new(1, 0, "flow:video:traffic");
        let mut state = source.start(&mut random);
        (0..n).map(|_| source.next(&mut state, &mut random).unwrap().bytes as f64).collect()
    }

    #[test]
    fn frame_sizes_have_the_mean_and_standard_deviation_of_the_film() {
        // Mean 27791 bytes and standard deviation 6254 bytes at 24 frames per second [garrett1994 §2]. The memory is
        // off, because with it the mean of n frames would still vary by about 0.225 n^(-0.2).
        let source = Video { rate: Rate(27_791 * 8 * 24), memory: 0.0, ..Video::default() };
        let sizes = frames(&source, 200_000);
        let n = sizes.len() as f64;
        let mean = sizes.iter().sum::<f64>() / n;
        let deviation = (sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / n).sqrt();
        assert!((mean / 27_791.0 - 1.0).abs() < 0.005, "{mean}");
        assert!((deviation / 6_254.0 - 1.0).abs() < 0.05, "{deviation}");
        let most = sizes.iter().fold(0.0, |a: f64, b| a.max(*b));
        assert!(most <= 2.82 * 27_791.0 + 1.0 && most > 55_000.0, "{most}");
    }

    #[test]
    fn frame_sizes_are_correlated_like_fractional_noise() {
        // The correlation of fractionally differenced noise is d / (1 - d) = 0.4286 at lag 1. At lag 2 it is smaller by
        // the factor (1 + d) / (2 - d), or 0.3277. The map to sizes nearly preserves both.
        let sizes = frames(&Video::default(), 100_000);
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let product =
            |lag: usize| sizes.iter().zip(&sizes[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
        assert!((product(1) / product(0) - 0.4286).abs() < 0.05);
        assert!((product(2) / product(0) - 0.3277).abs() < 0.05);
    }

    #[test]
    fn the_body_has_the_quantiles_of_the_gamma_distribution() {
        // Tabulated for shape 19.75 and mean 1: the median and the 97th percentile.
        let source = Video::default();
        assert!((source.gamma_quantile(0.0) - 0.98318).abs() < 0.003);
        assert!((source.gamma_quantile(1.880_794) - 1.46385).abs() < 0.005);
    }

    #[test]
    fn tails_of_the_normal_distribution_are_tabulated() {
        for (z, tail) in
            [(-1.0, 0.841_345), (0.0, 0.5), (1.0, 0.158_655), (1.959_964, 0.025), (3.0, 0.001_350)]
        {
            assert!((normal_tail(z) - tail).abs() < 1e-6, "{z}");
        }
    }
}
