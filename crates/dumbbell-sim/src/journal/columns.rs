//! The columns of a table of entries, declared once for every door: their names, types and values.

use super::{AckSegment, Entry, Kind, Observation, TimerChange};
use dumbbell_units::Time;

/// A column of a table with one row per entry. Entries may have no value.
pub enum Column {
    /// A text.
    Text(fn(&Entry) -> Option<String>),
    /// A whole number.
    Whole(fn(&Entry) -> Option<u64>),
    /// A number; one that is not finite is none.
    Real(fn(&Entry) -> Option<f64>),
    /// True or false.
    Flag(fn(&Entry) -> Option<bool>),
}
use Column::{Flag, Real, Text, Whole};

/// All columns but the quantities of the congestion control.
pub const ENTRIES: &[(&str, Column)] = &[
    ("time_s", Real(|entry| Some(entry.at.secs()))),
    ("connection", Whole(|entry| Some(entry.connection))),
    ("kind", Text(|entry| Some(kind(entry).to_owned()))),
    ("cause", Text(|entry| cause(entry).map(str::to_owned))),
    ("seq", Whole(|entry| entry.range.map(|range| range.0))),
    ("end", Whole(|entry| entry.range.map(|range| range.1))),
    ("segments", Whole(segments)),
    // What an acknowledgement says, and what it changed.
    ("sack", Text(|entry| acked(entry).and_then(|ack| written(ack.sack.ranges(ack.ack))))),
    (
        "duplicate_sack",
        Text(|entry| acked(entry).and_then(|ack| written(ack.sack.duplicate(ack.ack).into_iter()))),
    ),
    ("ecn_echo", Flag(|entry| acked(entry).map(|ack| ack.is_ece))),
    ("rtt_s", Real(rtt)),
    ("delivery_rate_bps", Real(|entry| acked(entry).and_then(|_| bits(entry.after.delivery_rate)))),
    ("newly_delivered_bytes", Whole(|entry| newly(entry, |state| state.delivered))),
    ("newly_lost_bytes", Whole(|entry| newly(entry, |state| state.lost))),
    // The state of the sender after the entry, and of its window and rate before as well.
    ("deadline_s", Real(deadline)),
    ("duplicate_acks", Whole(|entry| Some(u64::from(entry.after.duplicates)))),
    ("in_recovery", Flag(|entry| Some(entry.after.in_recovery))),
    ("in_flight_bytes", Whole(|entry| Some(entry.after.in_flight))),
    ("srtt_s", Real(|entry| entry.after.srtt)),
    ("cwnd_before_bytes", Real(|entry| Some(entry.before.cwnd))),
    ("cwnd_bytes", Real(|entry| Some(entry.after.cwnd))),
    ("inflation_before_bytes", Real(|entry| Some(entry.before.inflation))),
    ("inflation_bytes", Real(|entry| Some(entry.after.inflation))),
    ("ssthresh_before_bytes", Real(|entry| Some(entry.before.ssthresh))),
    ("ssthresh_bytes", Real(|entry| Some(entry.after.ssthresh))),
    ("pacing_rate_before_bps", Real(|entry| bits(entry.before.pacing_rate))),
    ("pacing_rate_bps", Real(|entry| bits(entry.after.pacing_rate))),
];

/// What an entry tells, in a word.
fn kind(entry: &Entry) -> &'static str {
    match &entry.kind {
        Kind::Ack(_) => "ack",
        Kind::Sent(_) => "sent",
        Kind::Retransmission(_) => "retransmission",
        Kind::Decision(_) => "decision",
        Kind::Timer(_, TimerChange::Armed(_)) => "timer_armed",
        Kind::Timer(_, TimerChange::Stopped) => "timer_stopped",
        Kind::Timer(_, TimerChange::Fired) => "timer_fired",
        Kind::Application(true) => "application_limited",
        Kind::Application(false) => "application_unlimited",
        Kind::Event(event) => event.kind.name(),
    }
}

/// Why a segment was sent again, on what occasion something was decided, or which timer changed.
fn cause(entry: &Entry) -> Option<&'static str> {
    match &entry.kind {
        Kind::Retransmission(cause) => Some(cause.name()),
        Kind::Decision(name) | Kind::Timer(name, _) => Some(*name),
        Kind::Ack(_) | Kind::Sent(_) | Kind::Application(_) | Kind::Event(_) => None,
    }
}

fn segments(entry: &Entry) -> Option<u64> {
    match entry.kind {
        Kind::Sent(segments) => Some(segments),
        Kind::Retransmission(_) => Some(1),
        _ => None,
    }
}

/// Ranges of bytes, as `1000-2000 3000-4000`.
fn written(ranges: impl Iterator<Item = (u64, u64)>) -> Option<String> {
    let texts: Vec<String> = ranges.map(|(start, end)| format!("{start}-{end}")).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// The acknowledgement that an entry tells of.
fn acked(entry: &Entry) -> Option<&AckSegment> {
    if let Kind::Ack(ack) = &entry.kind { Some(ack) } else { None }
}

/// The round-trip time that an acknowledgement has measured.
fn rtt(entry: &Entry) -> Option<f64> {
    acked(entry)?;
    (entry.after.rtt.0 > entry.before.rtt.0).then_some(entry.after.rtt.1)
}

/// By how much an acknowledgement has increased a count.
fn newly(entry: &Entry, count: fn(&Observation) -> u64) -> Option<u64> {
    acked(entry).map(|_| count(&entry.after).saturating_sub(count(&entry.before)))
}

/// The deadline of the timer of the entry, and after an acknowledgement that of the retransmission timer.
fn deadline(entry: &Entry) -> Option<f64> {
    let deadline = match entry.kind {
        Kind::Timer(_, TimerChange::Armed(deadline)) => deadline,
        Kind::Ack(_) => entry.after.retransmission_deadline(),
        _ => return None,
    };
    (deadline != Time::NEVER).then(|| deadline.secs())
}

/// A rate of bytes per second in bit/s.
fn bits(rate: Option<f64>) -> Option<f64> {
    rate.map(|rate| rate * 8.0)
}
