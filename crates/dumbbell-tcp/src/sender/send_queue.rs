//! What the application has written, and how much of it the next segment carries: Nagle's algorithm [RFC 896] and
//! sender-side avoidance of the silly window syndrome [RFC 1122 §4.2.3.4].

use crate::config::Nagle;

/// The data written by the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendQueue {
    /// Bytes written; `u64::MAX` for unlimited data.
    written: u64,
    /// While data is outstanding, a segment with fewer bytes is held back.
    held_below: u32,
    /// Only a partial segment that is outstanding holds others back.
    is_minshall: bool,
    /// End of the last partial segment sent.
    partial_end: u64,
}

impl SendQueue {
    /// Without Nagle's algorithm, every write is sent at once. With it, a partial segment waits while data is
    /// outstanding, unless it fills half of the receive window [RFC 1122 §4.2.3.4, condition 3].
    pub(super) fn new(nagle: Nagle, mss: u32, max_window: f64) -> Self {
        let half_window = (max_window / 2.0).ceil() as u32;
        let held_below = match nagle {
            Nagle::Off => 0,
            Nagle::On => mss.min(half_window),
            Nagle::Minshall => mss,
        };
        SendQueue { written: 0, held_below, is_minshall: nagle == Nagle::Minshall, partial_end: 0 }
    }

    /// A new segment was sent up to this byte.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64, len: u32) {
        if len < self.held_below {
            self.partial_end = end;
        }
    }

    /// The application writes more; `u64::MAX` for unlimited data.
    pub(super) fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// The application has written everything. The last segment carries a FIN and is not held back, as in BSD.
    pub(super) fn finish(&mut self) {
        self.held_below = 0;
    }

    /// Discards what was never sent.
    pub(super) fn discard_unsent(&mut self, snd_max: u64) {
        self.written = self.written.min(snd_max);
    }

    /// Payload of the next new segment, in bytes; 0 if there is none to send now.
    #[inline]
    pub(super) fn next_segment(&self, snd_una: u64, snd_max: u64, mss: u32) -> u32 {
        let len = (self.written - snd_max.min(self.written)).min(u64::from(mss)) as u32;
        let outstanding = if self.is_minshall { self.partial_end } else { snd_max };
        if len < self.held_below && snd_una < outstanding { 0 } else { len }
    }

    /// Bytes written and not sent.
    pub(super) fn unsent(&self, snd_max: u64) -> u64 {
        self.written.saturating_sub(snd_max)
    }

    /// True once everything written is acknowledged.
    pub(super) fn is_acknowledged(&self, snd_una: u64) -> bool {
        snd_una >= self.written
    }
}
