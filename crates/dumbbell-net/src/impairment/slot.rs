//! Delivery in slots as in netem [linux6 net/sched/sch_netem.c]: packets wait for the next slot and leave together, as
//! over links whose medium is shared in turns.
//!
//! A slot begins a random time after the one before was used up or, if packets did not use it up, after a packet found it
//! in the past. Packets that come before leave when it begins. It is used up after `packets` packets or `bytes` bytes; the
//! last packet may exceed them.
//!
//! Where it departs: the first slot is counted from the first packet, not from the setting of the link.

use super::{Contradiction, Effect, Impair, Passing};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Slots in which packets leave together.
    pub struct Slot {
        /// Shortest time to the next slot.
        min: Time = Time(10_000_000), "s", "[linux6 net/sched/sch_netem.c]",
            |t| (1..=100_000_000_000).contains(&t.0), "a time above 0, up to 100 s";
        /// Longest time to the next slot; the shortest one if not given. Between them, all times are equally likely.
        max: Option<Time> = None, "s", "[linux6 net/sched/sch_netem.c]",
            |t| t.is_none_or(|t| t.0 <= 100_000_000_000), "a time up to 100 s";
        /// Packets of a slot; unlimited if not given.
        packets: Option<u64> = None, "packets", "[linux6 net/sched/sch_netem.c]",
            |packets| *packets != Some(0), "a whole number, at least 1";
        /// Bytes of a slot; unlimited if not given.
        bytes: Option<Bytes> = None, "bytes", "[linux6 net/sched/sch_netem.c]",
            |bytes| *bytes != Some(Bytes(0)), "a size above 0";
    }
}

/// The current slot.
#[derive(Clone, Debug)]
pub struct Current {
    params: Slot,
    /// When it begins; `None` before the first.
    begins: Option<Time>,
    /// Packets and bytes that it has taken.
    taken: (u64, u64),
}

impl Current {
    /// Another slot, some time after this.
    fn follow(&mut self, at: Time, random: &mut Stream) {
        let (min, max) = (self.params.min, self.params.max.unwrap_or(self.params.min));
        let pause = if max > min { random.uniform_between(min.secs(), max.secs()) } else { min.secs() };
        self.begins = Some(at + Time::from_secs(pause));
        self.taken = (0, 0);
    }

    fn is_used_up(&self) -> bool {
        let (packets, bytes) = self.taken;
        self.params.packets.is_some_and(|most| packets >= most)
            || self.params.bytes.is_some_and(|most| bytes >= most.0)
    }
}

impl Impair for Slot {
    type State = Current;

    fn start(&self) -> Current {
        Current { params: self.clone(), begins: None, taken: (0, 0) }
    }

    fn act(state: &mut Current, passing: &Passing, random: &mut Stream) -> Effect {
        if state.begins < Some(passing.at) {
            state.follow(passing.at, random);
        }
        let leaves = state.begins.unwrap_or(passing.at);
        state.taken = (state.taken.0 + 1, state.taken.1 + u64::from(passing.size));
        if state.is_used_up() {
            state.follow(leaves, random);
        }
        Effect::Delay(leaves.since(passing.at))
    }

    fn keeps_order(&self, _enter_in_order: bool) -> bool {
        // A slot begins after those before it.
        true
    }

    fn contradiction(&self) -> Option<Contradiction> {
        self.max.filter(|max| *max < self.min).map(|_| ("max", "a time of at least `min`".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::effects;
    use super::*;

    const MS: u64 = 1_000_000;

    /// When packets leave that come every ms, in ms.
    fn leaving(params: &Slot, count: u64) -> Vec<f64> {
        let at = |(n, effect): (u64, Effect)| match effect {
            Effect::Delay(delay) => (n * MS + delay.0) as f64 / MS as f64,
            other => panic!("{other:?}"),
        };
        (0..).zip(effects(params, MS, count)).map(at).collect()
    }

    #[test]
    fn packets_wait_for_their_slot_and_a_used_one_is_followed_by_another() {
        let slots = Slot { min: Time(4 * MS), ..Slot::default() };
        // The slot at 4 ms takes all that come until then. The packet of 5 ms finds it in the past.
        assert_eq!(leaving(&slots, 7), [4.0, 4.0, 4.0, 4.0, 4.0, 9.0, 9.0]);
        // Two packets, or 3000 bytes, use a slot up.
        for slots in
            [Slot { packets: Some(2), ..slots.clone() }, Slot { bytes: Some(Bytes(2_000)), ..slots.clone() }]
        {
            assert_eq!(leaving(&slots, 7), [4.0, 4.0, 8.0, 8.0, 12.0, 12.0, 16.0]);
        }
    }

    #[test]
    fn random_slots_keep_the_order_and_their_bounds() {
        let slots = Slot { min: Time(MS), max: Some(Time(5 * MS)), packets: Some(1), ..Slot::default() };
        let times = leaving(&slots, 2_000);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (0.999..5.001).contains(gap)));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean / 3.0 - 1.0).abs() < 0.05, "{mean}");
        assert!(Slot { max: Some(Time(1)), ..slots }.contradiction().is_some());
    }
}
