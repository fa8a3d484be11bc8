//! Congestion controls from outside the registry, as scenarios name them.
//!
//! A scenario states which host has the control, its name there, a digest of its code and its parameters. That is data,
//! and part of the scenario's hash. Before a run, the caller of the engine binds it to a factory of its host; hosts
//! register under the prefix of a name, so that the engine knows none of them.

use crate::{Control, ProbeInfo, Setup};
use dumbbell_units::spec::{Field, Members, Node, Params, SpecError};
use dumbbell_units::{Value, params};
use std::sync::Arc;

/// A congestion control from outside the registry.
pub trait ExternalControl: Control + std::fmt::Debug + Send + Sync {
    /// Required: an independent copy.
    fn fork(&self) -> Box<dyn ExternalControl>;

    /// Optional: its probes, in the order of [`Control::probe`].
    fn probes(&self) -> &[ProbeInfo] {
        &[]
    }
}

/// A method of [`Control`] that is told an event. A control from outside may lack some. The functions of a library have
/// the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum Hook {
    Ack,
    Congestion,
    DuplicateAck,
    Loss,
    RecoveryEnter,
    RecoveryExit,
    Undo,
    Restart,
    Sent,
}

impl Hook {
    /// The names of all methods, in order.
    pub const NAMES: [&'static str; 9] = [
        "on_ack",
        "on_congestion",
        "on_duplicate_ack",
        "on_loss",
        "on_recovery_enter",
        "on_recovery_exit",
        "on_undo",
        "on_restart",
        "on_sent",
    ];

    /// The name of the method.
    pub fn name(self) -> &'static str {
        Hook::NAMES[self as usize]
    }
}

const _: () = assert!(Hook::Sent as usize + 1 == Hook::NAMES.len());

/// Creates the control of each connection of a flow.
pub trait ExternalFactory: std::fmt::Debug + Send + Sync {
    /// The state at the start of a connection.
    fn control(&self, setup: &Setup) -> Box<dyn ExternalControl>;
}

/// Has congestion controls, such as an interpreter.
pub trait ExternalHost {
    /// The prefix of the names of its controls, without the colon.
    fn prefix(&self) -> &'static str;

    /// The factory of what a flow names.
    ///
    /// # Errors
    ///
    /// The host has no such control, or its code or parameters are not those that are stated.
    fn factory(&self, flow: &str, spec: &ExternalSpec) -> Result<Arc<dyn ExternalFactory>, SpecError>;
}

/// The parameters of an external control, which only its host can check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExternalParams(pub Members);

impl Field for ExternalParams {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let members = node.value().as_object().cloned();
        members.map(ExternalParams).ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        Value::Object(self.0.clone())
    }
    fn accepted() -> String {
        "a table of parameters".into()
    }
    fn schema() -> Value {
        Value::Object(Members::from_iter([("type".to_owned(), Value::from("object"))]))
    }
}

params! {
    /// What a scenario states about a congestion control from outside the registry.
    pub struct ExternalSpec requires [name, digest] {
        /// Its host and its name there, as `python:module.Class` or `library:aimd.so`.
        name: String = String::new(), "-", "-",
            |name| name.split_once(':').is_some_and(|(host, name)| !host.is_empty() && !name.is_empty()),
            "a host and a name there, such as \"python:module.Class\" or \"library:aimd.so\"";
        /// Digest of its code. A host runs no other version.
        digest: String = String::new(), "-", "-", |digest| !digest.is_empty(), "the digest of its code";
        /// Its parameters.
        parameters: ExternalParams = ExternalParams::default(), "-", "-";
        /// Quantities of its own that it exposes; a probe names them with the prefix `own.`.
        probes: Vec<String> = Vec::new(), "-", "-",
            |names| names.iter().all(|name| ProbeInfo::is_own_name(name)),
            "names of at most 40 letters, digits and _";
    }
}

/// A congestion control from outside the registry, and its factory once it is bound.
#[derive(Clone, Debug, Default)]
pub struct External {
    /// What the scenario states.
    pub spec: ExternalSpec,
    factory: Option<Arc<dyn ExternalFactory>>,
}

impl External {
    /// Finds the factory at the host with the prefix of its name.
    ///
    /// # Errors
    ///
    /// There is no such host, or it refuses.
    pub fn bind(&mut self, flow: &str, hosts: &[&dyn ExternalHost]) -> Result<(), SpecError> {
        let prefix = self.spec.name.split(':').next().unwrap_or_default();
        let host = hosts.iter().find(|host| host.prefix() == prefix).ok_or_else(|| {
            let prefixes: Vec<&str> = hosts.iter().map(|host| host.prefix()).collect();
            SpecError {
                field: format!("flows.{flow}.tcp.external.name"),
                value: format!("\"{}\"", self.spec.name),
                accepted: match prefixes.as_slice() {
                    [] => "a congestion control of the registry: no others run here".to_owned(),
                    prefixes => {
                        format!("a congestion control of a host that runs here: {}", prefixes.join(", "))
                    }
                },
                suggestion: None,
            }
        })?;
        self.factory = Some(host.factory(flow, &self.spec)?);
        Ok(())
    }

    /// The control of a new connection.
    ///
    /// # Panics
    ///
    /// It is not [bound](Self::bind). The constructors of scenarios refuse one that is not.
    #[allow(clippy::expect_used, reason = "to run another congestion control instead would be worse")]
    pub fn control(&self, setup: &Setup) -> Box<dyn ExternalControl> {
        self.factory.as_ref().expect("external controls are bound before a run").control(setup)
    }
}

/// Two are equal if they state the same: a factory follows from that.
impl PartialEq for External {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

impl Field for External {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        Ok(External { spec: ExternalSpec::decode(node)?, factory: None })
    }
    fn encode(&self) -> Value {
        Value::Object(self.spec.members())
    }
    fn accepted() -> String {
        ExternalSpec::accepted()
    }
    fn schema() -> Value {
        ExternalSpec::schema()
    }
}
