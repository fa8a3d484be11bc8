//! Loss in bad periods of fixed length [grieco2004 §3.4].

use super::{Effect, Impair, Passing};
use dumbbell_units::{Stream, Time, choice, params};

choice! {
    /// What advances a two-state loss model.
    pub enum Clock {
        /// Time: a state lasts for its dwell time, with or without packets.
        Time = "time",
        /// Packets, as in ns-2: after the dwell time, every packet draws a state until one draws the other state; the
        /// next dwell begins with that packet.
        Packet = "packet",
        /// Packets: the first packet after the dwell time draws the next state, and the next dwell begins with it.
        Poll = "poll",
    }
}

params! {
    /// Loss in bad periods. Dwell times are fixed; at the end of each, the next state is drawn at random.
    pub struct TwoState {
        /// Dwell time in the good state, in which the model starts.
        good: Time = Time(1_000_000_000), "s", "[grieco2004 §3.4]", |t| t.0 >= 1000, "a time of at least 1 us";
        /// Dwell time in the bad state.
        bad: Time = Time(10_000_000), "s", "[grieco2004 §3.4]", |t| t.0 >= 1000, "a time of at least 1 us";
        /// Probability of losing a packet in the bad state.
        loss: f64 = 0.1, "-", "[grieco2004 §3.4]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability of losing a packet in the good state.
        good_loss: f64 = 0.0, "-", "[grieco2004 §3.4]",
            |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Probability that the next state is bad, from either state.
        change: f64 = 0.5, "-", "[grieco2004 §3.4]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// What advances the model.
        clock: Clock = Clock::Time, "-", "[grieco2004 §3.4]";
    }
}

/// Idle time, in mean dwell times, after which the state is redrawn. It bounds the work for one packet.
const MAX_IDLE_DWELLS: f64 = 1e4;

impl TwoState {
    /// Advances the state, and the time at which it ends, to `at`.
    fn advance(&self, is_bad: &mut bool, until: &mut Time, at: Time, random: &mut Stream) {
        let dwell = |is_bad: bool| if is_bad { self.bad } else { self.good };
        match self.clock {
            Clock::Poll => {
                if at >= *until {
                    *is_bad = random.chance(self.change);
                    *until = at + dwell(*is_bad);
                }
            }
            Clock::Packet => {
                if at >= *until && random.chance(self.change) != *is_bad {
                    *is_bad = !*is_bad;
                    *until = at + dwell(*is_bad);
                }
            }
            Clock::Time => {
                let share = self.change * self.bad.secs();
                let mean = share + (1.0 - self.change) * self.good.secs();
                if at.since(*until).secs() > MAX_IDLE_DWELLS * mean {
                    *is_bad = random.chance(share / mean);
                    *until = at + Time::from_secs(random.uniform() * dwell(*is_bad).secs());
                }
                while at >= *until && *until < Time::NEVER {
                    *is_bad = random.chance(self.change);
                    *until += dwell(*is_bad);
                }
            }
        }
    }
}

/// The state of the model on one link.
#[derive(Clone, Debug)]
pub struct Dwelling {
    model: TwoState,
    is_bad: bool,
    /// When the state ends.
    until: Time,
}

impl Impair for TwoState {
    type State = Dwelling;

    fn start(&self) -> Dwelling {
        Dwelling { model: self.clone(), is_bad: false, until: self.good }
    }

    fn act(state: &mut Dwelling, passing: &Passing, random: &mut Stream) -> Effect {
        let Dwelling { model, is_bad, until } = state;
        model.advance(is_bad, until, passing.at, random);
        Effect::lose_if(random.chance(if *is_bad { model.loss } else { model.good_loss }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loses(model: &mut Dwelling, at: Time, random: &mut Stream) -> bool {
        TwoState::act(model, &Passing::of_data(at, 1500), random) == Effect::Lose
    }

    /// Fraction of `n` packets lost, one every `gap` nanoseconds.
    fn loss(clock: Clock, bad: Time, gap: u64, n: u64) -> f64 {
        let spec = TwoState { bad, clock, ..TwoState::default() };
        let mut random = Stream::new(1, 0, "link:w");
        let mut model = spec.start();
        let lost = (0..n).filter(|k| loses(&mut model, Time(k * gap), &mut random)).count();
        lost as f64 / n as f64
    }

    #[test]
    fn share_of_bad_time_follows_the_dwell_times() {
        // Bad for 0.1 s of every 1.1 s on average, and a tenth of those packets is lost: 0.1 * 0.1 / 1.1.
        let measured = loss(Clock::Time, Time(100_000_000), 1_000_000, 20_000_000);
        assert!((measured / (0.01 / 1.1) - 1.0).abs() < 0.05, "{measured}");
    }

    #[test]
    fn packet_clocks_do_not_miss_bad_periods_shorter_than_the_packet_gap() {
        // A packet every 6 ms, and bad dwells of 0.1 ms. A good dwell ends after 167 packets. It takes two draws on
        // average until the state is bad, and two until it is good again. The last packet to draw is already in the new
        // state, so 2 of 167 + 1 + 2 packets are in the bad state: 0.1 * 2 / 170.
        let short = Time(100_000);
        let measured = loss(Clock::Packet, short, 6_000_000, 4_000_000);
        assert!((measured / (0.2 / 170.0) - 1.0).abs() < 0.1, "{measured}");
        // With one draw per dwell, every second dwell is bad and ends with its first packet: 1 of 167 + 1 packets is in
        // the bad state.
        let measured = loss(Clock::Poll, short, 6_000_000, 4_000_000);
        assert!((measured / (0.1 / 168.0) - 1.0).abs() < 0.1, "{measured}");
        assert!(loss(Clock::Time, short, 6_000_000, 4_000_000) < measured / 10.0);
    }

    #[test]
    fn after_a_long_idle_time_the_state_is_drawn_by_its_share_of_time() {
        // Bad for 1 of 10 us, and a tenth of those packets is lost.
        let model = TwoState { good: Time(9_000), bad: Time(1_000), ..TwoState::default() };
        let mut random = Stream::new(1, 0, "link:w");
        let mut model = model.start();
        let lost = (1..200_000).filter(|n| loses(&mut model, Time(n << 40), &mut random)).count();
        assert!((lost as f64 / 200_000.0 / 0.01 - 1.0).abs() < 0.1, "{lost}");
        loses(&mut model, Time::NEVER, &mut random);
    }
}
