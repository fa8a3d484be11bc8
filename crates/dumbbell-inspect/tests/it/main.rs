//! Captures, from segments to connections.

mod connections;
