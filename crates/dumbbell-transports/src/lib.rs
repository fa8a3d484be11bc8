//! Transports of others behind the boundary of the engine ([`dumbbell_sim::transport`]): production implementations of
//! QUIC and TCP in simulated time.
//!
//! A transport is one file and one line of the registry, [`hosts`]. A file implements [`Library`]: its name, version and
//! parameters, and how it starts one connection with both its ends ([`Pair`]). Everything else is shared: the stack of a
//! flow ([`pairs::Pairs`]), and the check of versions and parameters ([`host::Host`]).
//!
//! During a run, no transport reads a clock or draws from the system's random generator. What it needs of the kind comes
//! from the engine: times, and the random stream of its flow.

pub mod host;
pub mod pairs;
pub mod quinn;
pub mod smoltcp;

pub mod wire;

pub use host::{Host, Library};
pub use pairs::Pair;

use dumbbell_sim::transport::TransportHost;
use std::sync::Arc;

/// The transports that this crate has.
pub fn hosts() -> Vec<Arc<dyn TransportHost>> {
    hosts_with(false)
}

/// The same, which keep the events of their libraries as qlog
/// ([`Log::Events`](dumbbell_sim::transport::Log::Events)). So far, quinn does in a build with the feature `qlog`.
pub fn hosts_with(keeps_qlog: bool) -> Vec<Arc<dyn TransportHost>> {
    vec![Host::<quinn::Quinn>::shared(keeps_qlog), Host::<smoltcp::Smoltcp>::shared(keeps_qlog)]
}
