//! Outcomes as Arrow columns, handed to Python without copying.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, LargeStringArray, StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field};
use dumbbell_sim::outcome::Percentiles;
use dumbbell_sim::quantity::Measure;
use dumbbell_sim::trace::{FlowEvent, Recording, TransferRow};
use dumbbell_sim::{FlowOutcome, LinkOutcome, Outcome};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::sync::Arc;

/// A table of columns that any Arrow library takes over without copying.
#[pyclass(frozen)]
pub struct ArrowColumns(StructArray);

#[pymethods]
impl ArrowColumns {
    /// The schema and the columns for another library. The columns keep their types: `requested_schema` is ignored, as the
    /// protocol allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let array = FFI_ArrowArray::new(&self.0.to_data());
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let field = Field::new("", self.0.data_type().clone(), false);
        let schema =
            FFI_ArrowSchema::try_from(field).map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, each by the names of its columns; a value that does not exist is `None`.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let row = |place| {
            let row = PyDict::new(py);
            for (field, column) in self.0.fields().iter().zip(self.0.columns()) {
                row.set_item(field.name(), cell(py, column, place)?)?;
            }
            Ok(row)
        };
        (0..self.0.len()).map(row).collect()
    }
}

/// A value of a column for Python.
fn cell<'py>(py: Python<'py>, column: &ArrayRef, place: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    if column.is_null(place) {
        return Ok(None);
    }
    Ok(Some(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(place).into_pyobject(py)?.into_any(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(place).into_pyobject(py)?.into_any(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(place).into_pyobject(py)?.into_any(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(place).into_pyobject(py)?.into_any(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(place).into_pyobject(py)?.into_any(),
        other => return Err(PyTypeError::new_err(format!("{other}: unsupported column type"))),
    }))
}

impl ArrowColumns {
    /// A table of columns of the same length, by name.
    pub fn new(columns: Vec<(&str, ArrayRef)>) -> PyResult<Self> {
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), array.is_nullable()))
            .collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        StructArray::try_new(fields.into(), arrays, None)
            .map(ArrowColumns)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// The rows of one table, each with its outcome.
struct Rows<'a, T>(Vec<(u32, &'a Outcome, &'a T)>);

impl<T> Rows<'_, T> {
    fn u64(&self, value: impl Fn(&T) -> u64) -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(self.0.iter().map(|row| value(row.2))))
    }

    fn f64(&self, value: impl Fn(&T) -> f64) -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(self.0.iter().map(|row| value(row.2))))
    }

    fn maybe(&self, value: impl Fn(&T) -> Option<f64>) -> ArrayRef {
        Arc::new(self.0.iter().map(|row| value(row.2)).collect::<Float64Array>())
    }

    fn maybe_u64(&self, value: impl Fn(&T) -> Option<u64>) -> ArrayRef {
        Arc::new(self.0.iter().map(|row| value(row.2)).collect::<UInt64Array>())
    }

    fn text(&self, value: impl Fn(&T) -> &str) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(self.0.iter().map(|row| value(row.2))))
    }

    fn run(&self, value: impl Fn(&Outcome) -> u64) -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(self.0.iter().map(|row| value(row.1))))
    }

    fn head(&self) -> Vec<(&'static str, ArrayRef)> {
        let jobs = UInt32Array::from_iter_values(self.0.iter().map(|row| row.0));
        vec![
            ("job", Arc::new(jobs) as ArrayRef),
            ("seed", self.run(|outcome| outcome.seed)),
            ("run", self.run(|outcome| outcome.run)),
        ]
    }
}

/// Completion times of a flow's transfers.
fn times(row: &FlowOutcome) -> Percentiles {
    row.transfers.map(|transfers| transfers.completion_s).unwrap_or_default()
}

/// Slowdowns of a flow's transfers.
fn slowdowns(row: &FlowOutcome) -> Percentiles {
    row.transfers.map(|transfers| transfers.slowdown).unwrap_or_default()
}

/// One row per job and flow.
pub fn flows<'a>(outcomes: impl Iterator<Item = (u32, &'a Outcome)>) -> PyResult<ArrowColumns> {
    let rows: Rows<'_, FlowOutcome> = Rows(
        outcomes
            .flat_map(|(job, outcome)| outcome.flows.iter().map(move |row| (job, outcome, row)))
            .collect(),
    );
    let simulated = rows.0.iter().map(|row| row.1.simulated_s);
    let mut columns = rows.head();
    columns.extend([
        ("fingerprint", rows.run(|outcome| outcome.fingerprint)),
        ("simulated_s", Arc::new(Float64Array::from_iter_values(simulated)) as ArrayRef),
        ("events", rows.run(|outcome| outcome.events)),
        ("name", rows.text(|row| &row.name)),
        ("goodput_bps", rows.f64(|row| row.goodput_bps)),
        ("throughput_bps", rows.f64(|row| row.throughput_bps)),
        ("bytes_delivered", rows.u64(|row| row.bytes_delivered)),
        ("segments_sent", rows.u64(|row| row.segments_sent)),
        ("segments_retransmitted", rows.maybe_u64(|row| row.segments_retransmitted)),
        ("bytes_retransmitted", rows.maybe_u64(|row| row.bytes_retransmitted)),
        ("timeouts", rows.maybe_u64(|row| row.timeouts)),
        ("fast_retransmits", rows.maybe_u64(|row| row.fast_retransmits)),
        ("completion_s", rows.maybe(|row| row.completion_s)),
        ("start_s", rows.f64(|row| row.start_s)),
        ("rtt_mean_s", rows.maybe(|row| row.rtt_mean_s)),
        ("rtt_min_s", rows.maybe(|row| row.rtt_min_s)),
        ("segments_lost", rows.u64(|row| row.segments_lost)),
        ("connections", rows.u64(|row| row.connections)),
        ("connections_given_up", rows.u64(|row| row.connections_given_up)),
        ("receive_window_limited", rows.maybe_u64(|row| row.receive_window_limited)),
        ("rtt_p50_s", rows.maybe(|row| row.rtt.p50)),
        ("rtt_p95_s", rows.maybe(|row| row.rtt.p95)),
        ("rtt_p99_s", rows.maybe(|row| row.rtt.p99)),
        ("rtt_max_s", rows.maybe(|row| row.rtt.max)),
        ("delay_mean_s", rows.maybe(|row| row.delay.mean)),
        ("delay_p50_s", rows.maybe(|row| row.delay.p50)),
        ("delay_p95_s", rows.maybe(|row| row.delay.p95)),
        ("delay_p99_s", rows.maybe(|row| row.delay.p99)),
        ("delay_max_s", rows.maybe(|row| row.delay.max)),
        ("transfers", rows.u64(|row| row.transfers.map_or(0, |transfers| transfers.begun))),
        ("transfers_completed", rows.u64(|row| row.transfers.map_or(0, |transfers| transfers.completed))),
        ("transfers_refused", rows.u64(|row| row.transfers.map_or(0, |transfers| transfers.refused))),
        ("fct_mean_s", rows.maybe(|row| times(row).mean)),
        ("fct_p50_s", rows.maybe(|row| times(row).p50)),
        ("fct_p95_s", rows.maybe(|row| times(row).p95)),
        ("fct_p99_s", rows.maybe(|row| times(row).p99)),
        ("fct_max_s", rows.maybe(|row| times(row).max)),
        ("slowdown_mean", rows.maybe(|row| slowdowns(row).mean)),
        ("slowdown_p50", rows.maybe(|row| slowdowns(row).p50)),
        ("slowdown_p95", rows.maybe(|row| slowdowns(row).p95)),
        ("slowdown_p99", rows.maybe(|row| slowdowns(row).p99)),
        ("bitrate_mean_bps", rows.maybe(|row| row.playback.and_then(|seen| seen.bitrate_mean_bps()))),
        ("bitrate_switches", rows.maybe_u64(|row| row.playback.map(|seen| seen.switches))),
        ("rebuffering_s", rows.maybe(|row| row.playback.map(|seen| seen.rebuffering.secs()))),
        ("startup_s", rows.maybe(|row| row.playback.and_then(|seen| seen.startup).map(|time| time.secs()))),
        ("messages", rows.u64(|row| row.messages.map_or(0, |messages| messages.written))),
        ("messages_late", rows.maybe_u64(|row| row.messages.and_then(|messages| messages.late))),
        ("messages_skipped", rows.maybe_u64(|row| row.messages.and_then(|messages| messages.skipped))),
    ]);
    ArrowColumns::new(columns)
}

/// One row per job and link.
pub fn links<'a>(outcomes: impl Iterator<Item = (u32, &'a Outcome)>) -> PyResult<ArrowColumns> {
    let rows: Rows<'_, LinkOutcome> = Rows(
        outcomes
            .flat_map(|(job, outcome)| outcome.links.iter().map(move |row| (job, outcome, row)))
            .collect(),
    );
    let mut columns = rows.head();
    columns.extend([
        ("name", rows.text(|row| &row.name)),
        ("utilization", rows.f64(|row| row.utilization)),
        ("drops_queue", rows.u64(|row| row.drops_queue)),
        ("drops_early", rows.u64(|row| row.drops_early)),
        ("drops_policer", rows.u64(|row| row.drops_policer)),
        ("drops_impairment", rows.u64(|row| row.drops_impairment)),
        ("duplicates", rows.u64(|row| row.duplicates)),
        ("marks", rows.u64(|row| row.marks)),
        ("packets", rows.u64(|row| row.packets)),
        ("backlog_mean_packets", rows.f64(|row| row.backlog_mean_packets)),
        ("backlog_max_packets", rows.u64(|row| row.backlog_max_packets)),
        ("wait_mean_s", rows.maybe(|row| row.wait_mean_s)),
        ("wait_p50_s", rows.maybe(|row| row.wait_p50_s)),
        ("wait_p95_s", rows.maybe(|row| row.wait_p95_s)),
        ("wait_p99_s", rows.maybe(|row| row.wait_p99_s)),
        ("wait_max_s", rows.maybe(|row| row.wait_max_s)),
        ("wait_l_mean_s", rows.maybe(|row| row.wait_l_mean_s)),
        ("wait_l_p99_s", rows.maybe(|row| row.wait_l_p99_s)),
        ("wait_c_mean_s", rows.maybe(|row| row.wait_c_mean_s)),
        ("wait_c_p99_s", rows.maybe(|row| row.wait_c_p99_s)),
    ]);
    ArrowColumns::new(columns)
}

/// The columns of events. Integers without a value are null, like numbers.
fn events(events: Vec<&FlowEvent>) -> [(&'static str, ArrayRef); 8] {
    let whole = |value: &dyn Fn(&FlowEvent) -> Option<u64>| -> ArrayRef {
        Arc::new(events.iter().map(|event| value(event)).collect::<UInt64Array>())
    };
    let real = |value: &dyn Fn(&FlowEvent) -> Option<f64>| -> ArrayRef {
        Arc::new(events.iter().map(|event| value(event)).collect::<Float64Array>())
    };
    [
        ("connection", whole(&|event| event.connection)),
        ("kind", Arc::new(LargeStringArray::from_iter_values(events.iter().map(|event| event.kind.name())))),
        ("seq", whole(&|event| event.seq)),
        ("snd_una", whole(&|event| event.sender.map(|sender| sender.snd_una))),
        ("snd_max", whole(&|event| event.sender.map(|sender| sender.snd_max))),
        ("cwnd_before_bytes", real(&|event| event.sender.map(|sender| sender.cwnd_before))),
        ("cwnd_bytes", real(&|event| event.sender.map(|sender| sender.cwnd))),
        ("rtt_mean_s", real(&|event| event.sender.and_then(|sender| sender.rtt_mean))),
    ]
}

/// The columns of transfers.
fn transfers(rows: &[&TransferRow]) -> [(&'static str, ArrayRef); 7] {
    let whole = |value: &dyn Fn(&TransferRow) -> Option<u64>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| value(row)).collect::<UInt64Array>())
    };
    let real = |value: &dyn Fn(&TransferRow) -> Option<f64>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| value(row)).collect::<Float64Array>())
    };
    [
        ("kind", Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|row| row.kind)))),
        ("connection", whole(&|row| row.connection)),
        ("size_bytes", whole(&|row| row.bytes)),
        ("completion_s", real(&|row| row.completion.map(|took| took.secs()))),
        ("slowdown", real(&|row| row.slowdown)),
        ("segments_retransmitted", whole(&|row| Some(row.segments_retransmitted))),
        ("timeouts", whole(&|row| Some(row.timeouts))),
    ]
}

/// One table per probed quantity, by quantity; with the job of each row if requested.
pub fn traces<'py>(
    py: Python<'py>,
    recordings: &[(u32, &Recording)],
    with_jobs: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let mut quantities: Vec<&'static str> = recordings.iter().map(|(_, r)| r.quantity.name()).collect();
    quantities.sort_unstable();
    quantities.dedup();
    let tables = PyDict::new(py);
    for quantity in quantities {
        let chosen: Vec<&(u32, &Recording)> =
            recordings.iter().filter(|(_, r)| r.quantity.name() == quantity).collect();
        let rows = |recording: &Recording| 0..recording.times.len();
        let names: Vec<&str> = chosen.iter().flat_map(|(_, r)| rows(r).map(|_| r.name.as_str())).collect();
        let times: Vec<f64> = chosen.iter().flat_map(|(_, r)| r.times.iter().copied()).collect();
        let mut columns = vec![
            ("time_s", Arc::new(Float64Array::from(times)) as ArrayRef),
            ("name", Arc::new(LargeStringArray::from_iter_values(names))),
        ];
        if chosen.iter().any(|(_, r)| r.quantity.is(Measure::TcpEvents)) {
            columns.extend(events(chosen.iter().flat_map(|(_, r)| &r.events).collect()));
        } else if chosen.iter().any(|(_, r)| r.quantity.is(Measure::Transfers)) {
            columns.extend(transfers(&chosen.iter().flat_map(|(_, r)| &r.transfers).collect::<Vec<_>>()));
        } else {
            let values: Vec<f64> = chosen.iter().flat_map(|(_, r)| r.values.iter().copied()).collect();
            columns.push(("value", Arc::new(Float64Array::from(values))));
        }
        if with_jobs {
            let jobs: Vec<u32> = chosen.iter().flat_map(|(job, r)| rows(r).map(|_| *job)).collect();
            columns.insert(0, ("job", Arc::new(UInt32Array::from(jobs))));
        }
        tables.set_item(quantity, ArrowColumns::new(columns)?)?;
    }
    Ok(tables)
}
