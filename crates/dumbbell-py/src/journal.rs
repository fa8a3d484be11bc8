//! The journal of a flow as Arrow columns.

use crate::columns::ArrowColumns;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use dumbbell_sim::journal::columns::{Column, ENTRIES};
use dumbbell_sim::journal::{
    CarriedEntry, CarriedJournal, CarriedKind, Entry, Journal, Observation, Sending,
};
use dumbbell_sim::transport::Shown;
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

type Columns<'a> = Vec<(&'a str, ArrayRef)>;

/// A column of entries, of the type that it declares.
fn column(column: &Column, rows: &[Entry]) -> ArrayRef {
    match column {
        Column::Text(value) => text(rows, value),
        Column::Whole(value) => whole(rows, value),
        Column::Real(value) => real(rows, value),
        Column::Flag(value) => Arc::new(rows.iter().map(value).collect::<BooleanArray>()),
    }
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
    let mut columns: Columns<'_> = ENTRIES.iter().map(|(name, of)| (*name, column(of, rows))).collect();
    let names: Vec<(String, &str)> =
        journal.quantities.iter().map(|probe| (format!("{}_before", probe.name), probe.name)).collect();
    for (index, &(ref before, after)) in names.iter().enumerate() {
        let value = |state: &Observation| state.quantities.get(index).copied().flatten();
        columns.push((before, real(rows, |entry| value(&entry.before))));
        columns.push((after, real(rows, |entry| value(&entry.after))));
    }
    ArrowColumns::new(columns)
}
