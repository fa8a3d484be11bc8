//! Runs a [`Scenario`] and returns an [`Outcome`]: builds the network, runs the event loop, and returns traces and
//! summaries. A run is one function call without input, output, clock or thread; the same scenario, seed and run
//! number give the same bits everywhere.

pub mod batch;
pub mod capture;
pub mod catalogue;
pub mod columns;
pub mod events;
pub mod flows;
mod forwarding;
pub mod in_flight;
pub mod journal;
pub mod network;
pub mod outcome;
pub mod paths;
pub mod prefix;
pub mod quantity;
pub mod scenario;
pub mod shorthand;
pub mod simulation;
pub mod stated;
pub mod supervision;
pub mod trace;
pub mod transport;
mod validate;
pub mod warnings;

pub use batch::{Batch, Job};
pub use dumbbell_cc as congestion;
pub use outcome::{FlowOutcome, LinkOutcome, Outcome};
pub use paths::Paths;
pub use prefix::{Families, SharedPrefix};
pub use scenario::Scenario;
pub use simulation::{Steps, run, run_unless};
pub use stated::Stated;
pub use supervision::{Excess, Overflow, Supervision};

/// Version of the engine; results are only comparable within one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
