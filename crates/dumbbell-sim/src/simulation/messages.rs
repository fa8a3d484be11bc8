//! Messages: what a source of datagrams writes on a connection in their place, and whether it arrives in time.
//!
//! A message is delivered when its last byte has reached the receiving application in order. What a connection has not
//! delivered when another one takes its place never arrives.

use super::Simulation;
use crate::flows::FlowSpec;
use crate::outcome::MessagesOutcome;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// A message that has not arrived.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// First byte after it on its connection.
    end: u64,
    /// Until when it is in time.
    until: Time,
}

/// The messages of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    deadline: Option<Time>,
    /// Bytes that may wait for their acknowledgement.
    backlog: Option<u64>,
    /// Identifies the packets of the connection that carries them.
    label: u32,
    /// Bytes for this connection, of these not yet given to it, acknowledged as far as known, and delivered.
    taken: u64,
    unwritten: u64,
    acknowledged: u64,
    delivered: u64,
    /// Messages of the measurement window that have not arrived, in order.
    pending: VecDeque<Pending>,
    /// Messages of the measurement window: all that were written, the late ones, and those that were skipped.
    written: u64,
    late: u64,
    skipped: u64,
}

impl Messages {
    /// No messages yet; `None` for a flow that writes none.
    pub(super) fn of(spec: &FlowSpec) -> Option<Box<Messages>> {
        let stated = spec.messages.clone().unwrap_or_default();
        let backlog = stated.backlog.map(|backlog| backlog.0);
        let messages = Messages { deadline: stated.deadline, backlog, ..Messages::default() };
        spec.writes_messages().then(|| Box::new(messages))
    }

    /// Takes a message of this many bytes, or skips it because too many wait for their acknowledgement.
    pub(super) fn take(&mut self, bytes: u64, now: Time, is_measured: bool) {
        let waiting = self.taken.saturating_sub(self.acknowledged);
        let has_room = waiting == 0 || self.backlog.is_none_or(|most| waiting + bytes <= most);
        if !has_room {
            self.skipped += u64::from(is_measured);
            return;
        }
        self.taken += bytes;
        self.unwritten += bytes;
        self.written += u64::from(is_measured);
        if let Some(deadline) = self.deadline.filter(|_| is_measured) {
            self.pending.push_back(Pending { end: self.taken, until: now + deadline });
        }
    }

    /// The connection of these packets has delivered this many bytes.
    pub(super) fn on_delivered(&mut self, label: u32, bytes: u64, at: Time) {
        if label != self.label {
            return;
        }
        self.delivered += bytes;
        while let Some(oldest) = self.pending.front().copied().filter(|oldest| oldest.end <= self.delivered) {
            self.late += u64::from(at > oldest.until);
            self.pending.pop_front();
        }
    }

    /// Another connection will carry what follows.
    fn restart(&mut self) {
        self.late += self.pending.drain(..).count() as u64;
        (self.taken, self.acknowledged, self.delivered) = (0, 0, 0);
    }

    /// The results of a run that ends now.
    pub(super) fn outcome(&self, now: Time) -> MessagesOutcome {
        let overdue = self.pending.iter().filter(|pending| pending.until < now).count() as u64;
        MessagesOutcome {
            written: self.written,
            late: self.deadline.map(|_| self.late + overdue),
            skipped: self.backlog.map(|_| self.skipped),
        }
    }
}

impl Simulation<'_> {
    /// The connection of ours on which the source of a flow writes its messages, if it is open.
    fn written_connection(&self, flow: u32) -> Option<u32> {
        self.connections.newest(flow).filter(|&owner| self.connections[owner].writes_on)
    }

    /// The messages of a flow, which is about to write some; `None` if it sends datagrams.
    pub(super) fn begin_messages(&mut self, flow: u32) -> Option<Box<Messages>> {
        let mut messages = self.flows[flow].messages.take()?;
        let is_limited = messages.backlog.is_some();
        let acknowledged = match self.stacks.of(flow) {
            Some(_) => self.acknowledged_of_source(flow, is_limited),
            None => self.written_connection(flow).map(|owner| self.connections[owner].sender.snd_una()),
        };
        match acknowledged {
            Some(acknowledged) => messages.acknowledged = acknowledged,
            None => messages.restart(),
        }
        Some(messages)
    }

    /// Writes the messages that were taken on the one connection of a flow, which opens with the first of them. They may
    /// be the last.
    pub(super) fn write_messages(&mut self, flow: u32, mut messages: Box<Messages>, is_last: bool) {
        let bytes = std::mem::take(&mut messages.unwritten);
        let opened = match self.stacks.of(flow) {
            Some(number) => self.write_source(flow, number, bytes, is_last),
            None => self.write_own(flow, bytes, is_last),
        };
        messages.label = opened.unwrap_or(messages.label);
        self.flows[flow].messages = Some(messages);
    }

    /// The same over a connection of ours. Returns the label of its packets if it has opened.
    fn write_own(&mut self, flow: u32, bytes: u64, is_last: bool) -> Option<u32> {
        let known = self.written_connection(flow);
        let owner = match known {
            Some(owner) => {
                self.connections[owner].sender.write(bytes);
                owner
            }
            None if bytes > 0 => self.open(flow, bytes, true),
            None => return None,
        };
        let connection = &mut self.connections[owner];
        let label = connection.label;
        if is_last {
            connection.sender.finish();
            connection.stop_writing();
        }
        self.pump(owner);
        known.is_none().then_some(label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn messages(backlog: Option<u64>) -> Messages {
        Messages { deadline: Some(Time(100 * MS)), backlog, label: 7, ..Messages::default() }
    }

    #[test]
    fn a_message_is_late_if_its_last_byte_arrives_after_the_deadline() {
        let mut found = messages(None);
        [0, 10, 20].into_iter().for_each(|ms| found.take(1_000, Time(ms * MS), true));
        // The first and the second are in time at the last moment, but the second lacks a byte then.
        found.on_delivered(7, 1_999, Time(100 * MS));
        found.on_delivered(8, 1, Time(105 * MS));
        found.on_delivered(7, 1, Time(111 * MS));
        // At its end, a run knows whether the third one will be late.
        let ends = [120, 121].map(|ms| found.outcome(Time(ms * MS)).late);
        assert_eq!((ends, found.outcome(Time(0)).written), ([Some(1), Some(2)], 3));
    }

    #[test]
    fn messages_beyond_the_backlog_are_skipped_unless_nothing_waits() {
        let mut found = messages(Some(1_500));
        // One larger than the backlog is taken alone.
        [2_000, 1].into_iter().for_each(|bytes| found.take(bytes, Time(0), true));
        found.acknowledged = 1_000;
        [500, 1].into_iter().for_each(|bytes| found.take(bytes, Time(0), true));
        // Outside of the window, nothing is counted.
        found.take(1, Time(0), false);
        let outcome = found.outcome(Time(0));
        assert_eq!((outcome.written, outcome.skipped, found.unwritten), (2, Some(2), 2_500));
    }

    #[test]
    fn what_a_connection_leaves_undelivered_never_arrives() {
        let mut found = messages(None);
        found.take(1_000, Time(0), true);
        found.restart();
        found.take(1_000, Time(50 * MS), true);
        found.on_delivered(7, 1_000, Time(60 * MS));
        assert_eq!(found.outcome(Time(200 * MS)).late, Some(1));
    }
}
