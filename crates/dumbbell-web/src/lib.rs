//! The engine for a browser: a module of WebAssembly without imports, which takes a scenario as TOML, runs it in slices and
//! returns tables, thinned traces and the places of fields in the text.
//!
//! A [`Session`] has all of it in safe Rust. `exports` gives its functions to JavaScript: texts and numbers pass through two
//! buffers of the module, so no function takes a pointer.

pub mod exports;
pub mod limits;
pub mod looking;
pub mod outline;
pub mod own;
pub mod plotted;
mod running;
pub mod session;
pub mod watching;

pub use session::Session;
