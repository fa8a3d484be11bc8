//! The sender and the receiver, as a simulation drives them.

mod common;

mod ecn;
mod found_by_fuzzing;
mod losses;
mod pacing;
mod paths;
mod rack;
mod rate_samples;
mod receive_windows;
mod samples;
mod scripts;
mod timeouts;
mod validation;
