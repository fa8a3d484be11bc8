//! The receive window as the sender knows it.

use crate::config::TcpParams;
use dumbbell_units::math::real;

/// What the receiver lets the sender send, or its own buffer if that is smaller.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// Bytes from the oldest unacknowledged one on, possibly infinite.
    pub(super) max: f64,
    /// What the receiver tells, unless the window is constant.
    pub(super) told: Option<Box<ToldWindow>>,
}

/// A window that the receiver tells.
#[derive(Clone, Debug)]
pub(super) struct ToldWindow {
    /// First byte after it.
    edge: u64,
    /// The last acknowledgement has moved its edge.
    pub(super) has_moved: bool,
    send_buffer: f64,
    /// The retransmission timer times a probe.
    pub(super) is_probing: bool,
    /// A probe is to be sent.
    pub(super) is_due: bool,
    /// Probes since the edge moved.
    pub(super) probes: u32,
}

impl ReceiveWindow {
    /// The window at the beginning.
    pub(super) fn new(params: &TcpParams) -> Self {
        let send_buffer = params.send_buffer.bytes(params.mss.0 as u32);
        let first = params.first_window();
        let told = ToldWindow {
            edge: first.min(2e18) as u64,
            has_moved: false,
            send_buffer,
            is_probing: false,
            is_due: false,
            probes: 0,
        };
        ReceiveWindow { max: first.min(send_buffer), told: params.reading.as_ref().map(|_| Box::new(told)) }
    }

    /// An acknowledgement tells that the window ends at `edge`. It may have been overtaken, unless it is of new data: then
    /// the window may even shrink [RFC 9293 §3.10.7.4].
    pub(super) fn hear(&mut self, edge: u64, is_of_new_data: bool) {
        if let Some(told) = &mut self.told {
            told.has_moved = edge > told.edge;
            if told.has_moved || is_of_new_data {
                told.edge = edge;
            }
        }
    }

    /// Applies what was heard, once data up to `snd_una` is acknowledged. True if probes end, because the edge has moved.
    pub(super) fn apply(&mut self, snd_una: u64) -> bool {
        let Some(told) = &mut self.told else { return false };
        self.max = real(told.edge.saturating_sub(snd_una)).min(told.send_buffer);
        if !told.has_moved {
            return false;
        }
        told.probes = 0;
        std::mem::take(&mut told.is_probing)
    }

    /// True if the acknowledgement that is processed has moved the window, and is no duplicate [RFC 5681 §2].
    #[inline]
    pub(super) fn has_moved(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.has_moved)
    }
}
