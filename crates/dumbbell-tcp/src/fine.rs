//! The fine timeout of Vegas: per segment, from its last transmission, on an exact clock
//! [brakmo1995 §3.1]. Mechanisms C and D use it; the coarse timer runs beside it.

use dumbbell_units::Time;

/// Fine smoothed round-trip time and deviation.
#[derive(Clone, Copy, Debug)]
pub struct FineTimeout {
    /// Eight times the smoothed round-trip time, in seconds.
    scaled_mean: f64,
    /// Four times the mean deviation, in seconds.
    scaled_deviation: f64,
    timeout: f64,
}

impl Default for FineTimeout {
    fn default() -> Self {
        FineTimeout { scaled_mean: 0.0, scaled_deviation: 0.0, timeout: f64::INFINITY }
    }
}

impl FineTimeout {
    /// Adds the round-trip time of a segment sent once. The timeout is the smoothed time plus two deviations, times
    /// 17/16.
    pub fn sample(&mut self, rtt: Time) {
        let rtt = rtt.secs();
        if self.timeout.is_infinite() {
            self.scaled_mean = 8.0 * rtt;
            self.scaled_deviation = rtt;
            self.timeout = (self.scaled_mean / 4.0 + self.scaled_deviation) / 2.0;
        } else {
            let error = rtt - self.scaled_mean / 8.0;
            self.scaled_mean += error;
            self.scaled_deviation += error.abs() - self.scaled_deviation / 4.0;
            let timeout = (self.scaled_mean / 4.0 + self.scaled_deviation) / 2.0;
            self.timeout = timeout + timeout / 16.0;
        }
    }

    /// Increases the timeout at a retransmission: doubled for a segment already retransmitted, otherwise by an
    /// eighth.
    pub fn on_retransmission(&mut self, retransmitted_before: bool) {
        self.timeout *= if retransmitted_before { 2.0 } else { 9.0 / 8.0 };
    }

    /// True if a segment last sent at `sent` has waited for the timeout at `now`.
    pub fn has_expired(&self, sent: Time, now: Time) -> bool {
        now.since(sent).secs() >= self.timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_the_mean_plus_two_deviations() {
        // First r = 0.1: mean 0.1, deviation 0.1/4; timeout (0.2 + 0.1)/2 = 0.15 s.
        let mut fine = FineTimeout::default();
        assert!(!fine.has_expired(Time(0), Time(u64::MAX)));
        fine.sample(Time(100_000_000));
        assert!((fine.timeout - 0.15).abs() < 1e-12);
        // Again r = 0.1: error 0, deviation x4 falls to 0.075; (0.2 + 0.075)/2 * 17/16.
        fine.sample(Time(100_000_000));
        assert!((fine.timeout - 0.1375 * 17.0 / 16.0).abs() < 1e-12);
        fine.on_retransmission(false);
        assert!((fine.timeout - 0.1375 * 17.0 / 16.0 * 1.125).abs() < 1e-12);
    }
}
