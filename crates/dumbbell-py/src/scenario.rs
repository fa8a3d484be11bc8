//! A scenario as the engine has read it, and quantities in base units.

use crate::hosts::transports;
use crate::refused;
use dumbbell_sim::{Scenario, Stated, shorthand};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Bytes, Rate, Time, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

const FORMATS: &str = "\"toml\" or \"json\"";

/// A valid scenario: read once, it can be run any number of times. Its congestion controls need not be here.
#[pyclass(frozen, module = "dumbbell._engine", name = "Stated")]
pub struct PyStated(pub Stated);

#[pymethods]
impl PyStated {
    /// Reads a scenario from TOML or JSON.
    #[new]
    fn new(text: &str, format: &str) -> PyResult<Self> {
        let read = match format {
            "toml" => Stated::from_toml(text),
            "json" => Stated::from_json(text),
            other => return Err(not_accepted("format", other, FORMATS)),
        };
        let complete = read.and_then(|stated| stated.complete(transports()));
        complete.map(PyStated).map_err(|error| refused(&error))
    }

    /// Its canonical JSON text: every default stated, every unit in its base form.
    fn canonical_json(&self) -> String {
        self.0.to_json()
    }

    /// Hash of its canonical form: 16 hexadecimal digits.
    fn hash(&self) -> String {
        format!("{:016x}", self.0.hash())
    }

    /// Settings without effect, one sentence each.
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// What limits of queues mean that were stated as times or in BDP, one sentence each.
    fn derived_limits(&self) -> Vec<String> {
        self.0.derived_limits().iter().map(ToString::to_string).collect()
    }

    /// Whether nodes or links were stated in a short form.
    fn has_short_forms(&self) -> bool {
        self.0.has_short_forms()
    }

    /// Whether a flow names a congestion control from outside the registry.
    fn names_external(&self) -> bool {
        self.0.names_external()
    }

    /// What pickles and copies are made of.
    fn __getnewargs__(&self) -> (String, &'static str) {
        (self.0.to_json(), "json")
    }
}

/// The JSON text of what a document contains, be it a valid scenario or not.
#[pyfunction]
pub fn json_of(text: &str, format: &str) -> PyResult<String> {
    let read = match format {
        "toml" => Scenario::toml_value(text),
        "json" => Scenario::json_value(text),
        other => return Err(not_accepted("format", other, FORMATS)),
    };
    read.map(|value| value.to_string()).map_err(|error| refused(&error))
}

/// A scenario in JSON with nodes and links one by one in place of short forms.
#[pyfunction]
pub fn written_out(text: &str) -> PyResult<String> {
    let read = Scenario::json_value(text);
    let written = read.and_then(|value| shorthand::written_out(&value).map(|written| written.to_string()));
    written.map_err(|error| refused(&error))
}

/// Nodes and links of a topology, both as JSON text.
#[pyfunction]
pub fn network(topology: &str) -> PyResult<String> {
    let read = Scenario::json_value(topology).and_then(|table| shorthand::network(&table));
    read.map(|network| network.to_string()).map_err(|error| refused(&error))
}

/// A quantity with its unit in whole base units: a time in ns, a rate in bit/s or a size in bytes.
#[pyfunction]
pub fn parse_quantity(text: &str, kind: &str) -> PyResult<u64> {
    let value = Value::from(text);
    let node = Node::root(&value);
    let read = match kind {
        "time" => Time::decode(&node).map(|time| time.0),
        "rate" => Rate::decode(&node).map(|rate| rate.0),
        "size" => Bytes::decode(&node).map(|size| size.0),
        other => {
            return Err(not_accepted("kind", other, "\"time\", \"rate\" or \"size\""));
        }
    };
    read.map_err(|error| refused(&error))
}

fn not_accepted(argument: &str, value: &str, accepted: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: \"{value}\" is not accepted; expected {accepted}"))
}
