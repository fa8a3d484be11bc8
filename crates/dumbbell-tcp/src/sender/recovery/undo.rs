//! Spurious reactions, and what they changed.
//!
//! A reaction was spurious if everything that was retransmitted arrived twice [RFC 3708], or if the first ACK of something
//! retransmitted echoes a time before the retransmission (Eifel detection, RFC 3522). A timeout was also spurious if new
//! data, sent in place of further retransmissions, finds that data arrived that was sent once (F-RTO, RFC 5682).

use crate::config::recovery::Frto;
use crate::scoreboard::Deliveries;
use dumbbell_cc::{Signal, Undo};
use dumbbell_units::Time;

/// Segments of new data sent in place of retransmissions [RFC 5682 §3.1 step 2].
const PROBES: u32 = 2;

/// The reaction to a loss, and what was retransmitted since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaction {
    /// What is undone.
    pub(super) undo: Undo,
    /// The oldest byte outstanding, and the first byte not sent, at the reaction.
    from: u64,
    pub(super) until: u64,
    /// Retransmissions that have not arrived twice, with those of an earlier recovery that are in the network.
    unexplained: u64,
    /// Time of the first of them.
    first_resent: Time,
    /// An ACK of something retransmitted has arrived, and showed nothing.
    is_confirmed: bool,
    /// Everything that was retransmitted arrived twice, by the rules of Linux.
    is_explained: bool,
    /// The window is not restored: it was reduced for a mark as well (`prior_ssthresh`).
    pub(super) keeps_window: bool,
}

impl Reaction {
    /// A reaction to `signal` begins, with this window and threshold and the bytes from `from` to `until` outstanding.
    /// `out` counts retransmissions in the network, with the time of the first. Their echoes are older than what is
    /// retransmitted now and show nothing, as in Linux.
    pub(super) fn new(
        signal: Signal,
        (cwnd, ssthresh): (f64, f64),
        (from, until): (u64, u64),
        out: (u64, Time),
    ) -> Self {
        Reaction {
            undo: Undo::new(signal, cwnd, ssthresh),
            from,
            until,
            unexplained: out.0,
            first_resent: out.1,
            is_confirmed: false,
            is_explained: false,
            keeps_window: false,
        }
    }

    /// A segment was retransmitted.
    pub(super) fn on_resent(&mut self, now: Time) {
        self.unexplained += 1;
        self.is_explained = false;
        self.first_resent = self.first_resent.min(now);
    }

    /// A probe that repeated a segment is in the network too (`tcp_init_undo`).
    pub(super) fn expect_probe(&mut self) {
        self.unexplained += 1;
    }

    /// A range arrived twice. True if with it everything did that was retransmitted.
    pub(super) fn on_duplicate_report(&mut self, range: (u64, u64)) -> bool {
        if self.unexplained == 0 || range.1 <= self.from || range.0 >= self.until {
            return false;
        }
        self.unexplained -= 1;
        self.unexplained == 0
    }

    /// A range arrived twice, by the rules of Linux: it explains one retransmission, and the state machine looks at it later
    /// (`tcp_check_dsack`).
    pub(super) fn explain(&mut self, range: (u64, u64)) {
        let Reaction { unexplained, is_explained, .. } = self;
        if *unexplained > 0 && range.1 > self.from {
            *unexplained -= 1;
            *is_explained = *unexplained == 0;
        }
    }

    /// True if everything that was retransmitted arrived twice.
    pub(super) fn is_explained(&self) -> bool {
        self.is_explained
    }

    /// New data is acknowledged. True if the echoed time shows that the original of something retransmitted arrived.
    pub(super) fn on_ack(&mut self, deliveries: &Deliveries) -> bool {
        if self.is_confirmed || !deliveries.includes_resent() {
            return false;
        }
        self.is_confirmed = true;
        deliveries.echo().is_some_and(|echo| echo < self.first_resent)
    }
}

/// What an ACK after a timeout shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Nothing,
    /// Data sent once arrived: the timeout was spurious.
    IsSpurious,
}

/// Forward recovery after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForwardRecovery {
    /// Not in progress: what is lost is retransmitted.
    Idle,
    /// The oldest segment was retransmitted, and nothing else.
    Waiting,
    /// So many segments of new data may still be sent, and the next ACK decides.
    Probing(u32),
}

impl ForwardRecovery {
    /// A timeout: it begins, unless the detection is off or a recovery was in progress. A timeout that repeats another
    /// begins it again in Linux, unless there was progress in between.
    pub(super) fn begin(rule: Frto, in_recovery: bool, is_repeated: bool, has_progressed: bool) -> Self {
        let begins = match rule {
            Frto::Off => false,
            Frto::Rfc5682 => !in_recovery && !is_repeated,
            Frto::Linux => !(in_recovery || is_repeated && has_progressed),
        };
        if begins { ForwardRecovery::Waiting } else { ForwardRecovery::Idle }
    }

    /// An ACK arrived. `is_original` if it delivers data outstanding at the timeout and sent once, `is_advance` if it
    /// acknowledges new data but not all that was outstanding, `has_new` if new data can be sent.
    pub(super) fn on_ack(
        &mut self,
        rule: Frto,
        is_original: bool,
        is_advance: bool,
        has_new: bool,
    ) -> Finding {
        let finding = match *self {
            ForwardRecovery::Idle => return Finding::Nothing,
            ForwardRecovery::Waiting => is_original && rule == Frto::Linux,
            ForwardRecovery::Probing(_) => is_original,
        };
        if finding {
            *self = ForwardRecovery::Idle;
            return Finding::IsSpurious;
        }
        match self {
            // Reports before the ACK of the retransmission only fill the scoreboard.
            ForwardRecovery::Waiting if !is_advance => {}
            ForwardRecovery::Waiting if has_new => *self = ForwardRecovery::Probing(PROBES),
            _ => *self = ForwardRecovery::Idle,
        }
        Finding::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::{Echo, Scoreboard};

    #[test]
    fn every_retransmission_must_have_arrived_twice() {
        let mut reaction =
            Reaction::new(Signal::FastRetransmit, (10_000.0, 20_000.0), (5000, 9000), (0, Time::NEVER));
        // Nothing was retransmitted yet: the report is of something else.
        assert!(!reaction.on_duplicate_report((5000, 6000)));
        reaction.on_resent(Time(10));
        reaction.on_resent(Time(20));
        assert!(!reaction.on_duplicate_report((4000, 5000)));
        assert!(!reaction.on_duplicate_report((5000, 6000)));
        assert!(reaction.on_duplicate_report((6000, 7000)));
        assert!(!reaction.on_duplicate_report((7000, 8000)));
    }

    #[test]
    fn new_data_decides_about_a_timeout_and_linux_decides_at_once() {
        let begin = |rule| ForwardRecovery::begin(rule, false, false, true);
        let mut rfc = begin(Frto::Rfc5682);
        assert_eq!(rfc.on_ack(Frto::Rfc5682, true, true, true), Finding::Nothing);
        assert_eq!(rfc, ForwardRecovery::Probing(2));
        assert_eq!(rfc.on_ack(Frto::Rfc5682, true, true, true), Finding::IsSpurious);
        assert_eq!(begin(Frto::Linux).on_ack(Frto::Linux, true, true, true), Finding::IsSpurious);
        // Without new data nothing can be found out; nor if the ACK after it delivers no data sent once.
        let mut none = begin(Frto::Rfc5682);
        none.on_ack(Frto::Rfc5682, false, true, false);
        assert_eq!(none, ForwardRecovery::Idle);
        let mut lost = ForwardRecovery::Probing(1);
        assert_eq!(lost.on_ack(Frto::Rfc5682, false, false, true), Finding::Nothing);
        assert_eq!(lost, ForwardRecovery::Idle);
        assert_eq!(ForwardRecovery::begin(Frto::Rfc5682, true, false, true), ForwardRecovery::Idle);
        assert_eq!(ForwardRecovery::begin(Frto::Rfc5682, false, true, true), ForwardRecovery::Idle);
        let again = |has_progressed| ForwardRecovery::begin(Frto::Linux, false, true, has_progressed);
        assert_eq!([false, true].map(again), [ForwardRecovery::Waiting, ForwardRecovery::Idle]);
    }

    #[test]
    fn what_was_sent_after_the_reaction_explains_no_retransmission() {
        let mut reaction =
            Reaction::new(Signal::FastRetransmit, (10_000.0, 20_000.0), (5000, 9000), (0, Time::NEVER));
        reaction.on_resent(Time(10));
        assert!(!reaction.on_duplicate_report((9000, 10_000)));
        assert!(reaction.on_duplicate_report((8000, 9000)));
    }

    #[test]
    fn only_the_first_ack_of_something_retransmitted_decides() {
        // Two segments are retransmitted at 50 ms. Then one ACK each, which echoes one of these times.
        let findings = |echoes: [u64; 2]| {
            let mut scoreboard = Scoreboard::default();
            scoreboard.detect_by_time();
            let mut reaction =
                Reaction::new(Signal::FastRetransmit, (2000.0, 4000.0), (0, 200), (0, Time::NEVER));
            for index in 0..2 {
                scoreboard.push(100 * index, 100, Time::ZERO);
                scoreboard.mark_resent(index as usize, Time(50));
                reaction.on_resent(Time(50));
            }
            [0, 1].map(|number: usize| {
                scoreboard.begin_ack(Some(Echo::exact(Time(echoes[number]))));
                scoreboard.acknowledge(100 * (number as u64 + 1), Time(90));
                reaction.on_ack(scoreboard.deliveries().expect("detection by time"))
            })
        };
        assert_eq!(findings([0, 50]), [true, false]);
        assert_eq!(findings([50, 0]), [false, false]);
    }
}
