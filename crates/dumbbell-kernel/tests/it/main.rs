//! Kernels behind the links of scenarios. Without a kernel in the user's cache, a test says so in a line and passes.
#![cfg(target_os = "linux")]

mod determinism;
mod endings;
mod engine;
mod harness;
mod modules;
mod paths;
mod scripts;
mod speed;
mod transfers;
