//! Round-trip times of one direction.

use dumbbell_units::Time;

/// Round-trip times: their smoothed value [RFC 6298 §2], and what tables show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    /// Smoothed.
    pub srtt: Option<Time>,
    /// Smallest.
    pub least: Option<Time>,
    /// Largest.
    pub most: Time,
    /// Sum and number of the samples of data.
    pub sum: u128,
    /// Number of the samples of data.
    pub count: u64,
}

impl Rtt {
    /// Takes a sample for the smoothed value alone.
    pub fn smooth(&mut self, sample: Time) {
        self.srtt = Some(self.srtt.map_or(sample, |srtt| Time(srtt.0 - srtt.0 / 8 + sample.0 / 8)));
    }

    /// Takes a sample of data.
    pub fn add(&mut self, sample: Time) {
        self.smooth(sample);
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        self.most = self.most.max(sample);
        self.sum += u128::from(sample.0);
        self.count += 1;
    }

    /// Mean of the samples of data.
    pub fn mean(&self) -> Option<Time> {
        (self.count > 0).then(|| Time((self.sum / u128::from(self.count.max(1))) as u64))
    }
}

/// A host's own stack takes so long at most to answer.
const HOST: Time = Time(50_000);

/// A capture is at an end of a connection if at most a fifth of the round trip lies between them, or what a host needs.
pub fn is_at_end(part: Time, whole: Time) -> bool {
    part <= HOST || part.0.saturating_mul(5) <= whole.0
}
