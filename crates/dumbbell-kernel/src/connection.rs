//! What the packets of a connection say about its data.

use crate::frames::Segment;
use std::collections::BTreeMap;

/// A connection between the two hosts of a guest.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Position of its flow in the scenario.
    pub flow: u32,
    /// Its number in the run.
    pub number: u32,
    /// Port of its sender.
    pub port: u16,
    /// Bytes that its application has written; [`u64::MAX`] without end.
    pub written: u64,
    /// An event has told that everything was acknowledged.
    pub is_told: bool,
    /// It has sent a FIN.
    has_ended: bool,
    /// Sequence number of its first byte, once it has sent a SYN.
    first: Option<u32>,
    /// Bytes acknowledged in order.
    acknowledged: u64,
    /// Bytes that its receiver has in order.
    delivered: u64,
    /// Further parts that its receiver has: begin and end.
    parts: BTreeMap<u64, u64>,
}

impl Connection {
    /// A connection on which this many bytes are written.
    pub fn new(flow: u32, number: u32, port: u16, written: u64) -> Self {
        Connection {
            flow,
            number,
            port,
            written,
            is_told: false,
            has_ended: false,
            first: None,
            acknowledged: 0,
            delivered: 0,
            parts: BTreeMap::new(),
        }
    }

    /// Bytes acknowledged in order.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Bytes that the receiver has in order.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The sender sends a segment.
    pub fn on_sent(&mut self, segment: &Segment) {
        if segment.is_syn {
            self.first = Some(segment.seq.wrapping_add(1));
        }
        if segment.is_fin {
            // Of endless data, what was sent before it is all.
            let end = self.position(segment.seq, self.acknowledged).map(|at| at + u64::from(segment.data));
            self.written = end.unwrap_or(self.written);
            self.has_ended = true;
        }
    }

    /// A segment reaches the receiver: the new bytes in order.
    pub fn on_data(&mut self, segment: &Segment) -> u64 {
        let Some(begin) = self.position(segment.seq, self.delivered) else { return 0 };
        if segment.data == 0 || segment.is_syn {
            return 0;
        }
        let (mut begin, mut end) = (begin, begin + u64::from(segment.data));
        // Parts never touch: those that this one touches become one with it.
        while let Some((&from, &to)) = self.parts.range(..=end).next_back().filter(|(_, to)| **to >= begin) {
            (begin, end) = (begin.min(from), end.max(to));
            self.parts.remove(&from);
        }
        let before = self.delivered;
        if begin <= self.delivered {
            self.delivered = self.delivered.max(end);
        } else {
            self.parts.insert(begin, end);
        }
        self.delivered - before
    }

    /// A segment reaches the sender.
    pub fn on_ack(&mut self, segment: &Segment) {
        let ack = segment.ack.and_then(|ack| self.position(ack, self.acknowledged));
        // A FIN takes a number of its own.
        let ack = ack.map_or(0, |ack| ack.min(self.written));
        self.acknowledged = self.acknowledged.max(ack);
    }

    /// True if everything that was written has been acknowledged, and nobody was told.
    pub fn is_news(&self) -> bool {
        !self.is_told && self.acknowledged == self.written && (self.written > 0 || self.has_ended)
    }

    /// The position of a sequence number in the data, of those possible the one next to another position; `None` if it
    /// is before the data.
    fn position(&self, seq: u32, near: u64) -> Option<u64> {
        let offset = seq.wrapping_sub(self.first?);
        let difference = offset.wrapping_sub(near as u32).cast_signed();
        near.checked_add_signed(difference.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Ecn;

    fn segment(seq: u32, data: u32, is_syn: bool, ack: Option<u32>) -> Segment {
        Segment { source: 0, destination: 0, seq, ack, data, is_syn, is_fin: false, ecn: Ecn::NotEct }
    }

    /// A connection whose first byte has a number shortly before the largest.
    fn connection(written: u64) -> Connection {
        let mut connection = Connection::new(0, 0, 0, written);
        connection.on_sent(&segment(u32::MAX - 10, 0, true, None));
        connection
    }

    #[test]
    fn bytes_in_order_are_counted_once() {
        let mut connection = connection(100);
        let mut arrive =
            |at: u32, data| connection.on_data(&segment((u32::MAX - 9).wrapping_add(at), data, false, None));
        assert_eq!(arrive(0, 10), 10);
        assert_eq!(arrive(0, 10), 0);
        // A hole from 10 to 20, then parts that overlap.
        assert_eq!(arrive(20, 10), 0);
        assert_eq!(arrive(40, 10), 0);
        assert_eq!(arrive(25, 15), 0);
        assert_eq!(arrive(10, 10), 40);
        assert_eq!(arrive(45, 10), 5);
        assert_eq!(arrive(55, 0), 0);
    }

    #[test]
    fn an_acknowledgement_of_the_fin_is_not_of_a_byte() {
        let mut connection = connection(100);
        connection.on_ack(&segment(0, 0, false, Some(u32::MAX - 9 - 1)));
        assert_eq!(connection.acknowledged(), 0);
        connection.on_ack(&segment(0, 0, false, Some((u32::MAX - 9).wrapping_add(50))));
        assert_eq!((connection.acknowledged(), connection.is_news()), (50, false));
        connection.on_ack(&segment(0, 0, false, Some((u32::MAX - 9).wrapping_add(101))));
        assert_eq!((connection.acknowledged(), connection.is_news()), (100, true));
        connection.on_ack(&segment(0, 0, false, None));
        assert_eq!(connection.acknowledged(), 100);
    }

    #[test]
    fn a_fin_ends_endless_data() {
        let mut connection = connection(u64::MAX);
        let end = (u32::MAX - 9).wrapping_add(30);
        connection.on_sent(&Segment { is_fin: true, ..segment(end, 20, false, None) });
        connection.on_ack(&segment(0, 0, false, Some(end)));
        assert!(!connection.is_news());
        connection.on_ack(&segment(0, 0, false, Some(end + 21)));
        assert_eq!((connection.acknowledged(), connection.is_news()), (50, true));
    }

    #[test]
    fn positions_go_beyond_32_bits() {
        let mut connection = connection(u64::MAX);
        let mut position = 0_u64;
        for _ in 0..5 {
            position += 1 << 30;
            let seq = (u32::MAX - 9).wrapping_add(position as u32);
            connection.on_ack(&segment(0, 0, false, Some(seq)));
        }
        assert_eq!(connection.acknowledged(), 5 << 30);
    }
}
