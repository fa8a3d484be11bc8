//! Random valid scenarios, and relations between their runs that must hold.
//!
//! [`generator`] draws scenarios with all [`pairs`], [`checks`] states the relations, [`minimize`] reduces a scenario that breaks one, and
//! [`search`] checks many scenarios and resumes where it stopped.

pub mod checks;
pub mod difference;
pub mod dimensions;
pub mod draw;
pub mod exit;
pub mod generator;
pub mod minimize;
pub mod packets;
pub mod pairs;
pub mod panics;
pub mod paths;
pub mod runner;
pub mod schema;
pub mod search;
mod values;
pub mod violation;
