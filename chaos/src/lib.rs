//! Random valid scenarios, and relations between their runs that must hold.
//!
//! [`generator`] draws scenarios, [`checks`] states the relations, [`minimize`] makes a scenario small that breaks one, and
//! [`search`] goes through many of them and resumes where it stopped.

pub mod checks;
pub mod difference;
pub mod draw;
pub mod generator;
pub mod minimize;
pub mod panics;
pub mod paths;
pub mod runner;
pub mod schema;
pub mod search;
pub mod violation;
