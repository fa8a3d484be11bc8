//! Entries of a flow that a stack of others carries: what the stack shows, at each instant at which something happened.

use super::{MAX_ENTRIES, Place};
use crate::transport::Shown;
use dumbbell_units::Time;
use std::collections::BTreeMap;

/// What an entry tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedKind {
    /// Packets of the receiver arrived.
    Ack,
    /// The stack declared packets lost.
    Loss,
    /// Its retransmission timer expired.
    Timeout,
    /// It changed its window, its threshold or its pacing rate.
    Decision,
    /// It sent packets.
    Sent(Sending),
    /// This number of them had data that was sent before.
    Retransmission(u64),
    /// All that the application has written was acknowledged.
    Completed,
    /// It gave the connection up.
    GivenUp,
}

impl CarriedKind {
    /// In a word.
    pub fn name(&self) -> &'static str {
        match self {
            CarriedKind::Ack => "ack",
            CarriedKind::Loss => "loss",
            CarriedKind::Timeout => "timeout",
            CarriedKind::Decision => "decision",
            CarriedKind::Sent(_) => "sent",
            CarriedKind::Retransmission(_) => "retransmission",
            CarriedKind::Completed => "completed",
            CarriedKind::GivenUp => "given_up",
        }
    }
}

/// Packets that leave a sender at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Packets with data of the application.
    pub segments: u64,
    /// All packets.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
}

/// One entry. The states are those at the end of an instant: the last one at which something happened, and this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarriedEntry {
    /// Time of the entry.
    pub at: Time,
    /// Number of the connection within the flow, counted from 1.
    pub connection: u64,
    /// What it tells.
    pub kind: CarriedKind,
    /// What happened to the stack at this instant: `ack`, `timer` or `application`.
    pub occasion: &'static str,
    /// State before.
    pub before: Shown,
    /// State after.
    pub after: Shown,
}

/// What has happened to a connection at this instant, and what it showed before.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    has_arrived: bool,
    sent: Sending,
    before: Option<Shown>,
}

/// The entries of a flow.
#[derive(Clone, Debug, Default)]
pub struct CarriedJournal {
    /// Entries in order.
    pub entries: Vec<CarriedEntry>,
    /// Entries that found no room.
    pub omitted: u64,
    /// By the number of the connection within the flow.
    steps: BTreeMap<u64, Step>,
    /// When the stack was last woken.
    woken: Option<Time>,
}

impl CarriedJournal {
    /// Packets of the receiver arrive.
    pub(crate) fn on_arrival(&mut self, connection: u64) {
        self.steps.entry(connection).or_default().has_arrived = true;
    }

    /// The stack is woken.
    pub(crate) fn on_wake(&mut self, now: Time) {
        self.woken = Some(now);
    }

    /// A packet leaves the sender.
    pub(crate) fn on_packet(&mut self, connection: u64, bytes: u32, is_data: bool) {
        let sent = &mut self.steps.entry(connection).or_default().sent;
        sent.segments += u64::from(is_data);
        sent.packets += 1;
        sent.bytes += u64::from(bytes);
    }

    /// What a connection shows after something has happened.
    pub(crate) fn on_state(&mut self, place: Place, after: &Shown) {
        let step = self.steps.entry(place.connection).or_default();
        let before = step.before.replace(*after).unwrap_or(*after);
        let (has_arrived, sent) = (std::mem::take(&mut step.has_arrived), std::mem::take(&mut step.sent));
        let occasion = match self.woken {
            _ if has_arrived => "ack",
            Some(at) if at == place.at => "timer",
            _ => "application",
        };
        let retransmitted = |shown: &Shown| shown.segments_retransmitted.unwrap_or(0);
        let again = retransmitted(after).saturating_sub(retransmitted(&before));
        let decided = |shown: &Shown| (shown.cwnd, shown.ssthresh, shown.pacing_rate);
        for (kind, holds) in [
            (CarriedKind::Ack, has_arrived),
            (CarriedKind::Loss, after.lost > before.lost),
            (CarriedKind::Timeout, after.timeouts > before.timeouts),
            (CarriedKind::Decision, decided(&before) != decided(after)),
            (CarriedKind::Sent(sent), sent.packets > 0),
            (CarriedKind::Retransmission(again), again > 0),
        ] {
            if holds {
                self.push(place, kind, occasion, (before, *after));
            }
        }
    }

    /// A connection has reached its end, and shows this.
    pub(crate) fn on_end(&mut self, place: Place, kind: CarriedKind, shown: &Shown) {
        self.push(place, kind, "ack", (*shown, *shown));
    }

    fn push(&mut self, place: Place, kind: CarriedKind, occasion: &'static str, states: (Shown, Shown)) {
        if self.entries.len() < MAX_ENTRIES {
            let (Place { at, connection }, (before, after)) = (place, states);
            self.entries.push(CarriedEntry { at, connection, kind, occasion, before, after });
        } else {
            self.omitted += 1;
        }
    }

    /// Payload of a full packet, in bytes; 0 without entries.
    pub fn mss(&self) -> u32 {
        self.entries.iter().map(|entry| entry.after.mss).max().unwrap_or(0)
    }

    /// What no entry knows because the stack does not show it.
    pub fn lacks(&self) -> Vec<&'static str> {
        type Known = fn(&Shown) -> bool;
        let fields: [(&str, Known); 9] = [
            ("congestion window", |shown| shown.cwnd.is_some()),
            ("slow-start threshold", |shown| shown.ssthresh.is_some()),
            ("pacing rate", |shown| shown.pacing_rate.is_some()),
            ("bytes in flight", |shown| shown.in_flight.is_some()),
            ("smoothed round-trip time", |shown| shown.srtt.is_some()),
            ("round-trip times", |shown| shown.latest_rtt.is_some()),
            ("packets declared lost", |shown| shown.lost.is_some()),
            ("retransmissions", |shown| shown.segments_retransmitted.is_some()),
            ("timeouts", |shown| shown.timeouts.is_some()),
        ];
        let is_unknown = |known: Known| !self.entries.iter().any(|entry| known(&entry.after));
        fields.into_iter().filter(|&(_, known)| is_unknown(known)).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The journal of a connection, after steps that show these windows and packets lost.
    fn told(
        steps: &[(u64, f64, u64)],
        act: impl Fn(&mut CarriedJournal, u64),
    ) -> Vec<(u64, CarriedKind, &'static str)> {
        let mut journal = CarriedJournal::default();
        for &(at, cwnd, lost) in steps {
            act(&mut journal, at);
            let shown = Shown { mss: 1000, cwnd: Some(cwnd), lost: Some(lost), ..Shown::default() };
            journal.on_state(Place { at: Time(at), connection: 1 }, &shown);
        }
        assert_eq!(journal.mss(), 1000);
        assert!(!journal.lacks().contains(&"congestion window") && journal.lacks().contains(&"pacing rate"));
        journal.entries.iter().map(|entry| (entry.at.0, entry.kind, entry.occasion)).collect()
    }

    #[test]
    fn an_instant_is_told_in_order_with_its_occasion() {
        let sent = |segments| CarriedKind::Sent(Sending { segments, packets: 2, bytes: 1_540 });
        let act = |journal: &mut CarriedJournal, at: u64| {
            match at {
                20 => journal.on_arrival(1),
                30 => journal.on_wake(Time(at)),
                _ => {}
            }
            journal.on_packet(1, 1500, true);
            journal.on_packet(1, 40, false);
        };
        assert_eq!(
            told(&[(10, 1e4, 0), (20, 7e3, 3), (30, 7e3, 3), (40, 8e3, 3)], act),
            [
                // Nothing is known of the time before the first instant.
                (10, sent(1), "application"),
                (20, CarriedKind::Ack, "ack"),
                (20, CarriedKind::Loss, "ack"),
                (20, CarriedKind::Decision, "ack"),
                (20, sent(1), "ack"),
                (30, sent(1), "timer"),
                (40, CarriedKind::Decision, "application"),
                (40, sent(1), "application"),
            ]
        );
    }

    #[test]
    fn a_wake_without_effect_leaves_no_entry() {
        let act = |journal: &mut CarriedJournal, at: u64| {
            if at == 10 {
                journal.on_packet(1, 1500, true);
            }
            journal.on_wake(Time(at));
        };
        assert_eq!(told(&[(10, 1e4, 0), (20, 1e4, 0), (30, 1e4, 0)], act).len(), 1);
    }
}
