//! Typed columns per probe, recorded on change or on a period.

use crate::scenario::ProbeSpec;
use dumbbell_units::{Time, choice};

choice! {
    /// What a probe records.
    pub enum Quantity {
        /// Congestion window with its inflation, in segments.
        Cwnd = "cwnd",
        /// Congestion window without its inflation, in segments.
        CwndBase = "cwnd_base",
        /// Slow-start threshold, in segments; not recorded while unlimited.
        Ssthresh = "ssthresh",
        /// Bytes sent and not acknowledged, in segments.
        FlightSize = "flight_size",
        /// Smoothed round-trip time of the retransmission timer, in seconds.
        Srtt = "srtt",
        /// Retransmission timeout, in seconds.
        Rto = "rto",
        /// Base round-trip time of the congestion control, in seconds.
        BaseRtt = "base_rtt",
        /// Difference of expected and actual rate, in segments.
        VegasDiff = "vegas_diff",
        /// Lower threshold of that difference where a congestion control moves it, in segments.
        Alpha = "alpha",
        /// Bandwidth that the congestion control believes to be available, in bit/s.
        Bandwidth = "bandwidth",
        /// First byte of every data segment sent.
        SeqSent = "seq_sent",
        /// Cumulative acknowledgement, in bytes.
        SeqAcked = "seq_acked",
        /// Bytes delivered to the receiving application so far; of a source of datagrams bytes on the wire.
        Delivered = "delivered",
        /// Packets waiting behind the one in service.
        Backlog = "backlog",
        /// Packets dropped so far.
        Drops = "drops",
        /// Number of every data packet that an impairment loses, as the impairment `forced` counts them.
        Losses = "losses",
    }
}

impl Quantity {
    /// True for quantities of links.
    pub fn is_of_link(self) -> bool {
        matches!(self, Quantity::Backlog | Quantity::Drops | Quantity::Losses)
    }

    /// True if every event counts, not only changes of the value.
    fn is_event(self) -> bool {
        self == Quantity::SeqSent
    }
}

/// The recording of one quantity of one component.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Name of the flow or link.
    pub name: String,
    /// What is recorded.
    pub quantity: Quantity,
    /// Times in seconds.
    pub times: Vec<f64>,
    /// Values in the quantity's unit.
    pub values: Vec<f64>,
    period: Option<Time>,
    next_sample: Time,
    last: Option<f64>,
}

impl Recording {
    /// An empty recording.
    pub fn new(name: &str, quantity: Quantity, probe: &ProbeSpec) -> Self {
        Recording {
            name: name.to_owned(),
            quantity,
            times: Vec::new(),
            values: Vec::new(),
            period: probe.period,
            next_sample: Time::ZERO,
            // Drops are counted from none.
            last: (quantity == Quantity::Drops).then_some(0.0),
        }
    }

    /// The value last recorded.
    pub fn last(&self) -> Option<f64> {
        self.last
    }

    /// The quantity has this value from `at` on; `None` while it has none.
    pub fn record(&mut self, at: Time, value: Option<f64>) {
        let Some(value) = value else { return };
        if self.period.is_some() {
            self.sample_before(at);
        } else if self.last != Some(value) || self.quantity.is_event() {
            self.times.push(at.secs());
            self.values.push(value);
        }
        self.last = Some(value);
    }

    /// Periodic samples that fall before `at` still show the value before.
    fn sample_before(&mut self, at: Time) {
        let Some(period) = self.period else { return };
        while self.next_sample < at {
            if let Some(last) = self.last {
                self.times.push(self.next_sample.secs());
                self.values.push(last);
            }
            self.next_sample += period;
        }
    }

    /// Completes a periodic recording, and forgets what a chained link knew beforehand of times
    /// after the end.
    pub fn finish(&mut self, end: Time) {
        self.sample_before(end);
        let kept = self.times.partition_point(|&time| time <= end.secs());
        self.times.truncate(kept);
        self.values.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_periodic_recording_holds_the_last_value() {
        let probe = ProbeSpec { period: Some(Time(10)), ..ProbeSpec::default() };
        let mut recording = Recording::new("f", Quantity::Cwnd, &probe);
        recording.record(Time(5), Some(1.0));
        recording.record(Time(25), Some(2.0));
        recording.finish(Time(41));
        assert_eq!(recording.values, [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn nothing_is_recorded_after_the_end() {
        let mut recording = Recording::new("l", Quantity::Drops, &ProbeSpec::default());
        recording.record(Time(1_000_000_000), Some(1.0));
        recording.record(Time(3_000_000_000), Some(2.0));
        recording.finish(Time(2_000_000_000));
        assert_eq!((recording.times, recording.values), (vec![1.0], vec![1.0]));
    }

    #[test]
    fn only_changes_are_recorded_without_a_period() {
        let mut recording = Recording::new("f", Quantity::Cwnd, &ProbeSpec::default());
        [1.0, 1.0, 2.0].iter().for_each(|&value| recording.record(Time(1), Some(value)));
        assert_eq!(recording.values, [1.0, 2.0]);
    }
}
