//! The sender's half of explicit congestion notification [RFC 3168 §6.1.2].
//!
//! If both ends support it, new data is sent ECN-capable; retransmissions, SYNs and pure acknowledgements are not. An
//! echoed mark is a congestion signal like a loss, at most once per window of data. The first new segment after a
//! reduction of the window, for any reason, reports it to the receiver.

use crate::config::EcnMode;
use dumbbell_units::Ecn;

/// ECN state of the sender.
#[derive(Clone, Debug)]
pub(super) struct EcnFeedback {
    mode: EcnMode,
    /// Marks of data sent before this byte do not reduce the window again.
    reduced_to: u64,
    /// A window reduction must be reported to the receiver.
    must_tell: bool,
    /// Bytes acknowledged with an echo of a mark.
    marked: u64,
}

impl EcnFeedback {
    pub(super) fn new(mode: EcnMode) -> Self {
        EcnFeedback { mode, reduced_to: 0, must_tell: false, marked: 0 }
    }

    /// True if both ends support ECN.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.mode != EcnMode::Off
    }

    /// Bytes acknowledged with an echo of a mark, since the connection began.
    #[inline]
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    /// An acknowledgement of data up to `ack`, of which `acked` bytes are new, echoes a mark. True if the window must
    /// be reduced.
    pub(super) fn on_echo(&mut self, ack: u64, acked: u64) -> bool {
        self.marked += acked;
        ack > self.reduced_to
    }

    /// The window was reduced after the bytes up to `snd_max` had been sent.
    #[inline]
    pub(super) fn on_reduction(&mut self, snd_max: u64) {
        if self.is_on() {
            self.reduced_to = snd_max;
            self.must_tell = true;
        }
    }

    /// Codepoint of a new segment, and whether it signals a reduction (CWR). The congestion control chooses the ECN-capable
    /// codepoint.
    #[inline]
    pub(super) fn of_new_segment(&mut self, capable: impl FnOnce() -> Ecn) -> (Ecn, bool) {
        if !self.is_on() {
            return (Ecn::NotEct, false);
        }
        (capable(), std::mem::take(&mut self.must_tell))
    }
}
