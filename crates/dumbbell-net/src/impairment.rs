//! Losses other than queue drops. They occur after transmission, so lost packets use the capacity of the link.

use dumbbell_units::{Stream, Time, choice, params, tagged};

params! {
    /// Loss of specified packets, for scripted experiments.
    pub struct Forced {
        /// Ordinals of the data packets to lose, counted from 1 as they enter the link; SYNs are not counted.
        packets: Vec<u64> = Vec::new(), "packets", "[fall1996 §3]",
            |packets| packets.iter().all(|n| *n >= 1), "ordinals counted from 1";
    }
}

params! {
    /// Independent loss of each packet.
    pub struct Bernoulli {
        /// Probability of losing a packet.
        probability: f64 = 0.0, "-", "[mathis1997 §2]",
            |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
    }
}

choice! {
    /// What advances a two-state loss model.
    pub enum Clock {
        /// Time: a state lasts for its dwell time, whether or not packets pass.
        Time = "time",
        /// Packets, as in ns-2: after a dwell, every packet draws a state until one draws the other state; the next
        /// dwell begins with that packet.
        Packet = "packet",
        /// Packets: the first packet after a dwell draws the next state, and the next dwell begins with it.
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
        /// Probability that the bad state follows a dwell in either state.
        change: f64 = 0.5, "-", "[grieco2004 §3.4]", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// What advances the model.
        clock: Clock = Clock::Time, "-", "[grieco2004 §3.4]";
    }
}

tagged! {
    /// An impairment with its parameters.
    pub enum ImpairmentSpec by "kind" {
        /// Loses specified data packets.
        Forced(Forced) = "forced",
        /// Loses every packet with the same probability.
        Bernoulli(Bernoulli) = "bernoulli",
        /// Loses packets in bad periods.
        TwoState(TwoState) = "twostate",
    }
}

/// Mean dwell times without a packet after which the phase is reset, so that no single packet takes long.
const MAX_IDLE_DWELLS: f64 = 1e4;

impl TwoState {
    /// The state at `at`, and when it ends.
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

/// The impairments of one link.
#[derive(Clone, Debug)]
pub struct Impairments {
    each: Vec<Impairment>,
    random: Stream,
    data_seen: u64,
}

impl Impairments {
    /// Their states at the start of a run; `None` without any.
    pub fn new(specs: &[ImpairmentSpec], random: Stream) -> Option<Self> {
        let each: Vec<_> = specs.iter().map(Impairment::new).collect();
        (!each.is_empty()).then_some(Impairments { each, random, data_seen: 0 })
    }

    /// True if the packet is lost whose transmission ends at `at`, no earlier than that of its predecessor.
    pub fn lose_packet(&mut self, at: Time, is_data: bool) -> bool {
        self.data_seen += u64::from(is_data);
        self.each.iter_mut().any(|impairment| impairment.loses_packet(at, is_data, &mut self.random))
    }

    /// Number of data packets so far: that of the last one, counted from 1 as for forced losses.
    pub fn data_seen(&self) -> u64 {
        self.data_seen
    }
}

/// The state of one impairment of one link.
#[derive(Clone, Debug)]
enum Impairment {
    /// Ordinals to lose, ascending, and data packets seen.
    Forced(Vec<u64>, u64),
    /// Probability of loss.
    Bernoulli(f64),
    /// Whether the state is bad, and until when.
    TwoState(TwoState, bool, Time),
}

impl Impairment {
    /// The state at the start of a run.
    fn new(spec: &ImpairmentSpec) -> Self {
        match spec {
            ImpairmentSpec::Forced(forced) => {
                let mut packets = forced.packets.clone();
                packets.sort_unstable();
                Impairment::Forced(packets, 0)
            }
            ImpairmentSpec::Bernoulli(bernoulli) => Impairment::Bernoulli(bernoulli.probability),
            ImpairmentSpec::TwoState(model) => Impairment::TwoState(model.clone(), false, model.good),
        }
    }

    /// See [`Impairments::lose_packet`].
    fn loses_packet(&mut self, at: Time, is_data: bool, random: &mut Stream) -> bool {
        match self {
            Impairment::Forced(packets, seen) => {
                *seen += u64::from(is_data);
                is_data && packets.binary_search(seen).is_ok()
            }
            Impairment::Bernoulli(probability) => random.chance(*probability),
            Impairment::TwoState(model, is_bad, until) => {
                model.advance(is_bad, until, at, random);
                random.chance(if *is_bad { model.loss } else { model.good_loss })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fraction of packets lost that pass every `gap` nanoseconds for `n` packets.
    fn loss(clock: Clock, bad: Time, gap: u64, n: u64) -> f64 {
        let spec = ImpairmentSpec::TwoState(TwoState { bad, clock, ..TwoState::default() });
        let (mut model, mut random) = (Impairment::new(&spec), Stream::new(1, 0, "link:w"));
        let lost = (0..n).filter(|k| model.loses_packet(Time(k * gap), true, &mut random)).count();
        lost as f64 / n as f64
    }

    #[test]
    fn time_in_the_bad_state_is_shared_by_dwell_times() {
        // Bad for 0.1 s of every 1.1 s on average, with a tenth of its packets lost: 0.1 * 0.1 / 1.1.
        let measured = loss(Clock::Time, Time(100_000_000), 1_000_000, 20_000_000);
        assert!((measured / (0.01 / 1.1) - 1.0).abs() < 0.05, "{measured}");
    }

    #[test]
    fn packets_that_move_the_model_meet_even_the_shortest_bad_period() {
        // A packet every 6 ms and dwells of 0.1 ms. A good dwell is over after 167 packets, and two packets on average
        // draw until the state is bad; two draw until it is good again. The last draw of each is judged in the new
        // state, so of 167 + 1 + 2 packets two are in the bad one: 0.1 * 2 / 170.
        let short = Time(100_000);
        let measured = loss(Clock::Packet, short, 6_000_000, 4_000_000);
        assert!((measured / (0.2 / 170.0) - 1.0).abs() < 0.1, "{measured}");
        // Where one packet draws for the whole dwell, one of two dwells is bad and is over with that packet: of 167 + 1
        // packets one is in the bad state.
        let measured = loss(Clock::Poll, short, 6_000_000, 4_000_000);
        assert!((measured / (0.1 / 168.0) - 1.0).abs() < 0.1, "{measured}");
        assert!(loss(Clock::Time, short, 6_000_000, 4_000_000) < measured / 10.0);
    }

    #[test]
    fn a_model_that_nobody_asked_for_long_answers_at_once_by_shares_of_time() {
        // Bad for 1 of 10 us, with a tenth of its packets lost.
        let model = TwoState { good: Time(9_000), bad: Time(1_000), ..TwoState::default() };
        let spec = ImpairmentSpec::TwoState(model);
        let (mut model, mut random) = (Impairment::new(&spec), Stream::new(1, 0, "link:w"));
        let lost = (1..200_000).filter(|n| model.loses_packet(Time(n << 40), true, &mut random)).count();
        assert!((lost as f64 / 200_000.0 / 0.01 - 1.0).abs() < 0.1, "{lost}");
        model.loses_packet(Time::NEVER, true, &mut random);
    }
}
