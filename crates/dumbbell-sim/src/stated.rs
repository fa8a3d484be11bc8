//! Scenarios as they are stated, and as they run. A flow may name a congestion control from outside the registry; only a
//! scenario whose flows are bound to the hosts of these controls can run.

use crate::Scenario;
use crate::shorthand::limits::{self, Derived};
use crate::shorthand::written_out;
use crate::transport::TransportHost;
use dumbbell_cc::ExternalHost;
use dumbbell_units::Value;
use dumbbell_units::spec::SpecError;
use std::borrow::Cow;
use std::sync::Arc;

/// A valid scenario whose external congestion controls may have no host here: it can be written, hashed and bound. Beside
/// it is what limits mean that were stated as times or multiples of the bandwidth-delay product.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    scenario: Scenario,
    derived_limits: Vec<Derived>,
    has_short_forms: bool,
}

impl Stated {
    /// Reads a scenario from TOML.
    ///
    /// # Errors
    ///
    /// The text is not a valid scenario.
    pub fn from_toml(text: &str) -> Result<Stated, SpecError> {
        Stated::from_value(&Scenario::toml_value(text)?)
    }

    /// Reads a scenario from JSON.
    ///
    /// # Errors
    ///
    /// The text is not a valid scenario.
    pub fn from_json(text: &str) -> Result<Stated, SpecError> {
        match Scenario::from_sound_json(text) {
            Some(scenario) => Ok(Stated { scenario, derived_limits: Vec::new(), has_short_forms: false }),
            None => Stated::from_value(&Scenario::json_value(text)?),
        }
    }

    /// Reads a scenario from plain data.
    ///
    /// # Errors
    ///
    /// The data is not a valid scenario.
    pub fn from_value(value: &Value) -> Result<Stated, SpecError> {
        let written = written_out(value)?;
        let has_short_forms = matches!(written, Cow::Owned(_));
        let (scenario, derived_limits) = match limits::derived(&written)? {
            Some((value, derived)) => (Scenario::read(&value)?, derived),
            None => (Scenario::read(&written)?, Vec::new()),
        };
        Ok(Stated { scenario, derived_limits, has_short_forms })
    }

    /// See [`Scenario::to_json`].
    pub fn to_json(&self) -> String {
        self.scenario.to_json()
    }

    /// See [`Scenario::hash`].
    pub fn hash(&self) -> u64 {
        self.scenario.hash()
    }

    /// See [`Scenario::warnings`].
    pub fn warnings(&self) -> Vec<String> {
        self.scenario.warnings()
    }

    /// What limits of queues mean that were stated as times or multiples of the bandwidth-delay product, in the order of
    /// links.
    pub fn derived_limits(&self) -> &[Derived] {
        &self.derived_limits
    }

    /// Whether nodes or links were stated in a short form; see [`written_out`].
    pub fn has_short_forms(&self) -> bool {
        self.has_short_forms
    }

    /// The same, whose transports are bound to their hosts: versions, digests and parameters are complete.
    ///
    /// # Errors
    ///
    /// A transport has no host here, or its host refuses it.
    pub fn complete(mut self, hosts: &[Arc<dyn TransportHost>]) -> Result<Stated, SpecError> {
        for flow in &mut self.scenario.flows {
            if let Some(transport) = &mut flow.transport {
                transport.bind(&flow.name, hosts)?;
            }
        }
        Ok(self)
    }

    /// Whether a flow names a congestion control from outside the registry.
    pub fn names_external(&self) -> bool {
        self.scenario.flows.iter().any(|flow| flow.tcp.as_ref().is_some_and(|tcp| tcp.0.external.is_some()))
    }

    /// The scenario with the external congestion controls of its flows bound to their hosts.
    ///
    /// # Errors
    ///
    /// A control has no host here, or its host refuses it; or a transport is not bound, see [`complete`](Self::complete).
    pub fn bind(mut self, hosts: &[&dyn ExternalHost]) -> Result<Scenario, SpecError> {
        for flow in &mut self.scenario.flows {
            if let Some(transport) = flow.transport.as_mut().filter(|transport| transport.host().is_none()) {
                transport.bind(&flow.name, &[])?;
            }
            if let Some(external) = flow.tcp.as_mut().and_then(|tcp| tcp.0.external.as_mut()) {
                external.bind(&flow.name, hosts)?;
            }
        }
        Ok(self.scenario)
    }
}

impl Scenario {
    /// Reads a scenario from TOML, whose congestion controls are those of the registry.
    ///
    /// # Errors
    ///
    /// The text is not a valid scenario, or names an external congestion control; see [`Stated`].
    pub fn from_toml(text: &str) -> Result<Scenario, SpecError> {
        Stated::from_toml(text)?.bind(&[])
    }

    /// Reads a scenario from JSON, whose congestion controls are those of the registry.
    ///
    /// # Errors
    ///
    /// The text is not a valid scenario, or names an external congestion control; see [`Stated`].
    pub fn from_json(text: &str) -> Result<Scenario, SpecError> {
        Stated::from_json(text)?.bind(&[])
    }

    /// Reads and validates a scenario, whose congestion controls are those of the registry.
    ///
    /// # Errors
    ///
    /// The data is not a valid scenario, or names an external congestion control; see [`Stated`].
    pub fn from_value(value: &Value) -> Result<Scenario, SpecError> {
        Stated::from_value(value)?.bind(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stated(tcp: &Value) -> Value {
        let link = |from: &str, to: &str| {
            json!({
                "name": format!("{from}-{to}"), "from": from, "to": to, "rate": "1 Mbit/s", "delay": "10 ms"
            })
        };
        json!({
            "duration": "1 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": tcp }],
        })
    }

    #[test]
    fn a_control_without_a_host_is_an_error_of_the_scenario() {
        let value = stated(&json!({ "external": { "name": "python:module.Class", "digest": "1" } }));
        let read = Stated::from_value(&value).expect("a valid statement");
        assert!(read.names_external());
        assert_eq!(Stated::from_json(&read.to_json()), Ok(read.clone()));
        let text = "flows.f.tcp.external.name: \"python:module.Class\" is not accepted; expected a congestion control \
            of the registry: no others run here";
        assert_eq!(read.bind(&[]).unwrap_err().to_string(), text);
        assert_eq!(Scenario::from_value(&value).unwrap_err().to_string(), text);
        assert_eq!(Scenario::from_json(&value.to_string()).unwrap_err().to_string(), text);
    }

    #[test]
    fn other_scenarios_need_no_host() {
        let value = stated(&json!("reno"));
        let (read, bound) = (Stated::from_value(&value), Scenario::from_value(&value).expect("a scenario"));
        assert_eq!(read.expect("a scenario").hash(), bound.hash());
    }
}
