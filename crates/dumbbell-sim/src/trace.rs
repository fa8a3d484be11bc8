//! Recordings of probes as typed columns, on change, periodically, or per event.

use crate::quantity::{Measure, Quantity};
use crate::scenario::ProbeSpec;
use dumbbell_tcp::{TcpEvent, TcpEventKind};
use dumbbell_units::Time;

/// An event of a connection of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowEvent {
    /// Time of the event.
    pub at: Time,
    /// Kind of the event.
    pub kind: TcpEventKind,
    /// Number of the connection within the flow, counted from 1; `None` for a loss of a closed connection.
    pub connection: Option<u64>,
    /// First byte of the segment that was lost or sent.
    pub seq: Option<u64>,
    /// The event as its sender reports it; `None` for a loss, which the sender has not detected yet.
    pub sender: Option<TcpEvent>,
}

impl FlowEvent {
    /// Events reported by the sender.
    pub fn of_sender(connection: u64, event: TcpEvent) -> Self {
        let TcpEvent { at, kind, .. } = event;
        FlowEvent { at, kind, connection: Some(connection), seq: None, sender: Some(event) }
    }

    /// Its place in a recording. Simultaneous events of senders keep their order. Losses follow them by connection and
    /// segment, because each link decides on a loss at its own moment, which may be ahead of or behind the clock.
    fn place(&self) -> impl Ord + use<> {
        let is_loss = self.kind == TcpEventKind::Loss;
        (self.at, is_loss.then_some((self.connection, self.seq)))
    }
}

/// A transfer of a workload, or a group of transfers such as a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferRow {
    /// When it began.
    pub began: Time,
    /// What it is: `transfer`, `object`, `page` and so on.
    pub kind: &'static str,
    /// Number of its connection within the flow, counted from 1; `None` for a group.
    pub connection: Option<u64>,
    /// Size, in bytes; `None` for a group that has not ended.
    pub bytes: Option<u64>,
    /// Time until its last byte was acknowledged; `None` if this did not happen.
    pub completion: Option<Time>,
    /// Completion time divided by the ideal one.
    pub slowdown: Option<f64>,
    /// Segments retransmitted meanwhile.
    pub segments_retransmitted: u64,
    /// Retransmission timeouts meanwhile.
    pub timeouts: u64,
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
    /// Values in the quantity's unit; empty for events and transfers.
    pub values: Vec<f64>,
    /// Events. During the run in the order in which they become known, afterwards in order of time with one entry in
    /// `times` each.
    pub events: Vec<FlowEvent>,
    /// Transfers. During the run in the order in which they end, afterwards in that in which they began, with one entry
    /// in `times` each.
    pub transfers: Vec<TransferRow>,
    period: Option<Time>,
    next_sample: Time,
    max_samples: u64,
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
            events: Vec::new(),
            transfers: Vec::new(),
            period: probe.period,
            next_sample: Time::ZERO,
            max_samples: u64::MAX,
            // Drops and marks are counted from 0.
            last: (quantity.is(Measure::Drops) || quantity.is(Measure::Marks)).then_some(0.0),
        }
    }

    /// The same recording, which stops sampling once it has more than so many samples.
    pub fn limited_to(self, max_samples: u64) -> Self {
        Recording { max_samples, ..self }
    }

    /// True if it has samples at regular times.
    pub fn is_periodic(&self) -> bool {
        self.period.is_some()
    }

    /// The last recorded value.
    pub fn last(&self) -> Option<f64> {
        self.last
    }

    /// Records that the quantity has this value from `at` on; `None` if it has no value.
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

    /// How many samples it has. An event or a transfer takes as much memory as eight.
    pub fn samples(&self) -> usize {
        self.values.len() + 8 * (self.events.len() + self.transfers.len())
    }

    /// Adds the periodic samples before `at`, which have the previous value.
    fn sample_before(&mut self, at: Time) {
        let Some(period) = self.period else { return };
        while self.next_sample < at && self.values.len() as u64 <= self.max_samples {
            if let Some(last) = self.last {
                self.times.push(self.next_sample.secs());
                self.values.push(last);
            }
            self.next_sample += period;
        }
    }

    /// Completes a periodic recording and removes entries after the end, which a chained link may have recorded ahead
    /// of the clock.
    pub fn finish(&mut self, end: Time) {
        self.sample_before(end);
        if self.quantity.is(Measure::TcpEvents) {
            self.events.sort_by_key(FlowEvent::place);
            self.events.truncate(self.events.partition_point(|event| event.at <= end));
            self.times = self.events.iter().map(|event| event.at.secs()).collect();
            return;
        }
        if self.quantity.is(Measure::Transfers) {
            self.transfers.sort_by_key(|row| (row.began, row.connection));
            self.times = self.transfers.iter().map(|row| row.began.secs()).collect();
            return;
        }
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
        let mut recording = Recording::new("f", Quantity::Measured(Measure::Cwnd), &probe);
        recording.record(Time(5), Some(1.0));
        recording.record(Time(25), Some(2.0));
        recording.finish(Time(41));
        assert_eq!(recording.values, [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn a_limited_recording_ends_one_sample_above_its_limit() {
        let probe = ProbeSpec { period: Some(Time(1)), ..ProbeSpec::default() };
        let quantity = Quantity::Measured(Measure::Cwnd);
        let mut recording = Recording::new("f", quantity, &probe).limited_to(100);
        recording.record(Time(0), Some(1.0));
        recording.record(Time(1_000_000_000_000), Some(2.0));
        assert_eq!(recording.samples(), 101);
    }

    #[test]
    fn nothing_is_recorded_after_the_end() {
        let mut recording = Recording::new("l", Quantity::Measured(Measure::Drops), &ProbeSpec::default());
        recording.record(Time(1_000_000_000), Some(1.0));
        recording.record(Time(3_000_000_000), Some(2.0));
        recording.finish(Time(2_000_000_000));
        assert_eq!((recording.times, recording.values), (vec![1.0], vec![1.0]));
    }

    #[test]
    fn simultaneous_losses_have_an_order_of_their_own_after_the_events_of_senders() {
        let event = |at: u64, kind: TcpEventKind, connection: u64, seq: u64| FlowEvent {
            at: Time(at),
            kind,
            connection: Some(connection),
            seq: Some(seq),
            sender: None,
        };
        let [loss, timeout, retransmit] =
            [TcpEventKind::Loss, TcpEventKind::Timeout, TcpEventKind::FastRetransmit];
        let mut recording =
            Recording::new("f", Quantity::Measured(Measure::TcpEvents), &ProbeSpec::default());
        recording.events = vec![
            event(7, loss, 1, 0),
            event(5, loss, 2, 10),
            event(5, loss, 1, 30),
            event(5, timeout, 3, 0),
            event(5, retransmit, 2, 0),
            event(5, loss, 1, 20),
        ];
        recording.finish(Time(9));
        let found: Vec<_> = recording
            .events
            .iter()
            .map(|event| (event.at.0, event.kind, event.connection, event.seq))
            .collect();
        let rows = [
            (5, timeout, 3, 0),
            (5, retransmit, 2, 0),
            (5, loss, 1, 20),
            (5, loss, 1, 30),
            (5, loss, 2, 10),
            (7, loss, 1, 0),
        ];
        assert_eq!(found, rows.map(|(at, kind, connection, seq)| (at, kind, Some(connection), Some(seq))));
    }

    #[test]
    fn only_changes_are_recorded_without_a_period() {
        let mut recording = Recording::new("f", Quantity::Measured(Measure::Cwnd), &ProbeSpec::default());
        [1.0, 1.0, 2.0].iter().for_each(|&value| recording.record(Time(1), Some(value)));
        assert_eq!(recording.values, [1.0, 2.0]);
    }
}
