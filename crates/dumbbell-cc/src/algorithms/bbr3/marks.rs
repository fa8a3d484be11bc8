//! The reaction of the kernel to marks [bbr2023].

use super::Bbr3;
use crate::Ack;
use dumbbell_units::math::{least, real};

/// Marks, as far as the reaction of the kernel needs them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) is_eligible: bool,
    pub(super) alpha: f64,
    /// Bytes delivered and marked in the round.
    pub(super) delivered: f64,
    pub(super) marked: f64,
    /// A mark was echoed in the round of losses.
    pub(super) in_round: bool,
    pub(super) full_rounds: u64,
}

impl Marks {
    pub(super) const NONE: Marks = Marks {
        is_eligible: false,
        alpha: 1.0,
        delivered: 0.0,
        marked: 0.0,
        in_round: false,
        full_rounds: 0,
    };
}

impl Bbr3 {
    /// The kernel's fraction of marks, per round.
    pub(super) fn update_marks(&mut self, ack: &Ack) {
        self.marks.delivered += real(ack.delivered);
        self.marks.marked += real(ack.marked);
        if !self.marks.is_eligible {
            self.marks.is_eligible = self.min_rtt <= self.params.ecn_max_rtt.secs();
            return;
        }
        self.marks.in_round |= ack.marked > 0;
        if self.is_round_start && self.marks.delivered > 0.0 {
            let ratio = least(self.marks.marked / self.marks.delivered, 1.0);
            self.marks.alpha += self.params.ecn_gain * (ratio - self.marks.alpha);
            (self.marks.delivered, self.marks.marked) = (0.0, 0.0);
            let is_high = ratio > self.params.ecn_threshold;
            self.marks.full_rounds = if is_high { self.marks.full_rounds + 1 } else { 0 };
        }
    }
}
