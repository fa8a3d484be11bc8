//! Congestion controls from compiled libraries: shared libraries with a C interface, and WebAssembly modules with the same
//! interface in a sandbox; and those that run outside of the engine, as in a page.
//!
//! [`abi`] is the interface, from which the header for C is written. A [`Library`] is loaded from its bytes, once per
//! process, and identified by their digest. [`LibraryHost`] binds the flows of a scenario that name one. What differs
//! between the two kinds of libraries is in `native` and `wasm`; everything else is common to both.

pub mod abi;
mod control;
mod description;
mod event;
#[cfg(feature = "compiled")]
mod image;
#[cfg(feature = "compiled")]
mod native;
mod outside;
#[cfg(feature = "compiled")]
mod wasm;

pub use control::OnFault;
pub use description::{Description, Parameter};
pub use outside::{Interpreter, Statement};

use control::{Factory, Shared};
use dumbbell_cc::probes::OWN;
use dumbbell_cc::{ExternalFactory, ExternalHost, ExternalSpec, ProbeInfo};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Value, spec};
#[cfg(feature = "compiled")]
use native::Native;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
#[cfg(feature = "compiled")]
use wasm::Wasm;

/// The prefix of the names of libraries in scenarios, without the colon.
pub const PREFIX: &str = "library";

/// The first bytes of a WebAssembly module.
#[cfg(feature = "compiled")]
const MAGIC: &[u8] = b"\0asm";

#[derive(Debug)]
enum Code {
    #[cfg(feature = "compiled")]
    Native(Arc<Native>),
    #[cfg(feature = "compiled")]
    Wasm(Arc<Wasm>),
    Outside(Arc<dyn Interpreter>),
}

/// A loaded library. It stays loaded as long as the process lives.
#[derive(Debug)]
pub struct Library {
    /// Its file name, for errors.
    title: String,
    digest: String,
    description: Description,
    code: Code,
}

/// The libraries of this process by their digests.
static LOADED: Mutex<BTreeMap<String, Arc<Library>>> = Mutex::new(BTreeMap::new());

impl Library {
    /// Loads a shared library or a WebAssembly module.
    ///
    /// A shared library is code of the user's that runs in this process: its faults are those of the process.
    ///
    /// # Arguments
    ///
    /// * `bytes`: the content of its file.
    /// * `path`: the path of its file, for errors.
    /// * `field`: the field that names it, for errors.
    ///
    /// # Errors
    ///
    /// It cannot be loaded, or does not state an algorithm of this version of the interface.
    #[cfg(feature = "compiled")]
    pub fn load(bytes: &[u8], path: &str, field: &str) -> Result<Arc<Library>, SpecError> {
        if let Some(library) = Library::loaded(&digest_of(bytes)) {
            return Ok(library);
        }
        let made = if bytes.starts_with(MAGIC) {
            Wasm::load(bytes).map(|(wasm, description)| (Code::Wasm(Arc::new(wasm)), description))
        } else {
            Native::load(bytes).map(|(native, description)| (Code::Native(Arc::new(native)), description))
        };
        let (code, description) = made.map_err(|refusal| refusal.of(field, path))?;
        Ok(Library::kept(bytes, path, description, code))
    }

    /// An algorithm whose code runs outside of the engine.
    ///
    /// # Arguments
    ///
    /// * `bytes`: its code, which identifies it.
    /// * `path`: the path of its file, for errors.
    /// * `field`: the field that names it, for errors.
    ///
    /// # Errors
    ///
    /// A statement about it is not accepted.
    pub fn outside(
        (bytes, path, field): (&[u8], &str, &str),
        statement: Statement,
        interpreter: Arc<dyn Interpreter>,
    ) -> Result<Arc<Library>, SpecError> {
        let description = statement.checked().map_err(|refusal| refusal.of(field, path))?;
        Ok(Library::kept(bytes, path, description, Code::Outside(interpreter)))
    }

    fn kept(bytes: &[u8], path: &str, description: Description, code: Code) -> Arc<Library> {
        let digest = digest_of(bytes);
        let title = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        let library = Library { title: title.into_owned(), digest: digest.clone(), description, code };
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(loaded.entry(digest).or_insert(Arc::new(library)))
    }

    /// The library with this digest, if it is loaded.
    pub fn loaded(digest: &str) -> Option<Arc<Library>> {
        LOADED.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    /// Digest of its bytes: 16 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Its algorithm.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// All its parameters by name: those that are stated, and the initial values of the others.
    ///
    /// # Errors
    ///
    /// A stated parameter is not declared, is no number, or is out of range. The field of the error is its path below
    /// `field`.
    pub fn completed(&self, stated: &spec::Members, field: &str) -> Result<spec::Members, SpecError> {
        let values = self.description.values(stated.iter(), field)?;
        let names = self.description.parameters.iter().map(|parameter| parameter.name.clone());
        Ok(names.zip(values.into_iter().map(Value::from)).collect())
    }
}

/// The first 16 hexadecimal digits of SHA-256.
fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Binds flows to the libraries that they name, by the digest. It loads none: a name in a scenario is no permission to run
/// its code.
pub struct LibraryHost {
    /// Receives what a library does wrong during a run.
    pub on_fault: OnFault,
}

impl ExternalHost for LibraryHost {
    fn prefix(&self) -> &'static str {
        PREFIX
    }

    fn factory(&self, flow: &str, spec: &ExternalSpec) -> Result<Arc<dyn ExternalFactory>, SpecError> {
        let field = format!("flows.{flow}.tcp.external");
        let library = Library::loaded(&spec.digest).ok_or_else(|| SpecError {
            field: format!("{field}.digest"),
            value: format!("\"{}\"", spec.digest),
            accepted: "the digest of a library that this process has loaded".into(),
            suggestion: None,
        })?;
        let description = &library.description;
        let parameters = description.values(spec.parameters.0.iter(), &field)?;
        let index_of = |name: &String| description.probes.iter().position(|probe| probe == name);
        let probe_indices = spec.probes.iter().map(|name| {
            index_of(name).map(|index| index as u32).ok_or_else(|| SpecError {
                field: format!("{field}.probes"),
                value: format!("\"{name}\""),
                accepted: format!("probes of {}: {}", library.title, description.probes.join(", ")),
                suggestion: None,
            })
        });
        let probe_indices = probe_indices.collect::<Result<_, _>>()?;
        let probes = spec.probes.iter().filter_map(|name| ProbeInfo::own(&format!("{OWN}{name}"))).collect();
        let (flow, on_fault) = (flow.to_owned(), Arc::clone(&self.on_fault));
        Ok(Arc::new(Shared(Arc::new(Factory { flow, library, parameters, probes, probe_indices, on_fault }))))
    }
}
