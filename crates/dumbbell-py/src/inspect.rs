//! Captures as Arrow columns.

use crate::columns::ArrowColumns;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use dumbbell_inspect::connection::{Connection, Place};
use dumbbell_inspect::half::Half;
use dumbbell_inspect::repair::Kind;
use dumbbell_inspect::rows::{COLUMNS, Column, Row};
use dumbbell_inspect::series::{AckRow, SegmentRow};
use dumbbell_inspect::{Connections, Reader};
use dumbbell_units::Time;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Segments between two calls of the progress.
const BETWEEN_CALLS: u64 = 1 << 16;

/// What was read from a capture.
#[pyclass(frozen)]
pub struct Inspection {
    connections: Vec<Connection>,
    epoch: Time,
    counts: dumbbell_inspect::Counts,
    omitted: u64,
    /// Position of the connection whose segments were kept, and of its larger direction.
    chosen: Option<(usize, usize)>,
}

#[pymethods]
impl Inspection {
    /// One row per connection, of the direction with more data.
    fn connections(&self) -> PyResult<ArrowColumns> {
        let places = self.connections.iter().enumerate();
        self.table(places.map(|(place, connection)| (place, connection.larger())))
    }

    /// One row per direction that has data.
    fn directions(&self) -> PyResult<ArrowColumns> {
        let has_data =
            |&(place, half): &(usize, usize)| self.connections[place].halves[half].counts.segments > 0;
        let all = (0..self.connections.len()).flat_map(|place| [(place, 0), (place, 1)]);
        self.table(all.filter(has_data))
    }

    /// Time of the first segment since 1970, in ns.
    #[getter]
    fn epoch_ns(&self) -> u64 {
        self.epoch.0
    }

    /// Packets by what they are, and segments of connections beyond those that are listed.
    #[getter]
    fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        vec![
            ("packets", counts.packets),
            ("tcp", counts.tcp),
            ("udp", counts.udp),
            ("other", counts.other),
            ("fragments", counts.fragments),
            ("damaged", counts.damaged),
            ("cut_tail", counts.cut_tail),
            ("backwards", counts.backwards),
            ("untimed", counts.untimed),
            ("omitted", self.omitted),
        ]
    }

    /// The first packet that could not be read, as a sentence.
    #[getter]
    fn damage(&self) -> Option<String> {
        self.counts.first_damage.map(|damage| damage.to_string())
    }

    /// Data segments of the chosen connection.
    fn segments(&self) -> PyResult<Option<ArrowColumns>> {
        let rows = self.half().and_then(|(_, half)| half.series.as_ref()).map(|series| &series.segments);
        rows.map(|rows| self.segment_columns(rows)).transpose()
    }

    /// Segments of the receiver of the chosen connection, each with the state of the sender after it.
    fn acks(&self) -> PyResult<Option<ArrowColumns>> {
        let rows = self.half().and_then(|(_, half)| half.series.as_ref()).map(|series| &series.acks);
        rows.map(|rows| self.ack_columns(rows)).transpose()
    }

    /// What limited the sender of the chosen connection, one row per phase.
    fn phases(&self) -> PyResult<Option<ArrowColumns>> {
        let phases = self.half().and_then(|(_, half)| half.rounds.phases.as_ref());
        let columns = phases.map(|phases| {
            ArrowColumns::new(vec![
                ("start_s", self.times(phases.iter().map(|phase| phase.start))),
                ("end_s", self.times(phases.iter().map(|phase| phase.end))),
                ("limit", texts(phases.iter().map(|phase| phase.limit.name()))),
            ])
        });
        columns.transpose()
    }

    /// Round-trip times of the chosen connection: `time_s` and `value`, in s. At the receiver they are those from an
    /// acknowledgement to the data that echoes its clock; elsewhere those from data to its acknowledgement.
    fn rtts(&self) -> PyResult<Option<ArrowColumns>> {
        let Some((place, half)) = self.half() else { return Ok(None) };
        let Some(series) = &half.series else { return Ok(None) };
        let samples: Vec<(Time, Time)> = match place {
            Place::Receiver => series.echoes.clone(),
            _ => series.acks.iter().filter_map(|row| row.rtt.map(|rtt| (row.at, rtt))).collect(),
        };
        let values = Float64Array::from_iter_values(samples.iter().map(|sample| sample.1.secs()));
        ArrowColumns::new(vec![
            ("time_s", self.times(samples.iter().map(|sample| sample.0))),
            ("value", Arc::new(values)),
        ])
        .map(Some)
    }

    /// Segments and acknowledgements of the chosen connection for which there was no room.
    #[getter]
    fn rows_omitted(&self) -> u64 {
        self.half().and_then(|(_, half)| half.series.as_ref()).map_or(0, |series| series.omitted)
    }
}

impl Inspection {
    /// The direction of the chosen connection with more data, and where it was captured.
    fn half(&self) -> Option<(Place, &Half)> {
        self.chosen.map(|(place, half)| {
            let connection = &self.connections[place];
            (connection.place(half), &connection.halves[half])
        })
    }

    fn table(&self, directions: impl Iterator<Item = (usize, usize)>) -> PyResult<ArrowColumns> {
        let row = |(place, half): (usize, usize)| {
            let connection = &self.connections[place];
            Row { number: place as u64 + 1, connection, half, epoch: self.epoch }
        };
        let rows: Vec<Row<'_>> = directions.map(row).collect();
        ArrowColumns::new(COLUMNS.iter().map(|(name, .., column)| (*name, values(column, &rows))).collect())
    }

    fn times(&self, times: impl Iterator<Item = Time>) -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(times.map(|at| (at - self.epoch).secs())))
    }

    fn segment_columns(&self, rows: &[SegmentRow]) -> PyResult<ArrowColumns> {
        ArrowColumns::new(vec![
            ("time_s", self.times(rows.iter().map(|row| row.at))),
            ("offset", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.offset)))),
            ("bytes", whole(rows.iter().map(|row| Some(row.bytes.into())))),
            ("kind", texts(rows.iter().map(|row| Kind::name(row.kind)))),
            ("spurious", flags(rows.iter().map(|row| row.spurious))),
            ("clock", whole(rows.iter().map(|row| row.clock.map(u64::from)))),
        ])
    }

    fn ack_columns(&self, rows: &[AckRow]) -> PyResult<ArrowColumns> {
        let seconds = |row: &AckRow| row.rtt.map(Time::secs);
        ArrowColumns::new(vec![
            ("time_s", self.times(rows.iter().map(|row| row.at))),
            ("acked", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.acked)))),
            ("sacked", whole(rows.iter().map(|row| Some(row.sacked)))),
            ("window", whole(rows.iter().map(|row| row.window))),
            ("rtt_s", Arc::new(rows.iter().map(seconds).collect::<Float64Array>())),
            ("flight", whole(rows.iter().map(|row| Some(row.flight)))),
            ("delivered", whole(rows.iter().map(|row| Some(row.delivered)))),
            ("rate_bps", Arc::new(rows.iter().map(|row| row.rate).collect::<Float64Array>())),
            ("duplicate", flags(rows.iter().map(|row| row.is_duplicate))),
            ("dsack", flags(rows.iter().map(|row| row.has_dsack))),
            ("ece", flags(rows.iter().map(|row| row.has_ece))),
        ])
    }
}

fn whole(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.collect::<UInt64Array>())
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn flags(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(values.map(Some).collect::<BooleanArray>())
}

fn values(column: &Column, rows: &[Row<'_>]) -> ArrayRef {
    match column {
        Column::Text(value) => Arc::new(StringArray::from_iter_values(rows.iter().map(value))),
        Column::Whole(value) => whole(rows.iter().map(value)),
        Column::Real(value) => Arc::new(rows.iter().map(value).collect::<Float64Array>()),
        Column::Flag(value) => Arc::new(rows.iter().map(value).collect::<BooleanArray>()),
    }
}

/// Reads a capture. The segments of one connection, counted from 1, are kept. `progress` is called with the bytes of the
/// file that were read, and its size, which may be unknown.
///
/// # Errors
///
/// `OSError`: the file cannot be read, or is no capture.
#[pyfunction]
#[pyo3(signature = (path, connection=None, progress=None))]
pub fn inspect(
    py: Python<'_>,
    path: PathBuf,
    connection: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Inspection> {
    let mut reader = Reader::open(&path).map_err(|error| PyOSError::new_err(error.to_string()))?;
    let mut connections = Connections::new(connection);
    let mut epoch = None;
    let mut is_over = false;
    while !is_over {
        is_over = py
            .detach(|| {
                for _ in 0..BETWEEN_CALLS {
                    let Some(segment) = reader.next_segment()? else { return Ok(true) };
                    epoch = Some(epoch.map_or(segment.at, |epoch: Time| epoch.min(segment.at)));
                    connections.on_segment(&segment);
                }
                Ok(false)
            })
            .map_err(|error: dumbbell_inspect::ReadError| PyOSError::new_err(error.to_string()))?;
        py.check_signals()?;
        if let Some(progress) = &progress {
            progress.call1(py, (reader.bytes_read(), reader.size()))?;
        }
    }
    let (omitted, counts) = (connections.omitted, *reader.counts());
    let connections = connections.finish();
    let chosen =
        connection.and_then(|number| number.checked_sub(1)).filter(|place| *place < connections.len());
    let chosen = chosen.map(|place| (place, connections[place].larger()));
    Ok(Inspection { connections, epoch: epoch.unwrap_or_default(), counts, omitted, chosen })
}

/// The columns of connections: name, unit and meaning.
#[pyfunction]
pub fn inspect_columns() -> Vec<(&'static str, &'static str, &'static str)> {
    COLUMNS.iter().map(|(name, unit, meaning, _)| (*name, *unit, *meaning)).collect()
}
