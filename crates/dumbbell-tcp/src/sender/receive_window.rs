//! The receive window of a receiver that tells it, and the probes of one that is closed [RFC 9293 §3.8.6.1].
//!
//! While data waits and none is outstanding, the retransmission timer has nothing to do, and times probes instead, as in
//! BSD and Linux: after a timeout, then after twice as long each time. A probe repeats no data: its last byte is
//! acknowledged already, so that the answer tells the window. If the window has room for a part of a segment, this part is
//! sent instead.

use super::Sender;
use super::cause::Cause;
use super::connection::Connection;
use super::timers::TimerKind;
use crate::segment::{AckSegment, DataSegment};
use dumbbell_units::Time;
use dumbbell_units::math::real;

/// Longest time between two probes [RFC 1122 §4.2.2.17].
const LONGEST_PAUSE: Time = Time(60_000_000_000);

/// The window as the sender knows it.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// First byte after it.
    edge: u64,
    /// The last acknowledgement has moved its edge.
    has_moved: bool,
    send_buffer: f64,
    /// The retransmission timer times a probe.
    is_probing: bool,
    /// A probe is to be sent.
    is_due: bool,
    /// Probes since the edge moved.
    probes: u32,
}

impl ReceiveWindow {
    /// The window at the beginning.
    pub(super) fn new(edge: u64, send_buffer: f64) -> Self {
        ReceiveWindow { edge, has_moved: false, send_buffer, is_probing: false, is_due: false, probes: 0 }
    }
}

impl Sender {
    /// An acknowledgement arrived which tells that the receive window ends at `edge`; see [`on_ack`](Self::on_ack).
    pub fn on_ack_with_window(&mut self, now: Time, ack: &AckSegment, waited: Time, edge: u64) {
        if let Some(window) = &mut self.connection.window {
            window.has_moved = edge > window.edge;
            window.edge = window.edge.max(edge);
        }
        self.on_ack(now, ack, waited);
        self.connection.open_window();
    }
}

impl Connection {
    /// True if the acknowledgement that is processed has moved the receive window, and is no duplicate [RFC 5681 §2].
    #[inline]
    pub(super) fn has_moved_window(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.has_moved)
    }

    /// Applies the window after an acknowledgement.
    fn open_window(&mut self) {
        let Some(window) = &mut self.window else { return };
        self.max_window = real(window.edge.saturating_sub(self.snd_una)).min(window.send_buffer);
        if window.has_moved {
            window.probes = 0;
            if std::mem::take(&mut window.is_probing) {
                self.timers.stop(TimerKind::Retransmission);
            }
        }
    }

    /// The receive window allows no segment. If nothing is outstanding, nothing else would tell when it does.
    #[cold]
    pub(super) fn wait_for_window(&mut self, now: Time) {
        let is_idle = self.scoreboard.is_empty();
        let Some(window) = self.window.as_mut().filter(|window| is_idle && !window.is_probing) else {
            return;
        };
        window.is_probing = true;
        let pause = self.retransmission.timeout().0.saturating_mul(1 << window.probes.min(16));
        self.timers.set(TimerKind::Retransmission, now + Time(pause).min(LONGEST_PAUSE));
    }

    /// The retransmission timer has expired. True if it has timed a probe, which is sent next.
    pub(super) fn probes_window(&mut self) -> bool {
        let Some(window) = self.window.as_mut().filter(|window| window.is_probing) else { return false };
        (window.is_probing, window.is_due) = (false, true);
        window.probes += 1;
        self.timers.stop(TimerKind::Retransmission);
        self.resend.head = Some(Cause::Timeout);
        true
    }

    /// The probe of the window that is due, if one is.
    #[inline]
    pub(super) fn poll_window_probe(&mut self, now: Time) -> Option<DataSegment> {
        if self.window.as_mut().is_some_and(|window| std::mem::take(&mut window.is_due)) {
            self.resend.head = None;
            return Some(self.send_window_probe(now));
        }
        None
    }

    #[cold]
    fn send_window_probe(&mut self, now: Time) -> DataSegment {
        let room = self.max_window as u32;
        let len = self.unsent_segment().min(room);
        if len > 0 {
            return self.send_new(len, now);
        }
        self.stats.segments_sent += 1;
        self.wait_for_window(now);
        DataSegment::new(self.snd_una.saturating_sub(1), 0)
    }
}
