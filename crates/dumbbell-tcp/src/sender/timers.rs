//! The timers of a sender: one deadline for each kind, and which comes first.

use dumbbell_units::Time;

/// What a deadline is for. Timers that expire together do so in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// The end of the time in which reordering may still explain a gap [RFC 8985 §6.2].
    Reordering,
    /// A probe for the loss of the last segments [RFC 8985 §7].
    Probe,
    /// The retransmission timeout [RFC 6298 §5].
    Retransmission,
    /// The pacer lets the next segment go. The last, as it is asked for by itself.
    Pacing,
}

const KINDS: usize = 4;
const BUT_PACING: usize = TimerKind::Pacing as usize;

/// One deadline for each kind; [`Time::NEVER`] for a timer that is off.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    deadlines: [Time; KINDS],
}

impl Timers {
    /// All timers off.
    pub(super) fn new() -> Self {
        Timers { deadlines: [Time::NEVER; KINDS] }
    }

    /// Deadline of one kind.
    #[inline]
    pub(super) fn deadline(&self, kind: TimerKind) -> Time {
        self.deadlines[kind as usize]
    }

    /// Starts a timer, or starts it again.
    #[inline]
    pub(super) fn set(&mut self, kind: TimerKind, deadline: Time) {
        self.deadlines[kind as usize] = deadline;
    }

    /// Stops a timer.
    #[inline]
    pub(super) fn stop(&mut self, kind: TimerKind) {
        self.deadlines[kind as usize] = Time::NEVER;
    }

    /// True if a timer is on.
    #[inline]
    pub(super) fn is_set(&self, kind: TimerKind) -> bool {
        self.deadline(kind) != Time::NEVER
    }

    /// True if the deadline of a kind has come.
    #[inline]
    pub(super) fn has_expired(&self, kind: TimerKind, now: Time) -> bool {
        self.deadline(kind) <= now
    }

    /// The earliest deadline of all kinds.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.deadlines.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// The earliest deadline of all kinds but pacing.
    #[inline]
    pub(super) fn earliest_but_pacing(&self) -> Time {
        self.deadlines[..BUT_PACING].iter().copied().fold(Time::NEVER, Time::min)
    }

    /// Stops all timers.
    pub(super) fn stop_all(&mut self) {
        self.deadlines = [Time::NEVER; KINDS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_deadline_of_any_kind_comes_first() {
        let mut timers = Timers::new();
        assert_eq!(timers.earliest(), Time::NEVER);
        timers.set(TimerKind::Retransmission, Time(9));
        timers.set(TimerKind::Pacing, Time(4));
        assert_eq!((timers.earliest(), timers.earliest_but_pacing()), (Time(4), Time(9)));
        assert!(
            timers.has_expired(TimerKind::Pacing, Time(4)) && !timers.has_expired(TimerKind::Probe, Time(4))
        );
        timers.stop(TimerKind::Pacing);
        assert_eq!(timers.earliest(), Time(9));
        timers.stop_all();
        assert!(!timers.is_set(TimerKind::Retransmission));
    }
}
