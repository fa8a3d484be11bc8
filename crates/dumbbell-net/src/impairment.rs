//! Losses that are not the queue's. They strike after transmission, so the link's capacity is
//! used all the same.

use dumbbell_units::{Stream, params, tagged};

params! {
    /// Loss of stated packets, for scripted experiments.
    pub struct Forced {
        /// Ordinals of the data packets to lose, counted from 1 as they enter the link.
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

tagged! {
    /// An impairment with its parameters.
    pub enum ImpairmentSpec by "kind" {
        /// Stated data packets are lost.
        Forced(Forced) = "forced",
        /// Every packet is lost with the same probability.
        Bernoulli(Bernoulli) = "bernoulli",
    }
}

/// The state of one impairment of one link.
#[derive(Clone, Debug)]
pub enum Impairment {
    /// Ordinals to lose, ascending, and data packets seen.
    Forced(Vec<u64>, u64),
    /// Probability of loss.
    Bernoulli(f64),
}

impl Impairment {
    /// The state at the start of a run.
    pub fn new(spec: &ImpairmentSpec) -> Self {
        match spec {
            ImpairmentSpec::Forced(forced) => {
                let mut packets = forced.packets.clone();
                packets.sort_unstable();
                Impairment::Forced(packets, 0)
            }
            ImpairmentSpec::Bernoulli(bernoulli) => Impairment::Bernoulli(bernoulli.probability),
        }
    }

    /// True if the packet is lost.
    pub fn strikes(&mut self, is_data: bool, random: &mut Stream) -> bool {
        match self {
            Impairment::Forced(packets, seen) => {
                *seen += u64::from(is_data);
                is_data && packets.binary_search(seen).is_ok()
            }
            Impairment::Bernoulli(probability) => random.chance(*probability),
        }
    }
}
