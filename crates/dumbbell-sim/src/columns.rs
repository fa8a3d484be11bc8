//! The columns of the tables of results, declared once for every door: their names, types and values.

use crate::outcome::{FlowOutcome, LinkOutcome, Percentiles};
use Column::{MaybeReal, MaybeWhole, Real, Text, Whole};
use serde_json::{Value, json};

/// A column of a table whose rows are `T`: the value of a row by the type of the column.
pub enum Column<T> {
    /// A name.
    Text(fn(&T) -> &str),
    /// An integer.
    Whole(fn(&T) -> u64),
    /// An integer that some rows do not have.
    MaybeWhole(fn(&T) -> Option<u64>),
    /// A number.
    Real(fn(&T) -> f64),
    /// A number that some rows do not have.
    MaybeReal(fn(&T) -> Option<f64>),
}

impl<T> Column<T> {
    /// The value of a row as JSON, null where it has none.
    pub fn json(&self, row: &T) -> Value {
        match self {
            Text(value) => json!(value(row)),
            Whole(value) => json!(value(row)),
            MaybeWhole(value) => json!(value(row)),
            Real(value) => json!(value(row)),
            MaybeReal(value) => json!(value(row)),
        }
    }
}

/// The columns of flows.
pub const FLOWS: &[(&str, Column<FlowOutcome>)] = &[
    ("name", Text(|row| &row.name)),
    ("goodput_bps", Real(|row| row.goodput_bps)),
    ("throughput_bps", Real(|row| row.throughput_bps)),
    ("bytes_delivered", Whole(|row| row.bytes_delivered)),
    ("segments_sent", Whole(|row| row.segments_sent)),
    ("segments_retransmitted", MaybeWhole(|row| row.segments_retransmitted)),
    ("bytes_retransmitted", MaybeWhole(|row| row.bytes_retransmitted)),
    ("timeouts", MaybeWhole(|row| row.timeouts)),
    ("fast_retransmits", MaybeWhole(|row| row.fast_retransmits)),
    ("completion_s", MaybeReal(|row| row.completion_s)),
    ("start_s", Real(|row| row.start_s)),
    ("rtt_mean_s", MaybeReal(|row| row.rtt_mean_s)),
    ("rtt_min_s", MaybeReal(|row| row.rtt_min_s)),
    ("segments_lost", Whole(|row| row.segments_lost)),
    ("connections", Whole(|row| row.connections)),
    ("connections_given_up", Whole(|row| row.connections_given_up)),
    ("receive_window_limited", MaybeWhole(|row| row.receive_window_limited)),
    ("rtt_p50_s", MaybeReal(|row| row.rtt.p50)),
    ("rtt_p95_s", MaybeReal(|row| row.rtt.p95)),
    ("rtt_p99_s", MaybeReal(|row| row.rtt.p99)),
    ("rtt_max_s", MaybeReal(|row| row.rtt.max)),
    ("delay_mean_s", MaybeReal(|row| row.delay.mean)),
    ("delay_p50_s", MaybeReal(|row| row.delay.p50)),
    ("delay_p95_s", MaybeReal(|row| row.delay.p95)),
    ("delay_p99_s", MaybeReal(|row| row.delay.p99)),
    ("delay_max_s", MaybeReal(|row| row.delay.max)),
    ("transfers", Whole(|row| row.transfers.map_or(0, |transfers| transfers.begun))),
    ("transfers_completed", Whole(|row| row.transfers.map_or(0, |transfers| transfers.completed))),
    ("transfers_refused", Whole(|row| row.transfers.map_or(0, |transfers| transfers.refused))),
    ("fct_mean_s", MaybeReal(|row| times(row).mean)),
    ("fct_p50_s", MaybeReal(|row| times(row).p50)),
    ("fct_p95_s", MaybeReal(|row| times(row).p95)),
    ("fct_p99_s", MaybeReal(|row| times(row).p99)),
    ("fct_max_s", MaybeReal(|row| times(row).max)),
    ("slowdown_mean", MaybeReal(|row| slowdowns(row).mean)),
    ("slowdown_p50", MaybeReal(|row| slowdowns(row).p50)),
    ("slowdown_p95", MaybeReal(|row| slowdowns(row).p95)),
    ("slowdown_p99", MaybeReal(|row| slowdowns(row).p99)),
    ("bitrate_mean_bps", MaybeReal(|row| row.playback.and_then(|seen| seen.bitrate_mean_bps()))),
    ("bitrate_switches", MaybeWhole(|row| row.playback.map(|seen| seen.switches))),
    ("rebuffering_s", MaybeReal(|row| row.playback.map(|seen| seen.rebuffering.secs()))),
    ("startup_s", MaybeReal(|row| row.playback.and_then(|seen| seen.startup).map(|time| time.secs()))),
    ("messages", Whole(|row| row.messages.map_or(0, |messages| messages.written))),
    ("messages_late", MaybeWhole(|row| row.messages.and_then(|messages| messages.late))),
    ("messages_skipped", MaybeWhole(|row| row.messages.and_then(|messages| messages.skipped))),
];

/// The columns of links.
pub const LINKS: &[(&str, Column<LinkOutcome>)] = &[
    ("name", Text(|row| &row.name)),
    ("utilization", Real(|row| row.utilization)),
    ("drops_queue", Whole(|row| row.drops_queue)),
    ("drops_early", Whole(|row| row.drops_early)),
    ("drops_policer", Whole(|row| row.drops_policer)),
    ("drops_impairment", Whole(|row| row.drops_impairment)),
    ("duplicates", Whole(|row| row.duplicates)),
    ("marks", Whole(|row| row.marks)),
    ("packets", Whole(|row| row.packets)),
    ("backlog_mean_packets", Real(|row| row.backlog_mean_packets)),
    ("backlog_max_packets", Whole(|row| row.backlog_max_packets)),
    ("wait_mean_s", MaybeReal(|row| row.wait_mean_s)),
    ("wait_p50_s", MaybeReal(|row| row.wait_p50_s)),
    ("wait_p95_s", MaybeReal(|row| row.wait_p95_s)),
    ("wait_p99_s", MaybeReal(|row| row.wait_p99_s)),
    ("wait_max_s", MaybeReal(|row| row.wait_max_s)),
    ("wait_l_mean_s", MaybeReal(|row| row.wait_l_mean_s)),
    ("wait_l_p99_s", MaybeReal(|row| row.wait_l_p99_s)),
    ("wait_c_mean_s", MaybeReal(|row| row.wait_c_mean_s)),
    ("wait_c_p99_s", MaybeReal(|row| row.wait_c_p99_s)),
];

/// Completion times of a flow's transfers.
fn times(row: &FlowOutcome) -> Percentiles {
    row.transfers.map(|transfers| transfers.completion_s).unwrap_or_default()
}

/// Slowdowns of a flow's transfers.
fn slowdowns(row: &FlowOutcome) -> Percentiles {
    row.transfers.map(|transfers| transfers.slowdown).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_a_row_does_not_have_is_null() {
        let flow = FlowOutcome { name: "f".into(), segments_sent: 3, ..FlowOutcome::default() };
        let value = |name: &str| {
            let (_, column) = FLOWS.iter().find(|(known, _)| *known == name).expect("a column");
            column.json(&flow)
        };
        assert_eq!(
            [value("name"), value("segments_sent"), value("timeouts")],
            [json!("f"), json!(3), json!(null)]
        );
    }
}
