//! Every segment and acknowledgement of one direction.

use crate::repair::Kind;
use dumbbell_units::Time;

/// Segments that are kept of one direction, and as many acknowledgements.
pub const MOST_ROWS: usize = 5_000_000;

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentRow {
    /// When it was seen.
    pub at: Time,
    /// Its first byte.
    pub offset: i64,
    /// Its bytes.
    pub bytes: u32,
    /// Why it was sent.
    pub kind: Kind,
    /// It was sent again, and the receiver had it already.
    pub spurious: bool,
    /// Clock of the sender in its option of timestamps, in ticks.
    pub clock: Option<u32>,
}

/// A segment of the receiver, and the state of the sender after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckRow {
    /// When it was seen.
    pub at: Time,
    /// The next byte that the receiver expects.
    pub acked: i64,
    /// Bytes that it reported beyond.
    pub sacked: u64,
    /// Its window, in bytes.
    pub window: Option<u64>,
    /// Round-trip time.
    pub rtt: Option<Time>,
    /// Bytes in flight.
    pub flight: u64,
    /// Bytes delivered so far, in any order.
    pub delivered: u64,
    /// Delivery rate, in bit/s.
    pub rate: Option<f64>,
    /// It is a duplicate acknowledgement.
    pub is_duplicate: bool,
    /// It reports a duplicate segment.
    pub has_dsack: bool,
    /// It echoes congestion.
    pub has_ece: bool,
}

/// Rows of one direction.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its data segments.
    pub segments: Vec<SegmentRow>,
    /// The segments of its receiver.
    pub acks: Vec<AckRow>,
    /// Round-trip times from acknowledgements to data, each with the time at which it was known.
    pub echoes: Vec<(Time, Time)>,
    /// Rows for which there was no room.
    pub omitted: u64,
}

impl Series {
    /// Adds a segment.
    pub fn segment(&mut self, row: SegmentRow) {
        if self.segments.len() == MOST_ROWS {
            self.omitted += 1;
        } else {
            self.segments.push(row);
        }
    }

    /// Adds an acknowledgement.
    pub fn ack(&mut self, row: AckRow) {
        if self.acks.len() == MOST_ROWS {
            self.omitted += 1;
        } else {
            self.acks.push(row);
        }
    }

    /// The segment at this place was not needed.
    pub fn mark_spurious(&mut self, place: usize) {
        if let Some(row) = self.segments.get_mut(place) {
            row.spurious = true;
        }
    }
}
