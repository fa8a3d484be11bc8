//! Mechanism J of Vegas [hengartner2000 §VI], spike suppression: the rate of a round bounds the next one to its double. How,
//! the papers leave open; here segments keep a distance.

use dumbbell_units::Time;

/// How far apart segments leave.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// First byte after the round being measured, and when that began.
    round: (u64, Time),
    /// Spacing in seconds per byte of payload; 0 until a round has been measured.
    per_byte: f64,
    /// No segment leaves before.
    until: Time,
    /// `until` while a segment waits for it, else never.
    deadline: Time,
}

impl Pace {
    /// The first round begins with the connection.
    pub(super) fn new(now: Time) -> Self {
        Pace { round: (0, now), per_byte: 0.0, until: Time::ZERO, deadline: Time::NEVER }
    }

    /// When a segment that waits may leave.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Bytes up to `snd_una` are acknowledged, and the next one is `snd_nxt`. Where that ends a round, what was sent in it
    /// is divided by the round-trip time, or by the length of the round if that is shorter.
    pub(super) fn measure(&mut self, now: Time, rtt: Option<Time>, snd_una: u64, snd_nxt: u64) {
        let (end, begun) = self.round;
        if snd_una < end {
            return;
        }
        let bytes = snd_nxt.saturating_sub(end) as f64;
        let elapsed = now.since(begun);
        let elapsed = rtt.map_or(elapsed, |rtt| rtt.min(elapsed)).secs();
        if bytes > 0.0 && elapsed > 0.0 {
            self.per_byte = elapsed / (2.0 * bytes);
        }
        self.round = (snd_nxt, now);
    }

    /// True if the next segment has to wait, which it does from now on.
    #[inline]
    pub(super) fn holds(&mut self, now: Time) -> bool {
        let holds = now < self.until;
        if holds {
            self.deadline = self.until;
        }
        holds
    }

    /// What has come is not waited for any more.
    #[inline]
    pub(super) fn stop_waiting(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// A segment of `len` bytes left.
    #[inline]
    pub(super) fn on_sent(&mut self, len: u32, now: Time) {
        if self.per_byte > 0.0 {
            self.until = now + Time::from_secs(f64::from(len) * self.per_byte);
        }
    }

    /// A timeout: nothing is in the network that the next segment could collide with.
    pub(super) fn release(&mut self) {
        self.until = Time::ZERO;
    }
}
