//! Captures that the tests write byte by byte, read, and connections from segments.

mod build;
mod connections;
mod damage;
mod formats;
mod layers;
mod speed;
