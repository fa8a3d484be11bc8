//! Random delays as in netem [linux6 net/sched/sch_netem.c].
//!
//! Each packet is delayed on its own, so that a packet with a shorter delay overtakes others. With a `rate`, packets
//! stay in order: a packet leaves when its delay is over and the packet before it has left, plus its size divided by
//! the rate. Unlike the transmitter of a link, which serializes before propagation, netem serializes after the delay.
//!
//! At most `limit` packets are delayed at a time; further ones are dropped and count as losses of this impairment.
//! A rate times a delay above the limit therefore loses packets, even if no queue is full.
//!
//! Departures from netem: a delay below zero is zero, while netem's counts as an earlier departure; and random numbers
//! come from the stream of the link.

use super::correlated::Correlated;
use super::table::{self, SCALE, Table};
use super::{Effect, Impair, Passing};
use dumbbell_units::{Rate, Stream, Time, choice, params};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

choice! {
    /// Distribution of delays around their mean.
    pub enum Distribution {
        /// Uniform in the range of twice the jitter.
        Uniform = "uniform",
        /// Normal, with the jitter as standard deviation, up to four of them.
        Normal = "normal",
        /// Pareto with shape 3, its lowest value two thirds of the jitter below the mean.
        Pareto = "pareto",
        /// One quarter normal, three quarters Pareto.
        ParetoNormal = "paretonormal",
    }
}

params! {
    /// A random delay of each packet.
    pub struct Jitter {
        /// Mean delay, in addition to the propagation delay of the link.
        delay: Time = Time(10_000_000), "s", "[linux6 net/sched/sch_netem.c]",
            |t| t.0 <= 100_000_000_000, "a time up to 100 s";
        /// Variation of the delay: half of the range if uniform, otherwise the standard deviation.
        jitter: Time = Time(2_000_000), "s", "[linux6 net/sched/sch_netem.c]",
            |t| t.0 <= 1_000_000_000, "a time up to 1 s";
        /// Distribution of the delay.
        distribution: Distribution = Distribution::Uniform, "-", "[linux6 net/sched/sch_netem.c]";
        /// Weight of the previous number in each random number. As in netem, hardly any of it is left in the delays,
        /// which follow the low bits of the numbers.
        correlation: f64 = 0.0, "-", "[linux6 net/sched/sch_netem.c]",
            |rho| (0.0..1.0).contains(rho), "a fraction from 0, below 1";
        /// Rate at which delayed packets leave, in order; if not given, each leaves when its delay is over.
        rate: Option<Rate> = None, "bit/s", "[linux6 net/sched/sch_netem.c]",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0";
        /// Maximum number of packets that are delayed at a time.
        limit: u64 = 1000, "packets", "[linux6 net/sched/sch_netem.c]",
            |limit| (1..=10_000_000).contains(limit), "a number of packets from 1 to 10 million";
    }
}

impl Jitter {
    /// The quantiles of the distribution; `None` if it is uniform.
    fn table(&self) -> Option<&'static Table> {
        match self.distribution {
            Distribution::Uniform => None,
            Distribution::Normal => Some(&table::NORMAL),
            Distribution::Pareto => Some(&table::PARETO),
            Distribution::ParetoNormal => Some(&table::PARETONORMAL),
        }
    }
}

/// The packets that one link delays.
#[derive(Clone, Debug)]
pub struct Delayed {
    params: Jitter,
    table: Option<&'static Table>,
    draws: Correlated,
    /// When they leave.
    leaving: BinaryHeap<Reverse<Time>>,
    /// When the last of them leaves.
    last: Time,
}

impl Delayed {
    /// Delay of the next packet.
    fn draw(&mut self, random: &mut Stream) -> Time {
        let (mean, sigma) = (self.params.delay.0 as i64, self.params.jitter.0 as i64);
        if sigma == 0 {
            return self.params.delay;
        }
        let drawn = i64::from(self.draws.draw(random));
        let offset = match self.table {
            None => drawn % (2 * sigma) - sigma,
            Some(table) => {
                let entry = i64::from(table[drawn as usize % table.len()]);
                (sigma * entry + entry.signum() * SCALE / 2) / SCALE
            }
        };
        Time((mean + offset).max(0) as u64)
    }
}

impl Impair for Jitter {
    type State = Delayed;

    fn start(&self) -> Delayed {
        Delayed {
            params: self.clone(),
            table: self.table(),
            draws: Correlated::new(self.correlation),
            leaving: BinaryHeap::new(),
            last: Time::ZERO,
        }
    }

    fn act(state: &mut Delayed, passing: &Passing, random: &mut Stream) -> Effect {
        while state.leaving.peek().is_some_and(|leaves| leaves.0 <= passing.at) {
            state.leaving.pop();
        }
        if state.leaving.len() as u64 >= state.params.limit {
            return Effect::Lose;
        }
        let mut leaves = passing.at + state.draw(random);
        if let Some(rate) = state.params.rate {
            let bits = u128::from(passing.size) * 8 * 1_000_000_000;
            leaves = leaves.max(state.last) + Time((bits / u128::from(rate.0)) as u64);
            state.last = leaves;
        }
        state.leaving.push(Reverse(leaves));
        Effect::Delay(leaves.since(passing.at))
    }

    fn keeps_order(&self, enter_in_order: bool) -> bool {
        // With a rate, packets leave one after the other as they were sent.
        self.rate.is_some() || enter_in_order && self.jitter == Time::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::super::effects;
    use super::*;

    const MS: u64 = 1_000_000;

    /// 50 ms, give or take 10 ms.
    fn around_50() -> Jitter {
        Jitter { delay: Time(50 * MS), jitter: Time(10 * MS), ..Jitter::default() }
    }

    fn delays(params: &Jitter, gap: u64, count: u64) -> Vec<u64> {
        let delay = |effect| match effect {
            Effect::Delay(delay) => delay.0,
            other => panic!("{other:?}"),
        };
        effects(params, gap, count).into_iter().map(delay).collect()
    }

    #[test]
    fn uniform_delays_fill_their_range_and_reorder() {
        let delays = delays(&around_50(), MS, 100_000);
        assert!(delays.iter().all(|delay| (40 * MS..60 * MS).contains(delay)));
        let mean = delays.iter().sum::<u64>() as f64 / 1e5 / MS as f64;
        let below = delays.iter().filter(|&&delay| delay < 45 * MS).count() as f64 / 1e5;
        assert!((mean - 50.0).abs() < 0.05 && (below - 0.25).abs() < 0.005, "{mean} {below}");
        let arrivals: Vec<u64> = (0..).zip(&delays).map(|(k, delay)| k * MS + delay).collect();
        assert!(!arrivals.is_sorted() && !around_50().keeps_order(true));
    }

    #[test]
    fn a_rate_keeps_packets_in_order_after_their_delay() {
        let params = Jitter { rate: Some(Rate(12_000_000)), ..around_50() };
        let delays = delays(&params, 2 * MS, 10_000);
        let arrivals: Vec<u64> = (0..).zip(&delays).map(|(k, delay)| k * 2 * MS + delay).collect();
        // 1500 bytes at 12 Mbit/s take 1 ms, so packets are at least that far apart.
        assert!(arrivals.windows(2).all(|pair| pair[1] - pair[0] >= MS) && params.keeps_order(false));
    }

    #[test]
    fn packets_over_the_limit_are_dropped_although_the_rate_is_not_exceeded() {
        // Ten packets per millisecond, each for 200 ms: 2000 are delayed at a time. With a limit of 1000, the first
        // 1000 of every 2000 pass.
        let params = Jitter { delay: Time(200 * MS), jitter: Time::ZERO, ..Jitter::default() };
        let lost = |limit: u64| {
            let effects = effects(&Jitter { limit, ..params.clone() }, MS / 10, 10_000);
            effects.iter().filter(|&&effect| effect == Effect::Lose).count()
        };
        assert_eq!((lost(1000), lost(1999), lost(2000)), (5000, 5, 0));
    }

    #[test]
    fn distributions_have_their_means_and_deviations() {
        // The means and deviations of the tables of iproute2, in units of the jitter.
        for (distribution, offset, deviation) in [
            (Distribution::Normal, -0.0008, 1.0),
            (Distribution::Pareto, -0.0335, 0.8197),
            (Distribution::ParetoNormal, -0.0253, 0.8339),
        ] {
            let params = Jitter { distribution, ..around_50() };
            let delays: Vec<f64> =
                delays(&params, MS, 100_000).into_iter().map(|delay| delay as f64 / MS as f64).collect();
            let mean = delays.iter().sum::<f64>() / 1e5;
            let variance = delays.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>() / 1e5;
            assert!((mean - 50.0 - 10.0 * offset).abs() < 0.1, "{distribution:?}: {mean}");
            assert!((variance.sqrt() / 10.0 - deviation).abs() < 0.01, "{distribution:?}: {variance}");
        }
    }
}
