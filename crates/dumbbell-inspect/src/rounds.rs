//! What limited a sender, round trip by round trip.

use dumbbell_units::Time;

/// What limited a sender for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The connection was opening.
    Handshake,
    /// The application had nothing more to send, while data was in flight.
    Application,
    /// The window of the receiver was full.
    Receiver,
    /// The window grew from round trip to round trip, and nothing had been lost.
    SlowStart,
    /// The congestion control, apart from that.
    Congestion,
    /// Losses were repaired.
    Recovery,
    /// Nothing was in flight, for longer than a round trip.
    Idle,
}

impl Limit {
    /// All of them, in the order of their positions in sums.
    pub const ALL: [Limit; 7] = [
        Limit::Handshake,
        Limit::Application,
        Limit::Receiver,
        Limit::SlowStart,
        Limit::Congestion,
        Limit::Recovery,
        Limit::Idle,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Handshake => "handshake",
            Limit::Application => "application",
            Limit::Receiver => "receiver",
            Limit::SlowStart => "slow start",
            Limit::Congestion => "congestion",
            Limit::Recovery => "recovery",
            Limit::Idle => "idle",
        }
    }
}

/// A part of a connection with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// When it begins.
    pub start: Time,
    /// When it ends.
    pub end: Time,
    /// Its limit.
    pub limit: Limit,
}

/// A window grows as in slow start if the largest flight of a round trip is this much larger than that of the one before,
/// in eighths. Slow start multiplies it by 1.5 or 2; conservative slow start, its slowest form, by 1.25 [RFC 9406 §4.2].
const GROWTH_EIGHTHS: u64 = 9;

/// Time with a limit counts if it is at least this part of a round trip.
const SHARE_OF_ROUND: u64 = 2;

/// A sender that has data answers an acknowledgement within this part of a round trip, or within this time.
const ANSWER_SHARE: u64 = 16;
const ANSWER: Time = Time(1_000_000);

/// One round trip: from an instant until something is acknowledged that was sent later, or nothing is outstanding.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Time,
    /// It ends when a byte beyond this one is acknowledged.
    until: i64,
    most_in_flight: u64,
    has_repair: bool,
    /// Time during which the application had nothing to send, and the receiver's window was full.
    without_data: Time,
    without_window: Time,
    /// Acknowledgements after which data could have followed, and those after which nothing did for a while although the
    /// application had ended a write.
    occasions: u64,
    unanswered: u64,
}

/// The round trips of one direction.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    round: Option<Round>,
    /// Of the round before.
    most_in_flight: u64,
    has_lost: bool,
    /// Since when the application has had nothing to send, and the window of the receiver has been full.
    without_data_since: Option<Time>,
    without_window_since: Option<Time>,
    /// The last segment ended a write of the application.
    ends_write: bool,
    /// When the first acknowledgement of new data since it came.
    occasion: Option<Time>,
    /// When data of the other end was seen last.
    other_end: Option<Time>,
    /// The last phase, which may go on.
    phase: Option<Phase>,
    /// Finished phases, where they are kept.
    pub phases: Option<Vec<Phase>>,
    /// Nanoseconds with each limit.
    pub totals: [u64; Limit::ALL.len()],
    /// Of the time that is idle: until data of the other end came.
    pub idle_for_other_end: u64,
}

/// What follows a segment, as far as it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// More of the same write may follow.
    Open,
    /// It ends a write (PSH): more may wait behind it or not.
    Ended,
    /// It is less than a full segment: nothing waits behind it.
    Short,
}

/// The state of a direction after an event.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// When.
    pub at: Time,
    /// The first byte that is not acknowledged, and the byte after the last one sent.
    pub bytes: (i64, i64),
    /// Losses are being repaired.
    pub is_repairing: bool,
    /// No further segment fits the window of the receiver.
    pub is_window_full: bool,
    /// Smoothed round-trip time, if there is one.
    pub srtt: Option<Time>,
}

impl Rounds {
    /// The handshake took from one instant to another.
    pub fn on_handshake(&mut self, start: Time, end: Time) {
        self.add(Phase { start, end, limit: Limit::Handshake });
    }

    /// The other end sent data: a request, or an answer.
    pub fn on_data_of_other_end(&mut self, at: Time) {
        self.other_end = Some(at);
    }

    /// Data was sent.
    pub fn on_data(&mut self, state: &State, was_empty: bool, tail: Tail) {
        let (snd_una, snd_max) = state.bytes;
        self.end_without_data(state.at);
        self.end_occasion(state);
        self.ends_write = tail != Tail::Open;
        if was_empty {
            self.on_silence(state);
        }
        let in_flight = (snd_max - snd_una).max(0) as u64;
        let round = self.round.get_or_insert(Round { start: state.at, until: snd_max, ..Round::default() });
        round.most_in_flight = round.most_in_flight.max(in_flight);
        round.has_repair |= state.is_repairing;
        self.has_lost |= state.is_repairing;
        if tail == Tail::Short {
            self.without_data_since = Some(state.at);
        }
        self.on_window(state);
    }

    /// An acknowledgement arrived; `is_new` if it acknowledges new data.
    pub fn on_ack(&mut self, state: &State, is_new: bool) {
        self.on_window(state);
        if is_new && !state.is_window_full && !state.is_repairing && self.occasion.is_none() {
            self.occasion = Some(state.at);
        }
        let (snd_una, snd_max) = state.bytes;
        if snd_una >= snd_max {
            self.without_data_since.get_or_insert(state.at);
        }
        let Some(round) = &mut self.round else { return };
        round.has_repair |= state.is_repairing;
        if snd_una > round.until || snd_una >= snd_max {
            self.end_round(state.at);
            if snd_una < snd_max {
                let most_in_flight = (snd_max - snd_una) as u64;
                self.round =
                    Some(Round { start: state.at, until: snd_max, most_in_flight, ..Round::default() });
            }
        }
    }

    fn on_window(&mut self, state: &State) {
        if state.is_window_full {
            self.without_window_since.get_or_insert(state.at);
        } else if let Some(since) = self.without_window_since.take()
            && let Some(round) = &mut self.round
        {
            round.without_window += state.at - since.max(round.start);
        }
    }

    fn end_without_data(&mut self, at: Time) {
        if let Some(since) = self.without_data_since.take()
            && let Some(round) = &mut self.round
        {
            round.without_data += at - since.max(round.start);
        }
    }

    /// Data was sent after an acknowledgement, at once or not.
    fn end_occasion(&mut self, state: &State) {
        if let (Some(since), Some(round)) = (self.occasion.take(), &mut self.round) {
            let soon = ANSWER.max(Time(state.srtt.unwrap_or_default().0 / ANSWER_SHARE));
            round.occasions += 1;
            round.unanswered += u64::from(self.ends_write && state.at - since > soon);
        }
    }

    /// Data follows after nothing was in flight: a pause if it was longer than a round trip.
    fn on_silence(&mut self, state: &State) {
        let Some(last) = self.phase else { return };
        let length = state.at - last.end;
        if length > Time::ZERO {
            let is_pause = state.srtt.is_some_and(|srtt| length > srtt);
            let limit = if is_pause { Limit::Idle } else { Limit::Application };
            let waited = self.other_end.filter(|_| is_pause).map_or(Time::ZERO, |heard| heard - last.end);
            self.idle_for_other_end += waited.0;
            self.add(Phase { start: last.end, end: state.at, limit });
        }
        self.round = None;
    }

    fn end_round(&mut self, at: Time) {
        let since = self.without_window_since;
        let Some(mut round) = self.round.take() else { return };
        if let Some(since) = since {
            round.without_window += at - since.max(round.start);
            self.without_window_since = Some(at);
        }
        if let Some(since) = self.without_data_since {
            round.without_data += at - since.max(round.start);
            self.without_data_since = Some(at.max(since));
        }
        let share = Time((at - round.start).0 / SHARE_OF_ROUND);
        let has_grown = round.most_in_flight * 8 >= self.most_in_flight.saturating_mul(GROWTH_EIGHTHS);
        let limit = if round.has_repair {
            Limit::Recovery
        } else if round.without_window > share {
            Limit::Receiver
        } else if round.without_data > share || round.unanswered * 2 > round.occasions {
            Limit::Application
        } else if has_grown && !self.has_lost {
            Limit::SlowStart
        } else {
            Limit::Congestion
        };
        self.most_in_flight = round.most_in_flight;
        self.add(Phase { start: round.start, end: at, limit });
    }

    /// Adds a part. One with the limit of the part before continues it.
    fn add(&mut self, phase: Phase) {
        if phase.end <= phase.start {
            return;
        }
        self.totals[phase.limit as usize] += (phase.end - phase.start).0;
        match &mut self.phase {
            Some(last) if last.limit == phase.limit && last.end == phase.start => last.end = phase.end,
            last => {
                let finished = last.replace(phase);
                if let (Some(phases), Some(finished)) = (&mut self.phases, finished) {
                    phases.push(finished);
                }
            }
        }
    }

    /// The capture has ended: what is in progress is a phase, too.
    pub fn finish(&mut self, at: Time) {
        self.end_round(at);
        if let (Some(phases), Some(last)) = (&mut self.phases, self.phase.take()) {
            phases.push(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn state(at: u64, snd_una: i64, snd_max: i64) -> State {
        State {
            at: Time(at * MS),
            bytes: (snd_una, snd_max),
            is_repairing: false,
            is_window_full: false,
            srtt: Some(Time(100 * MS)),
        }
    }

    /// Sends `sizes[n]` in the n-th round trip of 100 ms.
    fn rounds(sizes: &[i64]) -> Rounds {
        let mut rounds = Rounds { phases: Some(Vec::new()), ..Rounds::default() };
        let mut una = 0;
        for (n, size) in sizes.iter().enumerate() {
            let at = n as u64 * 100;
            if n > 0 {
                rounds.on_ack(&state(at, una, una), true);
            }
            rounds.on_data(&state(at, una, una + size), n == 0, Tail::Open);
            una += size;
        }
        rounds.on_ack(&state(sizes.len() as u64 * 100, una, una), true);
        rounds
    }

    fn limits(mut rounds: Rounds) -> Vec<(&'static str, u64)> {
        rounds.finish(Time(0));
        let phases = rounds.phases.expect("kept");
        phases.iter().map(|phase| (phase.limit.name(), (phase.end - phase.start).0 / MS)).collect()
    }

    #[test]
    fn a_flight_that_doubles_is_slow_start_and_one_that_stays_is_congestion_avoidance() {
        let found = limits(rounds(&[10_000, 20_000, 40_000, 40_000, 41_000]));
        assert_eq!(found, [("slow start", 300), ("congestion", 200)]);
    }

    #[test]
    fn a_pause_longer_than_a_round_trip_is_idle() {
        let mut rounds = rounds(&[10_000, 10_000]);
        rounds.on_data(&state(900, 20_000, 30_000), true, Tail::Open);
        rounds.on_ack(&state(1000, 30_000, 30_000), true);
        let found = limits(rounds);
        assert_eq!(found[2], ("idle", 700));
    }

    #[test]
    fn a_pause_until_data_of_the_other_end_came_is_a_wait_for_it() {
        let mut rounds = rounds(&[10_000, 10_000]);
        rounds.on_data_of_other_end(Time(150 * MS));
        rounds.on_data(&state(900, 20_000, 30_000), true, Tail::Open);
        assert_eq!(rounds.idle_for_other_end, 0, "it came before the pause");
        rounds.on_ack(&state(1000, 30_000, 30_000), true);
        rounds.on_data_of_other_end(Time(1400 * MS));
        rounds.on_data(&state(1500, 30_000, 40_000), true, Tail::Open);
        assert_eq!(rounds.idle_for_other_end, 400 * MS);
        assert_eq!(rounds.totals[Limit::Idle as usize], 1200 * MS);
        rounds.on_ack(&state(1600, 40_000, 40_000), true);
        rounds.on_data_of_other_end(Time(1640 * MS));
        rounds.on_data(&state(1650, 40_000, 50_000), true, Tail::Open);
        assert_eq!(rounds.idle_for_other_end, 400 * MS, "less than a round trip is no pause");
    }

    #[test]
    fn a_short_segment_after_which_nothing_follows_is_the_application() {
        let mut rounds = Rounds { phases: Some(Vec::new()), ..Rounds::default() };
        rounds.on_data(&state(0, 0, 20_000), true, Tail::Open);
        rounds.on_data(&state(10, 0, 20_100), false, Tail::Short);
        rounds.on_ack(&state(100, 20_100, 20_100), true);
        assert_eq!(limits(rounds), [("application", 100)]);
    }

    #[test]
    fn a_full_window_for_half_of_a_round_trip_is_the_receiver() {
        let mut rounds = Rounds { phases: Some(Vec::new()), ..Rounds::default() };
        rounds.on_data(&State { is_window_full: true, ..state(0, 0, 20_000) }, true, Tail::Open);
        rounds.on_ack(&state(51, 10_000, 20_000), true);
        rounds.on_ack(&state(100, 20_000, 20_000), true);
        assert_eq!(limits(rounds), [("receiver", 100)]);
    }

    /// Sends a segment of 1,000 bytes every 10 ms; each is acknowledged after 100 ms, and answered or not.
    fn steady(tail: Tail, offset: u64) -> Vec<(&'static str, u64)> {
        let mut rounds = Rounds { phases: Some(Vec::new()), ..Rounds::default() };
        for n in 0..100_i64 {
            let at = 10 * n as u64;
            rounds.on_data(&state(at, (n - 10).max(0) * 1000, (n + 1) * 1000), n == 0, tail);
            if n >= 9 {
                rounds.on_ack(&state(at + offset, (n - 9) * 1000, (n + 1) * 1000), true);
            }
        }
        limits(rounds)
    }

    #[test]
    fn a_sender_that_ends_writes_and_does_not_answer_acknowledgements_waits_for_its_application() {
        assert!(
            steady(Tail::Ended, 2).iter().any(|(limit, length)| *limit == "application" && *length > 700)
        );
        for (tail, offset) in [(Tail::Ended, 9), (Tail::Open, 2)] {
            assert!(steady(tail, offset).iter().all(|(limit, _)| *limit != "application"), "{tail:?}");
        }
    }

    #[test]
    fn a_repair_outranks_other_limits() {
        let mut rounds = Rounds { phases: Some(Vec::new()), ..Rounds::default() };
        rounds.on_data(
            &State { is_repairing: true, is_window_full: true, ..state(0, 0, 20_000) },
            true,
            Tail::Open,
        );
        rounds.on_ack(&state(100, 20_000, 20_000), true);
        assert_eq!(limits(rounds), [("recovery", 100)]);
    }
}
