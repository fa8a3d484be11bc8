//! All connections of a capture, in the order in which they begin.

use crate::connection::Connection;
use crate::segment::Segment;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Connections that are listed. A capture with more, such as one of a scan, would need memory without limit.
pub const MOST_CONNECTIONS: usize = 100_000;

type Ends = (u32, SocketAddr, SocketAddr);

/// The connections of a capture.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    found: Vec<Connection>,
    open: BTreeMap<Ends, usize>,
    /// Where the last segment belonged: the next one often belongs there too.
    last: Option<(Ends, usize)>,
    /// The connection whose segments are kept, counted from 1.
    chosen: Option<usize>,
    /// Segments of connections beyond those that are listed.
    pub omitted: u64,
}

impl Connections {
    /// No connection yet. The segments of one, counted from 1, are kept.
    pub fn new(chosen: Option<usize>) -> Self {
        Connections { chosen, ..Connections::default() }
    }

    /// The next segment of the capture.
    pub fn on_segment(&mut self, segment: &Segment) {
        let ends = (segment.interface, segment.from.min(segment.to), segment.from.max(segment.to));
        let known = match self.last {
            Some((last, place)) if last == ends => Some(place),
            _ => self.open.get(&ends).copied(),
        };
        let place = match known {
            Some(place) if !self.found[place].is_succeeded_by(segment) => place,
            _ if self.found.len() == MOST_CONNECTIONS => {
                self.omitted += 1;
                return;
            }
            _ => {
                let place = self.found.len();
                self.found.push(Connection::new(segment, self.chosen == Some(place + 1)));
                self.open.insert(ends, place);
                place
            }
        };
        self.last = Some((ends, place));
        self.found[place].on_segment(segment);
    }

    /// How many there are so far.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// The connections. The first one is number 1.
    pub fn finish(mut self) -> Vec<Connection> {
        self.found.iter_mut().for_each(Connection::finish);
        self.found
    }
}
