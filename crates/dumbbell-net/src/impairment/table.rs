//! The distributions of netem: tables of 4096 quantiles in units of 1/8192 of a standard deviation [iproute2 netem].
//!
//! They equal the files that iproute2 installs, entry by entry. Limiting the quantiles leaves a mean slightly below 0, and
//! Pareto with a standard deviation of 0.82.
//!
//! Netem takes an entry by the low bits of a random number. That undoes any correlation of the numbers, here as there.

use dumbbell_units::math;
use std::sync::LazyLock;

/// Units of a standard deviation.
pub(super) const SCALE: i64 = 8192;

/// Number of entries.
const SIZE: usize = 4096;

/// A distribution with a mean of 0 and a standard deviation near 1.
pub(super) type Table = [i16; SIZE];

/// Normal, limited to four standard deviations.
pub(super) static NORMAL: LazyLock<Table> = LazyLock::new(|| tabulate(normal));
/// Pareto with shape 3.
pub(super) static PARETO: LazyLock<Table> = LazyLock::new(|| tabulate(pareto));
/// One quarter normal and three quarters Pareto, of the same quantile.
pub(super) static PARETONORMAL: LazyLock<Table> = LazyLock::new(|| {
    let mixed = |entry| ((normal(entry) as i64 + 3 * pareto(entry) as i64) / 4) as f64;
    tabulate(mixed)
});

fn tabulate(of: impl Fn(usize) -> f64) -> Table {
    std::array::from_fn(|entry| of(entry).clamp(-32768.0, 32767.0) as i16)
}

/// An entry of the normal table: the last value, in steps of 1/20 000, of its share of 1/16 384.
fn normal(entry: usize) -> f64 {
    let share = (entry as f64 * 4.0 + 0.5) / 16_384.0;
    // Bisection of the distribution function, which is erfc(-x / sqrt(2)) / 2.
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if math::erfc(-middle / std::f64::consts::SQRT_2) / 2.0 < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    ((low * 20_000.0).floor() / 20_000.0 * SCALE as f64).round()
}

/// An entry of the Pareto table: the quantile (1 - u)^(-1/3), less its mean of 3/2, times 4/3.
fn pareto(entry: usize) -> f64 {
    let left = 1.0 - entry as f64 / SIZE as f64;
    let quantile = (math::pow(left, -1.0 / 3.0) - 1.5) * 4.0 / 3.0;
    (quantile * SCALE as f64).min(32767.0).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_distributions() {
        // The median of the normal distribution is 0, and its quartile -0.6745 standard deviations: -5525.
        assert_eq!((NORMAL[0], NORMAL[1024], NORMAL[2048]), (-32768, -5525, 0));
        // Pareto: the lowest value is 1, hence (1 - 1.5) * 4/3 = -2/3: -5461; the median is 2^(1/3) = 1.26: -2622.
        assert_eq!((PARETO[0], PARETO[2048], PARETO[4095]), (-5461, -2622, 32767));
        // The normal part is not limited: 4.0086 standard deviations are 32 838, and (-32838 - 3 * 5461) / 4 = -12305.
        assert_eq!(PARETONORMAL[0], -12305);
        // The sums of the files normal.dist, pareto.dist and paretonormal.dist of iproute2.
        let sum = |table: &Table| table.iter().map(|&entry| i64::from(entry)).sum::<i64>();
        assert_eq!((sum(&NORMAL), sum(&PARETO), sum(&PARETONORMAL)), (-26_163, -1_123_786, -848_968));
    }
}
