//! Queueing times of packets: distributions in fixed memory, and samples for probes.

use dumbbell_units::Time;

/// Bins per doubling of the queueing time.
const BINS: u64 = 32;

/// A distribution of times in logarithmic bins, 32 per doubling: a quantile is exact below 64 ns and otherwise within
/// 1.6 % of the true one. It takes 15 KiB, whatever the number of times.
#[derive(Clone, Debug)]
pub struct Distribution {
    bins: Vec<u64>,
    count: u64,
    sum: u128,
    max: Time,
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution { bins: vec![0; bin_of(u64::MAX) + 1], count: 0, sum: 0, max: Time::ZERO }
    }
}

/// The bin of a time in nanoseconds.
#[inline]
fn bin_of(nanos: u64) -> usize {
    let shift = u64::from((nanos | BINS).ilog2()) - 5;
    (shift * BINS + (nanos >> shift)) as usize
}

/// The middle of a bin, in nanoseconds.
fn middle(bin: usize) -> u64 {
    let bin = bin as u64;
    let shift = (bin / BINS).saturating_sub(1);
    let begin = (bin - shift * BINS) << shift;
    begin + ((1 << shift) - 1) / 2
}

impl Distribution {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, time: Time) {
        self.bins[bin_of(time.0)] += 1;
        self.count += 1;
        self.sum += u128::from(time.0);
        self.max = self.max.max(time);
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean, in seconds, without the error of bins.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 * 1e-9 / self.count as f64)
    }

    /// Maximum, in seconds, without the error of bins.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then(|| self.max.secs())
    }

    /// The least time, in seconds, that at least this fraction of the times do not exceed, up to the width of a bin.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        let rank = ((fraction * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let bin = self.bins.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        Some(Time(middle(bin)).min(self.max).secs())
    }
}

/// Queueing times of a link, and separately of the queues L and C of a dual queue.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Those of all packets.
    pub all: Distribution,
    /// Those of L and C.
    pub dual: Option<[Distribution; 2]>,
}

impl Waits {
    pub(crate) fn new(is_dual: bool) -> Self {
        Waits { all: Distribution::default(), dual: is_dual.then(Default::default) }
    }

    #[inline]
    pub(crate) fn add(&mut self, queue: usize, wait: Time) {
        self.all.add(wait);
        if let Some(distribution) = self.dual.as_mut().and_then(|dual| dual.get_mut(queue)) {
            distribution.add(wait);
        }
    }
}

/// Queueing times and marks, for probes.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Whether queueing times are recorded.
    keeps_waits: bool,
    /// Beginnings of transmissions and the queueing times of their packets.
    pub waits: Vec<(Time, Time)>,
    /// Times of marks.
    pub marks: Vec<Time>,
}

impl Samples {
    pub(crate) fn new(keeps_waits: bool) -> Self {
        Samples { keeps_waits, ..Samples::default() }
    }

    /// Those since the last call.
    pub(crate) fn take(&mut self) -> Samples {
        std::mem::replace(self, Samples::new(self.keeps_waits))
    }

    /// A packet that entered at `entered` begins its transmission.
    #[inline]
    pub(crate) fn note_wait(&mut self, entered: Time, begins: Time) {
        if self.keeps_waits {
            self.waits.push((begins, begins.since(entered)));
        }
    }

    /// A packet that entered at `at` begins its transmission at `begins`, unless it was dropped.
    pub(crate) fn note(&mut self, at: Time, begins: Time, is_marked: bool, is_admitted: bool) {
        if is_admitted {
            self.note_wait(at, begins);
        }
        if is_marked {
            self.marks.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_contiguous_and_a_32nd_of_their_time_wide() {
        assert_eq!([0, 31, 32, 63, 64, 65, 66, 127, 128].map(bin_of), [0, 31, 32, 63, 64, 64, 65, 95, 96]);
        for nanos in [1, 63, 1000, 15_000_000, 3_600_000_000_000, u64::MAX / 3] {
            let error = (middle(bin_of(nanos)) as f64 / nanos as f64 - 1.0).abs();
            assert!(error <= 1.0 / 64.0, "{nanos}: {error}");
        }
    }

    #[test]
    fn quantiles_are_ranks() {
        let mut distribution = Distribution::default();
        assert_eq!((distribution.quantile(0.5), distribution.mean(), distribution.max()), (None, None, None));
        (1..=100).for_each(|milliseconds| distribution.add(Time(1_000_000 * milliseconds)));
        for (fraction, expected) in [(0.0, 0.001), (0.5, 0.05), (0.95, 0.095), (0.99, 0.099), (1.0, 0.1)] {
            let found = distribution.quantile(fraction).expect("times");
            assert!((found / expected - 1.0).abs() <= 1.0 / 64.0, "{found} for {expected}");
        }
        assert!(distribution.mean().is_some_and(|mean| (mean - 0.0505).abs() < 1e-12));
        assert_eq!(distribution.max(), Some(0.1));
    }
}
