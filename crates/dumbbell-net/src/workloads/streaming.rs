//! Adaptive video over TCP: segments of a few seconds, each requested at a bitrate that the player chooses by its buffer.
//!
//! The choice is BBA-0 of [huang2014 §4.2]. Below the reservoir it is the lowest bitrate, above reservoir and cushion
//! the highest. In between, a straight line maps the buffer to a rate. The bitrate changes only if the line has reached
//! the next higher or the next lower bitrate; it becomes the highest one below the line, or the lowest one above it.
//!
//! Playback begins when the buffer holds `startup`, and again after every stall. A segment is requested when the one
//! before is complete and there is room for it in the buffer. All segments use one connection, which pauses while the
//! buffer is full.
//!
//! Departures from the source: segments of a bitrate all have the same size; the buffer is 30 s instead of 240 s, with
//! reservoir and cushion in proportion, so that runs of a minute adapt. The bitrates are those that the service of the
//! source encoded all its films with until 2015 [aaron2015].

use super::{Ended, Order, Playback, Turn, Workload};
use dumbbell_units::{Interval, Rate, Time, params};

params! {
    /// Adaptive video over one TCP connection.
    pub struct Streaming {
        /// Bitrates of the video, ascending.
        bitrates: Vec<Rate> = LADDER.map(|kilobits| Rate(kilobits * 1000)).to_vec(), "bit/s", "[aaron2015]",
            |rates| rates.first().is_some_and(|rate| rate.0 > 0) && rates.windows(2).all(|pair| pair[0] < pair[1]),
            "at least one rate above 0, in ascending order";
        /// Duration of a segment.
        segment: Time = Time(4_000_000_000), "s", "[huang2014 §2]", |time| time.0 >= 1_000_000, "a time of at least 1 ms";
        /// Buffer below which the lowest bitrate is chosen.
        reservoir: Time = Time(8_000_000_000), "s", "[huang2014 §4.2]";
        /// Buffer beyond the reservoir over which the bitrate rises to the highest.
        cushion: Time = Time(16_000_000_000), "s", "[huang2014 §4.2]", |time| time.0 > 0, "a time above 0";
        /// Largest buffer.
        buffer: Time = Time(30_000_000_000), "s", "[huang2014 §4.2]";
        /// Buffer with which playback begins, at the start and after a stall.
        startup: Time = Time(4_000_000_000), "s", "assumed", |time| time.0 > 0, "a time above 0";
        /// Number of segments; unlimited if not given.
        count: Option<u64> = None, "-", "-",
            |count| count.is_none_or(|count| count > 0), "a whole number, at least 1";
    }
}

const LADDER: [u64; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];

/// The player.
#[derive(Clone, Debug)]
pub struct State {
    window: Interval,
    began: Time,
    /// When the next segment is requested.
    next: Time,
    /// Index of the current bitrate.
    level: usize,
    requested: u64,
    completed: u64,
    /// Buffer at the time `seen`.
    buffer: Time,
    seen: Time,
    is_playing: bool,
    /// When playback first began.
    started: Option<Time>,
    /// Within the measurement window: stalls, switches, segments requested and the sum of their bitrates.
    stalled: Time,
    switches: u64,
    segments: u64,
    bitrates: u128,
}

impl Streaming {
    fn is_over(&self, state: &State) -> bool {
        self.count.is_some_and(|count| state.requested >= count)
    }

    /// The bitrate of the next segment, by index, after one of `level` with this buffer.
    fn choose(&self, level: usize, buffer: Time) -> usize {
        let top = self.bitrates.len() - 1;
        if buffer <= self.reservoir {
            return 0;
        }
        if buffer >= self.reservoir + self.cushion {
            return top;
        }
        let rate = |level: usize| self.bitrates[level].0 as f64;
        let share = (buffer - self.reservoir).secs() / self.cushion.secs();
        let line = rate(0) + share * (rate(top) - rate(0));
        if line >= rate((level + 1).min(top)) {
            (0..=top).rev().find(|&level| rate(level) < line).unwrap_or(0)
        } else if line <= rate(level.saturating_sub(1)) {
            (0..=top).find(|&level| rate(level) > line).unwrap_or(top)
        } else {
            level
        }
    }

    fn request(&self, state: &mut State, turn: &mut Turn<'_>) {
        let level = self.choose(state.level, state.buffer);
        let is_measured = state.window.contains(turn.now);
        state.switches += u64::from(is_measured && state.requested > 0 && level != state.level);
        state.segments += u64::from(is_measured);
        state.bitrates += if is_measured { u128::from(self.bitrates[level].0) } else { 0 };
        state.level = level;
        state.requested += 1;
        state.next = Time::NEVER;
        turn.send_over(0, self.bytes(level));
    }

    /// Bytes of a segment, at least 1.
    fn bytes(&self, level: usize) -> u64 {
        let bits = u128::from(self.bitrates[level].0) * u128::from(self.segment.0) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX >> 1).clamp(1, u64::MAX >> 1)
    }

    /// The player plays, or stalls, up to `now`.
    fn play(&self, state: &mut State, now: Time) {
        let passed = now.since(state.seen);
        if state.is_playing {
            let played = passed.min(state.buffer);
            state.buffer = state.buffer - played;
            if played < passed {
                state.is_playing = false;
                self.stall(state, state.seen + played, now);
            }
        } else {
            self.stall(state, state.seen, now);
        }
        state.seen = now;
    }

    fn stall(&self, state: &mut State, from: Time, until: Time) {
        let is_at_its_end = self.count.is_some_and(|count| state.completed >= count);
        if state.started.is_some() && !is_at_its_end {
            state.stalled += state.window.overlap(from, until);
        }
    }
}

impl Workload for Streaming {
    type State = State;
    const TRANSFER: &'static str = "segment";

    fn start(&self, turn: &mut Turn<'_>, window: Interval) -> State {
        State {
            window,
            began: turn.now,
            next: turn.now,
            level: 0,
            requested: 0,
            completed: 0,
            buffer: Time::ZERO,
            seen: turn.now,
            is_playing: false,
            started: None,
            stalled: Time::ZERO,
            switches: 0,
            segments: 0,
            bitrates: 0,
        }
    }

    fn next(&self, state: &State) -> Time {
        state.next
    }

    fn on_time(&self, state: &mut State, turn: &mut Turn<'_>) {
        self.play(state, turn.now);
        self.request(state, turn);
    }

    fn on_end(&self, state: &mut State, ended: &Ended, turn: &mut Turn<'_>) {
        self.play(state, turn.now);
        if !ended.is_complete {
            // The connection was given up; the segment is requested again over a new one.
            turn.send_over(0, ended.bytes);
            return;
        }
        state.completed += 1;
        state.buffer += self.segment;
        if state.buffer >= self.startup || self.is_over(state) {
            state.is_playing = true;
            state.started.get_or_insert(turn.now);
        }
        if self.is_over(state) {
            turn.orders.push(Order::Close(0));
            return;
        }
        // The time until a segment fits into the buffer.
        let excess = (state.buffer + self.segment).since(self.buffer);
        if excess == Time::ZERO {
            self.request(state, turn);
        } else {
            state.next = turn.now + excess;
        }
    }

    fn is_finished(&self, state: &State) -> bool {
        self.count.is_some_and(|count| state.completed >= count)
    }

    fn is_finite(&self) -> bool {
        self.count.is_some()
    }

    fn playback(&self, state: &State, now: Time) -> Option<Playback> {
        let mut state = state.clone();
        self.play(&mut state, now);
        (state.began <= state.window.until).then(|| Playback {
            segments: state.segments,
            bitrates: state.bitrates,
            rebuffering: state.stalled,
            switches: state.switches,
            startup: state.started.map(|at| at.since(state.began)),
        })
    }

    fn contradiction(&self) -> Option<(String, String)> {
        let least = self.startup + self.segment;
        (self.buffer < least)
            .then(|| ("buffer".into(), format!("at least startup and a segment together, {least}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ALWAYS, turn};
    use super::*;
    use dumbbell_units::Stream;

    const SECOND: u64 = 1_000_000_000;

    fn seconds(seconds: u64) -> Time {
        Time(seconds * SECOND)
    }

    #[test]
    fn the_bitrate_follows_the_buffer_with_hysteresis() {
        // 100, 200, 300 and 500 kbit/s; the line rises from 100 at 10 s to 500 at 20 s, 40 per second.
        let rates = [100, 200, 300, 500].map(|kilobits| Rate(kilobits * 1000)).to_vec();
        let source = Streaming {
            bitrates: rates,
            reservoir: seconds(10),
            cushion: seconds(10),
            ..Streaming::default()
        };
        let choose = |level, buffer| source.choose(level, seconds(buffer));
        assert_eq!((choose(3, 10), choose(0, 20)), (0, 3));
        // At 12 s the line is at 180: below the next bitrate of the lowest, so it stays.
        assert_eq!(choose(0, 12), 0);
        // At 13 s it is at 220: 200 is the highest below.
        assert_eq!(choose(0, 13), 1);
        // From 300, a line at 220 has not reached 200; at 11 s it is at 140 and has: the lowest above is 200.
        assert_eq!((choose(2, 13), choose(2, 11)), (2, 1));
    }

    /// Runs a player whose segments take `took` seconds each; returns the state at the end of the last one.
    fn watched(source: &Streaming, took: &[u64]) -> (State, u64) {
        let mut random = Stream::new(1, 0, "video");
        let (mut state, _) = turn(0, &mut random, |turn| source.start(turn, ALWAYS));
        let (_, mut orders) = turn(0, &mut random, |turn| source.on_time(&mut state, turn));
        let mut now = 0;
        for seconds in took {
            let Some(&Order::Send { bytes, over: Some(0) }) = orders.first() else { panic!("{orders:?}") };
            let ended = Ended { bytes, over: Some(0), is_complete: true, began: Time(now) };
            now += seconds * SECOND;
            (_, orders) = turn(now, &mut random, |turn| source.on_end(&mut state, &ended, turn));
            if orders.is_empty() {
                now = source.next(&state).0;
                (_, orders) = turn(now, &mut random, |turn| source.on_time(&mut state, turn));
            }
        }
        (state, now)
    }

    #[test]
    fn a_late_segment_stalls_playback() {
        // Segments of 4 s. The first is there after 2 s and playback begins. The second takes 7 s: it arrives at 9 s, but
        // playback ran out at 6 s. It resumes at 9 s with a buffer of 4 s; the third arrives at 10 s.
        let source = Streaming::default();
        let (state, now) = watched(&source, &[2, 7, 1]);
        let seen = source.playback(&state, Time(now)).unwrap();
        assert_eq!((seen.startup, seen.rebuffering, seen.switches), (Some(seconds(2)), seconds(3), 0));
        assert_eq!(seen.bitrate_mean_bps(), Some(235_000.0));
        assert_eq!(state.buffer, seconds(7));
        // Without further segments, playback stalls at 17 s.
        assert_eq!(source.playback(&state, seconds(20)).unwrap().rebuffering, seconds(6));
    }

    #[test]
    fn requests_pause_while_the_buffer_is_full() {
        // Every segment takes 1 s, so the buffer gains 3 s each: after the first 4, after n of them 4 + 3 (n - 1). At the
        // ninth, 28 s; the next one fits when 26 s are left, two seconds later.
        let source = Streaming::default();
        let (state, now) = watched(&source, &[1; 9]);
        assert_eq!(Time(now), seconds(11));
        assert_eq!(state.buffer, seconds(26));
        assert_eq!(source.playback(&state, Time(now)).unwrap().rebuffering, Time::ZERO);
    }

    #[test]
    fn a_video_plays_to_its_end_without_a_stall() {
        let source = Streaming { count: Some(2), ..Streaming::default() };
        let (state, now) = {
            let mut random = Stream::new(1, 0, "end");
            let (mut state, _) = turn(0, &mut random, |turn| source.start(turn, ALWAYS));
            turn(0, &mut random, |turn| source.on_time(&mut state, turn));
            for at in [1, 2] {
                let ended = Ended { bytes: 1, over: Some(0), is_complete: true, began: Time::ZERO };
                turn(at * SECOND, &mut random, |turn| source.on_end(&mut state, &ended, turn));
            }
            (state, seconds(60))
        };
        assert!(source.is_finished(&state) && source.next(&state) == Time::NEVER);
        assert_eq!(source.playback(&state, now).unwrap().rebuffering, Time::ZERO);
    }
}
