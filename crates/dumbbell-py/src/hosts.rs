//! The hosts of external congestion controls: the interpreter, and compiled libraries.

use crate::control::{Fault, PythonHost};
use crate::{ControlError, refused};
use dumbbell_library::{Library, LibraryHost};
use dumbbell_sim::congestion::external::ExternalParams;
use dumbbell_sim::congestion::{Algorithm, External, ExternalHost, conformance};
use dumbbell_sim::transport::TransportHost;
use dumbbell_sim::{Scenario, Stated};
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members, Node, SpecError};
use pyo3::prelude::*;
use std::sync::{Arc, LazyLock};

/// The transports that run here besides the engine's TCP.
pub fn transports() -> &'static [Arc<dyn TransportHost>] {
    static HOSTS: LazyLock<Vec<Arc<dyn TransportHost>>> = LazyLock::new(|| {
        let mut hosts = dumbbell_transports::hosts();
        #[cfg(target_os = "linux")]
        hosts.push(dumbbell_kernel::host::LinuxHost::shared());
        hosts
    });
    &HOSTS
}

/// The hosts of a batch. What a control does wrong ends it.
pub struct Hosts {
    python: PythonHost,
    library: LibraryHost,
}

impl Hosts {
    /// Hosts of which that of Python finds controls by a function, see [`PythonHost::find`].
    pub fn new(find: Option<Py<PyAny>>) -> Self {
        let fault = Arc::<Fault>::default();
        let of_libraries = Arc::clone(&fault);
        Hosts {
            python: PythonHost { find, fault },
            library: LibraryHost {
                on_fault: Arc::new(move |problem| of_libraries.set(ControlError::new_err(problem))),
            },
        }
    }

    /// What ends the batch.
    pub fn fault(&self) -> &Arc<Fault> {
        &self.python.fault
    }

    fn all<'a>(&'a self, further: &[&'a dyn ExternalHost]) -> Vec<&'a dyn ExternalHost> {
        [&[&self.python as &dyn ExternalHost, &self.library], further].concat()
    }

    /// The exception for a control that is refused: that of its host, if it has one.
    fn refused(&self, error: &SpecError) -> PyErr {
        self.fault().take().unwrap_or_else(|| refused(error))
    }

    /// A scenario whose controls have their hosts: these, or further ones.
    pub fn bind(&self, stated: Stated, further: &[&dyn ExternalHost]) -> PyResult<Scenario> {
        stated.bind(&self.all(further)).map_err(|error| self.refused(&error))
    }

    /// How a control violates a property that every algorithm has, as a sentence; `None` if it has all.
    pub fn check(&self, stated: &Value) -> PyResult<Option<String>> {
        let mut external = External::decode(&Node::root(stated)).map_err(|error| refused(&error))?;
        external.bind("check", &self.all(&[])).map_err(|error| self.refused(&error))?;
        let setup = conformance::setup();
        let create = || Algorithm::external(external.control(&setup), &setup);
        let grows: conformance::Property = conformance::the_window_grows_while_nothing_is_lost;
        for property in std::iter::once(&grows).chain(conformance::PROPERTIES) {
            let found = property(&create);
            if let Some(error) = self.fault().take() {
                return Err(error);
            }
            if let Err(violation) = found {
                return Ok(Some(violation));
            }
        }
        Ok(None)
    }
}

/// Loads a library, and returns what identifies it as JSON text: `digest`, `parameters` with the values of those that are
/// not given, `defaults` with the values if none are given, and `probes`.
///
/// # Arguments
///
/// * `data`: the content of its file.
/// * `path`: the path of its file, for errors.
/// * `parameters`: values of parameters, as JSON text.
#[pyfunction]
pub fn load_library(data: &[u8], path: &str, parameters: &str) -> PyResult<String> {
    let refuse = |error: SpecError| refused(&error);
    let library = Library::load(data, path, "library").map_err(refuse)?;
    let given: Value = parameters.parse().unwrap_or_default();
    let given = ExternalParams::decode(&Node::root(&given)).map_err(refuse)?;
    let completed = |given| library.completed(given, "library").map(Value::Object).map_err(refuse);
    let entry = Value::from_iter([
        ("digest", Value::from(library.digest())),
        ("parameters", completed(&given.0)?),
        ("defaults", completed(&Members::new())?),
        ("probes", library.description().probes().into()),
    ]);
    Ok(entry.to_string())
}
