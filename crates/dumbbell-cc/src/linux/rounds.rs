//! The round trips of Vegas, Veno and YeAH in Linux [linux6 tcp_vegas.c].
//!
//! Round-trip times are whole microseconds and one more. They count while the sender is in the state Open, and from the
//! first segment on that finds the network empty, whatever the state: then the base is measured again.

use super::micros;
use crate::{Context, Sample, SenderState};

/// A round-trip time before the first sample.
const NONE: u64 = 0x7fff_ffff;

/// See the [module](self). Times are microseconds.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The algorithm's own rules apply; otherwise, those of Reno.
    pub is_on: bool,
    /// The lowest round-trip time.
    pub base: u64,
    /// The lowest one of the round.
    pub minimum: u64,
    /// Samples in the round.
    pub count: u64,
    /// The round ends with an acknowledgement above this byte.
    end: u64,
}

impl Rounds {
    /// A connection that begins.
    pub fn new() -> Self {
        Rounds { is_on: true, base: NONE, minimum: NONE, count: 0, end: 0 }
    }

    /// See [`Control::on_sample`](crate::Control::on_sample).
    pub fn on_sample(&mut self, context: &Context, sample: &Sample) {
        let Some(rtt) = sample.rtt else { return };
        let rtt = micros(context.now, rtt) + 1;
        self.base = self.base.min(rtt);
        self.minimum = self.minimum.min(rtt);
        self.count += 1;
    }

    /// See [`Control::on_state`](crate::Control::on_state). True if the algorithm begins again.
    pub fn on_state(&mut self, context: &Context, state: SenderState) -> bool {
        self.is_on = state == SenderState::Open;
        if self.is_on {
            self.begin(context.snd_nxt);
        }
        self.is_on
    }

    /// A segment is about to be sent. If none is in the network, the base is measured again (`CA_EVENT_TX_START`).
    pub fn on_sent(&mut self, context: &Context) {
        if context.in_flight == 0.0 {
            self.base = NONE;
            self.is_on = true;
            self.begin(context.snd_nxt);
        }
    }

    /// The lowest round-trip time is that of what follows.
    pub fn forget_minimum(&mut self) {
        self.minimum = NONE;
    }

    /// True if this acknowledgement ends the round.
    pub fn is_over(&self, ack: u64) -> bool {
        ack > self.end
    }

    /// A round begins that ends above this byte.
    pub fn begin(&mut self, end: u64) {
        self.end = end;
        self.count = 0;
        self.minimum = NONE;
    }

    /// True if there are enough samples that one of them is of an acknowledgement without a delay.
    pub fn has_enough(&self) -> bool {
        self.count > 2
    }

    /// The base in seconds.
    pub fn base_secs(&self) -> Option<f64> {
        (self.base < NONE).then_some(self.base as f64 * 1e-6)
    }
}
