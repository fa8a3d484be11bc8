//! The journal of a flow as Arrow columns.

use crate::columns::ArrowColumns;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use dumbbell_sim::journal::{
    AckSegment, CarriedEntry, CarriedJournal, CarriedKind, Entry, Journal, Kind, Observation, Sending,
    TimerChange,
};
use dumbbell_sim::transport::Shown;
use dumbbell_units::Time;
use pyo3::prelude::*;
use std::sync::Arc;

/// The column of texts that some entries have.
fn text<E>(entries: &[E], value: impl Fn(&E) -> Option<String>) -> ArrayRef {
    Arc::new(entries.iter().map(value).collect::<StringArray>())
}

/// The column of whole numbers that some entries have.
fn whole<E>(entries: &[E], value: impl Fn(&E) -> Option<u64>) -> ArrayRef {
    Arc::new(entries.iter().map(value).collect::<UInt64Array>())
}

/// The column of finite numbers that some entries have.
fn real<E>(entries: &[E], value: impl Fn(&E) -> Option<f64>) -> ArrayRef {
    let finite = |entry: &E| value(entry).filter(|value| value.is_finite());
    Arc::new(entries.iter().map(finite).collect::<Float64Array>())
}

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

/// Ranges of bytes, as `1000-2000 3000-4000`.
fn written(ranges: impl Iterator<Item = (u64, u64)>) -> Option<String> {
    let texts: Vec<String> = ranges.map(|(start, end)| format!("{start}-{end}")).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

type Columns<'a> = Vec<(&'a str, ArrayRef)>;

/// The acknowledgement that an entry tells of.
fn acked(entry: &Entry) -> Option<&AckSegment> {
    match &entry.kind {
        Kind::Ack(ack) => Some(ack),
        _ => None,
    }
}

/// The states of the sender before and after an acknowledgement.
fn states(entry: &Entry) -> Option<(&Observation, &Observation)> {
    acked(entry).map(|_| (&entry.before, &entry.after))
}

/// A rate of bytes per second in bit/s.
fn bits(rate: Option<f64>) -> Option<f64> {
    rate.map(|rate| rate * 8.0)
}

/// What happened, and to which bytes.
fn event_columns(rows: &[Entry]) -> Columns<'static> {
    let segments = |entry: &Entry| match entry.kind {
        Kind::Sent(segments) => Some(segments),
        Kind::Retransmission(_) => Some(1),
        _ => None,
    };
    vec![
        ("time_s", real(rows, |entry| Some(entry.at.secs()))),
        ("connection", whole(rows, |entry| Some(entry.connection))),
        ("kind", text(rows, |entry| Some(kind(entry).to_owned()))),
        ("cause", text(rows, |entry| cause(entry).map(str::to_owned))),
        ("seq", whole(rows, |entry| entry.range.map(|range| range.0))),
        ("end", whole(rows, |entry| entry.range.map(|range| range.1))),
        ("segments", whole(rows, segments)),
    ]
}

/// What an acknowledgement says, and what it changed.
fn ack_columns(rows: &[Entry]) -> Columns<'static> {
    let sack = |entry: &Entry| acked(entry).and_then(|ack| written(ack.sack.ranges(ack.ack)));
    let duplicate =
        |entry: &Entry| acked(entry).and_then(|ack| written(ack.sack.duplicate(ack.ack).into_iter()));
    let ecn_echo = rows.iter().map(|entry| acked(entry).map(|ack| ack.is_ece));
    let rtt = |entry: &Entry| {
        states(entry).and_then(|(before, after)| (after.rtt.0 > before.rtt.0).then_some(after.rtt.1))
    };
    let newly = |entry: &Entry, count: fn(&Observation) -> u64| {
        states(entry).map(|(before, after)| count(after).saturating_sub(count(before)))
    };
    vec![
        ("sack", text(rows, sack)),
        ("duplicate_sack", text(rows, duplicate)),
        ("ecn_echo", Arc::new(ecn_echo.collect::<BooleanArray>())),
        ("rtt_s", real(rows, rtt)),
        (
            "delivery_rate_bps",
            real(rows, |entry| states(entry).and_then(|(_, after)| bits(after.delivery_rate))),
        ),
        ("newly_delivered_bytes", whole(rows, |entry| newly(entry, |state| state.delivered))),
        ("newly_lost_bytes", whole(rows, |entry| newly(entry, |state| state.lost))),
    ]
}

/// The state of the sender after the entry, and of its window and rate before as well.
fn state_columns(rows: &[Entry]) -> Columns<'static> {
    let running = |deadline: Time| (deadline != Time::NEVER).then(|| deadline.secs());
    let deadline = |entry: &Entry| match entry.kind {
        Kind::Timer(_, TimerChange::Armed(deadline)) => running(deadline),
        Kind::Ack(_) => running(entry.after.retransmission_deadline()),
        _ => None,
    };
    let in_recovery = rows.iter().map(|entry| Some(entry.after.in_recovery));
    vec![
        ("deadline_s", real(rows, deadline)),
        ("duplicate_acks", whole(rows, |entry| Some(u64::from(entry.after.duplicates)))),
        ("in_recovery", Arc::new(in_recovery.collect::<BooleanArray>())),
        ("in_flight_bytes", whole(rows, |entry| Some(entry.after.in_flight))),
        ("srtt_s", real(rows, |entry| entry.after.srtt)),
        ("cwnd_before_bytes", real(rows, |entry| Some(entry.before.cwnd))),
        ("cwnd_bytes", real(rows, |entry| Some(entry.after.cwnd))),
        ("inflation_before_bytes", real(rows, |entry| Some(entry.before.inflation))),
        ("inflation_bytes", real(rows, |entry| Some(entry.after.inflation))),
        ("ssthresh_before_bytes", real(rows, |entry| Some(entry.before.ssthresh))),
        ("ssthresh_bytes", real(rows, |entry| Some(entry.after.ssthresh))),
        ("pacing_rate_before_bps", real(rows, |entry| bits(entry.before.pacing_rate))),
        ("pacing_rate_bps", real(rows, |entry| bits(entry.after.pacing_rate))),
    ]
}

/// The columns of an entry of a flow that a stack of others carries: those of the engine's TCP, of which what no stack shows
/// is missing, and `packets`, `wire_bytes` and `newly_lost_packets`.
fn carried_columns(rows: &[CarriedEntry]) -> Columns<'static> {
    let missing = |_: &CarriedEntry| None;
    let sending = |entry: &CarriedEntry, count: fn(&Sending) -> u64| match &entry.kind {
        CarriedKind::Sent(sent) => Some(count(sent)),
        _ => None,
    };
    let segments = |entry: &CarriedEntry| match entry.kind {
        CarriedKind::Sent(sent) => Some(sent.segments),
        CarriedKind::Retransmission(segments) => Some(segments),
        _ => None,
    };
    let of_ack = |entry: &CarriedEntry| matches!(entry.kind, CarriedKind::Ack).then_some(*entry);
    let lost = |entry: &CarriedEntry| {
        let is_loss = matches!(entry.kind, CarriedKind::Loss);
        is_loss.then(|| entry.after.lost.unwrap_or(0).saturating_sub(entry.before.lost.unwrap_or(0)))
    };
    let state = |value: fn(&Shown) -> Option<f64>| {
        (real(rows, |entry| value(&entry.before)), real(rows, |entry| value(&entry.after)))
    };
    let cwnd = state(|shown| shown.cwnd);
    let ssthresh = state(|shown| shown.ssthresh);
    let pacing_rate = state(|shown| shown.pacing_rate);
    vec![
        ("time_s", real(rows, |entry| Some(entry.at.secs()))),
        ("connection", whole(rows, |entry| Some(entry.connection))),
        ("kind", text(rows, |entry| Some(entry.kind.name().to_owned()))),
        ("cause", text(rows, |entry| Some(entry.occasion.to_owned()))),
        ("seq", whole(rows, |entry| of_ack(entry).map(|entry| entry.before.acknowledged))),
        ("end", whole(rows, |entry| of_ack(entry).map(|entry| entry.after.acknowledged))),
        ("segments", whole(rows, segments)),
        ("packets", whole(rows, |entry| sending(entry, |sent| sent.packets))),
        ("wire_bytes", whole(rows, |entry| sending(entry, |sent| sent.bytes))),
        ("sack", text(rows, |_| None)),
        ("duplicate_sack", text(rows, |_| None)),
        ("ecn_echo", Arc::new(rows.iter().map(|_| None).collect::<BooleanArray>())),
        ("rtt_s", real(rows, |entry| of_ack(entry).and_then(|entry| entry.after.latest_rtt))),
        ("delivery_rate_bps", real(rows, |_| None)),
        ("newly_delivered_bytes", whole(rows, missing)),
        ("newly_lost_bytes", whole(rows, missing)),
        ("newly_lost_packets", whole(rows, lost)),
        ("deadline_s", real(rows, |_| None)),
        ("duplicate_acks", whole(rows, missing)),
        ("in_recovery", Arc::new(rows.iter().map(|_| None).collect::<BooleanArray>())),
        ("in_flight_bytes", whole(rows, |entry| entry.after.in_flight)),
        ("srtt_s", real(rows, |entry| entry.after.srtt)),
        ("cwnd_before_bytes", cwnd.0),
        ("cwnd_bytes", cwnd.1),
        ("inflation_before_bytes", real(rows, |_| None)),
        ("inflation_bytes", real(rows, |_| None)),
        ("ssthresh_before_bytes", ssthresh.0),
        ("ssthresh_bytes", ssthresh.1),
        ("pacing_rate_before_bps", pacing_rate.0),
        ("pacing_rate_bps", pacing_rate.1),
    ]
}

/// What is known of a flow that a stack of others carries beside its entries: the payload of a full packet in bytes, and
/// what the stack does not show.
pub fn of_stack(journal: &CarriedJournal) -> (u32, Vec<&'static str>) {
    (journal.mss(), journal.lacks())
}

/// One row per entry.
pub fn entries(journal: &Journal) -> PyResult<ArrowColumns> {
    if let Some(carried) = &journal.carried {
        return ArrowColumns::new(carried_columns(&carried.entries));
    }
    let rows = journal.entries.as_slice();
    let mut columns: Columns<'_> = [event_columns(rows), ack_columns(rows), state_columns(rows)].concat();
    let names: Vec<(String, &str)> =
        journal.quantities.iter().map(|probe| (format!("{}_before", probe.name), probe.name)).collect();
    for (index, &(ref before, after)) in names.iter().enumerate() {
        let value = |state: &Observation| state.quantities.get(index).copied().flatten();
        columns.push((before, real(rows, |entry| value(&entry.before))));
        columns.push((after, real(rows, |entry| value(&entry.after))));
    }
    ArrowColumns::new(columns)
}
