//! Captures that the tests write byte by byte, read.

mod build;
mod damage;
mod formats;
mod layers;
mod speed;
