//! The sender's half of explicit congestion notification [RFC 3168 §6.1.2].
//!
//! If both ends support it, new data is sent ECN-capable; SYNs and pure acknowledgements are not. An echoed mark is a
//! congestion signal like a loss, at most once per window of data. The first new segment after a reduction of the window,
//! for any reason, reports it to the receiver.
//!
//! With the feedback of DCTCP [RFC 8257 §3] or accurate feedback [RFC 9768], an ACK tells exactly what was marked. A
//! congestion control that [reacts to marks](dumbbell_cc::Control::reacts_to_marks) then learns it from the ACK alone. For
//! others, the signal is the same as with classic feedback.
//!
//! Retransmissions are ECN-capable with the feedback of DCTCP, and with accurate feedback if the congestion control sends
//! ECT(1) [RFC 9331 §4.1]. Otherwise they are not [RFC 3168 §6.1.5].
//!
//! Simplification: the handshake does not negotiate, and accurate counters take no option. The echo of DCTCP says nothing
//! about data whose ACK was lost: it belongs to everything that the next ACK delivers.

use crate::config::EcnMode;
use crate::segment::AckSegment;
use dumbbell_units::Ecn;

/// Marks that an ACK echoes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Marked bytes.
    pub(super) bytes: u64,
    /// Marked packets: exact with accurate feedback, otherwise full segments of these bytes.
    pub(super) packets: u64,
    /// The ACK echoes congestion experienced.
    pub(super) is_echo: bool,
}

/// ECN state of the sender.
#[derive(Clone, Debug)]
pub(super) struct EcnFeedback {
    mode: EcnMode,
    /// The congestion control reacts to marks by itself, so they are not reported as congestion.
    is_left_to_control: bool,
    /// Marks of data sent before this byte do not reduce the window again.
    reduced_to: u64,
    /// A window reduction must be reported to the receiver.
    must_tell: bool,
    /// Marks of duplicate ACKs are reported with the next ACK of new data.
    is_signal_due: bool,
    /// Bytes acknowledged with an echo of a mark.
    marked: u64,
    /// Counters of the last ACK with accurate feedback.
    seen: (u16, u32),
}

impl EcnFeedback {
    pub(super) fn new(mode: EcnMode, reacts_to_marks: bool) -> Self {
        let is_exact = matches!(mode, EcnMode::Dctcp | EcnMode::Accurate);
        EcnFeedback {
            mode,
            is_left_to_control: is_exact && reacts_to_marks,
            reduced_to: 0,
            must_tell: false,
            is_signal_due: false,
            marked: 0,
            seen: (0, 0),
        }
    }

    /// True if both ends support ECN.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.mode != EcnMode::Off
    }

    /// True if an ACK with this bit signals congestion, rather than telling the congestion control what was marked.
    pub(super) fn signals(&self, is_ece: bool) -> bool {
        is_ece && self.is_on() && !self.is_left_to_control
    }

    /// The recovery has taken the marks of a duplicate ACK: none remains for the next ACK of new data.
    pub(super) fn take_signal(&mut self) {
        self.is_signal_due = false;
    }

    /// Bytes acknowledged with an echo of a mark, since the connection began.
    #[inline]
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    /// True if the window must not grow with an ACK that echoes a mark [RFC 3168 §6.1.2].
    #[inline]
    pub(super) fn stops_growth(&self, marks: &Marks) -> bool {
        marks.is_echo && !self.is_left_to_control
    }

    /// The marks of an ACK that acknowledges `acked` bytes and delivers `delivered` bytes for the first time.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: &AckSegment, acked: u64, delivered: u64, mss: u32) -> Marks {
        if self.mode == EcnMode::Off {
            return Marks::default();
        }
        let marks = match self.mode {
            EcnMode::Off | EcnMode::Classic => Self::echoed(ack.is_ece, acked, mss),
            EcnMode::Dctcp => Self::echoed(ack.is_ece, delivered, mss),
            EcnMode::Accurate => self.counted(ack),
        };
        self.marked += marks.bytes;
        marks
    }

    /// The same for a duplicate ACK. With classic feedback, the echo goes on and is counted with new data.
    pub(super) fn on_duplicate(&mut self, ack: &AckSegment, delivered: u64, mss: u32) -> Marks {
        if self.mode == EcnMode::Classic {
            return Self::echoed(ack.is_ece, delivered, mss);
        }
        let marks = self.on_ack(ack, delivered, delivered, mss);
        self.is_signal_due |= marks.is_echo;
        marks
    }

    fn echoed(is_echo: bool, bytes: u64, mss: u32) -> Marks {
        let bytes = if is_echo { bytes } else { 0 };
        Marks { bytes, packets: bytes.div_ceil(u64::from(mss)), is_echo }
    }

    /// What the counters of an ACK add to those of the last; nothing if the ACK is older.
    fn counted(&mut self, ack: &AckSegment) -> Marks {
        let packets = ack.ce_packets.wrapping_sub(self.seen.0).cast_signed();
        let bytes = ack.ce_bytes.wrapping_sub(self.seen.1).cast_signed();
        if packets <= 0 || bytes < 0 {
            return Marks::default();
        }
        self.seen = (ack.ce_packets, ack.ce_bytes);
        Marks {
            bytes: u64::from(bytes.unsigned_abs()),
            packets: u64::from(packets.unsigned_abs()),
            is_echo: true,
        }
    }

    /// True if the marks of an ACK of data up to `ack` must reduce the window: a congestion control that reacts to marks
    /// is not told, and data sent before the last reduction is no new signal.
    #[inline]
    pub(super) fn is_signal(&mut self, ack: u64, marks: &Marks) -> bool {
        if !self.is_on() {
            return false;
        }
        let is_due = std::mem::take(&mut self.is_signal_due);
        (marks.is_echo || is_due) && !self.is_left_to_control && ack > self.reduced_to
    }

    /// Marks of data sent before this byte do not reduce the window again.
    pub(super) fn reduced_to(&self) -> u64 {
        self.reduced_to
    }

    /// The window was reduced after the bytes up to `snd_max` had been sent.
    #[inline]
    pub(super) fn on_reduction(&mut self, snd_max: u64) {
        if self.is_on() {
            self.reduced_to = snd_max;
            // The three bits of accurate feedback have no room for the report.
            self.must_tell = self.mode != EcnMode::Accurate;
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

    /// Codepoint of a retransmission.
    #[inline]
    pub(super) fn of_retransmission(&self, capable: impl FnOnce() -> Ecn) -> Ecn {
        match self.mode {
            EcnMode::Off | EcnMode::Classic => Ecn::NotEct,
            EcnMode::Dctcp => capable(),
            EcnMode::Accurate => Some(capable()).filter(|ecn| *ecn == Ecn::Ect1).unwrap_or(Ecn::NotEct),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_and_an_older_ack_counts_nothing() {
        let ack = |ce_packets, ce_bytes| AckSegment { ce_packets, ce_bytes, ..AckSegment::of(0) };
        let mut ecn = EcnFeedback::new(EcnMode::Accurate, true);
        let mut marks = |packets, bytes| {
            let marks = ecn.on_ack(&ack(packets, bytes), 0, 0, 1000);
            (marks.packets, marks.bytes)
        };
        assert_eq!((marks(20_000, 1 << 30), marks(40_000, 1 << 31)), ((20_000, 1 << 30), (20_000, 1 << 30)));
        assert_eq!(marks(60_000, 3 << 30), (20_000, 1 << 30));
        // 5536 more packets end the count of 65,536, and 2^30 bytes that of 2^32: 464 and 100 beyond.
        assert_eq!(marks(464, 100), (6_000, (1 << 30) + 100));
        assert_eq!((marks(463, 99), marks(464, 100)), ((0, 0), (0, 0)));
        assert_eq!(marks(465, 1100), (1, 1000));
        assert_eq!(ecn.marked(), (1 << 32) + 1100);
    }

    #[test]
    fn marks_are_a_signal_unless_the_control_reacts_to_them() {
        let marks = Marks { bytes: 1000, packets: 1, is_echo: true };
        for (mode, reacts, expected) in [
            (EcnMode::Classic, true, true),
            (EcnMode::Dctcp, true, false),
            (EcnMode::Accurate, true, false),
            (EcnMode::Dctcp, false, true),
            (EcnMode::Accurate, false, true),
        ] {
            let mut ecn = EcnFeedback::new(mode, reacts);
            assert_eq!(
                (ecn.is_signal(1000, &marks), ecn.stops_growth(&marks)),
                (expected, expected),
                "{mode:?}"
            );
        }
    }
}
