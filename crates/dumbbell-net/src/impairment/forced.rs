//! Loss of specified packets [fall1996 §3].

use super::{Effect, Impair, Passing};
use dumbbell_units::{Stream, params};

params! {
    /// Loss of specified packets, for scripted experiments.
    pub struct Forced {
        /// Ordinals of the data packets to lose, counted from 1 as they enter the link; SYNs are not counted.
        packets: Vec<u64> = Vec::new(), "packets", "[fall1996 §3]",
            |packets| packets.iter().all(|n| *n >= 1), "ordinals counted from 1";
    }
}

/// Ordinals to lose, ascending, and the number of data packets so far.
#[derive(Clone, Debug)]
pub struct Script {
    packets: Vec<u64>,
    seen: u64,
}

impl Impair for Forced {
    type State = Script;

    fn start(&self) -> Script {
        let mut packets = self.packets.clone();
        packets.sort_unstable();
        Script { packets, seen: 0 }
    }

    fn act(state: &mut Script, passing: &Passing, _random: &mut Stream) -> Effect {
        if !passing.is_data || passing.is_copy {
            return Effect::Pass;
        }
        state.seen += 1;
        Effect::lose_if(state.packets.binary_search(&state.seen).is_ok())
    }
}
