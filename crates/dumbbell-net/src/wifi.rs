//! An access link of Wi-Fi that aggregates packets, as a server with vacations.
//!
//! A station that has packets waits for the medium, `difs` and a random number of slots, and then sends an aggregate of
//! all of them, up to `aggregate` packets and until `longest` of air time is used, after a fixed `overhead` for the preamble
//! and the block acknowledgement. All packets of an aggregate arrive at its end. A packet that is lost on the air is sent
//! again with the next aggregate, up to `retries` times; packets behind it wait for it, within a window of `aggregate`
//! packets, so that all arrive in order. Losses on the air thus become delays of bursts.
//!
//! The medium is half duplex. The other direction is not a station of its own: after each aggregate it takes the medium
//! once, for `reply` bytes per packet delivered, which stands for the acknowledgements of TCP. A link back over the same
//! medium is a link of its own, whose air time is thereby accounted for here.
//!
//! The model is an assumption: no rate control, no other stations, no collisions. Slot, contention window and DIFS, which is
//! the SIFS of 16 us and two slots, are those of the OFDM physical layers [ieee80211 table 17-21].

use crate::queues::Slot;
use dumbbell_units::{Bytes, Stream, Time, params};
use std::collections::VecDeque;

params! {
    /// Aggregation and medium access of a Wi-Fi link. Its rate is that of the physical layer.
    pub struct WifiSpec {
        /// Maximum number of packets in an aggregate, and of packets waiting for an earlier one.
        aggregate: u64 = 64, "packets", "assumed", |n| (1..=256).contains(n), "a number from 1 to 256";
        /// Air time after which no further packet joins an aggregate.
        longest: Time = Time(4_000_000), "s", "assumed", |t| t.0 > 0 && t.0 <= 1_000_000_000, "a time above 0, up to 1 s";
        /// Time that the medium must be idle.
        difs: Time = Time(34_000), "s", "[ieee80211 table 17-21]", |t| t.0 <= 1_000_000_000, "a time up to 1 s";
        /// Length of a slot of the contention window.
        slot: Time = Time(9_000), "s", "[ieee80211 table 17-21]", |t| t.0 <= 1_000_000_000, "a time up to 1 s";
        /// Largest number of slots to wait.
        contention: u64 = 15, "slots", "[ieee80211 table 17-21]", |n| *n <= 1023, "a number up to 1023";
        /// Preamble, gap and block acknowledgement of an aggregate.
        overhead: Time = Time(125_000), "s", "assumed", |t| t.0 <= 1_000_000_000, "a time up to 1 s";
        /// Bytes that every packet takes besides its own.
        header: Bytes = Bytes(42), "bytes", "assumed", |header| header.0 <= 65_535, "a size up to 65535 bytes";
        /// Probability of losing a packet on the air.
        loss: f64 = 0.1, "-", "assumed", |p| (0.0..=1.0).contains(p), "a probability from 0 to 1";
        /// Number of times that a packet is sent again before it is dropped.
        retries: u64 = 7, "-", "assumed", |n| *n <= 255, "a number up to 255";
        /// Bytes that the other direction sends per packet delivered, with their headers; none takes no time.
        reply: Bytes = Bytes(0), "bytes", "-", |reply| reply.0 <= 65_535, "a size up to 65535 bytes";
    }
}

/// A packet that has been sent, or waits for one before it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    slot: Slot,
    size: u32,
    attempts: u64,
    is_received: bool,
}

/// What the medium is used for until the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    Contention,
    Aggregate,
}

/// What becomes of the first packet of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Delivered(Slot),
    GivenUp(Slot),
}

/// The state of a link in a run.
#[derive(Clone, Debug)]
pub(crate) struct Wifi {
    params: WifiSpec,
    random: Stream,
    pub(crate) phase: Phase,
    /// Packets in order: sent, or part of the current aggregate.
    window: VecDeque<Sent>,
    /// When the medium is free.
    free_at: Time,
    began: Time,
}

impl Wifi {
    pub(crate) fn new(params: &WifiSpec, random: Stream) -> Self {
        let params = params.clone();
        Wifi {
            params,
            random,
            phase: Phase::Idle,
            window: VecDeque::new(),
            free_at: Time::ZERO,
            began: Time::ZERO,
        }
    }

    /// Time that bytes take on the air.
    fn air_time(&self, bytes: u64, rate: u64) -> Time {
        Time((u128::from(bytes) * 8_000_000_000 / u128::from(rate.max(1))) as u64)
    }

    fn contention(&mut self) -> Time {
        let slots = (self.random.uniform() * (self.params.contention + 1) as f64) as u64;
        self.params.difs + Time(self.params.slot.0 * slots)
    }

    /// Packets that have left the queue and not the link.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.window.iter().map(|sent| sent.slot)
    }

    /// Number of these.
    pub(crate) fn packets(&self) -> usize {
        self.window.len()
    }

    /// The station begins to wait for the medium at `at`. Returns when it has it.
    pub(crate) fn contend(&mut self, at: Time) -> Time {
        self.phase = Phase::Contention;
        at.max(self.free_at) + self.contention()
    }

    /// The station has the medium: air time of the packets that are sent again.
    pub(crate) fn begin(&mut self, rate: u64) -> Time {
        self.phase = Phase::Aggregate;
        let again = self.window.iter().filter(|sent| !sent.is_received);
        let bytes = again.map(|sent| u64::from(sent.size) + self.params.header.0).sum();
        self.air_time(bytes, rate)
    }

    /// True if a further packet may join the aggregate, whose packets take `air_time`.
    pub(crate) fn has_room(&self, air_time: Time) -> bool {
        (self.window.len() as u64) < self.params.aggregate && air_time < self.params.longest
    }

    /// Adds a packet to the aggregate. Returns its air time.
    pub(crate) fn add(&mut self, slot: Slot, size: u32, rate: u64) -> Time {
        self.window.push_back(Sent { slot, size, attempts: 0, is_received: false });
        self.air_time(u64::from(size) + self.params.header.0, rate)
    }

    /// The aggregate is complete. Returns its end; [`Time::NEVER`] if it is empty, since the queue has dropped all.
    pub(crate) fn end(&mut self, at: Time, air_time: Time) -> Time {
        if self.window.is_empty() {
            self.phase = Phase::Idle;
            return Time::NEVER;
        }
        self.began = at;
        at + self.params.overhead + air_time
    }

    /// Beginning of the current or last aggregate.
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    /// The aggregate ends: draws which of its packets are lost. The other direction takes the medium.
    pub(crate) fn finish(&mut self, at: Time, rate: u64) {
        self.phase = Phase::Idle;
        let mut received = 0;
        for sent in self.window.iter_mut().filter(|sent| !sent.is_received) {
            sent.attempts += 1;
            sent.is_received = !self.random.chance(self.params.loss);
            received += u64::from(sent.is_received);
        }
        self.free_at = at;
        if received > 0 && self.params.reply.0 > 0 {
            let replies = self.air_time(received * self.params.reply.0, rate);
            let contention = self.contention();
            self.free_at += contention + self.params.overhead + replies;
        }
    }

    /// The next packet that leaves the window, in order.
    pub(crate) fn next_outcome(&mut self) -> Option<Outcome> {
        let retries = self.params.retries;
        self.window.front().filter(|sent| sent.is_received || sent.attempts > retries)?;
        let first = self.window.pop_front()?;
        Some(if first.is_received { Outcome::Delivered(first.slot) } else { Outcome::GivenUp(first.slot) })
    }
}
