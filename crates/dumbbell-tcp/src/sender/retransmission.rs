//! The retransmission timer: which segment is timed, and when the timeout expires.

use crate::clock::HostClock;
use crate::config::TcpParams;
use crate::rtt::RttEstimator;
use crate::scoreboard::Echo;
use dumbbell_cc::Restart;
use dumbbell_units::Time;

/// Estimator of the timeout, and the segment being timed if there are no timestamps.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    estimator: RttEstimator,
    /// Every ACK gives a sample [RFC 7323 §4].
    timestamps: bool,
    /// A retransmitted segment is still timed, contrary to [RFC 6298 §3].
    times_resent: bool,
    /// End of the segment being timed, and its transmission time.
    timed: Option<(u64, Time)>,
    /// First byte not sent when the round trip began, if the estimator counts them.
    round_end: u64,
    counts_rounds: bool,
    /// Every delivery of data sent once gives a sample.
    samples_deliveries: bool,
    /// When the timeout and the probe that were due last expire, by the timer wheel of Linux.
    expiries: [Time; 2],
    /// When the timeout and the probe are due that were set for another time than the timeout, and that time.
    waits: [(Time, Time); 2],
}

impl RetransmissionTimer {
    pub(super) fn new(params: &TcpParams, clock: HostClock) -> Self {
        let estimator = RttEstimator::new(&params.timer, clock);
        RetransmissionTimer {
            counts_rounds: estimator.counts_rounds(),
            expiries: [Time::NEVER; 2],
            waits: [(Time::NEVER, Time::ZERO); 2],
            samples_deliveries: estimator.counts_rounds() && params.recovery.is_of_linux(),
            round_end: 0,
            estimator,
            timestamps: params.timestamps,
            times_resent: params.recovery.properties().times_resent,
            timed: None,
        }
    }

    /// True if every ACK echoes the time at which a segment was sent.
    #[inline]
    pub(super) fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// The timeout, or a probe, is due at `due` and was set for another time than the timeout.
    #[inline]
    pub(super) fn note_wait(&mut self, due: Time, wait: Time, is_probe: bool) {
        self.waits[usize::from(is_probe)] = (due, wait);
    }

    /// A timeout, or a probe, is due. When it expires if that is later: a timer wheel has its own clock.
    pub(super) fn expires_later(&mut self, due: Time, is_probe: bool) -> Option<Time> {
        let known = &mut self.expiries[usize::from(is_probe)];
        if *known == due {
            return None;
        }
        let (noted, wait) = self.waits[usize::from(is_probe)];
        let wait = if noted == due { wait } else { self.estimator.timeout() };
        *known = self.estimator.expiry(due, wait);
        (*known > due).then_some(*known)
    }

    /// True if every delivery of data sent once gives a sample, as in Linux.
    #[inline]
    pub(super) fn samples_deliveries(&self) -> bool {
        self.samples_deliveries
    }

    /// A round-trip time was measured, with data up to `snd_una` acknowledged.
    pub(super) fn sample(&mut self, now: Time, rtt: Time, snd_una: u64, snd_nxt: u64) {
        let begins_round = snd_una > self.round_end;
        if begins_round {
            self.round_end = snd_nxt;
        }
        self.estimator.sample_in_round(Time(now.0.saturating_sub(rtt.0)), now, begins_round);
    }

    /// What an ACK echoes, if there are timestamps.
    #[inline]
    pub(super) fn echo(&self, at: Time) -> Option<Echo> {
        self.timestamps.then(|| self.estimator.echo(at))
    }

    /// The time that a timestamp sent at `at` tells.
    pub(super) fn stamped(&self, at: Time) -> Time {
        self.estimator.stamped(at)
    }

    /// The clock of the host.
    pub(super) fn clock(&self) -> HostClock {
        self.estimator.clock()
    }

    /// The round-trip time of data sent again at `sent`, for the congestion control; see [`RttEstimator`].
    pub(super) fn by_timestamps(&self, sent: Time, now: Time) -> Option<Time> {
        if self.timestamps { self.estimator.by_timestamps(sent, now) } else { None }
    }

    /// When the timeout expires if the timer starts at `now`.
    #[inline]
    pub(super) fn deadline(&self, now: Time) -> Time {
        self.estimator.deadline(now)
    }

    /// This time in whole ticks of the timer's clock, if it has one.
    #[inline]
    pub(super) fn whole_ticks(&self, time: Time) -> Time {
        self.estimator.tick().map_or(time, |tick| Time(time.0 / tick.0.max(1) * tick.0))
    }

    /// The timeout with its back-off.
    #[inline]
    pub(super) fn timeout(&self) -> Time {
        self.estimator.timeout()
    }

    /// The time from `since` to `now`, and the timeout, by the clock of the timer; see [`RttEstimator::elapsed`].
    pub(super) fn elapsed(&self, since: Time, now: Time) -> (Time, Time) {
        self.estimator.elapsed(since, now)
    }

    /// The same if the connection was idle for a timeout, or in Linux for more ticks than that
    /// (`tcp_slow_start_after_idle_check`).
    pub(super) fn idle(&self, since: Time, now: Time) -> Option<Restart> {
        let (idle, timeout) = self.elapsed(since, now);
        let is_idle = if self.estimator.tick().is_some() { idle > timeout } else { idle >= timeout };
        is_idle.then(|| Restart::new(idle, timeout))
    }

    /// Smoothed round-trip time in seconds, infinite before the first sample.
    #[inline]
    pub(super) fn srtt_or_infinity(&self) -> f64 {
        self.estimator.srtt_or_infinity()
    }

    /// Doubles the timeout [RFC 6298 §5.5].
    pub(super) fn back_off(&mut self) {
        self.estimator.back_off();
    }

    /// The connection requested at `sent` is established.
    pub(super) fn on_open(&mut self, sent: Time, now: Time) {
        self.estimator.sample(sent, now);
    }

    /// The handshake gave no round-trip time: the timeout until there is one.
    pub(super) fn fall_back(&mut self, timeout: Time) {
        self.estimator.fall_back(timeout);
    }

    /// A new segment that ends at `end` was sent.
    #[inline]
    pub(super) fn on_new_segment(&mut self, end: u64, now: Time) {
        if self.timed.is_none() && !self.timestamps {
            self.timed = Some((end, now));
        }
    }

    /// The segment that ends at `end` was retransmitted: an ACK would be ambiguous [RFC 6298 §3].
    pub(super) fn on_resent(&mut self, end: u64) {
        if !self.times_resent && self.timed.is_some_and(|(timed, _)| timed == end) {
            self.timed = None;
        }
    }

    /// Stops timing a segment.
    pub(super) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Data up to `ack` was acknowledged, with an echoed timestamp. The next byte to send is `snd_nxt`.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: u64, timestamp_echo: Time, snd_nxt: u64) {
        if self.counts_rounds {
            self.on_ack_in_round(now, ack, timestamp_echo, snd_nxt);
        } else if self.timestamps {
            self.estimator.sample(timestamp_echo, now);
        } else if let Some((end, sent)) = self.timed
            && ack >= end
        {
            self.estimator.sample(sent, now);
            self.timed = None;
        }
    }

    #[inline(never)]
    fn on_ack_in_round(&mut self, now: Time, ack: u64, timestamp_echo: Time, snd_nxt: u64) {
        let sent = if self.timestamps {
            timestamp_echo
        } else {
            let Some((_, sent)) = self.timed.take_if(|(end, _)| ack >= *end) else { return };
            sent
        };
        let begins_round = ack > self.round_end;
        if begins_round {
            self.round_end = snd_nxt;
        }
        self.estimator.sample_in_round(sent, now, begins_round);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{LinuxTimer, TimerSpec};

    #[test]
    fn what_was_set_for_another_time_than_the_timeout_expires_by_that_time() {
        let linux = LinuxTimer { tick: Time(1_000_000), ..LinuxTimer::default() };
        let params = TcpParams { timer: TimerSpec::Linux(linux), ..TcpParams::default() };
        let mut timer = RetransmissionTimer::new(&params, HostClock::At(Time::ZERO));
        let due = Time(1_000_500_000);
        timer.note_wait(due, Time(10_000_000), true);
        // Set for 10 ticks, a timer expires with the next one; set for 1000, with the next multiple of 64.
        assert_eq!(timer.expires_later(due, true), Some(Time(1_001_000_000)));
        assert_eq!(timer.expires_later(due, false), Some(Time(1_024_000_000)));
        // Another deadline is that of the timeout, of which no timer expires early.
        assert_eq!(timer.expires_later(due + Time(1), true), Some(Time(1_024_000_000)));
    }
}
