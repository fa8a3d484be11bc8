//! What a library states about its algorithm, checked: the same for a shared library and a WebAssembly module.

use crate::abi;
use dumbbell_cc::{Hook, ProbeInfo};
use dumbbell_units::Value;
use dumbbell_units::spec::{SpecError, near_miss};
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// Why a library cannot be used: what it has, as the end of "PATH ...", and what is accepted.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) found: String,
    pub(crate) accepted: String,
}

impl Refusal {
    pub(crate) fn new(found: impl Into<String>, accepted: impl Into<String>) -> Self {
        Refusal { found: found.into(), accepted: accepted.into() }
    }

    /// The error of a field that names the library by its path.
    pub(crate) fn of(&self, field: &str, path: &str) -> SpecError {
        SpecError {
            field: field.to_owned(),
            value: format!("\"{path}\" {}", self.found),
            accepted: self.accepted.clone(),
            suggestion: None,
        }
    }
}

/// The beginning of [`abi::Algorithm`], the same on every platform.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, Immutable, KnownLayout)]
pub(crate) struct Head {
    pub(crate) abi_version: u32,
    pub(crate) size: u32,
    pub(crate) state_size: u32,
    pub(crate) flags: u32,
    pub(crate) parameter_count: u32,
    pub(crate) probe_count: u32,
}

/// Largest state of a connection, in bytes.
const MOST_STATE: u32 = 1 << 20;
/// Maximum number of parameters, and of probes.
pub(crate) const MOST_NAMES: u32 = 64;
/// Largest size of a later version of the struct, in bytes.
const MOST_SIZE: u32 = 4096;
/// Longest name or unit, in bytes; a longer one has no end.
#[cfg(feature = "compiled")]
pub(crate) const LONGEST_TEXT: usize = 80;

const FLAGS: u32 = abi::USES_RATE_SAMPLES | abi::MODEL_BASED | abi::REACTS_TO_MARKS;

impl Head {
    /// Checks the numbers, before anything behind the head is read. `size` is that of the struct where the library runs.
    pub(crate) fn check(&self, size: usize) -> Result<(), Refusal> {
        if self.abi_version != abi::ABI_VERSION {
            return Err(Refusal::new(
                format!("with the ABI version {}", self.abi_version),
                format!("version {}: compile the library with the header of this Dumbbell", abi::ABI_VERSION),
            ));
        }
        let checks = [
            ("size", self.size, size as u32, MOST_SIZE),
            ("state_size", self.state_size, 0, MOST_STATE),
            ("flags", self.flags, 0, FLAGS),
            ("parameter_count", self.parameter_count, 0, MOST_NAMES),
            ("probe_count", self.probe_count, 0, MOST_NAMES),
        ];
        for (name, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let found = format!("whose algorithm has a {name} of {value}");
                return Err(Refusal::new(found, format!("{least} to {most}")));
            }
        }
        Ok(())
    }

    /// Checks what follows the struct of this version: a function there would never be called.
    #[cfg(feature = "compiled")]
    pub(crate) fn check_rest(rest: &[u8]) -> Result<(), Refusal> {
        if rest.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let accepted = "those of the header of this Dumbbell";
        Err(Refusal::new("whose algorithm has members that are not known here", accepted))
    }
}

/// A parameter as a library declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Value if a scenario gives none.
    pub initial: f64,
    /// Smallest accepted value.
    pub minimum: f64,
    /// Largest accepted value.
    pub maximum: f64,
}

/// The algorithm of a library.
#[derive(Clone, Debug)]
pub struct Description {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) probes: Vec<String>,
    #[cfg(feature = "compiled")]
    pub(crate) state_size: usize,
    flags: u32,
    has: [bool; Hook::NAMES.len()],
}

impl Description {
    /// Checks names, ranges and required functions.
    pub(crate) fn new(
        head: &Head,
        parameters: Vec<Parameter>,
        probes: Vec<String>,
        has: [bool; Hook::NAMES.len()],
        has_probe: bool,
    ) -> Result<Self, Refusal> {
        let required = [
            (Hook::Ack.name(), has[Hook::Ack as usize]),
            (Hook::Congestion.name(), has[Hook::Congestion as usize]),
            ("probe", has_probe || probes.is_empty()),
        ];
        if let Some((name, _)) = required.iter().find(|(_, is_there)| !is_there) {
            return Err(Refusal::new(format!("whose algorithm has no {name}"), "a function"));
        }
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        for names in [&names, &probes.iter().map(String::as_str).collect()] {
            for (index, name) in names.iter().enumerate() {
                if !ProbeInfo::is_own_name(name) || names[..index].contains(name) {
                    let found = format!("whose algorithm declares the name \"{}\"", name.escape_default());
                    let accepted = "different names of 1 to 40 letters, digits and _";
                    return Err(Refusal::new(found, accepted));
                }
            }
        }
        for Parameter { name, initial, minimum, maximum, .. } in &parameters {
            if !(minimum <= initial && initial <= maximum && initial.is_finite()) {
                let found = format!(
                    "whose parameter {name} is initially {initial}, at least {minimum} and at most {maximum}"
                );
                return Err(Refusal::new(found, "a finite initial value within the range"));
            }
        }
        Ok(Description {
            parameters,
            probes,
            #[cfg(feature = "compiled")]
            state_size: head.state_size as usize,
            flags: head.flags,
            has,
        })
    }

    pub(crate) fn has(&self, hook: Hook) -> bool {
        self.has[hook as usize]
    }

    pub(crate) fn has_flag(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The values of all parameters, in the declared order.
    ///
    /// # Errors
    ///
    /// A stated parameter is not declared, is no number, or is out of range. The field of the error is its path below
    /// `field`.
    pub(crate) fn values<'a>(
        &self,
        stated: impl Iterator<Item = (&'a String, &'a Value)>,
        field: &str,
    ) -> Result<Vec<f64>, SpecError> {
        let mut values: Vec<f64> = self.parameters.iter().map(|parameter| parameter.initial).collect();
        for (name, value) in stated {
            let refuse = |accepted: String, suggestion| SpecError {
                field: format!("{field}.parameters.{name}"),
                value: value.to_string(),
                accepted,
                suggestion,
            };
            let Some(index) = self.parameters.iter().position(|parameter| parameter.name == *name) else {
                let names: Vec<&str> = self.parameters.iter().map(|one| one.name.as_str()).collect();
                let accepted = match names.as_slice() {
                    [] => "no parameters".to_owned(),
                    names => format!("one of the parameters {}", names.join(", ")),
                };
                return Err(refuse(accepted, near_miss(name, &names)));
            };
            let Parameter { unit, minimum, maximum, .. } = &self.parameters[index];
            let accepted = || format!("a number from {minimum} to {maximum} (unit: {unit})");
            values[index] = value
                .as_f64()
                .filter(|value| (minimum..=maximum).contains(&value))
                .ok_or_else(|| refuse(accepted(), None))?;
        }
        Ok(values)
    }

    /// The parameters, in the declared order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The names of the probes, in the declared order.
    pub fn probes(&self) -> &[String] {
        &self.probes
    }
}
