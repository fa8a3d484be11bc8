//! The timers of a sender: one deadline of each kind, and the earliest of them.

use dumbbell_units::Time;

/// Kinds of deadlines, in the order in which simultaneous ones are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// End of the time in which reordering may explain a gap [RFC 8985 §6.2].
    Reordering,
    /// Probe for the loss of the last segments [RFC 8985 §7].
    Probe,
    /// The retransmission timeout [RFC 6298 §5].
    Retransmission,
    /// The pacer allows the next segment. The last kind, because it is also queried separately.
    Pacing,
}

const KINDS: usize = 4;
const BUT_PACING: usize = TimerKind::Pacing as usize;

/// One deadline of each kind; [`Time::NEVER`] for a stopped timer.
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

    /// Starts or restarts a timer.
    #[inline]
    pub(super) fn set(&mut self, kind: TimerKind, deadline: Time) {
        self.deadlines[kind as usize] = deadline;
    }

    /// Stops a timer.
    #[inline]
    pub(super) fn stop(&mut self, kind: TimerKind) {
        self.deadlines[kind as usize] = Time::NEVER;
    }

    /// True if a timer is running.
    #[inline]
    pub(super) fn is_set(&self, kind: TimerKind) -> bool {
        self.deadline(kind) != Time::NEVER
    }

    /// True if a deadline has been reached.
    #[inline]
    pub(super) fn has_expired(&self, kind: TimerKind, now: Time) -> bool {
        self.deadline(kind) <= now
    }

    /// The earliest deadline of all kinds.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.deadlines.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// The earliest deadline of all kinds except pacing.
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
