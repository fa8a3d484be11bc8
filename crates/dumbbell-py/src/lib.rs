//! The native module `dumbbell._engine`: scenario in, Arrow columns out, GIL released.
//!
//! The Python package documents the public interface. This module converts values and runs jobs on threads; the engine
//! itself uses no threads.

mod agent;
mod capture;
mod columns;
mod control;
mod events;
mod hosts;
mod inspect;
mod journal;
mod many;
mod memory;
mod scenario;
mod script;
mod steps;

use capture::Recorder;
use columns::ArrowColumns;
use dumbbell_sim::capture::Tap;
use dumbbell_sim::journal::Request;
use dumbbell_sim::{Outcome, catalogue};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Time, Value};
use hosts::Hosts;
use many::{Listeners, ManyResult};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::PyStated;

#[global_allocator]
static ALLOCATOR: memory::Ending = memory::Ending;

// Exceptions name the module that exports them, so that pickles find them: they cross processes and clusters.
pyo3::create_exception!(
    dumbbell.errors,
    ScenarioError,
    PyValueError,
    "A scenario was rejected. `field` is the path, `value` the value found, `accepted` the accepted values, \
    `suggestion` a near miss or None."
);

pyo3::create_exception!(
    dumbbell.errors,
    EngineError,
    PyRuntimeError,
    "The engine violated one of its invariants, such as the conservation of packets. The results of the run are invalid."
);

pyo3::create_exception!(
    dumbbell.errors,
    ControlError,
    PyValueError,
    "A congestion control of the user was rejected: the message names the class or library, the function, the value and what is \
    accepted."
);

pyo3::create_exception!(
    dumbbell.errors,
    TransportError,
    PyRuntimeError,
    "A transport that is not the engine's could not be started or failed during a run: the message says which and why."
);

fn refused(error: &SpecError) -> PyErr {
    Python::attach(|py| {
        let raised = ScenarioError::new_err(error.to_string());
        let value = raised.value(py);
        let set = value
            .setattr("field", &error.field)
            .and_then(|()| value.setattr("value", &error.value))
            .and_then(|()| value.setattr("accepted", &error.accepted))
            .and_then(|()| value.setattr("suggestion", &error.suggestion));
        set.err().unwrap_or(raised)
    })
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    dumbbell_sim::VERSION
}

/// Digest of what determines the engine's results: its sources, the compiler and the profile.
#[pyfunction]
fn digest() -> &'static str {
    env!("DUMBBELL_ENGINE_DIGEST")
}

/// JSON Schema of a scenario, as text.
#[pyfunction]
fn schema() -> String {
    catalogue::schema().to_string()
}

/// Everything that a scenario can name, as JSON text.
#[pyfunction(name = "catalogue")]
fn catalogue_text() -> String {
    let mut entries = catalogue::entries();
    entries["transports"] = hosts::transports().iter().map(|host| host.entry()).collect();
    entries.to_string()
}

/// How an external congestion control violates a property that every algorithm has, as a sentence; `None` if it has all.
#[pyfunction]
fn check(name: &str, digest: &str, parameters: &str, controls: Py<PyAny>) -> PyResult<Option<String>> {
    let stated = Value::from_iter([
        ("name", name.into()),
        ("digest", digest.into()),
        ("parameters", parameters.parse::<Value>().unwrap_or_default()),
    ]);
    Hosts::new(Some(controls)).check(&stated)
}

/// One run with its tables and traces.
#[pyclass(frozen)]
struct RunResult {
    outcome: Outcome,
    /// Numbers of packets and of events written to files.
    captured: (u64, u64),
}

#[pymethods]
impl RunResult {
    #[getter]
    fn flows(&self) -> PyResult<ArrowColumns> {
        columns::flows(std::iter::once((0, &self.outcome)))
    }

    #[getter]
    fn links(&self) -> PyResult<ArrowColumns> {
        columns::links(std::iter::once((0, &self.outcome)))
    }

    #[getter]
    fn traces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns::traces(
            py,
            &self.outcome.recordings.iter().map(|recording| (0, recording)).collect::<Vec<_>>(),
            false,
        )
    }

    #[getter]
    fn captured(&self) -> (u64, u64) {
        self.captured
    }

    fn summary(&self) -> String {
        self.outcome.summary().to_string()
    }

    /// The journal: its entries, names and units of the quantities of the congestion control, and the number of entries
    /// that found no room; of a flow over another transport also the payload of a full packet, and what its stack does not
    /// show. `None` unless the run was asked for one.
    fn journal(&self) -> PyResult<Option<JournalTables>> {
        let Some(journal) = &self.outcome.journal else { return Ok(None) };
        let quantities = journal.quantities.iter().map(|probe| (probe.name, probe.unit)).collect();
        let carried = journal.carried.as_ref();
        let omitted = carried.map_or(journal.omitted, |carried| carried.omitted);
        Ok(Some((journal::entries(journal)?, quantities, omitted, carried.map(journal::of_stack))))
    }
}

/// The entries of a journal, its quantities with their units, the number of entries omitted, and what is known of a stack.
type JournalTables = (ArrowColumns, Vec<(&'static str, &'static str)>, u64, Option<(u32, Vec<&'static str>)>);

/// Runs a scenario once. `controls` finds congestion controls in Python; see [`control::PythonHost`]. `clock` is called
/// about ten times a second with the simulated time, in s. `journal` is the position of a flow with the first and the
/// last nanosecond for which a journal is kept. `capture` says which files of packets and events are written.
#[pyfunction]
#[pyo3(signature = (scenario, seed, run, controls=None, *, clock=None, journal=None, capture=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of Python, most by name")]
fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyStated>,
    seed: u64,
    run: u64,
    controls: Option<Py<PyAny>>,
    clock: Option<Py<PyAny>>,
    journal: Option<(u32, u64, u64)>,
    capture: Option<capture::Request>,
) -> PyResult<RunResult> {
    let hosts = Hosts::new(controls);
    let scenarios = [hosts.bind(scenario.get().0.clone(), &[])?];
    let journal = journal.map(|(flow, from, until)| Request { flow, window: (Time(from), Time(until)) });
    let recorder =
        capture.map(|request| Recorder::begin(&scenarios[0], request, hosts.fault())).transpose()?;
    let tap = recorder.as_ref().map(|recorder| recorder as &dyn Tap);
    let listeners = Listeners { clock, journal, tap, ..Listeners::default() };
    let done = many::run(py, &scenarios, &[(0, seed, run)], 1, &listeners, false, hosts.fault())?;
    let captured = recorder.map(Recorder::finish).transpose()?.unwrap_or_default();
    let outcome = done.into_outcomes().pop().map(|(_, outcome)| RunResult { outcome, captured });
    outcome.ok_or_else(|| PyRuntimeError::new_err("the run ended without a result"))
}

/// Runs many jobs on threads; see [`many`] and [`run`].
#[pyfunction]
#[pyo3(signature = (scenarios, jobs, threads, progress=None, *, finished=None, partial=false, controls=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of Python, most by name")]
fn run_many(
    py: Python<'_>,
    scenarios: Vec<Bound<'_, PyStated>>,
    jobs: Vec<(usize, u64, u64)>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    finished: Option<Py<PyAny>>,
    partial: bool,
    controls: Option<Py<PyAny>>,
) -> PyResult<ManyResult> {
    let hosts = Hosts::new(controls);
    let bound = scenarios.iter().map(|scenario| hosts.bind(scenario.get().0.clone(), &[]));
    let scenarios = bound.collect::<PyResult<Vec<_>>>()?;
    if let Some(&(index, ..)) = jobs.iter().find(|&&(index, ..)| index >= scenarios.len()) {
        return Err(PyValueError::new_err(format!(
            "jobs: scenario {index} is not accepted; expected an index below {}",
            scenarios.len()
        )));
    }
    let listeners = Listeners { progress, finished, ..Listeners::default() };
    many::run(py, &scenarios, &jobs, threads, &listeners, partial, hosts.fault())
}

/// The native engine. Private: the `dumbbell` package documents and types its results.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add("ControlError", module.py().get_type::<ControlError>())?;
    module.add("TransportError", module.py().get_type::<TransportError>())?;
    module.add_class::<events::Ack>()?;
    module.add_class::<events::Congestion>()?;
    module.add_class::<events::Connection>()?;
    module.add_class::<events::RecoveryExit>()?;
    module.add_class::<events::Restart>()?;
    module.add_class::<events::Segment>()?;
    module.add_class::<events::Setup>()?;
    module.add_class::<events::Undo>()?;
    module.add_class::<PyStated>()?;
    module.add_class::<ArrowColumns>()?;
    module.add_class::<RunResult>()?;
    module.add_class::<ManyResult>()?;
    module.add_class::<steps::Episodes>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(digest, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue_text, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(hosts::load_library, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::json_of, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::written_out, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::network, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::parse_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(script::script_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(script::script_files, module)?)?;
    module.add_function(wrap_pyfunction!(script::play_script, module)?)?;
    module.add_function(wrap_pyfunction!(script::compare_segments, module)?)?;
    module.add_class::<inspect::Inspection>()?;
    module.add_function(wrap_pyfunction!(inspect::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::inspect_columns, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)?;
    Ok(())
}
