//! Percentiles of any number of values in a bounded memory: a log-linear histogram of whole numbers.
//!
//! Values below 64 have a bucket each. Above, every power of two is divided into 64 buckets of equal width, so that a
//! bucket is at most 1/64 of its values wide. A percentile is the middle of its bucket: within 0.8 % of a value that
//! was added. Count, mean, minimum and maximum are exact. Nothing depends on the order of the values.
//!
//! Buckets are allocated for the range that occurs. A value within the range of earlier ones allocates nothing.

/// Buckets per power of two, as a power of two.
const BITS: u32 = 6;

/// A histogram of whole numbers, such as times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Counts of the buckets from `first` on.
    counts: Vec<u64>,
    first: usize,
    count: u64,
    sum: u128,
    range: Option<(u64, u64)>,
}

/// The bucket of a value.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

/// The smallest value of a bucket, and the number of values in it.
fn bounds(bucket: usize) -> (u64, u64) {
    let shift = (bucket >> BITS).saturating_sub(1);
    let mantissa = bucket - (shift << BITS);
    ((mantissa as u64) << shift, 1 << shift)
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let at = bucket(value).wrapping_sub(self.first);
        match self.counts.get_mut(at) {
            Some(count) => *count += 1,
            None => self.add_beyond(value),
        }
        self.count += 1;
        self.sum += u128::from(value);
        let (least, most) = self.range.unwrap_or((value, value));
        self.range = Some((least.min(value), most.max(value)));
    }

    /// Adds a value whose bucket does not exist yet.
    #[cold]
    fn add_beyond(&mut self, value: u64) {
        let bucket = bucket(value);
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let at = bucket - self.first;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean of the values, exact; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The largest value, exact; `None` without values.
    pub fn max(&self) -> Option<u64> {
        self.range.map(|(_, most)| most)
    }

    /// The percentile of a share from 0 to 1 by the nearest rank: the smallest value such that at least this share of
    /// the values is not larger. Within 0.8 %; `None` without values.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let (least, most) = self.range?;
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut passed = 0;
        let at = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank
        })?;
        let (low, width) = bounds(self.first + at);
        let middle = low as f64 + (width - 1) as f64 / 2.0;
        Some(middle.clamp(least as f64, most as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact() {
        // Of 1 to 50, at least half are not larger than 25; 95 % of 50 is 47.5, hence the 48th value.
        let mut histogram = Histogram::default();
        (1..=50).rev().for_each(|value| histogram.add(value));
        assert_eq!(histogram.percentile(0.5), Some(25.0));
        assert_eq!(histogram.percentile(0.95), Some(48.0));
        assert_eq!(histogram.percentile(0.99), Some(50.0));
        assert_eq!((histogram.mean(), histogram.max(), histogram.count()), (Some(25.5), Some(50), 50));
    }

    #[test]
    fn percentiles_of_large_values_are_within_the_resolution() {
        // 20 ms to 119.99 ms in steps of 10 us, as nanoseconds: the median is the 5000th value, 69.99 ms; the 99th
        // percentile is the 9900th, 118.99 ms.
        let mut histogram = Histogram::default();
        (0..10_000).for_each(|step| histogram.add(20_000_000 + step * 10_000));
        for (share, expected) in [(0.5, 69.99e6), (0.95, 114.99e6), (0.99, 118.99e6)] {
            let found = histogram.percentile(share).unwrap();
            assert!((found / expected - 1.0).abs() < 0.008, "{share}: {found}");
        }
        assert_eq!(histogram.max(), Some(119_990_000));
    }

    #[test]
    fn a_single_value_is_every_percentile() {
        let mut histogram = Histogram::default();
        histogram.add(123_456_789);
        assert_eq!(histogram.percentile(0.0), Some(123_456_789.0));
        assert_eq!(histogram.percentile(1.0), Some(123_456_789.0));
        assert_eq!(Histogram::default().percentile(0.5), None);
    }

    #[test]
    fn buckets_are_adjacent_and_at_most_a_64th_wide() {
        for number in 0..(64 - BITS as usize + 1) << BITS {
            let (low, width) = bounds(number);
            assert_eq!((bucket(low), bucket(low + (width - 1))), (number, number));
            assert!(width == 1 || width <= low / 64, "{number}: {low} {width}");
        }
        assert_eq!(bucket(u64::MAX) + 1, (64 - BITS as usize + 1) << BITS);
    }

    #[test]
    fn the_order_of_the_values_does_not_matter() {
        let mut random = crate::Stream::new(1, 0, "histogram");
        let values: Vec<u64> = (0..1000).map(|_| (random.exponential(1e6)) as u64).collect();
        let (mut forward, mut backward) = (Histogram::default(), Histogram::default());
        values.iter().for_each(|&value| forward.add(value));
        values.iter().rev().for_each(|&value| backward.add(value));
        for share in [0.01, 0.5, 0.99] {
            assert_eq!(forward.percentile(share), backward.percentile(share));
        }
        assert_eq!(forward.mean(), backward.mean());
    }
}
