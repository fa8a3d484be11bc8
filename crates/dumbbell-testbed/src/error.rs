//! Why a run in real time has no results.

use crate::space::SpaceError;
use dumbbell_units::spec::SpecError;
use std::{fmt, io};

/// Why there are no results.
#[derive(Debug)]
pub enum RunError {
    /// The kernel cannot follow the scenario.
    Refused(SpecError),
    /// The machine lacks something, as one sentence.
    Missing(String),
    /// Something failed that should not.
    Failed(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Refused(error) => error.fmt(formatter),
            RunError::Missing(text) | RunError::Failed(text) => formatter.write_str(text),
        }
    }
}

impl std::error::Error for RunError {}

impl From<SpecError> for RunError {
    fn from(error: SpecError) -> Self {
        RunError::Refused(error)
    }
}

impl From<SpaceError> for RunError {
    fn from(error: SpaceError) -> Self {
        RunError::Failed(error.to_string())
    }
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        RunError::Failed(error.to_string())
    }
}
