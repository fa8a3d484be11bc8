//! What a link counts, and what it tells probes.

use crate::queues::Reason;
use dumbbell_units::Time;

/// Why a link dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue dropped it.
    Queue(Reason),
    /// An impairment lost it after its transmission.
    Impairment,
}

/// Counters of a link within the measurement window.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkStats {
    /// Packets offered.
    pub packets: u64,
    /// Packets dropped because the queue was full.
    pub drops_queue: u64,
    /// Packets that active queue management dropped early.
    pub drops_early: u64,
    /// Packets that a policer dropped.
    pub drops_policer: u64,
    /// Packets lost by impairments and in outages.
    pub drops_impairment: u64,
    /// Packets marked "congestion experienced".
    pub marks: u64,
    /// Transmission time, in nanoseconds. On a link with opportunities, the same fraction of the window as that of their
    /// bytes which packets used; known at the end.
    pub busy: u64,
    /// Total queueing time of all packets, in nanoseconds.
    pub waited: u128,
    /// Maximum number of packets waiting behind the one in service, including those waiting when the window begins.
    pub backlog_max: u32,
    /// Copies that impairments have made and that arrive besides their packets; saturates.
    pub duplicates: u32,
}

impl LinkStats {
    /// Packets dropped for any reason.
    pub fn drops(&self) -> u64 {
        self.drops_queue + self.drops_early + self.drops_policer + self.drops_impairment
    }

    /// Mean queueing time of a packet, in seconds: by Little's law, the total queueing time divided by the number of
    /// packets that the queue did not drop.
    pub fn wait_mean(&self) -> Option<f64> {
        let dropped = self.drops_queue + self.drops_early + self.drops_policer;
        let sent = self.packets.saturating_sub(dropped);
        (sent > 0).then(|| self.waited as f64 * 1e-9 / sent as f64)
    }

    pub(crate) fn count_duplicate(&mut self, is_counted: bool) {
        self.duplicates = self.duplicates.saturating_add(u32::from(is_counted));
    }

    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        *match reason {
            DropReason::Queue(Reason::NoRoom) => &mut self.drops_queue,
            DropReason::Queue(Reason::Early) => &mut self.drops_early,
            DropReason::Queue(Reason::Policer) => &mut self.drops_policer,
            DropReason::Impairment => &mut self.drops_impairment,
        } += 1;
    }
}

/// A change of the backlog, for probes.
#[derive(Clone, Copy, Debug)]
pub struct BacklogChange {
    /// Time of the change.
    pub at: Time,
    /// Packets waiting behind the one in service from then on.
    pub waiting: usize,
}
