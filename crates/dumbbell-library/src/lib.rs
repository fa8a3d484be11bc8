//! Congestion controls from compiled libraries: shared libraries with a C interface, and WebAssembly modules with the same
//! interface in a sandbox.
//!
//! [`abi`] is the interface, from which the header for C is written. A [`Library`] is loaded from its bytes, once per
//! process, and identified by their digest. [`LibraryHost`] binds the flows of a scenario that name one. What differs
//! between the two kinds of libraries is in `native` and `wasm`; everything else is common to both.

pub mod abi;
mod control;
mod description;
mod event;
mod image;
mod native;
mod wasm;

pub use control::OnFault;
pub use description::{Description, Parameter};

use control::{Factory, Shared};
use dumbbell_cc::probes::OWN;
use dumbbell_cc::{ExternalFactory, ExternalHost, ExternalSpec, ProbeInfo};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Value, spec};
use native::Native;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use wasm::Wasm;

/// The prefix of the names of libraries in scenarios, without the colon.
pub const PREFIX: &str = "library";

/// The first bytes of a WebAssembly module.
const MAGIC: &[u8] = b"\0asm";

#[derive(Debug)]
enum Code {
    Native(Arc<Native>),
    Wasm(Arc<Wasm>),
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
    pub fn load(bytes: &[u8], path: &str, field: &str) -> Result<Arc<Library>, SpecError> {
        let digest = digest_of(bytes);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = loaded.get(&digest) {
            return Ok(Arc::clone(library));
        }
        let made = if bytes.starts_with(MAGIC) {
            Wasm::load(bytes).map(|(wasm, description)| (Code::Wasm(Arc::new(wasm)), description))
        } else {
            Native::load(bytes).map(|(native, description)| (Code::Native(Arc::new(native)), description))
        };
        let (code, description) = made.map_err(|refusal| refusal.of(field, path))?;
        let title = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        let library = Library { title: title.into_owned(), digest: digest.clone(), description, code };
        Ok(Arc::clone(loaded.entry(digest).or_insert(Arc::new(library))))
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
