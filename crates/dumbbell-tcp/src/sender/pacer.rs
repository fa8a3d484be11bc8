//! Pacing delays transmissions. The rate is set by the congestion control, by mechanism J of Vegas, or from the window of a
//! congestion control that does not pace.
//!
//! The pacer is a token bucket of `quantum` bytes that fills at the rate: one quantum may be sent at once, then
//! segments are spaced by the rate.

use crate::config::{Pacing, PacingParams};
use dumbbell_units::Time;

/// Kinds of transmissions with different rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Allowed by the window.
    Regular,
    /// The retransmission of a detected loss, which is urgent.
    Retransmission,
}

/// When the next transmission is allowed.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    /// The rate and the burst that were set last, in bytes per second and bytes.
    set: (f64, f64),
    /// Spacing in seconds per byte of payload; 0 without a rate.
    per_byte: f64,
    /// Burst that may be sent ahead of its spacing, in seconds.
    lead: Time,
    /// End of the spacing of everything sent.
    until: Time,
    /// How a window is paced, if the congestion control has no rate.
    pub(super) of_window: Option<Box<PacingParams>>,
    /// Sets the rate if mechanism J is on.
    spike_suppression: Option<SpikeSuppression>,
}

impl Pacer {
    /// A pacer without a rate. With spike suppression the first round begins with the connection.
    pub(super) fn new(suppresses_spikes: bool, pacing: &Pacing, now: Time) -> Self {
        let spike_suppression = suppresses_spikes.then_some(SpikeSuppression { round: (0, now) });
        let of_window = match pacing {
            Pacing::Off => None,
            Pacing::On(pacing) => Some(Box::new(pacing.clone())),
        };
        Pacer {
            set: (0.0, 0.0),
            per_byte: 0.0,
            lead: Time::ZERO,
            until: Time::ZERO,
            of_window,
            spike_suppression,
        }
    }

    /// Data up to `snd_una` was acknowledged, and the next byte to send is `snd_nxt`.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, rtt: Option<Time>, snd_una: u64, snd_nxt: u64) {
        if let Some(rule) = &mut self.spike_suppression
            && let Some(per_byte) = rule.measure(now, rtt, snd_una, snd_nxt)
        {
            self.per_byte = per_byte;
        }
    }

    /// Sets the rate of the congestion control, in bytes of payload per second above 0, and the burst, in bytes. No
    /// effect if mechanism J paces.
    #[inline]
    pub(super) fn set_rate(&mut self, rate: f64, quantum: f64) {
        if self.set != (rate, quantum) && self.spike_suppression.is_none() && rate > 0.0 {
            self.set = (rate, quantum);
            self.per_byte = 1.0 / rate;
            self.lead = Time::from_secs(quantum * self.per_byte);
        }
    }

    /// When a delayed transmission is allowed; `None` if it is allowed now.
    #[inline]
    pub(super) fn wait(&self, now: Time, urgency: Urgency) -> Option<Time> {
        if now >= self.until {
            return None;
        }
        let at = self.until - self.lead;
        (now < at && !self.is_exempt(urgency)).then_some(at)
    }

    /// `len` bytes were sent.
    #[inline]
    pub(super) fn on_sent(&mut self, len: u32, now: Time, urgency: Urgency) {
        if self.per_byte > 0.0 && !self.is_exempt(urgency) {
            let mut space = Time::from_secs(f64::from(len) * self.per_byte);
            if self.of_window.as_ref().is_some_and(|pacing| pacing.forgives) {
                space = space - now.since(self.until).min(Time(space.0 / 2));
            }
            self.until = self.until.max(now) + space;
        }
    }

    /// A timeout: nothing in the network can collide with the next segment.
    pub(super) fn release(&mut self) {
        self.until = Time::ZERO;
    }

    /// Mechanism J spaces segments released by the window, but not retransmissions.
    fn is_exempt(&self, urgency: Urgency) -> bool {
        urgency == Urgency::Retransmission && self.spike_suppression.is_some()
    }
}

/// Mechanism J of Vegas [hengartner2000 §VI]: the rate is at most twice the rate of the last round. The papers leave
/// open how; here segments are spaced.
#[derive(Clone, Debug)]
struct SpikeSuppression {
    /// First byte after the measured round, and the start of the round.
    round: (u64, Time),
}

impl SpikeSuppression {
    /// If the acknowledgement ends a round: half of the time per byte, from the bytes sent in the round and the
    /// round-trip time, or the length of the round if that is shorter.
    fn measure(&mut self, now: Time, rtt: Option<Time>, snd_una: u64, snd_nxt: u64) -> Option<f64> {
        let (end, begun) = self.round;
        if snd_una < end {
            return None;
        }
        let bytes = snd_nxt.saturating_sub(end) as f64;
        let elapsed = now.since(begun);
        let elapsed = rtt.map_or(elapsed, |rtt| rtt.min(elapsed)).secs();
        self.round = (snd_nxt, now);
        (bytes > 0.0 && elapsed > 0.0).then(|| elapsed / (2.0 * bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_quantum_is_sent_at_once_and_then_segments_are_spaced() {
        // 1,000 bytes at 100,000 bytes/s take 10 ms; 2,000 bytes may leave at once.
        let mut pacer = Pacer::new(false, &Pacing::Off, Time::ZERO);
        pacer.set_rate(100_000.0, 2_000.0);
        let mut sent = 0;
        while pacer.wait(Time::ZERO, Urgency::Regular).is_none() {
            pacer.on_sent(1_000, Time::ZERO, Urgency::Regular);
            sent += 1;
        }
        // Three are sent: at the third, two are ahead, which is the limit.
        assert_eq!(sent, 3);
        assert_eq!(pacer.wait(Time::ZERO, Urgency::Retransmission), Some(Time(10 * MS)));
        assert_eq!(pacer.wait(Time(10 * MS), Urgency::Regular), None);
        // After a pause there is again one quantum, not more.
        pacer.on_sent(1_000, Time(500 * MS), Urgency::Regular);
        pacer.on_sent(1_000, Time(500 * MS), Urgency::Regular);
        pacer.on_sent(1_000, Time(500 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(500 * MS), Urgency::Regular), Some(Time(510 * MS)));
    }

    #[test]
    fn a_late_segment_shortens_the_next_space_at_most_to_a_half() {
        // 1,000 bytes at 100,000 bytes/s take 10 ms. Sent at 0; 3 ms late at 13 ms, so the next may leave 7 ms later.
        let mut pacer = Pacer::new(false, &Pacing::On(PacingParams::default()), Time::ZERO);
        pacer.set_rate(100_000.0, 0.0);
        pacer.on_sent(1_000, Time::ZERO, Urgency::Regular);
        assert_eq!(pacer.wait(Time(9 * MS), Urgency::Regular), Some(Time(10 * MS)));
        pacer.on_sent(1_000, Time(13 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(19 * MS), Urgency::Regular), Some(Time(20 * MS)));
        // 80 ms late: a half.
        pacer.on_sent(1_000, Time(100 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(101 * MS), Urgency::Regular), Some(Time(105 * MS)));
    }

    #[test]
    fn spike_suppression_doubles_the_rate_of_the_last_round_and_exempts_retransmissions() {
        let mut pacer = Pacer::new(true, &Pacing::Off, Time::ZERO);
        // 4,000 bytes were sent in a round of 80 ms: 20 us per byte, halved.
        pacer.on_ack(Time(80 * MS), None, 0, 4_000);
        pacer.on_sent(1_000, Time(80 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(80 * MS), Urgency::Regular), Some(Time(90 * MS)));
        assert_eq!(pacer.wait(Time(80 * MS), Urgency::Retransmission), None);
        pacer.on_sent(1_000, Time(80 * MS), Urgency::Retransmission);
        assert_eq!(pacer.wait(Time(80 * MS), Urgency::Regular), Some(Time(90 * MS)));
    }
}
