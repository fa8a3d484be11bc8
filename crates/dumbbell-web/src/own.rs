//! Algorithms of the page's user: their code runs in the page, which the engine calls for every event.

use dumbbell_library::{Interpreter, Library, LibraryHost, OnFault, PREFIX, Parameter, Statement};
use dumbbell_sim::congestion::{Algorithm, External, ExternalHost, Hook, conformance};
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members, Node, SpecError};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the page is asked to do besides telling an event, whose number is that of its [`Hook`].
pub mod operation {
    /// A connection starts. The answer is the number of its state.
    pub const START: u32 = 9;
    /// The answer is the value of the probe whose number is the event.
    pub const PROBE: u32 = 10;
    /// The answer is the number of a copy of a state.
    pub const COPY: u32 = 11;
    /// A state is not used any more.
    pub const RELEASE: u32 = 12;
}

/// Places in the buffer that the page reads and writes, in bytes.
pub mod place {
    /// The setup or the connection.
    pub const CONNECTION: usize = 0;
    /// The event; the number of a probe.
    pub const EVENT: usize = 128;
    /// The window, which the page may change.
    pub const WINDOW: usize = 256;
    /// A number that answers.
    pub const ANSWER: usize = 280;
    /// The values of the parameters.
    pub const PARAMETERS: usize = 288;
    /// The text of a failure.
    pub const TEXT: usize = 800;
    /// The end of the buffer.
    pub const END: usize = 2048;
}

/// The function of the page: it does an operation of an algorithm, by its number, on a state, with the buffer at an address,
/// and returns the length of the text that says how that failed, or 0.
pub type Boundary = extern "C" fn(u32, u32, u32, *mut u8) -> u32;

/// An algorithm that the page runs.
#[derive(Debug)]
pub struct InPage {
    boundary: Boundary,
    number: u32,
    buffer: Mutex<Box<[u8; place::END]>>,
}

impl InPage {
    /// The algorithm with this number in the page.
    pub fn new(boundary: Boundary, number: u32) -> Self {
        InPage { boundary, number, buffer: Mutex::new(Box::new([0; place::END])) }
    }

    fn call<T>(
        &self,
        (operation, state): (u32, u32),
        write: impl FnOnce(&mut [u8]),
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, String> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        write(&mut buffer[..]);
        let length = (self.boundary)(operation, self.number, state, buffer.as_mut_ptr()) as usize;
        if length > 0 {
            let end = (place::TEXT + length).min(place::END);
            return Err(String::from_utf8_lossy(&buffer[place::TEXT..end]).into_owned());
        }
        Ok(read(&buffer[..]))
    }
}

fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    buffer[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The number that the page has answered with.
fn answer(buffer: &[u8]) -> f64 {
    buffer[place::ANSWER..place::ANSWER + 8].try_into().map_or(f64::NAN, f64::from_le_bytes)
}

/// The size of a window, in bytes.
const WINDOW: usize = place::ANSWER - place::WINDOW;

impl InPage {
    /// The same for an operation that may change a window. Returns the number that the page has answered with.
    fn change(
        &self,
        of: (u32, u32),
        window: &mut [u8],
        write: impl FnOnce(&mut [u8]),
    ) -> Result<f64, String> {
        let before = |buffer: &mut [u8]| {
            put(buffer, place::WINDOW, window);
            write(buffer);
        };
        let after = |buffer: &[u8]| {
            let mut window = [0; WINDOW];
            window.copy_from_slice(&buffer[place::WINDOW..place::ANSWER]);
            (window, answer(buffer))
        };
        let (changed, answer) = self.call(of, before, after)?;
        window.copy_from_slice(&changed);
        Ok(answer)
    }
}

impl Interpreter for InPage {
    fn start(&self, setup: &[u8], parameters: &[f64], window: &mut [u8]) -> Result<u32, String> {
        let write = |buffer: &mut [u8]| {
            put(buffer, place::CONNECTION, setup);
            for (index, value) in parameters.iter().enumerate() {
                put(buffer, place::PARAMETERS + 8 * index, &value.to_le_bytes());
            }
        };
        self.change((operation::START, 0), window, write).map(|state| state as u32)
    }

    fn tell(
        &self,
        state: u32,
        hook: Hook,
        (connection, event): (&[u8], &[u8]),
        window: &mut [u8],
    ) -> Result<(), String> {
        let write = |buffer: &mut [u8]| {
            put(buffer, place::CONNECTION, connection);
            put(buffer, place::EVENT, event);
        };
        self.change((hook as u32, state), window, write).map(drop)
    }

    fn probe(&self, state: u32, index: u32) -> Result<f64, String> {
        let write = |buffer: &mut [u8]| put(buffer, place::EVENT, &index.to_le_bytes());
        self.call((operation::PROBE, state), write, answer)
    }

    fn copy(&self, state: u32) -> Result<u32, String> {
        self.call((operation::COPY, state), |_| (), |buffer| answer(buffer) as u32)
    }

    fn release(&self, state: u32) {
        // There is nobody to tell a failure.
        let _ = self.call((operation::RELEASE, state), |_| (), |_| ());
    }
}

/// The first failure of an algorithm during a run.
pub type Fault = Arc<Mutex<Option<String>>>;

/// The algorithms that are installed, by the names of their files.
#[derive(Debug, Default)]
pub struct Own {
    libraries: BTreeMap<String, Arc<Library>>,
    fault: Fault,
}

/// A whole number of a statement; 0 if there is none.
fn whole(statement: &Value, name: &str) -> u32 {
    statement[name].as_u64().and_then(|value| value.try_into().ok()).unwrap_or(0)
}

/// A text of a statement; empty if there is none.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What the page states: `flags`, `parameters` with `name`, `unit`, `initial`, `minimum` and `maximum`, `probes` and `hooks`.
/// JSON has no infinity; a bound that is missing is infinite.
fn stated(statement: &Value) -> Statement {
    let list = |name: &str| statement[name].as_array().cloned().unwrap_or_default();
    let parameter = |stated: Value| Parameter {
        name: text(&stated["name"]),
        unit: text(&stated["unit"]),
        initial: stated["initial"].as_f64().unwrap_or(f64::NAN),
        minimum: stated["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY),
        maximum: stated["maximum"].as_f64().unwrap_or(f64::INFINITY),
    };
    let hooks = list("hooks");
    Statement {
        flags: whole(statement, "flags"),
        parameters: list("parameters").into_iter().map(parameter).collect(),
        probes: list("probes").iter().map(text).collect(),
        hooks: Hook::NAMES.map(|name| hooks.iter().any(|hook| hook == name)),
    }
}

impl Own {
    /// Installs an algorithm in place of one with the same name. `statement` has its `name` and what [`stated`] reads.
    ///
    /// # Errors
    ///
    /// A statement is not accepted.
    pub fn install(&mut self, code: &[u8], statement: &Value, page: InPage) -> Result<Value, SpecError> {
        let name = text(&statement["name"]);
        let library = Library::outside((code, &name, "own"), stated(statement), Arc::new(page))?;
        let parameters = library.completed(&Members::new(), "own")?;
        let answer = json!({ "name": name, "digest": library.digest(), "parameters": parameters });
        self.libraries.insert(name, library);
        Ok(answer)
    }

    /// Forgets all algorithms.
    pub fn clear(&mut self) {
        self.libraries.clear();
    }

    /// Takes the failure of the run.
    pub fn take_fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// True if an algorithm has failed in this run.
    pub fn has_failed(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn on_fault(&self) -> OnFault {
        let fault = Arc::clone(&self.fault);
        Arc::new(move |problem| {
            fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
        })
    }

    /// The host of these algorithms.
    pub fn host(&self) -> LibraryHost {
        LibraryHost { on_fault: self.on_fault() }
    }

    /// States digest, parameters and probes of the algorithms that a scenario names, as `tcp = "library:NAME"` or in
    /// `tcp.external`.
    ///
    /// # Errors
    ///
    /// A scenario names one that is not installed, or states a parameter that is not accepted.
    pub fn complete(&self, scenario: &mut Value) -> Result<(), SpecError> {
        let Some(flows) = scenario.get_mut("flows").and_then(Value::as_array_mut) else { return Ok(()) };
        for flow in flows {
            let name = text(&flow["name"]);
            let Some(tcp) = flow.get_mut("tcp") else { continue };
            if is_library(tcp) {
                *tcp = json!({ "external": tcp.take() });
            }
            let Some(external) = tcp.get_mut("external") else { continue };
            if is_library(external) {
                *external = json!({ "name": external.take() });
            }
            if is_library(&external["name"]) && external.get("digest").is_none() {
                self.complete_one(external, &format!("flows.{name}.tcp.external"))?;
            }
        }
        Ok(())
    }

    fn complete_one(&self, external: &mut Value, field: &str) -> Result<(), SpecError> {
        let name = text(&external["name"]);
        let library = name.split_once(':').and_then(|(_, file)| self.libraries.get(file));
        let library = library.ok_or_else(|| SpecError {
            field: format!("{field}.name"),
            value: format!("\"{name}\""),
            accepted: match self.libraries.keys().map(String::as_str).collect::<Vec<_>>().as_slice() {
                [] => "a congestion control of the registry: the page has no own algorithm".into(),
                names => {
                    format!("an algorithm of the page: {PREFIX}:{}", names.join(&format!(", {PREFIX}:")))
                }
            },
            suggestion: None,
        })?;
        let none = Members::new();
        let parameters = external["parameters"].as_object().unwrap_or(&none);
        external["parameters"] = Value::Object(library.completed(parameters, field)?);
        external["digest"] = library.digest().into();
        external["probes"] = library.description().probes().into();
        Ok(())
    }

    /// How an algorithm violates a property that every algorithm has, or fails, as a sentence; none if it has all.
    ///
    /// # Errors
    ///
    /// There is no such algorithm.
    pub fn violation(&self, name: &str) -> Result<Option<String>, SpecError> {
        let mut stated = json!({ "name": format!("{PREFIX}:{name}") });
        self.complete_one(&mut stated, "own")?;
        let mut external = External::decode(&Node::root(&stated))?;
        external.bind("check", &[&self.host() as &dyn ExternalHost])?;
        let setup = conformance::setup();
        let create = || Algorithm::external(external.control(&setup), &setup);
        let grows: conformance::Property = conformance::the_window_grows_while_nothing_is_lost;
        for property in std::iter::once(&grows).chain(conformance::PROPERTIES) {
            let found = property(&create);
            let found = self.take_fault().or_else(|| found.err().map(|found| format!("{name}: {found}")));
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

fn is_library(value: &Value) -> bool {
    value.as_str().is_some_and(|name| name.split_once(':').is_some_and(|(host, _)| host == PREFIX))
}
