//! Shared by the versions of BBR, whose window follows from a model of the path: the length of a burst, the window to
//! return to after a repair, and the aggregation of acknowledgements [cardwell2017] [bbr2026].

use dumbbell_units::math::{least, real};
use dumbbell_units::{Bytes, Time};

/// Bytes of a burst that lasts `time` at `rate`, in bytes per second; at most `most`.
#[inline]
pub fn quantum(rate: f64, time: Time, most: Bytes) -> f64 {
    least(rate * time.secs(), real(most.0))
}

/// The repair of losses in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    None,
    Recovery,
    /// After a timeout, until this byte is acknowledged.
    Timeout(u64),
}

/// The repair of losses, and the last window that neither it nor ProbeRTT has reduced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repair {
    phase: Phase,
    prior_cwnd: f64,
}

impl Repair {
    /// True during a fast recovery.
    #[inline]
    pub fn is_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// Saves the window, in bytes. One that is reduced already, by a repair or as stated, does not lower the saved one.
    pub fn save(&mut self, cwnd: f64, is_reduced: bool) {
        let is_usual = self.phase == Phase::None && !is_reduced;
        self.prior_cwnd = if is_usual { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// A fast recovery begins.
    pub fn begin_recovery(&mut self) {
        self.phase = Phase::Recovery;
    }

    /// A repair after a timeout begins; it ends when all data sent so far is acknowledged.
    pub fn begin_timeout(&mut self, snd_nxt: u64) {
        let before = if let Phase::Timeout(recover) = self.phase { recover } else { 0 };
        self.phase = Phase::Timeout(snd_nxt.max(before));
    }

    /// True if this cumulative acknowledgement ends the repair after a timeout.
    #[inline]
    pub fn is_ended_by(&self, ack: u64) -> bool {
        matches!(self.phase, Phase::Timeout(recover) if ack >= recover)
    }

    /// The repair ends. Returns the window to go on with, in bytes.
    pub fn end(&mut self, cwnd: f64) -> f64 {
        self.phase = Phase::None;
        self.restored(cwnd)
    }

    /// This window, or the saved one if that is larger, in bytes.
    #[inline]
    pub fn restored(&self, cwnd: f64) -> f64 {
        cwnd.max(self.prior_cwnd)
    }
}

/// Data acknowledged beyond what the bandwidth explains, and its maximum in two successive windows of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Aggregation {
    /// When the interval began in which data is counted, and the data acknowledged in it, in bytes.
    since: Time,
    acked: f64,
    /// Maxima of the current and the previous window.
    most: [f64; 2],
    rounds: u64,
}

impl Aggregation {
    /// The state at the start of a connection.
    pub fn new(now: Time) -> Self {
        Aggregation { since: now, acked: 0.0, most: [0.0; 2], rounds: 0 }
    }

    /// The interval in which data is counted begins now.
    pub fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0.0);
    }

    /// Takes data acknowledged, in bytes, with the bandwidth in bytes per second. Returns the excess, in bytes.
    pub fn sample(&mut self, now: Time, acked: f64, bandwidth: f64) -> f64 {
        let mut expected = bandwidth * now.since(self.since).secs();
        if self.acked <= expected {
            (self.acked, self.since, expected) = (0.0, now, 0.0);
        }
        self.acked += acked;
        self.acked - expected
    }

    /// A round begins; a window lasts so many.
    pub fn advance(&mut self, window: u64) {
        self.rounds += 1;
        if self.rounds >= window {
            self.rounds = 0;
            self.most = [0.0, self.most[0]];
        }
    }

    /// The current window has had this excess.
    #[inline]
    pub fn update(&mut self, extra: f64) {
        self.most[0] = self.most[0].max(extra);
    }

    /// The largest excess of the two windows, in bytes.
    #[inline]
    pub fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }
}

/// The methods of [`Control`](crate::Control) in which the versions of BBR agree. Every ACK, also a duplicate, is an
/// `update` of the model, which leaves the results in fields of their names.
macro_rules! follows_model {
    () => {
        fn cwnd(&self) -> f64 {
            self.cwnd
        }

        fn ssthresh(&self) -> f64 {
            self.ssthresh
        }

        fn pacing_rate(&self) -> Option<f64> {
            Some(self.pacing_rate)
        }

        fn uses_rate_samples(&self) -> bool {
            true
        }

        fn is_model_based(&self) -> bool {
            true
        }

        fn on_ack(&mut self, context: &$crate::Context, ack: &$crate::Ack) {
            self.update(context, ack);
        }

        fn on_duplicate_ack(&mut self, context: &$crate::Context, ack: &$crate::Ack) {
            self.update(context, ack);
        }
    };
}
pub(crate) use follows_model;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_the_rate_times_its_length_up_to_a_limit() {
        // 2 MB/s for 1 ms are 2000 bytes; 200 MB/s would be 200,000.
        let bytes = |rate| quantum(rate, Time(1_000_000), Bytes(65_536));
        assert_eq!((bytes(2e6), bytes(2e8)), (2000.0, 65_536.0));
    }

    #[test]
    fn the_largest_window_before_and_during_a_repair_is_restored() {
        let mut repair = Repair::default();
        repair.save(100.0, false);
        repair.begin_timeout(5000);
        // During a repair, a smaller window does not replace it, and a larger one does.
        repair.save(20.0, false);
        assert_eq!(repair.restored(50.0), 100.0);
        repair.save(120.0, false);
        // Another timeout with less data sent does not bring the end forward.
        repair.begin_timeout(4000);
        assert_eq!([4000, 4999, 5000].map(|ack| repair.is_ended_by(ack)), [false, false, true]);
        assert_eq!(repair.end(30.0), 120.0);
        // After it, the next window replaces the saved one, unless it is reduced.
        repair.save(40.0, true);
        assert_eq!(repair.restored(0.0), 120.0);
        repair.save(40.0, false);
        assert_eq!(repair.restored(0.0), 40.0);
    }

    #[test]
    fn an_excess_counts_for_the_window_after_its_own() {
        let mut aggregation = Aggregation::new(Time::ZERO);
        // Nothing is expected at the start of an interval: 20,000 bytes are an excess. 8 ms later, 8000 bytes of them are
        // expected, and with 5000 more the excess is 17,000.
        assert_eq!(aggregation.sample(Time::ZERO, 20_000.0, 1e6), 20_000.0);
        assert_eq!(aggregation.sample(Time(8_000_000), 5000.0, 1e6), 17_000.0);
        // After 25 ms, no more was delivered than expected: the interval begins again.
        assert_eq!(aggregation.sample(Time(25_000_000), 1000.0, 1e6), 1000.0);
        // It also begins with a restart, with nothing acknowledged in it.
        aggregation.sample(Time(25_000_000), 50_000.0, 1e6);
        aggregation.restart(Time(40_000_000));
        assert_eq!(aggregation.sample(Time(50_000_000), 7000.0, 1e6), 7000.0);
        aggregation.update(20_000.0);
        let found = [0, 1, 2, 3].map(|_| {
            aggregation.advance(2);
            aggregation.most()
        });
        assert_eq!(found, [20_000.0, 20_000.0, 20_000.0, 0.0]);
    }
}
