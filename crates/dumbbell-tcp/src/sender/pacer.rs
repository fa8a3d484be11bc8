//! Pacing delays transmissions. The rate is set by the congestion control, by mechanism J of Vegas, or from the window of a
//! congestion control that does not pace. It may be limited, which paces by itself.
//!
//! Segments leave one by one, spaced by the rate, after a pause with one ahead of its space. Or they leave in bursts:
//! their segments together, then the space of all of them, as `tcp_update_skb_after_send` of Linux has it [linux6].

use crate::config::{Pacing, PacingParams};
use dumbbell_units::math::least;
use dumbbell_units::{Rate, Time};

/// Segments of a connection in Linux that take no space: all before the tenth.
const FIRST_OF_LINUX: u64 = 9;

/// Kinds of transmissions with different rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Allowed by the window.
    Regular,
    /// The retransmission of a detected loss, which is urgent.
    Retransmission,
}

/// How segments leave at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Release {
    /// One by one, at most these bytes ahead of their spaces.
    Spread(f64),
    /// These bytes together, then their space. A late burst shortens its space by the delay, at most to a half, if it
    /// is forgiven.
    Bursts { bytes: f64, forgives: bool },
}

/// When the next transmission is allowed.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    /// Bytes per second that were set last, and the largest that may be set.
    rate: f64,
    most: f64,
    release: Release,
    /// Spacing in seconds per byte of payload; 0 without a rate.
    per_byte: f64,
    /// What may be sent ahead of its spacing, in seconds.
    lead: Time,
    /// End of the spacing of everything sent; zero if nothing was sent since the beginning or a timeout.
    until: Time,
    /// When the last burst began, what is left of it in bytes, and by how much it was late.
    burst: (Time, f64, Time),
    /// Rules of Linux, see [`Pacer::by_linux`]: segments that are sent without space.
    linux: Option<u64>,
    /// The next segment does not wait.
    skips: bool,
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
            rate: 0.0,
            most: f64::INFINITY,
            release: Release::Spread(0.0),
            per_byte: 0.0,
            lead: Time::ZERO,
            until: Time::ZERO,
            burst: (Time::ZERO, 0.0, Time::ZERO),
            linux: None,
            skips: false,
            of_window,
            spike_suppression,
        }
    }

    /// The same with a largest rate, at which it paces until a lower one is set.
    pub(super) fn at_most(mut self, rate: Option<Rate>) -> Self {
        if let Some(rate) = rate {
            self.most = rate.0 as f64 / 8.0;
            self.set_rate(self.most, Release::Spread(0.0));
        }
        self
    }

    /// The same with the rules of Linux, or not: the first nine segments take no space, spaces are whole nanoseconds, and a
    /// timeout does not end the last one (`tcp_update_skb_after_send`).
    pub(super) fn by_linux(mut self, is_linux: bool) -> Self {
        self.linux = is_linux.then_some(FIRST_OF_LINUX);
        self
    }

    /// The rate in bytes of payload per second; `None` without one.
    pub(super) fn rate(&self) -> Option<f64> {
        let rate = if self.spike_suppression.is_some() { 1.0 / self.per_byte } else { self.rate };
        (self.per_byte > 0.0).then_some(rate)
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

    /// Sets the rate, in bytes of payload per second above 0, and how segments leave. No effect if mechanism J paces.
    #[inline]
    pub(super) fn set_rate(&mut self, rate: f64, release: Release) {
        let rate = least(rate, self.most);
        if (self.rate, self.release) != (rate, release) && self.spike_suppression.is_none() && rate > 0.0 {
            (self.rate, self.release) = (rate, release);
            self.per_byte = 1.0 / rate;
            self.lead = match release {
                Release::Spread(ahead) => Time::from_secs(ahead * self.per_byte),
                Release::Bursts { .. } => Time::ZERO,
            };
        }
    }

    /// The earliest departure of the next segment; in the past if nothing has to wait.
    #[inline]
    pub(super) fn next_departure(&self) -> Time {
        self.until - self.lead
    }

    /// When the next transmission is allowed; `None` if it is allowed now.
    #[inline]
    pub(super) fn wait(&self, now: Time, urgency: Urgency) -> Option<Time> {
        if now >= self.until || self.skips {
            return None;
        }
        let at = self.next_departure();
        (now < at && !self.is_in_burst(now) && !self.is_exempt(urgency)).then_some(at)
    }

    /// `len` bytes were sent.
    #[inline]
    pub(super) fn on_sent(&mut self, len: u32, now: Time, urgency: Urgency) {
        if self.linux.is_none() {
            self.take_space(len, now, urgency);
        }
    }

    /// The same by the rules of Linux, before timers are set.
    #[inline]
    pub(super) fn on_sent_of_linux(&mut self, len: u32, now: Time) {
        if self.linux.is_some() {
            self.take_space(len, now, Urgency::Regular);
        }
    }

    /// Time until the next departure, by which the timers of Linux are later (`tcp_pacing_delay`); otherwise none.
    #[inline]
    pub(super) fn delay_of_linux(&self, now: Time) -> Option<Time> {
        (self.linux.is_some() && self.until > now).then(|| self.until - now)
    }

    #[inline]
    fn take_space(&mut self, len: u32, now: Time, urgency: Urgency) {
        if self.per_byte > 0.0 && !self.is_exempt(urgency) {
            self.skips = false;
            let len = f64::from(len);
            let mut space = match &mut self.linux {
                None => Time::from_secs(len * self.per_byte),
                Some(0) => Time((len * 1e9 / self.rate) as u64),
                Some(unpaced) => {
                    *unpaced -= 1;
                    self.until = self.until.max(now);
                    return;
                }
            };
            if let Release::Bursts { bytes, forgives } = self.release {
                if !self.is_in_burst(now) {
                    // As in Linux, what follows nothing is late.
                    let late = match self.until {
                        _ if !forgives => Time::ZERO,
                        Time::ZERO => Time::NEVER,
                        until => now.since(until),
                    };
                    self.burst = (now, bytes, late);
                }
                let (_, left, late) = &mut self.burst;
                let forgiven = (*late).min(Time(space.0 / 2));
                space = space - forgiven;
                *late = *late - forgiven;
                // The next segment is taken to be as long.
                *left = if *left >= 2.0 * len { *left - len } else { 0.0 };
            }
            self.until = self.until.max(now) + space;
        }
    }

    /// True if a burst that began at this moment is not complete.
    #[inline]
    fn is_in_burst(&self, now: Time) -> bool {
        let (began, left, _) = self.burst;
        left > 0.0 && began == now
    }

    /// A timeout: nothing in the network can collide with the next segment. In Linux, that one does not wait, and takes its
    /// space after that of what was sent before.
    pub(super) fn release(&mut self) {
        if self.linux.is_some() {
            self.skips = true;
            return;
        }
        self.until = Time::ZERO;
        self.burst = (Time::ZERO, 0.0, Time::ZERO);
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
    fn segments_are_spaced_and_after_a_pause_some_are_ahead() {
        // 1,000 bytes at 100,000 bytes/s take 10 ms; 2,000 bytes may be ahead.
        let mut pacer = Pacer::new(false, &Pacing::Off, Time::ZERO);
        pacer.set_rate(100_000.0, Release::Spread(2_000.0));
        let mut sent = 0;
        while pacer.wait(Time::ZERO, Urgency::Regular).is_none() {
            pacer.on_sent(1_000, Time::ZERO, Urgency::Regular);
            sent += 1;
        }
        // Three are sent: at the third, two are ahead, which is the limit.
        assert_eq!(sent, 3);
        assert_eq!(pacer.next_departure(), Time(10 * MS));
        assert_eq!(pacer.wait(Time::ZERO, Urgency::Retransmission), Some(Time(10 * MS)));
        assert_eq!(pacer.wait(Time(10 * MS), Urgency::Regular), None);
        // After a pause two may be ahead again, not more.
        pacer.on_sent(1_000, Time(500 * MS), Urgency::Regular);
        pacer.on_sent(1_000, Time(500 * MS), Urgency::Regular);
        pacer.on_sent(1_000, Time(500 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(500 * MS), Urgency::Regular), Some(Time(510 * MS)));
    }

    /// A pacer of bursts at 100,000 bytes/s. What was sent before takes space until 100 ms.
    fn bursts(bytes: f64) -> Pacer {
        let mut pacer = Pacer::new(false, &Pacing::Off, Time::ZERO);
        pacer.set_rate(100_000.0, Release::Bursts { bytes, forgives: true });
        pacer.until = Time(100 * MS);
        pacer
    }

    #[test]
    fn a_burst_leaves_together_and_then_takes_the_space_of_its_segments() {
        // Two segments of 1,000 bytes fit into 2,900; at 100,000 bytes/s they take 20 ms.
        let mut pacer = bursts(2_900.0);
        let send = |pacer: &mut Pacer, ms: u64| {
            assert_eq!(pacer.wait(Time(ms * MS), Urgency::Regular), None, "{ms} ms");
            pacer.on_sent(1_000, Time(ms * MS), Urgency::Regular);
        };
        send(&mut pacer, 100);
        send(&mut pacer, 100);
        assert_eq!(pacer.wait(Time(100 * MS), Urgency::Regular), Some(Time(120 * MS)));
        // The window allows but one: the space is that of one, and the next burst is whole again.
        send(&mut pacer, 120);
        assert_eq!(pacer.wait(Time(121 * MS), Urgency::Regular), Some(Time(130 * MS)));
        send(&mut pacer, 130);
        send(&mut pacer, 130);
        assert_eq!(pacer.wait(Time(130 * MS), Urgency::Regular), Some(Time(150 * MS)));
        // 8 ms late: 5 ms of the first segment's space are forgiven, and 3 of the second's.
        send(&mut pacer, 158);
        send(&mut pacer, 158);
        assert_eq!(pacer.wait(Time(158 * MS), Urgency::Regular), Some(Time(170 * MS)));
    }

    #[test]
    fn a_late_segment_shortens_the_next_space_at_most_to_a_half() {
        // 1,000 bytes at 100,000 bytes/s take 10 ms. 3 ms late at 113 ms, so the next may leave 7 ms later.
        let mut pacer = bursts(1_000.0);
        pacer.on_sent(1_000, Time(100 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(109 * MS), Urgency::Regular), Some(Time(110 * MS)));
        pacer.on_sent(1_000, Time(113 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(119 * MS), Urgency::Regular), Some(Time(120 * MS)));
        // 80 ms late: a half.
        pacer.on_sent(1_000, Time(200 * MS), Urgency::Regular);
        assert_eq!(pacer.wait(Time(201 * MS), Urgency::Regular), Some(Time(205 * MS)));
    }

    #[test]
    fn a_largest_rate_holds_from_the_beginning_and_against_higher_rates() {
        // 800 kbit/s are 100,000 bytes/s.
        let mut pacer = Pacer::new(false, &Pacing::Off, Time::ZERO).at_most(Some(Rate(800_000)));
        pacer.on_sent(1_000, Time::ZERO, Urgency::Regular);
        assert_eq!(pacer.wait(Time::ZERO, Urgency::Retransmission), Some(Time(10 * MS)));
        for (rate, expected) in [(200_000.0, 100_000.0), (50_000.0, 50_000.0), (f64::INFINITY, 100_000.0)] {
            pacer.set_rate(rate, Release::Spread(0.0));
            assert_eq!(pacer.rate(), Some(expected));
        }
        assert_eq!(Pacer::new(false, &Pacing::Off, Time::ZERO).at_most(None).rate(), None);
    }

    #[test]
    fn the_first_burst_is_late_whenever_it_leaves() {
        for ms in [0, 1_000] {
            let mut pacer = bursts(1_000.0);
            pacer.release();
            pacer.on_sent(1_000, Time(ms * MS), Urgency::Regular);
            assert_eq!(pacer.next_departure(), Time((ms + 5) * MS));
        }
    }

    #[test]
    fn in_linux_the_first_nine_segments_take_no_space_and_spaces_are_whole_nanoseconds() {
        // 1,000 bytes at 300,000 bytes/s take 3,333,333.3 ns.
        let mut pacer = Pacer::new(false, &Pacing::Off, Time::ZERO).by_linux(true);
        pacer.set_rate(300_000.0, Release::Bursts { bytes: 1_000.0, forgives: true });
        let mut departures = Vec::new();
        for _ in 0..10 {
            assert_eq!(pacer.wait(Time(MS), Urgency::Regular), None);
            pacer.on_sent(1_000, Time(MS), Urgency::Regular);
            pacer.on_sent_of_linux(1_000, Time(MS));
            departures.push(pacer.next_departure().0);
        }
        assert_eq!(departures[..9], [MS; 9]);
        assert_eq!(departures[9], 4_333_333);
        assert_eq!(pacer.delay_of_linux(Time(2 * MS)), Some(Time(2_333_333)));
        // What a timeout sends again does not wait, and takes its space after the others.
        pacer.release();
        assert_eq!(pacer.wait(Time(2 * MS), Urgency::Regular), None);
        pacer.on_sent_of_linux(1_000, Time(2 * MS));
        assert_eq!(pacer.wait(Time(2 * MS), Urgency::Regular), Some(Time(7_666_666)));
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
