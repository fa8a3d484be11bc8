//! What happened on the link of a shell within an interval.

use dumbbell_units::Time;

/// What happened in one direction within an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionSample {
    /// Bytes that entered the link.
    pub bytes_in: u64,
    /// Packets that were delivered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their delays from entry to the time they were due, in nanoseconds.
    pub delay_sum: u64,
    /// Maximum of these delays.
    pub delay_max: Time,
    /// Maximum time by which a delivery was late.
    pub late_max: Time,
    /// Packets in queues or in transmission at the end of the interval.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Packets dropped for any reason since the beginning.
    pub drops_total: u64,
}

impl DirectionSample {
    /// A packet of this size enters.
    pub fn count_arrival(&mut self, size: usize) {
        self.bytes_in += size as u64;
    }

    /// A packet of this size is delivered.
    pub fn count_delivery(&mut self, size: usize, delay: Time, late: Time) {
        self.packets += 1;
        self.bytes += size as u64;
        self.delay_sum += delay.0;
        self.delay_max = self.delay_max.max(delay);
        self.late_max = self.late_max.max(late);
    }

    /// Mean delay of the delivered packets, in milliseconds; 0 without any.
    pub(super) fn delay_mean_ms(&self) -> f64 {
        self.delay_sum as f64 * 1e-6 / self.packets.max(1) as f64
    }
}

/// What happened within an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// End of the interval.
    pub at: Time,
    /// From the program to this host, and back.
    pub ways: [DirectionSample; 2],
    /// 99th percentile of the lateness since the beginning.
    pub late_p99: Time,
}
