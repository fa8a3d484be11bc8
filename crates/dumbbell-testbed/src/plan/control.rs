//! The congestion control that the kernel is told: its own where the engine has its rules and the scenario its parameters,
//! the eBPF twin of the scenario's algorithm otherwise, or a replacement by name.

use super::rules::{OWN, Rules, kernels_own};
use super::{refuse, refuse_name};
use dumbbell_bpf::{MISSING, Missing, Twin};
use dumbbell_cc::AlgorithmSpec;
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members, SpecError};

/// A congestion control of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// One of the kernel's own, by its name there.
    Kernel(String),
    /// The eBPF twin of an algorithm of the registry, with its settings.
    Twin(Twin, Members),
}

/// A parameter of which the devices of a run have a value of their own: they take single segments (`gso_max_segs`).
const OF_THE_DEVICE: (&str, u64) = ("burst_segments", 1);

/// Replacement by the twin of the scenario's algorithm.
const TWIN: &str = "twin";

impl Rules<'_> {
    /// The congestion control.
    pub(super) fn control(&self, replacement: Option<&str>) -> Result<Control, SpecError> {
        let spec = &self.params.congestion;
        let name = spec.name();
        let Some(kernels) = replacement.filter(|name| *name != TWIN) else {
            let kernels = kernels_own(name).filter(|_| replacement.is_none());
            let differs = kernels.map(|params| self.differs_from(&params.congestion));
            return match (differs, Twin::named(name)) {
                (Some(None), _) => {
                    self.mechanisms(None)?;
                    Ok(Control::Kernel(name.to_owned()))
                }
                (_, Some(twin)) => {
                    self.mechanisms(Some(twin))?;
                    Ok(Control::Twin(twin, self.settings(twin)?))
                }
                (Some(Some(error)), None) => Err(error),
                (None, None) => {
                    let twins: Vec<&str> = Twin::all().map(Twin::name).collect();
                    let accepted =
                        format!("{}, or one with an eBPF twin: {}", OWN.join(", "), twins.join(", "));
                    Err(refuse_name(self.field("congestion"), name, accepted))
                }
            };
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if kernels.is_empty() || kernels.len() > 15 || !kernels.chars().all(is_name) {
            let accepted = "a congestion control of the kernel: at most 15 letters, digits and _";
            return Err(refuse_name(self.field("congestion"), kernels, accepted));
        }
        Ok(Control::Kernel(kernels.to_owned()))
    }

    /// The refusal of the first parameter that is not the kernel's.
    fn differs_from(&self, kernels: &AlgorithmSpec) -> Option<SpecError> {
        let kernels = members(kernels);
        let (device, single) = OF_THE_DEVICE;
        let differs = |(name, value): &(String, Value)| {
            kernels.get(name) != Some(value) && !(name == device && value.as_u64() == Some(single))
        };
        let (name, value) = members(&self.params.congestion).into_iter().find(differs)?;
        let accepted = kernels.get(&name).map_or_else(String::new, Value::to_string);
        let field = self.field(&format!("congestion.{name}"));
        Some(refuse(field, value, format!("{accepted}, as in the kernel")))
    }

    /// The settings of a twin.
    fn settings(&self, twin: Twin) -> Result<Members, SpecError> {
        let spec = &self.params.congestion;
        let default = AlgorithmSpec::named(twin.name()).map(|spec| members(&spec)).unwrap_or_default();
        let parameters = twin.parameters();
        let mut settings = twin.mechanisms(self.params.mechanisms);
        for (name, value) in members(spec).into_iter().filter(|(name, _)| name != "name") {
            let field = || self.field(&format!("congestion.{name}"));
            match parameters.iter().find(|parameter| parameter.name == name) {
                Some(parameter) => {
                    parameter.number(&value).map_err(|error| SpecError { field: field(), ..error })?;
                    settings.insert(name, value);
                }
                None if default.get(&name) == Some(&value) => {}
                None => {
                    let is_it = |what: &Missing| matches!(what, Missing::Parameter(algorithm, own) if *algorithm == twin.name() && *own == name);
                    let reason = MISSING.iter().find(|(what, _)| is_it(what)).map(|(_, reason)| *reason);
                    let default = default.get(&name).map_or_else(String::new, Value::to_string);
                    let accepted =
                        format!("{default}: {}", reason.unwrap_or("the eBPF twin has no such parameter"));
                    return Err(refuse(field(), value, accepted));
                }
            }
        }
        Ok(settings)
    }

    /// Refuses mechanisms of Vegas that neither the kernel nor the twin carries out. The kernel reduces the window once
    /// per episode (E), and its first window is set by the route (G).
    fn mechanisms(&self, twin: Option<Twin>) -> Result<(), SpecError> {
        let carried: Vec<String> = twin
            .map(|twin| twin.parameters().into_iter().filter_map(|parameter| parameter.mechanism).collect())
            .unwrap_or_default();
        let is_carried =
            |letter: &str| letter == "E" || letter == "G" || carried.iter().any(|own| own == letter);
        let others: Vec<&str> =
            self.params.mechanisms.letters().filter(|letter| !is_carried(letter)).collect();
        if others.is_empty() {
            return Ok(());
        }
        let accepted: String =
            "ABCDEFGHIJ".chars().filter(|letter| is_carried(letter.encode_utf8(&mut [0; 4]))).collect();
        Err(refuse_name(self.field("mechanisms"), &others.concat(), format!("mechanisms of \"{accepted}\"")))
    }
}

fn members(spec: &AlgorithmSpec) -> Members {
    spec.encode().as_object().cloned().unwrap_or_default()
}
