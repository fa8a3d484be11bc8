//! Outcomes as Arrow columns, handed to Python without copying.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, LargeStringArray, StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field};
use dumbbell_sim::columns::{Column, FLOWS, LINKS};
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
        DataType::Boolean => column.as_boolean().value(place).into_pyobject(py)?.to_owned().into_any(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(place).into_pyobject(py)?.into_any(),
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
    fn column(&self, column: &Column<T>) -> ArrayRef {
        let rows = self.0.iter().map(|row| row.2);
        match column {
            Column::Text(value) => Arc::new(StringArray::from_iter_values(rows.map(value))),
            Column::Whole(value) => Arc::new(UInt64Array::from_iter_values(rows.map(value))),
            Column::MaybeWhole(value) => Arc::new(rows.map(value).collect::<UInt64Array>()),
            Column::Real(value) => Arc::new(Float64Array::from_iter_values(rows.map(value))),
            Column::MaybeReal(value) => Arc::new(rows.map(value).collect::<Float64Array>()),
        }
    }

    fn columns(&self, columns: &'static [(&'static str, Column<T>)]) -> Vec<(&'static str, ArrayRef)> {
        columns.iter().map(|(name, column)| (*name, self.column(column))).collect()
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
    ]);
    columns.extend(rows.columns(FLOWS));
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
    columns.extend(rows.columns(LINKS));
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
