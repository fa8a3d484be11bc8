//! Medians and ranges, as an aligned table and as JSON.

use crate::cases::Case;
use crate::measurement::Measurement;
use serde_json::{Value, json};
use std::fmt::Write;

/// The turns of one case: one run of each program per turn.
#[derive(Clone, Debug)]
pub struct Turns {
    case: Case,
    /// Runs of the engine.
    pub engine: Vec<Measurement>,
    /// Runs of the bare loop, each immediately after the engine's run of the same turn.
    pub bare: Vec<Measurement>,
}

/// Minimum, median and maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let count = sorted.len();
        let median = (at(count.saturating_sub(1) / 2) + at(count / 2)) / 2.0;
        Spread { low: at(0), median, high: at(count.saturating_sub(1)) }
    }

    fn written(&self, unit: f64) -> [String; 2] {
        let Spread { low, median, high } = self;
        [format!("{:.2}", median / unit), format!("({:.2} to {:.2})", low / unit, high / unit)]
    }

    fn to_json(self) -> Value {
        json!({ "median": self.median, "low": self.low, "high": self.high })
    }
}

impl Turns {
    /// No turns yet.
    pub fn new(case: Case) -> Turns {
        Turns { case, engine: Vec::new(), bare: Vec::new() }
    }

    /// Total CPU time of all runs, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.engine.iter().chain(&self.bare).map(|run| run.cpu_s).sum()
    }

    fn rates(&self) -> (Spread, Spread, Spread) {
        let rates = |runs: &[Measurement]| Spread::of(runs.iter().map(Measurement::rate));
        let ratios = self.engine.iter().zip(&self.bare).map(|(engine, bare)| engine.rate() / bare.rate());
        (rates(&self.engine), rates(&self.bare), Spread::of(ratios))
    }
}

fn events_per_packet(runs: &[Measurement]) -> f64 {
    runs.first().map_or(f64::NAN, Measurement::events_per_packet)
}

fn peak_bytes(runs: &[Measurement]) -> u64 {
    runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0)
}

/// An aligned table with an explanation.
pub fn table(all: &[Turns]) -> String {
    let heads = [
        "case",
        "",
        "engine",
        "",
        "bare loop",
        "",
        "ratio",
        "",
        "events/packet",
        "bare",
        "peak MiB",
        "bare",
        "turns",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for turns in all {
        let (engine, bare, ratio) = turns.rates();
        let mut row = vec![turns.case.name.to_owned(), turns.case.summary()];
        row.extend([engine.written(1e6), bare.written(1e6), ratio.written(1.0)].concat());
        row.extend([&turns.engine, &turns.bare].map(|runs| format!("{:.2}", events_per_packet(runs))));
        let mebibytes = |runs: &Vec<Measurement>| format!("{:.1}", peak_bytes(runs) as f64 / 1_048_576.0);
        row.extend([&turns.engine, &turns.bare].map(mebibytes));
        row.push(turns.engine.len().to_string());
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::from(
        "Millions of delivered data packets per CPU second: median (minimum to maximum) over the turns. The bare loop\n\
         passes the same packets over the same links, with the engine's ring buffers, event heap and chaining of links,\n\
         but without TCP.\n\n",
    );
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Names and ranges are left-aligned, numbers are right-aligned.
            let is_left = matches!(column, 0 | 1 | 3 | 5 | 7);
            let gap = if matches!(column, 0 | 3 | 5 | 7) { " " } else { "  " };
            let _ = if is_left {
                write!(line, "{gap}{cell:<width$}")
            } else {
                write!(line, "{gap}{cell:>width$}")
            };
        }
        text.push_str(line.trim());
        text.push('\n');
    }
    text
}

/// One JSON object with all numbers of the table.
pub fn json(all: &[Turns]) -> Value {
    let contender = |runs: &[Measurement], rate: Spread| {
        json!({
            "packets_per_cpu_s": rate.to_json(),
            "packets": runs.first().map(|run| run.packets),
            "events_per_packet": events_per_packet(runs),
            "peak_bytes": peak_bytes(runs),
            "cpu_s": runs.iter().map(|run| run.cpu_s).collect::<Vec<_>>(),
            "fingerprint": runs.first().and_then(|run| run.fingerprint.clone()),
            "utilization": runs.first().and_then(|run| run.utilization),
        })
    };
    let case = |turns: &Turns| {
        let (engine, bare, ratio) = turns.rates();
        json!({
            "case": turns.case.name,
            "summary": turns.case.summary(),
            "turns": turns.engine.len(),
            "engine": contender(&turns.engine, engine),
            "bare": contender(&turns.bare, bare),
            "ratio": ratio.to_json(),
        })
    };
    json!({ "version": dumbbell_sim::VERSION, "cases": all.iter().map(case).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;

    fn run(packets: u64, cpu_s: f64) -> Measurement {
        let (events, peak_bytes) = (2 * packets, 3 << 20);
        Measurement { packets, events, cpu_s, peak_bytes, fingerprint: None, utilization: None }
    }

    fn turns() -> Turns {
        Turns {
            engine: vec![run(2_000_000, 1.0), run(2_000_000, 2.0), run(2_000_000, 0.5)],
            bare: vec![run(4_000_000, 1.0), run(4_000_000, 1.0), run(4_000_000, 0.5)],
            ..Turns::new(CASES[0].clone())
        }
    }

    #[test]
    fn ratios_are_computed_per_turn() {
        // The engine delivers 2, 1 and 4 million packets per second, the bare loop 4, 4 and 8.
        let (engine, bare, ratio) = turns().rates();
        assert_eq!(engine, Spread { low: 1e6, median: 2e6, high: 4e6 });
        assert_eq!(bare.median, 4e6);
        assert_eq!(ratio, Spread { low: 0.25, median: 0.5, high: 0.5 });
        assert_eq!(turns().cpu_s(), 6.0);
    }

    #[test]
    fn the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() {
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0].into_iter()).median, 2.5);
    }

    #[test]
    fn the_table_is_aligned_and_has_a_row_for_each_case() {
        let mut second = turns();
        second.case = CASES[3].clone();
        let text = table(&[turns(), second]);
        let rows: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[1].chars().count(), rows[2].chars().count());
        assert!(rows[1].contains("2.00") && rows[1].contains("(1.00 to 4.00)"), "{text}");
    }

    #[test]
    fn the_json_object_has_the_numbers_of_the_table() {
        let value = json(&[turns()]);
        assert_eq!(value["cases"][0]["engine"]["packets_per_cpu_s"]["median"], 2e6);
        assert_eq!(value["cases"][0]["ratio"]["low"], 0.25);
        assert_eq!(value["cases"][0]["bare"]["events_per_packet"], 2.0);
    }
}
