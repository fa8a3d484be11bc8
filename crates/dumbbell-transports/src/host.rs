//! A library as a host of the engine: checks what scenarios state, and starts one stack per flow.

use crate::pairs::{Opener, Pairs};
use dumbbell_sim::transport::{Carried, Started, TransportHost, TransportSpec};
use dumbbell_units::random::name_hash;
use dumbbell_units::spec::{Params, SpecError, catalogue};
use dumbbell_units::{Stream, Value};
use serde_json::json;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

/// A value that a library cannot run with: its parameter, and what is accepted.
pub type Contradiction = (&'static str, String);

/// What a library has from its host.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Stands for the start of the run where a library wants an [`Instant`].
    pub base: Instant,
    /// Keep the events of the library as qlog, if it can.
    pub keeps_qlog: bool,
}

/// A library that carries flows.
pub trait Library: Debug + Send + Sync + 'static {
    /// The name by which scenarios state it.
    const NAME: &'static str;
    /// What it is, in one sentence.
    const SUMMARY: &'static str;
    /// Name of its crate.
    const CRATE: &'static str;
    /// Version of its crate.
    const VERSION: &'static str;
    /// Features of its crate that its behaviour depends on.
    const FEATURES: &'static [&'static str];
    /// Its parameters.
    type Params: Params + Debug;
    /// Opens the connections of a flow.
    type Opener: Opener;

    /// The first of its parameters that contradicts another or the build, and what is accepted.
    fn contradiction(_params: &Self::Params) -> Option<Contradiction> {
        None
    }

    /// Begins a flow.
    ///
    /// # Errors
    ///
    /// The library refuses its configuration: why, in one sentence.
    fn begin(
        flow: u32,
        params: Self::Params,
        random: Stream,
        surroundings: Surroundings,
    ) -> Result<Self::Opener, String>;
}

/// A library as a host of the engine.
#[derive(Debug)]
pub struct Host<L> {
    surroundings: Surroundings,
    library: PhantomData<L>,
}

impl<L: Library> Host<L> {
    /// The host of a library. Reads the clock: an [`Instant`] can only be made from another one. No result depends on it,
    /// since libraries use differences.
    #[expect(clippy::disallowed_methods, reason = "above the engine, once, before any run")]
    pub fn shared(keeps_qlog: bool) -> Arc<dyn TransportHost> {
        let surroundings = Surroundings { base: Instant::now(), keeps_qlog };
        Arc::new(Host::<L> { surroundings, library: PhantomData })
    }

    /// Digest of the code and its configuration: 64 bits of crate, version and features, in hexadecimal.
    pub fn digest() -> String {
        let text = format!("{} {} {}", L::CRATE, L::VERSION, L::FEATURES.join(" "));
        format!("{:016x}", name_hash(&text))
    }

    fn params(flow: &str, spec: &TransportSpec) -> Result<L::Params, SpecError> {
        let params: L::Params = spec.read(flow)?;
        match L::contradiction(&params) {
            None => Ok(params),
            Some((parameter, accepted)) => Err(SpecError {
                field: format!("flows.{flow}.transport.{parameter}"),
                value: params.members().get(parameter).map_or_else(String::new, Value::to_string),
                accepted,
                suggestion: None,
            }),
        }
    }
}

/// Refuses a stated version or digest that is not the one there is.
fn refuse_other(flow: &str, member: &str, stated: &str, is: &str, library: &str) -> Result<(), SpecError> {
    if stated.is_empty() || stated == is {
        return Ok(());
    }
    Err(SpecError {
        field: format!("flows.{flow}.transport.{member}"),
        value: format!("\"{stated}\""),
        accepted: format!("the {member} of {library} that runs here, \"{is}\""),
        suggestion: None,
    })
}

impl<L: Library> TransportHost for Host<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn entry(&self) -> Value {
        json!({
            "name": L::NAME,
            "summary": L::SUMMARY,
            "version": L::VERSION,
            "parameters": catalogue(&L::Params::infos()),
        })
    }

    fn complete(&self, flow: &str, spec: &TransportSpec) -> Result<TransportSpec, SpecError> {
        let digest = Self::digest();
        refuse_other(flow, "version", &spec.version, L::VERSION, L::CRATE)?;
        refuse_other(flow, "digest", &spec.digest, &digest, L::CRATE)?;
        let params = Self::params(flow, spec)?;
        // A parameter without a value is left out: null cannot be written in TOML.
        let parameters = params.members().into_iter().filter(|(_, value)| !value.is_null()).collect();
        Ok(TransportSpec { name: L::NAME.into(), version: L::VERSION.into(), digest, parameters })
    }

    fn start(&self, flows: Vec<Carried<'_>>) -> Result<Vec<Started>, String> {
        let start = |carried: Carried<'_>| {
            let params = Self::params(carried.name, carried.spec).map_err(|error| error.to_string())?;
            let opener = L::begin(carried.flow, params, carried.random, self.surroundings)?;
            Ok(Started { stack: Box::new(Pairs::new(carried.flow, opener)), flows: vec![carried.flow] })
        };
        flows.into_iter().map(start).collect()
    }
}
