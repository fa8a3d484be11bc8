//! The fingerprint of a run.

use crate::events::Noted;
use dumbbell_units::Time;

/// A hash of what has happened and when, whatever the order in which it was handled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(pub u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds what has happened to a component at a given time.
    #[inline]
    pub(super) fn note(&mut self, at: Time, what: Noted, component: u32, detail: u64) {
        let mixed = (at.0 ^ what.of(component).rotate_left(44)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ detail;
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.0 = self.0.wrapping_add(mixed ^ mixed >> 32);
    }
}
