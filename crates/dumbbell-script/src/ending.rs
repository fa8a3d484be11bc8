//! The end of a connection, as far as the host of the simulator has it: a FIN in each direction, sent once and in order,
//! and a reset.

use crate::script::{Action, Flags, Script, Segment};

/// How far a connection has ended. A FIN takes one number after the data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ending {
    /// The application has closed its end for writing.
    pub(crate) is_asked: bool,
    /// The application reads nothing any more.
    pub(crate) is_deaf: bool,
    /// The FIN was sent, by itself or with the last data.
    is_sent: bool,
    rides: bool,
    /// The FIN of the other end has arrived.
    pub(crate) has_arrived: bool,
    /// Nothing is known of the connection any more.
    pub(crate) is_gone: bool,
}

impl Ending {
    /// Why the end of a connection in a script cannot be expressed, if it cannot.
    pub(crate) fn refusal(script: &Script) -> Option<&'static str> {
        let sent = script.events.iter().filter_map(|event| match &event.action {
            Action::Outbound(segment) => Some(segment),
            _ => None,
        });
        (sent.filter(|segment| segment.flags.fin).count() > 1).then_some("a FIN that is sent again")
    }

    /// Data that ends here is sent: true if the FIN is on it. `all` is what the application has written.
    pub(crate) fn rides(&mut self, end: u64, all: u64) -> bool {
        let is_last = self.is_asked && end == all && (self.rides || !self.is_sent);
        if is_last {
            (self.is_sent, self.rides) = (true, true);
        }
        is_last
    }

    /// True if the FIN is sent now by itself, as everything else has been and the congestion window has room.
    pub(crate) fn is_due(&mut self, sent: u64, all: u64, has_room: bool) -> bool {
        let is_due = self.is_asked && !self.is_sent && sent == all && has_room;
        self.is_sent |= is_due;
        is_due
    }

    /// Numbers that the FIN that was sent takes, and the one that has arrived.
    pub(crate) fn numbers(self) -> (u64, u64) {
        (u64::from(self.is_sent), u64::from(self.has_arrived))
    }

    /// The answer to a segment that arrives when nothing is known of its connection [RFC 9293 §3.10.7.1].
    ///
    /// # Errors
    ///
    /// What the host cannot be told.
    pub(crate) fn answer(segment: &Segment) -> Result<Segment, String> {
        let seq = segment.ack.filter(|_| !segment.flags.rst).ok_or("a segment without ACK after the end")?;
        Ok(Segment { flags: Flags { rst: true, ..Flags::default() }, seq, ..Segment::default() })
    }

    /// A FIN arrives while `next` is expected.
    ///
    /// # Errors
    ///
    /// What the host cannot be told.
    pub(crate) fn on_fin(&mut self, segment: &Segment, next: u64) -> Result<(), String> {
        if !self.is_sent {
            return Err("a FIN before one was sent".into());
        }
        if segment.len > 0 || segment.seq != next + 1 {
            return Err("a FIN with data, or one out of order".into());
        }
        self.has_arrived = true;
        Ok(())
    }
}
