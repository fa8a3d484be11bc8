//! Tail loss probes [RFC 8985 §7]: before the retransmission timeout, a segment provokes an ACK that shows what is lost.

use crate::sender::access::Access;
use dumbbell_units::Time;

/// Timeout without a round-trip time [RFC 8985 §7.2].
const WITHOUT_RTT: Time = Time(1_000_000_000);

/// When a probe is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeTimes {
    /// Added to two round-trip times.
    slack: Time,
    /// Added instead if a single segment is in flight, because its ACK may be delayed.
    max_ack_delay: Time,
    /// The last smoothed round-trip time in seconds, and twice as long.
    two_rtts: (f64, Time),
}

impl ProbeTimes {
    pub(super) fn new(slack: Time, max_ack_delay: Time) -> Self {
        ProbeTimes { slack, max_ack_delay, two_rtts: (0.0, Time::ZERO) }
    }

    /// Time from the last transmission to a probe, from the smoothed round-trip time in seconds.
    #[inline(always)]
    pub(super) fn timeout(&mut self, srtt: f64, is_single: bool) -> Time {
        if !srtt.is_finite() {
            return WITHOUT_RTT;
        }
        if srtt != self.two_rtts.0 {
            self.two_rtts = (srtt, Time::from_secs(2.0 * srtt));
        }
        self.two_rtts.1 + if is_single { self.max_ack_delay.max(self.slack) } else { self.slack }
    }
}

/// A probe that is sent and not answered.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// The first byte never sent, at the probe.
    end: u64,
    /// It repeated the last segment.
    is_retransmission: bool,
}

/// The probe of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// The next segment is a probe.
    pub(super) is_due: bool,
    outstanding: Option<Outstanding>,
}

impl TailProbe {
    /// True if no probe is sent and not answered.
    pub(super) fn is_answered(&self) -> bool {
        self.outstanding.is_none()
    }

    /// True if a probe repeated the last segment and is not answered.
    pub(super) fn is_repetition_out(&self) -> bool {
        self.outstanding.is_some_and(|probe| probe.is_retransmission)
    }

    /// A probe was sent; the connection has sent up to `end`.
    pub(super) fn on_sent(&mut self, end: u64, is_retransmission: bool) {
        self.outstanding = Some(Outstanding { end, is_retransmission });
    }

    /// A timeout or a recovery ends the probe.
    pub(super) fn cancel(&mut self) {
        *self = TailProbe::default();
    }

    /// The range arrived twice. True if the probe caused it: nothing was lost.
    pub(super) fn on_duplicate_report(&mut self, range: (u64, u64)) -> bool {
        let is_probe = self.outstanding.is_some_and(|probe| probe.is_retransmission && probe.end == range.1);
        if is_probe {
            self.outstanding = None;
        }
        is_probe
    }

    /// An ACK up to `ack`. True if the probe has repaired a loss, which nothing else shows.
    pub(super) fn on_ack(&mut self, connection: &Access<'_>, is_duplicate: bool) -> bool {
        let Some(probe) = self.outstanding else { return false };
        let ack = connection.snd_una();
        if ack < probe.end {
            return false;
        }
        let has_repaired = probe.is_retransmission && ack > probe.end;
        if !probe.is_retransmission || has_repaired || is_duplicate && !connection.scoreboard().has_sacked() {
            self.outstanding = None;
        }
        has_repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_waits_two_round_trip_times() {
        let mut rfc = ProbeTimes::new(Time::ZERO, Time(200_000_000));
        // 2 * 100 ms; a single segment may wait for a delayed ACK of 200 ms more; without a sample, 1 s.
        assert_eq!(rfc.timeout(0.1, false), Time(200_000_000));
        assert_eq!(rfc.timeout(0.1, true), Time(400_000_000));
        assert_eq!(rfc.timeout(f64::INFINITY, true), Time(1_000_000_000));
        // Linux adds 2 ms.
        let mut linux = ProbeTimes { slack: Time(2_000_000), ..rfc };
        assert_eq!(
            (linux.timeout(0.1, false), linux.timeout(0.1, true)),
            (Time(202_000_000), Time(400_000_000))
        );
    }

    #[test]
    fn only_the_duplicate_of_a_repeated_last_segment_answers_the_probe() {
        let probe = |is_retransmission| {
            let mut probe = TailProbe::default();
            probe.on_sent(5000, is_retransmission);
            probe
        };
        let mut repeated = probe(true);
        assert!(!repeated.on_duplicate_report((3000, 4000)) && !repeated.is_answered());
        assert!(repeated.on_duplicate_report((4000, 5000)) && repeated.is_answered());
        let mut new = probe(false);
        assert!(!new.on_duplicate_report((4000, 5000)) && !new.is_answered());
    }
}
