//! The integration tests of the crate, in one program: each program of tests is linked with all that the crate uses.

mod carried;
mod common;
mod files;
mod tshark;
